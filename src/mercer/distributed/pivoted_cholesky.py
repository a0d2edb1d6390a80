"""Randomly pivoted Cholesky with each row of the factor where the row of the data is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer._typing import Array, Index, IntArray
from mercer.distributed.cluster import Cluster, Task
from mercer.distributed.pieces import joined
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.linalg.pivoted import EPS, accept, check_sign, proposal_count


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows that were proposed: where they are, and all that is known of them."""

    piece: IntArray
    row: IntArray
    points: Points
    F: Array
    left: Array

    def take(self, index: IntArray) -> Drawn:
        """Return some of them, in the order asked for."""
        return Drawn(
            self.piece[index],
            self.row[index],
            self.points.take(index),
            self.F[index],
            self.left[index],
        )


class Residual:
    """K − FFᵀ over pieces of points on workers.

    Each piece has its rows of F and what is left of its part of the diagonal; of these only sums
    and the rows of proposals come here.
    """

    def __init__(self, kernel: Kernel, cluster: Cluster, points: list[Task]) -> None:
        self.kernel, self.cluster = kernel, cluster
        self.pivots: list[Points] = []
        self._pieces = cluster.map(_begin, points, [cluster.put(kernel)] * len(points))
        self._fetch_sums()
        self.scale = float(np.maximum(self._highest, -self._lowest).max())
        check_sign(self._lowest, self.scale)
        self._pieces = cluster.map(_without_negative, self._pieces)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.intp)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._starts[-1])

    @property
    def total(self) -> float:
        """The trace."""
        return float(self._totals.sum())

    def draw(self, uniform: Array) -> Drawn:
        """Return rows drawn in proportion to the diagonal, one for each number from [0, 1)."""
        ends = np.cumsum(self._totals)
        targets = uniform * ends[-1]
        owner = np.minimum(np.searchsorted(ends, targets, side="right"), len(ends) - 1)
        asked = np.unique(owner)
        within = [targets[owner == i] - (ends[i] - self._totals[i]) for i in asked]
        tasks = self.cluster.map(_propose, [self._pieces[i] for i in asked], list(asked), within)
        parts: list[Drawn] = self.cluster.fetch(tasks)
        everything = Drawn(
            np.concatenate([part.piece for part in parts]),
            np.concatenate([part.row for part in parts]),
            joined([part.points for part in parts]),
            np.vstack([part.F for part in parts]),
            np.concatenate([part.left for part in parts]),
        )
        back = np.empty(len(uniform), dtype=np.intp)
        back[np.argsort(owner, kind="stable")] = np.arange(len(uniform))
        return everything.take(back)

    def square(self, drawn: Drawn) -> Array:
        """Return the residual matrix of some rows with themselves."""
        K = Evaluator(self.kernel, Pairs(drawn.points, None, None, np.float64)).dense()
        difference: Array = K - drawn.F @ drawn.F.T
        return difference

    def grow(self, new: Drawn, L: Array) -> IntArray:
        """Add the columns of some rows, of whose square L is the Cholesky factor."""
        step = self.cluster.put((self.kernel, new.points, new.F, L))
        self._replace(_grow, [step] * len(self._pieces), new)
        self.pivots.append(new.points)
        check_sign(self._lowest, self.scale)
        numbers: IntArray = self._starts[new.piece] + new.row
        return numbers

    def forget(self, drawn: Drawn) -> None:
        """Drop rows of which nothing but rounding is left."""
        self._replace(_forget, [None] * len(self._pieces), drawn)

    def _replace(
        self, function: Callable[..., _Piece], steps: list[Task] | list[None], rows: Drawn
    ) -> None:
        own = [rows.row[rows.piece == number] for number in range(len(self._pieces))]
        self._pieces = self.cluster.map(function, self._pieces, steps, own)
        self._fetch_sums()

    def _fetch_sums(self) -> None:
        sums = self.cluster.fetch(self.cluster.map(_sums, self._pieces))
        self._totals, self._lowest, self._highest, self._sizes = np.array(sums).T


def pivot(residual: Residual, rank: int, random: np.random.Generator) -> IntArray:
    """Choose pivots as :func:`mercer.linalg.pivoted.pivoted_cholesky` does; give their numbers."""
    chosen = np.zeros(0, dtype=np.intp)
    rank = min(rank, residual.rows)
    while len(chosen) < rank and residual.total > residual.rows * residual.scale * EPS:
        drawn = residual.draw(random.random(proposal_count(rank)))
        most = rank - len(chosen)
        accepted, L = accept(residual.square(drawn), drawn.left, random, residual.scale, most)
        if len(accepted):
            chosen = np.append(chosen, residual.grow(drawn.take(accepted), L))
        else:
            residual.forget(drawn)
    return chosen


# ---- what workers do -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Piece:
    """Points, their rows of F in blocks of columns, and what is left of their diagonal.

    A new block makes a new piece, so that a piece which is lost can be made again.
    """

    points: Points
    F: tuple[Array, ...]
    left: Array
    lowest: float

    def factor(self, rows: Index) -> Array:
        count = len(self.left[rows])
        return np.hstack([np.zeros((count, 0)), *(block[rows] for block in self.F)])


def _begin(points: Points, kernel: Kernel) -> _Piece:
    left = Evaluator(kernel, Pairs(points, None, None, np.float64), threads=1).diagonal()
    return _Piece(points, (), left, float(left.min()))


def _without_negative(piece: _Piece) -> _Piece:
    return _Piece(piece.points, piece.F, np.maximum(piece.left, 0.0), piece.lowest)


def _sums(piece: _Piece) -> tuple[float, float, float, int]:
    left = piece.left
    return float(left.sum()), piece.lowest, float(left.max()), len(left)


def _propose(piece: _Piece, number: int, targets: Array) -> Drawn:
    rows = np.searchsorted(np.cumsum(piece.left), targets, side="right")
    # Rounding must not lead beyond the last row that has anything left.
    rows = np.minimum(rows, np.flatnonzero(piece.left)[-1]).astype(np.intp)
    owner = np.full(len(rows), number, dtype=np.intp)
    return Drawn(owner, rows, piece.points.take(rows), piece.factor(rows), piece.left[rows])


def _grow(piece: _Piece, step: tuple[Kernel, Points, Array, Array], own: IntArray) -> _Piece:
    kernel, pivots, old, L = step
    pairs = Pairs(piece.points, pivots, None, np.float64)
    block = Evaluator(kernel, pairs, threads=1).dense()
    block -= piece.factor(slice(None)) @ old.T
    new = solve_triangular(L, block.T, lower=True, overwrite_b=True, check_finite=False).T
    left = piece.left - np.einsum("ij,ij->i", new, new)
    lowest = float(left.min())
    np.maximum(left, 0.0, out=left)
    left[own] = 0.0
    return _Piece(piece.points, (*piece.F, new), left, lowest)


def _forget(piece: _Piece, step: None, own: IntArray) -> _Piece:
    left = piece.left.copy()
    left[own] = 0.0
    return _Piece(piece.points, piece.F, left, piece.lowest)
