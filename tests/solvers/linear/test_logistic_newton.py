"""Newton's method for logistic regression: steps, limits, secants, and conditions of optimality."""

import math
import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems.linear import DesignRows
from mercer.problems.logistic import LinearLogisticProblem, LogisticAnswer, LogisticProblem
from mercer.solvers.base import Budget, Status
from mercer.solvers.linear import logistic_newton as newton
from mercer.solvers.linear.logistic_newton import KernelLogisticNewton, LinearLogisticNewton
from mercer.solvers.linear.logistic_spaces import Element, WeightSpace


def posed(n=120, d=4, classes=2, intercept=True, penalised=True, C=1.0):
    random = np.random.default_rng(n + d + classes)
    X = random.normal(size=(n, d))
    scores = X @ random.normal(size=(d, classes)) + random.gumbel(size=(n, classes))
    labels = scores.argmax(axis=1)
    problem = LinearLogisticProblem(labels, np.full(n, C), classes, intercept, penalised)
    return problem, X, FeatureGram.of_rows(X)


@pytest.mark.parametrize("largest", [1000, 0])
@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_slopes_vanish_after_few_steps(classes, intercept, penalised, largest):
    problem, X, gram = posed(classes=classes, intercept=intercept, penalised=penalised)
    solver = LinearLogisticNewton(largest_system=largest)
    found = solver.solve(problem, gram, Budget(tol=1e-8))
    W, bias = found.value
    view = problem.view(X @ W, bias)
    slopes = W * penalised - X.T @ view.beta
    assert found.status == "optimal"
    assert np.abs(slopes).max() <= 2e-8 * problem.C.sum()
    assert np.abs(view.slopes).max() * intercept <= 1e-12 * problem.C.sum()
    assert found.statistics.iterations <= 9
    np.testing.assert_allclose(found.product, X @ W, atol=1e-12)
    if classes == 3:  # the sum of all functions is no one's business
        np.testing.assert_allclose(W.sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_the_gap_is_sharper_than_the_slopes(tol):
    problem, _, gram = posed()
    found = LinearLogisticNewton().solve(problem, gram, Budget(tol=tol))
    assert found.certificate.relative_gap <= 1e-4 * tol
    assert found.statistics.iterations <= 6


@pytest.mark.parametrize("most", [0, 1, 2])
def test_steps_end_at_the_limit(most):
    problem, X, gram = posed()
    found = LinearLogisticNewton().solve(problem, gram, Budget(1e-12, max_iter=most))
    assert found.status == "max_iter"
    assert found.statistics.iterations == most
    start = LogisticAnswer(np.full((4, 1), 0.5), np.array([0.25]))
    kept = LinearLogisticNewton().solve(problem, gram, Budget(1e-12, max_iter=0), start)
    np.testing.assert_array_equal(kept.value.coef, start.coef)
    np.testing.assert_array_equal(kept.value.bias, start.bias)
    assert X.shape == (120, 4)


def test_starts_are_gone_on_from():
    problem, _, gram = posed()
    first = LinearLogisticNewton().solve(problem, gram, Budget(tol=1e-9))
    again = LinearLogisticNewton().solve(problem, gram, Budget(tol=1e-6), first.value)
    assert again.statistics.iterations == 0
    assert first.statistics.iterations > 2


def test_a_tolerance_of_zero_ends_at_rounding():
    problem, _, gram = posed()
    found = LinearLogisticNewton().solve(problem, gram, Budget(tol=0.0, max_iter=50))
    assert found.statistics.iterations <= 12
    assert found.certificate.relative_gap <= 1e-12


@pytest.mark.parametrize(("gap", "seen"), [(np.inf, False), (1e-3, True)])
@pytest.mark.parametrize("penalised", [True, False])
def test_whether_the_gap_was_seen(gap, seen, penalised):
    problem, _, gram = posed(penalised=penalised)
    found = LinearLogisticNewton().run(problem, gram, Budget(tol=1e-6, gap=gap), None)
    assert found.gap_seen is (seen and penalised)


def test_whoever_watches_sees_the_last_point():
    problem, _, gram = posed()
    asked = []
    budget = Budget(tol=1e-8, monitor=lambda violation: bool(asked.append(violation)))
    found = LinearLogisticNewton().solve(problem, gram, budget)
    assert len(asked) >= found.statistics.iterations + 1
    assert asked[-1] <= 1e-8
    assert asked[0] > 1e-3
    assert (np.diff(asked) <= 0).all()


@pytest.mark.parametrize(("most", "affords"), [(-1, True), (0, False), (99, False), (100, True)])
def test_secants_need_steps(most, affords):
    assert newton._affords_secants(Budget(max_iter=most)) == affords


@pytest.mark.parametrize("most", [-1, 99])
def test_secants_on_larger_data(most):
    # 400 · 110² numbers: secants take two passes a step, where Newton's method forms a matrix.
    problem, X, gram = posed(400, 110, C=0.05)
    found = LinearLogisticNewton().solve(problem, gram, Budget(1e-6, max_iter=most))
    W, bias = found.value
    assert found.status == "optimal"
    slopes = W - X.T @ problem.view(X @ W, bias).beta
    assert np.abs(slopes).max() <= 1.01e-6 * problem.C.sum()
    assert found.statistics.iterations <= (40 if most < 0 else 6)
    assert (found.statistics.iterations > 6) == (most < 0)


def test_directions_and_steps():
    problem, X, _ = posed(C=0.5)
    space = WeightSpace(DesignRows(X), 1_000)
    w = Element(space, np.full((4, 1), 0.2))
    view = problem.with_best_bias(w.values)
    g = Element(space, w.coef - X.T @ view.beta)
    bend = problem.second_derivative(view)
    H = np.column_stack([e + (X.T @ bend(X @ e[:, None]))[:, 0] for e in np.eye(4)])
    exact = -np.linalg.solve(H, g.coef)
    d = newton._direction(problem, space, view, g, g.dot(g))
    np.testing.assert_allclose(d.coef, exact, atol=1e-10)
    rough = newton._direction(problem, WeightSpace(DesignRows(X), 0), view, g, g.dot(g))
    assert 0 < np.abs(rough.coef - exact).max() <= 0.1 * np.abs(exact).max()
    value = view.loss + w.dot(w) / 2
    after, seen = newton._search(problem, w, view, d, g.dot(d), value, 1e-12)
    np.testing.assert_allclose(after.coef, w.coef + d.coef)
    assert seen.loss + after.dot(after) / 2 < value + 1e-4 * g.dot(d)
    assert np.abs(seen.slopes).max() <= 1e-12 * problem.C.sum()
    # No step leads down along a direction that leads up.
    assert newton._search(problem, w, view, d.opposite(), g.dot(d), value, 1e-12) is None


@pytest.mark.parametrize("most", [5_000, 10])
@pytest.mark.parametrize("classes", [2, 3])
def test_functions_of_a_kernel(classes, most):
    _, X, _ = posed(60, 3)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    labels = (np.argsort(np.argsort(X[:, 0])) * classes) // 60
    problem = LogisticProblem(labels, np.full(60, 2.0), classes)
    gram = GivenGram(K, Definite.POSITIVE)
    found = KernelLogisticNewton(most_factored=most).solve(problem, gram, Budget(tol=1e-8))
    c, bias = found.value
    view = problem.view(K @ c, bias)
    assert found.status is Status.OPTIMAL
    assert np.abs(K @ (c - view.beta)).max() <= 1e-6
    assert np.abs(view.slopes).max() <= 1e-10
    assert found.statistics.iterations <= 8


def test_when_secants_take_too_long():
    # 32 steps for a factor of 2³²: one step more for each factor of 2 that is left.
    def long(norm, goal, steps=32, worth=3.0):
        return newton._take_long(norm * 2.0**32, norm, goal, steps, worth)

    assert not long(8.0, 1.0)  # three more are worth it
    assert long(8.1, 1.0)
    assert long(16.0, 2.0, worth=2.9)
    assert not long(1.0, 1.0, worth=-1.0)  # the goal is met
    assert not long(1e9, 1.0, steps=24)  # the first ones are not judged
    assert long(1e9, 1.0, steps=25)
    assert not long(0.5, 1.0, steps=60)
    assert long(0.5, 1.0, steps=61)
    assert long(1e-9, 1e-10, steps=61, worth=math.inf)
    assert not long(1e9, 1.0, steps=60, worth=math.inf)


@pytest.mark.parametrize(("most", "enough"), [(-1, True), (99, False), (100, True), (0, False)])
def test_secants_need_steps_to_fall_back_on(most, enough):
    assert newton._affords_secants(Budget(max_iter=most)) is enough


def test_no_threads_of_scipy_disturb_those_of_numpy():
    """Products of NumPy and factors of SciPy take turns, and idle threads of BLAS spin."""
    seen = []

    def look(violation):
        seen.extend(lib for lib in threadpool_info() if lib["user_api"] == "blas")
        return True

    with threadpool_limits(2, user_api="blas"):
        problem, _, gram = posed(n=1_100, d=1_000)
        LinearLogisticNewton().solve(problem, gram, Budget(tol=1e-4, monitor=look))
    of_scipy = [lib["num_threads"] for lib in seen if f"{os.sep}scipy." in lib["filepath"]]
    others = [lib["num_threads"] for lib in seen if f"{os.sep}scipy." not in lib["filepath"]]
    assert set(of_scipy) <= {1}
    assert set(others) == {2}
