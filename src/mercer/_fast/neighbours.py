"""Nearest points by a kernel, one block of values at a time."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

Integers = np.ndarray[Any, np.dtype[np.int64]]


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
    for r in range(rows):
        i = row + r
        worst = squares[i, last]
        for c in range(columns):
            j = column + c
            square = diagonal[j] - 2 * values[r, c]
            # Among equals the first point, in whichever order blocks come.
            if square > worst or j == i or (square == worst and j > chosen[i, last]):
                continue
            at = last
            while at > 0 and (
                squares[i, at - 1] > square
                or (squares[i, at - 1] == square and chosen[i, at - 1] > j)
            ):
                squares[i, at] = squares[i, at - 1]
                chosen[i, at] = chosen[i, at - 1]
                at -= 1
            squares[i, at] = square
            chosen[i, at] = j
            worst = squares[i, last]
