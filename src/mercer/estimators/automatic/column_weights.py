"""Weights of columns by the centred alignment of their kernels with the target."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array

MOST_ROWS = 3000
"""Rows that alignments are computed from: their noise, 1/√n, is below 2 % then."""
_LEAST = 1e-4
"""The least weight of a column beside the greatest: a kernel hardly sees it, and no scale is 0."""


def centred_alignments(Z: Array, Y: Array) -> Array:
    """Return for each column how well its kernel alone agrees with that of the targets.

    aⱼ = (⟨HKⱼH, HYYᵀH⟩ − tr HKⱼH · tr HYYᵀH/(n − 1)) / (‖HKⱼH‖ ‖HYYᵀH‖) and 0 where that is
    negative, with Kⱼ = exp(−|xⱼ − zⱼ|) and H = I − 11ᵀ/n. What is subtracted is the mean over all
    permutations of the rows of Y: a column that says nothing has 0 on average. Products with Kⱼ are
    sums along the sorted column, in time n log n.

    References
    ----------
    C. Cortes, M. Mohri and A. Rostamizadeh, Algorithms for learning kernels based on centered
    alignment, Journal of Machine Learning Research 13 (2012).
    """
    n = len(Z)
    centred = Y - Y.mean(axis=0)
    order = np.argsort(Z, axis=0, kind="stable")
    decay = np.exp(-np.diff(np.take_along_axis(Z, order, axis=0), axis=0))
    sorted_targets = centred[order]
    agreement = np.einsum("ijk,ijk->j", _multiplied(sorted_targets, decay), sorted_targets)
    ones = np.ones((n, Z.shape[1], 1))
    sums = _multiplied(ones, decay)[:, :, 0]
    total = sums.sum(axis=0)
    squares = _multiplied(ones, decay**2).sum(axis=(0, 2))
    norm = np.sqrt(np.maximum(squares - 2 / n * (sums**2).sum(axis=0) + (total / n) ** 2, 0.0))
    products = centred.T @ centred
    chance = (n - total / n) * np.trace(products) / max(n - 1, 1)
    scale = norm * np.linalg.norm(products)
    # A column that never changes has a kernel of nothing but rounding.
    known = scale > 1e-9 * n * np.linalg.norm(products)
    found = np.divide(agreement - chance, scale, out=np.zeros(Z.shape[1]), where=known)
    return np.asarray(np.maximum(found, 0.0))


def powers_of(alignments: Array, power: float) -> Array:
    """Return weights aᵖ with the greatest 1; all are 1 for p = 0, or where nothing is aligned."""
    top = float(alignments.max(initial=0.0))
    if power == 0 or top <= 0:
        return np.ones(len(alignments))
    return np.asarray(np.maximum(alignments / top, _LEAST) ** power)


def _multiplied(V: Array, decay: Array) -> Array:
    """Return Kⱼ Vⱼ for columns that are sorted: V has shape (n, columns, targets)."""
    result = V.copy()
    carried = np.zeros(V.shape[1:])
    for i in range(1, len(V)):
        carried = (carried + V[i - 1]) * decay[i - 1, :, None]
        result[i] += carried
    carried = np.zeros(V.shape[1:])
    for i in range(len(V) - 2, -1, -1):
        carried = (carried + V[i + 1]) * decay[i, :, None]
        result[i] += carried
    return result
