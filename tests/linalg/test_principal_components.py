"""Principal components: five ways, one answer."""

import numpy as np
import pytest
from scipy import sparse

from mercer.linalg.principal_components import (
    centred_svd,
    covariance_eigh,
    gram_components,
    lanczos_components,
    likeliest_dimension,
    randomised_components,
)


@pytest.mark.parametrize("shape", [(80, 12), (12, 80)], ids=str)
def test_all_ways_agree(shape):
    random = np.random.RandomState(0)
    X = random.normal(size=shape) * np.linspace(3, 0.1, shape[1]) + 4.0
    mean = X.mean(axis=0)
    exact = centred_svd(X, mean, True)
    found = [
        covariance_eigh(X, mean, 3),
        gram_components(X, mean, 3),
        covariance_eigh(sparse.csr_array(X), mean, None),
        lanczos_components(X, mean, 3, 0.0, random),
        lanczos_components(sparse.csr_array(X), mean, 3, 0.0, random),
        randomised_components(X, mean, 3, 12, 10, random),
    ]
    for parts in found:
        np.testing.assert_allclose(parts.variances[:3], exact.variances[:3], rtol=1e-7)
        np.testing.assert_allclose(parts.components[:3], exact.components[:3], atol=1e-5)
        assert parts.total == pytest.approx(exact.total)


@pytest.mark.parametrize("shape", [(80, 12), (12, 80)], ids=str)
def test_inner_products_give_scores_and_hardly_lose_digits(shape):
    random = np.random.RandomState(0)
    X = random.normal(size=shape) * np.geomspace(1, 1e-5, shape[1]) + 4.0
    mean = X.mean(axis=0)
    exact, found = centred_svd(X, mean, True), gram_components(X, mean, 3)
    np.testing.assert_allclose(found.variances, exact.variances[:3], rtol=1e-10)
    np.testing.assert_allclose(found.scores, exact.scores[:, :3], atol=1e-9)


@pytest.mark.parametrize("shape", [(700, 300), (300, 700)], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_few_directions_of_many_columns(shape, dtype):
    random = np.random.RandomState(0)
    X = (random.normal(size=shape) * np.linspace(3, 0.1, shape[1]) + 4.0).astype(dtype)
    mean = X.mean(axis=0)
    exact, found = centred_svd(X, mean, True), gram_components(X, mean, 4)
    assert found.components.dtype == dtype
    accuracy = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found.variances, exact.variances[:4], rtol=accuracy)
    np.testing.assert_allclose(found.components, exact.components[:4], atol=100 * accuracy)


def test_directions_that_vary_alike_are_all_found():
    """One vector at a time sees one direction of each variance."""
    X = np.kron(np.eye(6), np.random.RandomState(0).normal(size=(60, 50)))
    X = np.vstack([X, -X])
    mean = X.mean(axis=0)
    exact, found = centred_svd(X, mean, True), gram_components(X, mean, 12)
    np.testing.assert_allclose(found.variances, exact.variances[:12], rtol=1e-10)


def test_the_likeliest_dimension_is_that_of_the_signal():
    random = np.random.default_rng(1)
    X = random.normal(size=(500, 3)) @ random.normal(size=(3, 10)) * 3
    X += 0.1 * random.normal(size=X.shape)
    assert likeliest_dimension(centred_svd(X, X.mean(axis=0), True).variances, 500) == 3
