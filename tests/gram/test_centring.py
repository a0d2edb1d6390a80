"""Centring in feature space: fitted on training rows, applied to any."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer import (
    RBF,
    CentredGram,
    Centring,
    Definite,
    FeatureGram,
    Gram,
    Linear,
    NegativeDistance,
    Polynomial,
    Sigmoid,
)
from mercer.exceptions import InvalidInput
from mercer.gram.given import GivenGram
from tests.gram.cases import KERNELS, close, kernels, vectors


def explicit(K_train, K_new):
    """Return (K_new − 1 k̄ᵀ)(I − 11ᵀ/n): the textbook formula, with whole matrices."""
    n = len(K_train)
    H = np.eye(n) - 1 / n
    return (K_new - K_train.mean(axis=0)) @ H


@settings(max_examples=40, deadline=None)
@given(kernel=kernels, n=st.integers(1, 50), m=st.integers(1, 30))
def test_centring_is_the_textbook_formula(kernel, n, m):
    train, new = vectors(n), vectors(m, seed=1)
    gram = Gram(kernel, train)
    K, L = gram.dense(), Gram(gram.kernel, new, gram.points).dense()
    H = np.eye(n) - 1 / n
    centring = Centring.fit(gram)
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * max(1, np.abs(K).max(), np.abs(L).max())}
    assert_allclose(centring.apply(gram).dense(), H @ K @ H, **tolerance)
    assert_allclose(centring.apply(gram).dense().sum(axis=0), 0, atol=n * tolerance["atol"])
    fresh = centring.apply(Gram(gram.kernel, new, gram.points))
    assert_allclose(fresh.dense(), explicit(K, L), **tolerance)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), (Linear() + 1.0) ** 2 * Linear()])
def test_centring_is_centring_of_features(kernel):
    train, new = vectors(30), vectors(12, seed=1)
    gram = Gram(kernel, train)
    phi, psi = (np.asarray(gram.kernel.features(X)) for X in (train, new))
    mean = phi.mean(axis=0)
    centring = Centring.fit(gram)
    expected = (phi - mean) @ (phi - mean).T
    assert_allclose(centring.apply(gram).dense(), expected, rtol=1e-9, atol=1e-8)
    fresh = centring.apply(Gram(gram.kernel, new, gram.points))
    assert_allclose(fresh.dense(), (psi - mean) @ (phi - mean).T, rtol=1e-9, atol=1e-8)


def test_linear_kernel_of_centred_data():
    train, new = vectors(40) + 5, vectors(15, seed=1) - 3
    mean = train.mean(axis=0)
    centring = Centring.fit(Gram(Linear(), train))
    fresh = centring.apply(Gram(Linear(), new, train))
    assert_allclose(fresh.dense(), Linear()(new - mean, train - mean), rtol=1e-9, atol=1e-10)
    assert centring.total_mean == pytest.approx(mean @ mean)
    assert_allclose(centring.column_means, train @ mean, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS[::3], ids=repr)
@pytest.mark.parametrize("square", [True, False])
def test_all_ways_of_asking_agree(kernel, dtype, square):
    train, new = vectors(45, dtype=dtype), vectors(33, seed=1, dtype=dtype)
    gram = Gram(kernel, train, cache_bytes=5000)
    centring = Centring.fit(gram)
    centred = centring.apply(gram if square else Gram(gram.kernel, new, gram.points))
    K = centred.dense()
    n = len(K)
    scale = max(1, np.abs(gram.dense()).max())
    tolerance = {"rtol": 0, "atol": 20 * scale * close(dtype)["atol"]}
    assert isinstance(centred, CentredGram)
    assert centred.shape == K.shape
    assert centred.symmetric == square
    assert K.dtype == centred.dtype == dtype
    assert centred.dense("float32").dtype == np.float32
    mask = np.arange(n) % 3 == 1
    for index in ([3, 0, -1, 3], slice(2, 20, 5), mask):
        assert_allclose(centred.rows(index), K[index], **tolerance)
        assert_allclose(centred.rows(index), K[index], **tolerance)  # from the cache
        part = centred.take(index)
        expected = K[index][:, index] if square else K[index]
        assert_allclose(part.dense(), expected, **tolerance)
        assert_allclose(part.take([1, 0, -1]).dense(), (part.dense())[[1, 0, -1]][
            :, [1, 0, -1] if square else slice(None)
        ], **tolerance)  # fmt: skip
        both = centred.take(index, [5, 1, 1])
        assert_allclose(both.dense(), K[index][:, [5, 1, 1]], **tolerance)
        assert_allclose(both.take([0], [2, 0]).dense(), both.dense()[[0]][:, [2, 0]], **tolerance)
        assert_allclose(both @ np.eye(3), both.dense(), **tolerance)
    V = np.random.default_rng(0).normal(size=(45, 3)).astype(dtype)
    assert_allclose(centred @ V, K @ V, rtol=0, atol=45 * tolerance["atol"])
    assert_allclose(centred @ V[:, 0], K @ V[:, 0], rtol=0, atol=45 * tolerance["atol"])
    if square:
        assert_allclose(centred.diag(), np.diagonal(K), **tolerance)
        assert centred.diag().dtype == dtype
        assert_allclose(centred.take([4, 2]).diag(), np.diagonal(K)[[4, 2]], **tolerance)
    else:
        with pytest.raises(InvalidInput, match="no diagonal"):
            centred.diag()
    # What comes back is the caller's, not the cache's.
    centred.rows([0])[...] = 7
    assert_allclose(centred.rows([0]), K[[0]], **tolerance)


def test_features_can_be_centred():
    train, new = vectors(30), vectors(8, seed=1)
    exact = Gram(Polynomial(2), train)
    phi = FeatureGram.of(exact.kernel, train)
    centring = Centring.fit(phi)
    assert_allclose(
        centring.apply(phi).dense(), Centring.fit(exact).apply(exact).dense(), rtol=1e-9, atol=1e-8
    )
    fresh = centring.apply(FeatureGram.of(exact.kernel, new, train))
    assert_allclose(
        fresh.dense(), explicit(exact.dense(), exact.kernel(new, train)), rtol=1e-9, atol=1e-8
    )


def test_conditional_becomes_positive():
    X = vectors(40)
    gram = Gram(NegativeDistance(), X)
    centred = Centring.fit(gram).apply(gram)
    assert gram.definite is Definite.CONDITIONAL
    assert centred.definite is Definite.POSITIVE
    assert np.linalg.eigvalsh(gram.dense())[0] < -1e-3
    assert np.linalg.eigvalsh(centred.dense())[0] > -1e-10
    for kernel, definite in (
        (RBF(gamma=1.0), Definite.POSITIVE),
        (Sigmoid(0.1), Definite.INDEFINITE),
    ):
        gram = Gram(kernel, X)
        assert Centring.fit(gram).apply(gram).definite is definite


def test_twice_is_once():
    gram = Gram(RBF(gamma=0.5), vectors(30))
    once = Centring.fit(gram).apply(gram)
    twice = Centring.fit(once).apply(once)
    assert_allclose(twice.dense(), once.dense(), atol=1e-12)


def test_wrong_shapes_are_refused():
    X = vectors(20)
    with pytest.raises(InvalidInput, match="fitted on the Gram matrix of training points"):
        Centring.fit(Gram(RBF(gamma=1.0), X, X[:5]))
    centring = Centring.fit(Gram(RBF(gamma=1.0), X))
    with pytest.raises(InvalidInput, match=r"fitted on 20 points.*5 columns"):
        centring.apply(Gram(RBF(gamma=1.0), X, X[:5]))
    centred = centring.apply(Gram(RBF(gamma=1.0), X))
    with pytest.raises(InvalidInput, match="20 × 20 cannot multiply"):
        centred @ np.ones(19)
    with pytest.raises(InvalidInput, match="There is no row 20"):
        centred.rows([20])
    with pytest.raises(InvalidInput, match="There is no row 20"):
        centred.take([0], [20])


def test_a_given_matrix_stays_as_it_is():
    Z = np.random.default_rng(0).normal(size=(6, 3))
    K = Z @ Z.T
    before = K.copy()
    gram = GivenGram(K)
    centred = Centring.fit(gram).apply(gram).dense()
    assert_allclose(centred.sum(axis=0), 0, atol=1e-12)
    assert (before == K).all()
