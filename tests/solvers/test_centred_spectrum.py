"""Eigenvectors of a centred Gram matrix: every way gives those of the dense matrix HKH."""

import numpy as np
import pytest

from mercer import RBF, Gram, Linear
from mercer.gram.feature_gram import FeatureGram
from mercer.solvers.base import Budget, Status
from mercer.solvers.centred_spectrum import (
    dense_spectrum,
    feature_spectrum,
    lanczos_spectrum,
    randomised_spectrum,
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
