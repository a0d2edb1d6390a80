"""Distances between the rows of two matrices, a block of pairs at a time.

Loops run over columns of the block innermost, so that LLVM vectorises them without being
allowed to reorder sums. ``bt`` is always the right side transposed, shape (d, m).
"""

from typing import Any

import numpy as np

from mercer._fast.exponentials import double
from mercer._fast.jit import jit
from mercer._typing import Array

ABSOLUTE, MINIMUM, CHI2 = 0, 1, 2
_NOTHING = 1e-300
"""Well above e⁻⁷⁰⁸, which stands for all smaller exponentials."""


@jit
def squared_distances(
    products: Array, a: Array, b: Array, a_norms: Array, b_norms: Array, near: Any
) -> None:
    """Turn the dot products of a block into squared distances, in place.

    ‖x−z‖² = ‖x‖² + ‖z‖² − 2⟨x,z⟩ loses digits when the points are close: a pair whose distance
    is below ``near`` times ‖x‖² + ‖z‖² is computed again from the differences.
    """
    n, m = products.shape
    d = a.shape[1]
    for i in range(n):
        row = products[i]
        norm = a_norms[i]
        close = 0
        for j in range(m):
            total = norm + b_norms[j]
            value = total - row[j] - row[j]
            row[j] = value
            close += value < near * total
        if close:
            for j in range(m):
                if row[j] < near * (norm + b_norms[j]):
                    row[j] = 0
                    for k in range(d):
                        difference = a[i, k] - b[j, k]
                        row[j] += difference * difference


@jit
def scaled_distances(a: Array, b: Array, factor: float, same: bool) -> Array:
    """Return factor · ‖x − z‖² of all pairs of a few rows, from their differences.

    The values of a row do not depend on the rows beside it. Where both batches are the ``same``,
    each pair is computed once.
    """
    n, m = a.shape[0], b.shape[0]
    bt = b.T.copy()
    out = np.empty((n, m))
    for i in range(n):
        start = i if same else 0
        _scaled_row(a[i], bt, start, factor, out[i])
    if same:
        mirror_upper(out)
    return out


@jit
def gaussians(a: Array, b: Array, factor: float, same: bool) -> Array:
    """Return exp(factor · ‖x − z‖²) of all pairs of a few rows, as ``scaled_distances`` does."""
    n, m = a.shape[0], b.shape[0]
    bt = b.T.copy()
    out = np.empty((n, m))
    for i in range(n):
        start = i if same else 0
        row = out[i, start:]
        _scaled_row(a[i], bt, start, factor, out[i])
        double(row)
        for j in range(row.size):  # sums of ±e⁻⁷⁰⁸ are not 0 in every order, and decide ties
            row[j] = 0.0 if row[j] < _NOTHING else row[j]
    if same:
        mirror_upper(out)
    return out


@jit
def _scaled_row(x: Array, bt: Array, start: int, factor: float, out: Array) -> None:
    """Write factor · ‖x − z‖² to ``out``, from ``start`` on; four columns are added in one pass."""
    d, k, row = x.size, 0, out[start:]
    for j in range(row.size):
        row[j] = 0.0
    while k + 4 <= d:
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        z0, z1, z2, z3 = bt[k, start:], bt[k + 1, start:], bt[k + 2, start:], bt[k + 3, start:]
        for j in range(row.size):
            e0, e1, e2, e3 = x0 - z0[j], x1 - z1[j], x2 - z2[j], x3 - z3[j]
            row[j] += (e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)
        k += 4
    while k < d:
        x0, z0 = x[k], bt[k, start:]
        for j in range(row.size):
            e0 = x0 - z0[j]
            row[j] += e0 * e0
        k += 1
    for j in range(row.size):
        row[j] *= factor


@jit
def coordinate_sums(a: Array, bt: Array, variant: int, out: Array) -> None:
    """Add to ``out[i, j]`` the sum over coordinates of |x−z|, min(x, z) or (x−z)²/(x+z)."""
    n, m = out.shape
    d = a.shape[1]
    for i in range(n):
        row = out[i]
        if variant == ABSOLUTE:
            k = 0
            while k + 4 <= d:
                x0, x1, x2, x3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                for j in range(m):
                    row[j] += (abs(x0 - bt[k, j]) + abs(x1 - bt[k + 1, j])) + (
                        abs(x2 - bt[k + 2, j]) + abs(x3 - bt[k + 3, j])
                    )
                k += 4
            while k < d:
                x0 = a[i, k]
                for j in range(m):
                    row[j] += abs(x0 - bt[k, j])
                k += 1
        elif variant == MINIMUM:
            for k in range(d):
                x0 = a[i, k]
                for j in range(m):
                    row[j] += min(x0, bt[k, j])
        else:
            for k in range(d):
                x0 = a[i, k]
                for j in range(m):
                    total = x0 + bt[k, j]
                    difference = x0 - bt[k, j]
                    if total > 0:
                        row[j] += difference * difference / total


@jit
def count_matches(a: np.ndarray, bt: np.ndarray, out: Array) -> None:
    """Add to ``out[i, j]`` the number of coordinates in which two rows are equal."""
    n, m = out.shape
    for i in range(n):
        row = out[i]
        for k in range(a.shape[1]):
            code = a[i, k]
            for j in range(m):
                row[j] += code == bt[k, j]


@jit
def mirror_upper(square: Array) -> None:
    """Copy the part above the diagonal to below it, in small squares that stay in the cache."""
    n = square.shape[0]
    for a in range(0, n, 32):
        for b in range(0, a + 1, 32):
            for i in range(a, min(a + 32, n)):
                for j in range(b, min(b + 32, i)):
                    square[i, j] = square[j, i]


@jit
def write_transposed(block: Array, out: Array) -> None:
    """Write the transpose of ``block`` to ``out``, in small squares that stay in the cache."""
    n, m = block.shape
    for a in range(0, n, 32):
        for b in range(0, m, 32):
            for j in range(b, min(b + 32, m)):
                for i in range(a, min(a + 32, n)):
                    out[j, i] = block[i, j]
