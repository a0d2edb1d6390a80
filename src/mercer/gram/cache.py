"""A cache of rows with a byte budget; the least recently used rows go first."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidParameter


class RowCache:
    """Rows of a matrix of ``shape``, at most ``budget`` bytes of them.

    ``hits`` and ``misses`` count the rows that were there and those that had to be computed.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any], budget: int) -> None:
        if budget < 0:
            raise InvalidParameter(f"cache_bytes={budget}: a budget is 0 or more.")
        rows, columns = shape
        self.capacity = min(rows, budget // max(1, columns * dtype.itemsize))
        self.hits = self.misses = 0
        self._rows, self._columns, self._dtype = rows, columns, dtype
        self._clock = 0
        self._lock = Lock()
        self._storage: Array | None = None

    @property
    def nbytes(self) -> int:
        """The bytes that the cache may hold."""
        return self.capacity * self._columns * self._dtype.itemsize

    def fetch(self, rows: IntArray, compute: Callable[[IntArray], Array]) -> Array:
        """Return some rows in an array of its own; ``compute`` makes those that are not here."""
        if self.capacity == 0:
            self.misses += len(rows)
            return compute(rows)
        with self._lock:
            return self._fetch(rows, compute)

    def _fetch(self, rows: IntArray, compute: Callable[[IntArray], Array]) -> Array:
        if self._storage is None:
            self._storage = np.empty((self.capacity, self._columns), dtype=self._dtype)
            self._slot_of = np.full(self._rows, -1, dtype=np.intp)
            self._row_in = np.full(self.capacity, -1, dtype=np.intp)
            self._last_use = np.zeros(self.capacity, dtype=np.int64)
        self._clock += 1
        slots = self._slot_of[rows]
        here = slots >= 0
        self._last_use[slots[here]] = self._clock
        missing = np.unique(rows[~here])
        self.hits += int(here.sum())
        self.misses += len(missing)
        result = np.empty((len(rows), self._columns), dtype=self._dtype)
        result[here] = self._storage[slots[here]]
        if missing.size:
            fresh = compute(missing)
            result[~here] = fresh[np.searchsorted(missing, rows[~here])]
            self._keep(missing, fresh)
        return result

    def _keep(self, rows: IntArray, values: Array) -> None:
        assert self._storage is not None
        idle = np.flatnonzero(self._last_use < self._clock)
        count = min(len(rows), len(idle))
        if count == 0:
            return
        oldest = idle[np.argpartition(self._last_use[idle], count - 1)[:count]]
        evicted = self._row_in[oldest]
        self._slot_of[evicted[evicted >= 0]] = -1
        self._storage[oldest] = values[:count]
        self._row_in[oldest] = rows[:count]
        self._slot_of[rows[:count]] = oldest
        self._last_use[oldest] = self._clock
