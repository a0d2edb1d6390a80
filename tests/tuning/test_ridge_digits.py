"""Scores of kernel ridge for tiny λ are as exact as those of plain solves of each fold."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

from mercer import RBF, GridSearchCV, KernelRidge

ROUNDING = 1e-10
"""Nobody compares scores to more digits; our residuals are below 1e-11 of the targets."""


def exact_score(K, y, alpha, train, test):
    """Return R² from a solution that is refined with residuals of 80 bits."""
    A = K[np.ix_(train, train)]
    factor = np.linalg.inv(A + alpha * np.eye(len(A)))
    wide, b = A.astype(np.longdouble), y[train].astype(np.longdouble)
    np.fill_diagonal(wide, wide.diagonal() + np.longdouble(alpha))
    x = np.zeros(len(b), np.longdouble)
    for _ in range(40):
        x = x + factor @ (b - wide @ x).astype(float)
    assert np.abs(b - wide @ x).max() < 1e-9
    return float(r2_score(y[test], (K[np.ix_(test, train)] @ x).astype(float)))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="there is no wider float here")
@pytest.mark.parametrize(("rows", "columns"), [(100, 5), (120, 20), (110, 2)])
def test_scores_are_as_exact_as_those_of_single_fits(rows, columns):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, columns))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * random.standard_normal(rows)
    grid = {
        "gamma": np.array([1e-4, 1e-2, 0.1, 1.0, 10.0]) / columns,
        "alpha": [1e-10 * rows, 1e-8 * rows, 1e-4, 1.0],
    }
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=KFold(5), exhaustive=True).fit(X, y)
    for cell, params in enumerate(search.cv_results_["params"]):
        K, alpha = RBF(gamma=params["gamma"])(X), params["alpha"]
        off, plain_off = 0.0, 0.0
        for k, (train, test) in enumerate(KFold(5).split(X)):
            exact = exact_score(K, y, alpha, train, test)
            factor = cho_factor(K[np.ix_(train, train)] + alpha * np.eye(len(train)))
            plain = r2_score(y[test], K[np.ix_(test, train)] @ cho_solve(factor, y[train]))
            off = max(off, abs(search.cv_results_[f"split{k}_test_score"][cell] - exact))
            plain_off = max(plain_off, abs(plain - exact))
        assert off < ROUNDING + 30 * plain_off, params
