"""Gradients with respect to log-parameters against central differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from mercer import (
    RBF,
    Chi2,
    Constant,
    Delta,
    Laplacian,
    Linear,
    Matern,
    NegativeDistance,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    White,
)
from mercer.exceptions import InvalidParameter, NoGradient
from mercer.kernels.evaluation import Pairs
from tests.kernels.cases import COMPOSITES, EXAMPLES, IDS, RADIAL, close, data
from tests.oracles.strategies import cases

STEP = 1e-5

NESTED = [
    (2.0 * RBF(gamma=0.4) + Constant(0.7)).normalized(),
    (Polynomial(2, 0.5, 1.5) + White(0.2)).normalized() * Laplacian(0.3),
    (RBF(gamma=0.3) * RationalQuadratic(alpha=0.8, sigma=1.2)) ** 3,
    (RBF(gamma=0.3) * RationalQuadratic(alpha=0.8, sigma=1.2)) ** 0.5,
    (RBF(gamma=0.3) + Periodic(2.0, 1.3)) ** 0,
    (0.5 * RBF(length_scale=[0.7, 1.5, 2.0])).power_series([0.2, 0.0, 1.5, 0.5], radius=2.0),
    (0.3 * Polynomial(2, 0.2, 1.0)).exp(),
    (RBF(length_scale=[0.7, 1.5]).on(2, 0) * Matern(nu=1.5, sigma=1.1).on(1)).normalized()
    + Linear(),
    (Sigmoid(0.3, 0.2) * Laplacian(length_scale=[0.7, 1.5, 2.0])).on(1, 0, 2),
    3.0 * (2.0 * (Delta().on(0) * RBF(gamma=0.5))),
    (Delta().on(0) * RBF(gamma=0.5)) ** 0.5,
]


def differences(kernel, A, B, name, value):
    """Return ∂K/∂log θ by central differences."""
    up, down = (kernel.with_parameters({name: value * math.exp(h)}) for h in (STEP, -STEP))
    return (up(A, B) - down(A, B)) / (2 * STEP)


def check(kernel, X, Y, tolerance=1e-6):
    """Compare all gradients on three kinds of batches; return the names of the parameters."""
    for A, B in ((X, None), (X, Y)):
        settled = kernel.resolve(kernel.encode(A if B is None else B))
        free = settled.free_parameters()
        gradients = dict(kernel.gradients(A, B))
        assert list(gradients) == list(free)
        for name, G in gradients.items():
            assert G.dtype == np.float64
            close(G, differences(settled, A, B, name, free[name]), tolerance)
            if B is None:
                np.testing.assert_array_equal(G, G.T)
    return list(free)


@pytest.mark.parametrize(("domain", "kernel"), EXAMPLES, ids=IDS)
def test_examples(domain, kernel):
    check(kernel, data(domain, 7, 1), data(domain, 4, 2))


@pytest.mark.parametrize("kernel", [*RADIAL, *COMPOSITES, *NESTED], ids=repr)
def test_radial_kernels_and_composites(kernel, X, Z):
    check(kernel, X, Z)


@pytest.mark.parametrize("kernel", [k for k in RADIAL if k.scales is not None], ids=repr)
def test_one_gradient_for_each_length_scale(kernel, X, Z):
    assert check(kernel, X, Z)[-3:] == ["length_scale[0]", "length_scale[1]", "length_scale[2]"]
    # All length scales together are one: the gradients add up.
    total = sum(G for name, G in kernel.gradients(X, Z) if name.startswith("length_scale"))
    up, down = (
        kernel.replace(length_scale=[s * math.exp(h) for s in kernel.length_scale])(X, Z)
        for h in (STEP, -STEP)
    )
    close(total, (up - down) / (2 * STEP), 1e-6)


@given(cases(rows=(2, 5)))
def test_composites_two_levels_deep(case):
    scale = max(1.0, np.abs(case.kernel(case.X)).max())
    for name, G in case.kernel.gradients(case.X):
        value = case.kernel.free_parameters()[name]
        expected = differences(case.kernel, case.X, None, name, value)
        np.testing.assert_allclose(G / scale, expected / scale, rtol=1e-5, atol=1e-6)


def test_names_of_free_parameters():
    kernel = 2.0 * (RBF(length_scale=[1.0, 2.0]).on(0, 1) + White(0.1)) * Polynomial(2, 0.5, 0.0)
    assert kernel.free_parameters() == {
        "left__factor": 2.0,
        "left__kernel__left__kernel__length_scale[0]": 1.0,
        "left__kernel__left__kernel__length_scale[1]": 2.0,
        "left__kernel__right__noise": 0.1,
        "right__gamma": 0.5,
    }
    changed = kernel.with_parameters(
        {
            "left__factor": 3.0,
            "left__kernel__left__kernel__length_scale[1]": 5.0,
            "right__gamma": 0.7,
        }
    )
    assert changed == 3.0 * (RBF(length_scale=[1.0, 5.0]).on(0, 1) + White(0.1)) * Polynomial(
        2, 0.7, 0.0
    )
    assert kernel.free_parameters()["left__factor"] == 2.0, "the kernel itself must not change"


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (RBF(gamma=0.5), ["gamma"]),
        (Laplacian(sigma=0.5), ["sigma"]),
        (Matern(nu=1.5, length_scale=[1.0, 2.0]), ["length_scale[0]", "length_scale[1]"]),
        (RationalQuadratic(alpha=0.7, sigma=1.0), ["alpha", "sigma"]),
        (Periodic(2.0, 1.0), ["period", "length_scale"]),
        (
            Periodic([2.0, 3.0], [1.0, 0.5]),
            ["period[0]", "period[1]", "length_scale[0]", "length_scale[1]"],
        ),
        (Polynomial(2, 0.5, 1.0), ["gamma", "coef0"]),
        (Sigmoid(0.5, 1.0), ["gamma", "coef0"]),
        (Chi2(0.5), ["gamma"]),
        (Constant(2.0), ["value"]),
        (White(2.0), ["noise"]),
        (2 * Linear(), ["factor"]),
        (
            (2 * RBF(gamma=0.5)).exp() ** 2,
            ["kernel__kernel__factor", "kernel__kernel__kernel__gamma"],
        ),
    ],
)
def test_what_is_free(kernel, names):
    assert list(kernel.free_parameters()) == names


def test_what_is_not_free():
    assert Linear().free_parameters() == {}
    assert RBF("median").free_parameters() == {}
    assert (0 * RBF(gamma=0.5)).free_parameters() == {"kernel__gamma": 0.5}
    assert Constant(0.0).free_parameters() == {}
    assert Polynomial(2, "scale", -1.0).free_parameters() == {}
    assert NegativeDistance().free_parameters() == {}


def test_heuristics_are_settled_before_gradients(X):
    names = dict((RBF("median") + Laplacian()).gradients(X))
    assert list(names) == ["left__gamma", "right__gamma"]


def test_float32_and_sparse(X, Z):
    kernel = RBF(length_scale=[0.7, 1.5, 2.0]) * RationalQuadratic(alpha=0.7) + 2 * Matern(
        nu=1.5, sigma=2.0
    )
    for name, G in kernel.gradients(X, Z):
        single = dict(kernel.gradients(X.astype(np.float32), Z.astype(np.float32)))[name]
        assert single.dtype == np.float32
        close(single, G, 1e-4)
        close(dict(kernel.gradients(sparse.csr_array(X), sparse.csr_array(Z)))[name], G)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_equal_points_have_finite_gradients(kernel):
    X = np.ones((3, 3))
    for _, G in kernel.gradients(X):
        np.testing.assert_array_equal(G, np.zeros((3, 3)))


def test_fractional_power_of_values_that_vanish(X):
    far = np.vstack([X, X + 100.0])
    for _, G in (RBF(gamma=0.5) ** 0.5).gradients(far):
        assert np.isfinite(G).all()


def test_no_such_parameter(X):
    pairs = Pairs(RBF(gamma=0.5).encode(X))
    values = pairs.row_diagonal()
    for kernel in (RBF(gamma=0.5), Linear(), Polynomial(), Sigmoid(), RationalQuadratic()):
        with pytest.raises(NoGradient, match="no derivative with respect to 'width'"):
            kernel.gradient(values, "width")
    with pytest.raises(InvalidParameter, match="no parameter 'width'"):
        RBF(gamma=0.5).with_parameters({"width": 1.0})


def test_theta_is_the_logarithms_in_their_order():
    np.testing.assert_array_equal((2 * RBF(gamma=0.5)).theta, np.log([2, 0.5]))
    assert Linear().theta.shape == (0,)


@pytest.mark.parametrize("kind", [RBF, Laplacian, Matern, RationalQuadratic, Periodic])
def test_a_list_of_one_length_scale_is_one_for_all_columns(kind):
    X = np.random.default_rng(0).normal(size=(6, 3))
    one, plain = kind(length_scale=[1.3]), kind(length_scale=1.3)
    np.testing.assert_array_equal(one(X), plain(X))
    assert "length_scale[0]" in check(one, X, X[:2] + 0.1)
