"""Components and discriminants of many rows from one pass, and of nearly as many columns."""

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as ReferenceDiscriminant

from mercer import PCA, LinearDiscriminantAnalysis


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(3_000, 20), (1_000, 150), (2_000, 300)])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_components_are_those_of_a_whole_decomposition(shape, dtype, offset):
    random = np.random.default_rng(0)
    scales = np.geomspace(10, 0.1, shape[1])
    X = (random.standard_normal(shape) * scales + offset).astype(dtype)
    found = PCA(4).fit(X)
    known = decomposition.PCA(4, svd_solver="full").fit(X.astype(float))
    tol = 1e-9 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(found.explained_variance_, known.explained_variance_, rtol=tol)
    np.testing.assert_allclose(found.components_, known.components_, atol=10 * tol)
    np.testing.assert_allclose(found.mean_, X.astype(float).mean(axis=0), rtol=1e-6, atol=1e-6)
    assert found.noise_variance_ == pytest.approx(known.noise_variance_, rel=tol)
    assert found.components_.dtype == dtype


def test_many_rows_that_are_not_finite_are_refused():
    for value in (np.nan, np.inf):
        X = np.random.default_rng(1).standard_normal((3_000, 20))
        X[2_345, 6] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            PCA(2).fit(X)


def test_a_wrong_random_state_is_refused_whatever_the_method():
    with pytest.raises(ValueError, match="random_state"):
        PCA(2, random_state="often").fit(np.eye(30)[:, :3])


def test_components_between_others_of_nearly_the_same_variance_take_no_iteration():
    X = np.random.default_rng(2).standard_normal((1_500, 400))
    assert PCA(5).fit(X).choice_.startswith("Eigenvectors")


@pytest.mark.parametrize("rows", [101, 150, 399])
def test_discriminants_of_nearly_as_many_columns_as_rows(rows):
    random = np.random.default_rng(3)
    y = random.integers(0, 3, rows)
    X = random.standard_normal((rows, 90)) + 2 * np.eye(3, 90)[y]
    X[:, 7] = 3 * X[:, 8]  # a direction without spread that separates nothing
    found, known = (m().fit(X, y) for m in (LinearDiscriminantAnalysis, ReferenceDiscriminant))
    np.testing.assert_allclose(
        found.decision_function(X), known.decision_function(X), rtol=1e-6, atol=1e-6
    )
