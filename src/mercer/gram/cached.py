"""Products with rows of a Gram matrix over some columns, and the rows that are kept for them."""

from __future__ import annotations

import time
from threading import local
from typing import Any, TypeAlias

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, Flags, IntArray, Offsets
from mercer.gram.base import GramMatrix

TILE = 1024
"""Columns in a tile of the row cache: a float32 tile of a chunk of rows stays in a core's cache."""
FINE_TILE, FEW_COLUMNS = 512, 16_384
"""Few columns are cut finer, so that all threads have work to the end."""
CHUNK = 512
"""Rows computed in one go: with a tile of columns about the size of an L2 cache."""
CHEAP_BYTES = 96 << 20
"""Most bytes of cached rows where values are cheap: touching new memory costs more than they do."""
EXPENSIVE_SECONDS = 5e-7
"""Seconds for one kernel value from which it is worth more memory than the above."""


RowProducts: TypeAlias = "FeatureProducts | TiledCache"
"""Products with rows of a Gram matrix over the columns in play; both have the same methods."""


def row_products(gram: GramMatrix, budget: int, threads: int | None) -> RowProducts:
    """Return products with rows: through features where there are some, else with cached rows."""
    if gram.features() is not None:
        return FeatureProducts(gram)
    return TiledCache(gram, budget, threads)


class FeatureProducts:
    """Products with rows of K = ΦΦᵀ over the columns in play. They keep no rows."""

    width: int = 1

    def __init__(self, gram: GramMatrix) -> None:
        self._gram = gram
        self.count = gram.shape[0]
        self.hits = self.misses = 0
        self.restart(np.arange(self.count), precise=False)

    def restart(self, columns: IntArray, precise: bool) -> None:
        """Change the columns."""
        self.columns, self.precise = columns, precise
        self.store: Array = np.empty(1, np.float64 if precise else np.float32)

    def slots(self, rows: IntArray) -> IntArray:
        """Return −1 for each row: none is there."""
        return np.full(len(rows), -1, np.intp)

    def offsets(self, columns: IntArray) -> Offsets:
        """Return where in ``store`` columns would begin."""
        return np.zeros(len(columns), np.uint64)

    def add(self, rows: IntArray, coefficients: Array, keep: Flags, f: Array) -> None:
        """Add coefficients @ K[rows, columns] to ``f``."""
        del keep
        f += self._gram.multiply_columns(rows, coefficients[:, None])[self.columns, 0]


class TiledCache:
    """Rows of K over the columns in play, in tiles so that each block is contiguous.

    ``hits`` and ``misses`` count the rows that were there and those that had to be computed. The
    value of slot s in column c is ``store[s * width + offsets(c)]``.
    """

    def __init__(self, gram: GramMatrix, budget: int, threads: int | None = None) -> None:
        self._single, self._double = gram.in_precision(np.float32), gram.in_precision(np.float64)
        self._budget = budget
        self._threads = _parallel.thread_count(threads)
        self.count = gram.shape[0]
        self.width = TILE if self.count > FEW_COLUMNS else FINE_TILE
        self.hits = self.misses = 0
        self._buffer = np.empty(0, np.uint8)
        self._expensive = self._costs_more_than(EXPENSIVE_SECONDS)
        self.restart(np.arange(self.count), precise=False)

    def restart(self, columns: IntArray, precise: bool) -> None:
        """Change the columns and forget the rows: few are wanted again, and packing costs more."""
        n = len(columns)
        self.columns, self.precise = columns, precise
        self._dtype: Any = np.float64 if precise else np.float32
        self._scratch = local()
        gram = self._double if precise else self._single
        self._source = gram.take(slice(None), columns)
        size = np.dtype(self._dtype).itemsize
        budget = self._budget if self._expensive else min(self._budget, CHEAP_BYTES)
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
        sample = self._single.take(slice(64))
        everything = slice(0, sample.shape[0])
        sample.block(everything, everything)
        began = time.perf_counter()
        tried = sample.block(everything, everything)
        return time.perf_counter() - began > seconds * tried.size

    def slots(self, rows: IntArray) -> IntArray:
        """Return the slots of rows; −1 where a row is not there."""
        return self._slot_of[rows]

    def offsets(self, columns: IntArray) -> Offsets:
        """Return where in ``store`` columns begin."""
        tile, column = np.divmod(columns, self.width)
        return (tile * (self.capacity * self.width) + column).astype(np.uint64)

    def add(self, rows: IntArray, coefficients: Array, keep: Flags, f: Array) -> None:
        """Add coefficients @ K[rows, columns] to ``f``; rows marked ``keep`` stay in the cache."""
        weights = coefficients.astype(self._dtype)
        slots = self._slot_of[rows]
        known = slots >= 0
        fresh = np.flatnonzero(~known & keep)[: self.capacity]
        once = ~known
        once[fresh] = False
        old_slots, old_weights = slots[known], weights[known]
        begin = self._reserve(rows[fresh])
        jobs: list[tuple[GramMatrix, Array, int]] = []
        for part, stored in ((fresh, True), (np.flatnonzero(once), False)):
            for s in range(0, len(part), CHUNK):
                chunk = part[s : s + CHUNK]
                place = begin + s if stored else -1
                panel = self._source.take(rows[chunk], slice(None))
                jobs.append((panel, weights[chunk], place))
        self.hits += len(old_slots)
        self.misses += len(rows) - len(old_slots)
        order = np.arange(CHUNK)

        def task(t: int) -> None:
            tile = self._tiles[t]
            width = tile.stop - tile.start
            out = f[tile]
            if len(old_slots):
                _fast.tiles.add_rows(self._rows_of[t], old_slots, old_weights, out)
            for panel, w, place in jobs:
                if place < 0:
                    block = self._scratch_block(len(w), width)
                else:
                    block = self._rows_of[t, place : place + len(w), :width]
                panel.block(slice(0, len(w)), tile, block)
                _fast.tiles.add_rows(block, order[: len(w)], w, out)

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
