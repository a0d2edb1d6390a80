"""Block coordinate descent for several targets: working sets, rounds, limits, and optimality."""

import numpy as np
import pytest
from scipy import sparse

from mercer._fast.lasso import LAST
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.multi_task import MultiTaskProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear import block_descent
from mercer.solvers.linear.block_descent import BlockDescent


def data(n, p, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) + 0.5 * random.normal(size=(n, 1))
    W = np.zeros((p, 3))
    W[:4] = random.normal(size=(4, 3))
    return X, X @ W + 0.5 * random.normal(size=(n, 3))


def greatest(X, Y):
    return np.linalg.norm(X.T @ Y, axis=1).max()


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize(("n", "p"), [(60, 10), (40, 250)])
def test_rows_of_weights_meet_their_conditions(n, p, l2, thin):
    X, Y = data(n, p)
    l1 = 0.1 * greatest(X, Y)
    problem = MultiTaskProblem(Y, l1, l2)
    gram = FeatureGram.of_rows(sparse.csr_array(X) if thin else X)
    found = BlockDescent().solve(problem, gram, Budget(tol=1e-8))
    W = found.value
    assert found.status == "optimal"
    slopes = X.T @ (Y - X @ W) - l2 * W
    lengths = np.linalg.norm(W, axis=1)
    used = lengths > 0
    assert 0 < np.count_nonzero(used) < p
    pull = slopes[used] - l1 * W[used] / lengths[used, None]
    assert np.abs(pull).max() <= 1e-4 * l1
    assert np.linalg.norm(slopes[~used], axis=1).max() <= l1 * (1 + 1e-4)
    assert found.statistics.iterations <= 40 * LAST
    np.testing.assert_allclose(found.product, X @ W, atol=1e-9)


def test_no_rounds_where_all_weights_are_zero():
    X, Y = data(60, 10)
    problem = MultiTaskProblem(Y, 1.01 * greatest(X, Y))
    found = BlockDescent().solve(problem, FeatureGram.of_rows(X), Budget(tol=1e-6))
    assert not found.value.any()
    assert found.statistics.iterations == 0


@pytest.mark.parametrize("most", [0, 1, LAST, LAST + 2])
def test_rounds_end_at_the_limit(most):
    X, Y = data(40, 250)
    problem = MultiTaskProblem(Y, 0.01 * greatest(X, Y))
    gram = FeatureGram.of_rows(X)
    found = BlockDescent().solve(problem, gram, Budget(tol=1e-12, max_iter=most))
    assert found.status == "max_iter"
    assert found.statistics.iterations == most


def test_a_last_set_of_rounds_brings_digits():
    X, Y = data(60, 10)
    problem = MultiTaskProblem(Y, 0.1 * greatest(X, Y))
    gram = FeatureGram.of_rows(X)
    found = BlockDescent().solve(problem, gram, Budget(tol=1e-3))
    assert found.statistics.iterations % LAST == 0
    assert problem.certify(found.value, gram).relative_gap <= 1e-6
    again = BlockDescent().solve(problem, gram, Budget(tol=1e-3), found.value)
    assert again.statistics.iterations == 0
    np.testing.assert_array_equal(again.value, found.value)


def test_what_rounding_leaves_is_called_stalled_or_optimal():
    X, Y = data(60, 10)
    problem = MultiTaskProblem(Y, 0.1 * greatest(X, Y))
    found = BlockDescent().solve(problem, FeatureGram.of_rows(X), Budget(tol=0.0))
    assert found.status in ("optimal", "stalled")
    assert found.statistics.iterations <= 60 * LAST
    assert problem.certify(found.value, FeatureGram.of_rows(X)).relative_gap <= 1e-12


def test_working_sets():
    random = np.random.default_rng(1)
    slopes, W = random.normal(size=(500, 2)), np.zeros((500, 2))
    W[[3, 400]] = 1.0
    chosen = block_descent._working_set(W, slopes)
    lengths = np.linalg.norm(slopes, axis=1)
    assert len(chosen) == 102
    assert {3, 400} <= set(chosen)
    assert (np.diff(chosen) > 0).all()
    others = np.setdiff1d(np.arange(500), chosen)
    zeros = np.setdiff1d(chosen, [3, 400])
    assert lengths[zeros].min() >= lengths[others].max()
    W[:150] = 1.0
    assert len(block_descent._working_set(W, slopes)) == 302
    W[:300] = 1.0
    assert len(block_descent._working_set(W, slopes)) == 500


@pytest.mark.parametrize("count", [1, 3, LAST])
def test_rounds_lower_the_objective(count):
    X, Y = data(60, 10)
    problem = MultiTaskProblem(Y, 0.05 * greatest(X, Y), 2.0)
    G, W = X.T @ X, np.zeros((10, 3))

    def value(V):
        return np.sum((Y - X @ V) ** 2) / 2 + problem.penalty(V)

    found = block_descent._rounds(problem, G, W, X.T @ Y, count)
    assert value(found) < value(np.zeros((10, 3)))
    # One row of weights at a time, by its closed form.
    V = np.zeros((10, 3))
    for _ in range(count):
        for j in range(10):
            pull = X[:, j] @ (Y - X @ V) + G[j, j] * V[j]
            size = np.linalg.norm(pull)
            V[j] = pull * max(1 - problem.l1 / size, 0) / (G[j, j] + problem.l2)
    if count < LAST:
        np.testing.assert_allclose(found, V, atol=1e-10)
    else:  # a look ahead is taken where it is better
        assert value(found) <= value(V)
