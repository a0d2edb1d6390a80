"""Patterns of letters in strings: 64-bit keys and counts.

The key of a pattern is Σⱼ BASEᵛ h(cⱼ) modulo 2⁶⁴ over its places j that hold a letter c, where h
scrambles letters and v counts places from the right. A wildcard adds nothing, so patterns of all
kinds are made by leaving out or exchanging terms of one sum.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._fast.jit import jit
from mercer._fast.refinement import scramble as scrambled
from mercer._typing import Array, IntArray

Keys = NDArray[np.uint64]

BASE = 0xD1342543DE82EF95  # odd, with well mixed bits, as multipliers of generators are
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BASE = np.uint64(BASE)


@jit
def scramble(symbols: NDArray[np.uint32]) -> Keys:
    """Return h(c) of all code points (the finaliser of splitmix64, one to one)."""
    out = np.empty(len(symbols), dtype=np.uint64)
    for i in range(len(symbols)):
        out[i] = scrambled(np.uint64(symbols[i]) * _GOLDEN)
    return out


@jit
def count(
    values: Keys,
    starts: IntArray,
    weights: Keys,
    replaced: IntArray,
    letters: Keys,
    most: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], Keys]:
    """Count the patterns of all windows of all strings; return (indices, counts, ends, keys).

    ``values`` are the scrambled letters of the strings, one after the other. Pattern p keeps place
    j of a window with ``weights[p, j]`` (0: a wildcard), and puts every other letter of
    ``letters`` in its places ``replaced[p]`` (−1: none). A window has ``most`` patterns at most.
    Row i has the entries ``ends[i]`` … ``ends[i + 1]``, whose ``indices`` point into ``keys``.
    """
    rows, width = len(starts) - 1, weights.shape[1]
    longest, total = 0, 0
    for row in range(rows):
        windows = max(0, starts[row + 1] - starts[row] - width + 1)
        longest, total = max(longest, windows), total + windows
    buffer = np.empty(longest * most, dtype=np.uint64)
    indices = np.empty(total * most, dtype=np.int32)
    counts = np.empty(total * most, dtype=np.int32)
    ends = np.zeros(rows + 1, dtype=np.int64)
    # An open hash table: the number of the key in each place, or −1.
    table = np.full(1024, -1, dtype=np.int32)
    keys = np.empty(512, dtype=np.uint64)
    last_row, last_entry = np.empty(512, dtype=np.int64), np.empty(512, dtype=np.int64)
    known, entries = 0, 0
    for row in range(rows):
        found = _patterns(values, starts[row], starts[row + 1], weights, replaced, letters, buffer)
        if 2 * (known + found) > len(table):
            size = len(table)
            while 2 * (known + found) > size:
                size *= 2
            keys, last_row, last_entry = (
                _longer(keys, size // 2),
                _longer(last_row, size // 2),
                _longer(last_entry, size // 2),
            )
            table = _rehashed(keys, known, size)
        for i in range(found):
            key = buffer[i]
            at = _place(key, table, keys)
            number = table[at]
            if number < 0:
                number = known
                table[at], keys[number], last_row[number] = number, key, -1
                known += 1
            if last_row[number] == row:
                counts[last_entry[number]] += 1
            else:
                last_row[number], last_entry[number] = row, entries
                indices[entries], counts[entries] = number, 1
                entries += 1
        ends[row + 1] = entries
    return indices[:entries].copy(), counts[:entries].copy(), ends, keys[:known].copy()


@jit
def _patterns(
    values: Keys,
    start: int,
    end: int,
    weights: Keys,
    replaced: IntArray,
    letters: Keys,
    out: Keys,
) -> int:
    """Write the keys of all patterns of one string; return how many there are."""
    width, found = weights.shape[1], 0
    if weights.shape[0] == 1 and replaced[0, 0] < 0:  # no wildcards: a rolling sum
        if end - start < width:
            return 0
        key = np.uint64(0)
        for at in range(start, start + width):
            key = key * _BASE + values[at]
        out[0] = key
        leaving = weights[0, 0] * _BASE
        for at in range(start + width, end):
            key = key * _BASE + values[at] - leaving * values[at - width]
            out[at - start - width + 1] = key
        return int(end - start - width + 1)
    for at in range(start, end - width + 1):
        for p in range(weights.shape[0]):
            key = np.uint64(0)
            for j in range(width):
                key += weights[p, j] * values[at + j]
            out[found] = key
            size = 1
            for r in range(replaced.shape[1]):
                j = replaced[p, r]
                if j < 0:
                    break
                size = _exchanged(out, found, size, values[at + j], letters, weights[0, j])
            found += size
    return found


@jit
def _exchanged(
    out: Keys, first: int, size: int, letter: np.uint64, letters: Keys, weight: np.uint64
) -> int:
    """Replace each of ``size`` keys by those with every other letter in one more place."""
    others = 0
    for other in letters:
        others += other != letter
    for s in range(size - 1, -1, -1):
        key, at = out[first + s], first + s * others
        for other in letters:
            if other != letter:
                out[at] = key + weight * other
                at += 1
    return size * others


@jit
def _place(key: np.uint64, table: NDArray[np.int32], keys: Keys) -> np.int64:
    mask = len(table) - 1
    mixed = (key ^ (key >> np.uint64(32))) * _GOLDEN
    at = np.int64(mixed >> np.uint64(20)) & mask
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & mask
    return at


@jit
def _rehashed(keys: Keys, known: int, size: int) -> NDArray[np.int32]:
    table = np.full(size, -1, dtype=np.int32)
    for number in range(known):
        table[_place(keys[number], table, keys)] = number
    return table


@jit
def _longer(old: NDArray[Any], size: int) -> NDArray[Any]:
    new = np.empty(size, dtype=old.dtype)
    new[: len(old)] = old
    return new


@jit
def settle(
    indices: IntArray,
    counts: IntArray,
    ends: IntArray,
    order: IntArray,
    columns: IntArray,
    factors: Array,
    out_indices: IntArray,
    out_data: Array,
) -> None:
    """Give entries their columns, in rising order within a row, and weigh them.

    ``order`` are the numbers of the keys by rising ``columns``. ``factors`` has one factor a row;
    nothing in it means that every count becomes 1.
    """
    entries = len(indices)
    tallies = np.zeros(len(order) + 1, dtype=np.int64)
    for i in range(entries):
        tallies[indices[i]] += 1
    fill = np.empty(len(order), dtype=np.int64)
    at = 0
    for number in order:
        fill[number] = at
        at += tallies[number]
    # Entries sorted by column; writing them to their rows in this order sorts each row.
    rows, values = np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.int32)
    for row in range(len(ends) - 1):
        for i in range(ends[row], ends[row + 1]):
            at = fill[indices[i]]
            rows[at], values[at] = row, counts[i]
            fill[indices[i]] = at + 1
    following = ends[:-1].copy()
    at = 0
    for number in order:
        column = columns[number]
        for _ in range(tallies[number]):
            row = rows[at]
            out_indices[following[row]] = column
            out_data[following[row]] = values[at] * factors[row] if len(factors) else 1.0
            following[row] += 1
            at += 1
