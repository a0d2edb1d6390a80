"""Weights of kernels as a function: what it returns, laws, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer import RBF, SVC, Constant, KernelRidge, Linear, Spectrum, learn_weights
from mercer.exceptions import InvalidInput, InvalidParameter

METHODS = ("alignment", "easymkl", "l1", "lp")
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "yes", "no")
NUMBERS = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RANDOM.normal(size=60)
KERNELS = [RBF(gamma=1.0).on(j) for j in range(4)]
methods = pytest.mark.parametrize("method", METHODS)
few = settings(max_examples=8)


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


@methods
def test_the_kernel_is_the_weighted_sum(method):
    found = learn_weights(KERNELS, X, Y, method)
    pairs = zip(found.weights, found.kernels, strict=True)
    assert_allclose(found.kernel(X), sum(w * k(X) for w, k in pairs), atol=1e-12)
    spreads = [w * np.trace(centred(k(X))) for w, k in zip(found.weights, KERNELS, strict=True)]
    assert_allclose(found.shares, np.divide(spreads, np.sum(spreads)), atol=1e-9)
    assert found.certificate.optimal
    assert found.certificate.bounds
    # The first two columns decide.
    assert found.shares[:2].sum() > 0.6
    assert SVC(kernel=found.kernel).fit(X, Y).score(X, Y) > 0.9
    assert "LearntWeights of 4 kernels" in repr(found)


@pytest.mark.parametrize("method", ["alignment", "l1", "lp"])
def test_numbers_have_weights_too(method):
    found = learn_weights(KERNELS, X, NUMBERS, method, C=10.0)
    assert found.certificate.optimal
    assert found.shares[:2].sum() > 0.7
    assert KernelRidge(0.1, kernel=found.kernel).fit(X, NUMBERS).score(X, NUMBERS) > 0.8


def test_easymkl_is_its_definition():
    """The weights are the distances between the nearest points, for the mean of the kernels."""
    found = learn_weights(KERNELS, X, Y, "easymkl", balance=0.5)
    K = np.array([k(X) / (np.trace(centred(k(X))) / 60) for k in KERNELS])
    positive = Y == "yes"
    sides = (positive, ~positive)
    Q = 0.5 * K.mean(axis=0) + 0.5 * np.eye(60)
    signs = np.where(positive, 1.0, -1.0)
    A = np.outer(signs, signs) * Q
    sums = [{"type": "eq", "fun": lambda g, part=part: g[part].sum() - 1} for part in sides]
    gamma = minimize(
        lambda g: g @ A @ g,
        np.where(positive, 1 / positive.sum(), 1 / (~positive).sum()),
        jac=lambda g: 2 * A @ g,
        bounds=[(0, 1)] * 60,
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    ).x
    sizes = np.array([(signs * gamma) @ each @ (signs * gamma) for each in K])
    assert_allclose(found.shares, sizes / sizes.sum(), atol=1e-5)


@few
@given(method=st.sampled_from(METHODS), place=st.integers(0, 3), factor=st.floats(1e-3, 1e3))
def test_a_factor_of_a_kernel_changes_nothing(method, place, factor):
    scaled = [factor * k if j == place else k for j, k in enumerate(KERNELS)]
    one = learn_weights(KERNELS, X, Y, method, tol=1e-7)
    two = learn_weights(scaled, X, Y, method, tol=1e-7)
    assert_allclose(two.kernel(X), one.kernel(X), atol=1e-4)
    assert_allclose(two.shares, one.shares, atol=1e-4)


@few
@given(method=st.sampled_from(METHODS), order=st.permutations(range(4)))
def test_the_order_of_kernels_does_not_matter(method, order):
    one = learn_weights(KERNELS, X, Y, method, tol=1e-7)
    two = learn_weights([KERNELS[j] for j in order], X, Y, method, tol=1e-7)
    assert_allclose(two.shares, one.shares[order], atol=1e-4)


@pytest.mark.parametrize("method", ["alignment", "l1"])
def test_a_kernel_twice_shares_its_weight(method):
    once = learn_weights(KERNELS, X, Y, method, tol=1e-8)
    twice = learn_weights([*KERNELS, KERNELS[0]], X, Y, method, tol=1e-8)
    assert_allclose(twice.kernel(X), once.kernel(X), atol=1e-5)
    assert_allclose(twice.shares[0] + twice.shares[4], once.shares[0], atol=1e-5)


@methods
def test_a_sum_is_a_list_of_its_terms(method):
    listed = learn_weights(KERNELS[:2], X, Y, method)
    summed = learn_weights(KERNELS[0] + KERNELS[1], X, Y, method)
    assert_allclose(summed.weights, listed.weights)


@methods
def test_one_kernel_has_all_the_weight(method):
    found = learn_weights([Linear()], X, Y, method)
    assert_allclose(found.shares, [1.0])
    assert found.certificate.optimal


@methods
def test_a_constant_kernel_counts_nothing(method):
    found = learn_weights([KERNELS[0], Constant(3.0)], X, Y, method)
    assert_allclose(found.shares, [1.0, 0.0], atol=1e-9)


@methods
def test_objects_of_any_kind(method):
    texts = ["ACCA" * k + "GT" for k in range(1, 7)] + ["TTGA" * k + "GT" for k in range(1, 7)]
    classes = [0] * 6 + [1] * 6
    kernels = [Spectrum(2).normalized(), Spectrum(1).normalized()]
    found = learn_weights(kernels, texts, classes, method)
    assert found.certificate.optimal
    assert SVC(kernel=found.kernel).fit(texts, classes).score(texts, classes) == 1.0


def test_several_classes():
    classes = np.digitize(X[:, 2], [-0.5, 0.5])
    for method in METHODS:
        assert learn_weights(KERNELS, X, classes, method).shares.argmax() == 2


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((KERNELS, X, Y), {"method": "best"}, "'best' is none of 'alignment'"),
        (([], X, Y), {}, "list of kernels is empty"),
        (([RBF(), "rbf"], X, Y), {}, "entry 1 of the list of kernels is 'rbf'"),
        (("rbf", X, Y), {}, "has to be a list of kernels"),
        ((KERNELS, X, Y), {"balance": 1.0}, r"balance=1.0 has to be in \[0, 1\)"),
    ],
)
def test_wrong_parameters_are_named(arguments, options, words):
    with pytest.raises(InvalidParameter, match=words):
        learn_weights(*arguments, **options)


def test_wrong_targets_are_named():
    with pytest.raises(InvalidInput, match="EasyMKL needs classes"):
        learn_weights(KERNELS, X, NUMBERS, "easymkl")
    with pytest.raises(InvalidInput, match="multilabel-indicator targets"):
        learn_weights(KERNELS, X, np.eye(60, 3, dtype=int) + np.eye(60, 3, 1, dtype=int))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        learn_weights(KERNELS, X, Y[:-1])
    with pytest.raises(ValueError, match="greater than one"):
        learn_weights(KERNELS, X, np.ones(60, dtype=int))
