"""
Large Gram matrices
===================

A Gram matrix of n rows has n² values. ``Gram`` computes only what is asked for: products
without the matrix, single rows from a cache, and many widths from one distance matrix.
"""

import time
from contextlib import contextmanager

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import RBF, Gram, Laplacian


@contextmanager
def stopwatch(what):
    """Print how long a block takes."""
    start = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - start:.2f} s")


# %%
# The handwritten digits of scikit-learn, each also moved by one pixel in eight directions:
# 16,173 images of 8 × 8.
digits = load_digits()
moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
images = np.concatenate([np.roll(digits.images, move, axis=(1, 2)) for move in moves])
labels = np.tile(digits.target, len(moves))
X = (images / 16).reshape(len(images), -1).astype(np.float32)
gram = Gram(RBF("median"), X)
print(gram)
print(f"as a whole it would take {gram.shape[0] ** 2 * gram.dtype.itemsize / 1e9:.1f} GB")

# %%
# Products without the matrix
# ---------------------------
# ``gram @ V`` makes a block, uses it for all columns of V, and forgets it. With V as the
# indicators of the ten classes, divided by their sizes, the product is the mean similarity of
# every image to every class.
V = (labels[:, None] == np.arange(10)).astype(np.float32)
V /= V.sum(axis=0)
with stopwatch(f"gram @ V with {V.shape[1]} columns"):
    similarity = gram @ V

# %%
# The images that are most, and least, like the rest of their own class:
figure, panels = plt.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for digit in range(10):
    members = np.flatnonzero(labels == digit)
    own = similarity[members, digit]
    for axes, at in zip(panels[:, digit], (own.argmax(), own.argmin()), strict=True):
        axes.imshow(images[members[at]], cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color="C5")
for axes, name in zip(panels[:, 0], ("most\ntypical", "least\ntypical"), strict=True):
    axes.set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()

# %%
# Rows from a cache
# -----------------
# Many solvers ask for rows, and for the same ones again and again. Here are 100 requests of 50
# rows; nine out of ten rows are among 500 favourites. 64 MB hold 989 rows; those used least
# recently make room for new ones.
random = np.random.default_rng(0)
favourite = random.random((100, 50)) < 0.9
requests = np.where(
    favourite, random.integers(500, size=(100, 50)), random.integers(len(X), size=(100, 50))
)
for budget in (0, 64_000_000):
    cached = Gram(RBF("median"), X, cache_bytes=budget)
    with stopwatch(f"rows with {budget / 1e6:.0f} MB of cache"):
        for rows in requests:
            cached.rows(rows)
    hits, misses = cached.cache.hits, cached.cache.misses
    print(f"    {hits:,} rows were there, {misses:,} were computed")

# %%
# A grid of widths from one distance matrix
# -----------------------------------------
# ``statistic_bytes`` is the room for distances. ``with_kernel`` shares them, so every further
# width only takes the exponential. It helps most where distances are dear, as the L1 distances of
# the Laplacian kernel are.
# Each width is scored by its contrast: the mean similarity within the classes, less the mean of
# all.
middle = slice(4 * len(digits.target), 5 * len(digits.target))  # the images that were not moved
W = V[middle] * len(moves)
widths = np.geomspace(1, 200, 30)


def contrast(K):
    """Return the mean similarity within the classes, less that of all pairs."""
    return np.einsum("ij,ij->", W, K @ W) / 10 - K.mean()


with stopwatch(f"{len(widths)} widths on {len(W):,} rows, each from scratch"):
    slow = [contrast(Laplacian(length_scale=s)(X[middle])) for s in widths]
with stopwatch(f"{len(widths)} widths from one distance matrix"):
    shared = Gram(Laplacian(), X[middle], statistic_bytes=100_000_000)
    fast = [contrast(shared.with_kernel(Laplacian(length_scale=s)).dense()) for s in widths]
assert np.allclose(slow, fast)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(widths, fast, "o-", ms=4)
axes.set(xscale="log", xlabel="length scale", ylabel="contrast", ylim=(0, None))
plt.show()
