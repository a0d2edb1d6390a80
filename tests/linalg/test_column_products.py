"""Means and products of columns in one pass, against sums in extended precision."""

import numpy as np
import pytest

from mercer.linalg.column_products import column_products, residual_products, suit_products

SHAPES = [(1, 3), (65, 1), (1_000, 37), (300, 254), (2_000, 16), (400, 300)]


def exactly(Z, centred):
    Z = Z.astype(np.longdouble)
    means = Z.mean(axis=0) if centred else np.zeros(Z.shape[1])
    R = Z - means
    return means.astype(float), (R.T @ R).astype(float)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_those_of_the_columns(shape, dtype, centred):
    random = np.random.default_rng(1)
    X = (random.standard_normal(shape) + random.standard_normal(shape[1])).astype(dtype)
    y = random.standard_normal((len(X), 1)) + 2
    found = column_products(X, y, centred)
    means, products = exactly(np.hstack([X, y]), centred)
    tol = 1e-12 if found.exact else 1e-4
    assert found.means == pytest.approx(means, abs=tol)
    np.testing.assert_allclose(found.products, products, atol=tol * len(X))
    assert found.exact == (dtype == np.float64 or shape[1] < 255)


@pytest.mark.parametrize("columns", [5, 300])
def test_means_that_are_far_away_cost_no_digits(columns):
    X = np.random.default_rng(2).standard_normal((1_000, columns)) + 1e7
    X[:, 0] = 0.1  # a constant has no spread at all
    X[:, 1] = np.arange(1_000) * 1e5  # the first rows are not like the others
    _, products = exactly(X, True)
    found = column_products(X).products
    scale = np.sqrt(products.diagonal()) + 1e-3
    assert np.abs((found - products) / np.outer(scale, scale)).max() < 1e-8


def test_numbers_that_are_not_finite_show():
    for place in (0, 999):
        for value in (np.nan, np.inf, 1e200):
            X = np.ones((1_000, 40))
            X[place, 3] = value
            found = column_products(X)
            assert not np.isfinite(found.products).all()
            assert not np.isfinite(found.sum_of_squares)


def test_threads_change_nothing(monkeypatch):
    X = np.random.default_rng(3).standard_normal((40_000, 70))
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        found.append(column_products(X).products)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("rows", [1_001, 150_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_with_residuals(dtype, rows):
    random = np.random.default_rng(4)
    X = random.standard_normal((rows, 30)).astype(dtype)
    y, w, means = random.standard_normal(rows), random.standard_normal(30), X.mean(axis=0)
    R = X - means.astype(float)
    expected = R.T @ (y - R @ w)
    np.testing.assert_allclose(
        residual_products(X, y, means.astype(float), w), expected, atol=1e-9 * rows
    )


def test_only_large_plain_rows_are_taken():
    X = np.ones((1_000, 40))
    assert suit_products(X)
    assert suit_products(X.astype(np.float32))
    assert not suit_products(X[:10])
    assert not suit_products(X.T)
    assert not suit_products(X.astype(int))
    assert not suit_products(X[:, ::2])
    X.setflags(write=False)
    assert not suit_products(X)
