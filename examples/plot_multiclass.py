"""
Several classes
===============

A support vector machine knows two classes. For more, many machines of two classes can work
together: one for each pair of classes, which vote (``"ovo"``), or one for each class against the
rest, of which the most certain one wins (``"ovr"``). Or one larger problem has a function for each
class and learns all of them at once: Weston and Watkins charge a point for each wrong class that
comes too near to its own, Crammer and Singer for the worst one only. (Lecture 003, section 16.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import RBF, SVC, Linear

NAMES = {
    "ovo": "one against one",
    "ovr": "one against the rest",
    "weston_watkins": "Weston–Watkins",
    "crammer_singer": "Crammer–Singer",
}

# %%
# Regions
# -------
# Petals of three species of iris. Versicolor lies between the others: a line can separate it from
# each of them, nearly, but none separates it from both. With a linear kernel one against the rest
# suffers, the joint machines do not. Dashed are the lines of the machines for two classes.
#
# The joint machines have no bias of their own. A constant in the kernel gives them one, and changes
# nothing for the others.
iris = load_iris()
X, y = iris.data[:, 2:], iris.target
xs, ys = np.linspace(0.5, 7.3, 300), np.linspace(-0.15, 2.75, 300)
grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
colours = ["C0", "C2", "C1"]


def draw(axes, machine, title):
    """Draw the regions of the three classes and, dashed, the lines of the binary machines."""
    regions = machine.predict(grid).reshape(300, 300)
    axes.contourf(xs, ys, regions, [-0.5, 0.5, 1.5, 2.5], colors=colours, alpha=0.22)
    axes.contour(xs, ys, regions, [0.5, 1.5], colors="#1b2a41", linewidths=1.4)
    for binary in machine.machines_:
        values = (binary.expansion_(grid) + binary.intercept_).reshape(300, 300)
        axes.contour(xs, ys, values, [0], colors="#5b6675", linewidths=1, linestyles="--")
    for label, marker in enumerate("os^"):
        axes.plot(*X[y == label].T, marker, color=colours[label], ms=5, mec="white", mew=0.5,
                  label=iris.target_names[label])  # fmt: skip
    wrong = machine.predict(X) != y
    axes.plot(*X[wrong].T, "x", color="black", ms=5, mew=1.3, label="wrong")
    name = title[0].upper() + title[1:]
    axes.set_title(f"{name}: {np.mean(~wrong):.0%} correct")


def compare(kernel):
    """Draw the regions of all four kinds."""
    figure, panels = plt.subplots(
        2, 2, figsize=(9.5, 6.2), layout="constrained", sharex=True, sharey=True
    )
    for axes, (kind, name) in zip(panels.flat, NAMES.items(), strict=True):
        draw(axes, SVC(kernel, multi_class=kind).fit(X, y), name)
    figure.supxlabel("petal length in cm", fontsize="medium")
    figure.supylabel("petal width in cm", fontsize="medium")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4)


linear = Linear() + 10.0
compare(linear)
plt.show()

# %%
# A Gaussian kernel can draw all boundaries, and the four agree where there are flowers.
compare(RBF(sigma=1.0))
plt.show()

# %%
# ``machines_`` holds the machines for two classes, each with its margin, slacks, multipliers and
# its own certificate; ``certificate_`` is that of all of them together. A joint machine is one
# problem with one certificate.
for kind, name in NAMES.items():
    machine = SVC(linear, multi_class=kind).fit(X, y)
    certificate = machine.certificate_
    print(f"{name}: {certificate.problem}, within {certificate.relative_gap:.0e} of the optimum")
    for binary in machine.machines_:
        print("   ", binary)

# %%
# New wines
# ---------
# With all thirteen measurements of the wines of three cultivars it matters little which way is
# taken.
wine = load_wine()
print(f"{'':<22} {'linear':>7} {'Gaussian':>9}")
for kind, name in NAMES.items():
    scores = [
        cross_val_score(
            make_pipeline(StandardScaler(), SVC(kernel, multi_class=kind)),
            wine.data,
            wine.target,
            cv=10,
        ).mean()
        for kernel in (linear, "rbf")
    ]
    print(f"{name:<22} {scores[0]:>7.1%} {scores[1]:>9.1%}")
