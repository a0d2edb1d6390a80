"""The Newton matrix of logistic regression against products with it, and biases that follow."""

import numpy as np
import pytest

from mercer.problems.linear import DesignRows
from mercer.problems.logistic import LinearLogisticProblem
from mercer.solvers.linear.logistic_spaces import WeightSpace


def case(classes, intercept, constant):
    random = np.random.default_rng(classes)
    X, labels = random.normal(size=(70, 4)) + 3.0, random.integers(classes, size=70)
    C = random.uniform(0.1, 2.0, 70)
    problem = LinearLogisticProblem(labels, C, classes, intercept, constant=constant)
    space = WeightSpace(DesignRows(X, constant), 1_000)
    W = random.normal(size=(space.length, problem.functions))
    return problem, space, W, random.normal(size=W.shape)


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_newton_matrix_is_the_second_derivative(classes, intercept, constant):
    problem, space, W, step = case(classes, intercept, constant)
    view = problem.with_best_bias(space.values(W))
    H = space._hessian(problem, view)
    expected = space.adjoint(problem.second_derivative(view)(space.values(step)))
    found = (H @ step.T.ravel()).reshape(step.T.shape).T
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_biases_move_as_predicted(classes):
    problem, space, W, step = case(classes, True, 0.0)
    F, U, size = space.values(W), space.values(step), 1e-5
    view = problem.with_best_bias(F)
    after = problem.with_best_bias(F + size * U, view.bias).bias
    before = problem.with_best_bias(F - size * U, view.bias).bias
    expected = (after - before) / (2 * size)
    # All biases of several classes may move together, which changes nothing.
    found = problem.bias_along(view, U)
    if classes > 2:
        found, expected = found - found.mean(), expected - expected.mean()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_biases_stay_at_zero_where_there_are_none():
    problem, space, W, step = case(3, False, 0.0)
    view = problem.with_best_bias(space.values(W))
    assert not problem.bias_along(view, space.values(step)).any()
