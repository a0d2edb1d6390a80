"""The Gram matrix of a few vectors, in one compiled call."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import Array, Index, IntArray, Rows
from mercer.gram.base import Definite, GramMatrix, placed, taken
from mercer.gram.given import GivenGram
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points

MOST_ROWS = 1000
"""Rows up to which it makes no odds that one thread alone computes all pairs: a millisecond."""


class DirectGram(GramMatrix):
    """The matrix of rows so few that all of it costs less than to share out the work.

    It is computed whenever it is asked for, by ``Kernel.direct``: without blocks, threads or memory
    of its own.
    """

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.kernel, self.points = kernel, points
        self.shape, self.dtype = (len(points), len(points)), np.dtype(np.float64)
        self._computed = 0

    @classmethod
    def of(cls, kernel: Kernel, points: Points) -> DirectGram | None:
        """Return the matrix of a settled kernel where the points are few vectors, else None."""
        rows = points.rows
        if rows is None or len(rows) > MOST_ROWS or not kernel.is_direct(rows.size * len(rows)):
            return None
        return cls(kernel, rows)

    @property
    def evaluations(self) -> int:
        return self._computed

    @property
    def definite(self) -> Definite:
        return self.kernel.definite

    @property
    def symmetric(self) -> bool:
        return True

    def features(self) -> None:
        """Return nothing: kernels with features are compared by these."""

    def diag(self) -> Array:
        return self.dense().diagonal().copy()

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        self._computed += self.shape[0] ** 2
        values = self.kernel.direct(self.points, self.points)
        return values if dtype is None else values.astype(dtype, copy=False)

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        part = self.kernel.direct(self.points[rows], self.points[columns])
        self._computed += part.size
        return placed(part, out)

    def multiply(self, V: Array) -> Array:
        return self.dense() @ V

    def shared(self) -> tuple[Array, IntArray]:
        return self.dense(), np.arange(self.shape[0])

    def take(self, rows: Rows, columns: Rows | None = None) -> GramMatrix:
        at = taken(rows, self.shape[0])
        if columns is None or columns is rows:
            return DirectGram(self.kernel, self.points[at])
        other = taken(columns, self.shape[1])
        return GivenGram(self.block(at, other), self.definite, symmetric=False)

    def in_precision(self, dtype: DTypeLike) -> GramMatrix:
        same = np.dtype(dtype) == self.dtype
        return self if same else GivenGram(self.dense(dtype), self.definite, symmetric=True)
