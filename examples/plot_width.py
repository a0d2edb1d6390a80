"""
The width of a Gaussian kernel
==============================

k(x, z) = exp(−‖x − z‖²/(2σ²)) has one parameter, and everything depends on it. When σ is small,
each flower is similar to itself only and K is nearly the identity I. When σ is large, all flowers
are alike and K is nearly 11ᵀ, the matrix of ones. The structure of the data shows between the two.
(Lecture 003, section 14.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from mercer import RBF, Gram

X, y = load_iris(return_X_y=True)
order = np.argsort(y, kind="stable")
X, y = X[order], y[order]
n = len(X)

# %%
# The median of the distances is a good first guess. The other widths lie around it. One Gram
# object keeps the distances, so each further width costs only the exponential.
gram = Gram(RBF(sigma="median"), X, statistic_bytes=10**6)
median = gram.kernel.sigma
widths = [0.05, 0.5, median, 50.0]
matrices = [gram.with_kernel(RBF(sigma=s)).dense() for s in widths]

print("    σ   ‖K − I‖/n   ‖K − 11ᵀ‖/n")
for s, K in zip(widths, matrices, strict=True):
    print(f"{s:5.2f} {np.linalg.norm(K - np.eye(n)) / n:11.3f} {np.linalg.norm(K - 1) / n:13.3f}")

# %%
# The rows are ordered by species: setosa, versicolor, virginica. At σ = 0.5 and at the median
# the three blocks can be seen.
#
# The eigenvalues tell the same story. They always add up to n = 150, because k(x, x) = 1. For a
# small σ all are near 1 and nothing generalises; for a large σ the first has nearly everything.
# Two flowers have equal measurements, so K is singular for every σ: the last eigenvalue is 0.
figure = plt.figure(figsize=(9, 5.6), layout="constrained")
grid = figure.add_gridspec(2, 4, height_ratios=[1, 1.15])
for i, (s, K) in enumerate(zip(widths, matrices, strict=True)):
    axes = figure.add_subplot(grid[0, i])
    image = axes.imshow(K, vmin=0, vmax=1, cmap="viridis")
    label = " (median)" if s == median else ""
    axes.set(title=f"σ = {s:.3g}{label}", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    if i == 0:
        axes.set_yticks([25, 75, 125], ["setosa", "versicolor", "virginica"])
        axes.tick_params(length=0)
figure.colorbar(image, ax=figure.axes, label="k(x, z)", shrink=0.9)

axes = figure.add_subplot(grid[1, :])
for i, (s, K) in enumerate(zip(widths, matrices, strict=True)):
    spectrum = np.linalg.eigvalsh(K)[::-1].clip(1e-12)
    axes.plot(np.arange(1, n + 1), spectrum, color=f"C{i}", label=f"σ = {s:.3g}")
axes.axhline(1, color="C5", lw=1, ls=":")
axes.set(yscale="log", ylim=(1e-10, 400), xlim=(0, n + 1))
axes.set(xlabel="number", ylabel="eigenvalue", title="The spectrum of K")
axes.legend(loc="lower left", bbox_to_anchor=(0.17, 0))
plt.show()
