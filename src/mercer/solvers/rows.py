"""The Gram matrix as a decomposition solver needs it: small blocks, cached rows, exact products."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import local
from typing import Any, Protocol, Self

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.solvers.interior import DenseSystem, System

TILE = 1024
"""Columns in a tile of the row cache: a float32 tile of a chunk of rows stays in a core's cache."""
FINE_TILE, FEW_COLUMNS = 512, 16_384
"""Few columns are cut finer, so that all threads have work to the end."""
CHUNK = 512
"""Rows computed in one go."""
CHEAP_BYTES = 96 << 20
"""Most bytes of cached rows where values are cheap: touching new memory costs more than they do."""
DEAR_SECONDS = 5e-7
_STRIP = 128
SMALL = 2000
"""Rows up to which linear systems with the whole matrix are a matter of a second."""


class Panel(Protocol):
    """Some rows against some columns, computed one range of columns at a time."""

    def fill(self, columns: slice, out: Array) -> None:
        """Write the values of a range of columns into ``out``."""
        ...


class Columns(Protocol):
    """Some columns of a Gram matrix."""

    def panel(self, rows: IntArray) -> Panel:
        """Return some rows of these columns."""
        ...


class Products(Protocol):
    """Products with rows of a Gram matrix over some columns, and the rows that are kept for them.

    ``hits`` and ``misses`` count the rows that were there and those that had to be computed.
    """

    count: int
    width: int
    columns: IntArray
    precise: bool
    store: Array
    hits: int
    misses: int

    def restart(self, columns: IntArray, precise: bool) -> None:
        """Change the columns and the precision."""
        ...

    def slots(self, rows: IntArray) -> IntArray:
        """Return the slots of rows; −1 where a row is not there."""
        ...

    def offsets(self, columns: IntArray) -> Any:
        """Return where in ``store`` columns begin."""
        ...

    def add(self, rows: IntArray, coefficients: Array, keep: Any, f: Array) -> None:
        """Add coefficients @ K[rows, columns] to ``f``; rows marked ``keep`` may stay."""
        ...


class Rows(Protocol):
    """What a decomposition solver asks of a Gram matrix."""

    shape: tuple[int, int]
    evaluations: int

    def diag(self) -> Array:
        """Return the diagonal."""
        ...

    def square(self, index: IntArray, out: Array) -> None:
        """Write the first rows of a symmetric block into ``out``, in its precision."""
        ...

    def multiply(self, coefficients: Array, columns: IntArray) -> Array:
        """Return K[:, columns] @ coefficients in float64."""
        ...

    def system(self, budget: int) -> System | None:
        """Return the matrix for an interior-point method, where it is small enough for one."""
        ...

    def products(self, budget: int, threads: int | None) -> Products:
        """Return products with rows over columns that can change."""
        ...


class ComputedRows(Rows, Protocol):
    """Rows whose values are computed, and so worth to be kept."""

    def columns(self, index: IntArray, precise: bool) -> Columns:
        """Return some columns, in float64 if ``precise``, else in float32."""
        ...


class KernelRows:
    """Rows of a kernel on points: float32 blocks, float64 products."""

    def __init__(self, kernel: Kernel, single: Pairs, double: Pairs, threads: int | None) -> None:
        self._kernel, self._single, self._double = kernel, single, double
        self.threads = _parallel.thread_count(threads)
        self.shape = single.shape
        self.evaluations = 0

    @classmethod
    def of(cls, kernel: Kernel, points: Points, threads: int | None = None) -> Self:
        """Bind a kernel to points."""
        double = Pairs(points, dtype=np.float64, hasty=True)
        return cls(kernel, double.astype(np.float32), double, threads)

    def take(self, rows: IntArray) -> KernelRows:
        """Return the Gram matrix of some of the points."""
        single, double = self._single.take(rows, rows), self._double.take(rows, rows)
        return KernelRows(self._kernel, single, double, self.threads)

    def dense(self) -> Array:
        """Return the whole matrix in float64."""
        self.evaluations += self.shape[0] * self.shape[1]
        return Evaluator(self._kernel, self._double, threads=self.threads).dense()

    def diag(self) -> Array:
        return Evaluator(self._kernel, self._double, threads=1).diagonal()

    def columns(self, index: IntArray, precise: bool) -> KernelColumns:
        pairs = self._double if precise else self._single
        return KernelColumns(self, pairs.take(slice(0, self.shape[0]), index))

    def square(self, index: IntArray, out: Array) -> None:
        pairs = self._double if out.dtype == np.float64 else self._single
        evaluator = Evaluator(self._kernel, pairs.take(index[: len(out)], index), threads=1)
        everything = slice(0, len(index))
        self.evaluations += out.size

        def task(strip: slice) -> None:
            block = evaluator.values(strip, everything, out[strip])
            if block.base is not out:
                out[strip] = block

        strips = [slice(s, min(s + _STRIP, len(out))) for s in range(0, len(out), _STRIP)]
        _parallel.run(task, strips, self.threads)

    def multiply(self, coefficients: Array, columns: IntArray) -> Array:
        # The columns among themselves are symmetric, and a symmetric product costs half.
        result = np.empty(self.shape[0])
        others = np.setdiff1d(np.arange(self.shape[0]), columns, assume_unique=True)
        for rows in (columns, others):
            if len(rows):
                pairs = self._double.take(rows, columns)
                evaluator = Evaluator(self._kernel, pairs, threads=self.threads)
                result[rows] = evaluator.multiply(coefficients[:, None])[:, 0]
        self.evaluations += (len(columns) // 2 + len(others)) * len(columns)
        return result

    def system(self, budget: int) -> System | None:
        return small_system(self.shape[0], self.dense, budget)

    def products(self, budget: int, threads: int | None) -> TiledCache:
        return TiledCache(self, budget, threads)


class KernelColumns:
    """Some columns of the rows of a kernel."""

    def __init__(self, owner: KernelRows, pairs: Pairs) -> None:
        self._owner, self._pairs = owner, pairs

    def panel(self, rows: IntArray) -> KernelPanel:
        n = self._pairs.shape[1]
        self._owner.evaluations += len(rows) * n
        return KernelPanel(self._owner._kernel, self._pairs.take(rows, slice(0, n)))


class KernelPanel:
    """Some rows of some columns."""

    def __init__(self, kernel: Kernel, pairs: Pairs) -> None:
        self._rows = slice(0, pairs.shape[0])
        self._evaluator = Evaluator(kernel, pairs, threads=1)

    def fill(self, columns: slice, out: Array) -> None:
        block = self._evaluator.values(self._rows, columns, out)
        if block is not out:
            out[...] = block


class DenseRows:
    """A matrix that is there already, behind the same face."""

    def __init__(self, matrix: Array) -> None:
        self._matrix = matrix
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.evaluations = 0

    def diag(self) -> Array:
        return np.diagonal(self._matrix).astype(np.float64)

    def columns(self, index: IntArray, precise: bool) -> _DenseColumns:
        del precise
        return _DenseColumns(self._matrix, index)

    def square(self, index: IntArray, out: Array) -> None:
        out[...] = self._matrix[np.ix_(index[: len(out)], index)]

    def multiply(self, coefficients: Array, columns: IntArray) -> Array:
        return np.asarray(self._matrix[:, columns] @ coefficients, dtype=np.float64)

    def system(self, budget: int) -> System | None:
        return small_system(self.shape[0], lambda: self._matrix, budget)

    def products(self, budget: int, threads: int | None) -> TiledCache:
        return TiledCache(self, budget, threads)


class _DenseColumns:
    def __init__(self, matrix: Array, columns: IntArray) -> None:
        self._matrix, self._columns = matrix, columns

    def panel(self, rows: IntArray) -> _DensePanel:
        return _DensePanel(self._matrix, rows, self._columns)


class _DensePanel:
    def __init__(self, matrix: Array, rows: IntArray, columns: IntArray) -> None:
        self._matrix, self._rows, self._columns = matrix, rows, columns

    def fill(self, columns: slice, out: Array) -> None:
        out[...] = self._matrix[np.ix_(self._rows, self._columns[columns])]


class TiledCache:
    """Rows of K over the columns in play, in tiles so that each block is contiguous.

    ``hits`` and ``misses`` count the rows that were there and those that had to be computed.
    """

    def __init__(self, gram: ComputedRows, budget: int, threads: int | None = None) -> None:
        self._gram, self._budget = gram, budget
        self._threads = _parallel.thread_count(threads)
        self.count = gram.shape[0]
        self.width = TILE if self.count > FEW_COLUMNS else FINE_TILE
        self.hits = self.misses = 0
        self._buffer = np.empty(0, np.uint8)
        self._dear = self._costs_more_than(DEAR_SECONDS)
        self.restart(np.arange(self.count), precise=False)

    def restart(self, columns: IntArray, precise: bool) -> None:
        """Change the columns and forget the rows: few are wanted again, and packing costs more."""
        n = len(columns)
        self.columns, self.precise = columns, precise
        self._dtype: Any = np.float64 if precise else np.float32
        self._scratch = local()
        self._source = self._gram.columns(columns, precise)
        size = np.dtype(self._dtype).itemsize
        budget = self._budget if self._dear else min(self._budget, CHEAP_BYTES)
        room = budget // (size * self.width * max(1, -(-n // self.width)))
        self.capacity = int(max(1, min(self.count, room)))
        self._slot_of = np.full(self.count, -1, np.intp)
        self._row_in = np.full(self.capacity, -1, np.intp)
        self._next = 0
        self._tiles = [slice(b, min(b + self.width, n)) for b in range(0, n, self.width)]
        cells = len(self._tiles) * self.capacity * self.width
        if self._buffer.size < cells * size:
            self._buffer = np.empty(cells * size, np.uint8)
        self.store: Array = self._buffer[: cells * size].view(self._dtype)
        self._rows_of = self.store.reshape(len(self._tiles), self.capacity, self.width)

    def _costs_more_than(self, seconds: float) -> bool:
        """Tell whether one kernel value takes longer than so many seconds, by trying some."""
        sample = np.arange(min(64, self.count))
        out = np.empty((len(sample), len(sample)), np.float32)
        self._gram.square(sample, out)
        began = time.perf_counter()
        self._gram.square(sample, out)
        return time.perf_counter() - began > seconds * out.size

    def slots(self, rows: IntArray) -> IntArray:
        """Return the slots of rows; −1 where a row is not there.

        The value of slot s in column c is ``store[s * width + offsets(c)]``.
        """
        return self._slot_of[rows]

    def offsets(self, columns: IntArray) -> Any:
        """Return where in ``store`` columns begin."""
        tile, column = np.divmod(columns, self.width)
        return (tile * (self.capacity * self.width) + column).astype(np.uint64)

    def add(self, rows: IntArray, coefficients: Array, keep: Any, f: Array) -> None:
        """Add coefficients @ K[rows, columns] to ``f``; rows marked ``keep`` stay in the cache."""
        weights = coefficients.astype(self._dtype)
        slots = self._slot_of[rows]
        known = slots >= 0
        fresh = np.flatnonzero(~known & keep)[: self.capacity]
        once = ~known
        once[fresh] = False
        old_slots, old_weights = slots[known], weights[known]
        begin = self._reserve(rows[fresh])
        jobs: list[tuple[Panel, Array, int]] = []
        for part, stored in ((fresh, True), (np.flatnonzero(once), False)):
            for s in range(0, len(part), CHUNK):
                chunk = part[s : s + CHUNK]
                place = begin + s if stored else -1
                jobs.append((self._source.panel(rows[chunk]), weights[chunk], place))
        self.hits += len(old_slots)
        self.misses += len(rows) - len(old_slots)
        order = np.arange(CHUNK)

        def task(t: int) -> None:
            tile = self._tiles[t]
            width = tile.stop - tile.start
            out = f[tile]
            if len(old_slots):
                _fast.smo.add_rows(self._rows_of[t], old_slots, old_weights, out)
            for panel, w, place in jobs:
                if place < 0:
                    block = self._scratch_block(len(w), width)
                else:
                    block = self._rows_of[t, place : place + len(w), :width]
                panel.fill(tile, block)
                _fast.smo.add_rows(block, order[: len(w)], w, out)

        _parallel.run(task, range(len(self._tiles)), self._threads)

    def _scratch_block(self, rows: int, width: int) -> Array:
        if not hasattr(self._scratch, "block"):
            self._scratch.block = np.empty(CHUNK * self.width, self._dtype)
        block: Array = self._scratch.block[: rows * width].reshape(rows, width)
        return block

    def _reserve(self, rows: IntArray) -> int:
        """Take slots for new rows, side by side, from the oldest."""
        if self._next + len(rows) > self.capacity:
            self._next = 0
        begin = self._next
        self._next += len(rows)
        old = self._row_in[begin : self._next]
        self._slot_of[old[old >= 0]] = -1
        self._row_in[begin : self._next] = rows
        self._slot_of[rows] = np.arange(begin, self._next)
        return begin


def small_system(count: int, matrix: Callable[[], Array], budget: int) -> System | None:
    """Return a matrix for an interior-point method, if it is small and fits the budget twice."""
    return DenseSystem(matrix) if count <= SMALL and 16 * count * count <= budget else None
