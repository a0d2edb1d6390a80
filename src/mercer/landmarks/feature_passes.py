"""Passes over rows whose features are in memory: nothing is computed again."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from mercer import _parallel
from mercer._typing import Array
from mercer.landmarks.chunks import ArrayChunks, Chunk
from mercer.landmarks.passes import Passes, PassSums, Rule, Weighting
from mercer.linalg.pivoted import PivotedFactor

_BANDS = 16
"""Tasks of a square; their sums are added in order, whatever thread was first."""
_SHARED = 1 << 24
"""Multiplications of a square from which on it is shared by threads: about a millisecond."""


class FeaturePasses(Passes):
    """Passes over Φ = ZLᵀ, where the choice of landmarks has left the features Z of all rows.

    Parameters
    ----------
    factor : PivotedFactor
        Z, and what the landmarks do not see of each row.
    L : array of shape (r, r)
        The Cholesky factor of the landmarks' kernel matrix.
    chunks : ArrayChunks
        The same rows, with their targets and weights.
    constant : bool
        Whether the last column of Φ is 1.
    """

    holds_features = True

    def __init__(
        self, factor: PivotedFactor, L: Array, chunks: ArrayChunks, constant: bool
    ) -> None:
        self.Z, self.L, self.chunks, self.constant = factor.F, L, chunks, constant
        self.rows, self.columns = len(self.Z), len(L) + constant
        self._all = Chunk(chunks.X, chunks.y, chunks.weights)
        self._left = factor.left

    def sums(
        self, V: Array, rule: Rule, precise: bool = False, whitener: Array | None = None
    ) -> PassSums:
        M = len(self.L)
        terms = rule(self._values(V), self._all)
        products = np.empty((self.columns, terms.R.shape[1]))
        products[:M] = self.L @ (self.Z.T @ terms.R)
        if self.constant:
            products[-1] = terms.R.sum(axis=0)
        unseen = None
        if whitener is not None:
            unseen = np.sqrt(self._unseen(len(whitener))) @ np.abs(terms.R)
        return PassSums(products, terms.totals, unseen)

    def square(
        self, V: Array, weighting: Weighting, R: Array, share: float = 1.0, precise: bool = False
    ) -> Array:
        M = len(self.L)
        roots = np.sqrt(weighting(self._values(V), self._all))
        # The basis is that of the features as a rule, and then LᵀR⁻¹ is the identity.
        own = np.array_equal(R, self.L.T)
        turn = None if own else solve_triangular(R, self.L, trans="T", check_finite=False)
        squares = np.empty((roots.shape[1], self.columns, self.columns))
        for square, root in zip(squares, roots.T, strict=True):
            scaled = self.Z if (root == 1).all() else self.Z * root[:, None]
            inner = _square(scaled)
            square[:M, :M] = inner if turn is None else turn @ inner @ turn.T
            if self.constant:
                border = scaled.T @ root
                square[-1, :M] = square[:M, -1] = border if turn is None else turn @ border
                square[-1, -1] = root @ root
        return squares

    def _unseen(self, count: int) -> Array:
        """Return what the first landmarks do not see of each row."""
        others = self.Z[:, count:]
        return np.asarray(self._left + np.einsum("ij,ij->i", others, others))

    def _values(self, V: Array) -> Array:
        """Return U = ΦV."""
        if not V.any():  # where solvers start
            return np.zeros((self.rows, V.shape[1]))
        U = np.asarray(self.Z @ (self.L.T @ V[: len(self.L)]))
        if self.constant:
            U += V[-1]
        return U


def _square(A: Array) -> Array:
    """Return AᵀA, by threads of our own: those of BLAS would go on to spin beside the next ones."""
    n, M = A.shape
    height = -(-n // _BANDS)
    parts = np.empty((_BANDS, M, M))

    def task(number: int) -> None:
        band = A[number * height : (number + 1) * height]
        np.matmul(band.T, band, out=parts[number])

    threads = _parallel.thread_count() if n * M * M > _SHARED else 1
    _parallel.run(task, range(_BANDS), threads)
    return np.asarray(parts.sum(axis=0))
