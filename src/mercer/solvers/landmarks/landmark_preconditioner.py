"""Preconditioners for systems on landmarks, from a part of the rows."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
from scipy.linalg import LinAlgError as NoFactor, cho_factor, cho_solve

from mercer import _parallel
from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite

_SMALL = 400
"""Columns up to which several threads of BLAS would only wait for each other."""
_COST_OF_SQUARE = 0.03
"""Time to square a row's kernel values with M landmarks over M times that of one product."""


class LandmarkPreconditioner:
    """The inverse of G + λP, where G = Gᵀ stands for ΦᵀDΦ in a basis and P for the penalty."""

    def __init__(self, G: Array, penalty: Array) -> None:
        at = np.diag_indices_from(G)
        largest = float(np.abs(G[at] + penalty).max())
        # G was estimated and rounded: where it is not definite, a little more makes it so.
        for more in (0.0, 1e-7, 1e-5, 1e-3, 1.0):
            try:
                raised = np.array(G.T, order="F")
                raised[at] += penalty + more * largest
                self._factor = cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)
                return
            except NoFactor:
                continue
        raise NotPositiveDefinite("The kernel values of the landmarks are not positive definite.")

    def __call__(self, R: Array) -> Array:
        return np.asarray(cho_solve(self._factor, R, check_finite=False))


def penalty_diagonal(columns: int, constant: bool) -> Array:
    """Return what the penalty adds to the diagonal of a system: 1, and 0 for the constant."""
    ones = np.ones(columns)
    if constant:
        ones[-1] = 0.0
    return ones


def small_algebra(columns: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread where matrices are so small that several would only wait."""
    return _parallel.one_blas_thread() if columns <= _SMALL else nullcontext()


def worthwhile_share(rows: int, columns: int, tol: float) -> float:
    """Return the share of rows of which to take squares, for the least time in all.

    With m of them conjugate gradients gain a factor of about √(columns/m) in each step; with all
    of them they need two or three. A product costs 1 for each row, a square 0.03·columns.
    """
    steps = 2 * np.log(1 / min(max(tol, 1e-15), 0.1))
    best, share = 3 + _COST_OF_SQUARE * columns, 1.0
    for ratio in np.geomspace(5, 500, 20):
        m = ratio * columns
        cost = m / rows * _COST_OF_SQUARE * columns + steps / np.log(ratio)
        if m < rows and cost < best:
            best, share = cost, m / rows
    return float(share)
