"""Whether a matrix is positive semi-definite where a problem needs it: proven, refuted, or open.

Duality bounds an optimum only for a convex problem. Many kernels are known to be definite; for a
matrix or a function of the user's own, the values on the training data decide.

References
----------
Rump, Verification of positive definiteness, BIT 46 (2006): where Cholesky's method runs to its end
in floating point, λ_min(A) ≥ −γₙ₊₁/(1 − γₙ₊₁) tr(A).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer._typing import Array, IntArray
from mercer.linalg.lanczos import leading_eigenpairs

PROVEN, REFUTED, OPEN = "proven", "refuted", "open"
"""What is known: K ⪰ −shift·I; there is a direction of negative curvature; neither."""
EPSILON = 2.0**-52
"""Twice the largest relative error of an operation in float64, to be on the safe side."""
_PRODUCTS = 24
"""Products that the search for a negative direction may take on a large matrix."""
_PRODUCT_COLUMNS = 4
"""Vectors in each of them: a block finds eigenvalues that lie close together."""
_LEAST = 1e-300
"""A shift for a matrix of zeros."""


class Curvature(NamedTuple):
    """What is known of the curvature: a verdict, and the shift that makes the matrix definite."""

    verdict: str = PROVEN
    shift: float = 0.0


def dense_curvature(K: Array, groups: IntArray | None = None) -> Curvature:
    """Decide for a dense symmetric matrix, on vectors whose sum is 0 in each of the ``groups``.

    A Cholesky factor of K + shift·I is the proof, an eigenvalue below what rounding can make of
    zero, −n ε ‖K‖, the refutation.
    """
    A: Array = (K + K.T) / 2
    size = float(np.abs(A).sum(axis=1).max(initial=0.0))  # at least ‖K‖
    if not np.isfinite(size):
        return Curvature(OPEN)
    if groups is not None:
        A = _centred(_centred(A, groups).T, groups)
    n = len(A)
    trace = float(np.abs(np.diagonal(A)).sum())
    # What centring may have done to the eigenvalues, and what Cholesky's method cannot see.
    unseen = 8 * EPSILON * size * (groups is not None)
    shift = 2 * (n + 2) * EPSILON * trace + _LEAST
    if _has_factor(A, shift):
        return Curvature(PROVEN, unseen + shift + (n + 2) * EPSILON * (trace + n * shift))
    values = np.linalg.eigvalsh(A)
    least, norm = float(values[0]), float(np.abs(values).max())
    if least < -n * EPSILON * max(norm, size if groups is not None else 0.0):
        return Curvature(REFUTED)
    shift = 4 * (n + 2) * EPSILON * max(trace, size) + 2 * abs(least) + _LEAST
    if _has_factor(A, shift):
        return Curvature(PROVEN, unseen + shift + (n + 2) * EPSILON * (trace + n * shift))
    return Curvature(OPEN)


def searched_curvature(
    multiply: Callable[[Array], Array], n: int, largest: float, groups: IntArray | None = None
) -> Curvature:
    """Look for a direction of negative curvature by products alone, which can only refute.

    ``largest`` bounds the values of the matrix.
    """

    def negative(V: Array) -> Array:
        inside = V if groups is None else _centred(V, groups)
        image = -multiply(inside)
        return image if groups is None else _centred(image, groups)

    found = leading_eigenpairs(
        negative, n, 1, tol=1e-3, max_products=_PRODUCTS, block=_PRODUCT_COLUMNS
    )
    least = -float(found.values[0])
    return Curvature(REFUTED if least < -n * EPSILON * n * largest else OPEN)


def _centred(V: Array, groups: IntArray) -> Array:
    """Return V without the mean of each group of rows."""
    result = V.astype(np.float64)
    for g in np.unique(groups):
        mine = np.flatnonzero(groups == g)
        result[mine] -= result[mine].mean(axis=0)
    return result


def _has_factor(A: Array, shift: float) -> bool:
    B = A.copy()
    B[np.diag_indices_from(B)] += shift
    try:
        np.linalg.cholesky(B)
    except np.linalg.LinAlgError:
        return False
    return True
