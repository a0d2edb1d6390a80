"""Whitening: centred data turned and scaled so that their covariance is the identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer import _parallel
from mercer._typing import Array

_TRUSTED = 1e-6
"""Eigenvalues of the covariance below this share of the largest have lost too many digits."""
_CELLS = 1 << 16
"""Values of a block of columns: half a megabyte, which fits an L2 cache."""


@dataclass(frozen=True)
class Whitened:
    """K, with K(x − mean) of covariance I; the data as columns, and their rank."""

    K: Array
    mean: Array
    X: Array
    rank: int


def whiten(X: Array, n_components: int | None = None) -> Whitened:
    """Return the first principal components of rows ``X``, each of variance 1, as columns.

    By the covariance matrix where its eigenvalues are accurate, else by a singular value
    decomposition of the data.
    """
    n, p = X.shape
    mean = np.ones(n) @ X / n  # quicker than a sum over the rows where they are short
    centred, covariance = _centre(X, mean)
    units = np.ones(p)
    if n_components is None:
        # All directions are kept, so units of columns do not matter except for rounding.
        units = np.sqrt(covariance.diagonal())
        units[units <= 1e-14 * np.abs(mean)] = 1.0
    values, U = linalg.eigh(covariance / np.outer(units, units), check_finite=False)
    values, U = values[::-1], U[:, ::-1]
    keep = min(n_components or p, p)
    # A covariance has half of the digits of the data.
    if values[keep - 1] > _TRUSTED * values[0] and n > p:
        scales = np.sqrt(np.maximum(values, 0.0))
    else:
        U, scales, _ = linalg.svd(centred / units[:, None], full_matrices=False, check_finite=False)
        scales = scales / np.sqrt(n)
    # Centring leaves rounding errors of the size of the mean.
    spread = max(float(scales[0]), float(np.abs(mean / units).max(initial=0.0)))
    rank = int(np.sum(scales > float(np.finfo(X.dtype).eps) * max(n, p) * spread))
    keep = min(n_components or rank, rank)
    U = U * np.where(U[0] < 0, -1.0, 1.0)
    K = (U[:, :keep] / scales[:keep]).T / units
    return Whitened(K, mean, _product(K, centred), rank)


def _centre(X: Array, mean: Array) -> tuple[Array, Array]:
    """Return the centred rows as columns, and their covariance matrix."""
    n, p = X.shape
    centred = np.empty((p, n))

    def part(columns: slice) -> Array:
        block = centred[:, columns]
        np.subtract(X[columns].T, mean[:, None], out=block)
        return np.asarray(np.dot(block, block.T))

    return centred, np.sum(_in_blocks(part, n, p), axis=0) / n


def _product(K: Array, X: Array) -> Array:
    out = np.empty((len(K), X.shape[1]))

    def part(columns: slice) -> Array:
        return np.matmul(K, X[:, columns], out=out[:, columns])

    _in_blocks(part, X.shape[1], len(X))
    return out


def _in_blocks(part: Callable[[slice], Array], n: int, p: int) -> list[Array]:
    """Return what ``part`` makes of slices of n columns of p values, on all threads."""
    width = max(_CELLS // p, 64)
    starts = range(0, n, width)
    found: list[Array] = [np.empty(0)] * len(starts)

    def work(k: int) -> None:
        found[k] = part(slice(starts[k], starts[k] + width))

    _parallel.run(work, range(len(starts)), _parallel.thread_count())
    return found
