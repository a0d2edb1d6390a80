"""Functions of a vector: derivatives given or by differences, forms, and what is refused."""

import numpy as np
import pytest

from mercer import optimize
from mercer.exceptions import InvalidInput
from mercer.problems.functions import as_function, as_point, jacobian_of, values_of, values_or_nan

X = np.array([0.5, -1.5])
P, Q = np.array([[2.0, 0.5], [0.5, 3.0]]), np.array([1.0, -2.0])


def smooth(x):
    return np.exp(x[0]) * np.sin(x[1]) + x[0] ** 3


def smooth_gradient(x):
    return np.array([np.exp(x[0]) * np.sin(x[1]) + 3 * x[0] ** 2, np.exp(x[0]) * np.cos(x[1])])


def smooth_hessian(x):
    a, b = np.exp(x[0]) * np.sin(x[1]), np.exp(x[0]) * np.cos(x[1])
    return np.array([[a + 6 * x[0], b], [b, -a]])


@pytest.mark.parametrize("given", [(), (smooth_gradient,), (smooth_gradient, smooth_hessian)])
def test_derivatives(given):
    f = optimize.Function(smooth, *given)
    assert f(X) == smooth(X)
    exact = 1e-15 if given else 1e-8
    np.testing.assert_allclose(f.gradient(X), smooth_gradient(X), rtol=exact, atol=exact)
    np.testing.assert_allclose(f.jacobian(X), smooth_gradient(X)[None], rtol=exact, atol=exact)
    near = {0: 1e-5, 1: 1e-8, 2: 1e-15}[len(given)]
    H = f.hessian(X)
    np.testing.assert_allclose(H, smooth_hessian(X), rtol=near, atol=near)
    np.testing.assert_array_equal(H, H.T)
    np.testing.assert_allclose(f.hessian(X, np.array([-2.0])), -2 * smooth_hessian(X), rtol=near,
                               atol=2 * near)  # fmt: skip
    assert f.form(np.ones(1), 2) is None
    assert (f.affine, f.convex, f.size) == (False, None, None)


def test_several_values():
    f = optimize.Function(lambda x: [smooth(x), x[0] * x[1]])
    np.testing.assert_allclose(f.jacobian(X), [smooth_gradient(X), X[::-1]], atol=1e-8)
    weighted = 3 * smooth_hessian(X) - 2 * np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(f.hessian(X, np.array([3.0, -2.0])), weighted, atol=1e-5)
    rows = optimize.Function(
        lambda x: [smooth(x), x[0] * x[1]], lambda x: np.r_[smooth_gradient(x), x[::-1]]
    )
    np.testing.assert_allclose(rows.jacobian(X), [smooth_gradient(X), X[::-1]])
    with pytest.raises(InvalidInput, match="has 2 values where one is needed"):
        f(X)


def test_quadratic_functions():
    f = optimize.QuadraticFunction(P, Q, 4.0)
    value = 0.5 * X @ P @ X + Q @ X + 4
    assert f(X) == pytest.approx(value)
    np.testing.assert_allclose(f.gradient(X), P @ X + Q)
    np.testing.assert_array_equal(f.hessian(X), P)
    np.testing.assert_array_equal(f.hessian(X, np.array([3.0])), 3 * P)
    assert (f.size, f.affine, f.convex) == (2, False, True)
    form = f.form(np.array([2.0]), 2)
    np.testing.assert_array_equal(form.P, 2 * P)
    np.testing.assert_array_equal(form.q, 2 * Q)
    assert form.r == 8.0
    double = form + form
    assert (double.r, double.convex) == (16.0, True)
    assert not optimize.QuadraticFunction(np.diag([1.0, -1.0])).convex
    assert optimize.QuadraticFunction(np.diag([1.0, -1e-10])).convex  # rounding
    assert not optimize.QuadraticFunction(np.diag([1.0, -1e-8])).convex
    flat = optimize.QuadraticFunction(np.zeros((2, 2)), Q)
    assert flat.affine
    assert flat.convex
    assert not optimize.QuadraticFunction(P).q.any()
    for wrong, words in (
        ((np.ones(2),), "square matrix"),
        ((np.ones((2, 3)),), "square matrix"),
        (([[1.0, 2.0], [0.0, 1.0]],), "not symmetric"),
        ((P, np.ones(3)), "q has the shape"),
    ):
        with pytest.raises(InvalidInput, match=words):
            optimize.QuadraticFunction(*wrong)


def test_affine_functions():
    A, b = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]), np.array([1.0, 2.0, 3.0])
    f = optimize.Affine(A, b)
    np.testing.assert_allclose(f.values(X), A @ X - b)
    np.testing.assert_array_equal(f.jacobian(X), A)
    assert not f.hessian(X, np.ones(3)).any()
    assert (f.size, f.affine, f.convex) == (2, True, True)
    form = f.form(np.array([1.0, -1.0, 2.0]), 2)
    assert not form.P.any()
    np.testing.assert_allclose(form.q, A.T @ [1.0, -1.0, 2.0])
    assert form.r == -(1 - 2 + 6)
    assert optimize.Affine([1.0, 2.0], 3.0).values(np.array([1.0, 1.0])).tolist() == [0.0]
    with pytest.raises(InvalidInput, match="A has 3 rows"):
        optimize.Affine(A, [1.0, 2.0])


def test_what_functions_and_points_are():
    f = optimize.Affine(np.eye(2))
    assert as_function(f) is f
    assert as_function(f, lambda x: np.eye(2)) is not f
    with pytest.raises(InvalidInput, match="no function of a vector"):
        as_function(3.0)
    assert as_point(2).tolist() == [2.0]
    for wrong in ([[1.0]], [np.nan], [np.inf, 0.0]):
        with pytest.raises(InvalidInput, match="vector of finite numbers"):
            as_point(wrong)
    both = [f, optimize.QuadraticFunction(P)]
    np.testing.assert_allclose(values_of(both, X), [*X, X @ P @ X / 2])
    np.testing.assert_allclose(jacobian_of(both, X), [*np.eye(2), P @ X])
    assert values_of([], X).shape == (0,)
    assert jacobian_of([], X).shape == (0, 2)


def test_values_outside_of_a_domain_are_none():
    def root(x):
        if x[0] < 0:
            raise ValueError(x)
        return np.sqrt(x)

    f = optimize.Function(root)
    assert values_or_nan(f, np.array([4.0])).tolist() == [2.0]
    outside = values_or_nan(f, np.array([-4.0]))
    assert outside.shape == (1,)
    assert np.isnan(outside).all()
    mixed = values_or_nan(optimize.Function(lambda x: np.log(x)), np.array([1.0, 0.0, -1.0]))
    np.testing.assert_array_equal(mixed, [0.0, np.nan, np.nan])


@pytest.mark.parametrize("at", [0.0, -3.0])
def test_steps_of_differences(at):
    """A step is ∛ε (1 + ∣x∣) to both sides; of second derivatives ε^¼ (1 + ∣x∣)."""
    seen = []

    def f(x):
        seen.append(float(x[0]))
        return x[0] ** 2

    optimize.Function(f).jacobian(np.array([at]))
    step = np.finfo(float).eps ** (1 / 3) * (1 + abs(at))
    np.testing.assert_allclose(sorted(seen), [at - step, at + step], rtol=0, atol=1e-3 * step)
    seen.clear()

    def slope(x):
        seen.append(float(x[0]))
        return 2 * x

    optimize.Function(f, slope).hessian(np.array([at]))
    np.testing.assert_allclose(sorted(seen), [at - step, at + step], rtol=0, atol=1e-3 * step)
    seen.clear()
    optimize.Function(f).hessian(np.array([at]))
    wide = np.finfo(float).eps ** 0.25 * (1 + abs(at))
    assert max(seen) - min(seen) == pytest.approx(2 * wide, rel=0.2)
