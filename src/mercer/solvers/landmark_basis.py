"""An orthonormal basis of what landmarks span, and how to solve systems there."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from scipy.linalg import (
    LinAlgError as NoFactor,
    cho_factor,
    cho_solve,
    get_lapack_funcs,
    solve_triangular,
)

from mercer import _parallel
from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite

_LEAST_PIVOT = 1e-10
"""What a landmark has to add to the span of the others, as a share of the largest k(z, z)."""
_SINGLE = 1e-7
_SMALL = 400
_COST_OF_SQUARE = 0.03
"""Time to square a row's kernel values with M landmarks over M times that of one product."""
_WHITENING = 2e10
"""What n·M² may be where n rows are seen through all M landmarks: half a second."""
_SOME_WHITENING = 5e9
"""What n·m² may be for a part of them, which sees less."""
_WHITENING_A_VALUE = 8
"""What m² may be for each of the kernel values of a row: less time than these take in float64."""


class LandmarkBasis:
    """Coordinates in which ‖f‖ is a plain length.

    K_MM = RᵀR by pivoted Cholesky. The function with coordinates w has the coefficients R⁻¹w. The
    last coordinate is the constant, where there is one.

    Landmarks that the others span up to rounding are left away: ``kept`` says which remain, in the
    order of the coordinates, and all else speaks of these.
    """

    def __init__(self, K: Array, constant: bool) -> None:
        self.constant = constant
        largest = float(np.diagonal(K).max())
        if not largest > 0:
            raise NotPositiveDefinite("All landmarks have k(z, z) = 0: there is nothing to learn.")
        (pstrf,) = get_lapack_funcs(("pstrf",), (K,))
        factor, pivots, rank, _ = pstrf(K, tol=_LEAST_PIVOT * largest, lower=0)
        self.kept = pivots[:rank].astype(np.intp) - 1
        self.R: Array = np.asfortranarray(np.triu(factor[:rank, :rank]))

    def __len__(self) -> int:
        return len(self.kept) + self.constant

    @property
    def penalty(self) -> Array:
        """What the penalty adds to the diagonal of a system: 1, and 0 for the constant."""
        ones = np.ones(len(self))
        if self.constant:
            ones[-1] = 0.0
        return ones

    def embed(self, W: Array) -> Array:
        """Return the coefficients (and the constant) of functions given by coordinates."""
        V = np.array(W)
        r = len(self.kept)
        V[:r] = solve_triangular(self.R, W[:r], check_finite=False)
        return V

    def pull(self, S: Array) -> Array:
        """Return the coordinates of Σ rᵢ k(xᵢ, ·), given S = Φᵀr, with or without the constant."""
        W = np.array(S)
        r = len(self.kept)
        W[:r] = solve_triangular(self.R, S[:r], trans="T", check_finite=False)
        return W

    def whitener(self, rows: int) -> Array:
        """Return what :func:`whitener` says of these landmarks."""
        return whitener(self.R, rows)

    def needs_double(self, rows: int, alpha: float) -> bool:
        """Whether float32 kernel values, seen in these coordinates, would drown λ in noise."""
        pivot = float(np.diagonal(self.R).min()) ** 2
        return 10 * rows * _SINGLE**2 > alpha * pivot


class Preconditioner:
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


def whitener(R: Array, rows: int) -> Array:
    """Return R_m⁻¹, with which kernel values of the first m landmarks become features z.

    K_MM = RᵀR. z takes time like m² for each row, and m is as large as a sweep of so many rows can
    afford: all M where n·M² is small, else the first ones, of which those before saw least.
    """
    M = len(R)
    m = M
    if rows * M**2 > _WHITENING:
        m = min(M, math.isqrt(int(max(_SOME_WHITENING / rows, _WHITENING_A_VALUE * M))))
    # By columns: R_m times this is the identity to rounding, which keeps the error of z small.
    return np.asarray(solve_triangular(R[:m, :m], np.eye(m), check_finite=False))


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
