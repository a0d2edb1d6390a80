"""Eigenvectors of a centred Gram matrix: every way gives those of the dense matrix HKH."""

import numpy as np
import pytest

from mercer import RBF, Gram, Linear, Sigmoid
from mercer.gram.feature_gram import FeatureGram
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


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(300, 6)) * [5, 3, 2, 1, 0.5, 0.2]


def true_values(gram, count):
    K = gram.dense(np.float64)
    H = np.eye(len(K)) - 1 / len(K)
    return np.linalg.eigvalsh(H @ K @ H)[::-1][:count]


@pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Linear()], ids=["computed", "features"])
@pytest.mark.parametrize("method", ["dense", "lanczos", "randomised"])
def test_every_method_finds_the_spectrum(X, kernel, method):
    gram = FeatureGram.of(kernel, X) if kernel == Linear() else Gram(kernel, X)
    random = np.random.RandomState(0)
    found = {
        "dense": lambda: dense_spectrum(gram, 3),
        "lanczos": lambda: lanczos_spectrum(gram, 3, Budget(tol=0.0, max_iter=500), random),
        "randomised": lambda: randomised_spectrum(gram, 3, 12, random),
    }[method]()
    np.testing.assert_allclose(found.values, true_values(gram, 3), rtol=1e-6)
    assert (found.residuals <= 1e-3 * found.values[0]).all()
    assert found.status is Status.OPTIMAL


def test_features_give_the_same_spectrum(X):
    found = feature_spectrum(X, 4)
    np.testing.assert_allclose(found.values, true_values(Gram(Linear(), X), 4), rtol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-9)


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        (Budget(tol=1e-12, max_iter=1), Status.MAX_ITER),
        (Budget(tol=1e-12, max_iter=500, deadline=0.0), Status.TIME_LIMIT),
    ],
    ids=["products", "time"],
)
def test_budgets_end_lanczos(X, budget, status):
    found = lanczos_spectrum(Gram(RBF(gamma=1.0), X), 20, budget, np.random.RandomState(0))
    assert found.status is status
    assert np.isfinite(found.vectors).all()


def test_the_best_pairs_within_any_span(X):
    # Vectors that are not centred themselves: HKH takes off the means on both sides.
    gram = Gram(RBF(gamma=0.05), X)
    V = np.random.default_rng(1).normal(size=(300, 4)) + 0.5
    found = centred_spectrum._rayleigh_ritz(gram, V, "any")
    K = gram.dense(np.float64)
    H = np.eye(300) - 1 / 300
    M, Q = H @ K @ H, np.linalg.qr(V)[0]
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(Q.T @ M @ Q)[::-1], rtol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Q @ (Q.T @ found.vectors), found.vectors, atol=1e-10)
    left = np.linalg.norm(M @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, left, rtol=1e-8)
    np.testing.assert_allclose(found.centring.column_means, K.mean(axis=0))
    assert found.centring.total_mean == pytest.approx(K.mean())
    assert found.choice == "any"


def test_products_with_a_centred_matrix(X):
    K = Gram(RBF(gamma=0.05), X).dense(np.float64)
    H = np.eye(300) - 1 / 300
    V = np.random.default_rng(2).normal(size=(300, 3)) + 1.0
    for matrix in (K, np.asfortranarray(K)):
        multiply = centred_spectrum._centred_products(matrix, centred_spectrum._means(matrix))
        np.testing.assert_allclose(multiply(V), H @ K @ H @ V, atol=1e-9)
        np.testing.assert_allclose(multiply(V[:, 0]), H @ K @ H @ V[:, 0], atol=1e-9)
    multiply = centred_spectrum._centred(Gram(RBF(gamma=0.05), X))
    np.testing.assert_allclose(multiply(V), H @ K @ H @ V, atol=1e-9)


def test_where_single_vectors_are_taken(X):
    def found(n, count, patient=True, kernel=None):
        gram = Gram(kernel or RBF(gamma=0.05), np.resize(X, (n, 6)) + np.arange(n)[:, None] / n)
        return vector_spectrum(gram, count, 0.0, np.random.RandomState(0), patient)

    assert found(199, 3) is None  # so few that all of them are quicker
    assert found(200, 3) is not None
    assert found(200, 24) is not None
    assert found(200, 25) is None  # more than 0.12 of them
    assert found(200, 3, patient=False) is None
    assert found(200, 3, kernel=Sigmoid()) is None  # not known to be definite
    pairs = found(250, 3)
    gram = Gram(RBF(gamma=0.05), np.resize(X, (250, 6)) + np.arange(250)[:, None] / 250)
    np.testing.assert_allclose(pairs.values, true_values(gram, 3), rtol=1e-8)
    assert (pairs.residuals <= 2e-9 * pairs.values[0]).all()
    assert pairs.centring.total_mean == pytest.approx(gram.dense(np.float64).mean())


@pytest.mark.parametrize("rounds", [1, 2, 5, 6])
def test_rounds_of_random_vectors_bring_digits(X, rounds):
    gram = Gram(RBF(gamma=0.3), X)
    found = randomised_spectrum(gram, 3, rounds, np.random.RandomState(0))
    true = true_values(gram, 3)
    assert found.values.shape == (3,)
    assert (np.diff(found.values) < 0).all()
    assert (found.values <= true * (1 + 1e-6)).all()  # from within a subspace
    assert (found.values >= (0.9 if rounds < 5 else 0.995) * true).all()


def test_the_smallest_eigenvalue_shows_what_is_indefinite(X):
    few = X[:120]
    K = Sigmoid(0.5, -1.0)(few)
    H = np.eye(120) - 1 / 120
    true = np.linalg.eigvalsh(H @ K @ H)[0]
    found = smallest_eigenvalue(Gram(Sigmoid(0.5, -1.0), few))
    assert true < -0.1
    assert true - 1e-6 <= found <= 0.9 * true
    assert smallest_eigenvalue(Gram(RBF(gamma=0.3), few)) >= -1e-6


@pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Linear()], ids=str)
def test_the_whole_matrix_without_its_means(X, kernel):
    gram = Gram(kernel, X[:40])
    K = gram.dense(np.float64)
    H = np.eye(40) - 1 / 40
    centred, centring = centred_spectrum._centred_matrix(gram)
    np.testing.assert_allclose(centred, H @ K @ H, atol=1e-10)
    np.testing.assert_allclose(centring.column_means, K.mean(axis=0))
    found = dense_spectrum(gram, 40)
    np.testing.assert_allclose(found.values, true_values(gram, 40), atol=1e-9)
    again = found.vectors * found.values @ found.vectors.T
    np.testing.assert_allclose(again, H @ K @ H, atol=1e-9)
    assert (found.residuals <= 1e-9 * max(found.values[0], 1)).all()
    few = dense_spectrum(gram, 5)
    np.testing.assert_allclose(few.values, found.values[:5], rtol=1e-9)


def test_features_have_means_and_residuals_too(X):
    Z = X[:, :4] + [1.0, 0.0, -2.0, 3.0]
    found = feature_spectrum(Z, 3)
    K = Z @ Z.T
    H = np.eye(300) - 1 / 300
    np.testing.assert_allclose(found.centring.column_means, K.mean(axis=0), atol=1e-9)
    assert found.centring.total_mean == pytest.approx(K.mean())
    left = H @ K @ H @ found.vectors - found.vectors * found.values
    np.testing.assert_allclose(left, 0.0, atol=1e-8 * found.values[0])
    assert (found.residuals <= 1e-8 * found.values[0]).all()
    flat = feature_spectrum(np.column_stack([Z[:, :1], np.ones(300)]), 2)
    assert flat.values[1] == pytest.approx(0.0, abs=1e-9)
    assert np.isfinite(flat.vectors).all()


def test_float32_gives_way_where_little_varies(X):
    nearly = Gram(RBF(gamma=1e-7), X)
    found = lanczos_spectrum(nearly, 2, Budget(tol=0.0, max_iter=500), np.random.RandomState(0))
    np.testing.assert_allclose(found.values, true_values(nearly, 2), rtol=1e-6)
    assert found.status is Status.OPTIMAL
