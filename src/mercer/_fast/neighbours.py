"""Nearest points by a kernel, one block of values at a time."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

Integers = np.ndarray[Any, np.dtype[np.int64]]

_CHUNK = 16


@jit
def insert(squares: Array, chosen: Integers, i: int, square: float, j: int) -> None:
    """Put point j into the ascending list of point i if it is near enough to be there."""
    at = squares.shape[1] - 1
    # Among equals the first point, in whichever order they come.
    if square > squares[i, at] or (square == squares[i, at] and j > chosen[i, at]):
        return
    while at > 0 and (
        squares[i, at - 1] > square or (squares[i, at - 1] == square and chosen[i, at - 1] > j)
    ):
        squares[i, at] = squares[i, at - 1]
        chosen[i, at] = chosen[i, at - 1]
        at -= 1
    squares[i, at] = square
    chosen[i, at] = j


@jit
def nearest(
    values: Array,
    diagonal: Array,
    row: int,
    column: int,
    squares: Array,
    chosen: Integers,
) -> None:
    """Update lists of nearest points with the values k(xᵢ, xⱼ) of a block.

    The block starts at (``row``, ``column``); ``diagonal`` holds k(xⱼ, xⱼ) of all points. Row i of
    ``squares`` and ``chosen`` is the list of point i, ascending: k(xⱼ, xⱼ) − 2k(xᵢ, xⱼ), and j.
    """
    rows, columns = values.shape
    last = squares.shape[1] - 1
    own = diagonal[column : column + columns]
    whole = columns // _CHUNK
    for r in range(rows):
        i = row + r
        k = values[r]
        for chunk in range(whole):
            start = chunk * _CHUNK
            worst = squares[i, last]
            # Most chunks hold nothing near; whether one does is found without branches.
            hits = 0
            for c in range(_CHUNK):
                hits += own[start + c] - 2 * k[start + c] <= worst
            if hits > 0:
                for c in range(start, start + _CHUNK):
                    if column + c != i:
                        insert(squares, chosen, i, own[c] - 2 * k[c], column + c)
        for c in range(whole * _CHUNK, columns):
            if column + c != i:
                insert(squares, chosen, i, own[c] - 2 * k[c], column + c)


@jit
def merge(squares: Array, chosen: Integers, others: Array, theirs: Integers) -> None:
    """Put the points of other lists into lists."""
    for i in range(others.shape[0]):
        for at in range(others.shape[1]):
            if theirs[i, at] >= 0:
                insert(squares, chosen, i, others[i, at], theirs[i, at])
