"""All solvers on all their problems: one contract, the same assertions for each.

A new solver is one more line in ``TABLE``: the solver, the problem it is shown, and a function that
says how far an answer breaks the constraints.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.exceptions import InvalidInput
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.solvers.base import Budget, Solution, Solver, Status
from mercer.solvers.box_qp import BoxQPSolver
from mercer.solvers.interior import InteriorPoint
from mercer.solvers.multiclass_smo import JointMulticlassSolver
from mercer.solvers.smo import SMO

N = 60
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.3 * RANDOM.normal(size=N) > 0, 1.0, -1.0)
TARGETS = X[:, 0] + np.sin(X[:, 1])
LABELS = np.arange(N) % 3
ONES = np.ones(N)
TOL = 1e-4


def matrix():
    """Return exp(−‖x − z‖²/2) by its definition, which no kernel and no cache has touched."""
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2)


def box(problem, beta):
    """Return how far β lies outside of its box, and its sums are off."""
    outside = max((problem.lo - beta).max(), (beta - problem.hi).max(), 0.0)
    return max(outside, np.abs(np.bincount(problem.group, beta) - problem.sums).max())


def simplex(problem, alpha):
    """Return how far the multipliers of a point are from those of a joint problem."""
    rivals = np.where(np.arange(problem.classes) == problem.labels[:, None], 0.0, -alpha)
    total = rivals.sum(axis=1) if problem.bound_on_total else rivals.max(axis=1)
    return max(-rivals.min(), (total - problem.C).max(), np.abs(alpha.sum(axis=1)).max())


@dataclass(frozen=True)
class Row:
    """A solver, a problem for it, and what feasible means there."""

    solver: Solver[Any, Any]
    problem: Any
    broken: Callable[[Any, Any], float]

    def __str__(self):
        return f"{type(self.solver).__name__}-{self.problem.name}"

    def solve(self, start=None, gram=None, **limits) -> Solution[Any]:
        given = GivenGram(matrix(), Definite.POSITIVE) if gram is None else gram
        return self.solver.solve(self.problem, given, Budget(**{"tol": TOL, **limits}), start)


BOXES = (
    qp.classifier(SIGNS, 10 * ONES),
    qp.regressor(TARGETS, 10 * ONES, 0.1),
    qp.one_class(ONES, 0.2),
    qp.nu_classifier(SIGNS, ONES, 0.3),
    qp.nu_regressor(TARGETS, ONES, 0.3),
)
JOINT = (WestonWatkins(LABELS, ONES, 3), CrammerSinger(LABELS, ONES, 3))

TABLE = [
    *(Row(SMO(), problem, box) for problem in BOXES),
    *(Row(InteriorPoint(), problem, box) for problem in BOXES),
    *(Row(BoxQPSolver(), problem, box) for problem in BOXES),
    *(Row(JointMulticlassSolver(), problem, simplex) for problem in JOINT),
]
rows = pytest.mark.parametrize("row", TABLE, ids=str)


@rows
def test_an_answer_is_optimal_and_its_certificate_anybody_can_recompute(row):
    solution = row.solve()
    assert solution.status is Status.OPTIMAL
    assert solution.status.advice == ""
    assert row.broken(row.problem, solution.value) <= 1e-10
    certificate = solution.certificate
    assert certificate.status == "optimal"
    assert certificate.problem == row.problem.name
    assert certificate.stationarity <= TOL * (1 + 1e-6)
    assert -1e-9 <= certificate.gap <= TOL * max(1.0, N * 10)
    assert certificate.relative_gap <= 100 * TOL
    fresh = row.problem.certify(solution.value, GivenGram(matrix()))
    for name in ("primal", "dual", "stationarity", "complementarity"):
        mine, theirs = getattr(certificate, name), getattr(fresh, name)
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)
    assert certificate.iterations == solution.statistics.iterations
    assert certificate.seconds == solution.statistics.seconds > 0


@rows
def test_a_product_that_is_handed_over_is_that_of_the_matrix(row):
    solution = row.solve()
    if solution.product is None:
        return
    again = row.problem.certify(solution.value, GivenGram(matrix()), solution.product)
    fresh = row.problem.certify(solution.value, GivenGram(matrix()))
    assert_allclose(again.primal, fresh.primal, rtol=1e-9)


@rows
def test_a_start_at_the_answer_ends_at_once(row):
    first = row.solve()
    before = first.value.copy()
    again = row.solve(start=first.value)
    assert again.status is Status.OPTIMAL
    assert again.statistics.iterations == 0
    assert_allclose(again.value, before, rtol=1e-12, atol=1e-12)
    assert_array_equal(first.value, before)  # the caller's own


@rows
def test_a_deadline_in_the_past_gives_a_feasible_answer(row):
    solution = row.solve(deadline=time.perf_counter() - 1)
    assert solution.status is Status.TIME_LIMIT
    assert "time limit" in solution.status.advice
    assert solution.certificate.status == "time_limit"
    assert row.broken(row.problem, solution.value) <= 1e-10
    assert solution.certificate.gap >= -1e-9


@rows
def test_a_matrix_with_other_columns_is_refused(row):
    with pytest.raises(InvalidInput, match="other columns"):
        row.solve(gram=GivenGram(matrix()).take(np.arange(N), np.arange(N - 1)))


@rows
def test_any_precision_of_the_matrix_is_judged_in_float64(row):
    exact = row.solve()
    single = GivenGram(matrix()).in_precision(np.float32)
    solution = row.solve(gram=single)
    assert solution.status is Status.OPTIMAL
    gap = max(solution.certificate.gap, exact.certificate.gap)
    assert abs(solution.certificate.dual - exact.certificate.dual) <= gap + 1e-9
