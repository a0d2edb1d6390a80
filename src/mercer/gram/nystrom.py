"""Features through landmarks: Z = K_nM L⁻ᵀ with LLᵀ = K_MM, so that ZZᵀ = K_nM K_MM⁺ K_Mn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
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


class NystromBasis:
    """The map of any object x to z(x) = L⁻¹ (k(x, m₁), …, k(x, m_r)), where LLᵀ = K_MM.

    Then z(x)·z(x′) is the kernel of the projections of φ(x) and φ(x′) on the span of the
    landmarks. Landmarks that the others explain to rounding are dropped (Cholesky with complete
    pivoting), so that L is well enough conditioned for the precision of the data.

    Parameters
    ----------
    kernel : Kernel
        With settled parameters.
    points : Points
        The landmarks.

    Attributes
    ----------
    points : Points
        The r landmarks that were kept.
    kept : array
        Which of the given ones they are.
    factor : array of shape (r, r)
        L.
    """

    def __init__(self, kernel: Kernel, points: Points) -> None:
        K = Evaluator(kernel, Pairs(points, None, None, np.float64)).dense()
        L, self.kept = _factor(K, float(np.finfo(points.dtype).eps))
        self.kernel = kernel
        self.points = points.take(self.kept)
        self.factor = L

    @classmethod
    def restored(cls, kernel: Kernel, points: Points, factor: Array) -> NystromBasis:
        """Return a basis from its parts, as a model file keeps them."""
        basis = object.__new__(cls)
        basis.kernel, basis.points, basis.factor = kernel, points, factor
        basis.kept = np.arange(len(points), dtype=np.intp)
        return basis

    def __len__(self) -> int:
        return len(self.factor)

    def features(self, points: Points) -> Array:
        """Return Z, one row for each point."""
        Z = np.empty((len(points), len(self)), dtype=np.result_type(points.dtype, np.float32))
        for part, block in self.blocks(points):
            Z[part] = block
        return Z

    def blocks(self, points: Points, dtype: Any = None) -> Iterator[tuple[slice, Array]]:
        """Yield Z block by block: which rows, and their values."""
        pairs = Pairs(points, self.points, None, dtype)
        evaluator = Evaluator(self.kernel, pairs)
        step = max(16, BLOCK_BYTES // (pairs.dtype.itemsize * max(1, len(self))))
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
        """Return C with Z W = K_nM C: what weights of the features are on the landmarks."""
        solved: Array = solve_triangular(self.factor, W, lower=True, trans="T", check_finite=False)
        return solved

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


def _factor(K: Array, eps: float) -> tuple[Array, IntArray]:
    """Return L and the rows with LLᵀ = K[rows, rows] that explain all others up to rounding."""
    diagonal = np.diagonal(K).copy()
    scale = float(np.abs(diagonal).max(initial=0.0))
    least = max(len(K) * eps * scale, 1e-300)
    raw: Any = dpstrf(np.asfortranarray(K), tol=least, lower=1)
    whole, order, rank = np.tril(raw[0]), raw[1].astype(np.intp) - 1, int(raw[2])
    rank = min(rank, int(np.count_nonzero(diagonal > 0)))
    below = whole[rank:, :rank]
    rest = diagonal[order[rank:]] - np.einsum("ij,ij->i", below, below)
    if rest.min(initial=0.0) < -max(100 * least, 1e-6 * scale):
        raise NotPositiveDefinite(
            "The kernel matrix of the landmarks is not positive semi-definite: "
            f"{rest.min():.3g} is left of a diagonal entry where nothing may be below 0. Landmarks "
            "need a positive definite kernel."
        )
    return np.ascontiguousarray(whole[:rank, :rank]), order[:rank]
