"""Newton's step for a quadratic function with an ℓ₁ and a squared ℓ₂ penalty, signs held."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from mercer._typing import Array

MOST_NEWTON = 2_000
"""Weights up to which Newton steps are cheap."""
_JITTER = 1e-12
"""What is added to the diagonal of dependent columns, as a share of its mean."""


def signed_newton(l1: float, l2: float, G: Array, q: Array, w: Array) -> bool:
    """Go to the minimum of ½wᵀGw − qᵀw + l1‖w‖₁ + ½ l2‖w‖² for the present signs, in place.

    It ends where a weight would change its sign; all that would become zero if the objective falls
    with that. Tells whether the minimum was reached.
    """
    S = np.flatnonzero(w)
    if not 0 < S.size <= MOST_NEWTON:
        return False
    old, signs, g = w[S], np.sign(w[S]), q - G @ w
    slopes = g[S] - l2 * old - l1 * signs
    A = G.copy() if S.size == len(w) else G[np.ix_(S, S)]
    A.flat[:: len(A) + 1] += l2
    step = _solve(A, slopes)
    if step is None:
        # Columns depend on each other: the step leads far along their null space, to where the
        # first weight becomes zero.
        A.flat[:: len(A) + 1] += _JITTER * float(A.trace()) / S.size
        step = _solve(A, slopes)
        if step is None:
            return False
    crossed = (old + step) * signs <= 0
    shares = np.divide(-old, step, out=np.ones_like(old), where=crossed)
    first = np.where(shares <= shares.min(), 0.0, old + shares.min() * step)
    value = _value(l1, l2, q, w, g)
    value += 8 * np.finfo(np.float64).eps * abs(value)  # rounding is no reason to stay
    for trial in (np.where(crossed, 0.0, old + step), first):
        w[S] = trial
        if _value(l1, l2, q, w, q - G @ w) <= value:
            return not crossed.any()
    w[S] = old
    return False


def _solve(A: Array, b: Array) -> Array | None:
    """Return A⁻¹b, None where A is not positive definite."""
    _, x, failed = dposv(A, b)
    return None if failed else x


def _value(l1: float, l2: float, q: Array, w: Array, g: Array) -> float:
    """Return the objective at weights with g = q − Gw."""
    quadratic = -float(w @ (q + g)) / 2
    return quadratic + l1 * float(np.abs(w).sum()) + l2 * float(w @ w) / 2
