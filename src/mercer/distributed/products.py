"""Products of kernel values with landmarks, spread over the workers that have the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mercer._typing import Array
from mercer.gram.chunks import Chunk, Chunks, even_starts, thinned
from mercer.gram.passes import PiecewiseProducts, Progress, Rule, Squared, Swept, Weighting
from mercer.gram.products import StreamedProducts
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points

if TYPE_CHECKING:
    from mercer.distributed.rows import DistributedChunks


class DistributedProducts(PiecewiseProducts):
    """Products whose terms are computed where the rows are; sums of them come here.

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

    def sweep(
        self,
        V: Array,
        rule: Rule,
        precise: bool = False,
        whitener: Array | None = None,
        done: int = 0,
        start: Swept | None = None,
        progress: Progress | None = None,
    ) -> Swept:
        swept: Swept = self._sum(_sweep, (V, rule, precise, whitener), done)
        self.evaluations += self.rows * (self._landmarks + (whitener is not None))
        return swept if start is None else start + swept

    def square(
        self, V: Array, weighting: Weighting, R: Array, share: float = 1.0, precise: bool = False
    ) -> Array:
        squared: Squared = self._sum(_square, (V, weighting, R, share, precise))
        self.evaluations += squared.rows * self._landmarks
        return squared.sums * (self.rows / squared.rows)

    def _sum(self, function: Any, request: tuple[Any, ...], done: int = 0) -> Any:
        pieces = self.chunks.pieces[done:]
        asked, side = self.cluster.put(request), self._side
        firsts = [int(start) for start in self.chunks.starts[done:-1]]
        many = len(pieces)
        parts = self.cluster.map(function, pieces, firsts, [side] * many, [asked] * many)
        return self.cluster.fetch(self.cluster.total(parts))


@dataclass(frozen=True, eq=False)
class _Side:
    """What a product needs to know besides the rows."""

    kernel: Kernel
    landmarks: Points
    constant: bool

    def products(self, chunk: Chunk) -> StreamedProducts:
        """Return the products on one piece, on one thread: Dask runs several at a time."""
        return StreamedProducts(self.kernel, self.landmarks, _One(chunk), self.constant, threads=1)


class _One(Chunks):
    """A single piece."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self.starts = even_starts(len(chunk), len(chunk))

    def read(self, number: int) -> Chunk:
        return self._chunk


def _sweep(chunk: Chunk, first: int, side: _Side, request: tuple[Any, ...]) -> Swept:
    V, rule, precise, whitener = request
    return side.products(chunk).sweep_chunk(chunk, V, rule, precise, whitener)


def _square(chunk: Chunk, first: int, side: _Side, request: tuple[Any, ...]) -> Squared:
    V, weighting, R, share, precise = request
    some = thinned(chunk, first, share)
    return Squared(side.products(chunk).square_rows(some, V, weighting, R, precise), len(some))
