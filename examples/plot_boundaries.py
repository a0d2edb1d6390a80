"""
Boundaries of different kernels
===============================

The same wines, the same machine, another kernel each time. A kernel that is too stiff misses the
shape of the data, one that is too supple learns every single bottle by heart. (Lecture 000, figures
20 and 21.)
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter
from sklearn.datasets import load_wine
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import RBF, SVC, Polynomial

# %%
# Two measurements of 178 wines. Is a wine of the second cultivar, which lies between the others?
# The columns are scaled, inside the pipeline, so that cross-validation stays honest.
wine = load_wine()
columns = [wine.feature_names.index(name) for name in ("flavanoids", "hue")]
X, y = wine.data[:, columns], wine.target == 1
folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=2, random_state=0)


def machine(kernel, C=10):
    """Return a classifier of scaled columns."""
    return make_pipeline(StandardScaler(), SVC(kernel, C=C))


# %%
# The solid line is the boundary f(x) = 0, the dashed lines are the margin f(x) = ±1; rings mark
# support vectors. Blue points are the second cultivar. Above each picture stands the share of
# correct answers on the wines that were learnt, and on wines held out in ten folds, twice.
def draw(axes, kernel, title):
    """Fit one machine, draw its boundary and return its row of the table."""
    model = machine(kernel).fit(X, y)
    svc = model[-1]
    xs, ys = np.linspace(0, 5.4, 240), np.linspace(0.4, 1.8, 240)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    values = model.decision_function(grid).reshape(240, 240)
    axes.contourf(xs, ys, np.sign(values), [-2, 0, 2], colors=["C1", "C0"], alpha=0.15)
    axes.contour(xs, ys, values, [-1, 0, 1], colors="#1b2a41", linestyles=["--", "-", "--"],
                 linewidths=[0.8, 1.6, 0.8])  # fmt: skip
    axes.plot(*X[svc.support_].T, "o", mfc="none", mec="#1b2a41", ms=8, mew=0.8)
    for label, colour, marker in ((True, "C0", "o"), (False, "C1", "s")):
        axes.plot(*X[y == label].T, marker, color=colour, ms=4.5, mec="white", mew=0.5)
    learnt, new = model.score(X, y), cross_val_score(machine(kernel), X, y, cv=folds).mean()
    axes.set_title(f"{title}\nlearnt {learnt:.0%}, new {new:.0%}")
    return f"{kernel!s:<32} {len(svc.support_):>4} {svc.margin_:>8.3f} {learnt:>7.0%} {new:>6.0%}"


def compare(kernels):
    """Draw the boundaries of three kernels side by side and print a table."""
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained", sharey=True)
    print(f"{'kernel':<32} {'SVs':>4} {'margin':>8} {'learnt':>7} {'new':>6}")
    for axes, (title, kernel) in zip(panels, kernels.items(), strict=True):
        print(draw(axes, kernel, title))
        axes.set(xlabel="flavanoids")
    panels[0].set_ylabel("hue")
    return figure


# %%
# Small and large width
# ---------------------
# With a small σ each wine is an island. With a large σ the Gaussian kernel draws a straight line,
# nearly.
compare({f"Gaussian, σ = {s:g}": RBF(sigma=s) for s in (0.1, 1, 10)})
plt.show()

# %%
# Polynomials
# -----------
# Degree 1 is a line, degree 3 bends once or twice, degree 12 bends where no data hold it.
compare({f"Polynomial, degree {d}": Polynomial(d, gamma=0.5) for d in (1, 3, 12)})
plt.show()

# %%
# The width in between
# --------------------
# Learnt and new tell the story best along all widths.
widths = np.geomspace(0.03, 30, 16)
learnt = [machine(RBF(sigma=s)).fit(X, y).score(X, y) for s in widths]
new = [cross_val_score(machine(RBF(sigma=s)), X, y, cv=folds).mean() for s in widths]
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(widths, learnt, "s-", ms=4, color="C5", label="wines that were learnt")
axes.plot(widths, new, "o-", ms=4, color="C0", label="new wines")
axes.set(xscale="log", xlabel="width σ, in standard deviations", ylabel="correct")
axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
axes.legend()
plt.show()
