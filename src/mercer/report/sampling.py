"""Samples that keep every class in sight."""

from __future__ import annotations

import numpy as np

from mercer._typing import BoolArray, IntArray


def sample(groups: IntArray, limit: int, seed: int, always: BoolArray | None = None) -> IntArray:
    """Return at most ``limit`` rows in their order, from every group about its share.

    Rows flagged in ``always`` come first; they take at most half of the places.
    """
    n = len(groups)
    if n <= limit:
        return np.arange(n)
    random = np.random.default_rng(seed)
    shuffled = random.permutation(n)
    first = np.empty(0, dtype=np.intp)
    if always is not None:
        first = shuffled[np.asarray(always, dtype=bool)[shuffled]][: limit // 2]
    rest = shuffled[~np.isin(shuffled, first)]
    # Dealing out by rank within the group, scaled by its size, takes shares and forgets no group.
    ranks = np.empty(len(rest))
    for group in np.unique(groups[rest]):
        members = np.flatnonzero(groups[rest] == group)
        ranks[members] = (np.arange(len(members)) + 1e-9 * group) / len(members)
    chosen = rest[np.argsort(ranks, kind="stable")][: limit - len(first)]
    return np.sort(np.concatenate([first, chosen])).astype(np.intp)
