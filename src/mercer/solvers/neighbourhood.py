"""What manifold regularisation needs of a kernel matrix, gathered in one pass over its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.neighbours import NeighbourGraph, neighbour_graph
from mercer.gram.operator import GramMatrix
from mercer.gram.pivoted import PivotedFactor, pivoted_cholesky

SMALL = 2_048
"""Rows up to which the matrix is held in float64, and one thread does everything."""
_BAND = 512
_SHARE = 2
"""The matrix may take this part of the memory that is free."""


class Neighbourhood:
    """A kernel matrix, held where it fits, with the graph of nearest neighbours.

    Parameters
    ----------
    gram : GramMatrix
    neighbours, weights
        Of the graph.
    dtype : dtype or None
        The precision in which the matrix is held; None where it is not held.
    """

    def __init__(self, gram: GramMatrix, neighbours: int, weights: str, dtype: Any = None) -> None:
        self.gram = gram
        n = gram.shape[0]
        self.held: Array | None = None if dtype is None else np.empty((n, n), dtype=dtype)
        self.graph: NeighbourGraph = neighbour_graph(gram, neighbours, weights, self.held)

    def multiply(self, V: Array) -> Array:
        """Return KV, in the precision in which K is held."""
        return self.gram @ V if self.held is None else _product(self.held, V)

    def exact(self, V: Array) -> Array:
        """Return KV in float64."""
        return self.gram @ V if self._fine is None else _product(self._fine, V)

    def span(self, stiffness: float) -> PivotedFactor:
        """Choose points that span what matters of K.

        ``stiffness`` bounds how much a value at a point weighs against the norm of a function. A
        stiff problem pays for a larger subspace, which saves products with K.
        """
        most = max(64.0, 8 * self.gram.shape[0] ** 0.5)
        rank = int(min(100 * stiffness**0.5, most))
        return pivoted_cholesky(self, rank, np.random.default_rng(0), enough=1 / stiffness)

    def diag(self) -> Array:
        """Return the diagonal of K."""
        return self.gram.diag()

    def rows(self, index: IntArray) -> Array:
        """Return rows of K in float64."""
        return self.gram.rows(index) if self._fine is None else self._fine[index]

    def square(self, index: IntArray) -> Array:
        """Return rows and columns of K in float64."""
        if self._fine is None:
            return self.gram.square(index)
        return self._fine[np.ix_(index, index)]

    @property
    def _fine(self) -> Array | None:
        """The matrix, where it is held in float64."""
        return None if self.held is None or self.held.dtype != np.float64 else self.held


def _product(K: Array, V: Array) -> Array:
    """Multiply on threads of ours: those of BLAS wait for each other where cores are busy."""
    U = V.astype(K.dtype)
    product = np.empty(V.shape)

    def task(start: int) -> None:
        product[start : start + _BAND] = K[start : start + _BAND] @ U

    threads = 1 if len(K) <= SMALL else _parallel.thread_count()
    _parallel.run(task, range(0, len(K), _BAND), threads)
    return product


def precision(n: int, cheap: bool) -> np.dtype[Any] | None:
    """Return the precision in which a matrix of n rows is held; None where it does not fit.

    Values of an expensive kernel are held in float64, so that none is computed twice.
    """
    there = _memory.available_bytes()
    room = np.inf if there is None else there / _SHARE
    if 8 * n**2 <= room and (n <= SMALL or not cheap):
        return np.dtype(np.float64)
    return np.dtype(np.float32) if 4 * n**2 <= room else None
