"""What manifold regularisation needs of a kernel matrix, gathered in one pass over its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _memory
from mercer._typing import Array
from mercer.gram.held import HeldGram
from mercer.gram.neighbours import NeighbourGraph, NeighbourSearch, neighbour_graph
from mercer.gram.operator import Gram, GramMatrix

_SMALL = 2_048
"""Rows up to which the matrix is held in float64."""
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

    def sample(self, stiffness: float) -> Array:
        """Return columns of K at random points, in the precision in which K is held.

        ``stiffness`` bounds how much a value at a point weighs against the norm of a function. A
        stiff problem pays for a larger sample, which saves products with K.
        """
        n = self.gram.shape[0]
        count = min(n, int(min(max(32.0, 10 * stiffness**0.5), 8 * n**0.5)))
        some = np.sort(np.random.default_rng(0).choice(n, count, replace=False))
        return (self.gram if self.held is None else self.held).rows(some).T

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
    if 4 * n**2 <= room and (n <= _SMALL or not cheap):
        return np.dtype(np.float64)
    return np.dtype(np.float32) if 2 * n**2 <= room else None
