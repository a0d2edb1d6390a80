"""Dictionaries of neighbours that were written as bytes, read as arrays."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

_LIST, _DICT, _INT, _END = ord("["), ord("{"), ord("i"), ord("0")
"""How Python's marshal begins a list, a dictionary and a 32-bit integer, and ends a dictionary."""
HEAD, GRAPH, ENTRY = 5, 2, 7
"""Bytes of a list without its items, of a dictionary without its own, and of a number with an empty
dictionary."""


@jit
def read_neighbours(data: Bytes, sizes: Integers, counts: Integers, targets: Integers) -> bool:
    """Fill in the number of neighbours of each node, and the neighbours.

    ``data`` is a list of dictionaries, one for each graph, from its nodes 0, 1, 2 … in this order
    to dictionaries from their neighbours to empty ones. False is returned where it is not that.
    """
    if data.size < HEAD or data[0] != _LIST or _number(data, 0) != sizes.size:
        return False
    at, node, arc = HEAD, 0, 0
    for size in sizes:
        if at >= data.size or data[at] != _DICT:
            return False
        at += 1
        for name in range(size):
            if at + ENTRY > data.size or data[at] != _INT or _number(data, at) != name:
                return False
            if data[at + 5] != _DICT:
                return False
            at += 6
            first = arc
            while at + ENTRY <= data.size and data[at] == _INT:
                end = _number(data, at)
                empty = data[at + 5] == _DICT and data[at + 6] == _END
                if not empty or arc >= targets.size or end < 0 or end >= size:
                    return False
                targets[arc] = end
                arc += 1
                at += ENTRY
            if at >= data.size or data[at] != _END:
                return False
            at += 1
            counts[node] = arc - first
            node += 1
        if at >= data.size or data[at] != _END:
            return False
        at += 1
    return at == data.size and arc == targets.size


@jit
def _number(data: Bytes, at: int) -> Any:
    """Return the integer of 32 bits, the low byte first, behind a mark."""
    value = (
        np.int64(data[at + 1])
        | np.int64(data[at + 2]) << 8
        | np.int64(data[at + 3]) << 16
        | np.int64(data[at + 4]) << 24
    )
    return value - (1 << 32) if value >> 31 else value
