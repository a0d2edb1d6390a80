"""Kernels that are held as factors where their rank is low: the same answers as from matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import RBF, Constant, Laplacian, Sigmoid, learn_weights
from mercer.estimators.multiple_kernel import column_factors
from mercer.estimators.multiple_kernel.base_kernels import HeldKernels
from mercer.gram.given import GivenGram
from mercer.gram.sums import factor_of, weighted_terms

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 4))
Y = X[:, 0] + X[:, 1] ** 2 + 0.3 * RANDOM.normal(size=600) > 0.5
KERNELS = [*(RBF(gamma=1.0).on(j) for j in range(4)), Laplacian(gamma=0.5)]


def held(kernels, tol=1e-3, normalise=True):
    kernels = [kernel.resolve(kernel.encode(X)) for kernel in kernels]
    points = sum(kernels[1:], kernels[0]).encode(X)
    return HeldKernels.of(kernels, points, normalise, tol, "test")


def test_kernels_of_one_column_are_factors_and_rough_ones_matrices():
    terms = held(KERNELS).gram.terms()
    assert [factor_of(term) is not None for term in terms] == [True] * 4 + [False]
    assert all(factor_of(term).shape[1] < 40 for term in terms[:4])


@pytest.mark.parametrize("normalise", [True, False])
def test_factors_and_spreads_are_those_of_the_matrices(normalise):
    found = held(KERNELS, normalise=normalise)
    pairs = zip(KERNELS, found.gram.terms(), strict=True)
    for m, (kernel, term) in enumerate(pairs):
        K = kernel(X)
        spread = (np.trace(K) - K.sum() / 600) / 600
        assert_allclose(found.spreads[m], spread, rtol=1e-9)
        assert_allclose(term.dense(), K / (spread if normalise else 1), atol=1e-9)


def test_few_values_of_kernels_are_computed():
    assert held(KERNELS[:4]).evaluations < 600 * 40 * 4
    assert held(KERNELS).evaluations > 600**2


def test_what_is_no_kernel_of_low_rank_is_a_matrix():
    constant, sigmoid = held([Constant(2.0), Sigmoid(gamma=1.0)]).gram.terms()
    assert factor_of(constant).shape[1] == 1
    assert isinstance(sigmoid, GivenGram)
    assert held([Constant(2.0), RBF()]).spreads[0] == 0


def test_sums_of_factors_and_matrices_are_those_of_matrices():
    terms = held(KERNELS).gram.terms()
    weights = np.array([0.5, 0.0, 2.0, 1.0, 0.25])
    naive = sum(w * term.dense() for w, term in zip(weights, terms, strict=True))
    found = weighted_terms(terms, weights)
    assert_allclose(found, naive, atol=1e-10)
    assert (found == found.T).all()
    assert not weighted_terms(terms, np.zeros(5)).any()


@pytest.mark.parametrize("method", ["alignment", "easymkl", "l1", "lp"])
def test_weights_are_those_from_matrices(method, monkeypatch):
    found = learn_weights(KERNELS, X, Y, method, tol=1e-6)
    for name in ("_FACTORED", "_FEW"):
        monkeypatch.setattr(column_factors, name, 10_000)
    naive = learn_weights(KERNELS, X, Y, method, tol=1e-6)
    assert found.certificate.optimal
    # Weights of a joint problem are off by the root of its gap.
    atol = 1e-3 if method in ("l1", "lp") else 1e-6
    assert_allclose(found.shares, naive.shares, atol=atol)


def test_weights_of_easymkl_from_many_rows_have_a_certificate():
    """Factors that were rounded to float32 left a gap of some percent."""
    X = np.random.default_rng(1).normal(size=(1200, 3))
    found = learn_weights([RBF(gamma=1.0).on(j) for j in range(3)], X, X[:, 0] > 0.3, "easymkl")
    assert found.certificate.optimal
    assert found.certificate.relative_gap < 1e-6


@pytest.mark.parametrize("balance", [0.0, 1e-13])
def test_easymkl_without_a_ridge_to_speak_of_has_weights_too(balance):
    found = learn_weights(KERNELS[:3], X, Y, "easymkl", balance=balance)
    assert found.certificate.bounds
    assert found.shares.sum() == pytest.approx(1)
