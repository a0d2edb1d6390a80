"""What manifold regularisation needs of a kernel matrix, gathered in one pass over its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.held import HeldGram
from mercer.gram.neighbours import NeighbourGraph, NeighbourSearch, neighbour_graph
from mercer.gram.operator import Gram, GramMatrix
from mercer.gram.pivoted import PivotedFactor, pivoted_cholesky

SMALL = 2_048
"""Rows up to which the matrix is held in float64, and one thread does everything."""
_SHARE = 2
"""The matrix may take this part of the memory that is free."""


class Neighbourhood:
    """A kernel matrix, held where it fits, with the graph of nearest neighbours."""

    def __init__(
        self, gram: GramMatrix, graph: NeighbourGraph, held: HeldGram | None = None
    ) -> None:
        self.gram, self.graph, self.held = gram, graph, held

    @classmethod
    def of(cls, gram: GramMatrix, neighbours: int, weights: str) -> Neighbourhood:
        """Find the graph; the matrix is computed anew for each product."""
        return cls(gram, neighbour_graph(gram, neighbours, weights))

    @classmethod
    def holding(cls, gram: Gram, neighbours: int, weights: str, dtype: Any) -> Neighbourhood:
        """Find the graph and hold the matrix in some precision, in one pass over its values."""
        search = NeighbourSearch(gram.diag(), neighbours, weights)
        held = HeldGram(gram, dtype, search.look)
        return cls(gram, search.graph(), held)

    def multiply(self, V: Array) -> Array:
        """Return KV, in the precision in which K is held."""
        return (self.gram if self.held is None else self.held) @ V

    def exact(self, V: Array) -> Array:
        """Return KV in float64."""
        return self._fine @ V

    def span(self, stiffness: float) -> PivotedFactor:
        """Choose points that span what matters of K.

        ``stiffness`` bounds how much a value at a point weighs against the norm of a function. A
        stiff problem pays for a larger subspace, which saves products with K.
        """
        most = max(64.0, 8 * self.gram.shape[0] ** 0.5)
        rank = int(min(100 * stiffness**0.5, most))
        # Two BLAS take turns on small matrices: threads of one would wait busily for the other.
        with _parallel.one_blas_thread():
            return pivoted_cholesky(self, rank, np.random.default_rng(0), enough=1 / stiffness)

    def diag(self) -> Array:
        """Return the diagonal of K."""
        return self.gram.diag()

    def rows(self, index: IntArray) -> Array:
        """Return rows of K in float64."""
        return self._fine.rows(index)

    def square(self, index: IntArray) -> Array:
        """Return rows and columns of K in float64."""
        return self._fine.square(index)

    @property
    def _fine(self) -> GramMatrix:
        """The matrix in float64: as it is held, or computed anew."""
        if self.held is None or self.held.dtype != np.float64:
            return self.gram
        return self.held


def precision(n: int, cheap: bool) -> np.dtype[Any] | None:
    """Return the precision in which half of an n × n matrix is held; None where it does not fit.

    Values of an expensive kernel are held in float64, so that none is computed twice.
    """
    there = _memory.available_bytes()
    room = np.inf if there is None else there / _SHARE
    if 4 * n**2 <= room and (n <= SMALL or not cheap):
        return np.dtype(np.float64)
    return np.dtype(np.float32) if 2 * n**2 <= room else None
