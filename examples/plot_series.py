"""
Series that are bent in time
============================

Two people never move at the same speed. Dynamic time warping compares series after bending
them in time in the best way; the global alignment kernel sums over all ways to bend, and is
positive semi-definite. (Lecture 000, section 5.5.)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, GlobalAlignment, dtw_distances, read_series, tune

# %%
# GunPoint of the UCR archive: the height of a hand that draws a gun and aims, or that points with
# a finger. 50 series to learn from, 150 to test.
hands = read_series("gunpoint")
series, labels = np.stack([x[0] for x in hands.X]), hands.y
X, y, T, t = series[:50], labels[:50], series[50:], labels[50:]
colours = {"gun": "C0", "point": "C1"}


# %%
# The best path
# -------------
# Warping distances are computed for all pairs at once. The path behind one of them is found by
# walking back through the distances of all beginnings of the two series.
def path(x, z):
    """Return the best warping path of two series."""
    D = np.full((len(x) + 1, len(z) + 1), np.inf)
    D[0, 0] = 0
    for i, j in np.ndindex(len(x), len(z)):
        D[i + 1, j + 1] = (x[i] - z[j]) ** 2 + min(D[i, j], D[i, j + 1], D[i + 1, j])
    i, j = len(x), len(z)
    steps = []
    while i and j:
        steps.append((i - 1, j - 1))
        i, j = min([(i - 1, j - 1), (i - 1, j), (i, j - 1)], key=lambda cell: D[cell])
    return steps[::-1], D[-1, -1]


first, second = X[y == "gun"][3], X[y == "gun"][8]
steps, cost = path(first, second)
D = dtw_distances([first], [second])[0, 0]
print(
    f"D = {D:.4f}, along the path {cost:.4f}; without bending {np.sum((first - second) ** 2):.4f}"
)

# %%
# Nearest neighbours and a kernel machine
# ---------------------------------------
# The errors of the nearest neighbour are those published with the archive, 8.7 % and 9.3 %. The
# machine's C and the kernel's width are chosen by cross-validation on the 50 series to learn from.
# The guide has five more data sets.
for name, band in (("without bending", 0), ("warped", None)):
    wrong = y[dtw_distances(T, X, band=band).argmin(axis=1)] != t
    print(f"nearest neighbour {name}: {wrong.mean():.1%} wrong")
machine = tune(SVC(GlobalAlignment()), X, y).best_estimator_
print(f"{machine.kernel_}, C = {machine.C:g}: {1 - machine.score(T, t):.1%} wrong")

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for x, label in zip(X, y, strict=True):
    axes[0].plot(x, color=colours[label], lw=0.7, alpha=0.5)
for label, colour in colours.items():
    axes[0].plot([], [], color=colour, label=label)
axes[0].legend(loc="upper right")
axes[0].set(title="50 series to learn from", xlabel="time", ylabel="height of the hand")

axes[1].plot(first + 3, color="C0")
axes[1].plot(second, color="C2")
for i, j in steps[::4]:
    axes[1].plot([i, j], [first[i] + 3, second[j]], color="0.7", lw=0.6, zorder=0)
axes[1].set(title="Points matched by warping", xlabel="time", yticks=[])

order = np.argsort(y, kind="stable")
image = axes[2].imshow(machine.kernel_(X[order]), vmin=0, vmax=1)
border = np.sum(y == "gun") - 0.5
axes[2].axhline(border, color="w", lw=0.8)
axes[2].axvline(border, color="w", lw=0.8)
axes[2].set(title="Global alignment, gun before point", xticks=[], yticks=[])
figure.colorbar(image, ax=axes[2], shrink=0.8)
plt.show()
