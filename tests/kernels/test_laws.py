"""The laws of the algebra: what a composite is, pointwise, whatever it is made of."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from mercer import (
    RBF,
    Constant,
    Cosine,
    Delta,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    White,
)
from mercer.kernels.algebra import Exp, Power, PowerSeries, Product, Scaled, Sum
from mercer.kernels.wrappers import Normalized, On
from tests.kernels.cases import close
from tests.oracles.strategies import bounded_kernels, cases, tables, vector_kernels

TWO = st.integers(1, 3).flatmap(
    lambda d: st.tuples(vector_kernels(d), vector_kernels(d), tables(columns=d), tables(columns=d))
)
BOUNDED = st.integers(1, 3).flatmap(lambda d: st.tuples(bounded_kernels(d), tables(columns=d)))
numbers = st.floats(0.0, 5.0)


@given(TWO)
def test_sum_and_product_are_pointwise(two):
    a, b, X, Y = two
    close((a + b)(X, Y), a(X, Y) + b(X, Y))
    close((a * b)(X, Y), a(X, Y) * b(X, Y))
    close((a + b).diag(X), a.diag(X) + b.diag(X))
    close((a * b).diag(X), a.diag(X) * b.diag(X))


@given(TWO, numbers)
def test_numbers_scale_and_shift(two, c):
    a, _, X, Y = two
    close((c * a)(X, Y), c * a(X, Y))
    close((a * c)(X, Y), c * a(X, Y))
    close((a + c)(X, Y), a(X, Y) + c)
    close((c + a)(X, Y), a(X, Y) + c)


@given(TWO, st.integers(0, 5))
def test_whole_powers_are_pointwise(two, p):
    a, _, X, Y = two
    close((a**p)(X, Y), a(X, Y) ** p, 1e-9)


@given(BOUNDED, st.floats(0.1, 4.0))
def test_fractional_powers_are_pointwise(case, p):
    a, X = case
    close((a**p)(X), a(X) ** p)
    close((a**p).diag(X), np.ones(len(X)))


@given(BOUNDED)
def test_exponentials_are_pointwise(case):
    a, X = case
    close(a.exp()(X), np.exp(a(X)))


@given(TWO, st.lists(numbers, min_size=1, max_size=5))
def test_power_series_are_pointwise(two, coefficients):
    a, _, X, Y = two
    K = a(X, Y)
    expected = sum(c * K**i for i, c in enumerate(coefficients))
    close(a.power_series(coefficients)(X, Y), expected, 1e-9)


@given(cases(positive=True))
def test_normalised_kernels_have_a_unit_diagonal(case):
    kernel, X = case.kernel, case.X
    diagonal = kernel.diag(X)
    # Rounding may leave a tiny diagonal where cancellation should give zero.
    assume(np.all((diagonal == 0) | (diagonal > 1e-9)))
    N = kernel.normalized()(X)
    zero = diagonal == 0
    close(np.diagonal(N)[~zero], np.ones((~zero).sum()))
    assert not N[zero].any()
    assert not N[:, zero].any()
    assert np.abs(N).max() <= 1 + 1e-9
    root = np.sqrt(diagonal)
    close((N * root[:, None] * root)[~zero], kernel(X)[~zero], 1e-8)


def test_normalised_rows_of_zeros():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(Linear().normalized()(X), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(Cosine()(X), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(Cosine().diag(X), [0, 1])
    np.testing.assert_array_equal(Linear().normalized()(X, X[:1]), [[0], [0]])


@pytest.mark.parametrize("size", [1e-100, 1e-7, 1e100])
def test_only_a_diagonal_of_zero_gives_zero(size, X):
    unit = X.any(axis=1).astype(float)
    close(np.diagonal(Linear().normalized()(size * X)), unit)
    close(Cosine()(size * X), Cosine()(X))


@given(tables(), st.floats(0.2, 3.0))
def test_cosine_is_the_normalised_linear_kernel(X, c):
    close(Cosine()(X), Linear().normalized()(X))
    close((c * Linear()).normalized()(X), Cosine()(X))


@given(tables())
def test_gaussian_is_the_normalised_exponential_of_the_linear_kernel(X):
    close(Linear().exp().normalized()(X), RBF(gamma=0.5)(X))


@given(tables(), st.floats(0.2, 2.0))
def test_gaussian_of_any_width_is_one_too(X, gamma):
    close((2 * gamma * Linear()).exp().normalized()(X), RBF(gamma=gamma)(X), 1e-9)


@pytest.mark.parametrize(
    ("kernel", "gamma"),
    [
        (Linear().exp(), 0.5),
        (3 * Linear().exp(), 0.5),
        ((2 * Linear()).exp(), 1.0),
        (Linear().exp() ** 3, 1.5),
        (Linear().exp() * (0.5 * Linear()).exp(), 0.75),
    ],
)
@pytest.mark.parametrize("size", [1e2, 1e5])
def test_normalised_exponentials_do_not_overflow(kernel, gamma, size):
    X = np.random.default_rng(0).normal(size=(8, 3)) + size
    k = kernel.normalized()
    close(k(X), RBF(gamma=gamma)(X), 1e-15 * size**2 + 1e-9)
    close(k.diag(X), np.ones(8))
    assert k(X).max() <= 1
    close(k(X, X[:2]), RBF(gamma=gamma)(X, X[:2]), 1e-15 * size**2 + 1e-9)


def test_normalised_exponentials_of_large_kernels_have_gradients():
    X = np.random.default_rng(0).normal(size=(6, 2)) + 30
    kernel = (2 * (0.01 * Polynomial(2, 0.5, 1.5)).exp() ** 1.5).normalized()
    with np.errstate(over="ignore"):
        assert not np.isfinite(np.exp(0.015 * Polynomial(2, 0.5, 1.5)(X))).all()
    for name, slope in kernel.gradients(X):
        value = kernel.free_parameters()[name]
        up, down = (kernel.with_parameters({name: value * np.exp(h)})(X) for h in (1e-5, -1e-5))
        close(slope, (up - down) / 2e-5, 1e-6)


@given(tables(), st.floats(0.3, 2.0))
def test_names_of_widths(X, length):
    same = RBF(gamma=1 / (2 * length**2))(X)
    close(RBF(sigma=length)(X), same)
    close(RBF(length_scale=length)(X), same)
    close(RBF(length_scale=[length] * X.shape[1])(X), same)
    close(Laplacian(1 / length)(X), Laplacian(length_scale=length)(X))
    close(Matern(nu=0.5, sigma=length)(X[:, :1]), Laplacian(sigma=length)(X[:, :1]))


@given(tables(rows=(2, 7)))
def test_pointwise_limits_of_kernels_are_kernels(X):
    gaussian = RBF(length_scale=1.3)(X)
    errors = []
    for alpha in (1e1, 1e3, 1e5):
        K = RationalQuadratic(alpha=alpha, length_scale=1.3)(X)
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * len(X)
        errors.append(np.abs(K - gaussian).max())
    assert errors[2] <= 1e-4
    assert errors[2] <= errors[0] + 1e-12
    close(Matern(nu=math.inf, length_scale=1.3)(X), gaussian)
    assert np.linalg.eigvalsh(gaussian)[0] > -1e-10 * len(X)


@given(tables(rows=(2, 7)))
def test_truncated_exponential_series_approach_the_exponential(X):
    inner = 0.1 * Linear()
    exact = inner.exp()(X)
    for terms, error in [(3, None), (8, 1e-1), (30, 1e-12)]:
        series = inner.power_series([1 / math.factorial(i) for i in range(terms)])
        K = series(X)
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * len(X) * np.abs(K).max()
        if error is not None:
            close(K, exact, error)


@given(tables(columns=3), tables(columns=3))
def test_product_of_kernels_on_columns_is_the_tensor_product(X, Y):
    tensor = RBF(gamma=0.4).on(0) * Linear().on(1, 2)
    expected = RBF(gamma=0.4)(X[:, [0]], Y[:, [0]]) * Linear()(X[:, 1:], Y[:, 1:])
    close(tensor(X, Y), expected)
    # Gaussian kernels factor over the columns.
    factors = RBF(gamma=0.4).on(0) * RBF(gamma=0.4).on(1) * RBF(gamma=0.4).on(2)
    close(factors(X, Y), RBF(gamma=0.4)(X, Y))
    # And the features of a tensor product are the Kronecker products of the features.
    linear = Linear().on(0) * Polynomial(2).on(1, 2)
    close(linear.features(X) @ linear.features(Y).T, linear(X, Y))


@given(tables(columns=2), tables(columns=2))
def test_distances_in_feature_space(X, Y):
    kernel = RBF(gamma=0.5) + Polynomial(2)
    squared = kernel.diag(X)[:, None] + kernel.diag(Y) - 2 * kernel(X, Y)
    close(kernel.distance(X, Y) ** 2, np.maximum(squared, 0), 1e-8)
    close(Linear().distance(X, Y), np.linalg.norm(X[:, None] - Y, axis=2), 1e-6)


# ---- the structure: nothing is flattened ---------------------------------------------------------


def test_flattening_bug_of_other_libraries(X):
    """(a·b) + c must not become a + b + c, nor a·(b + c) become a·b·c."""
    a, b, c = RBF(gamma=0.3), Linear(), Constant(0.5)
    A, B, C = (k(X) for k in (a, b, c))
    close((a * b + c)(X), A * B + C)
    close((a * (b + c))(X), A * (B + C))
    close((a + b * c)(X), A + B * C)
    close(((a + b) * c)(X), (A + B) * C)
    assert not np.allclose((a * b + c)(X), (a + b + c)(X))
    assert not np.allclose((a * (b + c))(X), (a * b * c)(X))
    left_product = a * b + c
    assert type(left_product) is Sum
    assert type(left_product.left) is Product
    assert (left_product.left.left, left_product.left.right, left_product.right) == (a, b, c)
    assert left_product != a + b + c


def test_nodes_are_binary():
    a, b, c = RBF(gamma=0.3), Linear(), Constant(0.5)
    assert (a + b + c).left == a + b
    assert (a + (b + c)).right == b + c
    assert a + b + c != a + (b + c)
    assert a * b * c != a * (b * c)
    assert (2 * (3 * a)).kernel == 3 * a
    assert type(2 * a) is Scaled
    assert type(a**2) is Power
    assert type(a.exp()) is Exp
    assert type(a.power_series([1.0])) is PowerSeries
    assert type(a.normalized()) is Normalized
    assert type(a.on(0)) is On
    assert ((a**2) ** 3).kernel == a**2


def test_operators_take_numpy_numbers_and_refuse_the_rest(X):
    assert np.float64(2) * Linear() == 2 * Linear()
    assert Linear() * np.float32(2) == 2 * Linear()
    assert np.int64(3) + Linear() == 3 + Linear() == Sum(Constant(3.0), Linear())
    close(sum([RBF(gamma=0.3), Linear()])(X), RBF(gamma=0.3)(X) + Linear()(X))
    for wrong in ("2", None, True, [1.0], np.ones(2), 1j):
        with pytest.raises(TypeError):
            Linear() + wrong
        with pytest.raises(TypeError):
            wrong * Linear()


def test_white_noise_in_composites(X):
    kernel = RBF(gamma=0.5) + White(0.2)
    close(kernel(X), RBF(gamma=0.5)(X) + 0.2 * np.eye(len(X)))
    close(kernel(X, X), RBF(gamma=0.5)(X))
    close(kernel.normalized()(X), kernel(X) / 1.2)
    close((White(0.2) ** 0.5)(X), np.sqrt(0.2) * np.eye(len(X)))
    close((2 * White(0.2)).on(1)(X), 0.4 * np.eye(len(X)))


@given(tables(rows=(1, 6), columns=2))
def test_delta_of_rows_is_the_product_over_columns(X):
    both = Delta().on(0) * Delta().on(1)
    close(Delta()(np.round(X)), both(np.round(X)))
