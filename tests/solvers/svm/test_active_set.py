"""Active-set steps: judged by their certificates, and harmless where they fail."""

import numpy as np
import pytest

from mercer._fast import active_set
from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.solvers.base import Budget
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.smo import SMO

TOL = 1e-6


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 5))
    signs = np.where(X[:, 0] * X[:, 1] + 0.3 * random.normal(size=200) > 0, 1.0, -1.0)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    return X, signs, squared


def step(function, K, problem, beta):
    """Take active-set steps from β; return what they say, and the new β and f."""
    m = len(problem)
    beta, f = beta.copy(), K[np.ix_(problem.row, problem.row)] @ beta
    outcome = function(
        K, problem.row.astype(np.intp), np.empty((m, m), np.float32), np.zeros(m, np.bool_),
        problem.p, problem.lo, problem.hi, problem.group, problem.groups, beta, f, TOL,
    )  # fmt: skip
    return outcome, beta, f


def rough(K, problem):
    """Return multipliers that are near the right sets, but far from optimal."""
    return SMO().solve(problem, GivenGram(K), Budget(tol=1e-3)).value


@pytest.mark.parametrize("rhs", [2, 3])
def test_solve_definite_is_a_solve(rhs):
    random = np.random.default_rng(0)
    root = random.normal(size=(40, 40))
    A, right = root @ root.T + np.eye(40), random.normal(size=(rhs, 40))
    out = right.copy()
    assert active_set.solve_definite(np.triu(A), out)  # the lower triangle is never read
    np.testing.assert_allclose(out, np.linalg.solve(A, right.T).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_solve_definite_tells_what_it_cannot_solve(value):
    A = np.eye(30)
    A[20, 20] = value
    for _ in range(3):
        assert not active_set.solve_definite(A.copy(), np.ones((2, 30)))
    assert active_set.solve_definite(np.eye(30), np.ones((2, 30)))


def problems(X, signs):
    ones, targets = np.ones(len(X)), X[:, 0] + np.sin(3 * X[:, 1])
    some = np.where(np.arange(len(X)) % 5, 1.0, 0.0)  # the others have no room at all
    return {
        "classifier": qp.classifier(signs, 1e3 * ones),
        "zero weights": qp.classifier(signs, 100.0 * some),
        "regressor": qp.regressor(targets, 100.0 * ones, 0.1),
        "nu classifier": qp.nu_classifier(signs, ones, 0.3),
        "one class": qp.one_class(ones, 0.4),
    }


@pytest.mark.parametrize(
    "name", ["classifier", "zero weights", "regressor", "nu classifier", "one class"]
)
def test_exchange_finds_the_optimum(data, name):
    X, signs, squared = data
    K, problem = np.exp(-0.1 * squared), problems(X, signs)[name]
    (done, work, _), beta, f = step(active_set.exchange, K, problem, rough(K, problem))
    assert done
    assert work > 0
    assert (beta >= problem.lo).all()
    assert (beta <= problem.hi).all()
    sums = np.bincount(problem.group, beta, problem.groups)
    np.testing.assert_allclose(sums, problem.sums, atol=1e-10 * problem.hi.max())
    np.testing.assert_allclose(f, K[np.ix_(problem.row, problem.row)] @ beta, atol=TOL / 10)
    assert problem.judge(beta, f).stationarity <= TOL


def test_exchange_that_fails_changes_nothing(data):
    X, signs, _ = data
    K = np.tanh(X @ X.T - 1)
    K -= 3.0 * np.eye(len(K))  # no set of free multipliers has a maximum
    problem = qp.classifier(signs, np.full(len(K), 10.0))
    start = np.where(np.arange(len(K)) % 2, 1.0, 2.0) * signs
    (done, _, drift), beta, f = step(active_set.exchange, K, problem, start)
    assert not done
    assert drift == 0.0
    np.testing.assert_array_equal(beta, start)
    np.testing.assert_array_equal(f, K @ start)


@pytest.mark.parametrize(
    "name", ["classifier", "zero weights", "regressor", "nu classifier", "one class"]
)
def test_advance_stays_feasible_and_gets_better(data, name):
    X, signs, squared = data
    K, problem = np.exp(-0.1 * squared), problems(X, signs)[name]
    start = rough(K, problem)
    _, beta, f = step(active_set.advance, K, problem, start)
    whole = K[np.ix_(problem.row, problem.row)]
    assert problem.p @ beta - 0.5 * beta @ f > problem.p @ start - 0.5 * start @ whole @ start
    assert (beta >= problem.lo).all()
    assert (beta <= problem.hi).all()
    sums = np.bincount(problem.group, beta, problem.groups)
    np.testing.assert_allclose(sums, problem.sums, atol=1e-10 * problem.hi.max())


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_matrix_of_low_rank_and_equal_rows(data, C):
    X, signs, _ = data
    twice = np.concatenate([X[:90], X[:90]])
    K = twice @ twice.T
    problem = qp.classifier(np.concatenate([signs[:90], signs[:90]]), np.full(180, C))
    answer = BoxQPSolver().solve(problem, GivenGram(K), Budget(1e-4))
    assert answer.status == "optimal"
    exact = K @ answer.value
    judged = problem.judge(answer.value, exact)
    assert judged.stationarity <= 1.3e-4
