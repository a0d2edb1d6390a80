"""Labels of nodes, refined round by round, and how often each occurs in a graph.

A multiset of labels is hashed as the sum of scrambled labels, which no order can change.
"""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

Codes = np.ndarray[Any, np.dtype[np.uint64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


@jit
def scramble(code: Any) -> Any:
    """Scramble a 64-bit integer, one to one (the finaliser of splitmix64)."""
    code = code + _STEP
    code = (code ^ (code >> _S30)) * _A
    code = (code ^ (code >> _S27)) * _B
    return code ^ (code >> _S31)


@jit
def refine(
    arc_starts: Integers,
    targets: Integers,
    edge_labels: Codes,
    first: int,
    last: int,
    colours: Codes,
) -> None:
    """Fill the rows of ``colours`` after the first: each node with its neighbours, once more.

    The nodes ``first`` to ``last`` are those of whole graphs.
    """
    mixed = np.empty(last - first, dtype=np.uint64)
    for r in range(1, colours.shape[0]):
        for i in range(first, last):
            mixed[i - first] = scramble(colours[r - 1, i])
        for i in range(first, last):
            total = np.uint64(0)
            for p in range(arc_starts[i], arc_starts[i + 1]):
                total += scramble(mixed[targets[p] - first] ^ edge_labels[p])
            colours[r, i] = scramble(mixed[i - first] * _A + total)


@jit
def count_keys(
    keys: Codes,
    weights: Array,
    starts: Integers,
    known: Codes,
    indptr: Integers,
    indices: Integers,
    data: Array,
) -> tuple[int, int]:
    """Add up the weights of equal keys of each part, over all rows of ``keys``.

    ``weights`` has one entry for all keys or one for each. The parts become the rows of a sparse
    matrix (indptr, indices, data) whose column j has the key ``known[j]``; the number of columns
    and of entries are returned.
    """
    rows = keys.shape[0]
    slots = 1
    while 4 * slots < 5 * known.size:  # four in five are full at most, and few are far from home
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, dtype=indices.dtype)
    seen = np.empty(known.size, dtype=indices.dtype)  # where a column has its last entry
    columns = 0
    filled = 0
    for part in range(starts.size - 1):
        begin = filled
        for r in range(rows):
            for i in range(starts[part], starts[part + 1]):
                key = keys[r, i]
                weight = weights[i] if weights.size > 1 else weights[0]
                slot: Any = np.int64(scramble(key) & mask)
                while table[slot] >= 0 and known[table[slot]] != key:
                    slot = slot + 1 if slot + 1 < slots else 0
                column = table[slot]
                if column < 0:
                    column = columns
                    table[slot] = column
                    known[column] = key
                    seen[column] = -1
                    columns += 1
                at = seen[column]
                if at >= begin:
                    data[at] += weight
                else:
                    seen[column] = filled
                    indices[filled] = column
                    data[filled] = weight
                    filled += 1
        indptr[part + 1] = filled
    return columns, filled


@jit
def number_copies(
    indptr: Integers, indices: Integers, counts: Array, keys: Codes, out: Codes
) -> None:
    """Write ⌊count⌋ different keys for every entry of a sparse matrix of counts."""
    at = 0
    for row in range(indptr.size - 1):
        for p in range(indptr[row], indptr[row + 1]):
            key = keys[indices[p]]
            for copy in range(int(counts[p])):
                out[at] = scramble(key + np.uint64(copy) * _STEP)
                at += 1
