"""Cholesky factors in the memory of the matrix itself."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs, solve_triangular

from mercer._typing import Array
from mercer.exceptions import NotPositiveDefinite

_BLOCK = 256
"""Rows of a tile: half a megabyte in float64, which fits an L2 cache."""
_LEAST_PIVOT = 4 * float(np.finfo(np.float64).eps)
"""Pivots below this share of the largest entry are rounding."""
_JITTERS = (0.0, *[10.0**e for e in range(-14, -5)])
"""Shares of the mean diagonal, from rounding to the millionth that is none any more."""


class Cholesky:
    """The factor of A = K + shift·I = LLᵀ, written over K: there is one n × n array and no copy.

    L takes the place of the lower triangle; the upper one keeps the values of K, so that products
    with K stay possible.

    Parameters
    ----------
    matrix : array of shape (n, n), C-contiguous, float32 or float64
        A symmetric K; overwritten.
    shift : float or array of shape (n,)
        Added to the diagonal.
    """

    def __init__(self, matrix: Array, shift: float | Array = 0.0) -> None:
        self._matrix = matrix
        self.diagonal: Array = np.diagonal(matrix).astype(np.float64)
        """The diagonal of K."""
        np.fill_diagonal(matrix, self.diagonal + shift)
        # LAPACK counts along columns: its upper triangle is our lower one.
        potrf, self._potrs, self._trtri, self._potri = get_lapack_funcs(
            ("potrf", "potrs", "trtri", "potri"), (matrix,)
        )
        _, info = potrf(matrix.T, lower=0, clean=0, overwrite_a=1)
        if info > 0:
            raise NotPositiveDefinite(
                f"The matrix is not positive definite: minor {info} of {len(matrix)} is not. "
                "Regularise more (alpha), or use repair(...) for a matrix of your own."
            )

    @property
    def smallest_pivot(self) -> float:
        """The smallest square on the diagonal of L, as a share of the largest entry of A."""
        pivots = np.diagonal(self._matrix).astype(np.float64) ** 2
        largest = float(self.diagonal.max(initial=0.0))
        return float(pivots.min()) / max(largest, float(pivots.max()), 1e-300)

    def solve(self, B: Array) -> Array:
        """Return A⁻¹B, in the precision of the factor."""
        wanted = np.asarray(B, dtype=self._matrix.dtype)
        solved, _ = self._potrs(self._matrix.T, wanted, lower=0)
        return np.asarray(solved)

    def half_solve(self, B: Array) -> Array:
        """Return L⁻¹B."""
        return np.asarray(solve_triangular(self._matrix, B, lower=True, check_finite=False))

    def multiply(self, V: Array) -> Array:
        """Return KV, from the upper triangle."""
        columns = V[:, None] if V.ndim == 1 else V
        (symm,) = get_blas_funcs(("symm",), (self._matrix, columns))
        product: Array = symm(1.0, self._matrix.T, columns, lower=1)
        # The diagonal belongs to L.
        change = self.diagonal - np.diagonal(self._matrix)
        product += change[:, None] * columns
        return product.reshape(V.shape)

    def log_determinant(self) -> float:
        """Return log det A."""
        return 2 * float(np.log(np.diagonal(self._matrix).astype(np.float64)).sum())

    def lower(self) -> Array:
        """Return L as a matrix of its own."""
        return np.tril(self._matrix)

    def inverse(self) -> Array:
        """Return A⁻¹ in the memory of L, which is lost."""
        mirror_lower(self.inverse_below())
        return self._matrix

    def inverse_below(self) -> Array:
        """Return a matrix whose lower triangle is that of A⁻¹, in the memory of L."""
        whole, _ = self._potri(self._matrix.T, lower=0, overwrite_c=1)
        if whole.base is not self._matrix and not np.shares_memory(whole, self._matrix):
            self._matrix[...] = whole.T
        return self._matrix

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of A⁻¹; L is lost."""
        self._trtri(self._matrix.T, lower=0, unitdiag=0, overwrite_c=1)
        n = len(self._matrix)
        result = np.empty(n)
        for start in range(0, n, _BLOCK):
            part = slice(start, min(start + _BLOCK, n))
            below = np.tril(self._matrix[part, part])
            rest = self._matrix[part.stop :, part]
            result[part] = np.einsum("ij,ij->j", below, below, dtype=np.float64)
            result[part] += np.einsum("ij,ij->j", rest, rest, dtype=np.float64)
        return result


def multiply_below(matrix: Array, V: Array) -> Array:
    """Return the product of V and the symmetric matrix of which only the lower triangle counts."""
    (symm,) = get_blas_funcs(("symm",), (matrix, V))
    return np.asarray(symm(1.0, matrix.T, V, lower=0))


def mirror_lower(matrix: Array) -> None:
    """Copy the lower triangle of a square matrix over its upper one."""
    n = len(matrix)
    for start in range(0, n, _BLOCK):
        part = slice(start, min(start + _BLOCK, n))
        square = matrix[part, part]
        square[...] = np.tril(square) + np.tril(square, -1).T
        matrix[part, part.stop :] = matrix[part.stop :, part].T


def factor_with_jitter(matrix: Array, shift: float | Array = 0.0) -> tuple[Cholesky, float]:
    """Factorise, adding the least of a few tiny numbers to the diagonal where rounding asks for it.

    ``matrix`` is overwritten. The jitter is 0 where none was needed; more than a millionth of the
    diagonal is not rounding, and :class:`NotPositiveDefinite` is raised.
    """
    diagonal = np.diagonal(matrix).copy()
    scale = float(np.abs(diagonal).mean()) or 1.0
    for share in _JITTERS:
        jitter = scale * share
        try:
            factor = Cholesky(matrix, shift + jitter)
        except NotPositiveDefinite:
            restore(matrix, diagonal)
            continue
        if factor.smallest_pivot > _LEAST_PIVOT:
            factor.diagonal = diagonal.astype(np.float64)
            return factor, jitter
        restore(matrix, diagonal)
    raise NotPositiveDefinite(
        "The kernel matrix is not positive definite, and not by rounding: jitter of a millionth of "
        "its diagonal does not mend it. Add noise (alpha, White), remove repeated rows, or check "
        "the kernel with check_kernel."
    )


def restore(matrix: Array, diagonal: Array) -> None:
    """Undo a factorisation: the upper triangle still has the values."""
    mirror_lower(matrix.T)
    np.fill_diagonal(matrix, diagonal)


def gaussian_log_density(factor: Cholesky, Y: Array, solved: Array) -> float:
    """Return the log density of the columns of Y under N(0, A), given A⁻¹Y."""
    n, count = Y.shape
    constant = n * math.log(2 * math.pi) + factor.log_determinant()
    return float(-0.5 * (np.vdot(Y, solved) + count * constant))
