"""How the optimum of a box QP moves when some multipliers are forced to other values.

At an optimum the free multipliers S agree: F_S = p_S − (Kβ)_S = b. With the inverse G of
[[K_SS, 1], [1ᵀ, 0]] all answers to forced moves are known: a move x_t of a multiplier outside S
changes the free ones and b by −V_t x_t, V_t = G (K_St, 1), and a force c on a free one by G c.
So a change of a few multipliers costs a system of a few equations, however many are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._typing import Array, BoolArray, IntArray
from mercer.problems.qp import BoxQP

MOST_FREE = 1500
"""Free multipliers up to which the inverse pays: its cost grows with their cube."""
_RIDGE = 1e-11
"""Times the diagonal: equal rows must not make the system singular."""
_ROUNDS = 25
"""Choices of the multipliers that are free; those that have not ended by then seldom do."""


@dataclass(frozen=True, eq=False)
class ForcedMoves:
    """The answers of one optimum to forced moves.

    Attributes
    ----------
    problem : BoxQP
        The problem, whose variables sit on rows of the matrix.
    K : array of shape (n, n)
        The matrix.
    beta, F : arrays
        The optimum, and p − Kβ.
    free : array of int
        The variables that are between their bounds.
    inverse : array of shape (k + 1, k + 1)
        G.
    answers : array of shape (n, k + 1)
        V for a variable on each row.
    slopes : array of shape (n, n)
        What a unit move of a variable on a row, answered by the free ones, takes from F.
    forces : array of shape (k + 1, n)
        What a unit force on a free variable takes from F.
    """

    problem: BoxQP
    K: Array
    beta: Array
    F: Array
    free: IntArray
    inverse: Array
    answers: Array
    slopes: Array
    forces: Array

    @classmethod
    def of(cls, problem: BoxQP, K: Array, beta: Array, F: Array) -> Self | None:
        """Return them for an optimum; None where no multiplier is free, or too many are."""
        free = np.flatnonzero((beta > problem.lo) & (beta < problem.hi))
        k = len(free)
        if not 0 < k <= MOST_FREE:
            return None
        rows = problem.row[free]
        M = np.ones((k + 1, k + 1))
        M[:k, :k] = K[np.ix_(rows, rows)]
        M[np.arange(k), np.arange(k)] *= 1 + _RIDGE
        M[k, k] = 0.0
        try:
            inverse = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            return None
        across = K[rows]
        answers = across.T @ inverse[:k] + inverse[k]
        forces = inverse[:, :k] @ across
        slopes = K - answers[:, :k] @ across
        return cls(problem, K, beta, F, free, inverse, answers, slopes, forces)

    def without(self, row: int) -> Array | None:
        """Return the multipliers without a row, whose own are 0; None where they are not found.

        Those that leave the box are held at its bound, those at a bound that pull inwards become
        free, until nobody moves: a primal–dual active set.
        """
        lo, hi, at = self.problem.lo, self.problem.hi, self.problem.row
        shut = np.flatnonzero(at == row)
        base = float(np.mean(self.F[self.free]))
        is_free = np.zeros(len(self.beta), dtype=bool)
        is_free[self.free] = True
        is_free[shut] = False
        open_box = lo < hi
        open_box[shut] = False
        aim = np.clip(self.beta, lo, hi)
        aim[shut] = 0.0
        fewest, idle = len(aim), 0
        for _ in range(_ROUNDS):
            moved, pull = self._answer(aim, is_free, base)
            outside = is_free & ((moved < lo) | (moved > hi))
            upwards = np.where(aim >= hi, -pull, pull)  # towards the inside
            inwards = ~is_free & open_box & (upwards > 1e-9)
            changes = int(outside.sum() + inwards.sum())
            aim = np.where(is_free, np.clip(moved, lo, hi), aim)
            if changes == 0:
                return aim
            idle = 0 if changes < fewest else idle + 1
            fewest = min(fewest, changes)
            if idle > 2:
                break
            is_free = (is_free & ~outside) | inwards
        return None

    def _answer(self, aim: Array, is_free: BoolArray, base: float) -> tuple[Array, Array]:
        """Return the multipliers when those that are not free have their aims, and F − b."""
        at, k = self.problem.row, len(self.free)
        was_free = np.zeros(len(aim), dtype=bool)
        was_free[self.free] = True
        change = aim - self.beta
        held = np.flatnonzero(~is_free[self.free])  # places in S that are forced
        entered = np.flatnonzero(is_free & ~was_free)
        fixed = np.flatnonzero(~is_free & ~was_free & (change != 0.0))
        # What the fixed moves do, then forces c on the held ones and moves x of those that entered.
        shift = -change[fixed] @ self.answers[at[fixed]]
        taken = change[fixed] @ self.slopes[at[fixed]]
        if len(held) or len(entered):
            V, slopes = self.answers[at[entered]], self.slopes[at[entered]]
            h = len(held)
            system = np.empty((h + len(entered), h + len(entered)))
            system[:h, :h] = self.inverse[held][:, held]
            system[h:, :h] = V[:, held]
            system[:h, h:] = -system[h:, :h].T
            system[h:, h:] = slopes[:, at[entered]].T - V[:, k]
            pull = self.F[entered] - taken[at[entered]] - base - shift[k]
            wanted = np.concatenate([change[self.free[held]] - shift[held], pull])
            solved = _solved(system, wanted)
            c, x = solved[:h], solved[h:]
            shift = shift + c @ self.inverse[held] - x @ V
            taken = taken + c @ self.forces[held] + x @ slopes
            change[entered] = x
        moved = self.beta + change
        moved[self.free] = self.beta[self.free] + shift[:k]
        moved[self.free[held]] = aim[self.free[held]]
        return moved, self.F - taken[at] - base - shift[k]


def _solved(system: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(system, right))
    except np.linalg.LinAlgError:  # rows that are equal: any answer will do
        return np.asarray(np.linalg.lstsq(system, right)[0])
