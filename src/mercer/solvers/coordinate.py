"""Linear machines by coordinate descent, and by Newton's method where that is better."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.problems.certificate import Certificate
from mercer.problems.linear import CrammerSinger, FeatureRows, LinearProblem, SparseClassifier
from mercer.solvers import linear_newton
from mercer.solvers.linear_newton import Iterate

FEW_ROWS, FEW_COLUMNS = 1_000, 300
"""Up to so many rows or columns Newton's method is used: its systems are small."""


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Weights w, multipliers, and the proof that they belong together."""

    w: Array
    multipliers: Array
    certificate: Certificate


def solve(
    rows: FeatureRows,
    problem: LinearProblem,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
) -> LinearSolution:
    """Solve a linear machine until no slope of its dual exceeds ``tol``."""
    began = time.perf_counter()
    small = len(rows) <= FEW_ROWS or rows.columns <= FEW_COLUMNS
    method = linear_newton.solve if small else descend
    found = method(rows, problem, tol, max_iter, random)
    certificate = problem.certify(
        rows,
        found.w,
        found.beta,
        iterations=found.iterations,
        seconds=time.perf_counter() - began,
        status=found.status,
    )
    return LinearSolution(found.w, found.beta, certificate)


def descend(
    rows: FeatureRows,
    problem: LinearProblem,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
) -> Iterate:
    """Dual coordinate descent in random order, with shrinking."""
    w, beta = np.zeros(rows.columns), np.zeros(len(rows))
    matrix = (*_layout(rows), rows.squared_norms())
    state = _random_state(random)

    def run(order: IntArray, active: int, threshold: float) -> tuple[int, float]:
        return _fast.coordinate.descend(
            *matrix,
            problem.p,
            problem.lo,
            problem.hi,
            problem.D,
            problem.epsilon,
            w,
            beta,
            order,
            active,
            threshold,
            state,
        )

    iterations, done = _passes(run, len(rows), tol, max_iter)
    return Iterate(w, beta, iterations, "optimal" if done else "max_iter")


def solve_classes(
    rows: FeatureRows,
    problem: CrammerSinger,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
) -> LinearSolution:
    """Solve all classes at once; w has one column for each."""
    began = time.perf_counter()
    W = np.zeros((rows.columns, problem.classes))
    alpha = np.zeros((len(rows), problem.classes))
    data, indices, starts, _, constant = _layout(rows)
    matrix = data, indices, starts, constant, rows.squared_norms()
    state = _random_state(random)

    def run(order: IntArray, active: int, threshold: float) -> tuple[int, float]:
        return _fast.coordinate.descend_classes(
            *matrix, problem.labels, problem.C, W, alpha, order, active, threshold, state
        )

    iterations, done = _passes(run, len(rows), tol, max_iter, eager=True)
    certificate = problem.certify(
        rows,
        W,
        alpha,
        iterations=iterations,
        seconds=time.perf_counter() - began,
        status="optimal" if done else "max_iter",
    )
    return LinearSolution(W, alpha, certificate)


def solve_sparse(
    rows: FeatureRows,
    problem: SparseClassifier,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
) -> LinearSolution:
    """Solve a machine with the ℓ₁ penalty, one weight at a time."""
    began = time.perf_counter()
    columns = sparse.csc_array(rows.X)
    if rows.constant:
        last = np.full((len(rows), 1), rows.constant)
        columns = sparse.hstack([columns, last], format="csc")
    columns = sparse.csc_array(columns.multiply(problem.signs[:, None]))
    matrix = columns.data, columns.indices.astype(np.int64), columns.indptr.astype(np.int64)
    w, margins = np.zeros(rows.columns), np.ones(len(rows))
    state = _random_state(random)

    def run(order: IntArray, active: int, threshold: float) -> tuple[int, float]:
        return _fast.coordinate.descend_columns(
            *matrix, problem.C, w, margins, order, active, threshold, state
        )

    iterations, done = _passes(run, rows.columns, tol, max_iter)
    alpha = problem.multipliers(rows, w)
    certificate = problem.certify(
        rows,
        w,
        alpha,
        iterations=iterations,
        seconds=time.perf_counter() - began,
        status="optimal" if done else "max_iter",
    )
    return LinearSolution(w, alpha, certificate)


def _passes(
    run: Callable[[IntArray, int, float], tuple[int, float]],
    count: int,
    tol: float,
    max_iter: int,
    eager: bool = False,
) -> tuple[int, bool]:
    """Repeat passes until one over all variables meets no violation above ``tol``.

    Variables leave by the worst violation of the last pass; if ``eager``, all those at rest leave,
    and come back each time that the violation of the others has halved.
    """
    order = np.arange(count)
    active, threshold = count, np.inf
    goal = max(1.0, tol) if eager else tol
    for iteration in range(1, max_iter + 1):
        _parallel.check_stopped()
        whole = active == count
        active, worst = run(order, active, threshold)
        if whole and worst <= tol:
            return iteration, True
        if worst > goal:
            threshold = 0.0 if eager else worst
        else:
            active, threshold = count, np.inf
            goal = max(goal / 2, tol)
    return max_iter, False


def _layout(rows: FeatureRows) -> tuple[Any, Any, Any, int, float]:
    """Return a matrix in the form that the compiled code reads."""
    X, none = rows.X, np.empty(0, np.int64)
    if isinstance(X, np.ndarray):
        return X.reshape(-1), none, none, X.shape[1], rows.constant
    indices, starts = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X.data, indices, starts, X.shape[1], rows.constant


def _random_state(random: np.random.RandomState) -> Any:
    return random.randint(1, 2**31 - 1, size=1).astype(np.uint64)
