"""Solvers of networks: one problem, one optimum, one way to stop."""

import numpy as np
import pytest
from sklearn.utils import shuffle as sklearn_shuffle

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


class Still:
    """Takes no step, and notes what it is given."""

    def __init__(self):
        self.given = []

    def step(self, theta, gradient, matrices, alpha, rows):
        self.given.append((gradient.copy(), matrices, alpha, rows))

    def epoch_ends(self, seen):
        self.seen = seen

    def stops(self):
        return True


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_loss_of_an_epoch_is_the_mean_over_its_batches(regression, weighted, shuffle):
    problem, gram, _ = regression
    X, Y, network = gram.features(), problem.Y, problem.network
    weights = np.random.RandomState(1).uniform(0.5, 2, 50) if weighted else np.zeros(0)
    problem = NetworkLoss(network, Y, weights, 0.5)
    still = Still()
    method = MiniBatchDescent(still, 20, np.random.RandomState(0), shuffle)
    found = method.solve(problem, gram, Budget(tol=0.0, max_iter=1))
    # Batches of 20, 20 and 10 rows, each with half of the squares and the whole penalty.
    order = sklearn_shuffle(np.arange(50), random_state=0) if shuffle else np.arange(50)
    w, b = network.theta[:3], network.theta[3]
    each = weights if weighted else np.ones(50)
    total = 0.0
    for at, (gradient, matrices, alpha, rows) in zip(
        (slice(20), slice(20, 40), slice(40, 50)), still.given, strict=True
    ):
        rest = X[order[at]] @ w + b - Y[order[at], 0]
        own = each[order[at]]
        loss = (own @ rest**2) / 2 + 0.25 * w @ w
        total += loss / own.sum() * len(rest)
        np.testing.assert_allclose(gradient[:3], X[order[at]].T @ (own * rest))
        assert gradient[3] == pytest.approx((own * rest).sum())
        assert (matrices, alpha, rows) == (3, 0.5, pytest.approx(own.sum()))
    assert found.value.loss == pytest.approx(total / 50)
    assert found.value.loss_curve == [found.value.loss]
    assert still.seen == found.value.seen == 50


@pytest.mark.parametrize("patience", [0, 2, 3.5])
def test_it_ends_after_more_epochs_than_patience(regression, patience):
    problem, gram, _ = regression
    method = MiniBatchDescent(Still(), 50, np.random.RandomState(0), patience=patience)
    found = method.solve(problem, gram, Budget(tol=1e-9, max_iter=100))
    # Nothing moves: the first epoch is the best, and every other one brings nothing.
    assert found.status is Status.STALLED
    assert found.statistics.iterations == int(patience) + 2
    enough = method.solve(problem, gram, Budget(tol=1e-9, max_iter=int(patience) + 1))
    assert enough.status is Status.MAX_ITER
    np.testing.assert_allclose(np.diff(found.value.loss_curve), 0.0, atol=1e-12)


def test_batches_without_weight_are_left_out(regression):
    problem, gram, _ = regression
    weights = np.ones(50)
    weights[:25] = 0.0
    still = Still()
    part = NetworkLoss(problem.network, problem.Y, weights, 0.5)
    method = MiniBatchDescent(still, 25, np.random.RandomState(0), shuffle=False)
    found = method.solve(part, gram, Budget(tol=0.0, max_iter=1))
    assert len(still.given) == 1
    w, b = problem.network.theta[:3], problem.network.theta[3]
    rest = gram.features()[25:] @ w + b - problem.Y[25:, 0]
    assert found.value.loss == pytest.approx((rest @ rest / 2 + 0.25 * w @ w) / 50)


def test_full_batches_report_the_loss_they_reach(regression):
    problem, gram, best = regression
    X, Y = gram.features(), problem.Y[:, 0]
    rest = X @ best[:3] + best[3] - Y
    least = (rest @ rest / 2 + 0.25 * best[:3] @ best[:3]) / 50
    for method in (LBFGS(), LineSearchDescent()):
        problem.network.theta[:] = 0.0
        found = method.solve(problem, gram, Budget(tol=1e-8, max_iter=2000))
        assert found.value.loss == pytest.approx(least, rel=1e-9)
        for most in (1, 3):
            problem.network.theta[:] = 0.0
            few = method.solve(problem, gram, Budget(tol=1e-12, max_iter=most))
            assert few.status is Status.MAX_ITER
            assert few.statistics.iterations == most
        stopped = method.solve(problem, gram, Budget(tol=1e-12, monitor=lambda loss: True))
        assert stopped.status is Status.INTERRUPTED
    problem.network.theta[:] = 0.0
    few = LBFGS(max_fun=2).solve(problem, gram, Budget(tol=1e-12))
    assert few.status is Status.MAX_ITER
