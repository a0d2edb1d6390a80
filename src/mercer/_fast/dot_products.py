"""Products of rows with weights, and multiples of rows added to them: the inner loops of passes.

They are small, so that the compiler puts them where they are called.
"""

import numpy as np

from mercer._fast.jit import jit, jit_sums
from mercer._typing import Array, IntArray

_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@jit_sums
def dense_product(row: Array, w: Array) -> float:
    """Return Σ rowⱼ wⱼ over the entries of the row."""
    total = 0.0
    for j in range(row.size):
        total += row[j] * w[j]
    return total


@jit
def add_dense(row: Array, factor: float, out: Array) -> None:
    """Add a multiple of a row."""
    for j in range(row.size):
        out[j] += factor * row[j]


@jit
def sparse_product(data: Array, indices: IntArray, begin: int, end: int, w: Array) -> float:
    """Return the product of a sparse row with w: four sums, none of which waits for the others.

    Places without a sign need no test for negative ones, which takes longer than the sums.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    at, last = np.uint64(begin), np.uint64(end)
    while at + _THREE < last:
        a += data[at] * w[np.uint64(indices[at])]
        b += data[at + _ONE] * w[np.uint64(indices[at + _ONE])]
        c += data[at + _TWO] * w[np.uint64(indices[at + _TWO])]
        d += data[at + _THREE] * w[np.uint64(indices[at + _THREE])]
        at += _FOUR
    while at < last:
        a += data[at] * w[np.uint64(indices[at])]
        at += _ONE
    return (a + b) + (c + d)


@jit
def add_sparse(
    data: Array, indices: IntArray, begin: int, end: int, factor: float, out: Array
) -> None:
    """Add a multiple of a sparse row."""
    at, last = np.uint64(begin), np.uint64(end)
    while at < last:
        out[np.uint64(indices[at])] += factor * data[at]
        at += _ONE
