"""Pairs of two batches of points, and the statistics of some of them.

:class:`Pairs` binds two batches; :class:`Block` and :class:`Diagonal` hand out the statistics of
some pairs. A kernel turns either into kernel values with one and the same formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock, RLock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import Array, Index
from mercer.kernels.points import Points
from mercer.kernels.statistics import Side, Statistic


class Values:
    """The statistics of some pairs of points, of one shape; computed when asked for."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, statistic: Statistic) -> Array:
        """Return the values of a statistic; they may be shared and must not be changed."""
        raise NotImplementedError

    def fresh(self, statistic: Statistic) -> Array:
        """Return the values of a statistic in an array that the caller may overwrite."""
        return self[statistic].copy()

    def scaled(self, statistic: Statistic, factor: float) -> Array:
        """Return factor times a statistic, in an array that the caller may overwrite."""
        values = self.fresh(statistic)
        values *= values.dtype.type(factor)
        return values

    @property
    def left(self) -> Values:
        """The pairs (x, x) for the rows x, in a shape that broadcasts against this one."""
        raise NotImplementedError

    @property
    def right(self) -> Values:
        """The pairs (z, z) for the columns z, in a shape that broadcasts against this one."""
        raise NotImplementedError

    def number(self, position: int) -> int:
        """Return which row of the data a position in these values is, for messages."""
        raise NotImplementedError

    def within(self, columns: tuple[Any, ...]) -> Values:
        """Return the values that a kernel sees which lives on some columns of a table."""
        return _Within(self, columns)


class Pairs:
    """All pairs of the points ``A`` (rows) with the points ``B`` (columns, or ``A`` itself).

    ``stored`` maps statistics to whole matrices that were computed before. ``dtype`` is the type
    of the arithmetic: that of the data by default. Data are moved to their mean before they are
    rounded to it, so that float32 keeps the digits that matter. ``as_products`` allows distances to
    come from inner products, which is faster and loses a few of the last digits; parts of such
    pairs share what was prepared for all. ``source`` are the points that the rows are some of.
    """

    def __init__(
        self,
        A: Points,
        B: Points | None = None,
        stored: dict[Statistic, Array] | None = None,
        dtype: DTypeLike | None = None,
        as_products: bool = False,
    ) -> None:
        self.A = self.source = A
        self.as_products = as_products
        self.B = A if B is None else B
        self.symmetric = B is None or B is A
        self.shape = (len(self.A.ids), len(self.B.ids))
        self.dtype = np.dtype(dtype or np.result_type(self.A.dtype, self.B.dtype))
        self.stored = {} if stored is None else stored
        self._sides: dict[Statistic, tuple[Side, Side]] = {}
        self._origin: Pairs | None = None
        self._rounded_pairs: dict[np.dtype[Any], Pairs] = {}
        self._diagonals: dict[tuple[Statistic, int], Array] = {}
        self._lock = RLock()
        self.storing = Lock()

    def sides(self, statistic: Statistic) -> tuple[Any, Any]:
        """Return both batches, prepared for a statistic once."""
        with self._lock:
            if statistic not in self._sides:
                known = self._origin
                a, b = known.sides(statistic) if known else statistic.prepare(self.A, self.B)
                same = b is a
                # What has no precision (series, graphs …) stays as it is.
                a = a.astype(self.dtype) if hasattr(a, "astype") else a
                if not same:
                    b = b.astype(self.dtype) if hasattr(b, "astype") else b
                self._sides[statistic] = (a, a if same else b)
            return self._sides[statistic]

    def astype(self, dtype: DTypeLike) -> Pairs:
        """Return the same pairs in another precision; what is prepared here is rounded there."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        if self._origin is not None and self._origin.dtype == wanted:
            return self._origin
        right = None if self.symmetric else self.B
        other = Pairs(self.A, right, self.stored, wanted, self.as_products)
        other._origin = self
        if self.as_products:  # parts in either precision share one preparation
            other = self._rounded_pairs.setdefault(wanted, other)
        return other

    def diagonal(self, statistic: Statistic, side: int) -> Array:
        """Return the statistic of each row (0) or column (1) with itself, computed once."""
        with self._lock:
            key = (statistic, 0 if self.symmetric else side)
            if key not in self._diagonals:
                self._diagonals[key] = statistic.diagonal(self.sides(statistic)[side])
            return self._diagonals[key]

    def part_of_stored(self, statistic: Statistic, rows: Index, columns: Index) -> Array:
        """Return some rows and columns of a statistic that is stored."""
        part: Array = self.stored[statistic][rows][:, columns]
        return part

    def take(self, rows: Index, columns: Index) -> Pairs:
        """Return the pairs of some rows with some columns."""
        if self.as_products:
            return _TakenPairs(self, rows, columns)
        stored = {s: whole[rows][:, columns] for s, whole in self.stored.copy().items()}
        right = None if self.symmetric and rows is columns else self.B.take(columns)
        return Pairs(self.A.take(rows), right, stored, self.dtype)

    def row_diagonal(self) -> Values:
        """Return the pairs (x, x) for all rows x."""
        return Diagonal(self, slice(0, self.shape[0]), 0)


class _TakenPairs(Pairs):
    """Some rows and columns of other pairs: prepared sides are taken, not made anew."""

    def __init__(self, whole: Pairs, rows: Index, columns: Index) -> None:
        self._whole, self._rows, self._columns = whole, rows, columns
        self.source = whole.source
        self.symmetric = whole.symmetric and rows is columns
        self.shape = (index_length(rows), index_length(columns))
        self.dtype, self.as_products = whole.dtype, True
        self.stored = whole.stored
        self._sides = {}
        self._lock = RLock()

    @cached_property
    def A(self) -> Points:  # type: ignore[override]
        return self._whole.A.take(self._rows)

    @cached_property
    def B(self) -> Points:  # type: ignore[override]
        return self._whole.B.take(self._columns)

    def sides(self, statistic: Statistic) -> tuple[Any, Any]:
        with self._lock:
            if statistic not in self._sides:
                a, b = self._whole.sides(statistic)
                self._sides[statistic] = (a.take(self._rows), b.take(self._columns))
            return self._sides[statistic]

    def astype(self, dtype: DTypeLike) -> Pairs:
        return _TakenPairs(self._whole.astype(dtype), self._rows, self._columns)

    def diagonal(self, statistic: Statistic, side: int) -> Array:
        return self._whole.diagonal(statistic, side)[(self._rows, self._columns)[side]]

    def part_of_stored(self, statistic: Statistic, rows: Index, columns: Index) -> Array:
        return self._whole.part_of_stored(
            statistic, index_part(self._rows, rows), index_part(self._columns, columns)
        )


class Block(Values):
    """A rectangle of pairs.

    ``uses`` counts how often each statistic will be asked for; ``out`` is memory that the first
    array handed out may live in.
    """

    def __init__(
        self,
        pairs: Pairs,
        rows: Index,
        columns: Index,
        uses: Mapping[Statistic, int],
        out: Array | None = None,
    ) -> None:
        self._pairs, self._rows, self._columns, self._uses = pairs, rows, columns, uses
        self._out = out
        self._known: dict[Statistic, Array] = {}
        self.dtype = pairs.dtype

    @cached_property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return index_length(self._rows), index_length(self._columns)

    def __getitem__(self, statistic: Statistic) -> Array:
        if statistic not in self._known:
            self._known[statistic] = self._compute(statistic)
        return self._known[statistic]

    def fresh(self, statistic: Statistic) -> Array:
        alone = self._uses.get(statistic, 0) == 1 and statistic not in self._pairs.stored
        if not alone:
            return self[statistic].copy()
        out, self._out = self._out, None
        return self._compute(statistic, out)

    def scaled(self, statistic: Statistic, factor: float) -> Array:
        form = (
            getattr(statistic, "as_product", None)
            if self._pairs.as_products and factor < 0
            else None
        )
        if form is None or statistic in self._pairs.stored:
            values = self.fresh(statistic)
            values *= values.dtype.type(factor)
            return values
        out, self._out = self._out, None
        return self._compute(form(factor), out)

    @property
    def left(self) -> Values:
        return Diagonal(self._pairs, self._rows, 0, column=True)

    @property
    def right(self) -> Values:
        return Diagonal(self._pairs, self._columns, 1)

    def _compute(self, statistic: Statistic, out: Array | None = None) -> Array:
        if statistic in self._pairs.stored:
            return self._pairs.part_of_stored(statistic, self._rows, self._columns)
        a, b = self._pairs.sides(statistic)
        return statistic.compute(a.take(self._rows), b.take(self._columns), out)


class Diagonal(Values):
    """The pairs of some points with themselves."""

    def __init__(self, pairs: Pairs, index: Index, side: int, column: bool = False) -> None:
        self._pairs, self._index, self._side, self._column = pairs, index, side, column
        count = index_length(index)
        self.shape = (count, 1) if column else (count,)
        self.dtype = pairs.dtype

    def __getitem__(self, statistic: Statistic) -> Array:
        return self._pairs.diagonal(statistic, self._side)[self._index].reshape(self.shape)

    def number(self, position: int) -> int:
        return int(index_numbers(self._index)[position])

    @property
    def left(self) -> Values:
        return self

    @property
    def right(self) -> Values:
        return self


class _Within(Values):
    def __init__(self, outer: Values, columns: tuple[Any, ...]) -> None:
        self._outer, self._columns = outer, columns
        self.shape, self.dtype = outer.shape, outer.dtype

    def __getitem__(self, statistic: Statistic) -> Array:
        return self._outer[statistic.within(self._columns)]

    def fresh(self, statistic: Statistic) -> Array:
        return self._outer.fresh(statistic.within(self._columns))

    def scaled(self, statistic: Statistic, factor: float) -> Array:
        return self._outer.scaled(statistic.within(self._columns), factor)

    def number(self, position: int) -> int:
        return self._outer.number(position)

    @cached_property
    def left(self) -> Values:
        return _Within(self._outer.left, self._columns)

    @cached_property
    def right(self) -> Values:
        return _Within(self._outer.right, self._columns)


def index_length(index: Index) -> int:
    """Return how many rows an index chooses."""
    return index.stop - index.start if isinstance(index, slice) else len(index)


def index_numbers(index: Index) -> Any:
    """Return the rows that an index chooses, as numbers."""
    return range(index.start, index.stop) if isinstance(index, slice) else index


def index_part(index: Index, part: Index) -> Index:
    """Return an index of a part of the rows that another one chooses."""
    if isinstance(index, slice):
        return shifted(part, -index.start) if isinstance(part, slice) else part + index.start
    return index[part]


def shifted(part: slice, by: int) -> slice:
    """Return a slice that begins ``by`` rows earlier."""
    return slice(part.start - by, part.stop - by)
