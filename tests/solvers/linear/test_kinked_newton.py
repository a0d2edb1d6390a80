"""Machines with kinks in one call, against a general solver of QPs and against other methods."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.problems.linear import classifier, regressor
from mercer.solvers.base import Budget
from mercer.solvers.linear.kinked_newton import KinkedNewton, has_small_kinks
from mercer.solvers.linear.linear_newton import LinearNewton

BUDGET = Budget(tol=1e-4, max_iter=1000, gap=1e-4)
SHAPES = [(1, 1), (7, 2), (40, 3), (80, 60), (300, 12), (600, 40)]


class _Nobody(LinearNewton):
    """What must not be needed."""

    def run(self, problem, gram, budget, start):
        raise AssertionError("the compiled call was not enough")


ALONE = KinkedNewton(_Nobody(0))


def problems(rows, columns, C, ties=False):
    random = np.random.default_rng(rows + columns)
    X = random.normal(size=(rows, columns))
    if ties:  # so that multipliers are not unique, and rows lie at kinks together
        X, C = np.repeat(np.round(X[: -(-rows // 3)]), 3, axis=0)[:rows], C / 3
    value = X @ random.normal(size=columns) + random.normal(size=rows)
    costs = C * (np.ones(rows) if ties else random.uniform(0.5, 2, size=rows))
    gram = FeatureGram.of_rows(X)
    yield gram, classifier(np.where(value > 0, 1.0, -1.0), costs, False, 1.0 if columns > 1 else 0)
    yield gram, regressor(value, costs, 0.3, False)
    yield gram, regressor(value, costs, 0.0, False)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_answer_is_optimal_and_that_of_the_method_for_all_sizes(shape, C, ties):
    for gram, problem in problems(*shape, C, ties):
        assert has_small_kinks(problem, problem.rows(gram))
        found = ALONE.solve(problem, gram, BUDGET)
        assert found.status == "optimal"
        judged = problem.certify(found.value, gram)
        assert judged.relative_gap <= 1e-6
        assert judged.stationarity <= BUDGET.tol
        assert judged.dual_feasibility == 0
        other = problem.certify(LinearNewton(0).solve(problem, gram, BUDGET).value, gram)
        assert judged.primal <= other.primal * (1 + 1e-6)


def test_a_general_solver_finds_the_same():
    for gram, problem in problems(60, 5, 2.0):
        rows = problem.rows(gram)
        X = np.column_stack([rows.dot(unit) for unit in np.eye(rows.columns)])
        w = ALONE.solve(problem, gram, BUDGET).value.w
        np.testing.assert_allclose(w, _by_clarabel(X, problem), atol=1e-6)


def _by_clarabel(X, problem):
    """Minimise ½‖w‖² + hi·a − lo·b subject to Xw + a ≥ p − ε, Xw − b ≤ p + ε, a ≥ 0, b ≥ 0."""
    n, d = X.shape
    P = sparse.block_diag([np.eye(d), np.zeros((2 * n, 2 * n))], format="csc")
    q = np.concatenate([np.zeros(d), problem.hi, -problem.lo])
    eye, none = np.eye(n), np.zeros((n, n))
    A = np.block([[-X, -eye, none], [X, none, -eye]])
    A = np.vstack([A, np.hstack([np.zeros((2 * n, d)), -np.eye(2 * n)])])
    b = np.concatenate([-problem.p + problem.epsilon, problem.p + problem.epsilon, np.zeros(2 * n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.triu(P).tocsc(), q, sparse.csc_matrix(A), b, [clarabel.NonnegativeConeT(4 * n)],
        settings,
    )  # fmt: skip
    return np.array(solver.solve().x)[:d]


def test_where_it_is_not_enough_another_method_goes_on():
    for gram, problem in problems(300, 12, 1e3):
        few = BUDGET.but(max_iter=3)
        found = KinkedNewton(LinearNewton(0)).solve(problem, gram, few)
        assert found.status == "max_iter"
        assert found.statistics.iterations <= 3
        stopped = BUDGET.but(monitor=lambda violation: True)
        assert KinkedNewton(LinearNewton(0)).solve(problem, gram, stopped).status == "interrupted"


def test_large_and_other_problems_are_for_others():
    gram, hinge = next(problems(300, 12, 1.0))
    squared = classifier(hinge.p, np.ones(300), True, 1.0)
    assert not has_small_kinks(squared, squared.rows(gram))
    for wide_or_large in (problems(20, 40, 1.0), problems(3000, 140, 1.0)):
        gram, hinge = next(wide_or_large)
        assert not has_small_kinks(hinge, hinge.rows(gram))
