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

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.problems.qp import BoxQP

MOST_FREE = 1500
"""Free multipliers up to which the inverse pays: its cost grows with their cube."""
_RIDGE = 1e-11
"""Times the diagonal: equal rows must not make the system singular."""


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
        problem, aim = self.problem, np.empty(len(self.beta))
        ended = _fast.forced_moves.forced(
            problem.row, problem.lo, problem.hi, self.beta, self.F, self.free, self.inverse,
            self.answers, self.slopes, self.forces, row, float(np.mean(self.F[self.free])), aim,
        )  # fmt: skip
        return aim if ended else None
