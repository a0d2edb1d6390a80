"""Kernel values and products over the partitions of Dask collections."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np

from mercer import _memory
from mercer._typing import Array, Client, Index, IntArray, Objects
from mercer.distributed.cluster import Cluster
from mercer.distributed.pieces import (
    DistributedChunks,
    DistributedPoints,
    partition_rows,
    partitions,
    sample_points,
)
from mercer.exceptions import InvalidParameter
from mercer.gram.base import GramMatrix, placed, row_numbers
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import row_count
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points

SETTLING_ROWS = 10_000
"""Rows on which widths such as "scale" are settled, drawn blindly; all where they are fewer."""


def kernel_matrix(kernel: Kernel, X: Objects, Y: Objects) -> Any:
    """Return k(xᵢ, zⱼ) of many rows and a few others as a lazy Dask array, cut as the rows are.

    Parameters
    ----------
    kernel : Kernel
        Parameters such as ``"scale"`` are settled on ``Y``.
    X : dask.array.Array or dask.dataframe.DataFrame
    Y : data or Points
        The columns: objects in memory, for example ``choose_landmarks(...).points``.

    Returns
    -------
    dask.array.Array
        One block for each partition, which the worker that has the partition computes.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.distributed import kernel_matrix
    >>> X = da.from_array(np.array([[1.0], [2.0], [3.0]]), chunks=(2, 1))
    >>> kernel_matrix(Linear(), X, [[10.0]]).compute(scheduler="synchronous")
    array([[10.],
           [20.],
           [30.]])
    """
    columns = kernel.encode(Y)
    settled = kernel.resolve(columns)
    dtype = np.result_type(columns.dtype, getattr(X, "dtype", np.float64), np.float32)
    return map_rows(_Block(settled, columns, np.dtype(dtype)), X, (len(columns),), dtype)


def map_rows(function: Any, X: Objects, width: tuple[int, ...], dtype: Any) -> Any:
    """Return a Dask array of what a function makes of each partition, one entry for each row."""
    shared = dask.delayed(function, pure=False, traverse=False)
    apply = dask.delayed(_apply, pure=False)
    blocks = [
        da.from_delayed(apply(shared, part, width, dtype), shape=(rows, *width), dtype=dtype)
        for part, rows in zip(partitions(X, "X"), partition_rows(X), strict=True)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


class DaskGram(GramMatrix):
    """The matrix k(xᵢ, xⱼ) of the rows of a Dask collection, computed where the rows are.

    The face of :class:`mercer.Gram`: ``shape``, ``diag()``, ``rows(index)``, ``take(index)``,
    ``@``. Rows stay on the workers; products with the n numbers of a vector and their results come
    and go.

    Parameters
    ----------
    kernel : Kernel
        Parameters such as ``"scale"`` are settled on the rows, or on 10,000 drawn from them.
    X : dask.array.Array or dask.dataframe.DataFrame
    client : distributed.Client, optional
        The current one by default.
    dtype : numpy type, optional
        Type of the values; that of the data by default.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from mercer import Linear
    >>> from mercer.distributed import Gram
    >>> X = da.from_array(np.array([[1.0], [2.0], [3.0]]), chunks=(2, 1))
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     print(Gram(Linear(), X, client=client) @ np.ones(3))
    [ 6. 12. 18.]
    """

    def __init__(
        self, kernel: Kernel, X: Objects, *, client: Client = None, dtype: Any = None
    ) -> None:
        if dtype is not None and np.dtype(dtype).kind != "f":
            raise InvalidParameter(f"Gram: dtype={dtype!r} has to be a type of real numbers.")
        self.cluster = Cluster(client)
        self.chunks = DistributedChunks(self.cluster, X)
        few = sample_points(kernel, self.chunks, SETTLING_ROWS, 0)
        self.kernel = kernel.resolve(few)
        self.dtype = np.dtype(dtype or few.dtype)
        self.points = DistributedPoints(self.kernel, self.chunks)
        self.shape = (self.chunks.rows, self.chunks.rows)
        self._formula = self.cluster.put((self.kernel, self.dtype))

    @property
    def definite(self) -> Definite:
        return self.kernel.definite

    @property
    def symmetric(self) -> bool:
        return True

    def diag(self) -> Array:
        formulas = [self._formula] * len(self.points.pieces)
        return np.concatenate(
            self.cluster.fetch(self.cluster.map(_diagonal, self.points.pieces, formulas))
        )

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        return placed(self.rows(rows)[:, columns], out)

    def rows(self, index: Any) -> Array:
        some = self.points.take(self._numbers(index))
        pieces = self.points.pieces
        size = len(some) * self.shape[1] * self.dtype.itemsize
        _memory.require(size, f"{len(some):,} rows of a Gram matrix", "Ask for fewer rows.")
        formulas, left = [self._formula] * len(pieces), [self.cluster.put(some)] * len(pieces)
        return np.hstack(self.cluster.fetch(self.cluster.map(_values, formulas, left, pieces)))

    def take(self, rows: Any, columns: Any = None) -> Gram:
        """Return the Gram matrix of some rows, which come here."""
        some = self.points.take(self._numbers(rows))
        others = None if columns is None else self.points.take(self._numbers(columns))
        return Gram(self.kernel, some, others, dtype=self.dtype)

    def in_precision(self, dtype: Any) -> DaskGram:
        other = copy(self)
        other.dtype = np.dtype(dtype)
        other._formula = self.cluster.put((self.kernel, other.dtype))
        return other

    def dense(self, dtype: Any = None) -> Array:
        wanted = np.dtype(dtype or self.dtype)
        self._check_size(wanted)
        return self.rows(slice(None)).astype(wanted, copy=False)

    def __repr__(self) -> str:
        return f"distributed.Gram({self.kernel!r}, {self.shape[0]:,} × {self.shape[1]:,})"

    def multiply(self, V: Array) -> Array:
        starts, pieces = self.chunks.starts, self.points.pieces
        parts = [self.cluster.put(V[a:b]) for a, b in pairwise(starts)]
        formulas = [self._formula] * len(pieces)
        sums = [
            self.cluster.total(
                self.cluster.map(_product, formulas, [piece] * len(pieces), pieces, parts)
            )
            for piece in pieces
        ]
        return np.concatenate(self.cluster.fetch(sums))

    def _numbers(self, index: Any) -> IntArray:
        return row_numbers(index, self.shape[0])


class _Block:
    """The kernel values of a partition with some points."""

    def __init__(self, kernel: Kernel, columns: Points, dtype: np.dtype[Any]) -> None:
        self.kernel, self.columns, self.dtype = kernel, columns, dtype

    def __call__(self, X: Objects) -> Array:
        pairs = Pairs(self.kernel.encode(X), self.columns, None, self.dtype)
        return Evaluator(self.kernel, pairs, threads=1).dense()


def _apply(function: Any, part: Any, width: tuple[int, ...], dtype: Any) -> Array:
    """Call a function on the rows of a partition, which may be none."""
    if row_count(part) == 0:
        return np.empty((0, *width), dtype=dtype)
    values: Array = function(part)
    return values


def _diagonal(points: Points, formula: tuple[Kernel, Any]) -> Array:
    kernel, dtype = formula
    return Evaluator(kernel, Pairs(points, None, None, dtype), threads=1).diagonal()


def _values(formula: tuple[Kernel, Any], left: Points, right: Points) -> Array:
    kernel, dtype = formula
    return Evaluator(kernel, Pairs(left, right, None, dtype), threads=1).dense()


def _product(formula: tuple[Kernel, Any], left: Points, right: Points, V: Array) -> Array:
    kernel, dtype = formula
    return Evaluator(kernel, Pairs(left, right, None, dtype), threads=1).multiply(V)
