"""Finite feature maps: k(x, z) = φ(x)·φ(z), exactly and between batches; random ones nearly."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from mercer import (
    RBF,
    Constant,
    Cosine,
    Delta,
    GaussianBasis,
    Laplacian,
    Linear,
    Matern,
    Monomials,
    Overlap,
    Periodic,
    Polynomial,
    RandomFourierFeatures,
    RationalQuadratic,
)
from mercer.exceptions import InvalidInput, InvalidParameter, NoFeatureMap, NotEnoughMemory
from tests.kernels.cases import COMPOSITES, EXAMPLES, close, data
from tests.oracles.strategies import frames, tables

EXACT = [(domain, kernel) for domain, kernel in EXAMPLES if kernel.has_features]
COMPOSITE = [
    Linear() + Constant(0.5),
    2.5 * (Linear() * Polynomial(2)),
    (Linear() + Constant(0.3)) ** 3,
    (0.5 * Linear() + Monomials(2)).normalized(),
    Cosine().power_series([0.5, 0.0, 1.5, 0.25]),
    Linear().power_series([0.0, 0.0]),
    Linear().on(0) * Polynomial(2).on(1, 2) + GaussianBasis([[0.0, 1.0]], 0.9).on(0, 1),
    Delta().on(2) * Linear().on(0, 1),
    (Overlap().on(1, 2) + Linear()) ** 2,
    (Delta().on(2) + Delta().on(1)) * Overlap(),
    (3 * Delta()).normalized() + Cosine().on(0),
    0 * Linear() + Delta().on(0),
]


@pytest.mark.parametrize(("domain", "kernel"), EXACT, ids=[repr(k) for _, k in EXACT])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_examples(domain, kernel, make):
    X, Z = make(data(domain, 8, 1)), make(data(domain, 5, 2))
    settled = kernel.resolve(kernel.encode(Z))
    phi, psi = settled.features(X), settled.features(Z)
    close(phi @ phi.T, settled(X))
    close(phi @ psi.T, settled(X, Z))
    close(kernel.features(Z) @ kernel.features(Z).T, kernel(Z))
    assert phi.shape == (8, len(phi.keys))
    settled = kernel.resolve(kernel.encode(X))
    assert settled.feature_width(kernel.encode(X)) == settled.features(X).values.size / 8


@pytest.mark.parametrize("kernel", COMPOSITE, ids=repr)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_composites(kernel, make):
    random = np.random.default_rng(0)
    X, Z = (make(random.integers(-2, high, size=(n, 3)) / 2) for n, high in ((9, 2), (6, 4)))
    assert kernel.has_features
    phi, psi = kernel.features(X), kernel.features(Z)
    close(phi @ phi.T, kernel(X))
    if make is np.asarray:  # of sparse rows only a few are looked at
        assert kernel.feature_width(kernel.encode(X)) >= phi.values.size / len(phi)
    close(phi @ psi.T, kernel(X, Z))
    close(psi @ phi.T, kernel(Z, X))
    close(phi.take(np.array([3, 1])) @ psi.T, kernel(X, Z)[[3, 1]])
    close(phi @ np.arange(phi.shape[1], dtype=float), np.asarray(phi) @ np.arange(phi.shape[1]))


def test_has_features_says_the_truth(X):
    for kernel in [k for _, k in EXAMPLES if _ == "vectors"] + COMPOSITES:
        if kernel.has_features:
            phi = kernel.features(X)
            close(phi @ phi.T, kernel(X))
        else:
            with pytest.raises(NoFeatureMap, match="no finite feature map"):
                kernel.features(X)


@given(frames(), frames())
def test_categories_unseen_in_one_batch(A, B):
    for kernel in (
        Delta().on("city"),
        Delta().on("city", "smoker"),
        Overlap().on("city", "smoker"),
        Delta().on("city") * Linear().on("age") + Overlap().on("smoker", "city"),
    ):
        phi, psi = kernel.features(A), kernel.features(B)
        close(phi @ psi.T, kernel(A, B))
        close(phi @ phi.T, kernel(A))


def test_no_category_in_common():
    phi = Delta().features(pl.DataFrame({"c": ["a", "b"]}))
    psi = Delta().features(pd.DataFrame({"c": ["x", "y", "z"]}))
    np.testing.assert_array_equal(phi @ psi.T, np.zeros((2, 3)))
    np.testing.assert_array_equal(psi @ phi.T, np.zeros((3, 2)))


def test_same_category_in_different_columns_is_not_the_same():
    X = np.array([["a", "b"], ["b", "a"]], dtype=object)
    for kernel in (Delta(), Overlap()):
        np.testing.assert_array_equal(kernel(X), np.eye(2))
        close(kernel.features(X) @ kernel.features(X).T, np.eye(2))


def test_quadratic_kernel_in_the_plane_has_six_coordinates():
    X = np.array([[2.0, 3.0]])
    phi = Polynomial(2).features(X)
    assert phi.shape == (1, 6)
    root = np.sqrt(2)
    expected = [1, 2 * root, 3 * root, 4, 6 * root, 9]
    close(np.sort(np.asarray(phi)[0]), np.sort(expected))
    assert Polynomial(2, 1.0, 0.0).features(X).shape == (1, 3)
    assert Monomials(2).features(X).shape == (1, 6)
    close(np.sort(np.asarray(Monomials(2).features(X))[0]), [1, 2, 3, 4, 6, 9])
    assert Polynomial(5).features(np.ones((1, 4))).shape == (1, 126)


def test_exclusive_or_becomes_separable():
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    # Not by the linear kernel: the two classes have the same mean.
    close(y @ X, np.zeros(2))
    phi = np.asarray(Polynomial(2).features(X))
    weights = phi.T @ y
    assert (y * (phi @ weights) >= 1).all()
    assert (y * (Polynomial(2)(X) @ y) >= 1).all()


@given(tables(columns=2), st.integers(0, 4), st.floats(0.1, 2.0), st.floats(0.0, 2.0))
def test_polynomials_of_any_degree(X, degree, gamma, coef0):
    kernel = Polynomial(degree, gamma, coef0)
    close(kernel.features(X) @ kernel.features(X).T, kernel(X), 1e-9)


def test_float32_features_stay_float32():
    X = data("vectors", 5, 0, np.float32)
    for kernel in (Linear(), Polynomial(2), Cosine(), Monomials(2), 2 * Linear() + Constant(1.0)):
        assert kernel.features(X).dtype == np.float32


def test_gaussian_basis_functions():
    centres = [[0.0, 0.0], [1.0, 2.0]]
    phi = np.asarray(GaussianBasis(centres, 0.5).features(np.array([[0.0, 0.0], [1.0, 1.0]])))
    close(phi, np.exp(-np.array([[0.0, 5.0], [2.0, 1.0]]) / (2 * 0.25)))


# ---- random Fourier features ---------------------------------------------------------------------

SPECTRAL = [
    RBF(gamma=0.4),
    RBF(length_scale=[0.7, 1.5, 2.0]),
    Laplacian(0.6),
    Laplacian(length_scale=[0.7, 1.5, 2.0]),
    Matern(nu=0.5, length_scale=1.2),
    Matern(nu=1.5, sigma=0.9),
    Matern(nu=2.2, length_scale=[0.7, 1.5, 2.0]),
    Matern(nu=float("inf"), gamma=0.4),
    RationalQuadratic(alpha=0.7, gamma=0.3),
    RationalQuadratic(alpha=2.0, length_scale=[0.7, 1.5, 2.0]),
]


@pytest.mark.parametrize("kernel", SPECTRAL, ids=repr)
def test_random_features_approach_the_kernel(kernel):
    X = data("vectors", 12, 4)
    K = kernel(X)
    errors = {}
    for m in (100, 6400):
        errors[m] = np.sqrt(
            np.mean([(RandomFourierFeatures(kernel, m, s)(X) - K) ** 2 for s in range(8)])
        )
        # Var cos ≤ 1 and m/2 draws: the mean square error is at most 2/m.
        assert errors[m] < np.sqrt(2 / m)
    # 64 times the features: about an eighth of the error.
    assert 4 < errors[100] / errors[6400] < 16


def test_random_features_are_unbiased_per_pair():
    X = data("vectors", 6, 4)
    for kernel in SPECTRAL:
        mean = np.mean([RandomFourierFeatures(kernel, 2000, s)(X) for s in range(10)], axis=0)
        # Ten thousand draws in all: five standard deviations.
        close(mean, kernel(X), 0.05)


def test_seeds():
    X = data("vectors", 6, 4)
    one, again, other = (RandomFourierFeatures(RBF(gamma=0.5), 50, s)(X) for s in (3, 3, 4))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)
    phi = RandomFourierFeatures(RBF(gamma=0.5), 50, 3).features(X)
    assert phi.shape == (6, 50)
    close(phi @ phi.T, one)
    close(np.diagonal(one), np.ones(6))


def test_random_features_settle_the_width_of_the_kernel(X, Z):
    lazy = RandomFourierFeatures(RBF("median"), 60)
    settled = RandomFourierFeatures(RBF("median").resolve(RBF().encode(Z)), 60)
    close(lazy(X, Z), settled(X, Z))
    assert lazy.kernel == RBF("median")


@pytest.mark.parametrize("kernel", [Linear(), Periodic(), RBF(gamma=0.5) + RBF(gamma=1.0), None])
def test_no_spectrum(kernel):
    with pytest.raises(InvalidParameter, match=r"no spectral density.*RBF, Laplacian, Matern"):
        RandomFourierFeatures(kernel)


def test_random_features_check_the_number_of_length_scales(X):
    with pytest.raises(InvalidInput, match="2 length scales for 3 columns"):
        RandomFourierFeatures(RBF(length_scale=[1.0, 2.0]), 10)(X)


def test_features_that_do_not_fit_say_so_before_they_are_made():
    kernel = RandomFourierFeatures(RBF(gamma=1.0), components=10**12)
    with pytest.raises(NotEnoughMemory, match="Use fewer components"):
        kernel(np.ones((3, 2)))
