"""Ridge regression: closed forms, several targets, sparse data, certificates."""

import numpy as np
import pytest
import sklearn.linear_model as reference
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from mercer import InvalidInput, InvalidParameter, Ridge, certify
from mercer.estimators.linear.centred import Centred
from mercer.estimators.linear.sparse import SHARPNESS
from mercer.solvers.base import Budget
from mercer.solvers.linear.least_squares import RidgeFactors
from tests.estimators.linear.test_sparse import data


@pytest.mark.parametrize("shape", [(60, 10), (10, 60)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e4])
def test_the_closed_form(shape, make, alpha):
    X, y = data(*shape)
    model = Ridge(alpha).fit(make(X), y)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    w = np.linalg.solve(Xc.T @ Xc + alpha * np.eye(shape[1]), Xc.T @ yc)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-7, atol=1e-9)
    assert model.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ w)
    value = ((yc - Xc @ w) ** 2).sum() + alpha * w @ w
    assert model.certificate_.primal == pytest.approx(value)
    assert model.certificate_.relative_gap < 1e-9


def test_large_sparse_data_by_conjugate_gradients():
    X, y = data(80, 30)
    centred = Centred(sparse.csc_array(X), y[:, None], None, True)
    problem, budget = centred.problem(0, 0.0, 0.5, False), Budget(1e-4 * SHARPNESS, 10**6)
    found = RidgeFactors(centred.design, largest_factor=5).solve(problem, centred.gram, budget)
    np.testing.assert_allclose(found.value.w, Ridge(0.5).fit(X, y).coef_, atol=1e-4)
    assert found.certificate.relative_gap < 1e-6
    assert found.statistics.iterations > 1


def test_several_targets_with_penalties_of_their_own():
    X, y = data(50, 8)
    Y = np.column_stack([y, -y, X[:, 0]])
    model = Ridge([1.0, 2.0, 0.0]).fit(X, Y)
    for k, alpha in enumerate((1.0, 2.0, 0.0)):
        np.testing.assert_allclose(model.coef_[k], Ridge(alpha).fit(X, Y[:, k]).coef_, atol=1e-12)
    with pytest.raises(InvalidParameter, match="do not correspond"):
        Ridge([1.0, 2.0]).fit(X, Y)
    with pytest.raises(InvalidParameter, match="0 or more"):
        Ridge([1.0, -2.0, 1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="alpha"):
        Ridge(-1.0).fit(X, y)


def test_without_a_penalty_the_shortest_answer_wins():
    X, y = data(10, 30)
    model = Ridge(0.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_weights_of_zero_or_more(alpha):
    X, y = data(50, 8)
    y = y - 3 * X[:, 6]
    model = Ridge(alpha, positive=True).fit(X, y)
    theirs = reference.Ridge(alpha, positive=True, tol=1e-12).fit(X, y)
    assert model.coef_.min() >= 0
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)
    with pytest.raises(InvalidParameter, match="positive"):
        Ridge(positive=True, solver="svd").fit(X, y)
    with pytest.raises(InvalidParameter, match="lbfgs"):
        Ridge(solver="lbfgs").fit(X, y)


def test_weights_of_samples_are_copies():
    X, y = data(40, 6)
    weights = np.random.default_rng(1).integers(0, 4, size=40)
    copied = Ridge(2.0).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    np.testing.assert_allclose(Ridge(2.0).fit(X, y, sample_weight=weights).coef_, copied.coef_)


@pytest.mark.parametrize("solver", ["auto", "svd", "cholesky", "sparse_cg", "lsqr", "sag", "saga"])
def test_rounds_are_counted_where_scikit_learn_counts_them(solver):
    X, y = data(30, 4)
    ours, other = (kind(solver=solver).fit(X, np.c_[y, y]) for kind in (Ridge, reference.Ridge))
    if other.n_iter_ is None:
        assert ours.n_iter_ is None
    else:
        assert ours.n_iter_.tolist() == [1, 1]  # one factorisation for each target


@pytest.mark.parametrize("shape", [(400, 250), (150, 500), (2000, 30)])
@pytest.mark.parametrize("alpha", [0.02, 20.0])
def test_sparse_rows_are_as_good_as_dense_ones(shape, alpha):
    random = np.random.default_rng(0)
    X = sparse.random_array(shape, density=0.05, rng=random, format="csr")
    y = X @ random.normal(size=shape[1]) + random.normal(size=shape[0]) + 3
    thin, dense = Ridge(alpha).fit(X, y), Ridge(alpha).fit(X.toarray(), y)
    objectives = [
        np.square(y - X @ m.coef_ - m.intercept_).sum() + alpha * m.coef_ @ m.coef_
        for m in (thin, dense)
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-7)
    assert thin.certificate_.relative_gap <= 1e-6
    sharp = Ridge(alpha, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(sharp.coef_, dense.coef_, atol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 1e4])
@pytest.mark.parametrize("far", [0.0, 50.0])
def test_products_in_float32_lose_no_digits_that_float32_has(spread, far):
    random = np.random.default_rng(1)
    X = random.normal(size=(600, 12)) * np.geomspace(1, spread, 12) + far
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    X = X.astype(np.float32)
    y = X @ random.normal(size=12) + random.normal(size=600)
    short, long = Ridge(0.1).fit(X, y), Ridge(0.1).fit(X.astype(np.float64), y)
    assert short.coef_.dtype == np.float32
    np.testing.assert_allclose(short.coef_, long.coef_, rtol=1e-6)
    # What float32 cannot say of the weights is all that is lost.
    long.coef_ = long.coef_.astype(np.float32)
    rounded = certify(long, X.astype(np.float64), y)
    assert short.certificate_.relative_gap <= 2 * rounded.relative_gap + 1e-9


@pytest.mark.parametrize("solver", ["lsqr", "sag", "saga"])
def test_rounds_that_are_asked_for_are_taken(solver):
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        short = Ridge(solver=solver, max_iter=3, tol=1e-12).fit(X, y)
    assert short.n_iter_ == 3
    assert short.certificate_.status == "max_iter"
    long = Ridge(solver=solver, max_iter=100).fit(X, y)
    assert 3 < long.n_iter_ < 100
    assert long.certificate_.optimal
    np.testing.assert_allclose(long.coef_, Ridge().fit(X, y).coef_, rtol=1e-2)


def test_loose_sag_on_sparse_data_warns_as_in_scikit_learn():
    X = sparse.random(20, 5, 0.5, format="csr", random_state=0)
    y = np.arange(20.0)
    for library in (Ridge, reference.Ridge):
        with pytest.warns(UserWarning, match='"sag" solver requires'):
            library(solver="sag", tol=1e-3).fit(X, y)
    Ridge(solver="sag").fit(X, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(2_000, 20), (1_000, 300)])
@pytest.mark.parametrize("intercept", [True, False])
def test_one_pass_over_many_rows_is_as_good_as_several(shape, dtype, intercept):
    random = np.random.default_rng(5)
    X = (random.standard_normal(shape) + 3).astype(dtype)
    y = X[:, 0] - 2 * X[:, 1] + random.standard_normal(len(X))
    held = X.copy()
    held.setflags(write=False)  # such rows go the long way
    quick, slow = (Ridge(2.0, fit_intercept=intercept).fit(rows, y) for rows in (X, held))
    tol = 1e-10 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(quick.coef_, slow.coef_, atol=tol)
    assert quick.intercept_ == pytest.approx(slow.intercept_, abs=100 * tol)
    assert quick.coef_.dtype == dtype
    assert quick.certificate_.optimal
    assert quick.n_features_in_ == shape[1]
    assert quick.solver_ == "cholesky"


def test_many_rows_that_are_not_finite_are_refused():
    for value, error in ((np.nan, ValueError), (np.inf, ValueError), (1e200, InvalidInput)):
        X, y = np.ones((2_000, 20)), np.ones(2_000)
        X[1_234, 5] = value
        with pytest.raises(error):
            Ridge().fit(X, y)
        X[1_234, 5], y[77] = 1.0, value
        with pytest.raises(error):
            Ridge().fit(X, y)
