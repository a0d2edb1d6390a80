"""How many labels of a ridge classifier may change before an answer does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer import _memory
from mercer._typing import Array, IntArray
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.solvers.ridge_changes import RidgeSmoother, harmless_changes


def smoother_of(
    kernel: Kernel, points: Points, new: Points, shift: Array, constant: bool
) -> RidgeSmoother:
    """Return the linear map of a machine from targets to values at new points."""
    n = len(points)
    _memory.require(
        32 * n * n, f"wrong_rows: the inverse of the matrix of {n:,} rows", "Fit fewer rows."
    )
    K = np.ascontiguousarray(Gram(kernel, points, dtype=np.float64).dense())
    cross = Gram(kernel, new, points, dtype=np.float64).dense()
    return RidgeSmoother.of(K, cross, shift, constant)


def harmless_labels(
    smoothers: Sequence[RidgeSmoother], Y: Array, scores: Array, change: str
) -> IntArray:
    """Return how many rows may change until another class has the greatest score; −1: none.

    ``Y`` has labels of ±1, one column for two classes and else one for each; ``scores`` are the
    means of the functions, up to a constant for each.
    """
    if scores.ndim == 1:
        return harmless_changes(smoothers, Y[:, 0], scores, 1.0, change)
    found = np.full(len(scores), len(Y), dtype=np.intp)
    winners = scores.argmax(axis=1)
    for winner in np.unique(winners):
        mine = np.flatnonzero(winners == winner)
        part = [RidgeSmoother(s.inverse, s.weights[mine]) for s in smoothers]
        for other in range(scores.shape[1]):
            if other != winner:
                # The difference of two functions belongs to the difference of their labels.
                leads = scores[mine, winner] - scores[mine, other]
                harmless = harmless_changes(part, Y[:, winner] - Y[:, other], leads, 2.0, change)
                found[mine] = np.minimum(found[mine], harmless)
    return found
