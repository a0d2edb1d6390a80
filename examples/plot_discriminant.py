"""
The direction that separates
============================

Fisher's discriminant looks for the direction in which the means of classes lie far apart, measured
by the spread within the classes: the largest quotient wᵀS_b w / wᵀS_w w. (Lecture 002, sections
LDA and Rayleigh quotient.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from mercer import PCA, Gaussian, LinearDiscriminantAnalysis

# %%
# Two matrices, one quotient
# --------------------------
# Two flat classes, side by side. S_w is the spread within them; S_b = Σ π(m_c − m)(m_c − m)ᵀ has
# rank one, so its ellipse is a stick from mean to mean. The line through the means is not the best
# direction: the spread counts too.
random = np.random.default_rng(0)
flat = np.array([[2.2, 1.5], [1.5, 1.35]])
X = np.vstack([random.multivariate_normal(m, flat, 120) for m in ([0, 0], [1.6, -0.3])])
y = np.repeat(["left", "right"], 120)
model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
best = model.scalings_[:, 0] / np.linalg.norm(model.scalings_[:, 0])
joining = np.diff(model.means_, axis=0)[0]
joining /= np.linalg.norm(joining)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.4), layout="constrained")
for name, colour, marker in (("left", "C0", "o"), ("right", "C1", "s")):
    left.plot(*X[y == name].T, marker, color=colour, ms=3.5, alpha=0.6)
middle = X.mean(axis=0)
PLATE = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
ring = Gaussian(middle, model.covariance_).contour(0.5)
left.plot(*ring.T, color="#1b2a41")
thin = {"arrowstyle": "-", "lw": 0.8}
left.annotate("$S_w$", ring[ring[:, 0].argmax()], xytext=(5.2, 1.7), arrowprops=thin)
length = np.sqrt(np.linalg.eigvalsh(model.between_)[-1])
left.plot(*(middle + np.outer([-length, length], joining)).T, color="C3", lw=4)
left.annotate("$S_b$", middle + length * joining, xytext=(5.2, 0.4), arrowprops=thin)
for way, name, style in ((best, "best direction", "-"), (joining, "from mean to mean", ":")):
    ends = middle + np.outer([-4.3, 4.3], way)
    left.plot(*ends.T, style, color="#1b2a41", lw=1.2)
    left.annotate(name, ends[1], xytext=(3, 0), textcoords="offset points", bbox=PLATE, fontsize=9)
left.set(xlabel="x₁", ylabel="x₂", aspect="equal")

angles = np.linspace(-90, 90, 361)
ways = np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])
quotients = [model.quotient(w) for w in ways]
right.plot(angles, quotients, color="#1b2a41")
for way, name in ((best, "best"), (joining, "mean to mean")):
    angle = (np.degrees(np.arctan2(way[1], way[0])) + 90) % 180 - 90
    right.plot(angle, model.quotient(way), "o", color="C1", ms=8)
    right.annotate(f"{name}: {model.quotient(way):.2f}", (angle, model.quotient(way)),
                   xytext=(8, 2), textcoords="offset points")  # fmt: skip
right.set(
    xlabel="angle of w in degrees",
    ylabel="$w^T S_b w\\; /\\; w^T S_w w$",
    xticks=range(-90, 91, 45),
)
plt.show()
print(f"largest quotient {model.separation_[0]:.4f}, on the grid {max(quotients):.4f}")

# %%
# What is left of the classes
# ---------------------------
# The projection on the best direction, scaled so that the spread within classes is 1, beside that
# on the first principal component, which never saw the classes.
figure, panels = plt.subplots(1, 2, figsize=(10.4, 3.4), layout="constrained")
model.plot(X, y, panels[0]).set_title("discriminant")
PCA(1).fit(X).plot(X, y, panels[1]).set_title("principal component")
plt.show()

# %%
# Three classes, thirteen columns
# -------------------------------
# 178 wines of three growers and 13 measurements. Two directions hold all that is between three
# means; each circle holds 95 % of its class, if it is a Gaussian.
wine = load_wine()
growers = np.array(["first", "second", "third"])[wine.target]
model = LinearDiscriminantAnalysis().fit(wine.data, growers)
axes = model.plot(wine.data, growers)
axes.set_title(f"quotients {model.separation_[0]:.1f} and {model.separation_[1]:.1f}")
plt.show()
