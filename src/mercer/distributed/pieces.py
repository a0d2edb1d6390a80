"""Rows of Dask collections, in pieces that stay on the workers."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from functools import reduce
from itertools import pairwise
from secrets import randbits
from typing import TypeVar

import dask
import numpy as np
from dask.base import is_dask_collection

from mercer._typing import Array, IntArray, Objects, SampleWeights, Targets
from mercer.distributed.cluster import Cluster, Task
from mercer.distributed.worker_passes import WorkerPasses
from mercer.exceptions import InvalidInput, InvalidType
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import row_count
from mercer.kernels.points import Points
from mercer.landmarks.chunks import Answer, Chunk, Chunks, join_rows

Piece = TypeVar("Piece", Chunk, Points)


class DistributedChunks(Chunks):
    """Pieces of Dask arrays or data frames; each partition with rows is one.

    The pieces are computed once and stay on the workers, in memory or where Dask spills them.
    Lengths that Dask does not know are counted there.

    Parameters
    ----------
    cluster : Cluster
    X : dask.array.Array or dask.dataframe.DataFrame
        The objects.
    y, weights : Dask collections or arrays, optional
        The targets, and the weights of the rows.
    """

    def __init__(
        self, cluster: Cluster, X: Objects, y: Targets = None, weights: SampleWeights = None
    ) -> None:
        self.cluster = cluster
        parts = partitions(X, "X")
        sides = [
            _beside(side, X, len(parts), name) for side, name in ((y, "y"), (weights, "weights"))
        ]
        made = [
            dask.delayed(_make_chunk, pure=True)(number, part, *(side[number] for side in sides))
            for number, part in enumerate(parts)
        ]
        with cluster.client.as_current():
            pieces = cluster.client.compute(made)
        lengths = np.array(cluster.fetch(cluster.map(len, pieces)), dtype=np.intp)
        if not lengths.sum():
            raise InvalidInput("X has no rows; at least one object is needed.")
        self.pieces = [piece for piece, rows in zip(pieces, lengths, strict=True) if rows]
        self.starts = np.concatenate([[0], np.cumsum(lengths[lengths > 0])]).astype(np.intp)
        cut = [self._cut(side, name) for side, name in ((y, "y"), (weights, "weights"))]
        self.pieces = cluster.map(_placed, self.pieces, list(self.starts[:-1]), *cut)

    def read(self, number: int) -> Chunk:
        chunk: Chunk = self.cluster.fetch(self.pieces[number])
        return chunk

    def first(self) -> Chunk:
        chunk: Chunk = self.at(np.arange(min(64, self.rows)))[0]
        return chunk

    def each(self, function: Callable[[Chunk], Answer]) -> list[Answer]:
        return list(self.cluster.fetch(self.cluster.map(function, self.pieces)))

    def at(self, rows: IntArray) -> list[Chunk]:
        return list(self.cluster.fetch(self.tasks_at(self.pieces, rows)))

    def tasks_at(self, pieces: list[Task], rows: IntArray) -> list[Task]:
        """Return tasks for some rows, in rising order, of things that go with the pieces."""
        places = self.places(rows)
        return self.cluster.map(_take, [pieces[i] for i in places], list(places.values()))

    def passes(
        self, kernel: Kernel, landmarks: Points, constant: bool, hold: int = 0
    ) -> WorkerPasses:
        return WorkerPasses(kernel, landmarks, self, constant)

    def mapped(self, function: Callable[[Chunk], Chunk]) -> DistributedChunks:
        other = copy(self)
        other.pieces = self.cluster.map(function, self.pieces)
        return other

    def _cut(self, side: Targets, name: str) -> list[Array | None]:
        """Return the parts of an array that is here and goes with the rows; else nothing."""
        if side is None or is_dask_collection(side):
            return [None] * len(self)
        values = np.asarray(side)
        if values.ndim == 0 or len(values) != self.rows:
            raise InvalidInput(f"X has {self.rows:,} rows and {name} has shape {values.shape}.")
        return [values[a:b] for a, b in pairwise(self.starts)]


class DistributedPoints:
    """Encoded rows of a Dask collection; ``take`` brings some of them here.

    Each row has an identity of its own, as in :class:`~mercer.kernels.points.Points`.
    """

    def __init__(self, kernel: Kernel, chunks: DistributedChunks) -> None:
        self.chunks, self.cluster = chunks, chunks.cluster
        first = randbits(62)
        ids = [first + int(start) for start in chunks.starts[:-1]]
        kernels = [self.cluster.put(kernel)] * len(ids)
        self.pieces = self.cluster.map(_encode, chunks.pieces, kernels, ids)

    def __len__(self) -> int:
        return self.chunks.rows

    def take(self, rows: IntArray) -> Points:
        """Return some points, in the order asked for."""
        order = np.argsort(rows, kind="stable")
        parts: list[Points] = self.cluster.fetch(self.chunks.tasks_at(self.pieces, rows[order]))
        points = joined(parts)
        back = np.empty(len(rows), dtype=np.intp)
        back[order] = np.arange(len(rows))
        return points.take(back)


def partitions(X: Objects, name: str) -> list[Task]:
    """Return the partitions of a Dask collection as delayed objects, all columns in each."""
    if not is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise InvalidType(
            f"{name} has to be a dask.array or a dask.dataframe, got {type(X).__name__}. For data "
            "in memory: dask.array.from_array(X), or the machine of the same name in mercer."
        )
    if hasattr(X, "chunks"):
        if X.ndim == 0:
            raise InvalidInput(f"{name} is a single number; an array with rows is needed.")
        if any(len(sizes) > 1 for sizes in X.chunks[1:]):
            X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})
    return list(np.asarray(X.to_delayed(), dtype=object).ravel())


def partition_rows(X: Objects) -> list[float]:
    """Return the rows of each partition as far as Dask knows them, else NaN."""
    if hasattr(X, "chunks"):
        return list(X.chunks[0])
    return [math.nan] * int(X.npartitions)


def sample_points(kernel: Kernel, chunks: Chunks, count: int, random_state: int | None) -> Points:
    """Return some rows, encoded."""
    drawn = chunks.sample(count, np.random.default_rng(random_state))
    return kernel.encode(join_rows([chunk.X for chunk in drawn]))


def joined(parts: list[Points]) -> Points:
    """Return points of several batches as one."""
    return reduce(Points.join, parts)


def _beside(side: Targets, X: Objects, count: int, name: str) -> list[Task | None]:
    """Return the partitions of what belongs to the rows of X."""
    if side is None or not is_dask_collection(side):
        return [None] * count
    if hasattr(side, "chunks") and hasattr(X, "chunks") and side.chunks[0] != X.chunks[0]:
        known = not math.isnan(sum(side.chunks[0]) + sum(X.chunks[0]))
        if known:
            if side.shape[0] != X.shape[0]:
                raise InvalidInput(f"X has {X.shape[0]:,} rows and {name} has {side.shape[0]:,}.")
            side = side.rechunk({0: X.chunks[0]})
    parts = partitions(side, name)
    if len(parts) != count:
        raise InvalidInput(
            f"X has {count} partitions and {name} has {len(parts)}, and Dask does not know their "
            "lengths. Cut both alike, or let it count: X.compute_chunk_sizes()."
        )
    return parts


def _make_chunk(number: int, X: Objects, y: Targets, weights: SampleWeights) -> Chunk:
    rows = row_count(X)
    for name, side in (("y", y), ("weights", weights)):
        if side is not None and row_count(side) != rows:
            raise InvalidInput(
                f"Partition {number}: X has {rows:,} rows and {name} has {row_count(side):,}. Cut "
                "both into the same partitions."
            )
    return Chunk(X, _plain(y), _plain(weights))


def _plain(side: Targets) -> Array | None:
    """Return targets or weights as an array; a table of one column as that column."""
    if side is None:
        return None
    values = np.asarray(side)
    one_column = values.ndim == 2 and values.shape[1] == 1 and hasattr(side, "columns")
    return values[:, 0] if one_column else values


def _placed(chunk: Chunk, first: int, y: Array | None, weights: Array | None) -> Chunk:
    """Return a piece that knows its first row, with what was here and belongs to its rows."""
    return Chunk(
        chunk.X,
        chunk.y if y is None else y,
        chunk.weights if weights is None else weights,
        int(first),
    )


def _take(piece: Piece, rows: IntArray) -> Piece:
    return piece.take(rows)


def _encode(chunk: Chunk, kernel: Kernel, first: int) -> Points:
    points = chunk.encode(kernel)
    return Points(points.leaves, first + np.arange(len(points), dtype=np.int64), points.dtype)
