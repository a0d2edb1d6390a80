"""Passes spread over the workers that have the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.chunks import Chunk, Chunks, even_starts, thinned
from mercer.landmarks.passes import PassSums, PiecewisePasses, Rule, SquareSums, Weighting

if TYPE_CHECKING:
    from mercer.distributed.pieces import DistributedChunks

Sums = TypeVar("Sums", PassSums, SquareSums)


class WorkerPasses(PiecewisePasses):
    """Passes whose terms are computed where the rows are; sums of them come here.

    The sums are added in a fixed order, so that the result depends neither on the number of
    workers nor on who is lost.

    Parameters
    ----------
    kernel : Kernel
        A settled kernel.
    landmarks : Points
        Encoded by the kernel.
    chunks : DistributedChunks
        The data.
    constant : bool
        Whether the last column of Φ is 1.
    """

    def __init__(
        self,
        kernel: Kernel,
        landmarks: Points,
        chunks: DistributedChunks,
        constant: bool = False,
    ) -> None:
        self.chunks: DistributedChunks = chunks
        self.cluster = chunks.cluster
        self.rows, self.constant = chunks.rows, constant
        self.columns = len(landmarks) + constant
        self._landmarks = len(landmarks)
        self._side = self.cluster.put(_Side(kernel, landmarks, constant))

    def pieces(
        self, V: Array, rule: Rule, precise: bool, whitener: Array | None, done: int = 0
    ) -> Iterator[tuple[int, PassSums]]:
        found: PassSums = self._sum(_chunk_sums, _PassRequest(V, rule, precise, whitener), done)
        self.evaluations += self.rows * (self._landmarks + (whitener is not None))
        yield len(self.chunks), found

    def square(
        self, V: Array, weighting: Weighting, R: Array, share: float = 1.0, precise: bool = False
    ) -> Array:
        squared: SquareSums = self._sum(_square, _SquareRequest(V, weighting, R, share, precise))
        self.evaluations += squared.rows * self._landmarks
        return squared.sums * (self.rows / squared.rows)

    def _sum(
        self, function: Callable[..., Sums], request: _PassRequest | _SquareRequest, done: int = 0
    ) -> Sums:
        pieces = self.chunks.pieces[done:]
        asked, side = self.cluster.put(request), self._side
        firsts = [int(start) for start in self.chunks.starts[done:-1]]
        many = len(pieces)
        parts = self.cluster.map(function, pieces, firsts, [side] * many, [asked] * many)
        total: Sums = self.cluster.fetch(self.cluster.total(parts))
        return total


class _PassRequest(NamedTuple):
    """What :meth:`Passes.sums` was asked for."""

    V: Array
    rule: Rule
    precise: bool
    whitener: Array | None


class _SquareRequest(NamedTuple):
    """What :meth:`Passes.square` was asked for."""

    V: Array
    weighting: Weighting
    R: Array
    share: float
    precise: bool


@dataclass(frozen=True, eq=False)
class _Side:
    """What a pass needs to know besides the rows."""

    kernel: Kernel
    landmarks: Points
    constant: bool

    def passes(self, chunk: Chunk) -> BlockPasses:
        """Return the passes over one piece, on one thread: Dask runs several at a time."""
        return BlockPasses(self.kernel, self.landmarks, _One(chunk), self.constant, threads=1)


class _One(Chunks):
    """A single piece."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self.starts = even_starts(len(chunk), len(chunk))

    def read(self, number: int) -> Chunk:
        return self._chunk


def _chunk_sums(chunk: Chunk, first: int, side: _Side, request: _PassRequest) -> PassSums:
    return side.passes(chunk).sums(*request)


def _square(chunk: Chunk, first: int, side: _Side, request: _SquareRequest) -> SquareSums:
    some = thinned(chunk, first, request.share)
    squares = side.passes(chunk).square_rows(
        some, request.V, request.weighting, request.R, request.precise
    )
    return SquareSums(squares, len(some))
