"""A symmetric Gram matrix that is held in memory, each pair once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.operator import Gram, GramMatrix, row_numbers
from mercer.kernels.definite import Definite

Look = Callable[[slice, slice, Array], None]

_TILE = 512
_FULL_PRECISION = 25_000_000
_SHARE = 4


class HeldGram(GramMatrix):
    """The upper triangle of a symmetric Gram matrix, in square tiles.

    It takes half of the memory of the matrix (a quarter in float32), and a product reads it once.

    Parameters
    ----------
    gram : Gram
    dtype : dtype
        The precision in which it is held.
    look : function, optional
        Is shown each tile, with its rows and columns, in the precision of ``gram``. Threads call
        it side by side.
    """

    def __init__(self, gram: Gram, dtype: Any = None, look: Look | None = None) -> None:
        gram._check_symmetric()
        self.shape = gram.shape
        self.dtype = np.dtype(dtype or gram.dtype)
        self._definite = gram.definite
        self._threads = gram._evaluator.threads
        n = self.shape[0]
        self._parts = [slice(i, min(i + _TILE, n)) for i in range(0, n, _TILE)]
        self._tiles: dict[tuple[int, int], Array] = {}
        fine = look is not None or gram.dtype == self.dtype
        values = gram if fine else gram.in_precision(self.dtype)
        evaluator = values._evaluator
        evaluator._prepare()

        squares: list[float] = []

        def task(at: tuple[int, int]) -> None:
            i, j = at
            values = evaluator.values(self._parts[i], self._parts[j])
            if look is not None:
                look(self._parts[i], self._parts[j], values)
            tile = self._tiles[at] = values.astype(self.dtype, copy=False)
            squares.append(float(np.vdot(tile, tile)) * (1 if i == j else 2))

        count = len(self._parts)
        pairs = [(i, j) for i in range(count) for j in range(i, count)]
        _parallel.run(task, pairs, self._threads)
        self._squares = sum(squares)

    @property
    def rounding(self) -> float:
        """How far a product with a unit vector may be from the exact one, in norm."""
        eps = float(np.finfo(self.dtype).eps)
        return 8 * eps * math.sqrt(self._squares / self.shape[0])

    @property
    def definite(self) -> Definite:
        return self._definite

    @property
    def symmetric(self) -> bool:
        return True

    def diag(self) -> Array:
        return np.concatenate([np.diagonal(self._tiles[i, i]) for i in range(len(self._parts))])

    def rows(self, index: Any) -> Array:
        rows: IntArray = row_numbers(index, self.shape[0])
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        for i, part in enumerate(self._parts):
            mine = np.flatnonzero((rows >= part.start) & (rows < part.stop))
            at = rows[mine] - part.start
            for j, columns in enumerate(self._parts):
                block = self._tiles[i, j][at] if i <= j else self._tiles[j, i][:, at].T
                out[mine, columns] = block
        return out

    def square(self, index: Any) -> Array:
        rows = row_numbers(index, self.shape[0])
        return np.asarray(self.rows(rows)[:, rows])

    def dense(self, dtype: Any = None) -> Array:
        return self.rows(slice(None)).astype(dtype or self.dtype, copy=False)

    def _multiply(self, V: Array) -> Array:
        # BLAS is fastest with long columns in float64, and with long rows in float32.
        columns_first = self.dtype == np.float64
        U = np.asarray(V, dtype=self.dtype, order="F" if columns_first else "C")
        tiles = sorted(self._tiles)
        workers = max(1, min(self._threads, len(tiles)))
        partial = [np.zeros(U.shape, order="F" if columns_first else "C") for _ in range(workers)]

        def add(sums: Array, part: Array, at: slice, tile: Array) -> None:
            if columns_first:
                sums.T[:, at] += part.T @ tile.T
            else:
                sums[at] += tile @ part

        def task(worker: int) -> None:
            sums = partial[worker]
            for i, j in tiles[worker::workers]:
                rows, columns, tile = self._parts[i], self._parts[j], self._tiles[i, j]
                add(sums, U[columns], rows, tile)
                if i != j:
                    add(sums, U[rows], columns, tile.T)

        _parallel.run(task, range(workers), workers)
        total = partial[0]
        for more in partial[1:]:
            total += more
        return np.ascontiguousarray(total)


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
