"""Compiled steps of Lanczos' method for parts of one matrix, which is read once for all of them."""

import math

import numpy as np

from mercer._fast.jit import jit_sums
from mercer._typing import Array, IntArray

__all__ = ["AT_ONCE", "grow"]

AT_ONCE = 3
"""Vectors that share a look at four rows: their twelve sums fit into the registers."""
_CANCELLED = 0.5
"""What is left of a vector below which it is made orthogonal once more ("twice is enough")."""


@jit_sums
def grow(
    K: Array,
    bounds: IntArray,
    both: IntArray,
    counts: IntArray,
    rows: IntArray,
    sizes: IntArray,
    scales: Array,
    shifts: Array,
    tol: float,
    steps: int,
    bases: Array,
    following: Array,
    diagonals: Array,
    sides: Array,
    pivots: Array,
    residuals: Array,
    lengths: IntArray,
) -> None:
    """Take some steps for each vector f whose residual for the shift λ is above ``tol``.

    Its matrix is SKS of the first ``sizes[f]`` of ``rows[f]`` with themselves, its basis has
    ``lengths[f]`` rows, and ``following`` is the next one. ``bounds``, ``both`` and ``counts`` are
    as in :func:`_multiply`. Where SKS + λI is not positive definite the residual becomes NaN, and
    no more steps are taken.
    """
    vectors, images = np.zeros((sizes.size, len(K))), np.empty((sizes.size, len(K)))
    for _ in range(steps):
        for f in range(sizes.size):
            m = lengths[f]
            if not residuals[f] > tol:
                vectors[f] = 0.0
                continue
            for i in range(sizes[f]):
                bases[f, m, i] = following[f, i]
                vectors[f, rows[f, i]] = scales[f, i] * following[f, i]
        _multiply(K, bounds, both, counts, vectors, images)
        for f in range(sizes.size):
            if not residuals[f] > tol:
                continue
            n, m = sizes[f], lengths[f]
            basis, image = bases[f], following[f]
            for i in range(n):
                image[i] = scales[f, i] * images[f, rows[f, i]]
            along = _dot(basis[m], image, n)
            pivot = along + shifts[f]
            _take_away(basis[m], along, image, n)
            if m > 0:
                side = sides[f, m - 1]
                pivot -= side * side / pivots[f]
                _take_away(basis[m - 1], side, image, n)
            before = math.sqrt(_dot(image, image, n))
            _make_orthogonal(basis, m + 1, image, n)
            size = math.sqrt(_dot(image, image, n))
            if size < _CANCELLED * before:
                _make_orthogonal(basis, m + 1, image, n)
                size = math.sqrt(_dot(image, image, n))
            if size > 0.0:
                for i in range(n):
                    image[i] /= size
            diagonals[f, m], sides[f, m], pivots[f] = along, size, pivot
            # A space that is everything holds the answer.
            residual = residuals[f] * size / pivot if m + 1 < n else 0.0
            residuals[f] = residual if pivot > 0.0 else np.nan
            lengths[f] = m + 1


@jit_sums
def _multiply(
    K: Array, bounds: IntArray, both: IntArray, counts: IntArray, vectors: Array, images: Array
) -> None:
    """Write K times each vector, of which each is zero in some segments of the rows.

    ``bounds`` are those of the segments. ``both[a, b]`` are the vectors that are not zero in either
    of two segments, in ``counts[a, b]`` groups; the last ones may be there twice. Images in the
    segments where their vectors are zero are not computed.
    """
    sums = np.empty((len(vectors), 4))
    for a in range(bounds.size - 1):
        last = bounds[a + 1] - 1
        for i in range(bounds[a], bounds[a + 1], 4):
            # Where fewer than four rows are left the last one is there again, and so are its sums.
            # Numba makes loops over slices with two numbers twice as fast as over slice objects.
            i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            sums[:] = 0.0
            for b in range(bounds.size - 1):
                start, end = bounds[b], bounds[b + 1]
                row, row1 = K[i, start:end], K[i1, start:end]
                row2, row3 = K[i2, start:end], K[i3, start:end]
                for group in range(counts[a, b]):
                    u, v, w = both[a, b, group, 0], both[a, b, group, 1], both[a, b, group, 2]
                    x, y, z = vectors[u, start:end], vectors[v, start:end], vectors[w, start:end]
                    x0 = x1 = x2 = x3 = y0 = y1 = y2 = y3 = z0 = z1 = z2 = z3 = 0.0
                    for j in range(end - start):
                        xj, yj, zj = x[j], y[j], z[j]
                        k = row[j]
                        x0 += k * xj
                        y0 += k * yj
                        z0 += k * zj
                        k = row1[j]
                        x1 += k * xj
                        y1 += k * yj
                        z1 += k * zj
                        k = row2[j]
                        x2 += k * xj
                        y2 += k * yj
                        z2 += k * zj
                        k = row3[j]
                        x3 += k * xj
                        y3 += k * yj
                        z3 += k * zj
                    sums[u, 0] += x0
                    sums[u, 1] += x1
                    sums[u, 2] += x2
                    sums[u, 3] += x3
                    if v != u:
                        sums[v, 0] += y0
                        sums[v, 1] += y1
                        sums[v, 2] += y2
                        sums[v, 3] += y3
                    if w != v:
                        sums[w, 0] += z0
                        sums[w, 1] += z1
                        sums[w, 2] += z2
                        sums[w, 3] += z3
            for f in range(len(vectors)):
                images[f, i] = sums[f, 0]
                images[f, i1] = sums[f, 1]
                images[f, i2] = sums[f, 2]
                images[f, i3] = sums[f, 3]


@jit_sums
def _make_orthogonal(basis: Array, length: int, vector: Array, n: int) -> None:
    """Take from a vector what it has of an orthonormal basis, four rows at a time."""
    whole = length - length % 4
    for k in range(0, whole, 4):
        p, q, r, s = basis[k], basis[k + 1], basis[k + 2], basis[k + 3]
        a = b = c = d = 0.0
        for i in range(n):
            x = vector[i]
            a += x * p[i]
            b += x * q[i]
            c += x * r[i]
            d += x * s[i]
        for i in range(n):
            vector[i] -= a * p[i] + b * q[i] + c * r[i] + d * s[i]
    for k in range(whole, length):
        _take_away(basis[k], _dot(basis[k], vector, n), vector, n)


@jit_sums
def _take_away(u: Array, size: float, vector: Array, n: int) -> None:
    for i in range(n):
        vector[i] -= size * u[i]


@jit_sums
def _dot(u: Array, v: Array, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += u[i] * v[i]
    return total
