"""Products with tiles of a matrix: of a symmetric one that is held, and of cached rows."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit, jit_sums
from mercer._typing import Array, IntArray

Integers = np.ndarray[Any, np.dtype[np.int64]]

ROWS = 4
"""Rows of a tile that are read together; its size has to be a multiple."""


@jit_sums
def multiply(tiles: Array, places: Integers, first: int, step: int, U: Array, sums: Array) -> None:
    """Add to ``sums`` the product with Uᵀ of every ``step``-th tile, from the ``first`` one on.

    ``places`` holds the row and the column of each tile, counted in tiles. A tile off the diagonal
    counts twice, as itself and as its transpose, and is read from memory once.
    """
    size = tiles.shape[1]
    zero = U.dtype.type(0)
    columns = np.empty(size, dtype=U.dtype)
    for t in range(first, tiles.shape[0], step):
        i, j = places[t, 0] * size, places[t, 1] * size
        tile = tiles[t]
        for m in range(U.shape[0]):
            left, right, out = U[m, i : i + size], U[m, j : j + size], sums[m]
            columns[:] = zero
            for r in range(0, size, ROWS):
                k0, k1, k2, k3 = tile[r], tile[r + 1], tile[r + 2], tile[r + 3]
                u0, u1, u2, u3 = left[r], left[r + 1], left[r + 2], left[r + 3]
                s0, s1, s2, s3 = zero, zero, zero, zero
                for c in range(size):
                    x = right[c]
                    s0 += k0[c] * x
                    s1 += k1[c] * x
                    s2 += k2[c] * x
                    s3 += k3[c] * x
                    columns[c] += k0[c] * u0 + k1[c] * u1 + k2[c] * u2 + k3[c] * u3
                out[i + r] += s0
                out[i + r + 1] += s1
                out[i + r + 2] += s2
                out[i + r + 3] += s3
            if i != j:
                for c in range(size):
                    out[j + c] += columns[c]


@jit
def add_rows(rows: Array, slots: IntArray, coef: Array, out: Array) -> None:
    """Add coef @ rows[slots] to out: sums of 16 products in the rows' type, then in float64."""
    n = out.size
    acc = np.empty(n, rows.dtype)
    k = slots.size
    zero = rows.dtype.type(0)
    # Four rows at a time: with more arrays in a loop LLVM does not vectorise it.
    for s in range(0, k, 4):
        c0 = coef[s]
        c1 = coef[s + 1] if s + 1 < k else zero
        c2 = coef[s + 2] if s + 2 < k else zero
        c3 = coef[s + 3] if s + 3 < k else zero
        r0 = rows[slots[s], :n]
        r1 = rows[slots[min(s + 1, k - 1)], :n]
        r2 = rows[slots[min(s + 2, k - 1)], :n]
        r3 = rows[slots[min(s + 3, k - 1)], :n]
        if s % 16 == 0:
            for t in range(n):
                acc[t] = (c0 * r0[t] + c1 * r1[t]) + (c2 * r2[t] + c3 * r3[t])
        else:
            for t in range(n):
                acc[t] += (c0 * r0[t] + c1 * r1[t]) + (c2 * r2[t] + c3 * r3[t])
        if s % 16 == 12 or s + 4 >= k:
            for t in range(n):
                out[t] += acc[t]
