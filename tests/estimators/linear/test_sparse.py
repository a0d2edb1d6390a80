"""Lasso and elastic net: against scikit-learn, optimality from scratch, bad input."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model as reference
from hypothesis import given, strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from mercer import ElasticNet, InvalidInput, InvalidParameter, Lasso, enet_path, lasso_path

LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "sparse": sparse.csr_array}


def data(n, p, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) + random.normal(size=p)
    return X, X[:, : min(p, 5)].sum(axis=1) + random.normal(size=n)


def naive_gap(X, y, model, l1, l2):
    """Return primal value and gap of an elastic net with intercept, all by dense algebra."""
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    w, n = model.coef_, len(y)
    r = yc - Xc @ w
    primal = r @ r / 2 + n * l1 * np.abs(w).sum() + n * l2 * w @ w / 2
    # As a lasso on the stacked data (X, √λ₂ I).
    slopes = Xc.T @ r - n * l2 * w
    s = min(1.0, n * l1 / np.abs(slopes).max())
    dual = s * (yc @ r) - s * s * (r @ r + n * l2 * w @ w) / 2
    return primal / n, (primal - dual) / n


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(60, 150), (300, 20), (40, 40)])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.3])
@pytest.mark.parametrize("intercept", [True, False])
def test_it_agrees_with_scikit_learn(layout, shape, positive, l1_ratio, intercept):
    X, y = data(*shape)
    options = {"l1_ratio": l1_ratio, "positive": positive, "fit_intercept": intercept}
    for alpha in (0.5, 0.02):
        ours = ElasticNet(alpha, **options).fit(LAYOUTS[layout](X), y)
        theirs = reference.ElasticNet(alpha, tol=1e-12, max_iter=10**6, **options).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
        assert ours.certificate_.relative_gap < 1e-6
        np.testing.assert_allclose(ours.predict(X), X @ ours.coef_ + ours.intercept_)


@given(st.integers(0, 10_000), st.floats(0.001, 2), st.sampled_from([1.0, 0.5]))
def test_the_certificate_is_true(seed, alpha, l1_ratio):
    random = np.random.default_rng(seed)
    X, y = data(int(random.integers(3, 40)), int(random.integers(1, 60)), seed)
    model = ElasticNet(alpha, l1_ratio=l1_ratio, max_iter=10_000).fit(X, y)
    primal, gap = naive_gap(X, y, model, alpha * l1_ratio, alpha * (1 - l1_ratio))
    certificate = model.certificate_
    assert certificate.primal == pytest.approx(primal, rel=1e-9, abs=1e-12)
    assert certificate.gap <= gap + 1e-12 * (y @ y)
    # A duality gap bounds the distance to every other point, the best one of a long search too.
    other = reference.ElasticNet(alpha, l1_ratio=l1_ratio, tol=1e-10, max_iter=10**5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # theirs: any point will do
        other.fit(X, y)
    best, _ = naive_gap(X, y, other, alpha * l1_ratio, alpha * (1 - l1_ratio))
    assert certificate.dual <= best + 1e-12 * (y @ y)
    assert certificate.relative_gap < 1e-6 or certificate.gap < 1e-13 * (y @ y)


def test_real_data_with_the_convention_of_textbooks():
    X, y = load_diabetes(return_X_y=True)
    n, lam = len(y), 500.0
    model = Lasso(lam / (2 * n)).fit(X, y)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    value = ((Xc @ model.coef_ - yc) ** 2).sum() + lam * np.abs(model.coef_).sum()
    random = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 1.0, 100.0):
        other = model.coef_ + size * random.normal(size=X.shape[1])
        worse = ((Xc @ other - yc) ** 2).sum() + lam * np.abs(other).sum()
        assert value < worse + 1e-6 * value
    assert 2 * n * model.certificate_.primal == pytest.approx(value)


def test_equal_columns_and_columns_without_content():
    X, y = data(50, 6)
    X = np.column_stack([X, X, np.ones(50), np.zeros(50)])
    model = Lasso(0.01).fit(X, y)
    assert model.certificate_.relative_gap < 1e-6
    assert not model.coef_[-2:].any()


def test_weights_of_samples_are_copies():
    X, y = data(40, 60)
    weights = np.random.default_rng(1).integers(0, 4, size=40)
    for given_X in (X, sparse.csc_array(X)):
        weighted = Lasso(0.05, tol=1e-8).fit(given_X, y, sample_weight=weights)
        copied = Lasso(0.05, tol=1e-8).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
        np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-7)


def test_large_penalties_give_zeros_and_constant_targets_too():
    X, y = data(30, 10)
    most = np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / 30
    assert not Lasso(most * 1.001).fit(X, y).coef_.any()
    assert Lasso(most * 0.99).fit(X, y).coef_.any()
    constant = Lasso(0.1).fit(X, np.full(30, 7.0))
    assert not constant.coef_.any()
    assert constant.intercept_ == pytest.approx(7)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(30, 10), (10, 30)])
def test_constant_targets_have_no_weights_and_a_proof(layout, shape):
    X = LAYOUTS[layout](data(*shape)[0])
    for model in (Lasso(1e-3), ElasticNet(1e-3), Lasso(1e-3, positive=True)):
        model.fit(X, np.full(shape[0], -4.25))
        assert not model.coef_.any()
        assert model.intercept_ == -4.25
        assert model.certificate_.status == "optimal"
        assert model.certificate_.gap == 0
        zero = type(model)(1e-3, fit_intercept=False).fit(X, np.zeros(shape[0]))
        assert not zero.coef_.any()
    _, coefs, gaps = enet_path(X, np.zeros(shape[0]), alphas=5)
    assert not coefs.any()
    assert not gaps.any()


def test_more_columns_than_rows_with_next_to_no_penalty():
    X, y = data(12, 60)
    model = Lasso(1e-6, max_iter=10_000).fit(X, y)
    assert np.count_nonzero(model.coef_) <= 12
    assert model.certificate_.relative_gap < 1e-6
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3)
    # Of all weights that fit exactly, those of the least ‖w‖₁: no other exact fit has less.
    with pytest.warns(UserWarning, match="alpha=0"):
        plain = Lasso(0.0).fit(X, y)
    np.testing.assert_allclose(plain.predict(X), y, atol=1e-9)
    assert np.abs(model.coef_).sum() < np.abs(plain.coef_).sum()


def test_several_targets_and_warm_starts():
    X, y = data(50, 80)
    Y = np.column_stack([y, X[:, 7] - y])
    both = Lasso(0.1).fit(X, Y)
    for k in range(2):
        np.testing.assert_allclose(both.coef_[k], Lasso(0.1).fit(X, Y[:, k]).coef_, atol=1e-8)
    model = Lasso(0.1, warm_start=True).fit(X, y)
    assert model.n_iter_ > 0
    assert model.fit(X, y).n_iter_ == 0


@pytest.mark.parametrize("shape", [(40, 90), (200, 15)])
def test_paths(shape):
    X, y = data(*shape)
    for ours, theirs in ((lasso_path, reference.lasso_path), (enet_path, reference.enet_path)):
        alphas, coefs, gaps = ours(X, y, alphas=20)
        expected, weights, _ = theirs(X, y, alphas=20, tol=1e-11, max_iter=10**6)
        np.testing.assert_allclose(alphas, expected)
        np.testing.assert_allclose(coefs, weights, atol=1e-3)
        assert not coefs[:, 0].any()
        assert (gaps < 1e-6 * (y @ y)).all()


def test_the_gram_matrix_of_a_tall_path_gives_the_same_as_the_data():
    X, y = data(300, 12)
    alphas, coefs, _ = lasso_path(X, y, alphas=15, tol=1e-9)
    for alpha, w in zip(alphas, coefs.T, strict=True):
        alone = Lasso(alpha, fit_intercept=False, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(w, alone.coef_, atol=1e-7)


def test_columns_far_from_zero():
    X, y = data(200, 30)
    near = Lasso(0.05, tol=1e-9).fit(X, y)
    far = Lasso(0.05, tol=1e-9).fit(X + 1e6, y)
    assert far.certificate_.relative_gap < 1e-12, "the same on every BLAS"
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-7)


def test_bad_input():
    X, y = data(20, 5)
    with pytest.raises(ValueError, match="alpha"):
        Lasso(-1.0).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        ElasticNet(-1e-9).fit(X, y)
    with pytest.raises(ValueError, match="l1_ratio"):
        ElasticNet(l1_ratio=1.5).fit(X, y)
    for share in (-0.1, 1.5, np.nan):  # λ₂ or λ₁ would be below 0
        with pytest.raises(InvalidParameter, match="from 0 to 1"):
            enet_path(X, y, l1_ratio=share)
    with pytest.raises(ValueError, match="at least one non-zero"):
        Lasso().fit(X, y, sample_weight=np.zeros(20))
    with pytest.raises(InvalidInput, match="they must match"):
        lasso_path(X, np.column_stack([y, y])[:-1])
    with pytest.raises(InvalidInput, match="they must match"):
        lasso_path(X, y[:-1])
    with pytest.raises(InvalidParameter, match="l1_ratio=1"):
        lasso_path(X, y, l1_ratio=0.5)
    with pytest.raises(InvalidParameter, match="0 or more"):
        lasso_path(X, y, alphas=[-1.0, 2.0])
    with pytest.raises(InvalidParameter, match="l1_ratio=0"):
        enet_path(X, y, l1_ratio=0)
    with pytest.raises(InvalidParameter, match="normalize"):
        enet_path(X, y, normalize=True)
    with pytest.warns(UserWarning, match="alpha=0"):
        plain = Lasso(0.0).fit(X, y)
    np.testing.assert_allclose(plain.coef_, reference.LinearRegression().fit(X, y).coef_)


def test_a_fit_that_is_cut_short_says_so():
    X, y = data(100, 300)
    with pytest.warns(ConvergenceWarning, match="Objective did not converge"):
        model = Lasso(1e-4, max_iter=1).fit(X, y)
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.relative_gap > 1e-6


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_tiny_penalty_on_wide_data_is_solved_within_the_rounds(share, positive):
    random = np.random.default_rng(1)
    X = random.normal(size=(150, 500))
    y = np.abs(random.normal(size=150)) * 10 + 100
    model = ElasticNet(alpha=1e-6, l1_ratio=share, positive=positive).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.relative_gap <= 1e-6
    assert model.n_iter_ <= 300
    if positive:
        assert (model.coef_ >= 0).all()


def test_unchecked_rows_have_to_be_in_fortran_order():
    """As in scikit-learn, where the compiled code takes no other."""
    X, y = data(30, 4)
    for library in (ElasticNet, reference.ElasticNet):
        library(alpha=0.1).fit(np.asfortranarray(X), y, check_input=False)
        with pytest.raises(ValueError):  # noqa: PT011 - the words are each library's own
            library(alpha=0.1).fit(X, y, check_input=False)
    with pytest.raises(InvalidInput, match="Fortran order"):
        Lasso().fit(X, y, check_input=False)
    for library in (Lasso, reference.Lasso):  # weights make a copy, and that in the right order
        library().fit(X, y, sample_weight=np.ones(len(X)), check_input=False)
