"""The spread of classes about their means: what makes it the identity, and where it is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
from scipy import linalg

from mercer import _parallel
from mercer._typing import Array, IntArray
from mercer.linalg.scatter import scatter

_SMALLEST_GRAM_TOL = 1e-6
"""Squared singular values lie in a matrix of products; below this they drown in rounding."""
_SMALL = 1_000
"""Columns up to which a matrix of products is decomposed by one thread."""
_FLAT = 1e-3
"""A spread within classes below this share of the distance between them is none: the quotient of
such a direction is a million or more."""
RANK = 1e-10
"""Singular values below this share of the largest are rounding."""
RESOLUTION = 1e-4
"""A direction without spread within classes counts as one with this share of their distance: the
default ``tol``, below which nothing is told from zero."""


def whitener(
    X: Array, means: Array, codes: IntArray, tol: float, apart: Array
) -> tuple[Array, int]:
    """Return a map after which the spread within classes is the identity, and the flat directions.

    Directions in which the scaled data have singular values up to ``tol`` are left out, but for
    those that separate the classes: so many columns of the map, its last, have no spread.
    """
    n, d = X.shape
    if n > d and tol >= _SMALLEST_GRAM_TOL and X.dtype == np.float64:
        C = scatter(X, means, codes) / n
        scale = _scales(np.sqrt(np.diagonal(C)), means, apart)
        C /= np.outer(scale, scale)
        with _parallel.one_blas_thread() if d <= _SMALL else nullcontext():
            values, vectors = linalg.eigh(C, check_finite=False, driver="evd")
        s, V = np.sqrt(np.maximum(values, 0))[::-1], vectors[:, ::-1]
    else:
        R = X - means[codes]
        scale = _scales(np.sqrt(np.einsum("ij,ij->j", R, R) / n), means, apart)
        R /= scale * np.sqrt(X.dtype.type(n))
        _, s, Vt = linalg.svd(R, full_matrices=False)
        V = Vt.T
    rank = int((s > tol).sum())
    kept = V[:, :rank]

    def spread(directions: Array) -> Array:
        rows = (X - means[codes]) / scale
        return np.asarray(np.sqrt(((rows @ directions) ** 2).mean(axis=0)))

    flat = _flat_directions(_believable(apart / scale, kept, n), kept, spread)
    whole = np.hstack([kept / s[:rank], flat]) / scale[:, None]
    return np.asarray(whole.astype(X.dtype)), flat.shape[1]


def _scales(deviation: Array, means: Array, apart: Array) -> Array:
    """Return the units of columns: the spread within classes, or between them where it is none."""
    floor = 10 * np.finfo(means.dtype).eps * np.abs(means).max(axis=0)
    between = np.sqrt(np.einsum("ij,ij->j", apart, apart))
    return np.where(deviation > floor, deviation, np.where(between > floor, between, 1.0))


def _believable(apart: Array, kept: Array, rows: int) -> Array:
    """Return what may separate the classes without spread: of few rows only whole columns."""
    classes, d = apart.shape
    varies = np.abs(kept).max(axis=1, initial=0.0) > RANK
    return np.where(varies, 0.0, apart) if rows < d + classes else apart


def _flat_directions(apart: Array, kept: Array, spread: Callable[[Array], Array]) -> Array:
    """Return the directions that separate the classes, and along which these have no spread.

    Parameters
    ----------
    apart : array of shape (classes, columns)
        √π_c (m_c − m), so that S_b is its matrix of products.
    kept : array of shape (columns, rank)
        An orthonormal basis of the directions in which the classes have spread.
    spread : function
        Returns the spread along directions.
    """
    beside = apart - (apart @ kept) @ kept.T
    _, s, Vt = np.linalg.svd(beside, full_matrices=False)
    # Rounding leaves of directions that are in the basis about the root of its unit.
    real = s > np.sqrt(np.finfo(apart.dtype).eps) * np.linalg.norm(apart)
    s, V = s[real], Vt[real].T
    if not len(s):
        return np.asarray(V)
    within = spread(V)
    flat = within < _FLAT * s
    return np.asarray(V[:, flat] / np.maximum(RESOLUTION * s, within)[flat])


def quotients(values: Array, flat: int) -> Array:
    """Return the quotients of directions, of which so many are infinite."""
    found = np.maximum(values, 0.0)
    found[:flat] = np.inf
    return np.asarray(found)


def inverse_root(S: Array, means: Array, apart: Array, rows: int) -> tuple[Array, int]:
    """Return W with WᵀSW = I on the directions in which S is not zero, and the flat directions.

    Those that separate the classes are its last columns; all others of spread 0 are left out.
    """
    scale = _scales(np.sqrt(np.maximum(np.diagonal(S), 0)), means, apart)
    S = S / np.outer(scale, scale)
    values, vectors = linalg.eigh(S)
    kept = values > len(S) * 10 * np.finfo(S.dtype).eps * max(values[-1], 0.0)
    basis = vectors[:, kept]

    def spread(directions: Array) -> Array:
        squares = np.einsum("ij,ij->j", directions, S @ directions)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    flat = _flat_directions(_believable(apart / scale, basis, rows), basis, spread)
    return np.hstack([basis / np.sqrt(values[kept]), flat]) / scale[:, None], flat.shape[1]
