"""Kernels that count things: sparse rows of counts and their inner products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer import _fast
from mercer._typing import Array, Index
from mercer.kernels.features import Features
from mercer.kernels.graphs.graph_points import Codes, Integers
from mercer.kernels.points import Points
from mercer.kernels.vectors.explicit import KeyedFeatures

# A column that a fifth of all rows have costs less in a dense matrix product.
_FREQUENT = 0.2
_DENSE_BYTES = 1 << 28
"""Frequent columns are held dense up to 256 MiB; the others stay sparse."""
_EXACT_IN_FLOAT32 = float(1 << 24)


def counted(keys: Codes, starts: Integers, weights: Array | None = None) -> Features:
    """Return how often each key occurs in each part, over all rows of ``keys``.

    Part g has the columns ``starts[g]`` to ``starts[g+1]`` of ``keys``; ``weights``, one for each
    column, replace the 1 that a key counts for.
    """
    total = keys.size
    known = np.empty(max(1, total), dtype=np.uint64)
    # scikit-learn takes 32-bit indices only, which are enough nearly always.
    kind: Any = np.int32 if total < 2**31 else np.int64
    indptr, indices = np.zeros(len(starts), dtype=kind), np.empty(total, dtype=kind)
    data = np.empty(total)
    weights = np.ones(1) if weights is None else weights
    columns, filled = _fast.refinement.count_keys(
        keys, weights, starts, known, indptr, indices, data
    )
    if not columns:
        # Nothing was counted, but there is one coordinate, in which all rows are zero.
        known[0], columns = 0, 1
    parts = _cut(data, filled), _cut(indices, filled), indptr
    shape = (len(starts) - 1, columns)
    return Features(sparse.csr_array(parts, shape=shape), _cut(known, columns))


def _cut(values: Any, size: int) -> Any:
    """Return the first values; in memory of their own where most would be kept for nothing."""
    return values[:size] if 2 * size > len(values) else values[:size].copy()


class CountedFeatures(KeyedFeatures):
    """k(x, z) = φ(x)·φ(z) for sparse counts φ that a subclass defines in ``phi``."""

    def feature_width(self, points: Points) -> float:
        few = points.take(np.linspace(0, len(points) - 1, 8).astype(np.intp))
        return float(self.feature_map(few).values.nnz / len(few))

    def sides(self, *matrices: Any) -> list[CountRows]:
        return CountRows.split(list(matrices))

    def compare(self, a: CountRows, b: CountRows) -> Array:
        return a.products(b)

    def compare_self(self, a: CountRows) -> Array:
        return a.squared_norms.copy()


@dataclass(frozen=True, eq=False)
class CountRows:
    """Sparse rows: frequent columns as a dense matrix, rare ones as a list of entries.

    Row i has the entries ``begins[i]`` to ``ends[i]``. Columns that one row alone has are left
    out: they count in the product of that row with itself only, where they add ``alone[i]``.
    """

    numbers: Integers
    dense: Array
    begins: Integers
    ends: Integers
    rare: Entries
    alone: Array
    squared_norms: Array

    @classmethod
    def split(cls, sides: list[Any]) -> list[CountRows]:
        """Return one matrix, or two of the same columns, prepared for products of their rows."""
        counts = [np.bincount(side.indices, minlength=side.shape[1]) for side in sides]
        often = np.sum(counts, axis=0)
        # Rows of one side meet all others of it, rows of two sides those of the other side.
        shared = often > 1 if len(sides) == 1 else (counts[0] > 0) & (counts[1] > 0)
        rows = sum(side.shape[0] for side in sides)
        frequent = np.flatnonzero(shared & (often > max(_FREQUENT * rows, 8)))
        most = max(1, _DENSE_BYTES // (8 * rows))
        frequent = frequent[np.argsort(-often[frequent], kind="stable")[:most]]
        place = np.full(len(often), -1)
        shared[frequent] = False
        place[frequent] = np.arange(len(frequent))
        width = int(np.count_nonzero(shared))
        place[shared] = len(frequent) + np.arange(width)
        return [cls._of(side, place, len(frequent), width) for side in sides]

    @classmethod
    def _of(cls, side: Any, place: Integers, frequent: int, width: int) -> CountRows:
        n, size = side.shape[0], len(side.data)
        dense, starts = np.zeros((n, frequent)), np.zeros(n + 1, dtype=np.int64)
        columns, values = np.empty(size, dtype=np.int64), np.empty(size)
        alone, norms = np.zeros(n), np.zeros(n)
        data = side.data.astype(np.float64, copy=False)
        kind = np.int32 if size < 2**31 else np.int64
        indptr, indices = (p.astype(kind, copy=False) for p in (side.indptr, side.indices))
        _fast.sparse_rows.split(
            indptr, indices, data, place, dense, starts, columns, values, alone, norms
        )
        # Counts are whole numbers: below this bound all sums of products are exact in float32.
        if norms.max(initial=0.0) < _EXACT_IN_FLOAT32 and (data == np.rint(data)).all():
            dense = dense.astype(np.float32)
        rare = Entries(columns, values, width)
        return cls(np.arange(n), dense, starts[:-1], starts[1:], rare, alone, norms)

    def take(self, index: Index) -> CountRows:
        return CountRows(
            self.numbers[index],
            self.dense[index],
            self.begins[index],
            self.ends[index],
            self.rare,
            self.alone[index],
            self.squared_norms[index],
        )

    def products(self, other: CountRows) -> Array:
        """Return the inner products of all rows of both."""
        out: Array = np.matmul(self.dense, other.dense.T).astype(np.float64, copy=False)
        a, b = self.rare, other.rare
        if (other.ends > other.begins).any():
            own = self.begins, self.ends, a.columns, a.values
            others = other.begins, other.ends, b.columns, b.values
            _fast.sparse_rows.add_products(*own, *others, b.width, out)
        if a is b:
            rows, columns = _equal_pairs(self.numbers, other.numbers)
            out[rows, columns] += self.alone[rows]
        return out


def _equal_pairs(a: Integers, b: Integers) -> tuple[Integers, Integers]:
    """Return all i and j with a[i] = b[j]; a row may be there more than once."""
    order = np.argsort(b, kind="stable")
    first, last = (np.searchsorted(b[order], a, side) for side in ("left", "right"))
    counts = last - first
    rows = np.repeat(np.arange(len(a)), counts)
    behind = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, order[np.repeat(first, counts) + behind]


@dataclass(frozen=True, eq=False)
class Entries:
    """Columns and values of entries, in a matrix of ``width`` columns."""

    columns: Integers
    values: Array
    width: int
