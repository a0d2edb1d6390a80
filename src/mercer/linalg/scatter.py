"""Sums of products about a centre, or about the centre of each class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from mercer._typing import Array, IntArray, Matrix

_CHUNK = 1024
"""Rows that are centred at once: they stay in the cache until they are multiplied."""

_HARMLESS = 100
"""Squared means of up to this many variances cost two digits of sixteen."""


def column_sums(X: Matrix, refuse: Callable[[], object]) -> Array:
    """Return the sums of the columns, which also tell whether all numbers are finite.

    ``refuse`` is called where they might not be; it finds out, and raises.
    """
    if sparse.issparse(X):
        sums = np.asarray(X.sum(axis=0)).ravel()
    elif X.dtype == np.float64:
        sums = np.ones(len(X)) @ X
    else:
        sums = X.sum(axis=0, dtype=np.float64)
    if not np.isfinite(sums).all():
        refuse()
    return np.asarray(sums)


def class_sums(X: Array, codes: IntArray, classes: int, refuse: Callable[[], object]) -> Array:
    """Return the sum of the rows of each class, with the same check."""
    n = len(X)
    members = sparse.csr_array((np.ones(n, X.dtype), codes, np.arange(n + 1)), shape=(n, classes))
    sums = np.asarray(members.T @ X)
    if not np.isfinite(sums).all():
        refuse()
    return sums


def scatter(X: Array, centres: Array, codes: IntArray | None = None) -> Array:
    """Return Σᵢ (xᵢ − c)(xᵢ − c)ᵀ, with one centre, or with that of the class of each row.

    The centres are means. XᵀX − Σ n_c ccᵀ is quick, and loses hardly a digit where they are not
    much larger than the deviations. Elsewhere rows are centred before they are multiplied.
    """
    if X.dtype == np.float64:
        means = np.atleast_2d(centres)
        counts = np.array([len(X)]) if codes is None else np.bincount(codes, minlength=len(means))
        weighted = np.sqrt(counts)[:, None] * means
        taken = weighted.T @ weighted
        quick: Array = X.T @ X
        quick -= taken
        if (np.diagonal(taken) <= _HARMLESS * np.diagonal(quick)).all():
            return quick
    return _centred_scatter(X, centres, codes)


def _centred_scatter(X: Array, centres: Array, codes: IntArray | None) -> Array:
    """Centre a few rows at a time, in one small piece of memory, and add up their products."""
    n, d = X.shape
    S = np.zeros((d, d), dtype=X.dtype)
    buffer = np.empty((min(n, _CHUNK), d), dtype=X.dtype)
    for start in range(0, n, _CHUNK):
        rows = X[start : start + _CHUNK]
        R = buffer[: len(rows)]
        if codes is None:
            np.subtract(rows, centres, out=R)
        else:
            np.take(centres, codes[start : start + _CHUNK], axis=0, out=R, mode="clip")
            np.subtract(rows, R, out=R)
        S += R.T @ R
    return S
