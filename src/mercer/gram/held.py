"""A symmetric Gram matrix that is held in memory, each pair once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, Index, IntArray, Rows
from mercer.gram.base import GramMatrix, placed, row_numbers
from mercer.gram.computed import Gram
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite

Watcher = Callable[[slice, slice, Array], None]

_TILE = 512
"""Side of a tile: in float32 it is 1 MB, which stays in a core's cache."""
_FEW = 10
"""Columns up to which a product is limited by reading the matrix, not by arithmetic."""
_FULL_PRECISION = 25_000_000
"""Bytes of a triangle in float64 that no memory misses: 2,500 rows."""
_SHARE = 4
"""A matrix may take one part in so many of the memory that is free."""


class HeldGram(GramMatrix):
    """The upper triangle of a symmetric Gram matrix, in square tiles.

    It takes half of the memory of the matrix (a quarter in float32), and a product reads it once.

    Parameters
    ----------
    gram : Gram
    dtype : dtype
        The precision in which it is held.
    watch : function, optional
        Is shown each tile, with its rows and columns, in the precision of ``gram``. Threads call
        it side by side.
    """

    def __init__(
        self, gram: Gram, dtype: DTypeLike | None = None, watch: Watcher | None = None
    ) -> None:
        gram.check_symmetric()
        self.shape = gram.shape
        self.dtype = np.dtype(dtype or gram.dtype)
        self._gram, self._threads = gram, gram.threads
        n = self.shape[0]
        count = max(1, -(-n // _TILE))
        size = -(-n // (count * _fast.tiles.ROWS)) * _fast.tiles.ROWS
        self._parts = [slice(i, min(i + size, n)) for i in range(0, n, size)]
        pairs = [(i, j) for i in range(len(self._parts)) for j in range(i, len(self._parts))]
        self._numbers = {pair: number for number, pair in enumerate(pairs)}
        self._places = np.array(pairs, dtype=np.int64)
        # The last tiles may be larger than what they hold; the rest is zero.
        self._tiles: Array = np.empty((len(pairs), size, size), dtype=self.dtype)
        fine = watch is not None or gram.dtype == self.dtype
        source = gram if fine else gram.in_precision(self.dtype)
        squares = np.empty(len(pairs))

        def task(number: int) -> None:
            i, j = pairs[number]
            tile, place = self._tiles[number], self._tile(i, j)
            tile[len(place) :] = tile[:, place.shape[1] :] = 0
            out = place if place.dtype == source.dtype else None
            values = source.block(self._parts[i], self._parts[j], out)
            if watch is not None:
                watch(self._parts[i], self._parts[j], values)
            if values is not place:
                place[...] = values
            squares[number] = float(np.vdot(tile, tile)) * (1 if i == j else 2)

        _parallel.run(task, range(len(pairs)), self._threads)
        self._squares = float(squares.sum())

    @property
    def rounding(self) -> float:
        """How far a product with a unit vector may be from the exact one, in norm."""
        eps = float(np.finfo(self.dtype).eps)
        return 8 * eps * math.sqrt(self._squares / self.shape[0])

    @property
    def definite(self) -> Definite:
        return self._gram.definite

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def evaluations(self) -> int:
        return self._gram.evaluations

    def in_precision(self, dtype: DTypeLike) -> GramMatrix:
        """Return this matrix, or in another precision the one that it was made from."""
        return self if np.dtype(dtype) == self.dtype else self._gram.in_precision(dtype)

    def take(self, rows: Rows, columns: Rows | None = None) -> GivenGram:
        values = self.rows(rows)
        if columns is None or columns is rows:
            return GivenGram(values[:, row_numbers(rows, self.shape[1])], self.definite)
        part = values[:, row_numbers(columns, self.shape[1])]
        return GivenGram(part, self.definite, symmetric=False)

    def diag(self) -> Array:
        return np.concatenate([np.diagonal(self._tile(i, i)) for i in range(len(self._parts))])

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        return placed(self.rows(rows)[:, columns], out)

    def rows(self, index: Rows) -> Array:
        rows: IntArray = row_numbers(index, self.shape[0])
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for i, part in enumerate(self._parts):
            mine = np.flatnonzero((rows >= part.start) & (rows < part.stop))
            at = rows[mine] - part.start
            for j, columns in enumerate(self._parts):
                out[mine, columns] = self._tile(i, j)[at] if i <= j else self._tile(j, i)[:, at].T
        return out

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        return self.rows(slice(None)).astype(dtype or self.dtype, copy=False)

    def _tile(self, i: int, j: int) -> Array:
        rows, columns = self._parts[i], self._parts[j]
        tile: Array = self._tiles[self._numbers[i, j]]
        return tile[: rows.stop - rows.start, : columns.stop - columns.start]

    def multiply(self, V: Array) -> Array:
        n, size = self.shape[0], len(self._parts) * self._tiles.shape[1]
        few = V.shape[1] <= _FEW
        # BLAS is fastest with long rows in float32, and with long columns in float64.
        order: Literal["C", "F"] = "F" if few or self.dtype == np.float64 else "C"
        U = np.zeros((size, V.shape[1]), dtype=self.dtype, order=order)
        U[:n] = V
        return self._multiply_few(U) if few else self._multiply_many(U)

    def _multiply_few(self, U: Array) -> Array:
        """Read each tile once, which is what takes the time."""
        workers = max(1, min(self._threads, len(self._tiles)))
        partial = np.zeros((workers, *U.T.shape))

        def task(worker: int) -> None:
            _fast.tiles.multiply(self._tiles, self._places, worker, workers, U.T, partial[worker])

        _parallel.run(task, range(workers), workers)
        return np.ascontiguousarray(partial.sum(axis=0)[:, : self.shape[0]].T)

    def _multiply_many(self, U: Array) -> Array:
        """Read tiles twice, so that no two threads write to the same rows."""
        size = self._tiles.shape[1]
        out = np.empty((self.shape[0], U.shape[1]))

        def task(i: int) -> None:
            product = np.empty_like(U[:size])
            sums = np.zeros_like(product, dtype=np.float64)
            for j in range(len(self._parts)):
                tile = self._tiles[self._numbers[min(i, j), max(i, j)]]
                tile = tile if i <= j else tile.T
                part = U[j * size : (j + 1) * size]
                if U.flags.c_contiguous:
                    np.matmul(tile, part, out=product)
                else:
                    np.matmul(part.T, tile.T, out=product.T)
                sums += product
            rows = self._parts[i]
            out[rows] = sums[: rows.stop - rows.start]

        _parallel.run(task, range(len(self._parts)), self._threads)
        return out


def holdable(n: int, fine: bool = False) -> np.dtype[Any] | None:
    """Return the precision in which a matrix of n rows can be held; None where it cannot.

    Small ones are held in full precision, and others too where that is asked for (``fine``). The
    rest are held in float32. None may take more than a part of the memory that is free.
    """
    if 4 * n * n <= _FULL_PRECISION:
        return np.dtype(np.float64)
    dtype = np.dtype(np.float64 if fine else np.float32)
    there = _memory.available_bytes()
    fits = there is None or n * n // 2 * dtype.itemsize * _SHARE <= there
    return dtype if fits else None
