"""The path of ridge regression against scikit-learn, one α at a time."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from mercer import ridge_path
from mercer.exceptions import InvalidInput, InvalidParameter

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(40, 5), (6, 30)])
@pytest.mark.parametrize("targets", [None, 3])
def test_each_step_is_scikit_learns(shape, targets):
    X = RANDOM.normal(size=shape)
    Y = RANDOM.normal(size=shape[0] if targets is None else (shape[0], targets))
    alphas, coefs, gaps = ridge_path(X, Y, alphas=[0.01, 100.0, 1.0])
    assert alphas.tolist() == [100.0, 1.0, 0.01]
    for a, alpha in enumerate(alphas):
        theirs = Ridge(alpha, fit_intercept=False, solver="svd").fit(X, Y)
        np.testing.assert_allclose(coefs[..., a], theirs.coef_, rtol=1e-8, atol=1e-12)
    assert (gaps <= 1e-9 * (Y**2).sum()).all()
    thin = ridge_path(sparse.csr_array(X), Y, alphas=alphas)
    np.testing.assert_allclose(thin.coefs, coefs)


def test_the_grid_and_the_laws_of_the_path():
    X, y = RANDOM.normal(size=(30, 4)), RANDOM.normal(size=30)
    path = ridge_path(X, y, alphas=50)
    assert len(path.alphas) == 50
    largest = np.linalg.norm(X, 2) ** 2
    assert path.alphas[0] == pytest.approx(10 * largest)
    assert path.alphas[-1] == pytest.approx(1e-5 * largest)
    # Weights grow and residuals shrink along the path; the end is near least squares.
    assert (np.diff(np.linalg.norm(path.coefs, axis=0)) > 0).all()
    assert (np.diff([np.linalg.norm(y - X @ w) for w in path.coefs.T]) < 0).all()
    np.testing.assert_allclose(path.coefs[:, -1], np.linalg.lstsq(X, y)[0], atol=1e-4)
    assert np.isfinite(ridge_path(np.zeros((3, 2)), [1.0, 2.0, 3.0]).coefs).all()


def test_bad_input():
    X, y = np.eye(3), np.ones(3)
    for alphas in (0, [0.0], [], [-1.0]):
        with pytest.raises((InvalidParameter, ValueError)):
            ridge_path(X, y, alphas=alphas)
    with pytest.raises(InvalidInput, match="must match"):
        ridge_path(X, y[:2])
    with pytest.raises(InvalidParameter, match="eps=2"):
        ridge_path(X, y, eps=2)
