"""(A + λI)⁻¹B for many λ at the price of a few: Krylov spaces, or tridiagonal forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer import _fast
from mercer._typing import Array
from mercer.linalg.krylov import KrylovSpaces, Room, ShiftedPart
from mercer.linalg.tridiagonal import Tridiagonal

_MOST_STEPS = 0.8
"""Steps, as a share of the rows, by which tridiagonal forms would have been cheaper long ago."""
_TIGHTEST = 1e-13
"""The smallest relative residual that float64 can show."""
_SPACE_BYTES = 1 << 27
"""Memory that Krylov spaces may always take: what those of five folds of 2,500 rows may need."""


def solve_shifts(K: Array, parts: Sequence[ShiftedPart], tol: float, room: Room) -> list[Array]:
    """Return (A + λI)⁻¹B for each part of K and every λ: arrays of shape (alphas, n, columns).

    NaN stands where A + λI is not positive definite, or singular to working precision.
    """
    columns = sum(part.B.shape[1] for part in parts)
    n = max(len(part.rows) for part in parts)
    room_for = max(_SPACE_BYTES, 8 * n * n) // (8 * n * columns)
    most = min(int(_MOST_STEPS * n), room_for)
    if most:
        spaces = KrylovSpaces(K, parts, max(tol, _TIGHTEST), most, room)
        if spaces.reach():
            return spaces.solve()
    found = []
    for part in parts:
        A = room(len(part.rows))
        _fast.shifted.take(K, part.rows, A)
        if (part.scale != 1).any():
            A *= part.scale[:, None]
            A *= part.scale
        result = np.empty((len(part.alphas), *part.B.shape))
        found.append(Tridiagonal(A).solve(part.B, part.alphas, result))
    return found
