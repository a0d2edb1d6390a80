"""The face of a matrix: all that solvers, searches and certificates see of data and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mercer import _memory
from mercer._typing import Array, Index, IntArray, Rows
from mercer.exceptions import InvalidInput
from mercer.kernels.definite import Definite as Definite  # solvers know no kernels but this

if TYPE_CHECKING:
    from mercer.landmarks.landmark_gram import LandmarkGram

_SMALL_BYTES = 1 << 23
"""Bytes of a matrix (1,000 rows) that need no question about the memory, which takes a while."""


class EvaluationCount:
    """The number of kernel values that a matrix and all that were taken from it have computed."""

    def __init__(self) -> None:
        self.total = 0
        self._lock = Lock()

    def add(self, count: int) -> None:
        """Count some more; threads may do so side by side."""
        with self._lock:
            self.total += count


class GramMatrix:
    """A matrix of kernel values k(xᵢ, zⱼ), however it is computed or held.

    An implementation has ``shape``, ``dtype``, ``definite``, ``symmetric``, ``diag``, ``block``,
    ``take``, ``in_precision`` and ``multiply``; the rest follows from these. What some can do and
    others cannot is asked for by a method that may return None: ``features``, ``landmarks``.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        The precision of the values; ``in_precision`` gives the same matrix in another one.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def evaluations(self) -> int:
        """How many kernel values were computed so far, here and by what was taken from here."""
        return 0

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

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        """Return the values of some rows and columns: in ``out``, or in memory of their own."""
        raise NotImplementedError

    def multiply(self, V: Array) -> Array:
        """Return the product with the columns of a matrix of floats."""
        raise NotImplementedError

    def take(self, rows: Rows, columns: Rows | None = None) -> GramMatrix:
        """Return the Gram matrix of some rows and columns (``rows`` too if symmetric)."""
        raise NotImplementedError

    def in_precision(self, dtype: DTypeLike) -> GramMatrix:
        """Return the same matrix with its values computed in another precision."""
        raise NotImplementedError

    def features(self) -> Any:
        """Return Φ with K = ΦΦᵀ, dense or sparse, where such rows are at hand; else None."""
        return None

    def landmarks(self) -> LandmarkGram | None:
        """Return the matrix with passes over its rows, where it is one on landmarks; else None."""
        return None

    def terms(self) -> Sequence[GramMatrix]:
        """Return the matrices that this one is the sum of: itself alone where it is no sum."""
        return [self]

    def multiply_columns(self, columns: IntArray, V: Array) -> Array:
        """Return K[:, columns] V for a symmetric matrix and columns that all differ.

        The columns among themselves are symmetric, and a symmetric product costs half.
        """
        others = np.setdiff1d(np.arange(self.shape[0]), columns, assume_unique=True)
        result = np.empty((self.shape[0], V.shape[1]), dtype=np.result_type(self.dtype, V))
        for rows in (columns, others):
            if len(rows):
                result[rows] = self.take(rows, columns).multiply(V)
        return result

    def rows(self, index: Rows) -> Array:
        """Return some rows as a dense array."""
        return self.block(row_numbers(index, self.shape[0]), slice(0, self.shape[1]))

    def square(self, index: Rows) -> Array:
        """Return the dense matrix of some rows with themselves."""
        rows = row_numbers(index, self.shape[0])
        return self.block(rows, rows)

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        """Return the whole matrix."""
        wanted = np.dtype(dtype or self.dtype)
        self._check_size(wanted)
        everything = (slice(0, self.shape[0]), slice(0, self.shape[1]))
        return self.block(*everything).astype(wanted, copy=False)

    def own_dense(self, dtype: DTypeLike | None = None) -> Array:
        """Return the whole matrix in memory that belongs to the caller, who may change it."""
        return self.dense(dtype)

    def shared(self) -> tuple[Array, IntArray]:
        """Return a dense float64 matrix, and which of its rows and columns are those of this one.

        Parts of a given matrix share it, so that problems on many parts need no copies.
        """
        return self.dense(np.float64), np.arange(self.shape[0])

    def __matmul__(self, V: ArrayLike) -> Array:
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
        result = self.multiply(floats[:, None] if V.ndim == 1 else floats)
        return result.reshape((self.shape[0], *V.shape[1:]))

    def check_symmetric(self) -> None:
        """Refuse a matrix whose columns are other points than its rows."""
        if not self.symmetric:
            n, m = self.shape
            raise InvalidInput(
                f"A Gram matrix of {n:,} rows and {m:,} other columns has no diagonal k(x, x). Ask "
                "the kernel: k.diag(X)."
            )

    def _check_size(self, dtype: np.dtype[Any]) -> None:
        n, m = self.shape
        if n * m * dtype.itemsize <= _SMALL_BYTES:
            return
        _memory.require(
            n * m * dtype.itemsize,
            f"A Gram matrix of {n:,} × {m:,} values of type {dtype}",
            "Multiply with gram @ v or ask for gram.rows(index), which never form it; or use "
            "dense('float32'), or fewer rows.",
        )


def placed(part: Array, out: Array | None) -> Array:
    """Return values in the memory that was given for them, where there is some."""
    if out is None or part is out:
        return part
    out[...] = part
    return out


def taken(index: Rows, count: int) -> Index:
    """Return what ``row_numbers`` does, but rows in sequence as a slice: it needs no copy."""
    if isinstance(index, slice) and index.step in (None, 1):
        start, stop, _ = index.indices(count)
        return slice(start, max(start, stop))
    numbers = row_numbers(index, count)
    span = len(numbers)
    if span and numbers[-1] - numbers[0] == span - 1 and (np.diff(numbers) == 1).all():
        return slice(int(numbers[0]), int(numbers[0]) + span)
    return numbers


def row_numbers(index: Rows, count: int) -> IntArray:
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
