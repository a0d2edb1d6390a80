"""A symmetric Gram matrix that is held in memory, each pair once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.operator import Gram, GramMatrix, row_numbers
from mercer.kernels.definite import Definite

_TILE = 256
_FULL_PRECISION = 400_000_000
_SHARE = 4


class HeldGram(GramMatrix):
    """The upper triangle of a symmetric Gram matrix, in square tiles.

    It takes half of the memory of the matrix (a quarter in float32), and a product reads it once.
    """

    def __init__(self, gram: Gram, dtype: Any = None) -> None:
        gram._check_symmetric()
        self.shape = gram.shape
        self.dtype = np.dtype(dtype or gram.dtype)
        self._definite = gram.definite
        self._threads = gram._evaluator.threads
        n = self.shape[0]
        self._parts = [slice(i, min(i + _TILE, n)) for i in range(0, n, _TILE)]
        self._tiles: dict[tuple[int, int], Array] = {}
        values = gram if gram.dtype == self.dtype else gram.in_precision(self.dtype)
        evaluator = values._evaluator
        evaluator._prepare()

        def task(at: tuple[int, int]) -> None:
            i, j = at
            self._tiles[at] = evaluator.values(self._parts[i], self._parts[j])

        count = len(self._parts)
        pairs = [(i, j) for i in range(count) for j in range(i, count)]
        _parallel.run(task, pairs, self._threads)

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
        n, count = self.shape[0], len(self._parts)
        U = np.ascontiguousarray(V, dtype=self.dtype)
        workers = max(1, min(self._threads, count))
        partial = [np.zeros((n, U.shape[1])) for _ in range(workers)]

        def task(worker: int) -> None:
            sums = partial[worker]
            for i in range(worker, count, workers):
                rows = self._parts[i]
                for j in range(i, count):
                    columns, tile = self._parts[j], self._tiles[i, j]
                    sums[rows] += tile @ U[columns]
                    if i != j:
                        sums[columns] += tile.T @ U[rows]

        _parallel.run(task, range(workers), workers)
        total: Array = np.add.reduce(partial) if workers > 1 else partial[0]
        return total


def holdable(n: int) -> np.dtype[Any] | None:
    """Return the precision in which a matrix of n rows can be held; None where it cannot.

    Small ones are held in full precision. Larger ones in float32, while they take no more than a
    part of the memory that is free.
    """
    if 4 * n * n <= _FULL_PRECISION:
        return np.dtype(np.float64)
    there = _memory.available_bytes()
    fits = there is None or 2 * n * n * _SHARE <= there
    return np.dtype(np.float32) if fits else None
