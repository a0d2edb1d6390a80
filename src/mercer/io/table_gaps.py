"""Missing values that tell something: where answers differ between rows with and without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtri, ndtri

from mercer._typing import BoolArray, Frame, Targets
from mercer.io.derived_columns import MISSING_PART, Derivation

CHANCE = 0.001
"""How rarely a gap that tells nothing may be taken for one that does; tables have many columns."""
FEWEST = 10
"""Rows with, and without, a value below which nothing is concluded."""


def telling_gaps(
    frame: Frame, columns: Sequence[Any], y: Targets, task: str
) -> dict[str, Derivation]:
    """Return columns that say where a number is missing, by name, for gaps that tell something.

    Missing categories have a category of their own already.
    """
    if y is None:
        return {}
    taken = set(frame.column_names)
    found = {}
    for column in columns:
        if column.kind != "number" or column.made_of is not None:
            continue
        gone = frame[column.name].is_null().to_numpy()
        if min(gone.sum(), (~gone).sum()) >= FEWEST and _tells(gone, np.asarray(y), task):
            made = Derivation(column.name, MISSING_PART)
            found[made.name(taken)] = made
    return found


def _tells(gone: BoolArray, y: Any, task: str) -> bool:
    """Test whether answers differ: Welch's statistic for numbers, Pearson's χ² for classes."""
    if task == "number":
        first, second = y[gone].astype(float), y[~gone].astype(float)
        noise = first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)
        far = (first.mean() - second.mean()) ** 2
        return bool(far > noise * ndtri(CHANCE / 2) ** 2)
    codes = np.unique(y, return_inverse=True)[1]
    counts = np.array([np.bincount(codes[w], minlength=codes.max() + 1) for w in (gone, ~gone)])
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / len(y)
    return bool(((counts - expected) ** 2 / expected).sum() > chdtri(codes.max(), CHANCE))
