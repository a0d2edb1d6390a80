"""
Where a line is enough
======================

Classes that no line separates may be separated by one after a map φ of the data. Four maps: the
squares of the coordinates, a point and its square, a product of coordinates, and Gaussian bumps.
(Lecture 000, figure 19; lecture 001, kernel methods; lecture 003, sections 8 and 9.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from mercer import SVC, GaussianBasis, MapKernel

# %%
# Squares make a circle a line
# ----------------------------
# x₁² + x₂² = r² is a circle of x and a line of φ(x) = (x₁², x₂²). ``MapKernel`` makes a kernel of
# any map. The machine is linear in the right picture, and its boundary bends in the left one.
X, y = make_circles(120, factor=0.45, noise=0.09, random_state=0)
machine = SVC(MapKernel(np.square, vectorized=True), C=100).fit(X, y)
figure, panels = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
machine.plot(X, y, panels[0]).set_title("rings: (x₁, x₂)")
SVC("linear", C=100).fit(X**2, y).plot(X**2, y, panels[1]).set(
    title="after squaring", xlabel="x₁²", ylabel="x₂²"
)
for axes in panels:
    axes.get_legend().remove()
plt.show()
print(f"right: {machine.score(X, y):.0%}, margin {machine.margin_:.3f} in the picture on the right")

# %%
# One column, and its square
# --------------------------
# No threshold separates the middle of a line from its ends. On the parabola (x, x²) a line does.
x = np.sort(np.random.default_rng(1).uniform(-2, 2, 40))
inner = (np.abs(x) < 1).astype(int)
lifted = np.column_stack([x, x**2])
figure, panels = plt.subplots(1, 2, figsize=(9.4, 3.6), layout="constrained")
flat = SVC(MapKernel(lambda row: [row[0], row[0] ** 2]), C=100)
flat.fit(x[:, None], inner).plot(x[:, None], inner, panels[0])
panels[0].set_title("one column: f crosses 0 twice")
SVC("linear", C=100).fit(lifted, inner).plot(lifted, inner, panels[1])
panels[1].set(title="on the parabola", ylabel="x²")
panels[1].get_legend().remove()
plt.show()

# %%
# A checkerboard
# --------------
# Four squares need the product x₁x₂: with it alone as a feature the classes are two halves of a
# line, and the machine has one threshold.
random = np.random.default_rng(3)
X = random.uniform(-1, 1, size=(140, 2))
X = X[np.abs(X).min(axis=1) > 0.06]
y = (X[:, 0] * X[:, 1] > 0).astype(int)
product = MapKernel(lambda rows: rows[:, :1] * rows[:, 1:], vectorized=True)
figure, panels = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
machine = SVC(product, C=100).fit(X, y)
machine.plot(X, y, panels[0]).set_title("checkerboard")
SVC("linear", C=100).fit(X.prod(axis=1)[:, None], y).plot(X.prod(axis=1)[:, None], y, panels[1])
panels[1].set(title="over the product", xlabel="x₁x₂")
panels[0].get_legend().remove()
plt.show()

# %%
# Gaussian basis functions
# ------------------------
# φⱼ(x) = exp(−(x − cⱼ)²/2s²) for a few centres: each feature is large near its centre. The function
# that a machine learns is a weighted sum of these bumps.
x = np.linspace(-3, 3, 60)[:, None]
t = (np.sin(2 * x[:, 0]) > 0).astype(int)
centres = np.linspace(-3, 3, 7)[:, None]
basis = GaussianBasis(centres, sigma=0.6)
machine = SVC(basis, C=10).fit(x, t)
grid = np.linspace(-3.3, 3.3, 300)[:, None]
bumps = basis.features(grid).toarray()
figure, panels = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True)
weights = basis.features(machine.support_vectors_).toarray().T @ machine.dual_coef_[0]
for bump, weight in zip(bumps.T, weights, strict=True):
    colour = "C0" if weight > 0 else "C1"
    panels[0].plot(grid, bump, color=colour, alpha=0.35 + 0.6 * abs(weight) / abs(weights).max())
panels[0].annotate("weight > 0", (-2.2, 1.06), color="C0")
panels[0].annotate("weight < 0", (-1.2, 1.06), color="C1")
panels[0].set(ylabel="φⱼ(x)", ylim=(0, 1.18))
machine.plot(x, t, panels[1])
panels[1].plot(grid, bumps @ weights + machine.intercept_, ":", color="C1", lw=3)
panels[1].set_title("f: the machine's, and the weighted bumps (dotted)")
plt.show()
