"""The span of landmarks: Z = K_nM L⁻ᵀ with LLᵀ = K_MM, so that ZZᵀ = K_nM K_MM⁺ K_Mn."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer import _parallel
from mercer._typing import Array, IntArray
from mercer.exceptions import NotPositiveDefinite
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points

BLOCK_BYTES = 1 << 25
"""Bytes of one block of K_nM."""
_LEAST_PIVOT = 1e-10
"""What a landmark has to add to the span of the others where passes are in float32, as a share of
the largest k(z, z): with less, their rounding would be seen through L⁻¹."""
_SINGLE = 1e-7
"""Rounding of float32."""
_WHITENING = 2e10
"""What n·M² may be where n rows are seen through all M landmarks: half a second."""
_SOME_WHITENING = 5e9
"""What n·m² may be for a part of them, which sees less."""
_WHITENING_A_VALUE = 8
"""What m² may be for each of the kernel values of a row: less time than these take in float64."""


class LandmarkBasis:
    """An orthonormal basis of the span of landmarks, by Cholesky with complete pivoting.

    z(x) = L⁻¹ (k(x, m₁), …, k(x, m_r)),  LLᵀ = K_MM

    z(x)·z(x′) is the kernel of the projections of φ(x) and φ(x′) on the span, and a function
    f = w·z has the norm ‖w‖ and the coefficients L⁻ᵀw on the landmarks. Landmarks that the others
    explain to rounding are dropped, so that L is well enough conditioned.

    Parameters
    ----------
    kernel : Kernel
        With settled parameters.
    points : Points
        The landmarks.
    least : float, optional
        What a landmark has to add to the span of the others, as a share of the largest k(m, m):
        rounding in the precision of the data by default.

    Attributes
    ----------
    points : Points
        The r landmarks that were kept, in the order of their pivots.
    kept : array
        Which of the given ones they are.
    factor : array of shape (r, r)
        L.
    """

    def __init__(self, kernel: Kernel, points: Points, least: float | None = None) -> None:
        K = Evaluator(kernel, Pairs(points, None, None, np.float64)).dense()
        share = len(K) * float(np.finfo(points.dtype).eps) if least is None else least
        L, self.kept = _factor(K, share)
        self.kernel = kernel
        self.points = points.take(self.kept)
        self.factor = L

    @classmethod
    def for_passes(cls, kernel: Kernel, points: Points) -> LandmarkBasis:
        """Return a basis in which passes in float32 are good enough."""
        basis = cls(kernel, points, _LEAST_PIVOT)
        if not len(basis):
            raise NotPositiveDefinite("All landmarks have k(z, z) = 0: there is nothing to learn.")
        return basis

    @classmethod
    def of_pivots(
        cls, kernel: Kernel, points: Points, factor: Array, by_passes: bool
    ) -> LandmarkBasis | None:
        """Return a basis of landmarks whose L is known, None where it is not well conditioned.

        The bounds are those of the other ways: ``by_passes`` asks for what passes ask for.
        """
        share = _LEAST_PIVOT if by_passes else len(factor) * float(np.finfo(points.dtype).eps)
        scale = float(np.einsum("ij,ij->i", factor, factor).max())
        if float(np.diagonal(factor).min()) ** 2 <= share * scale:
            return None
        return cls.restored(kernel, points, factor)

    @classmethod
    def restored(cls, kernel: Kernel, points: Points, factor: Array) -> LandmarkBasis:
        """Return a basis from its parts, as a model file keeps them."""
        basis = object.__new__(cls)
        basis.kernel, basis.points, basis.factor = kernel, points, factor
        basis.kept = np.arange(len(points), dtype=np.intp)
        return basis

    @classmethod
    def unpivoted(cls, kernel: Kernel, points: Points) -> LandmarkBasis:
        """Return a basis of landmarks in the order given, which all have to be independent."""
        K = Evaluator(kernel, Pairs(points, None, None, np.float64)).dense()
        return cls.restored(kernel, points, np.linalg.cholesky(K))

    def __len__(self) -> int:
        return len(self.factor)

    @property
    def R(self) -> Array:
        """Lᵀ, upper triangular and by columns."""
        return self.factor.T

    def features(self, points: Points, dtype: DTypeLike | None = None) -> Array:
        """Return Z, one row for each point."""
        wanted = np.result_type(points.dtype, np.float32) if dtype is None else np.dtype(dtype)
        Z = np.empty((len(points), len(self)), dtype=wanted)
        for part, block in self.blocks(points, dtype):
            Z[part] = block
        return Z

    def blocks(
        self, points: Points, dtype: DTypeLike | None = None, block_bytes: int = BLOCK_BYTES
    ) -> Iterator[tuple[slice, Array]]:
        """Yield Z block by block: which rows, and their values."""
        pairs = Pairs(points, self.points, None, dtype)
        evaluator = Evaluator(self.kernel, pairs)
        step = max(16, block_bytes // (pairs.dtype.itemsize * max(1, len(self))))
        L = self.factor.astype(pairs.dtype, copy=False)
        columns = slice(0, len(self))
        for start in range(0, len(points), step):
            _parallel.check_stopped()
            part = slice(start, min(start + step, len(points)))
            block = np.empty((part.stop - start, len(self)), dtype=pairs.dtype)
            evaluator.fill(block, part, columns)
            half = solve_triangular(L, block.T, lower=True, overwrite_b=True, check_finite=False)
            yield part, half.T

    def coefficients(self, W: Array) -> Array:
        """Return C with Z W = K_nM C: what weights of the features are on the landmarks.

        Rows of W beyond those of the features are constants, and stay what they are.
        """
        r = len(self)
        C = np.array(W)
        C[:r] = solve_triangular(self.factor, W[:r], lower=True, trans="T", check_finite=False)
        return C

    def coordinates(self, S: Array) -> Array:
        """Return Zᵀq, the weights of Σ qᵢ k(xᵢ, ·), given S = K_Mn q; constants as above."""
        r = len(self)
        W = np.array(S)
        W[:r] = solve_triangular(self.factor, S[:r], lower=True, check_finite=False)
        return W

    def weights(self, C: Array) -> Array:
        """Return W with Z W = K_nM C: the features' weights of functions on the landmarks."""
        return np.asarray(self.factor.T @ C)

    def residual(self, points: Points, Z: Array | None = None) -> Array:
        """Return k(x, x) − ‖z(x)‖² ≥ 0 for every point: what the landmarks do not see of it."""
        left = Evaluator(self.kernel, Pairs(points)).diagonal().astype(np.float64)
        blocks = self.blocks(points) if Z is None else [(slice(0, len(Z)), Z)]
        for part, block in blocks:
            left[part] -= np.einsum("ij,ij->i", block, block, dtype=np.float64)
        return np.maximum(left, 0.0)

    def residual_trace(self, points: Points, Z: Array | None = None) -> float:
        """Return tr(K − ZZᵀ), without K and with few rows of Z at a time."""
        return float(self.residual(points, Z).sum())

    def whitener(self, rows: int) -> Array:
        """Return L_m⁻ᵀ, with which kernel values of the first m landmarks become features z.

        z takes time like m² for each row, and m is as large as a pass over so many rows can
        afford: all M where n·M² is small, else the first ones, of which those before saw least.
        """
        M = m = len(self)
        if rows * M**2 > _WHITENING:
            m = min(M, math.isqrt(int(max(_SOME_WHITENING / rows, _WHITENING_A_VALUE * M))))
        # By columns: L_mᵀ times this is the identity to rounding, which keeps the error of z small.
        return np.asarray(solve_triangular(self.R[:m, :m], np.eye(m), check_finite=False))

    def needs_float64(self, rows: int, alpha: float) -> bool:
        """Whether float32 kernel values, seen in this basis, would drown λ in noise."""
        pivot = float(np.diagonal(self.factor).min()) ** 2
        return 10 * rows * _SINGLE**2 > alpha * pivot


def _factor(K: Array, share: float) -> tuple[Array, IntArray]:
    """Return L and the rows with LLᵀ = K[rows, rows] that explain all others up to a share."""
    diagonal = np.diagonal(K).copy()
    scale = float(np.abs(diagonal).max(initial=0.0))
    least = max(share * scale, 1e-300)
    whole, order, rank, _ = dpstrf(np.asfortranarray(K), tol=least, lower=0)
    whole, order = np.triu(whole), order.astype(np.intp) - 1
    rank = min(int(rank), int(np.count_nonzero(diagonal > 0)))
    right = whole[:rank, rank:]
    rest = diagonal[order[rank:]] - np.einsum("ij,ij->j", right, right)
    if rest.min(initial=0.0) < -max(100 * least, 1e-6 * scale):
        raise NotPositiveDefinite(
            "The kernel matrix of the landmarks is not positive semi-definite: "
            f"{rest.min():.3g} is left of a diagonal entry where nothing may be below 0. Landmarks "
            "need a positive definite kernel."
        )
    return np.ascontiguousarray(whole[:rank, :rank].T), order[:rank]
