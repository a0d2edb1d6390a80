"""The Gram matrix of a kernel, as an operator that computes what it is asked for."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from mercer import _parallel
from mercer._typing import Array, Index, IntArray, Objects, Rows
from mercer.exceptions import InvalidParameter
from mercer.gram.base import EvaluationCount, GramMatrix, placed, row_numbers, taken
from mercer.gram.cache import RowCache
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs, Values
from mercer.kernels.points import Points
from mercer.kernels.statistics import Statistic


class Gram(GramMatrix):
    """The matrix k(xᵢ, zⱼ) of a kernel on points, computed block by block when asked for.

    Parameters
    ----------
    kernel : Kernel
        Heuristic parameters are settled on ``Y``, or on ``X`` alone; see ``gram.kernel``.
    X, Y : data or points
        The rows, and the columns (the same as the rows by default).
    cache_bytes : int
        Budget of the row cache that ``rows`` uses; least recently used rows go first.
    statistic_bytes : int
        Budget for whole matrices of distances or dot products, which ``with_kernel`` shares: a grid
        of widths then costs one distance matrix.
    threads : int, optional
        Number of threads; all cores by default.
    dtype : numpy type, optional
        Type of the values; that of the data by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gram, Linear
    >>> gram = Gram(Linear(), [[1.0], [2.0], [3.0]])
    >>> gram.block(np.array([0]), np.array([1, 2]))
    array([[2., 3.]])
    >>> gram.multiply(np.ones((3, 1))).ravel()  # sums of rows, without the matrix
    array([ 6., 12., 18.])
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Objects,
        Y: Objects = None,
        *,
        cache_bytes: int = 0,
        statistic_bytes: int = 0,
        threads: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        A = kernel.encode(X)
        B = None if Y is None else kernel.encode(Y)
        for name, budget in (("cache_bytes", cache_bytes), ("statistic_bytes", statistic_bytes)):
            if budget < 0:
                raise InvalidParameter(f"{name}={budget}: a budget is 0 or more.")
        if dtype is not None and np.dtype(dtype).kind != "f":
            raise InvalidParameter(f"Gram: dtype={dtype!r} has to be a type of real numbers.")
        if threads is not None:
            threads = _parallel.thread_count(threads)
        self._cache_bytes, self._statistic_bytes = cache_bytes, statistic_bytes
        self._bind(
            kernel.resolve(A if B is None else B),
            Pairs(A, B, {}, dtype),
            threads,
            EvaluationCount(),
        )

    @classmethod
    def by_products(cls, kernel: Kernel, points: Points, threads: int | None = None) -> Gram:
        """Return the matrix of a settled kernel in float64, distances by inner products.

        That is faster, and a few of the last digits are lost. What is prepared for it serves all
        matrices that are taken from it, in any precision.
        """
        gram = object.__new__(cls)
        gram._cache_bytes = gram._statistic_bytes = 0
        pairs = Pairs(points, None, {}, np.float64, as_products=True)
        gram._bind(kernel, pairs, threads, EvaluationCount())
        return gram

    @property
    def definite(self) -> Definite:
        return self.kernel.definite

    @property
    def symmetric(self) -> bool:
        return self._pairs.symmetric

    @property
    def evaluations(self) -> int:
        return self._count.total

    @property
    def threads(self) -> int:
        """The number of threads that compute it."""
        return self._evaluator.threads

    @property
    def points(self) -> Points:
        """The points of the rows."""
        return self._pairs.A

    @property
    def column_points(self) -> Points:
        """The points of the columns."""
        return self._pairs.B

    @cached_property
    def cache(self) -> RowCache:
        """The row cache, with its counts of hits and misses."""
        return RowCache(self.shape, self.dtype, self._cache_bytes)

    @property
    def T(self) -> Gram:
        """The transposed matrix."""
        if self.symmetric:
            return self
        return self._derived(self.kernel, Pairs(self._pairs.B, self._pairs.A, {}, self.dtype))

    def diag(self) -> Array:
        self.check_symmetric()
        return self._evaluator.diagonal()

    def rows(self, index: Rows) -> Array:
        rows = row_numbers(index, self.shape[0])
        return self.cache.fetch(rows, self._compute_rows)

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        fits = out is not None and out.dtype == self.dtype
        block = self._evaluator.values(rows, columns, out if fits else None)
        self._count.add(block.size)
        return placed(block, out)

    def take(self, rows: Rows, columns: Rows | None = None) -> Gram:
        at = taken(rows, self.shape[0])
        if columns is not None and columns is not rows:
            other = taken(columns, self.shape[1])
        else:
            other = at if self.symmetric else slice(0, self.shape[1])
        return self._derived(self.kernel, self._pairs.take(at, other))

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        wanted = np.dtype(dtype or self.dtype)
        self._check_size(wanted)
        self._store_statistics()
        self._count.add(self.shape[0] * self.shape[1])
        return self._evaluator.dense(wanted)

    def with_kernel(self, kernel: Kernel) -> Gram:
        """Return the Gram matrix of another kernel on the same points, sharing statistics."""
        return self._derived(kernel.resolve(self.column_points), self._pairs)

    def in_precision(self, dtype: DTypeLike) -> Gram:
        return self._derived(self.kernel, self._pairs.astype(dtype))

    def hold_statistics(self) -> bool:
        """Keep whole matrices of the statistics that the budget has room for; whether of all."""
        self._store_statistics()
        return set(self._evaluator.statistics) <= set(self._pairs.stored)

    def __repr__(self) -> str:
        return f"Gram({self.kernel!r}, {self.shape[0]:,} × {self.shape[1]:,} {self.dtype})"

    def _bind(
        self, kernel: Kernel, pairs: Pairs, threads: int | None, count: EvaluationCount
    ) -> None:
        self.kernel, self._pairs, self._count = kernel, pairs, count
        self._threads = threads
        self.shape = pairs.shape
        self.dtype = pairs.dtype

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.kernel, self._pairs, threads=self._threads)

    def _derived(self, kernel: Kernel, pairs: Pairs) -> Gram:
        other = object.__new__(type(self))
        other._cache_bytes, other._statistic_bytes = self._cache_bytes, self._statistic_bytes
        other._bind(kernel, pairs, self._threads, self._count)
        return other

    def multiply(self, V: Array) -> Array:
        if self._statistic_bytes:
            self._store_statistics()
        n, m = self.shape
        self._count.add(n * m // 2 if self._pairs.symmetric else n * m)
        return self._evaluator.multiply(V)

    def _compute_rows(self, rows: IntArray) -> Array:
        self._store_statistics()
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        self._evaluator.fill(out, rows, slice(0, self.shape[1]))
        self._count.add(out.size)
        return out

    def _store_statistics(self) -> None:
        """Compute whole matrices of the statistics for which the budget has room."""
        stored = self._pairs.stored
        needed = self.shape[0] * self.shape[1] * self._pairs.dtype.itemsize
        if self._statistic_bytes < needed:
            return
        with self._pairs.storing:
            for statistic in dict.fromkeys(self._evaluator.statistics):
                if statistic in stored:
                    continue
                used = sum(matrix.nbytes for matrix in stored.values())
                if used + needed > self._statistic_bytes:
                    continue

                def formula(values: Values, statistic: Statistic = statistic) -> Array:
                    return values[statistic]

                whole = Evaluator(self.kernel, self._pairs, formula, self.threads).dense()
                stored[statistic] = whole
