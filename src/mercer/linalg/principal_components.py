"""Five ways to the principal components of centred data, and their likeliest number."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse, special
from sklearn.utils.extmath import svd_flip

from mercer import _parallel
from mercer._typing import Array, Matrix
from mercer.linalg.lanczos import (
    eigenpairs_by_vectors,
    leading_eigenpairs,
    randomised_range,
)
from mercer.linalg.scatter import scatter

_CHUNK = 1 << 15
"""Numbers whose squares are summed at once: in a cache, and few enough for sums in float32."""

_HARMLESS = 100
"""Squared means of up to this many variances cost two digits of sixteen."""

_ITERATED = 250
"""Rows of a matrix from which a few eigenvectors take less time by products than as a whole."""

_SMALL = 1_000
"""Columns up to which a covariance matrix is decomposed by one thread."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Variances in descending order, their directions as rows, and the whole variance.

    ``scores`` are the projections of the training data where the method has them anyway.
    """

    variances: Array
    components: Array
    total: float
    scores: Array | None = None


def centred_svd(X: Array, mean: Array, copy: bool) -> Decomposition:
    """Decompose the centred data."""
    n = len(X)
    R = X - mean if copy else np.subtract(X, mean, out=X)
    U, s, Vt = linalg.svd(R, full_matrices=False, check_finite=False)
    U, Vt = svd_flip(U, Vt, u_based_decision=False)
    variances = s**2 / (n - 1)
    return Decomposition(variances, Vt, float(variances.sum()), U * s)


def covariance_eigh(
    X: Matrix, mean: Array, count: int | None, products: Array | None = None
) -> Decomposition:
    """Decompose the covariance matrix; ``count`` leading directions, None for all.

    ``products`` are those of the centred columns, where they are known.
    """
    if products is None:
        C = _covariance(X, mean)
    else:
        C = (products / (X.shape[0] - 1)).astype(X.dtype, copy=False)
    d = len(C)
    # NumPy and SciPy have threads of their own, and the former still wait busily for work on the
    # cores that the latter need. One thread does a small matrix sooner.
    with _parallel.one_blas_thread() if d <= _SMALL else nullcontext():
        if count is None or count > 0.3 * d or count == 0:
            values, vectors = linalg.eigh(C, check_finite=False, driver="evd")
        else:
            values, vectors = linalg.eigh(C, check_finite=False, subset_by_index=(d - count, d - 1))
    Vt = vectors[:, ::-1].T
    # The largest entry of each direction is positive, as in scikit-learn.
    largest = np.take_along_axis(Vt, np.abs(Vt).argmax(axis=1)[:, None], axis=1)
    Vt = Vt * np.where(largest < 0, -1, 1).astype(Vt.dtype)
    return Decomposition(np.maximum(values[::-1], 0), Vt, float(np.trace(C)))


def _covariance(X: Matrix, mean: Array) -> Array:
    n = X.shape[0]
    if sparse.issparse(X):
        product = X.T @ X
        C = product.toarray() if sparse.issparse(product) else np.asarray(product)
        return np.asarray((C - n * np.outer(mean, mean)) / (n - 1))
    return np.asarray(scatter(X, mean) / X.dtype.type(n - 1))


def gram_components(
    X: Array, mean: Array, count: int, products: Array | None = None
) -> Decomposition:
    """Find leading directions from the whole of the smaller of RᵀR and RRᵀ, R = X − 1x̄ᵀ.

    ``products`` are RᵀR where that is known.

    Products with the data then give lengths and the other side with the digits that squares lose.
    """
    n, d = X.shape
    A = _Centred(X, mean)
    if d <= n:
        S = scatter(X, mean) if products is None else products.astype(X.dtype, copy=False)
    else:
        R = X - mean
        S = R @ R.T
    size = len(S)
    total = float(np.trace(S, dtype=np.float64)) / (n - 1)
    with _parallel.one_blas_thread() if size <= _SMALL else nullcontext():
        vectors = _leading_of(S, count)
        if d <= n:
            U, s, Vt = linalg.svd(A.times(vectors), full_matrices=False, check_finite=False)
            Vt = Vt @ vectors.T
        else:
            U, s, Vt = linalg.svd(R.T @ vectors, full_matrices=False, check_finite=False)
            U, Vt = vectors @ Vt.T, U.T
    U, Vt = svd_flip(U, Vt, u_based_decision=False)
    return Decomposition(s**2 / (n - 1), Vt, total, U * s)


def _leading_of(S: Array, count: int) -> Array:
    """Return leading eigenvectors: a few of a larger matrix by products with vectors."""
    size = len(S)
    if size >= _ITERATED and count < 0.2 * size:
        matrix = S.astype(np.float64, copy=False)
        random = np.random.default_rng(0)
        pairs = eigenpairs_by_vectors(lambda V: matrix @ V, size, count, random=random)
        if pairs is not None:
            return pairs.vectors.astype(S.dtype, copy=False)
    whole = linalg.eigh(S, check_finite=False, subset_by_index=(size - count, size - 1))
    return np.asarray(whole[1])


def lanczos_components(
    X: Matrix, mean: Array, count: int, tol: float, random: np.random.RandomState
) -> Decomposition:
    """Find leading directions with products by the centred data alone."""
    n, d = X.shape
    A = _Centred(X, mean)
    if d <= n:
        vectors = _leading(lambda V: A.transposed(A.times(V)), d, count, tol, random, X)
        U, s, Vt = linalg.svd(A.times(vectors), full_matrices=False)
        Vt = Vt @ vectors.T
    else:
        vectors = _leading(lambda V: A.times(A.transposed(V)), n, count, tol, random, X)
        U, s, Vt = linalg.svd(A.transposed(vectors).T, full_matrices=False)
        U = vectors @ U
    U, Vt = svd_flip(U, Vt, u_based_decision=False)
    return Decomposition(s**2 / (n - 1), Vt, A.variance(), U * s)


def _leading(
    multiply: Callable[[Array], Array],
    size: int,
    count: int,
    tol: float,
    random: np.random.RandomState,
    X: Matrix,
) -> Array:
    """Return the leading eigenvectors of a product of the data with themselves."""
    if not sparse.issparse(X) and X.dtype == np.float64 and count < size:
        pairs = eigenpairs_by_vectors(multiply, size, count, tol=tol, random=random)
        if pairs is not None:
            return pairs.vectors
    return leading_eigenpairs(multiply, size, count, tol=tol, random=random, dtype=X.dtype).vectors


def randomised_components(
    X: Array, mean: Array, count: int, columns: int, rounds: int, random: np.random.RandomState
) -> Decomposition:
    """Find leading directions from the products with a few random vectors."""
    n, d = X.shape
    A = _Centred(X, mean)
    start = random.normal(size=(min(n, d), min(columns, n, d))).astype(X.dtype)
    if d <= n:
        Q = randomised_range(A.transposed, A.times, A.times(start), rounds)
        U, s, Vt = linalg.svd(A.times(Q), full_matrices=False)
        Vt = Vt @ Q.T
    else:
        Q = randomised_range(A.times, A.transposed, A.transposed(start), rounds)
        U, s, Vt = linalg.svd(A.transposed(Q).T, full_matrices=False)
        U = Q @ U
    U, Vt = svd_flip(U[:, :count], Vt[:count], u_based_decision=False)
    s = s[:count]
    return Decomposition(s**2 / (n - 1), Vt, A.variance(), U * s)


class _Centred:
    """The matrix X − 1x̄ᵀ, which is never formed."""

    def __init__(self, X: Matrix, mean: Array) -> None:
        self.X, self.mean = X, mean

    def times(self, V: Array) -> Array:
        return np.asarray(self.X @ V - self.mean @ V)

    def transposed(self, V: Array) -> Array:
        sums = V.sum(axis=0)
        return np.asarray(self.X.T @ V) - (
            np.outer(self.mean, sums) if V.ndim == 2 else self.mean * sums
        )

    def variance(self) -> float:
        """Return the sum of the variances of all columns."""
        n = self.X.shape[0]
        if sparse.issparse(self.X):
            squares = float(self.X.multiply(self.X).sum())
            return float((squares - n * float(self.mean @ self.mean)) / (n - 1))
        if self.X.dtype == np.float64:
            flat, means = self.X.ravel(order="K"), n * float(self.mean @ self.mean)
            spread = float(np.einsum("i,i->", flat, flat)) - means
            if means <= _HARMLESS * spread:
                return float(spread / (n - 1))
        rows = max(1, _CHUNK // max(1, self.X.shape[1]))
        total = 0.0
        for start in range(0, n, rows):
            part = (self.X[start : start + rows] - self.mean).ravel(order="K")
            total += float(part @ part)
        return float(total / (n - 1))


def likeliest_dimension(variances: Array, rows: int) -> int:
    """Return the number of components of the highest evidence (Minka 2000), at least 1."""
    evidence = [-math.inf] + [_evidence(variances, k, rows) for k in range(1, len(variances))]
    return int(np.argmax(evidence))


def _evidence(variances: Array, k: int, rows: int) -> float:
    """Return Laplace's approximation of the log-evidence of k components."""
    smallest = 1e-15
    d = len(variances)
    if variances[k - 1] < smallest:
        return -math.inf
    halves = (d - np.arange(1, k + 1) + 1) / 2
    log_volume = -k * math.log(2) + float(
        (special.gammaln(halves) - halves * math.log(math.pi)).sum()
    )
    noise = max(smallest, float(variances[k:].sum()) / (d - k))
    log_fit = -rows / 2 * (float(np.log(variances[:k]).sum()) + (d - k) * math.log(noise))
    free = d * k - k * (k + 1) / 2
    smoothed = np.where(np.arange(d) < k, variances, noise)
    i, j = np.triu_indices(d, 1)
    pairs = i < k
    i, j = i[pairs], j[pairs]
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = np.log((variances[i] - variances[j]) * (1 / smoothed[j] - 1 / smoothed[i]))
    log_curvature = float(curvature.sum()) + len(i) * math.log(rows)
    log_prior = (free + k) / 2 * math.log(2 * math.pi)
    value = log_volume + log_fit + log_prior - log_curvature / 2 - k / 2 * math.log(rows)
    return value if not math.isnan(value) else -math.inf
