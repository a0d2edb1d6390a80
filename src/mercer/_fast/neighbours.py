"""Nearest points by a kernel, one block of values at a time."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

Integers = np.ndarray[Any, np.dtype[np.int64]]

_CHUNK = 32  # columns looked at together, in a few vector instructions


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
def any_near(own: Array, k: Array, farthest: Array, start: int, worst: float, mine: float) -> bool:
    """Say whether a chunk of values has a pair for the list of its row, or of its column."""
    near = False
    for c in range(start, start + _CHUNK):
        near |= (own[c] - 2 * k[c] <= worst) | (mine - 2 * k[c] <= farthest[c])
    return near


@jit
def nearest(
    values: Array,
    diagonal: Array,
    row: int,
    column: int,
    squares: Array,
    chosen: Integers,
    bounds: Array,
) -> None:
    """Update lists of nearest points with the values k(xᵢ, xⱼ) of a block.

    The block starts at (``row``, ``column``), on the diagonal or above it, and serves both the
    points of its rows and those of its columns; ``diagonal`` holds k(xⱼ, xⱼ) of all points. Row i
    of ``squares`` and ``chosen`` is the list of point i, ascending: k(xⱼ, xⱼ) − 2k(xᵢ, xⱼ), and j.
    Nothing beyond ``bounds`` will be among the nearest. Threads share these and may overwrite each
    other's: the end of any list is a bound.
    """
    rows, columns = values.shape
    last = squares.shape[1] - 1
    own = diagonal[column : column + columns].copy()
    farthest = bounds[column : column + columns].copy()
    for r in range(rows):
        i, k, mine = row + r, values[r], diagonal[row + r]
        worst = bounds[i]
        # On the diagonal, pairs below it were met in the mirror.
        first = r + 1 if row == column else 0
        for chunk in range(first // _CHUNK, -(-columns // _CHUNK)):
            start, stop = chunk * _CHUNK, min((chunk + 1) * _CHUNK, columns)
            # Most chunks hold nothing near; whether one does is found without branches.
            whole = stop - start == _CHUNK
            if whole and not any_near(own, k, farthest, start, worst, mine):
                continue
            for c in range(max(start, first), stop):
                there, here = own[c] - 2 * k[c], mine - 2 * k[c]
                if there <= worst:
                    insert(squares, chosen, i, there, column + c)
                    worst = bounds[i] = min(worst, squares[i, last])
                if here <= farthest[c]:
                    insert(squares, chosen, column + c, here, i)
                    farthest[c] = bounds[column + c] = min(farthest[c], squares[column + c, last])


@jit
def merge(squares: Array, chosen: Integers, others: Array, theirs: Integers) -> None:
    """Put the points of other lists into lists."""
    for i in range(others.shape[0]):
        for at in range(others.shape[1]):
            if theirs[i, at] >= 0:
                insert(squares, chosen, i, others[i, at], theirs[i, at])
