"""Solvers of networks: one problem, one optimum, one way to stop."""

import numpy as np
import pytest

from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.features import Features
from mercer.problems.backpropagation import Network, NetworkLoss
from mercer.solvers.base import Budget, Status
from mercer.solvers.network.stochastic import (
    LBFGS,
    Adam,
    LineSearchDescent,
    MiniBatchDescent,
    Momentum,
    TrainingCourse,
)


@pytest.fixture
def regression():
    """Return a network without hidden layers: ridge regression without a penalty on the bias."""
    random = np.random.RandomState(0)
    X = random.normal(size=(50, 3))
    Y = X @ [[1.0], [-2.0], [0.5]] + 0.3 + 0.1 * random.normal(size=(50, 1))
    network = Network([3, 1], "identity", "identity")
    network.start(random)
    A = np.column_stack([X, np.ones(50)])
    best = np.linalg.solve(A.T @ A + np.diag([0.5, 0.5, 0.5, 0.0]), A.T @ Y[:, 0])
    return NetworkLoss(network, Y, np.zeros(0), 0.5), FeatureGram(Features.numbered(X)), best


def mini_batches(network, kind, **options):
    zeros = np.zeros_like(network.theta)
    optimiser = Adam(zeros, zeros.copy(), 0.01, 0.9, 0.999, 1e-8)
    if kind == "momentum":
        optimiser = Momentum(zeros, 0.02, "constant", 0.9, True, 0.5)
    return MiniBatchDescent(optimiser, 50, np.random.RandomState(0), **options)


@pytest.mark.parametrize("method", [LBFGS(), LineSearchDescent()], ids=["L-BFGS", "descent"])
def test_full_batches_find_ridge_regression(regression, method):
    problem, gram, best = regression
    found = method.solve(problem, gram, Budget(tol=1e-8, max_iter=2000))
    assert found.status is Status.OPTIMAL
    assert found.certificate is None
    np.testing.assert_allclose(problem.network.theta, best, atol=1e-6)


@pytest.mark.parametrize("kind", ["adam", "momentum"])
def test_batches_find_ridge_regression(regression, kind):
    problem, gram, best = regression
    method = mini_batches(problem.network, kind, patience=50)
    found = method.solve(problem, gram, Budget(tol=1e-12, max_iter=3000))
    np.testing.assert_allclose(problem.network.theta, best, atol=1e-3)
    assert found.value.loss == found.value.loss_curve[-1]
    assert found.value.seen == 50 * found.statistics.iterations


def test_the_budget_ends_it_and_another_run_goes_on(regression):
    problem, gram, _ = regression
    method = mini_batches(problem.network, "adam")
    first = method.solve(problem, gram, Budget(tol=0.0, max_iter=2))
    assert first.status is Status.MAX_ITER
    second = method.solve(problem, gram, Budget(tol=0.0, deadline=0.0), first.value)
    assert second.status is Status.TIME_LIMIT
    assert len(second.value.loss_curve) == 3
    stopped = method.solve(
        problem, gram, Budget(tol=0.0, monitor=lambda loss: True), TrainingCourse()
    )
    assert stopped.status is Status.INTERRUPTED


def test_the_best_score_keeps_its_weights(regression):
    problem, gram, _ = regression
    network, seen = problem.network, []

    def score():
        seen.append(network.theta.copy())
        return -abs(len(seen) - 3.0)

    method = mini_batches(network, "adam", patience=4, score=score)
    found = method.solve(problem, gram, Budget(tol=0.0, max_iter=100))
    assert found.status is Status.STALLED
    assert found.value.best_score == 0.0
    np.testing.assert_array_equal(network.theta, seen[2])
