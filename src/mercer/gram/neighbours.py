"""The graph of nearest neighbours in the distance of a kernel, and its Laplacian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, Dtype, IntArray
from mercer.exceptions import InvalidParameter
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.held import HeldGram

WEIGHTS = ("heat", "binary")
_TILE = 256
"""Rows and columns of a block: in float64 it is half a megabyte, an L2 cache."""
_SMALL = 2_048
"""Rows up to which a matrix is held in float64: 16 MB for its triangle."""
_SHARE = 2
"""The matrix may take this part of the memory that is free."""


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """A symmetric graph on points: two are joined where one is among the nearest of the other.

    Attributes
    ----------
    weights : sparse array of shape (n, n)
        The weight of each edge, nothing on the diagonal.
    """

    weights: Any

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    def components(self) -> IntArray:
        """Return for each point the number of its connected component, from 0."""
        _, labels = csgraph.connected_components(self.weights, directed=False)
        return np.asarray(labels, dtype=np.intp)

    def laplacian(self, normalized: bool = True) -> Any:
        """Return L = D − W, or L = I − D^(−½) W D^(−½), as a sparse array.

        fᵀLf = ½ Σ wᵢⱼ (fᵢ − fⱼ)², with fᵢ/√dᵢ in place of fᵢ if normalised.
        """
        degrees = np.asarray(self.weights.sum(axis=1)).ravel()
        diagonal = degrees
        W = self.weights
        if normalized:
            there = degrees > 0
            scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=there)
            W = sparse.diags_array(scale) @ W @ sparse.diags_array(scale)
            diagonal = there.astype(np.float64)
        return sparse.csr_array(sparse.diags_array(diagonal) - W)


def neighbour_graph(
    gram: GramMatrix, neighbours: int = 10, weights: str = "heat"
) -> NeighbourGraph:
    """Join each point to its nearest ones in d²(x, z) = k(x, x) − 2k(x, z) + k(z, z).

    Only blocks of the matrix exist at any time, each computed once; no distance matrix does.

    Parameters
    ----------
    gram : GramMatrix
        Of the points with themselves.
    neighbours : int
        How many nearest points each one is joined to. The graph is made symmetric, so a point may
        have more.
    weights : {"heat", "binary"}
        exp(−d²/m) with the mean m of d² over all pairs of nearest neighbours, or 1 for each edge.
    """
    search = NeighbourSearch(gram.diag(), neighbours, weights)
    n = gram.shape[0]
    parts = [slice(i, min(i + _TILE, n)) for i in range(0, n, _TILE)]
    pairs = [(i, j) for at, i in enumerate(parts) for j in parts[at:]]

    def task(pair: tuple[slice, slice]) -> None:
        i, j = pair
        search.add_block(i, j, gram.block(i, j))

    _parallel.run(task, pairs, _parallel.thread_count())
    return search.graph()


def held_with_graph(
    gram: Gram, neighbours: int, weights: str, dtype: Dtype
) -> tuple[HeldGram, NeighbourGraph]:
    """Hold a matrix in some precision and find its graph, in one pass over its values."""
    search = NeighbourSearch(gram.diag(), neighbours, weights)
    held = HeldGram(gram, dtype, search.add_block)
    return held, search.graph()


def held_precision(n: int, cheap: bool) -> np.dtype[Any] | None:
    """Return the precision in which half of an n × n matrix is held; None where it does not fit.

    Values of an expensive kernel are held in float64, so that none is computed twice.
    """
    there = _memory.available_bytes()
    room = np.inf if there is None else there / _SHARE
    if 4 * n**2 <= room and (n <= _SMALL or not cheap):
        return np.dtype(np.float64)
    return np.dtype(np.float32) if 2 * n**2 <= room else None


class NeighbourSearch:
    """Finds the nearest points of each point while the blocks of a kernel matrix pass by.

    The blocks on and above the diagonal may come in any order, and from several threads at once.
    """

    def __init__(self, diagonal: Array, neighbours: int, weights: str) -> None:
        if weights not in WEIGHTS:
            raise InvalidParameter(f"weights={weights!r} has to be one of {', '.join(WEIGHTS)}.")
        if neighbours < 1:
            raise InvalidParameter(f"neighbours={neighbours} has to be 1 or more.")
        self.diagonal = np.asarray(diagonal, dtype=np.float64)
        self.weights = weights
        self.count = min(neighbours, len(self.diagonal) - 1)
        # One set of lists for each thread, since a point is met by several blocks at once.
        self._lists: list[_Lists] = []
        self._bounds: Array = np.full(len(self.diagonal), np.inf)

    def add_block(self, i: slice, j: slice, values: Array) -> None:
        """Take in the values of the rows i and the columns j, and those of j and i with them."""
        if not self.count:
            return
        block = np.ascontiguousarray(values, dtype=np.float64)
        try:
            lists = self._lists.pop()
        except IndexError:
            lists = _Lists(len(self.diagonal), self.count)
        _fast.neighbours.nearest(
            block, self.diagonal, i.start, j.start, lists.squares, lists.chosen, self._bounds
        )
        self._lists.append(lists)

    def graph(self) -> NeighbourGraph:
        """Return the graph, once all blocks were seen."""
        n, count = len(self.diagonal), self.count
        first, *others = self._lists or [_Lists(n, count)]
        for other in others:
            _fast.neighbours.merge(first.squares, first.chosen, other.squares, other.chosen)
        squares = np.maximum(first.squares + self.diagonal[:, None], 0.0)
        values = np.ones(n * count)
        if self.weights == "heat":
            mean = float(squares.mean()) if squares.size else 0.0
            values = np.exp(-squares.ravel() / (mean if mean > 0 else 1.0))
            # An edge that underflows is still an edge.
            np.maximum(values, np.finfo(np.float64).tiny, out=values)
        starts = count * np.arange(n + 1)
        one_way = sparse.csr_array((values, first.chosen.ravel(), starts), shape=(n, n))
        return NeighbourGraph(sparse.csr_array(one_way.maximum(one_way.T)))


class _Lists:
    """The nearest points of each point among those met so far, ascending."""

    def __init__(self, n: int, count: int) -> None:
        self.squares: Array = np.full((n, count), np.inf)
        self.chosen = np.full((n, count), -1, dtype=np.int64)
