"""Data in pieces: what a machine sees of data that need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mercer._typing import Array, Index, IntArray, Objects, SampleWeights, Targets
from mercer.exceptions import InvalidInput
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import as_narwhals, is_frame, row_count
from mercer.kernels.points import Points, is_points

if TYPE_CHECKING:
    from mercer.landmarks.passes import PiecewisePasses

CHUNK_ROWS = 32_768
"""Rows of a piece: 16 MB of kernel values with a hundred landmarks, as numbers of float32."""
_FEW = 64
"""Rows that show what data look like."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows: objects, targets (None where there are none) and weights (None for ones).

    ``first`` is the number of the first row in all the data, for messages. Numbers are float64:
    blocks of kernel values are rounded later, from distances that were not.

    Attributes
    ----------
    X : data
        The objects.
    y : array or None
        Their targets.
    weights : array or None
        Their weights.
    first : int
        The number of the first row in all the data.

    Examples
    --------
    >>> from mercer import ArrayChunks
    >>> chunk = ArrayChunks([[1.0], [2.0], [3.0]], [0, 1, 1], size=2).read(1)
    >>> chunk.X, chunk.y, chunk.first
    ([[3.0]], array([1]), 2)
    """

    X: Objects
    y: Targets = None
    weights: Array | None = None
    first: int = 0

    def __post_init__(self) -> None:
        if getattr(self.X, "dtype", None) == np.float32:
            object.__setattr__(self, "X", self.X.astype(np.float64))

    def __len__(self) -> int:
        return row_count(self.X)

    def encode(self, kernel: Kernel) -> Points:
        """Return the objects as points; errors say where in all the data they are."""
        try:
            return kernel.encode(self.X)
        except InvalidInput as error:
            if not self.first:
                raise
            kind = type(error)
            raise kind(
                f"In the rows from number {self.first:,} on, counted anew: {error}"
            ) from None

    def take(self, index: Index) -> Chunk:
        """Return some of the rows."""
        y = None if self.y is None else self.y[index]
        weights = None if self.weights is None else self.weights[index]
        return Chunk(take_rows(self.X, index), y, weights)


Answer = TypeVar("Answer")


class Chunks:
    """Rows of data in pieces that can be read again and again, in any order.

    ``starts`` has the first row of each piece and, last, the number of rows. A class of one's own
    sets it and defines ``read``.

    Examples
    --------
    Rows that a function makes, never all at once:

    >>> import numpy as np
    >>> from mercer import Chunk, Chunks
    >>> class Squares(Chunks):
    ...     starts = np.array([0, 2, 4])
    ...
    ...     def read(self, piece):
    ...         x = np.arange(self.starts[piece], self.starts[piece + 1], dtype=float)
    ...         return Chunk(x[:, None], x**2, first=int(self.starts[piece]))
    >>> Squares().read(1).y
    array([4., 9.])
    """

    starts: IntArray

    @property
    def rows(self) -> int:
        """The number of rows of all pieces."""
        return int(self.starts[-1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def read(self, number: int) -> Chunk:
        """Return one piece; its arrays live in memory and are the reader's own."""
        raise NotImplementedError

    def ahead(
        self, numbers: Iterable[int], work: Callable[[Chunk], Any] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield pieces with their numbers; the next one is read while one is worked on.

        With ``work`` its result comes in place of the piece: what the reader can do by the way.
        """

        def fetch(number: int) -> Any:
            chunk = self.read(number)
            return chunk if work is None else work(chunk)

        wanted = list(numbers)
        if len(wanted) == 1:  # there is nothing to read meanwhile
            yield wanted[0], fetch(wanted[0])
            return
        with ThreadPoolExecutor(1, thread_name_prefix="mercer-read") as reader:
            waiting = None
            for number in wanted:
                coming = number, reader.submit(fetch, number)
                if waiting is not None:
                    yield waiting[0], waiting[1].result()
                waiting = coming
            if waiting is not None:
                yield waiting[0], waiting[1].result()

    def first(self) -> Chunk:
        """Return a few rows, to see what they look like."""
        return self.read(0).take(slice(0, _FEW))

    def each(self, function: Callable[[Chunk], Answer]) -> list[Answer]:
        """Return what a function says of each piece: something small, since pieces may be far."""
        return [function(chunk) for _, chunk in self.ahead(range(len(self)))]

    def mapped(self, function: Callable[[Chunk], Chunk]) -> Chunks:
        """Return the pieces as a function changes them, with as many rows each."""
        return _Mapped(self, function)

    def sample(self, count: int, random: np.random.Generator) -> list[Chunk]:
        """Return rows drawn without replacement, in their order; all where they are few."""
        if count >= self.rows:
            return self.at(np.arange(self.rows))
        return self.at(np.sort(random.choice(self.rows, count, replace=False, shuffle=False)))

    def at(self, rows: IntArray) -> list[Chunk]:
        """Return some rows, given by their numbers in rising order."""
        places = self.places(rows)
        return [chunk.take(places[number]) for number, chunk in self.ahead(places)]

    def places(self, rows: IntArray) -> dict[int, IntArray]:
        """Return in which pieces some rows are, numbered in rising order, and where there."""
        edges = np.searchsorted(rows, self.starts)
        return {
            number: rows[edges[number] : edges[number + 1]] - self.starts[number]
            for number in range(len(self))
            if edges[number] < edges[number + 1]
        }

    def passes(
        self, kernel: Kernel, landmarks: Points, constant: bool, hold: int = 0
    ) -> PiecewisePasses:
        """Return passes over the kernel values with landmarks, computed where the rows are.

        ``hold`` bytes of this machine may keep kernel values between passes.
        """
        from mercer.landmarks.block_passes import BlockPasses

        return BlockPasses(kernel, landmarks, self, constant, hold=hold)


def chunks_in(X: Objects) -> Chunks | None:
    """Return data that come in pieces already, None for any other form."""
    return X if isinstance(X, Chunks) else None


class _Mapped(Chunks):
    """Pieces that are changed when they are read."""

    def __init__(self, chunks: Chunks, function: Callable[[Chunk], Chunk]) -> None:
        self._chunks, self._function = chunks, function
        self.starts = chunks.starts

    def read(self, number: int) -> Chunk:
        return self._function(self._chunks.read(number))


class ArrayChunks(Chunks):
    """Pieces of arrays, memory maps, sparse matrices, frames or lists.

    Parameters
    ----------
    X : data
        The objects.
    y : array, optional
        The targets.
    weights : array, optional
        The weights of the rows.
    size : int
        Rows of a piece.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ArrayChunks
    >>> chunks = ArrayChunks(np.arange(10.0)[:, None], size=4)
    >>> [len(chunks.read(piece)) for piece in range(3)]
    [4, 4, 2]
    """

    def __init__(
        self, X: Objects, y: Targets = None, weights: SampleWeights = None, size: int = CHUNK_ROWS
    ) -> None:
        rows = row_count(X)
        if rows == 0:
            raise InvalidInput("X has no rows; at least one object is needed.")
        for name, other in (("y", y), ("weights", weights)):
            if other is not None and len(other) != rows:
                raise InvalidInput(f"X has {rows:,} rows and {name} has {len(other):,}.")
        self.X, self.y, self.weights = X, y, weights
        self.starts = even_starts(rows, size)

    def read(self, number: int) -> Chunk:
        part = slice(int(self.starts[number]), int(self.starts[number + 1]))
        X = take_rows(self.X, part)
        if isinstance(X, np.memmap):
            X = np.array(X)  # read now, by the thread that reads
        y = None if self.y is None else np.asarray(self.y[part])
        weights = None if self.weights is None else np.asarray(self.weights[part])
        return Chunk(X, y, weights, part.start)


def even_starts(rows: int, size: int) -> IntArray:
    """Return the first rows of pieces of equal size, and the number of rows."""
    return np.append(np.arange(0, rows, size), rows).astype(np.intp)


def take_rows(X: Objects, index: Index) -> Objects:
    """Return some rows (a slice, or numbers) of a batch in the form that it has."""
    if is_points(X):
        return X.take(index)
    if is_frame(X):
        return as_narwhals(X)[index].to_native()
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "shape") or isinstance(index, slice):
        return X[index]
    return [X[i] for i in index]


def thinned(chunk: Chunk, first: int, share: float) -> Chunk:
    """Return a random share of the rows of a piece that begins with row ``first``, at least one."""
    if share >= 1:
        return chunk
    some = np.flatnonzero(_draws(first, len(chunk)) < share)
    return chunk.take(some if some.size else slice(0, 1))


def _draws(first: int, count: int) -> Array:
    """Return random numbers that depend on the place of a row alone, however rows are cut."""
    random = np.random.Philox(key=20170529)
    random.advance(first // 4)  # four numbers at each step of its counter
    return np.random.Generator(random).random(first % 4 + count)[first % 4 :]


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Return the rows of several pieces as one."""
    first = chunks[0]
    if len(chunks) == 1:
        return first
    y = None if first.y is None else np.concatenate([chunk.y for chunk in chunks])
    weights = None
    if first.weights is not None:
        weights = np.concatenate([chunk.weights for chunk in chunks if chunk.weights is not None])
    return Chunk(join_rows([chunk.X for chunk in chunks]), y, weights, first.first)


def join_rows(parts: list[Objects]) -> Objects:
    """Return batches of one form as one batch."""
    from scipy import sparse

    first = parts[0]
    if len(parts) == 1:
        return first
    if is_points(first):
        return reduce(Points.join, parts)
    if sparse.issparse(first):
        return sparse.vstack(parts, format="csr")
    if is_frame(first):
        import narwhals.stable.v2 as nw

        return nw.concat([as_narwhals(part) for part in parts]).to_native()
    if hasattr(first, "shape"):
        return np.concatenate(parts)
    return [item for part in parts for item in part]
