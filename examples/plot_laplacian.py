"""
Few labels, many points
=======================

Labels cost money, points often do not. A Laplacian machine looks at all points: its function has to
fit the few labels, and to change little between neighbours, labelled or not. (Lecture 000, section
5.6.)
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import GridSearchCV

from mercer import RBF, SVC, LaplacianSVC, labelled_folds

# %%
# Two moons, two labels
# ---------------------
# A support vector machine only sees the two labelled points, and cuts half-way between them. The
# graph of nearest neighbours carries the labels along the moons. Unlabelled points are marked −1.
X, y = make_moons(200, noise=0.06, random_state=3)
labels = np.full(len(y), -1)
labels[[np.flatnonzero(y == 0)[11], np.flatnonzero(y == 1)[40]]] = 0, 1
known = labels >= 0
kernel = RBF(gamma=4.0)
machines = {
    "SVC, two points": SVC(kernel).fit(X[known], labels[known]),
    "LaplacianSVC, all points": LaplacianSVC(kernel=kernel, smoothness=100.0).fit(X, labels),
}
across, up = np.meshgrid(np.linspace(-1.5, 2.5, 120), np.linspace(-1.1, 1.6, 90))
grid = np.column_stack([across.ravel(), up.ravel()])
sides = LinearSegmentedColormap.from_list("sides", ["#0072b2", "white", "#d55e00"])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, machine) in zip(axes, machines.items(), strict=True):
    values = machine.decision_function(grid).reshape(across.shape)
    top = np.abs(values).max()
    ax.contourf(across, up, values, levels=np.linspace(-top, top, 21), cmap=sides, alpha=0.55)
    ax.contour(across, up, values, levels=[0], colors="#1b2a41", linewidths=1.5)
    if hasattr(machine, "graph_"):
        i, j = machine.graph_.nonzero()
        lines = np.stack([X[i], X[j]], axis=1)
        ax.add_collection(LineCollection(lines, colors="#5b6675", linewidths=0.3, alpha=0.5))
    ax.scatter(*X.T, s=7, color="#3c4757")
    for label, colour, marker in ((0, "C0", "o"), (1, "C1", "s")):
        ax.scatter(
            *X[labels == label].T, s=130, c=colour, marker=marker, edgecolor="white", zorder=3
        )
    right = (machine.predict(X) == y).mean()
    ax.set(title=f"{name}: {right:.0%} right", xticks=[], yticks=[])
    ax.set(xlim=(-1.5, 2.5), ylim=(-1.1, 1.6))
print(machines["LaplacianSVC, all points"].certificate_)

# %%
# How many labels does a digit need?
# ----------------------------------
# 600 handwritten digits, some of them labelled. Both machines choose their parameters on folds of
# the labelled digits; those without a label are tested afterwards. Three draws of labels each.
X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600]
kernel = RBF(gamma=0.05)
sizes = (20, 30, 60, 120)
scores = {"SVC": [], "LaplacianSVC": []}
for size in sizes:
    for draw in range(3):
        random = np.random.default_rng((size, draw))
        kept = random.choice(len(y), size, replace=False)
        labels = np.full(len(y), -1)
        labels[kept] = y[kept]
        rest = labels < 0
        folds = list(labelled_folds(labels, 3, random_state=draw))
        semi = GridSearchCV(
            LaplacianSVC(10.0, kernel=kernel, n_neighbors=5),
            {"smoothness": [1.0, 10.0, 100.0]},
            cv=folds,
        )
        alone = list(labelled_folds(labels[kept], 3, random_state=draw))
        plain = GridSearchCV(SVC(kernel), {"C": [1.0, 10.0, 100.0]}, cv=alone)
        scores["LaplacianSVC"].append((semi.fit(X, labels).predict(X[rest]) == y[rest]).mean())
        scores["SVC"].append((plain.fit(X[kept], y[kept]).predict(X[rest]) == y[rest]).mean())
figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
for name, values in scores.items():
    table = np.reshape(values, (len(sizes), -1))
    ax.plot(sizes, table.mean(axis=1), "s-" if name == "SVC" else "o-", label=name)
    ax.fill_between(sizes, table.min(axis=1), table.max(axis=1), alpha=0.2)
    print(f"{name:13s}", table.mean(axis=1).round(3))
ax.set(xscale="log", xticks=sizes, xticklabels=sizes, xlabel="labelled digits of 600")
ax.minorticks_off()
ax.set_ylabel("accuracy on the others")
ax.legend()
plt.show()
