"""Directions from secants, and that they lead where Newton's method leads."""

import numpy as np
import pytest

from mercer import LogisticRegression
from mercer.solvers.linear.secant_memory import SecantMemory


def test_as_many_secants_as_dimensions_give_newtons_step():
    random = np.random.default_rng(0)
    A = random.normal(size=(5, 5))
    H = A @ A.T + np.eye(5)
    memory = SecantMemory(np.ones(5))
    x = random.normal(size=5)
    memory.see(x, H @ x)
    # Conjugate steps: then the memory is the inverse itself.
    for direction in np.linalg.eigh(H)[1].T:
        x = x + direction
        memory.see(x, H @ x)
    np.testing.assert_allclose(memory.direction(), -x, rtol=1e-8)


def test_the_first_direction_is_the_gradient_by_the_diagonal():
    memory = SecantMemory(np.array([2.0, 4.0]))
    memory.see(np.zeros(2), np.array([2.0, -8.0]))
    np.testing.assert_allclose(memory.direction(), [-1.0, 2.0])


@pytest.mark.parametrize(("classes", "solver"), [(2, "lbfgs"), (3, "lbfgs"), (2, "liblinear")])
def test_secants_and_newtons_method_find_the_same_weights(classes, solver):
    random = np.random.default_rng(classes)
    X = random.normal(size=(700, 90)) + 0.3
    y = np.argmax(X[:, :classes] + random.normal(size=(700, classes)), axis=1)
    secants = LogisticRegression(C=0.3, tol=1e-8, solver=solver).fit(X, y)
    # So few steps leave none for secants.
    newton = LogisticRegression(C=0.3, tol=1e-8, solver=solver, max_iter=90).fit(X, y)
    assert newton.n_iter_[0] < secants.n_iter_[0]
    for model in (secants, newton):
        assert model.certificate_.status == "optimal"
        assert model.certificate_.relative_gap < 1e-11
    np.testing.assert_allclose(secants.coef_, newton.coef_, atol=1e-6)
    np.testing.assert_allclose(secants.intercept_, newton.intercept_, atol=1e-6)


def test_the_oldest_pairs_are_forgotten():
    random = np.random.default_rng(1)
    A = random.normal(size=(30, 30))
    H, points = A @ A.T + np.eye(30), random.normal(size=(26, 30))
    long, short = SecantMemory(np.full(30, 2.0)), SecantMemory(np.full(30, 2.0))
    for place, x in enumerate(points):
        long.see(x, H @ x)
        if place >= 15:
            short.see(x, H @ x)
    np.testing.assert_allclose(long.direction(), short.direction(), rtol=1e-12)
    np.testing.assert_allclose(long.direction(), -_inverse(H, points[15:]) @ H @ points[-1])


def _inverse(H, points):
    """The BFGS inverse of a quadratic's curvature, as a matrix, from secants of its points."""
    steps = np.diff(points, axis=0)
    last = H @ steps[-1]
    inverse = np.eye(len(H)) * (steps[-1] @ last) / (last @ last)
    for step in steps:
        turn = H @ step
        M = np.eye(len(H)) - np.outer(step, turn) / (step @ turn)
        inverse = M @ inverse @ M.T + np.outer(step, step) / (step @ turn)
    return inverse


def test_where_secants_are_slow_newtons_method_ends_sooner():
    random = np.random.default_rng(2)
    # Columns that depend on each other: many curvatures, which ten secants cannot tell.
    X = random.normal(size=(2_000, 120)) @ (np.eye(120) + random.normal(size=(120, 120)) / 4)
    y = X[:, 0] + 4 * random.normal(size=2_000) > 0
    model = LogisticRegression(C=10).fit(X, y)
    assert 24 < model.n_iter_[0] < 40
    assert model.certificate_.relative_gap < 1e-8
