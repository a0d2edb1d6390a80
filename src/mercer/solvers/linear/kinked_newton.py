"""Small linear machines whose losses have kinks: passes and Newton steps in one compiled call."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer import _fast, _parallel
from mercer.gram.base import GramMatrix
from mercer.problems.linear import DesignRows, LinearAnswer, LinearProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Solver, Status
from mercer.solvers.linear.squared_newton import extended

_LITTLE_WORK = 1 << 24
"""Products of numbers in a Newton matrix up to which it costs less than Python around it."""
_LARGEST_SYSTEM = 150
"""Rows or columns up to which the compiled code solves its systems as fast as LAPACK."""


def has_small_kinks(problem: LinearProblem, rows: DesignRows) -> bool:
    """Tell whether a problem is one for :class:`KinkedNewton`: small, and not wide."""
    d = rows.columns
    small = d <= min(len(rows), _LARGEST_SYSTEM) and rows.entries * d <= _LITTLE_WORK
    return small and not sparse.issparse(rows.X) and not problem.D.any()


@dataclass(frozen=True)
class KinkedNewton(FeatureSolver[LinearProblem, LinearAnswer]):
    """Dual descent, then stages of Newton's method; where that is not enough, another method.

    Rows are shuffled the same way in every run, so that equal data have equal answers.
    """

    otherwise: Solver[LinearProblem, LinearAnswer]

    def run(
        self, problem: LinearProblem, gram: GramMatrix, budget: Budget, start: LinearAnswer | None
    ) -> Outcome[LinearAnswer]:
        if start is not None or budget.stop(math.inf) is not None:
            return self.otherwise.run(problem, gram, budget, start)
        rows = problem.rows(gram)
        w, beta = np.zeros(rows.columns), np.zeros(len(rows))
        state = np.ones(1, np.uint64)
        most = sys.maxsize if budget.max_iter < 0 else budget.max_iter
        with _parallel.one_blas_thread():
            steps, slope, gap = _fast.kinked_loss.minimise(
                extended(rows), problem.p, problem.lo, problem.hi, problem.epsilon, w, beta,
                budget.tol, most, state,
            )  # fmt: skip
        if slope <= budget.tol and gap <= min(budget.tol, budget.gap):
            seen = budget.gap < math.inf
            return Outcome(LinearAnswer(w, beta), Status.OPTIMAL, steps, gap_seen=seen)
        return self.otherwise.run(problem, gram, budget, start)
