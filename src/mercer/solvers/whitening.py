"""Whitening: centred data turned and scaled so that their covariance is the identity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer._typing import Array

_TRUSTED = 1e-9
"""Eigenvalues of the covariance below this share of the largest have lost too many digits."""


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
    n = len(X)
    mean = X.mean(axis=0)
    centred = np.ascontiguousarray((X - mean).T)
    units = np.ones((X.shape[1], 1))
    if n_components is None:
        # All directions are kept, so units of columns do not matter except for rounding.
        units = np.sqrt(np.einsum("ij,ij->i", centred, centred) / n)[:, None]
        constant = units[:, 0] <= 1e-14 * np.abs(mean)
        units[constant] = 1.0
        centred /= units
    floor = float(np.finfo(X.dtype).eps) * max(X.shape)
    values, U = linalg.eigh(centred @ centred.T / n, check_finite=False)
    values, U = values[::-1], U[:, ::-1]
    keep = min(n_components or len(values), len(values))
    # A covariance has half of the digits of the data.
    if values[keep - 1] > _TRUSTED * values[0] and n > X.shape[1]:
        scales = np.sqrt(values)
    else:
        U, scales, _ = linalg.svd(centred, full_matrices=False, check_finite=False)
        scales = scales / np.sqrt(n)
    # Centring leaves rounding errors of the size of the mean.
    spread = max(float(scales[0]), float(np.abs(mean / units[:, 0]).max(initial=0.0)))
    rank = int(np.sum(scales > floor * spread))
    keep = min(n_components or rank, rank)
    U = U * np.where(U[0] < 0, -1.0, 1.0)
    K = (U[:, :keep] / scales[:keep]).T
    return Whitened(K / units.T, mean, K @ centred, rank)
