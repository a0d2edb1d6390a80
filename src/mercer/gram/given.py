"""A Gram matrix that somebody has computed already."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import Array, Index, IntArray, Rows
from mercer.exceptions import InvalidInput
from mercer.gram.base import Definite, GramMatrix, placed, taken


class GivenGram(GramMatrix):
    """A dense matrix behind the face of all others; parts of it are taken without a copy.

    Parameters
    ----------
    matrix : array of shape (n, m)
    definite : Definite
        What is known of it: nothing by default.
    symmetric : bool, optional
        Whether rows and columns are the same points: where there are as many, by default.
    """

    def __init__(
        self, matrix: Array, definite: Definite = Definite.INDEFINITE, symmetric: bool | None = None
    ) -> None:
        whole = np.asarray(matrix)
        if whole.ndim != 2 or whole.dtype.kind != "f":
            raise InvalidInput(
                f"GivenGram: a matrix of real numbers is needed, got an array of shape "
                f"{whole.shape} and type {whole.dtype}."
            )
        everything = slice(0, whole.shape[0]), slice(0, whole.shape[1])
        square = whole.shape[0] == whole.shape[1]
        self._set(whole, *everything, definite, square if symmetric is None else symmetric)

    def _set(
        self, whole: Array, rows: Index, columns: Index, definite: Definite, symmetric: bool
    ) -> None:
        self._whole, self._rows, self._columns = whole, rows, columns
        self._definite, self._symmetric = definite, symmetric
        self.shape = (
            rows.stop - rows.start if isinstance(rows, slice) else len(rows),
            columns.stop - columns.start if isinstance(columns, slice) else len(columns),
        )
        self.dtype = whole.dtype

    @property
    def definite(self) -> Definite:
        return self._definite

    @property
    def symmetric(self) -> bool:
        return self._symmetric

    def diag(self) -> Array:
        self.check_symmetric()
        values: Array = np.diagonal(self._whole)[self._rows].astype(self.dtype)
        return values

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        i, j = _within(self._rows, rows), _within(self._columns, columns)
        part = _part(self._whole, i, j)
        if out is not None:
            return placed(part, out)
        return part.astype(self.dtype, copy=isinstance(i, slice) and isinstance(j, slice))

    def take(self, rows: Rows, columns: Rows | None = None) -> GivenGram:
        at = taken(rows, self.shape[0])
        same = columns is None or columns is rows
        other = taken(columns, self.shape[1]) if columns is not None else None
        if other is None:
            other = at if self._symmetric else slice(0, self.shape[1])
        inside = _within(self._rows, at)
        # The rows of a symmetric matrix are its columns.
        both = self._symmetric and other is at
        across = inside if both else _within(self._columns, other)
        part = object.__new__(GivenGram)
        part._set(self._whole, inside, across, self._definite, self._symmetric and same)
        part.dtype = self.dtype
        return part

    def in_precision(self, dtype: DTypeLike) -> GivenGram:
        """Return the same values, rounded when they are asked for."""
        part = object.__new__(GivenGram)
        part._set(self._whole, self._rows, self._columns, self._definite, self._symmetric)
        part.dtype = np.dtype(dtype)
        return part

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        """Return the matrix, which is the one that was given where nothing has to change."""
        return self._values().astype(dtype or self.dtype, copy=False)

    def own_dense(self, dtype: DTypeLike | None = None) -> Array:
        return self._values().astype(dtype or self.dtype)

    def multiply(self, V: Array) -> Array:
        return np.asarray(self._values().astype(self.dtype, copy=False) @ V)

    def multiply_columns(self, columns: IntArray, V: Array) -> Array:
        whole = isinstance(self._rows, slice) and isinstance(self._columns, slice)
        if whole and _MANY * len(columns) > self.shape[1]:
            # To multiply all columns, some by zero, costs less than to copy many.
            spread = np.zeros((self.shape[1], V.shape[1]), dtype=V.dtype)
            np.add.at(spread, columns, V)
            return self.multiply(spread)
        return np.asarray(self.block(slice(0, self.shape[0]), columns) @ V)

    def shared(self) -> tuple[Array, IntArray]:
        if self._whole.dtype == np.float64 and self._whole.flags.c_contiguous:
            rows = self._rows
            if isinstance(rows, slice):
                rows = np.arange(rows.start, rows.stop)
            return self._whole, rows
        return super().shared()

    def _values(self) -> Array:
        return _part(self._whole, self._rows, self._columns)


def _within(index: Index, part: Index) -> Index:
    """Return the rows that a part of the chosen rows has in the whole matrix."""
    if isinstance(index, slice) and isinstance(part, slice):
        return slice(index.start + part.start, index.start + part.stop)
    rows: IntArray = part + index.start if isinstance(index, slice) else index[part]
    return rows


_MANY = 3
"""Of one column in so many on it is faster to copy whole rows first (measured on 1,500 columns)."""


def _part(matrix: Array, rows: Index, columns: Index) -> Array:
    if isinstance(rows, slice) or isinstance(columns, slice):
        return matrix[rows, columns]
    if _MANY * len(columns) > matrix.shape[1]:
        return matrix.take(rows, axis=0).take(columns, axis=1)
    return matrix[np.ix_(rows, columns)]
