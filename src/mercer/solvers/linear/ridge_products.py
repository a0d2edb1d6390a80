"""Ridge regression from the products of columns, refined where their rounding might matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import get_lapack_funcs

from mercer import _parallel
from mercer._typing import Array
from mercer.linalg.column_products import ColumnProducts

_ROUNDING = 1e-13
"""What sums of a million products in float64 lose at most, as a share of the largest."""
_GAP = 1e-15
"""The relative gap that float64 can show."""
_NEAR = 1e-12
"""The relative gap from which a step leads to the one above."""
_PASSES = 4
"""Steps of refinement: of a factor in float32 each gains some four digits."""
_KNOWN = 1e-10
"""The share of ‖y‖² from which on a difference of products is the objective to three digits."""


def weights_by_products(
    found: ColumnProducts, alpha: float, correlate: Callable[[Array], Array]
) -> Array | None:
    """Return argmin ‖y − Xw‖² + α‖w‖² from the products of the columns of [X, y].

    An error δ of the weights costs at most λ‖δ‖² with the largest eigenvalue λ of H = XᵀX + α, and
    ‖δ‖ is at most cond(H) times the errors of H. Where that is too much, slopes are computed from
    the data: ``correlate(w)`` is Xᵀ(y − Xw), and what a step along H⁻¹ times them gains is the gap.
    None where rounding is in the way of a relative gap as small as float64 can show.
    """
    # Threads of BLAS, once awake, would wait busily on the cores that others need.
    with _parallel.one_blas_thread():
        return _weights(found, alpha, correlate)


def _weights(
    found: ColumnProducts, alpha: float, correlate: Callable[[Array], Array]
) -> Array | None:
    products = found.products
    G, b, yy = products[:-1, :-1], products[:-1, -1], float(products[-1, -1])
    H: Array = G.astype(np.float64) if found.exact else G.astype(np.float32)
    H.flat[:: len(H) + 1] += alpha
    norm = float(np.abs(H).sum(axis=0).max())  # no eigenvalue is larger
    potrf, pocon, potrs = get_lapack_funcs(("potrf", "pocon", "potrs"), (H,))
    # Symmetric, so that its transpose, in the order of LAPACK, is the same matrix.
    factor, failed = potrf(H.T, lower=1, clean=0)
    if failed:
        return None

    def solve(slopes: Array) -> Array:
        return np.asarray(potrs(factor, slopes, lower=1)[0], np.float64)

    def objective(w: Array) -> float:
        rest = yy - float(b @ w)
        return max(alpha * float(w @ w), rest if found.exact and rest > _KNOWN * yy else 0.0)

    w = solve(b)
    if found.exact:
        w += solve(b - H @ w)
        share = max(float(pocon(factor, norm, uplo="L")[0]), _ROUNDING)
        if norm * float(w @ w) * (_ROUNDING / share) ** 2 <= _GAP * objective(w):
            return w
    for _ in range(_PASSES):
        slopes = correlate(w) - alpha * w
        step = solve(slopes)
        w += step
        if float(slopes @ step) <= _NEAR * objective(w):
            return w
    return None
