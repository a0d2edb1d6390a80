"""Linear machines by coordinate descent, and by Newton's method where that is better."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.problems.linear import (
    DesignRows,
    LinearAnswer,
    LinearCrammerSinger,
    LinearProblem,
    SparseClassifier,
)
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Solver, Status
from mercer.solvers.linear.kinked_newton import KinkedNewton, has_small_kinks
from mercer.solvers.linear.linear_newton import SMALL_SYSTEM, LinearNewton
from mercer.solvers.linear.squared_newton import SquaredNewton, is_small

FEW_ROWS, FEW_COLUMNS = 1_000, 300
"""Up to so many rows or columns Newton's method is used: its systems are small."""
MOST_WORK = 1 << 35
"""Products of numbers in a system of more columns up to which Newton's method is used for squared
losses: about half a second, of which a few are needed where dual descent takes hundreds of passes
and more."""
_FIRST_PASSES, _FIRST_SPARSE_PASSES = 30, 100
"""Passes of dual descent that cost about as much as Newton's method on wide data, whose systems are
dense even where the data are sparse."""
_SHARPER, _GAP = 0.1, 1e-4
"""How much sharper than ``tol`` these passes are, and the relative gap at their end as a share of
it: Newton's method, whose place they take, leaves no less."""
_KINK_PASSES, _KINK_GAP = 200, 1e-9
"""Passes of dual descent for losses with a kink at most, and the relative gap at their end: the
digits that Newton's method gives. Of 93 × 460 to 360 × 301 numbers all took 40 to 190."""
_BATCH = 1 << 22
"""Numbers that a call of dual descent may read before it looks whether it should stop: a few
milliseconds."""
_LEAP = 1e-4
"""The largest leap to a sharper tolerance."""


def linear_solver(
    problem: LinearProblem, gram: GramMatrix, seed: int
) -> Solver[LinearProblem, LinearAnswer]:
    """Return the method for so many rows and columns."""
    rows = problem.rows(gram)
    method = _method_for(problem, rows, seed)
    if has_small_kinks(problem, rows):
        return KinkedNewton(method)
    return SquaredNewton(method) if is_small(problem, rows) else method


def _method_for(
    problem: LinearProblem, rows: DesignRows, seed: int
) -> Solver[LinearProblem, LinearAnswer]:
    n, d, squared = len(rows), rows.columns, bool(problem.D.all())
    if squared and SMALL_SYSTEM < n < d and n <= FEW_ROWS:
        return DescentThenNewton(seed)
    if not squared and n < d and n <= FEW_ROWS:
        return DigitsThenNewton(seed)
    quick = squared and n >= d and rows.entries * d <= MOST_WORK
    if n <= FEW_ROWS or d <= FEW_COLUMNS or quick:
        return LinearNewton(seed)
    return DualDescent(seed)


@dataclass(frozen=True)
class DualDescent(FeatureSolver[LinearProblem, LinearAnswer]):
    """Dual coordinate descent in random order, with shrinking, until no slope exceeds ``tol``."""

    seed: int

    def run(
        self, problem: LinearProblem, gram: GramMatrix, budget: Budget, start: LinearAnswer | None
    ) -> Outcome[LinearAnswer]:
        rows = problem.rows(gram)
        n, (w, beta) = len(rows), _begin(start, rows.columns, len(rows))
        matrix = data, _, starts, columns, constant = _layout(rows)
        steps = _fast.coordinate.inverse_curvatures(data, starts, columns, constant, problem.D)
        loss = problem.p, problem.lo, problem.hi, problem.D, problem.epsilon
        order, state = np.arange(n), _generator(self.seed)
        active, worst, spent = n, math.inf, 0
        # Whoever watches sees every pass.
        batch = 1 if budget.monitor else max(1, _BATCH // max(rows.entries, 1))
        limit = sys.maxsize if budget.max_iter < 0 else budget.max_iter
        stopped = budget.stop(worst)
        while stopped is None:
            _parallel.check_stopped()
            passes, active, worst = _fast.coordinate.descend_in_passes(
                *matrix, steps, *loss, w, beta, order, active, worst, state, budget.tol,
                min(batch, limit - spent),
            )  # fmt: skip
            spent += passes
            if worst <= budget.tol:
                return Outcome(LinearAnswer(w, beta), Status.OPTIMAL, spent)
            stopped = budget.stop(worst, spent)
        return Outcome(LinearAnswer(w, beta), stopped, spent)


@dataclass(frozen=True)
class DescentThenNewton(FeatureSolver[LinearProblem, LinearAnswer]):
    """A few passes of dual descent, and Newton's method from where they end if that is too early.

    Rows of many columns have little in common, so that multipliers of squared losses hardly depend
    on each other: a few passes are enough, unless C is large.
    """

    seed: int

    def run(
        self, problem: LinearProblem, gram: GramMatrix, budget: Budget, start: LinearAnswer | None
    ) -> Outcome[LinearAnswer]:
        most = budget.max_iter
        thin = sparse.issparse(problem.rows(gram).X)
        few = _FIRST_SPARSE_PASSES if thin else _FIRST_PASSES
        few = few if most < 0 else min(few, most)
        brief = budget.but(max_iter=few, tol=_SHARPER * budget.tol)
        first = DualDescent(self.seed).run(problem, gram, brief, start)
        done = first.status not in (Status.OPTIMAL, Status.MAX_ITER) or first.iterations == most
        if first.status is Status.OPTIMAL:
            done = problem.certify(first.value, gram).relative_gap <= _GAP * budget.tol
        if done:
            return first
        rest = budget if most < 0 else budget.but(max_iter=most - first.iterations)
        found = LinearNewton(self.seed).run(problem, gram, rest, first.value)
        return replace(found, iterations=first.iterations + found.iterations)


@dataclass(frozen=True)
class DigitsThenNewton(FeatureSolver[LinearProblem, LinearAnswer]):
    """Dual descent for losses with a kink on wide rows, and Newton's method where that takes long.

    Rows of many columns have little in common. Once those at the kink are known, each digit takes
    as few passes as the last.
    """

    seed: int

    def run(
        self, problem: LinearProblem, gram: GramMatrix, budget: Budget, start: LinearAnswer | None
    ) -> Outcome[LinearAnswer]:
        most, spent, tol, found = budget.max_iter, 0, _SHARPER * budget.tol, start
        few = _KINK_PASSES if most < 0 else min(_KINK_PASSES, most)
        while spent < few:
            brief = budget.but(max_iter=few - spent, tol=tol)
            step = DualDescent(self.seed).run(problem, gram, brief, found)
            found, spent = step.value, spent + step.iterations
            if step.status not in (Status.OPTIMAL, Status.MAX_ITER) or spent == most:
                return replace(step, iterations=spent)
            if step.status is Status.MAX_ITER:
                break
            gap = problem.certify(found, gram).relative_gap
            if gap <= _KINK_GAP:
                return replace(step, iterations=spent)
            # The gap falls with the slopes.
            tol *= max(_LEAP, min(_SHARPER, _SHARPER * _KINK_GAP / gap))
        rest = budget if most < 0 else budget.but(max_iter=most - spent)
        last = LinearNewton(self.seed).run(problem, gram, rest, found)
        return replace(last, iterations=spent + last.iterations)


@dataclass(frozen=True)
class ClassDescent(FeatureSolver[LinearCrammerSinger, LinearAnswer]):
    """All classes at once, row by row; w has one column for each class."""

    seed: int

    def run(
        self,
        problem: LinearCrammerSinger,
        gram: GramMatrix,
        budget: Budget,
        start: LinearAnswer | None,
    ) -> Outcome[LinearAnswer]:
        rows = problem.rows(gram)
        W, alpha = _begin(start, (rows.columns, problem.classes), (len(rows), problem.classes))
        data, indices, starts, _, constant = _layout(rows)
        matrix = data, indices, starts, constant, rows.squared_norms()
        state = _generator(self.seed)

        def visit(order: IntArray, active: int, threshold: float) -> tuple[int, float]:
            return _fast.coordinate.descend_classes(
                *matrix, problem.labels, problem.C, W, alpha, order, active, threshold, state
            )

        iterations, status = _passes(visit, len(rows), budget, eager=True)
        return Outcome(LinearAnswer(W, alpha), status, iterations)


@dataclass(frozen=True)
class ColumnDescent(FeatureSolver[SparseClassifier, LinearAnswer]):
    """A machine with the ℓ₁ penalty, one weight at a time."""

    seed: int

    def run(
        self,
        problem: SparseClassifier,
        gram: GramMatrix,
        budget: Budget,
        start: LinearAnswer | None,
    ) -> Outcome[LinearAnswer]:
        rows = problem.rows(gram)
        columns = sparse.csc_array(rows.X)
        if rows.constant:
            last = np.full((len(rows), 1), rows.constant)
            columns = sparse.hstack([columns, last], format="csc")
        columns = sparse.csc_array(columns.multiply(problem.signs[:, None]))
        matrix = columns.data, columns.indices.astype(np.int64), columns.indptr.astype(np.int64)
        w = np.zeros(rows.columns) if start is None else start.w.copy()
        margins = np.ones(len(rows)) - (columns @ w if w.any() else 0.0)
        state = _generator(self.seed)

        def visit(order: IntArray, active: int, threshold: float) -> tuple[int, float]:
            return _fast.coordinate.descend_columns(
                *matrix, problem.C, w, margins, order, active, threshold, state
            )

        iterations, status = _passes(visit, rows.columns, budget)
        return Outcome(LinearAnswer(w, problem.multipliers(rows, w)), status, iterations)


def _begin(
    start: LinearAnswer | None, weights: int | tuple[int, int], multipliers: int | tuple[int, int]
) -> LinearAnswer:
    """Return memory for an answer: zeros, or an earlier one."""
    if start is None:
        return LinearAnswer(np.zeros(weights), np.zeros(multipliers))
    return LinearAnswer(start.w.copy(), start.multipliers.copy())


def _passes(
    run: Callable[[IntArray, int, float], tuple[int, float]],
    count: int,
    budget: Budget,
    eager: bool = False,
) -> tuple[int, Status]:
    """Repeat passes until one over all variables meets no violation above ``tol``.

    Variables leave by the worst violation of the last pass; if ``eager``, all those at rest leave,
    and come back each time that the violation of the others has halved.
    """
    order, tol, iteration = np.arange(count), budget.tol, 0
    stopped = budget.stop(np.inf)
    active, threshold = count, np.inf
    goal = max(1.0, tol) if eager else tol
    while stopped is None:
        _parallel.check_stopped()
        iteration += 1
        whole = active == count
        active, worst = run(order, active, threshold)
        if whole and worst <= tol:
            return iteration, Status.OPTIMAL
        if worst > goal:
            threshold = 0.0 if eager else worst
        else:
            active, threshold = count, np.inf
            goal = max(goal / 2, tol)
        stopped = budget.stop(worst, iteration)
    return iteration, stopped


def _layout(rows: DesignRows) -> tuple[Array, IntArray, IntArray, int, float]:
    """Return a matrix in the form that the compiled code reads."""
    X = rows.X
    if not sparse.issparse(X):
        # Of the type that sparse matrices have, so that there is one compiled function for both.
        none: Any = np.empty(0, np.int32)
        return X.reshape(-1), none, none, X.shape[1], rows.constant
    return X.data, X.indices, X.indptr, X.shape[1], rows.constant


def _generator(seed: int) -> NDArray[np.uint64]:
    """Return the state of the generator that compiled code shuffles by: any number but 0."""
    return np.array([seed + 1], np.uint64)
