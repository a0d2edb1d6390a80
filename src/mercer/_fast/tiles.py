"""Products with a symmetric matrix of which the upper triangle is held, in square tiles."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit_sums
from mercer._typing import Array

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
