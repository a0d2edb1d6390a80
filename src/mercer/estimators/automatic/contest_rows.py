"""The rows that a contest looks at."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array, IntArray


def race_rows(count: int, most: int, random_state: int) -> IntArray:
    """Return the rows of a contest in random order: all, or as many as it can take."""
    order = np.random.default_rng(random_state).permutation(count)
    return order[:most].astype(np.intp)


def without_copies(Z: Array, Y: Array) -> IntArray:
    """Return the rows of which each is there once, in order; all where equal rows may be chance.

    Leave-one-out learns the copy of a row by heart, and would choose whatever is good at that. But
    people of one sex, class and age are no copies of each other: equal rows are taken for copies
    only where the columns have so many different values that, independent of each other, hardly
    two of n rows would be equal (more than n² combinations).
    """
    n = len(Z)
    found = np.unique(np.hstack([Z, Y]), axis=0, return_index=True)[1]
    if len(found) == n:
        return np.arange(n)
    combinations = sum(np.log(len(np.unique(column))) for column in Z.T)
    return np.sort(found) if combinations > 2 * np.log(n) else np.arange(n)
