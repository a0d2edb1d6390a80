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
def by_column(
    begins: Integers,
    ends: Integers,
    indices: Integers,
    data: Array,
    column_starts: Integers,
    rows: Integers,
    values: Array,
) -> None:
    """Sort the entries of some rows, those from ``begins`` to ``ends``, by their column."""
    for i in range(begins.size):
        for p in range(begins[i], ends[i]):
            column_starts[indices[p] + 2] += 1
    for column in range(2, column_starts.size):
        column_starts[column] += column_starts[column - 1]
    for i in range(begins.size):
        for p in range(begins[i], ends[i]):
            at = column_starts[indices[p] + 1]
            column_starts[indices[p] + 1] += 1
            rows[at] = i
            values[at] = data[p]


@jit
def add_products(
    begins: Integers,
    ends: Integers,
    indices: Integers,
    data: Array,
    column_starts: Integers,
    rows: Integers,
    values: Array,
    out: Array,
) -> None:
    """Add to ``out[i, j]`` the inner product of a row i with a row j that is sorted by column."""
    for i in range(begins.size):
        sums = out[i]
        for p in range(begins[i], ends[i]):
            column = indices[p]
            value = data[p]
            for q in range(column_starts[column], column_starts[column + 1]):
                sums[rows[q]] += value * values[q]
