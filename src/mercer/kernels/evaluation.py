"""Kernel values of all pairs of two batches of points: block by block, on several threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from mercer import _fast, _parallel
from mercer._typing import Array, Index
from mercer.exceptions import NumericalOverflow
from mercer.kernels.pairs import (  # pairs and values are for all who evaluate
    Block as Block,
    Diagonal as Diagonal,
    Pairs as Pairs,
    Values as Values,
    index_numbers,
    index_part,
    shifted,
)

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

TILE = 512
"""Side of a square block: in float64 it is 2 MB, about the size of an L2 cache."""
WIDE_TILE = (256, 1024)
"""Rows and columns of a block where rows are long: as many bytes as a square one."""
_TALLEST = 2048
"""Most rows of a block where rows are short: with 20 to 2,000 columns as many values as a wide
block has took least, in 2,048 rows at most."""
_LEAST_SIDE = 128
"""Least side of a square block: with less, the calls for a block cost more than its values."""
_SMALL = 128 * 128
"""Values up to which threads cost more than they gain."""
_ONE_PIECE, _ONE_PIECE_WORK = 400 * 400, 1 << 22
"""Values, and multiplications for all of them, that cost less in one piece than to share out: half
a millisecond."""
_TINY = 1024
"""Values that nobody would share out, whatever they cost: blocks have no fewer."""
_ONE_BLAS_THREAD = 1 << 18
"""Multiplications up to which OpenBLAS keeps to one thread by itself."""
_BANDS = 32
"""Most partial sums of a symmetric product, which bound its memory."""
_PARTIAL_SUMS = 1 << 25
"""Numbers in all partial sums (256 MB) beyond which blocks are computed twice instead."""

Formula: TypeAlias = Callable[[Values], Array]


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
        self._threads = threads
        self._formula = formula or kernel.evaluate
        # A derivative may overflow where the kernel itself cannot.
        self._bounded = formula is None and kernel.bounded
        self.statistics = kernel.statistics()
        self._uses = Counter(self.statistics) if formula is None else {}

    @property
    def threads(self) -> int:
        """The number of threads that share the work."""
        return _parallel.thread_count(self._threads)

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        """Return the whole matrix; where rows and columns are one batch, exactly symmetric."""
        shape = self.pairs.shape
        block = self._one_piece()
        if block is not None:
            if self.pairs.symmetric:
                _fast.pairwise.mirror_upper(block)
            return block.astype(dtype or self.pairs.dtype, copy=False)
        out: Array = np.empty(shape, dtype=dtype or self.pairs.dtype)
        self.fill(out, slice(0, shape[0]), slice(0, shape[1]))
        return out

    def fill(self, out: Array, rows: Index, columns: Index) -> None:
        """Write the values of some rows and columns into ``out``."""
        n = self.pairs.shape[0]
        mirror = self.pairs.symmetric and _is_all(rows, n) and _is_all(columns, n)

        def task(tile: tuple[slice, slice]) -> None:
            i, j = tile
            # Computed in memory of its own, which stays in the cache, and then written once.
            block = self.values(index_part(rows, i), index_part(columns, j))
            if mirror and i == j:
                _fast.pairwise.mirror_upper(block)
            out[i, j] = block
            if mirror and i != j:
                _fast.pairwise.write_transposed(block, out[j, i])

        self.prepare()
        tiles = _triangle(n) if mirror else _rectangle(out.shape[0], out.shape[1], self.threads)
        _parallel.run(task, tiles, self.threads if out.size > _SMALL else 1)

    def multiply(self, V: Array) -> Array:
        """Return K @ V, of which only a few blocks exist at any time.

        Each block of a symmetric K serves twice, above and below the diagonal. The sums are taken
        in an order that does not depend on the number of threads.
        """
        n, m = self.pairs.shape
        block = self._one_piece()
        if block is not None:
            product: Array = block @ V
            return product.astype(np.result_type(self.pairs.dtype, V), copy=False)
        self.prepare()
        if self.pairs.symmetric and _BANDS * V.size <= _PARTIAL_SUMS:
            return self._multiply_symmetric(V)
        out = np.zeros((n, V.shape[1]), dtype=np.result_type(self.pairs.dtype, V))

        def task(i: slice) -> None:
            for j in _cut(m, WIDE_TILE[1]):
                out[i] += self.values(i, j) @ V[j]

        height = max(WIDE_TILE[0], min(_TALLEST, WIDE_TILE[0] * WIDE_TILE[1] // m))
        _parallel.run(task, _cut(n, height), self.threads)
        return out

    def values(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        """Return the values of one block, checked to be finite; in ``out`` where that helps."""
        _parallel.check_stopped()
        return self._checked(rows, columns, out)

    def _checked(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            block = self._formula(Block(self.pairs, rows, columns, self._uses, out))
            healthy = self._bounded or np.isfinite(np.add.reduce(block, axis=None))
        if not healthy:
            self._refuse_overflow(block, rows, columns)
        return block

    def _one_piece(self) -> Array | None:
        """Return all values where they cost less than to share them out, else None."""
        n, m = self.pairs.shape
        if n * m > _ONE_PIECE:
            return None
        work = 0.0
        for statistic in self.statistics if n * m > _TINY else ():
            work += n * m * statistic.cost(self.pairs.source)
        if work > _ONE_PIECE_WORK:
            return None
        if work <= _ONE_BLAS_THREAD:
            block = self._checked(slice(0, n), slice(0, m))
        else:
            with _parallel.one_blas_thread():
                block = self._checked(slice(0, n), slice(0, m))
        return block if block.base is None else block.copy()

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
        return values.astype(self.pairs.dtype, copy=False)

    def _multiply_symmetric(self, V: Array) -> Array:
        n = self.pairs.shape[0]
        tiles = _cut(n, _band(n))
        dtype = np.result_type(self.pairs.dtype, V)
        partial = [np.zeros((n - i.start, V.shape[1]), dtype=dtype) for i in tiles]

        def task(number: int) -> None:
            i, sums = tiles[number], partial[number]
            for rows in _cut(i.stop - i.start, TILE, i.start):
                for columns in [rows, *_cut(n - rows.stop, TILE, rows.stop)]:
                    block = self.values(rows, columns)
                    sums[shifted(rows, i.start)] += block @ V[columns]
                    if columns != rows:
                        sums[shifted(columns, i.start)] += block.T @ V[rows]

        _parallel.run(task, range(len(tiles)), self.threads)
        out = np.zeros((n, V.shape[1]), dtype=dtype)
        for i, sums in zip(tiles, partial, strict=True):
            out[i.start :] += sums
        return out

    def prepare(self) -> None:
        """Prepare the sides before threads ask for them; products stand for some statistics."""
        if self.pairs.as_products:
            return
        for statistic in set(self.statistics) - set(self.pairs.stored):
            self.pairs.sides(statistic)

    def _refuse_overflow(self, block: Array, rows: Index, columns: Index) -> None:
        bad = np.argwhere(~np.isfinite(block))
        if not len(bad):
            return
        i, j = (
            int(index_numbers(index)[at]) for index, at in zip((rows, columns), bad[0], strict=True)
        )
        raise NumericalOverflow(
            f"{self.kernel}: the value of row {i} and column {j} is not a finite number. Scale the "
            "data, lower the degree or the bandwidth, or normalise the kernel."
        )


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
    return max(_LEAST_SIDE, min(TILE, -(-n // 80) * 16))


def _rectangle(n: int, m: int, threads: int) -> Iterable[tuple[slice, slice]]:
    """Cut an n × m matrix into tiles that fit the cache; few rows are cut along the columns."""
    height = max(1, min(WIDE_TILE[0], n))
    width = max(WIDE_TILE[1], WIDE_TILE[0] * WIDE_TILE[1] // height)
    if n <= height:
        width = min(width, max(256, -(-m // (2 * threads))))
    return ((i, j) for i in _cut(n, height) for j in _cut(m, width))
