"""Means of columns and products of all pairs of them about the means, in one pass over rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array
from mercer.linalg.scatter import centred_scatter

MOST_COLUMNS = 255
"""Columns that compiled products take, with one of ones; of more BLAS makes use just as well."""
_LEAST_CELLS = 1 << 15
"""Numbers from which a pass takes longer than what it saves: four quick passes of some 10 µs."""
_LITTLE_WORK = 1.5e8
"""Products up to which one thread is done before others are awake: some four milliseconds."""
_LITTLE_PRODUCT = 1e9
"""The same for products by BLAS, whose own threads are sooner awake."""
_LITTLE_READING = 4_000_000
"""Numbers of X of which the same is true where each is used twice."""
_PARTS = 8
"""Parts whose sums are added up at the end, on however many threads."""
_FIRST_ROWS = 64
"""Rows whose mean is near the mean of all, next to what columns spread."""
_HARMLESS = {np.dtype(np.float64): 100, np.dtype(np.float32): 1}
"""Squared means of up to this many variances cost two digits of sixteen, or none of seven."""


@dataclass(frozen=True, eq=False)
class ColumnProducts:
    """Means of the columns of [X, Y], and their products about these means, or about zero.

    ``exact`` products were added up in float64.
    """

    rows: int
    means: Array
    products: Array
    exact: bool = True

    @property
    def sum_of_squares(self) -> float:
        """The sum of all squares about zero, infinite or NaN where a number is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.products.diagonal() + self.rows * self.means**2
            return float(squares.sum())


def suit_products(X: Array) -> bool:
    """Whether :func:`column_products` takes these rows, and is worth the call."""
    # An array that cannot be written is another type to the compiler.
    return X.dtype.char in "df" and X.flags.carray and X.size >= _LEAST_CELLS


def column_products(X: Array, Y: Array | None = None, centred: bool = True) -> ColumnProducts:
    """Return means and products of the columns of X, and of those of Y beside them.

    Sums of up to some 250 columns are taken in float64 from rows less the mean of the first ones,
    and once more from the mean of all where that was not near; sums of more columns by BLAS.
    Numbers that are not finite show in the products.
    """
    Y = np.empty((len(X), 0)) if Y is None else np.ascontiguousarray(Y, np.float64)
    n, count = len(X), X.shape[1] + Y.shape[1]
    compiled = count <= MOST_COLUMNS
    exact = compiled or X.dtype == np.float64
    harmless = _HARMLESS[np.dtype(np.float64) if compiled else X.dtype]
    means = np.zeros(count)
    with np.errstate(over="ignore", invalid="ignore"):
        if centred and compiled:
            means = np.concatenate([A[:_FIRST_ROWS].mean(axis=0, dtype=float) for A in (X, Y)])
        found = _sums(X, Y, means) if compiled else _sums_by_blas(X, Y, means)
        if not centred:
            return ColumnProducts(n, means, found[:-1, :-1], exact)
        for _ in range(2):
            sums = found[-1, :-1]
            taken = np.outer(sums, sums / n)
            products = found[:-1, :-1] - taken
            means = means + sums / n
            if (np.diagonal(taken) <= harmless * np.diagonal(products)).all():
                break
            found = _sums(X, Y, means) if compiled else _sums_by_blas(X, Y, means)
        return ColumnProducts(n, means, products, exact)


def _sums_by_blas(X: Array, Y: Array, shift: Array) -> Array:
    """Return ZᵀZ of Z = [X − shift, Y − shift, 1] in float64, summed in the precision of X."""
    p, n = X.shape[1], len(X)
    whole = np.empty((len(shift) + 1,) * 2)
    beside = np.column_stack([Y - shift[p:], np.ones(n)]).astype(X.dtype)
    if shift.any():
        whole[:p, :p] = centred_scatter(X, shift[:p].astype(X.dtype))
    else:
        whole[:p, :p] = _square(X)
    whole[p:, :p] = beside.T @ X - np.outer(beside.sum(axis=0, dtype=float), shift[:p])
    whole[:p, p:] = whole[p:, :p].T
    whole[p:, p:] = beside.T @ beside
    return whole


def _square(X: Array) -> Array:
    """Return XᵀX by our own threads where it takes long: those of BLAS hinder who comes next."""
    n, p = X.shape
    if n * p * p <= _LITTLE_PRODUCT:
        return np.asarray(X.T @ X)
    halves: list[Array] = [np.empty((0, 0))] * 2

    def work(k: int) -> None:
        rows = X[n * k // 2 : n * (k + 1) // 2]
        halves[k] = np.dot(rows.T, rows)  # unlike @, it lets other threads run meanwhile

    _parallel.run(work, range(2), _parallel.thread_count())
    return np.asarray(halves[0] + halves[1])


def _sums(X: Array, Y: Array, shift: Array) -> Array:
    """Return ZᵀZ of Z = [X − shift, Y − shift, 1]."""
    n, count = len(X), X.shape[1] + Y.shape[1] + 1
    width = -(-count // 8) * 8
    parts = _PARTS if n * width * width > _LITTLE_WORK else 1
    stride, rows = _fast.column_products.STRIDE, _fast.column_products.ROWS
    sums: list[Array] = [np.empty(0)] * parts

    def work(k: int) -> None:
        start, stop = n * k // parts, n * (k + 1) // parts
        room, sums[k] = _aligned(rows * stride), _aligned(width * stride)
        _fast.column_products.add_products(X, Y, shift, start, stop, room, sums[k])

    if parts == 1:
        work(0)
    else:
        _parallel.run(work, range(parts), _parallel.thread_count())
    # In the order of the parts, so that the answer does not depend on the threads.
    total = sum(sums[1:], sums[0]).reshape(width, stride)[:count, :count]
    return np.asarray(np.triu(total) + np.triu(total, 1).T)


def _aligned(count: int) -> Array:
    """Return zeros that start where a cache line does: vectors do not lie across two lines."""
    room = np.zeros(count + 8)
    skipped = -room.ctypes.data // 8 % 8
    return room[skipped : skipped + count]


def residual_products(X: Array, y: Array, means: Array, w: Array) -> Array:
    """Return Σ rᵢ(xᵢ − m), rᵢ = yᵢ − ⟨w, xᵢ − m⟩, in float64; y is centred."""
    n = len(X)
    parts = _PARTS if X.size > _LITTLE_READING else 1
    found = np.zeros((parts, len(w)))

    def work(k: int) -> None:
        start, stop = n * k // parts, n * (k + 1) // parts
        _fast.column_products.add_residual_products(X, y, means, w, start, stop, found[k])

    if parts == 1:
        work(0)
    else:
        _parallel.run(work, range(parts), _parallel.thread_count())
    return np.asarray(found.sum(axis=0))
