"""Sums of products about a centre, or about the centre of each class."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array, IntArray

_CHUNK = 1024
"""Rows that are centred at once: they stay in the cache until they are multiplied."""


def scatter(X: Array, centres: Array, codes: IntArray | None = None) -> Array:
    """Return Σᵢ (xᵢ − c)(xᵢ − c)ᵀ, with one centre, or with that of the class of each row.

    Rows are centred before they are multiplied: differences of large squares would lose their
    digits. One small piece of memory serves all of them.
    """
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
