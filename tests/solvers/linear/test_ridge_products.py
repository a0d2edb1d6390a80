"""Ridge regression from products of columns: as good as float64 allows, or not at all."""

import numpy as np
import pytest

from mercer.linalg.column_products import column_products, residual_products
from mercer.solvers.linear.ridge_products import weights_by_products


def solved(X, y, alpha):
    """Return the weights by products and by a decomposition, and the passes over the residual."""
    found = column_products(X, y[:, None])
    passes = []

    def correlate(w):
        passes.append(w)
        return residual_products(X, y - found.means[-1], found.means[:-1], w)

    w = weights_by_products(found, alpha, correlate)
    R, r = (A.astype(float) - A.astype(float).mean(axis=0) for A in (X, y))
    U, s, Vt = np.linalg.svd(R, full_matrices=False)
    best = Vt.T @ (s / (s**2 + alpha) * (U.T @ r))
    return w, best, len(passes)


def objective(X, y, alpha, w):
    R, r = (A.astype(float) - A.astype(float).mean(axis=0) for A in (X, y))
    return ((r - R @ w) ** 2).sum() + alpha * (w @ w)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("columns", [7, 300])
def test_plain_columns_need_no_second_pass(columns, alpha):
    random = np.random.default_rng(0)
    X = random.standard_normal((2_000, columns))
    y = X[:, 0] + random.standard_normal(2_000)
    w, best, passes = solved(X, y, alpha)
    assert w == pytest.approx(best, abs=1e-12)
    assert passes == 0


def test_float32_is_refined():
    random = np.random.default_rng(1)
    X = random.standard_normal((2_000, 300)).astype(np.float32)
    y = X[:, 0] + random.standard_normal(2_000)
    w, best, passes = solved(X, y, 1.0)
    assert w == pytest.approx(best, abs=1e-10)
    assert 0 < passes <= 3


@pytest.mark.parametrize("near", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_columns_that_nearly_depend_are_refined_or_refused(near, noise):
    random = np.random.default_rng(2)
    X = random.standard_normal((3_000, 12))
    X[:, 1] = X[:, 0] + near * X[:, 1]
    y = X[:, 0] - 2 * X[:, 1] + noise * random.standard_normal(3_000)
    for alpha in (1e-6, 1e-3, 1.0):
        w, best, _ = solved(X, y, alpha)
        if w is not None:
            least = objective(X, y, alpha, best)
            assert objective(X, y, alpha, w) <= least * (1 + 1e-10) + 1e-13 * (y @ y)


def test_targets_without_spread_have_no_weights():
    X = np.random.default_rng(3).standard_normal((100, 4))
    w, _, _ = solved(X, np.full(100, 3.0), 1.0)
    assert w == pytest.approx(np.zeros(4))
