"""Inner products of all rows of two sparse matrices, where most columns are rare."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

Integers = np.ndarray[Any, np.dtype[np.int64]]


@jit
def split(
    indptr: Integers,
    indices: Integers,
    data: Array,
    place: Integers,
    dense: Array,
    starts: Integers,
    columns: Integers,
    values: Array,
    alone: Array,
    norms: Array,
) -> None:
    """Move column c to ``place[c]``: a column of ``dense``, one behind those, or nowhere (−1).

    What is behind is written to (starts, columns, values). ``alone`` gets the squares of what
    goes nowhere, ``norms`` those of all entries of a row.
    """
    width = dense.shape[1]
    filled = 0
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            at = place[indices[p]]
            norms[i] += value * value
            if at < 0:
                alone[i] += value * value
            elif at < width:
                dense[i, at] += value
            else:
                columns[filled] = at - width
                values[filled] = value
                filled += 1
        starts[i + 1] = filled


@jit
def add_products(
    begins: Integers,
    ends: Integers,
    indices: Integers,
    data: Array,
    other_begins: Integers,
    other_ends: Integers,
    other_indices: Integers,
    other_data: Array,
    columns: int,
    out: Array,
) -> None:
    """Add to ``out[i, j]`` the inner product of row i of a sparse matrix with row j of another.

    Row i has the entries from ``begins[i]`` to ``ends[i]``. The entries of the other matrix are
    sorted by their column first, so that only pairs of rows that share one are looked at.
    """
    starts = np.zeros(columns + 2, dtype=np.int64)
    for j in range(other_begins.size):
        for p in range(other_begins[j], other_ends[j]):
            starts[other_indices[p] + 2] += 1
    for column in range(2, starts.size):
        starts[column] += starts[column - 1]
    rows, values = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    for j in range(other_begins.size):
        for p in range(other_begins[j], other_ends[j]):
            at = starts[other_indices[p] + 1]
            starts[other_indices[p] + 1] += 1
            rows[at], values[at] = j, other_data[p]
    for i in range(begins.size):
        sums = out[i]
        for p in range(begins[i], ends[i]):
            value, column = data[p], indices[p]
            for q in range(starts[column], starts[column + 1]):
                sums[rows[q]] += value * values[q]
