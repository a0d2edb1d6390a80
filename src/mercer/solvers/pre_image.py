"""Points whose images in feature space are nearest to given places: a fixed point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from mercer._typing import Array

_CANCELLED = 1e-12
"""Weights whose sum is below this share of their sizes cancel up to rounding."""


def nearest_pre_images(
    derivative: Callable[[Array], Array], X: Array, G: Array, Z: Array, tol: float, max_iter: int
) -> Array:
    """Iterate z ← Σᵢ wᵢxᵢ/Σᵢ wᵢ, wᵢ = gᵢ k′(‖z − xᵢ‖²), from the rows of Z, which it changes.

    S. Mika et al., Kernel PCA and de-noising in feature spaces, NIPS 11 (1999).

    Parameters
    ----------
    derivative : function
        k′ of squared distances, up to a factor.
    X : array of shape (n, columns)
        Points whose images span the places.
    G : array of shape (m, n)
        The places Σᵢ gᵢφ(xᵢ).
    tol : float
        The largest step at the end, as a share of the largest number in X.
    """
    step = tol * float(np.abs(X).max(initial=1e-300))
    active = np.arange(len(Z))
    for _ in range(max_iter):
        W = G[active] * derivative(euclidean_distances(Z[active], X, squared=True))
        weight = W.sum(axis=1)
        # Where the weights cancel there is no next point; the last one stays.
        steady = np.abs(weight) > _CANCELLED * np.abs(W).sum(axis=1)
        active, W, weight = active[steady], W[steady], weight[steady]
        moved = W @ X / weight[:, None]
        far = np.abs(moved - Z[active]).max(axis=1, initial=0.0) > step
        Z[active] = moved
        active = active[far]
        if not len(active):
            break
    return Z
