"""The weighted sum of many symmetric matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer import _fast
from mercer._typing import Array

_AT_ONCE = 4
"""Matrices that one compiled pass adds: the sum is read and written a quarter as often."""
_ROWS = 16
"""Rows of the sum that stay in the cache while all matrices are added: 256 kB of 2,000 columns."""


def weighted_sum(matrices: Sequence[Array], weights: Array, n: int | None = None) -> Array:
    """Return Σ w_m K_m in float64, of symmetric matrices in one precision or another.

    Half of each matrix is read; matrices without weight are not. ``n`` is the number of rows where
    there may be no matrix at all.
    """
    n = len(matrices[0]) if n is None else n
    total = np.zeros((n, n))
    used = np.flatnonzero(weights).tolist()
    if not used:
        return total
    dtype = np.result_type(*(matrices[m] for m in used))
    held = [np.ascontiguousarray(matrices[m], dtype) for m in used]
    # What is missing in the last pass is there with a weight of 0.
    factors = np.zeros(-(-len(used) // _AT_ONCE) * _AT_ONCE)
    factors[: len(used)] = weights[used]
    held += [held[0]] * (len(factors) - len(used))
    for begin in range(0, n, _ROWS):
        end = min(begin + _ROWS, n)
        for m in range(0, len(held), _AT_ONCE):
            A, B, C, D = held[m : m + _AT_ONCE]
            _fast.weighted_sums.add_four(total, A, B, C, D, factors[m : m + _AT_ONCE], begin, end)
    _fast.pairwise.mirror_upper(total)
    return total
