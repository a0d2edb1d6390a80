"""Small linear machines with squared losses: all steps of Newton's method in one compiled call."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer import _fast, _parallel
from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.linear import DesignRows, LinearAnswer, LinearProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Solver, Status

_LITTLE_WORK = 1 << 23
"""Products of numbers in a Newton matrix up to which it costs less than Python around it: half a
millisecond."""
_LARGEST_SYSTEM = 150
"""Rows or columns whose system is solved by plain loops as fast as by LAPACK."""
_MOST_STEPS = 100
"""Steps of Newton's method; few problems need ten."""


_SHARE = 1e-4
"""The share of the weights that conjugate gradients leave of their gradient: the gap is about the
square of it."""
_FEW_NUMBERS = 1 << 12
"""Numbers of sparse rows, zeros included, that are written out: all digits then cost nothing."""
_TALL = 0.8
"""Rows for each column from which conjugate gradients on sparse rows are quicker than passes over
their multipliers."""
_MOST_PASSES = 400
"""Passes over sparse rows after which their system is factored after all."""


def is_small(problem: LinearProblem, rows: DesignRows) -> bool:
    """Tell whether a problem is one for :class:`SquaredNewton`: small, or sparse and tall."""
    system = min(len(rows), rows.columns)
    small = system <= _LARGEST_SYSTEM and rows.entries * system <= _LITTLE_WORK
    if sparse.issparse(rows.X):
        small = len(rows) >= _TALL * rows.columns
    return small and bool(problem.D.all())


@dataclass(frozen=True)
class SquaredNewton(FeatureSolver[LinearProblem, LinearAnswer]):
    """Newton's method with exact line searches; all multipliers follow from w.

    Dense data end at rounding, those that are sparse, by conjugate gradients, at a gap that the
    budget asks for. Where that takes long, another method goes on from there.
    """

    otherwise: Solver[LinearProblem, LinearAnswer]

    def run(
        self, problem: LinearProblem, gram: GramMatrix, budget: Budget, start: LinearAnswer | None
    ) -> Outcome[LinearAnswer]:
        stopped = budget.stop(math.inf)
        limits = budget if stopped is None else budget.but(max_iter=0)
        rows = problem.rows(gram)
        w = np.zeros(rows.columns) if start is None else start.w.copy()
        beta = np.empty(len(rows))
        steps, square, primal = _minimise(problem, rows, limits, w, beta)
        if stopped is not None:
            return Outcome(LinearAnswer(w, beta), stopped)
        # With these multipliers half the square of the gradient is the gap.
        gap = square / 2 / primal if primal > 0 else square / 2
        if gap <= min(budget.tol, budget.gap):
            seen = budget.gap < math.inf
            return Outcome(LinearAnswer(w, beta), Status.OPTIMAL, steps, gap_seen=seen)
        return self.otherwise.run(problem, gram, budget, start)


def _minimise(
    problem: LinearProblem, rows: DesignRows, budget: Budget, w: Array, beta: Array
) -> tuple[int, float, float]:
    """Improve w and fill β; returns the steps, the square of the gradient, and the objective."""
    limit = sys.maxsize if budget.max_iter < 0 else budget.max_iter
    loss = problem.p, 1 / problem.D, problem.lo, problem.hi, problem.epsilon
    X = rows.X
    if sparse.issparse(X) and len(rows) * rows.columns > _FEW_NUMBERS:
        most = min(limit, _MOST_PASSES)
        return _fast.squared_loss.minimise_sparse(
            X.data, X.indices, X.indptr, rows.constant, *loss, w, beta, _SHARE, most
        )
    with _parallel.one_blas_thread():
        most = min(limit, _MOST_STEPS)
        return _fast.squared_loss.minimise(extended(rows), *loss, w, beta, most)


def extended(rows: DesignRows) -> Array:
    """Return the rows x̃ as one matrix."""
    X = np.empty((len(rows), rows.columns))
    X[:, : rows.X.shape[1]] = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
    X[:, rows.X.shape[1] :] = rows.constant
    return X
