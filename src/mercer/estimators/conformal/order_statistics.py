"""The order statistics behind conformal promises."""

from __future__ import annotations

import math

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidInput


def needed_rows(level: float) -> int:
    """Return how many scores a promise of this level needs at least: ⌈level·(n + 1)⌉ ≤ n."""
    count = math.ceil(level / (1 - level) - 1e-9)
    return max(count, 1)


def check_rows(count: int, level: float, what: str) -> None:
    """Refuse to promise a level that so few rows cannot hold."""
    if count < needed_rows(level):
        raise InvalidInput(
            f"Conformal: {count:,} {what} cannot promise a level of {level:g}; that takes at least "
            f"{needed_rows(level):,}. Give more rows, or a lower level."
        )


def upper_rank(count: int, level: float) -> int:
    """Return the place (from 0) of the score that ``level`` of new ones do not exceed."""
    return math.ceil(level * (count + 1) - 1e-9) - 1


def threshold(scores: Array, level: float) -> float:
    """Return the ⌈level·(n + 1)⌉-th smallest score: a new one is not above it with this level."""
    rank = upper_rank(len(scores), level)
    return float(np.partition(scores, rank)[rank])


def spread(lows: Array, highs: Array, level: float) -> Array:
    """Return intervals from the ends that each left-out machine gives, one row for each object.

    The lower end is the ⌊(1 − level)(n + 1)⌋-th smallest of ``lows``, the upper end the
    ⌈level·(n + 1)⌉-th smallest of ``highs``.
    """
    count = lows.shape[1]
    rank = upper_rank(count, level)
    lower = -np.partition(-lows, rank, axis=1)[:, rank]
    upper = np.partition(highs, rank, axis=1)[:, rank]
    return np.column_stack([lower, upper])
