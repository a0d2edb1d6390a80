"""Paths of several targets against scikit-learn, and its old names of parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import linear_model as reference

from mercer import InvalidParameter, enet_path, lasso_path


def data(n, p, targets=3, seed=0):
    random = np.random.default_rng((seed, n, p))
    X = random.normal(size=(n, p))
    W = np.zeros((p, targets))
    W[:5] = random.normal(size=(5, targets))
    return X, X @ W + 0.3 * random.normal(size=(n, targets))


def objective(X, Y, W, alpha, ratio):
    """Return the value of scikit-learn's multi-task elastic net; W is targets × columns."""
    squares = ((Y - X @ W.T) ** 2).sum() / (2 * len(Y))
    lengths = np.sqrt((W**2).sum(axis=0)).sum()
    return squares + alpha * (ratio * lengths + (1 - ratio) * (W**2).sum() / 2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("shape", [(60, 12), (40, 300)])
def test_several_targets_share_their_columns(shape, ratio, form):
    X, Y = data(*shape)
    alphas, coefs, gaps, rounds = enet_path(
        form(X), Y, l1_ratio=ratio, alphas=8, eps=0.02, tol=1e-6, return_n_iter=True
    )
    theirs = reference.enet_path(
        X, Y, l1_ratio=ratio, alphas=8, eps=0.02, tol=1e-10, max_iter=10**5
    )
    assert_allclose(alphas, theirs[0])
    assert coefs.shape == theirs[1].shape == (3, shape[1], 8)
    assert_allclose(coefs, theirs[1], atol=1e-4)
    assert len(rounds) == 8
    for at, alpha in enumerate(alphas):
        value = objective(X, Y, coefs[:, :, at], alpha, ratio)
        assert value <= objective(X, Y, theirs[1][:, :, at], alpha, ratio) * (1 + 1e-8)
        assert gaps[at] <= 1e-8 * value


def test_one_column_of_targets_is_the_elastic_net():
    X, Y = data(50, 20, 1)
    several = enet_path(X, Y, alphas=5, tol=1e-8)
    one = enet_path(X, Y[:, 0], alphas=5, tol=1e-8)
    assert_allclose(several[1][0], one[1], atol=1e-6)
    start = enet_path(X, Y, alphas=several[0], coef_init=several[1][:, :, -1], tol=1e-8)
    assert_allclose(start[1], several[1], atol=1e-6)


@pytest.mark.parametrize("path", [enet_path, lasso_path])
def test_the_old_number_of_alphas_warns_and_works(path):
    X, Y = data(30, 6)
    y = Y[:, 0]
    with pytest.warns(FutureWarning, match="'n_alphas' was deprecated in 1.9"):
        alphas, coefs, _ = path(X, y, n_alphas=5)
    assert coefs.shape == (6, 5)
    assert_allclose(alphas, path(X, y, alphas=5)[0])
    with pytest.warns(FutureWarning, match="'alphas=None' is deprecated"):
        assert len(path(X, y, alphas=None)[0]) == 100
    with pytest.raises(InvalidParameter, match="positive=True is not allowed"):
        path(X, Y, positive=True)


def test_paths_of_several_targets_have_the_digits_of_small_weights():
    # Sparse rows are multiplied in another order, and the gap does not see a weight of 1e-6.
    random = np.random.RandomState(0)
    W = random.randn(20, 2)
    W[10:] = 0.0
    X = random.randn(50, 20)
    _, dense, _ = enet_path(X, X @ W, tol=1e-10)
    _, thin, _ = enet_path(sparse.csr_array(X), X @ W, tol=1e-10)
    np.testing.assert_allclose(dense, thin, rtol=1e-7)
