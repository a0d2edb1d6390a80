"""
Margins, slacks and the price C
===============================

A support vector machine looks for the widest street between two classes. The hard margin lets
nobody onto the street. The soft margin does, at the price C for each unit of slack. (Lecture 000,
figures 17 and 18; lecture 001, soft margin classifier; lecture 003, section 6.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from mercer import SVC, NotSeparable

iris = load_iris()
names = iris.target_names


def flowers(columns, species):
    """Return two columns of two species, and the species as 0 and 1."""
    chosen = np.isin(iris.target, species)
    return iris.data[chosen][:, columns], (iris.target[chosen] == species[1]).astype(int)


# %%
# The hard margin
# ---------------
# The sepals of setosa and versicolor can be separated by a line. ``C=inf`` finds the widest
# street, of width ``margin_`` = 2/‖w‖. It hangs on four flowers: one odd setosa makes it narrow.
# With C = 1 that flower pays its slack and the street is more than twice as wide.
X, y = flowers([0, 1], [0, 1])
hard = SVC("linear", C=np.inf).fit(X, y)
soft = SVC("linear", C=1).fit(X, y)
for name, machine in {"C = ∞": hard, "C = 1": soft}.items():
    print(
        f"{name}: margin {machine.margin_:.3f} cm, {len(machine.support_)} support vectors, "
        f"sum of slacks {machine.slack_.sum():.2f}"
    )
print(hard.certificate_)


# %%
# All that the pictures show is on the fitted machine: ``free_`` points have 0 < αᵢ < C and lie on
# the margin, ``bound_`` points have αᵢ = C and lie past it, ``misclassified_`` points have a slack
# ξᵢ > 1 and lie on the wrong side. A thin line leads from each point with slack to its margin;
# its length is ξᵢ/‖w‖.
def draw(axes, machine, X, y, names, title):
    """Draw the street of a linear machine with its points and slacks."""
    low, high = X.min(axis=0) - 0.25, X.max(axis=0) + 0.25
    xs, ys = (np.linspace(a, b, 300) for a, b in zip(low, high, strict=True))
    values = machine.decision_function(np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2))
    values = values.reshape(300, 300)
    axes.contourf(xs, ys, values, [-1, 1], colors="C3", alpha=0.18)
    axes.contour(xs, ys, values, [-1, 0, 1], colors="#3c4757", linestyles=["--", "-", "--"])
    w = machine.coef_[0]
    ends = X + (machine.slack_ * np.where(y == 1, 1, -1) / (w @ w))[:, None] * w
    for start, end in zip(X[machine.slack_ > 1e-2], ends[machine.slack_ > 1e-2], strict=True):
        axes.plot(*np.transpose([start, end]), color="C5", lw=0.9, zorder=1)
    for label, name, colour, marker in zip((0, 1), names, ("C0", "C1"), "os", strict=True):
        axes.plot(*X[y == label].T, marker, color=colour, ms=5, mec="white", mew=0.5, label=name)
    at = {"ls": "", "marker": "o", "mfc": "none", "ms": 9}
    axes.plot(*X[machine.free_].T, mec="#1b2a41", mew=1.6, label="free, 0 < α < C", **at)
    axes.scatter(*X[machine.bound_].T, s=81, facecolors="none", edgecolors="#1b2a41", lw=1,
                 ls=":", label="bound, α = C", zorder=3)  # fmt: skip
    wrong = X[machine.misclassified_]
    if len(wrong):
        axes.plot(*wrong.T, "x", color="black", ms=5, mew=1.4, label="misclassified, ξ > 1")
    axes.set(title=title, aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))


figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained", sharey=True)
draw(panels[0], hard, X, y, names[:2], f"Hard margin: {hard.margin_:.2f} cm wide")
draw(panels[1], soft, X, y, names[:2], f"C = 1: {soft.margin_:.2f} cm wide")
for axes in panels:
    axes.set(xlabel="sepal length in cm")
panels[0].set_ylabel("sepal width in cm")
figure.legend(*panels[1].get_legend_handles_labels(), loc="outside lower center", ncols=5)
plt.show()

# %%
# Small and large C
# -----------------
# Versicolor and virginica overlap. A small C makes a wide street with many flowers on it, a large C
# a narrow one with few. Many flowers have equal measurements and lie on top of each other.
X, y = flowers([2, 3], [1, 2])
figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.3), layout="constrained", sharey=True)
for axes, C in zip(panels, (0.1, 100), strict=True):
    machine = SVC("linear", C=C).fit(X, y)
    draw(axes, machine, X, y, names[1:], f"C = {C}: {machine.margin_:.2f} cm wide")
    axes.set(xlabel="petal length in cm")
    print(
        f"C = {C:>5}: {machine.free_.sum():>2} free, {machine.bound_.sum():>2} bound, "
        f"{machine.misclassified_.sum()} misclassified, sum of slacks {machine.slack_.sum():.1f}"
    )
panels[0].set_ylabel("petal width in cm")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
plt.show()

# %%
# From small to large C
# ---------------------
# Along a path of C each fit starts where the last one ended: ``start=``, with its multipliers
# scaled to the new C. The width falls, and so does the sum of the slacks: that is the bargain
# which C decides.
prices = np.geomspace(1e-2, 1e3, 26)
widths, slacks, machine = [], [], None
for C in prices:
    machine = SVC("linear", C=C).fit(X, y, start=machine)
    widths.append(machine.margin_)
    slacks.append(machine.slack_.sum())

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(prices, widths, "o-", ms=4, color="C0")
axes.set(xscale="log", xlabel="C", ylim=(0, None))
axes.set_ylabel("width of the margin in cm", color="C0")
other = axes.twinx()
other.plot(prices, slacks, "s-", ms=4, color="C1")
other.set(ylim=(0, None))
other.set_ylabel("sum of the slacks", color="C1")
plt.show()

# %%
# Where no line separates
# -----------------------
# For these flowers no hard margin exists. The error proves it: its weights are ≥ 0, add up to 1 in
# each class, and give both classes the same weighted mean. A line with one class on each side would
# have that point on both sides.
try:
    SVC("linear", C=np.inf).fit(X, y)
except NotSeparable as error:
    print(error)
    for label in (0, 1):
        mine = y[error.rows] == label
        weights = error.weights[mine]
        mean = weights @ X[error.rows][mine]
        print(f"{names[label + 1]:>10}: {weights.sum():.6f} → {mean.round(6)}")
