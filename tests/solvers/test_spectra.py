"""Spectra of centred matrices: pairs, means, residuals and ways, against NumPy's whole one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import RBF, Gram, Sigmoid
from mercer.exceptions import NumericalOverflow
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.solvers import centred_spectrum
from mercer.solvers.base import Budget, Status
from mercer.solvers.centred_spectrum import (
    dense_spectrum,
    feature_spectrum,
    lanczos_spectrum,
    randomised_spectrum,
    smallest_eigenvalue,
    vector_spectrum,
)

X = np.random.default_rng(0).normal(size=(240, 5)) * [4, 2, 1.5, 1, 0.5]
GRAM = Gram(RBF(gamma=0.05), X)


def centred(gram):
    K = gram.dense(np.float64)
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def check(found, gram, count, rtol=1e-7):
    K = gram.dense(np.float64)
    M = centred(gram)
    assert_allclose(found.values, np.linalg.eigvalsh(M)[::-1][:count], rtol=rtol)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-6)
    true = np.linalg.norm(M @ found.vectors - found.vectors * found.values, axis=0)
    assert_allclose(found.residuals, true, atol=1e-5 * found.values[0])
    assert true.max() <= 1e-3 * found.values[0]
    assert_allclose(found.centring.column_means, K.mean(axis=0), rtol=1e-5)
    assert found.centring.total_mean == pytest.approx(K.mean(), rel=1e-5)
    assert found.status is Status.OPTIMAL
    return true


def random():
    return np.random.RandomState(0)


@pytest.mark.parametrize("count", [1, 4])
def test_every_way_gives_pairs_means_and_residuals(count):
    check(dense_spectrum(GRAM, count), GRAM, count)
    check(vector_spectrum(GRAM, count, 0.0, random(), True), GRAM, count)
    check(lanczos_spectrum(GRAM, count, Budget(tol=0.0, max_iter=500), random()), GRAM, count)
    check(randomised_spectrum(GRAM, count, 14, random()), GRAM, count, 1e-5)
    held = FeatureGram.of_rows(X)
    check(feature_spectrum(X, count), held, count)
    check(lanczos_spectrum(held, count, Budget(tol=0.0, max_iter=500), random()), held, count)


def test_tolerances_are_relative_residuals():
    for tol in (1e-3, 1e-5, 1e-8, 1e-10):
        found = lanczos_spectrum(GRAM, 3, Budget(tol=tol, max_iter=500), random())
        assert found.residuals.max() <= 2 * tol * found.values[0]
        single = vector_spectrum(GRAM, 3, tol, random(), True)
        assert single.residuals.max() <= 2 * tol * single.values[0]
    rough = lanczos_spectrum(GRAM, 3, Budget(tol=0.3, max_iter=500), random())
    assert rough.status is Status.OPTIMAL


def test_more_rounds_are_more_exact():
    off = []
    for rounds in (0, 2, 6):
        found = randomised_spectrum(GRAM, 3, rounds, random())
        off.append(found.residuals.max())
        assert (found.values <= np.linalg.eigvalsh(centred(GRAM))[::-1][:3] * (1 + 1e-9)).all()
    assert off[0] > 3 * off[1] > 9 * off[2]


def test_when_single_vectors_are_quick():
    def taken(n, count, gram=None, patient=True):
        gram = Gram(RBF(gamma=0.05), X[:n]) if gram is None else gram
        return vector_spectrum(gram, count, 0.0, random(), patient) is not None

    assert taken(200, 24)
    assert not taken(199, 2)
    assert not taken(200, 25)
    assert not taken(200, 2, patient=False)
    assert not taken(240, 2, GivenGram(GRAM.dense(), Definite.INDEFINITE))
    assert taken(240, 2, GivenGram(GRAM.dense(), Definite.CONDITIONAL))


def test_a_matrix_that_does_not_fit_is_not_held(monkeypatch):
    monkeypatch.setattr(centred_spectrum, "holdable", lambda n, fine: None)
    assert vector_spectrum(GRAM, 2, 0.0, random(), True) is None
    found = lanczos_spectrum(GRAM, 2, Budget(tol=0.0, max_iter=500), random())
    assert "anew" in found.choice
    check(found, GRAM, 2)


def test_what_overflows_float32_is_taken_in_float64(monkeypatch):
    asked, whole = [], centred_spectrum._lanczos

    def lanczos(gram, count, budget, random, fine):
        asked.append(fine)
        if not fine:
            raise NumericalOverflow("too large")
        return whole(gram, count, budget, random, fine)

    monkeypatch.setattr(centred_spectrum, "_lanczos", lanczos)
    check(lanczos_spectrum(GRAM, 2, Budget(tol=0.0, max_iter=500), random()), GRAM, 2)
    assert asked == [False, True]
    lanczos_spectrum(GRAM, 2, Budget(tol=1e-8, max_iter=500), random())
    assert asked == [False, True, True]


@pytest.mark.parametrize(("tol", "fine"), [(1e-7, [True]), (1e-6, [False]), (1e-3, [False])])
def test_which_precision_is_asked_for(tol, fine, monkeypatch):
    asked, whole = [], centred_spectrum._lanczos

    def lanczos(*arguments, fine):
        asked.append(fine)
        return whole(*arguments, fine=fine)

    monkeypatch.setattr(centred_spectrum, "_lanczos", lanczos)
    lanczos_spectrum(GRAM, 2, Budget(tol=tol, max_iter=500), random())
    assert asked == fine


def test_a_nearly_constant_kernel_is_taken_in_float64():
    flat = Gram(RBF(gamma=1e-9), X)
    found = lanczos_spectrum(flat, 3, Budget(tol=0.0, max_iter=500), random())
    true = np.linalg.eigvalsh(centred(flat))[::-1][:3]
    assert_allclose(found.values, true, rtol=1e-4)


def test_the_smallest_eigenvalue_from_above():
    for gram in (Gram(Sigmoid(gamma=0.5, coef0=1.0), X), GRAM):
        found = smallest_eigenvalue(gram)
        values = np.linalg.eigvalsh(centred(gram))
        assert found >= values[0] - 1e-6 * values[-1]
        assert found <= values[0] + 0.02 * np.abs(values).max()
    assert smallest_eigenvalue(Gram(Sigmoid(gamma=0.5, coef0=1.0), X)) < -1.0


def test_a_given_matrix_stays_as_it_is():
    K = GRAM.dense()
    given = GivenGram(K.copy(), Definite.POSITIVE)
    dense_spectrum(given, 2)
    vector_spectrum(given, 2, 0.0, random(), True)
    np.testing.assert_array_equal(given.dense(), K)


def test_products_centre_before_and_after():
    V = np.random.default_rng(1).normal(size=(240, 2))
    assert_allclose(centred_spectrum._centred(GRAM)(V), centred(GRAM) @ V, atol=1e-9)


def test_features_of_low_rank_have_zeros():
    Z = np.outer(np.arange(6.0), [1.0, 2.0, 3.0])
    found = feature_spectrum(Z, 3)
    assert_allclose(found.values, [np.var(np.arange(6.0)) * 6 * 14, 0, 0], atol=1e-9)
    assert np.isfinite(found.vectors).all()


def test_the_words_say_what_was_held():
    assert (
        "never formed"
        in lanczos_spectrum(
            FeatureGram.of_rows(X), 2, Budget(tol=0.0, max_iter=500), random()
        ).choice
    )
    assert "half of K" in randomised_spectrum(GRAM, 2, 4, random()).choice
