"""Least squares with weights that are not negative."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from mercer._typing import Array

_SLOPE = 1e-8
"""Slopes that an answer may have, as a share of ‖A‖ ‖b‖: far above rounding."""

_ROUNDING = 1e-14
"""Weights, as a share of the largest, that are 0 but for rounding."""


def nonnegative_least_squares(A: Array, b: Array, max_iter: int | None = None) -> Array:
    """Return x ≥ 0 with the least ‖Ax − b‖.

    SciPy's active sets end too early on some data in some versions, so their answer is looked at:
    Aᵀ(b − Ax) is 0 where x > 0, and not positive elsewhere. If it is not, another method answers.
    """
    x: Array = optimize.nnls(A, b, maxiter=max_iter)[0]
    slopes = A.T @ (b - A @ x)
    small = _SLOPE * float(np.linalg.norm(A)) * float(np.linalg.norm(b))
    if np.where(x > 0, np.abs(slopes), slopes).max(initial=0.0) <= small:
        return x
    other: Array = optimize.lsq_linear(A, b, (0.0, np.inf), method="bvls").x
    other[other <= _ROUNDING * other.max(initial=0.0)] = 0.0
    return other
