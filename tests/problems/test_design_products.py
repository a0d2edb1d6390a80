"""Products of design matrices and bounds of their rounding, against exact sums."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from mercer.problems.design_products import DesignProducts, square_bound, sum_bound


def exact(matrix):
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(matrix)


def check(found, truth):
    off = np.abs(exact(found.values) - truth)
    assert (off <= exact(found.errors)).all()
    assert (found.errors <= 1e-13 * found.sizes).all()


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("constant", [0.0, 2.5])
@pytest.mark.parametrize("kind", ["dense", "centred", "csr", "csc"])
def test_errors_are_bounded(kind, constant, columns):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5)) * 10.0 ** rng.uniform(-6, 6, 5) + 1e3
    X[rng.random(X.shape) < 0.4] = 0.0
    means = X.mean(axis=0) if kind == "centred" else None
    given = getattr(sparse, f"{kind}_array")(X) if kind.startswith("cs") else X
    rows = DesignProducts(given, means, constant)
    Z = exact(X) - (0 if means is None else exact(means))
    if constant:
        Z = np.column_stack([Z, np.full(40, Fraction(constant))])
    W = rng.standard_normal((Z.shape[1], columns)) * 10.0 ** rng.uniform(-5, 5, (Z.shape[1], 1))
    B = rng.standard_normal((40, columns))
    check(rows.dot(W), Z @ exact(W))
    check(rows.combine(B), Z.T @ exact(B))
    check(rows.dot(W[:, 0]), (Z @ exact(W))[:, 0])
    found, truth = rows.combine(B[:, 0]), (Z.T @ exact(B))[:, 0]
    check(found, truth)
    square = float(found.values @ found.values)
    assert abs(Fraction(square) - (truth**2).sum()) <= Fraction(square_bound(found))


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((50, 4)), rng.standard_normal(4)
    whole = DesignProducts(X, X.mean(axis=0)).combine(X @ w)
    monkeypatch.setattr("mercer.problems.design_products._BLOCK_VALUES", 28)
    parts = DesignProducts(X, X.mean(axis=0)).combine(X @ w)
    assert (np.abs(whole.values - parts.values) <= whole.errors).all()


def test_sums_are_bounded():
    values = np.abs(np.random.default_rng(0).standard_normal(1000)) * 1e8
    assert abs(Fraction(float(values.sum())) - exact(values).sum()) <= Fraction(sum_bound(values))
    assert np.isinf(DesignProducts(np.full((2, 2), 1e300)).dot(np.full(2, 1e300)).errors).all()


@pytest.mark.parametrize("values", [1, 7, 10**6])
def test_blocks_of_rows(values, monkeypatch):
    monkeypatch.setattr("mercer.problems.design_products._BLOCK_VALUES", values)
    rng = np.random.default_rng(0)
    X, means, w, beta = (rng.normal(size=s) for s in ((5, 3), 3, 3, 5))
    rows = DesignProducts(X, means)
    np.testing.assert_allclose(rows.dot(w).values, (X - means) @ w)
    np.testing.assert_allclose(rows.dot(w).sizes, np.abs(X - means) @ np.abs(w))
    np.testing.assert_allclose(rows.combine(beta).values, (X - means).T @ beta)
    np.testing.assert_allclose(rows.combine(beta).sizes, np.abs(X - means).T @ np.abs(beta))
