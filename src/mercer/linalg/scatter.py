"""Sums of products about a centre, or about the centre of each class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from mercer._typing import Array, IntArray, Matrix

_CHUNK = 1024
"""Rows that are centred at once: they stay in the cache until they are multiplied."""

_HARMLESS = {np.dtype(np.float64): 100, np.dtype(np.float32): 1}
"""Squared means of up to this many variances cost two digits of sixteen, or none of seven."""

_FAR = 10
"""How much larger than harmless they look by a few rows where the rest is not asked."""

_FEW_CELLS = 1 << 16
"""Numbers whose products take no longer than a look at some of them."""

_FEW_ROWS = 256
"""Rows whose sums in float32 have about as many digits as each number."""


def column_sums(X: Matrix, refuse: Callable[[], object]) -> Array:
    """Return the sums of the columns, which also tell whether all numbers are finite.

    ``refuse`` is called where they might not be; it finds out, and raises.
    """
    if sparse.issparse(X):
        sums = np.asarray(X.sum(axis=0)).ravel()
    elif X.dtype == np.float64:
        sums = np.ones(len(X)) @ X
    else:
        sums = _sums_of_short_numbers(X)
    if not np.isfinite(sums).all():
        refuse()
    return np.asarray(sums)


def _sums_of_short_numbers(X: Array) -> Array:
    """Add up a few rows at a time in float32, which BLAS does at once, and these in float64."""
    ones, sums = np.ones(_FEW_ROWS, X.dtype), np.zeros(X.shape[1])
    for start in range(0, len(X), _FEW_ROWS):
        rows = X[start : start + _FEW_ROWS]
        sums += ones[: len(rows)] @ rows
    return sums


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
    means = np.atleast_2d(centres)
    if X.dtype in _HARMLESS and (X.size <= _FEW_CELLS or _look_near(X, means)):
        counts = np.array([len(X)]) if codes is None else np.bincount(codes, minlength=len(means))
        weighted = (np.sqrt(counts)[:, None] * means).astype(X.dtype)
        taken = weighted.T @ weighted
        quick: Array = X.T @ X
        quick -= taken
        if (np.diagonal(taken) <= _HARMLESS[X.dtype] * np.diagonal(quick)).all():
            return quick
    return centred_scatter(X, centres, codes)


def _look_near(X: Array, means: Array) -> bool:
    """Whether means are no larger than harmless, as far as the first rows tell."""
    spread = X[:_CHUNK].var(axis=0)
    return bool((means**2 <= _FAR * _HARMLESS[X.dtype] * spread).all())


def centred_scatter(X: Array, centres: Array, codes: IntArray | None = None) -> Array:
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
