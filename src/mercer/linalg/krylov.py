"""Krylov spaces of parts of one matrix, such as the training parts of folds, grown together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, BoolArray, IntArray
from mercer.linalg.tridiagonal import solved

Room: TypeAlias = Callable[[int], Array]
"""Gives memory for a matrix of so many rows, always the same."""

_CHECK_EVERY = 6
"""Steps after which one asks again whether more of them are worth while."""
_LOOK_FIRST = 0.12
"""The share of the rows after which residuals begin to tell how many steps will be needed."""
_SUPERLINEAR = 0.6
"""Steps grow like this power of the digits, as spaces get to know the largest eigenvalues: 0.5 to
0.7 for Gaussian kernels of 5 to 100 columns."""
_WORTH_WHILE, _ALONE = 0.45, 0.35
"""Further steps, as a share of the rows, that cost less than a tridiagonal form: where several
parts share the looks at the matrix, and of one part."""
_FEW_SEGMENTS, _FEW_PARTS = 2, 12
"""Segments for each part, and parts, up to which it pays to leave out where vectors are zero: those
of folds are one each, those of random parts very many, and of many folds each leaves out little."""


@dataclass(frozen=True, eq=False)
class ShiftedPart:
    """The matrix A = SKS of some rows of K with themselves, and what A + λI is solved for.

    Attributes
    ----------
    rows : array of shape (n,)
        Rows of K, each at most once.
    scale : array of shape (n,)
        The diagonal of S.
    B : array of shape (n, columns)
    alphas : array
        All λ.
    """

    rows: IntArray
    scale: Array
    B: Array
    alphas: Array


class KrylovSpaces:
    """The span of b, Ab, A²b, …, which is the same for all A + λI, for each part and column.

    Lanczos' method: one look at K is a step for all of them. Vectors are kept orthogonal by force,
    so that a small residual can be believed.

    Parameters
    ----------
    K : array of shape (n, n)
    parts : sequence of ShiftedPart
    tol : float
        Residuals are wanted below ``tol`` times b.
    most : int
        Vectors that a space may have.
    room : function
        Gives memory for matrices of so many rows, for another order of the rows of K.
    """

    def __init__(
        self, K: Array, parts: Sequence[ShiftedPart], tol: float, most: int, room: Room
    ) -> None:
        self.parts, self.tol, self.most = parts, tol, most
        self._matrix = _InSegments.of(K, parts, room)
        of = [part for part in parts for _ in range(part.B.shape[1])]
        self._sizes = np.array([len(part.rows) for part in of])
        shape = len(of), int(self._sizes.max(initial=1))
        self._rows = np.zeros(shape, dtype=np.int64)
        self._scales, self._next = np.zeros(shape), np.zeros(shape)
        starts = [b for part in parts for b in part.B.T]
        self._norms = np.array([float(np.linalg.norm(b)) for b in starts])
        for f, (part, b) in enumerate(zip(of, starts, strict=True)):
            n = len(b)
            self._rows[f, :n], self._scales[f, :n] = self._matrix.places[part.rows], part.scale
            self._next[f, :n] = b / (self._norms[f] or 1.0)
        self._spaces_each = len(of) / len(parts)
        self._shifts = np.array([float(part.alphas.min()) for part in of])
        self._pivots, self.residuals = np.ones(len(of)), np.where(self._norms > 0, 1.0, 0.0)
        self.lengths = np.zeros(len(of), dtype=np.int64)
        """How many vectors each space has."""
        self._bases = np.empty((len(of), most, shape[1]))
        self._diagonals, self._sides = np.empty((len(of), most)), np.empty((len(of), most))

    def reach(self) -> bool:
        """Grow until the residuals are small; give up where that is far away.

        The residuals are those of the smallest λ: none that is larger has a larger one.
        """
        taken = 0
        while not (self.residuals <= self.tol).all():
            steps = min(_CHECK_EVERY, self.most - taken)
            if not steps or not self.is_worth_while(taken):
                return False
            _parallel.check_stopped()
            _fast.krylov.grow(
                self._matrix.K,
                self._matrix.bounds,
                self._matrix.table,
                self._matrix.counts,
                self._rows,
                self._sizes,
                self._scales,
                self._shifts,
                self.tol,
                steps,
                self._bases,
                self._next,
                self._diagonals,
                self._sides,
                self._pivots,
                self.residuals,
                self.lengths,
            )
            taken += steps
        return True

    def is_worth_while(self, taken: int) -> bool:
        """Tell whether the steps that are to come will cost less than a tridiagonal form."""
        worst, n = float(self.residuals.max()), float(self._sizes.mean())
        if math.isnan(worst):
            return False
        if taken < _LOOK_FIRST * n:
            return True
        if worst >= 1:
            return False
        needed = taken * (math.log(self.tol) / math.log(worst)) ** _SUPERLINEAR
        share = _WORTH_WHILE if len(self.parts) > 1 else _ALONE
        return bool(needed - taken < share * n / self._spaces_each)

    def solve(self) -> list[Array]:
        """Return (A + λI)⁻¹B of each part: an array of shape (alphas, n, columns)."""
        found, f = [], 0
        for part in self.parts:
            X = np.zeros((len(part.alphas), *part.B.shape))
            for column in range(X.shape[2]):
                if self.lengths[f]:
                    X[:, :, column] = self._inner(f, part.alphas).T @ self.basis(f)
                f += 1
            found.append(X)
        return found

    def basis(self, space: int) -> Array:
        """Return the orthonormal basis of a space, as rows."""
        return self._bases[space, : self.lengths[space], : self._sizes[space]]

    def _inner(self, f: int, alphas: Array) -> Array:
        """Return (T + λI)⁻¹‖b‖e₁ for every λ in the basis of a space: of shape (steps, alphas)."""
        m = int(self.lengths[f])
        unit = np.zeros((m, 1))
        unit[0] = self._norms[f]
        return np.asarray(solved(self._diagonals[f, :m], self._sides[f, : m - 1], unit, alphas)[0])


@dataclass(frozen=True, eq=False)
class _InSegments:
    """A matrix whose rows are in an order in which parts are made of few segments of them.

    Attributes
    ----------
    places : array
        Where each row is now.
    bounds : array
        Those of the segments.
    table, counts : arrays
        For two segments the vectors that are zero in neither, in groups, the last of which is
        filled up with one of its own; and how many groups there are.
    """

    K: Array
    places: IntArray
    bounds: IntArray
    table: IntArray
    counts: IntArray

    @classmethod
    def of(cls, K: Array, parts: Sequence[ShiftedPart], room: Room) -> _InSegments:
        """Order the rows, in a copy, where the parts have not few segments as they are."""
        there: BoolArray = np.zeros((len(parts), len(K)), dtype=bool)
        for own, part in zip(there, parts, strict=True):
            own[part.rows] = True
        most = _FEW_SEGMENTS * len(parts) if len(parts) <= _FEW_PARTS else 0
        places = np.arange(len(K))
        bounds = _bounds(there)
        if most and (len(bounds) > most + 1 or not there.any(axis=0).all()):
            order = np.lexsort(there)
            order = order[there[:, order].any(axis=0)]
            bounds = _bounds(there[:, order])
            if len(bounds) <= most + 1:
                places[order] = np.arange(len(order))
                there, K_ordered = there[:, order], room(len(order))
                _fast.shifted.take(K, order, K_ordered)
                K = K_ordered
        if len(bounds) > most + 1:
            bounds, there = np.array([0, len(K)]), np.ones_like(there)
        vectors = np.repeat(there[:, bounds[:-1]], [part.B.shape[1] for part in parts], axis=0)
        both = vectors[:, :, None] & vectors[:, None, :]
        size = _fast.krylov.AT_ONCE
        counts = -(-both.sum(axis=0) // size)
        table = np.zeros((*counts.shape, int(counts.max(initial=1)), size), dtype=np.int64)
        for a, b in np.argwhere(counts):
            listed = np.flatnonzero(both[:, a, b])
            table[a, b].flat[:] = listed[-1]
            table[a, b].flat[: len(listed)] = listed
        return cls(K, places, bounds, table, counts)


def _bounds(there: BoolArray) -> IntArray:
    """Return where other parts begin to have the rows, and the two ends."""
    changes = np.flatnonzero((there[:, 1:] != there[:, :-1]).any(axis=0)) + 1
    return np.concatenate([[0], changes, [there.shape[1]]])
