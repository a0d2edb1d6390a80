"""Inner products of rows of two sparse matrices, most of whose columns are rare, and of columns."""

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


@jit
def squared_distances(
    products: Array,
    begins: Integers,
    ends: Integers,
    indices: Integers,
    data: Array,
    other_begins: Integers,
    other_ends: Integers,
    other_indices: Integers,
    other_data: Array,
    columns: int,
    norms: Array,
    other_norms: Array,
    near: Any,
) -> None:
    """Turn the inner products of a block into squared distances, in place.

    ‖x−z‖² = ‖x‖² + ‖z‖² − 2⟨x,z⟩ loses digits when the points are close: a pair whose distance
    is below ``near`` times ‖x‖² + ‖z‖² is computed again from the differences.
    """
    n, m = products.shape
    difference = np.zeros(columns, products.dtype)
    for i in range(n):
        row, norm, close = products[i], norms[i], 0
        for j in range(m):
            total = norm + other_norms[j]
            value = total - row[j] - row[j]
            row[j] = value
            close += value < near * total
        if close == 0:
            continue
        for j in range(m):
            if row[j] < near * (norm + other_norms[j]):
                for p in range(begins[i], ends[i]):
                    difference[indices[p]] += data[p]
                for q in range(other_begins[j], other_ends[j]):
                    difference[other_indices[q]] -= other_data[q]
                row[j] = 0
                # A column that both have is 0 again when it is seen the second time.
                for p in range(begins[i], ends[i]):
                    row[j] += difference[indices[p]] ** 2
                    difference[indices[p]] = 0
                for q in range(other_begins[j], other_ends[j]):
                    row[j] += difference[other_indices[q]] ** 2
                    difference[other_indices[q]] = 0


@jit
def add_column_products(indptr: Integers, indices: Integers, data: Array, out: Array) -> None:
    """Add XᵀX to ``out``, the products of all pairs of columns of a matrix in sparse rows."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            value, row = data[p], out[indices[p]]
            for q in range(indptr[i], indptr[i + 1]):
                row[indices[q]] += value * data[q]
