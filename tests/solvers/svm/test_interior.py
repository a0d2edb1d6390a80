"""The interior-point method: against another one, at any C, on matrices and on features."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer import RBF, Gram, Linear, Precomputed
from mercer.gram.feature_gram import gram_for_steps
from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.solvers.base import Budget
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.interior import (
    DenseSystem,
    FeatureSystem,
    InteriorPoint,
    climb,
    judged,
    linear_system,
)
from tests.problems.reference import KINDS, optimum, random_case
from tests.stopwatch import stopwatch


def data(n, d=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * random.normal(size=n) > 0, 1.0, -1.0)


def never():
    return False


def always():
    return True


@settings(max_examples=150)
@given(st.sampled_from(KINDS), st.integers(0, 10**6))
def test_the_optimum_is_that_of_another_solver(kind, seed):
    case = random_case(kind, seed, most=25)
    problem = case.problem
    beta = climb(problem, linear_system(GivenGram(case.K)), 1e-6, never)
    assert (problem.lo <= beta).all()
    assert (beta <= problem.hi).all()
    size = np.abs(beta).sum() + np.abs(problem.start).sum()
    assert_allclose(np.bincount(problem.group, beta), problem.sums, atol=1e-10 * size)
    least, most = optimum(case)
    value = case.value(beta)
    # An optimum of 0 has no digits of its own: those of its terms count.
    sizes = np.abs(beta).reshape(-1, len(case.K)).sum(axis=0)
    rounding = 1e-8 * float(sizes @ np.abs(case.K) @ sizes)
    low, high = least - 1e-7 * abs(least), most + 1e-7 * abs(most)
    assert low - rounding <= value <= high + rounding


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e4, 1e7])
def test_any_C_on_features(C):
    X, signs = data(3000, 6)
    problem = qp.classifier(signs, np.full(len(X), C))
    system = FeatureSystem(X)
    beta = climb(problem, system, 1e-3, never)
    f = X @ (X.T @ beta)
    certificate = problem.judge(beta, f)
    assert certificate.gap + 1e-12 * certificate.primal >= 0
    assert certificate.relative_gap < 1e-6
    assert 0 < np.count_nonzero((beta > problem.lo) & (beta < problem.hi)) <= 20


@pytest.mark.parametrize("C", [1.0, 1e4, 1e10])
def test_a_matrix_and_its_features_agree(C):
    X, signs = data(300, 5)
    problem = qp.classifier(signs, np.full(len(X), C))

    def value(beta):
        return problem.p @ beta - beta @ X @ (X.T @ beta) / 2

    one = climb(problem, linear_system(GivenGram(X @ X.T)), 1e-3, never)
    two = climb(problem, FeatureSystem(X), 1e-3, never)
    assert_allclose(value(one), value(two), rtol=1e-3 if C == 1e10 else 1e-8)


def test_solving_with_a_diagonal():
    X, _ = data(60, 70)
    random = np.random.default_rng(3)
    d, c = random.exponential(size=60) * 10.0 ** random.integers(-6, 6, size=60), X[:, 0]
    K = X @ X.T
    expected = K @ np.linalg.solve(np.eye(60) + d[:, None] * K, c)
    assert_allclose(DenseSystem(K).factor(d)(c), expected, rtol=1e-6, atol=1e-9)
    assert_allclose(FeatureSystem(X).factor(d)(c), expected, rtol=1e-6, atol=1e-9)


def test_low_rank_is_seen():
    X, _ = data(60, 5)
    system = linear_system(GivenGram(X @ X.T))
    assert isinstance(system, FeatureSystem)
    assert system.phi.shape == (60, 5)
    assert_allclose(system.phi @ system.phi.T, X @ X.T, atol=1e-12)
    assert isinstance(linear_system(GivenGram(RBF(gamma=2.0)(X))), DenseSystem)


def test_pairwise_steps_that_get_nowhere_are_left():
    X, signs = data(400, 3)
    problem = qp.classifier(signs, np.full(400, 1e6))
    kernel = Linear()
    gram = gram_for_steps(kernel, kernel.encode(X), 1 << 27, whole=True)
    [solution] = BoxQPSolver().solve_all([(np.arange(400), problem)], gram, Budget(tol=1e-3))
    assert solution.status == "optimal"
    assert solution.statistics.details["violation"] <= 1e-3
    biases = problem.biases(solution.value, solution.product)
    certificate = problem.judge(solution.value, X @ (X.T @ solution.value), biases)
    assert certificate.relative_gap < 1e-6


def test_the_best_answer_is_kept(monkeypatch):
    X, signs = data(300)
    problem = qp.classifier(signs, np.full(300, 1e5))
    gram = GivenGram(X @ X.T)
    monkeypatch.setattr(
        InteriorPoint,
        "run",
        lambda self, problem, gram, budget, start: judged(
            problem, gram, problem.start, Budget(1e-6)
        ),
    )
    solution = BoxQPSolver(turn=2).by_steps(problem, gram, Budget(tol=1e-6), None)
    assert solution.status == "stalled"  # nobody set a limit of steps
    value = problem.p @ solution.value - solution.value @ solution.product / 2
    assert value > 0  # that of the start
    assert solution.iterations == 2 * 2 * 300


def test_an_interrupt_inside(monkeypatch):
    X, signs = data(300)
    problem = qp.classifier(signs, np.full(300, 1e5))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(InteriorPoint, "run", interrupt)
    solution = BoxQPSolver(turn=2).by_steps(problem, GivenGram(X @ X.T), Budget(tol=1e-6), None)
    assert solution.status in ("interrupted", "max_iter")
    assert problem.p @ solution.value > 0


def test_time_limits_are_heard():
    X, signs = data(1500, 4)
    problem = qp.regressor(X[:, 0] + signs, np.full(1500, 1e8), 0.01)
    kernel = Precomputed(RBF(gamma=1.0)(X))
    gram = Gram(kernel, np.arange(1500))
    with stopwatch() as watch:
        [solution] = BoxQPSolver().solve_all(
            [(np.arange(1500), problem)], gram, Budget.within(0.3, tol=1e-12)
        )
    assert watch.seconds < 10
    assert solution.status in ("time_limit", "stalled", "max_iter")
    assert np.isfinite(solution.value).all()
    beta = climb(problem, linear_system(GivenGram(RBF(gamma=1.0)(X))), 1e-3, always)
    assert np.isfinite(beta).all()
