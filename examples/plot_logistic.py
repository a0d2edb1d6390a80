"""
Probabilities without calibration
=================================

A support vector machine says on which side of its boundary a point lies. Logistic regression says
how probable each class is, and with a kernel the boundaries may bend. Colours show the most
probable of three classes, paler where it is less certain. (Lecture 001, linear discriminator.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RBF, KernelLogisticRegression, LogisticRegression

# %%
# One column: the sigmoid
# -----------------------
# The probability of the second class is σ(wx + b) = 1/(1 + e^(−wx − b)): the larger ∣wx + b∣, the
# surer the machine. With more rows, or classes farther apart, the curve is steeper. (Lecture 001,
# from the sign of f to a confidence.)
random = np.random.default_rng(1)
figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
for ax, apart in zip(panels, (0.5, 1.5, 3.0), strict=True):
    x = np.concatenate([random.normal(-apart / 2, 1, 60), random.normal(apart / 2, 1, 60)])[:, None]
    one = LogisticRegression().fit(x, np.repeat(["no", "yes"], 60))
    one.plot(x, np.repeat(["no", "yes"], 60), ax)
    ax.set(title=f"means {apart:g} apart: w = {one.coef_[0, 0]:.2f}", xlim=(-4.5, 4.5))

# %%
# Three classes
# -------------
random = np.random.default_rng(0)
angle = random.uniform(0, 2 * np.pi, size=300)
radius = np.repeat([0.4, 1.6, 1.6], 100) + 0.25 * random.normal(size=300)
labels = np.repeat([0, 1, 2], 100)
labels[100:] = np.where(np.sin(angle[100:]) > 0, 1, 2)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

colours = np.array([[0.0, 0.45, 0.7], [0.84, 0.37, 0.0], [0.0, 0.62, 0.45]])
side = np.linspace(-2.6, 2.6, 150)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True)
models = {
    "logistic regression": LogisticRegression(),
    "with an RBF kernel": KernelLogisticRegression(C=10, kernel=RBF(gamma=1.0)),
}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    shares = model.fit(X, labels).predict_proba(grid)
    # Certain points have the colour of their class, doubtful ones are white.
    strength = ((shares.max(axis=1) - 1 / 3) / (2 / 3))[:, None]
    image = 1 - 0.6 * strength * (1 - colours[shares.argmax(axis=1)])
    ax.imshow(image.reshape(150, 150, 3), extent=(-2.6, 2.6, -2.6, 2.6), origin="lower")
    for label, marker in enumerate("os^"):
        ax.scatter(*X[labels == label].T, color=colours[label], s=16, marker=marker,
                   edgecolors="white", linewidths=0.5)  # fmt: skip
    right = (model.predict(X) == labels).mean()
    gap = model.certificate_.relative_gap
    ax.set_title(f"{name}\n{right:.0%} right, proven within {gap:.0e}")
figure.tight_layout()

# %%
# What a point pulls is the error of its probability: C([c = y] − p). Points in the middle of their
# class pull hardly at all, doubtful ones pull most.

pull = np.abs(model.dual_coef_[labels, np.arange(300)]) / model.C
figure, ax = plt.subplots(figsize=(4.6, 4.4))
drawn = ax.scatter(*X.T, c=pull, s=20, cmap="cividis_r")
figure.colorbar(drawn, label="1 − probability of the own class")
ax.set_aspect("equal")
figure.tight_layout()
