"""Kernel values of all pairs of two batches of points: block by block, on several threads.

:class:`Pairs` binds two batches; :class:`Block` and :class:`Diagonal` hand out the statistics of
some pairs. A kernel turns either into kernel values with one and the same formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, Index
from mercer.exceptions import NumericalOverflow
from mercer.kernels.points import Points
from mercer.kernels.statistics import Side, Statistic

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

TILE = 512
WIDE_TILE = (256, 1024)
_SMALL = 128 * 128
_BANDS = 32
_PARTIAL_SUMS = 1 << 25

Formula: TypeAlias = "Callable[[Values], Array]"


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
    rounded to it, so that float32 keeps the digits that matter. ``hasty`` allows statistics to be
    computed in a faster way that loses a few of the last digits.
    """

    def __init__(
        self,
        A: Points,
        B: Points | None = None,
        stored: dict[Statistic, Array] | None = None,
        dtype: Any = None,
        hasty: bool = False,
    ) -> None:
        self.A = A
        self.hasty = hasty
        self.B = A if B is None else B
        self.symmetric = B is None or B is A
        self.shape = (len(self.A), len(self.B))
        self.dtype = np.dtype(dtype or np.result_type(self.A.dtype, self.B.dtype))
        self.stored = {} if stored is None else stored
        self._sides: dict[Statistic, tuple[Side, Side]] = {}
        self._origin: Pairs | None = None
        self._diagonals: dict[tuple[Statistic, int], Array] = {}
        self._lock = RLock()
        self.storing = Lock()

    def sides(self, statistic: Statistic) -> tuple[Any, Any]:
        """Return both batches, prepared for a statistic once."""
        with self._lock:
            if statistic not in self._sides:
                known = self._origin
                a, b = known.sides(statistic) if known else statistic.prepare(self.A, self.B)
                left = self._rounded(a)
                self._sides[statistic] = (left, left if b is a else self._rounded(b))
            return self._sides[statistic]

    def astype(self, dtype: Any) -> Pairs:
        """Return the same pairs in another precision; what is prepared here is rounded there."""
        other = Pairs(self.A, None if self.symmetric else self.B, self.stored, dtype, self.hasty)
        other._origin = self
        return other

    def diagonal(self, statistic: Statistic, side: int) -> Array:
        """Return the statistic of each row (0) or column (1) with itself, computed once."""
        with self._lock:
            key = (statistic, 0 if self.symmetric else side)
            if key not in self._diagonals:
                self._diagonals[key] = statistic.diagonal(self.sides(statistic)[side])
            return self._diagonals[key]

    def part_of_stored(self, statistic: Statistic, rows: Index, columns: Index) -> Array | None:
        """Return some rows and columns of a statistic that is stored, else None."""
        whole = self.stored.get(statistic)
        return None if whole is None else whole[rows][:, columns]

    def take(self, rows: Index, columns: Index) -> Pairs:
        """Return the pairs of some rows with some columns, which need no preparation any more."""
        return _TakenPairs(self, rows, columns)

    def _rounded(self, side: Any) -> Any:
        return side.astype(self.dtype) if hasattr(side, "astype") else side

    def row_diagonal(self) -> Values:
        """Return the pairs (x, x) for all rows x."""
        return Diagonal(self, slice(0, self.shape[0]), 0)


class _TakenPairs(Pairs):
    """Some rows and columns of other pairs: prepared sides are taken, not made anew."""

    def __init__(self, whole: Pairs, rows: Index, columns: Index) -> None:
        self._whole, self._rows, self._columns = whole, rows, columns
        self.symmetric = whole.symmetric and rows is columns
        self.shape = (_length(rows), _length(columns))
        self.dtype, self.hasty = whole.dtype, whole.hasty
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

    def diagonal(self, statistic: Statistic, side: int) -> Array:
        return self._whole.diagonal(statistic, side)[(self._rows, self._columns)[side]]

    def part_of_stored(self, statistic: Statistic, rows: Index, columns: Index) -> Array | None:
        return self._whole.part_of_stored(
            statistic, _part(self._rows, rows), _part(self._columns, columns)
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
        self.shape = (_length(rows), _length(columns))
        self.dtype = pairs.dtype

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
        form = getattr(statistic, "as_product", None) if self._pairs.hasty and factor < 0 else None
        if form is None or statistic in self._pairs.stored:
            return super().scaled(statistic, factor)
        out, self._out = self._out, None
        return self._compute(form(factor), out)

    @property
    def left(self) -> Values:
        return Diagonal(self._pairs, self._rows, 0, column=True)

    @property
    def right(self) -> Values:
        return Diagonal(self._pairs, self._columns, 1)

    def _compute(self, statistic: Statistic, out: Array | None = None) -> Array:
        part = self._pairs.part_of_stored(statistic, self._rows, self._columns)
        if part is not None:
            return part
        a, b = self._pairs.sides(statistic)
        return statistic.compute(a.take(self._rows), b.take(self._columns), out)


class Diagonal(Values):
    """The pairs of some points with themselves."""

    def __init__(self, pairs: Pairs, index: Index, side: int, column: bool = False) -> None:
        self._pairs, self._index, self._side, self._column = pairs, index, side, column
        count = _length(index)
        self.shape = (count, 1) if column else (count,)
        self.dtype = pairs.dtype

    def __getitem__(self, statistic: Statistic) -> Array:
        return self._pairs.diagonal(statistic, self._side)[self._index].reshape(self.shape)

    def number(self, position: int) -> int:
        return int(_numbers(self._index)[position])

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


class Evaluator:
    """A formula (a kernel, or the derivative of one) on all pairs of two batches of points."""

    def __init__(
        self,
        kernel: Kernel,
        pairs: Pairs,
        formula: Formula | None = None,
        threads: int | None = None,
    ) -> None:
        self.kernel, self.pairs = kernel, pairs
        self.threads = _parallel.thread_count(threads)
        self._formula = formula or kernel.evaluate
        # A derivative may overflow where the kernel itself cannot.
        self._bounded = formula is None and kernel.bounded
        self._uses = Counter(kernel.statistics()) if formula is None else {}

    def dense(self, dtype: Any = None) -> Array:
        """Return the whole matrix; where rows and columns are one batch, exactly symmetric."""
        shape = self.pairs.shape
        out: Array = np.empty(shape, dtype=dtype or self._result_dtype())
        self.fill(out, slice(0, shape[0]), slice(0, shape[1]))
        return out

    def fill(self, out: Array, rows: Index, columns: Index) -> None:
        """Write the values of some rows and columns into ``out``."""
        n = self.pairs.shape[0]
        mirror = self.pairs.symmetric and _is_all(rows, n) and _is_all(columns, n)

        def task(tile: tuple[slice, slice]) -> None:
            i, j = tile
            # Computed in memory of its own, which stays in the cache, and then written once.
            block = self.values(_part(rows, i), _part(columns, j))
            if mirror and i == j:
                _fast.pairwise.mirror_upper(block)
            out[i, j] = block
            if mirror and i != j:
                _fast.pairwise.write_transposed(block, out[j, i])

        self._prepare()
        tiles = _triangle(n) if mirror else _rectangle(out.shape[0], out.shape[1], self.threads)
        _parallel.run(task, tiles, self.threads if out.size > _SMALL else 1)

    def multiply(self, V: Array) -> Array:
        """Return K @ V, of which only a few blocks exist at any time.

        Each block of a symmetric K serves twice, above and below the diagonal. The sums are taken
        in an order that does not depend on the number of threads.
        """
        n, m = self.pairs.shape
        self._prepare()
        if self.pairs.symmetric and _BANDS * V.size <= _PARTIAL_SUMS:
            return self._multiply_symmetric(V)
        out = np.zeros((n, V.shape[1]), dtype=np.result_type(self._result_dtype(), V))

        def task(i: slice) -> None:
            for j in _cut(m, WIDE_TILE[1]):
                out[i] += self.values(i, j) @ V[j]

        _parallel.run(task, _cut(n, WIDE_TILE[0]), self.threads)
        return out

    def values(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        """Return the values of one block, checked to be finite; in ``out`` where that helps."""
        _parallel.check_stopped()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            block = self._formula(Block(self.pairs, rows, columns, self._uses, out))
            healthy = self._bounded or np.isfinite(np.add.reduce(block, axis=None))
        if not healthy:
            self._refuse_overflow(block, rows, columns)
        return block

    def exponents(self) -> tuple[Array, Array] | None:
        """Return A and B with exp(AB) for the values, of kernels and data that allow it."""
        if self.kernel.as_exponential is None or self.pairs.stored:
            return None
        statistic, factor = self.kernel.as_exponential
        as_product = getattr(statistic, "as_product", None)
        if as_product is None or factor >= 0:
            return None
        product = as_product(factor)
        factors: tuple[Array, Array] | None = product.factors(*self.pairs.sides(product))
        return factors

    def diagonal(self) -> Array:
        """Return the values of each row with itself."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            values = self._formula(self.pairs.row_diagonal())
        if not np.isfinite(values).all():
            first = int(np.flatnonzero(~np.isfinite(values))[0])
            one = slice(first, first + 1)
            self._refuse_overflow(values[one, None], one, one)
        return values.astype(self._result_dtype(), copy=False)

    def _multiply_symmetric(self, V: Array) -> Array:
        n = self.pairs.shape[0]
        tiles = _cut(n, _band(n))
        dtype = np.result_type(self._result_dtype(), V)
        partial = [np.zeros((n - i.start, V.shape[1]), dtype=dtype) for i in tiles]

        def task(number: int) -> None:
            i, sums = tiles[number], partial[number]
            for rows in _cut(i.stop - i.start, TILE, i.start):
                for columns in [rows, *_cut(n - rows.stop, TILE, rows.stop)]:
                    block = self.values(rows, columns)
                    sums[_shift(rows, i.start)] += block @ V[columns]
                    if columns != rows:
                        sums[_shift(columns, i.start)] += block.T @ V[rows]

        _parallel.run(task, range(len(tiles)), self.threads)
        out = np.zeros((n, V.shape[1]), dtype=dtype)
        for i, sums in zip(tiles, partial, strict=True):
            out[i.start :] += sums
        return out

    def _prepare(self) -> None:
        """Prepare the sides before threads ask for them; hasty pairs may use other statistics."""
        if self.pairs.hasty:
            return
        for statistic in set(self.kernel.statistics()) - set(self.pairs.stored):
            self.pairs.sides(statistic)

    def _result_dtype(self) -> np.dtype[Any]:
        return np.dtype(self.pairs.dtype)

    def _refuse_overflow(self, block: Array, rows: Index, columns: Index) -> None:
        bad = np.argwhere(~np.isfinite(block))
        if not len(bad):
            return
        i, j = (int(_numbers(index)[at]) for index, at in zip((rows, columns), bad[0], strict=True))
        raise NumericalOverflow(
            f"{self.kernel}: the value of row {i} and column {j} is not a finite number. Scale the "
            "data, lower the degree or the bandwidth, or normalise the kernel."
        )


def _length(index: Index) -> int:
    return index.stop - index.start if isinstance(index, slice) else len(index)


def _numbers(index: Index) -> Any:
    return range(index.start, index.stop) if isinstance(index, slice) else index


def _part(index: Index, part: Index) -> Index:
    if isinstance(index, slice):
        return _shift(part, -index.start) if isinstance(part, slice) else part + index.start
    return index[part]


def _shift(part: slice, by: int) -> slice:
    return slice(part.start - by, part.stop - by)


def _is_all(index: Index, count: int) -> bool:
    return isinstance(index, slice) and index == slice(0, count)


def _cut(count: int, size: int, start: int = 0) -> list[slice]:
    return [slice(start + i, start + min(i + size, count)) for i in range(0, count, size)]


def _band(n: int) -> int:
    """Return the rows of one task of a symmetric product: few tasks, so few partial sums."""
    return max(_side(n), -(-n // _BANDS))


def _triangle(n: int) -> Iterator[tuple[slice, slice]]:
    """Cut the upper triangle of an n × n matrix into square tiles."""
    parts = _cut(n, _side(n))
    return ((i, j) for at, i in enumerate(parts) for j in parts[at:])


def _side(n: int) -> int:
    """Return the side of a tile: small matrices are cut finer, so that all threads have work.

    It is a multiple of 16: compiled code takes that many series or strings at once.
    """
    return max(32, min(TILE, -(-n // 80) * 16))


def _rectangle(n: int, m: int, threads: int) -> Iterable[tuple[slice, slice]]:
    """Cut an n × m matrix into tiles that fit the cache; few rows are cut along the columns."""
    height = max(1, min(WIDE_TILE[0], n))
    width = max(WIDE_TILE[1], WIDE_TILE[0] * WIDE_TILE[1] // height)
    if n <= height:
        width = min(width, max(256, -(-m // (2 * threads))))
    return ((i, j) for i in _cut(n, height) for j in _cut(m, width))
