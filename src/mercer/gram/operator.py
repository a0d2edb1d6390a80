"""The Gram matrix of a kernel, as an operator that computes what it is asked for."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer import _memory
from mercer._typing import Array, Index, IntArray
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.cache import RowCache
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs, Values
from mercer.kernels.features import Features
from mercer.kernels.points import Points
from mercer.kernels.statistics import Statistic

_FEW_ROWS = 500


class GramMatrix:
    """The face that all Gram matrices share, however they are computed."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def definite(self) -> Definite:
        """What is known of the definiteness of the matrix."""
        raise NotImplementedError

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same points."""
        raise NotImplementedError

    def diag(self) -> Array:
        """Return k(x, x) for every row x."""
        raise NotImplementedError

    def rows(self, index: Any) -> Array:
        """Return some rows as a dense array."""
        raise NotImplementedError

    def block(self, rows: slice, columns: slice) -> Array:
        """Return the values of some rows and columns, in memory of its own."""
        return self.rows(rows)[:, columns]

    def take(self, rows: Any, columns: Any = None) -> GramMatrix:
        """Return the Gram matrix of some rows and columns (``rows`` too if symmetric)."""
        raise NotImplementedError

    def square(self, index: Any) -> Array:
        """Return the dense matrix of some rows with themselves."""
        return self.take(index).dense()

    def dense(self, dtype: Any = None) -> Array:
        """Return the whole matrix."""
        raise NotImplementedError

    def __matmul__(self, V: Any) -> Array:
        """Return the product with a vector or with the columns of a matrix."""
        V = np.asarray(V)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[1]:
            raise InvalidInput(
                f"A Gram matrix of shape {self.shape[0]:,} × {self.shape[1]:,} cannot multiply an "
                f"array of shape {V.shape}: its first dimension has to be {self.shape[1]:,}."
            )
        if V.dtype.kind not in "fiub":
            raise InvalidInput(f"A Gram matrix cannot multiply an array of type {V.dtype}.")
        floats = V if V.dtype.kind == "f" else V.astype(np.float64)
        result = self._multiply(floats[:, None] if V.ndim == 1 else floats)
        return result.reshape((self.shape[0], *V.shape[1:]))

    def _multiply(self, V: Array) -> Array:
        raise NotImplementedError

    def _check_symmetric(self) -> None:
        if not self.symmetric:
            n, m = self.shape
            raise InvalidInput(
                f"A Gram matrix of {n:,} rows and {m:,} other columns has no diagonal k(x, x). Ask "
                "the kernel: k.diag(X)."
            )

    def _check_size(self, dtype: np.dtype[Any]) -> None:
        n, m = self.shape
        _memory.require(
            n * m * dtype.itemsize,
            f"A Gram matrix of {n:,} × {m:,} values of type {dtype}",
            "Multiply with gram @ v or ask for gram.rows(index), which never form it; or use "
            "dense('float32'), or fewer rows.",
        )


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
    dtype : dtype, optional
        Type of the values; that of the data by default.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        Y: Any = None,
        *,
        cache_bytes: int = 0,
        statistic_bytes: int = 0,
        threads: int | None = None,
        dtype: Any = None,
    ) -> None:
        A = kernel.encode(X)
        B = None if Y is None else kernel.encode(Y)
        if statistic_bytes < 0:
            raise InvalidParameter(f"statistic_bytes={statistic_bytes}: a budget is 0 or more.")
        if dtype is not None and np.dtype(dtype).kind != "f":
            raise InvalidParameter(f"Gram: dtype={dtype!r} has to be a type of real numbers.")
        self._cache_bytes, self._statistic_bytes = cache_bytes, statistic_bytes
        self._threads = threads
        self._bind(kernel.resolve(A if B is None else B), Pairs(A, B, {}, dtype))

    @property
    def definite(self) -> Definite:
        return self.kernel.definite

    @property
    def symmetric(self) -> bool:
        return self._pairs.symmetric

    @property
    def points(self) -> Points:
        """The points of the rows."""
        return self._pairs.A

    @property
    def column_points(self) -> Points:
        """The points of the columns."""
        return self._pairs.B

    @property
    def cache(self) -> RowCache:
        """The row cache, with its counts of hits and misses."""
        return self._cache

    @property
    def T(self) -> Gram:
        """The transposed matrix."""
        if self.symmetric:
            return self
        return self._derived(self.kernel, Pairs(self._pairs.B, self._pairs.A, {}, self.dtype))

    def diag(self) -> Array:
        self._check_symmetric()
        return self._evaluator.diagonal()

    def rows(self, index: Any) -> Array:
        rows = row_numbers(index, self.shape[0])
        return self._cache.fetch(rows, self._compute_rows)

    def block(self, rows: slice, columns: slice) -> Array:
        self._evaluator._prepare()
        return self._evaluator.values(rows, columns)

    def take(self, rows: Any, columns: Any = None) -> Gram:
        at = row_numbers(rows, self.shape[0])
        if self.symmetric and columns is None:
            pairs = Pairs(self.points.take(at), None, self._part_of_stored(at, at), self.dtype)
        else:
            right = slice(0, self.shape[1])
            other: Index = right if columns is None else row_numbers(columns, self.shape[1])
            stored = self._part_of_stored(at, other)
            pairs = Pairs(self.points.take(at), self.column_points.take(other), stored, self.dtype)
        return self._derived(self.kernel, pairs)

    def dense(self, dtype: Any = None) -> Array:
        wanted = np.dtype(dtype or self.dtype)
        self._check_size(wanted)
        self._store_statistics()
        return self._evaluator.dense(wanted)

    def with_kernel(self, kernel: Kernel) -> Gram:
        """Return the Gram matrix of another kernel on the same points, sharing statistics."""
        return self._derived(kernel.resolve(self.column_points), self._pairs)

    def in_precision(self, dtype: Any) -> Gram:
        """Return the same matrix with its values computed in another precision."""
        return self._derived(self.kernel, self._pairs.astype(dtype))

    def __repr__(self) -> str:
        return f"Gram({self.kernel!r}, {self.shape[0]:,} × {self.shape[1]:,} {self.dtype})"

    def _bind(self, kernel: Kernel, pairs: Pairs) -> None:
        self.kernel, self._pairs = kernel, pairs
        self.shape = pairs.shape
        self.dtype = pairs.dtype
        self._evaluator = Evaluator(kernel, pairs, threads=self._threads)
        self._cache = RowCache(self.shape, self.dtype, self._cache_bytes)

    def _derived(self, kernel: Kernel, pairs: Pairs) -> Gram:
        other = object.__new__(type(self))
        other._cache_bytes, other._statistic_bytes = self._cache_bytes, self._statistic_bytes
        other._threads = self._threads
        other._bind(kernel, pairs)
        return other

    def _multiply(self, V: Array) -> Array:
        self._store_statistics()
        return self._evaluator.multiply(V)

    def _compute_rows(self, rows: IntArray) -> Array:
        self._store_statistics()
        out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        self._evaluator.fill(out, rows, slice(0, self.shape[1]))
        return out

    def _store_statistics(self) -> None:
        """Compute whole matrices of the statistics for which the budget has room."""
        stored = self._pairs.stored
        needed = self.shape[0] * self.shape[1] * self._pairs.dtype.itemsize
        if self._statistic_bytes < needed:
            return
        with self._pairs.storing:
            for statistic in dict.fromkeys(self.kernel.statistics()):
                used = sum(matrix.nbytes for matrix in stored.values())
                if statistic in stored or used + needed > self._statistic_bytes:
                    continue

                def formula(values: Values, statistic: Statistic = statistic) -> Array:
                    return values[statistic]

                whole = Evaluator(self.kernel, self._pairs, formula, self._threads).dense()
                stored[statistic] = whole

    def _part_of_stored(self, rows: IntArray, columns: Index) -> dict[Statistic, Array]:
        stored = self._pairs.stored.copy()
        return {s: whole[rows][:, columns] for s, whole in stored.items()}


class FeatureGram(GramMatrix):
    """The matrix ΦΨᵀ of a finite feature map, never formed unless asked for."""

    def __init__(self, left: Features, right: Features | None = None) -> None:
        self.left = left
        self.right = left if right is None else right.aligned(left.keys)
        self.shape = (len(self.left), len(self.right))
        self.dtype = np.dtype(np.result_type(self.left.dtype, self.right.dtype))

    @classmethod
    def of(cls, kernel: Kernel, X: Any, Y: Any = None) -> Self:
        """Map data with the features of a kernel."""
        right = kernel.encode(X if Y is None else Y)
        settled = kernel.resolve(right)
        psi = settled.features(right)
        return cls(psi) if Y is None else cls(settled.features(X), psi)

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    @property
    def symmetric(self) -> bool:
        return self.right is self.left

    def dense_features(self) -> Array:
        """Return Φ as an array."""
        phi = self.left.values
        return np.asarray(phi.toarray() if self.left.is_sparse else phi)

    def diag(self) -> Array:
        self._check_symmetric()
        phi = self.left.values
        if self.left.is_sparse:
            return np.asarray(phi.multiply(phi).sum(axis=1)).ravel()
        values: Array = np.einsum("ij,ij->i", phi, phi)
        return values

    def rows(self, index: Any) -> Array:
        rows = row_numbers(index, self.shape[0])
        part: Array = self.left.take(rows) @ self.right.T
        return part

    def block(self, rows: slice, columns: slice) -> Array:
        left, right = (
            row_numbers(part, n) for part, n in zip((rows, columns), self.shape, strict=True)
        )
        part: Array = self.left.take(left) @ self.right.take(right).T
        return part

    def take(self, rows: Any, columns: Any = None) -> FeatureGram:
        left = self.left.take(row_numbers(rows, self.shape[0]))
        if self.symmetric and columns is None:
            return FeatureGram(left)
        if columns is None:
            return FeatureGram(left, self.right)
        return FeatureGram(left, self.right.take(row_numbers(columns, self.shape[1])))

    def dense(self, dtype: Any = None) -> Array:
        wanted = np.dtype(dtype or self.dtype)
        self._check_size(wanted)
        whole: Array = self.left @ self.right.T
        return whole.astype(wanted, copy=False)

    def _multiply(self, V: Array) -> Array:
        return np.asarray(self.left.values @ (self.right.values.T @ V))


def gram_of(kernel: Kernel, points: Points) -> GramMatrix:
    """Return the Gram matrix of some points in float64, through features where they are few."""
    n = len(points)
    if n >= _FEW_ROWS and kernel.has_features and 4 * kernel.feature_width(points) <= n:
        phi = kernel.feature_map(points)
        if 4 * phi.values.shape[1] <= n:
            return FeatureGram(phi)
    return Gram(kernel, points, dtype=np.float64)


def row_numbers(index: Any, count: int) -> IntArray:
    """Return the rows that a list of numbers, a slice or a mask chooses, as numbers from 0."""
    if isinstance(index, slice):
        return np.arange(*index.indices(count), dtype=np.intp)
    rows = np.asarray(index)
    if rows.dtype == bool and rows.shape == (count,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInput(
            "Rows are chosen by a list of numbers, a slice, or a mask with one entry a row; "
            f"got an array of shape {rows.shape} and type {rows.dtype}."
        )
    numbers = rows.astype(np.intp)
    if numbers.size and not (-count <= numbers.min() and numbers.max() < count):
        wrong = numbers[(numbers < -count) | (numbers >= count)][0]
        raise InvalidInput(f"There is no row {wrong}: the matrix has {count:,}.")
    return np.where(numbers < 0, numbers + count, numbers)
