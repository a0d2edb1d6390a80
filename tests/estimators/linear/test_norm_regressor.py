"""Regression in any norm: independent linear programs, interpolation, rank, certificates."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.linalg import cholesky
from scipy.optimize import linprog, minimize
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from mercer import InvalidParameter, NormRegressor, NotPositiveDefinite, norms


def data(seed, ties=False):
    random = np.random.default_rng(seed)
    n, d = int(random.integers(8, 60)), int(random.integers(1, 6))
    X = random.normal(size=(n, d))
    y = X.sum(axis=1) + random.standard_t(2, size=n)
    return (np.round(X), np.round(y)) if ties else (X, y)


def least_sum(A, y):
    """Return min ‖y − Ax‖₁ by a linear program in the parts of the residuals."""
    n, d = A.shape
    found = linprog(
        np.r_[np.zeros(d), np.ones(2 * n)],
        A_eq=np.hstack([A, np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(None, None)] * d + [(0, None)] * 2 * n,
    )
    return found.fun


def least_maximum(A, y):
    """Return the largest yᵀν with Aᵀν = 0, ‖ν‖₁ ≤ 1: the dual program."""
    n, d = A.shape
    found = linprog(
        np.r_[-y, y],
        A_eq=np.hstack([A.T, -A.T]),
        b_eq=np.zeros(d),
        A_ub=np.ones((1, 2 * n)),
        b_ub=[1.0],
        bounds=[(0, None)] * 2 * n,
    )
    return -found.fun


@given(st.integers(0, 10_000), st.booleans())
def test_l1_and_linf_agree_with_other_linear_programs(seed, ties):
    X, y = data(seed, ties)
    A = np.column_stack([X, np.ones(len(y))])
    scale = np.abs(y).sum()
    for norm, expected in ((1, least_sum(A, y)), (np.inf, least_maximum(A, y))):
        model = NormRegressor(norm).fit(X, y)
        assert model.norm_ == pytest.approx(expected, abs=1e-9 * scale)
        certificate = model.certificate_
        assert abs(certificate.gap) <= 1e-10 * scale
        assert certificate.dual_feasibility <= 1e-9
        assert certificate.stationarity <= 1e-9 * max(1.0, np.abs(A).sum())


@given(st.integers(0, 10_000))
def test_the_right_number_of_points_is_interpolated(seed):
    X, y = data(seed)
    d = X.shape[1] + 1
    least = NormRegressor(1).fit(X, y)
    residuals = np.abs(y - least.predict(X))
    assert (residuals < 1e-9 * np.abs(y).max()).sum() == d == len(least.interpolated_)
    np.testing.assert_allclose(residuals[least.interpolated_], 0, atol=1e-9 * np.abs(y).max())
    flat = NormRegressor(np.inf).fit(X, y)
    residuals = np.abs(y - flat.predict(X))
    assert (residuals > flat.norm_ - 1e-9 * np.abs(y).max()).sum() == d + 1


def test_the_certificate_can_be_recomputed():
    X, y = load_diabetes(return_X_y=True)
    A = np.column_stack([X, np.ones(len(y))])
    for norm, order, dual_order in ((1, 1, np.inf), (np.inf, np.inf, 1)):
        model = NormRegressor(norm).fit(X, y)
        nu = model.multipliers_
        assert np.linalg.norm(nu, dual_order) <= 1 + 1e-9
        np.testing.assert_allclose(A.T @ nu, 0, atol=1e-8)
        value = np.linalg.norm(y - model.predict(X), order)
        assert y @ nu == pytest.approx(value, rel=1e-10)


def test_each_norm_is_best_in_itself():
    X, y = data(3)
    random = np.random.default_rng(0)
    B = random.normal(size=(len(y), len(y)))
    P = B @ B.T + np.eye(len(y))
    lengths = {
        1: lambda r: np.abs(r).sum(),
        2: lambda r: np.sqrt(r @ r),
        np.inf: lambda r: np.abs(r).max(),
        "P": lambda r: np.sqrt(r @ P @ r),
    }
    models = {norm: NormRegressor(P if norm == "P" else norm).fit(X, y) for norm in lengths}
    for norm, length in lengths.items():
        values = {other: length(y - model.predict(X)) for other, model in models.items()}
        assert min(values, key=values.get) == norm
        assert models[norm].norm_ == pytest.approx(values[norm])
        assert abs(models[norm].certificate_.relative_gap) < 1e-9


def test_the_quadratic_norm_is_generalised_least_squares():
    X, y = data(5)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = NormRegressor(np.diag(weights), fit_intercept=False).fit(X, y)
    expected = np.linalg.solve(X.T @ (weights[:, None] * X), X.T @ (weights * y))
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_columns_that_depend_on_each_other(norm):
    X, y = data(7)
    twice = np.column_stack([X, X[:, 0], np.ones(len(y))])
    model, plain = NormRegressor(norm).fit(twice, y), NormRegressor(norm).fit(X, y)
    assert model.rank_ == plain.rank_ == X.shape[1] + 1
    assert model.norm_ == pytest.approx(plain.norm_)
    if norm == 2:  # the shortest of all answers
        shortest = np.linalg.pinv(np.column_stack([twice, np.ones(len(y))])) @ y
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), shortest, atol=1e-9)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_more_features_than_samples_and_constant_targets(norm):
    random = np.random.default_rng(0)
    X = random.normal(size=(6, 10))
    model = NormRegressor(norm).fit(X, random.normal(size=6))
    assert model.norm_ < 1e-9
    assert model.rank_ == 6
    X = random.normal(size=(20, 3))
    constant = NormRegressor(norm).fit(X, np.full(20, 4.0))
    np.testing.assert_allclose(constant.coef_, 0, atol=1e-9)
    assert constant.intercept_ == pytest.approx(4)
    nothing = NormRegressor(norm).fit(X, np.zeros(20))
    assert nothing.norm_ == pytest.approx(0, abs=1e-12)


def test_outliers_do_not_move_l1():
    X, y = data(11)
    model = NormRegressor(1).fit(X, y)
    far = np.argmax(y - model.predict(X))
    worse = y.copy()
    worse[far] += 1e6
    np.testing.assert_allclose(NormRegressor(1).fit(X, worse).coef_, model.coef_, atol=1e-6)


def test_bad_input():
    X, y = data(0)
    with pytest.raises(InvalidParameter, match="has to be a number p ≥ 1"):
        NormRegressor(0.3).fit(X, y)
    with pytest.raises(InvalidParameter, match="a row and a column for each"):
        NormRegressor(np.eye(3)).fit(X, y)
    with pytest.raises(NotPositiveDefinite, match="no norm"):
        NormRegressor(-np.eye(len(y))).fit(X, y)


# ---- other norms and balls ---------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.01, 1.1, 1.5, 1.9, 2.5, 3, 6.0, 40.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_any_p_has_a_proof_that_anybody_can_recompute(p, seed):
    X, y = data(seed)
    A = np.column_stack([X, np.ones(len(y))])
    model = NormRegressor(p).fit(X, y)
    residual = y - model.predict(X)
    assert model.norm_ == pytest.approx(np.linalg.norm(residual, p))
    # Any ν with Aᵀν = 0 and ‖ν‖_q ≤ 1 bounds the least norm from below.
    nu, q = model.multipliers_, p / (p - 1)
    np.testing.assert_allclose(A.T @ nu, 0, atol=1e-8 * np.abs(A).sum())
    assert (np.abs(nu) ** q).sum() ** (1 / q) <= 1 + 1e-9
    assert nu @ y == pytest.approx(model.norm_, rel=1e-6)
    assert nu @ y <= model.norm_ * (1 + 1e-9)


def test_any_p_against_scipy():
    X, y = data(3)
    A = np.column_stack([X, np.ones(len(y))])
    for p in (1.5, 4.0):
        found = minimize(
            lambda x, p=p: np.sum(np.abs(y - A @ x) ** p),
            np.linalg.lstsq(A, y)[0],
            jac=lambda x, p=p: -A.T @ (p * np.sign(y - A @ x) * np.abs(y - A @ x) ** (p - 1)),
            options={"gtol": 1e-10},
        )
        model = NormRegressor(p).fit(X, y)
        np.testing.assert_allclose(model.coef_, found.x[:-1], atol=1e-4)
        assert model.norm_ <= found.fun ** (1 / p) * (1 + 1e-9)


def test_norms_may_be_objects():
    X, y = data(4)
    n = len(y)
    root = np.random.default_rng(0).normal(size=(n, n))
    P = root @ root.T + np.eye(n)
    for one, other in (
        (norms.Lp(1.5), 1.5),
        (norms.l1, 1),
        (norms.linf, np.inf),
        (norms.l2, 2),
        (norms.Quadratic(P), P),
    ):
        np.testing.assert_array_equal(
            NormRegressor(one).fit(X, y).coef_, NormRegressor(other).fit(X, y).coef_
        )
    exact = NormRegressor(3.0).fit(X, X @ np.arange(X.shape[1]) + 2)
    np.testing.assert_allclose(exact.coef_, np.arange(X.shape[1]), atol=1e-9)


@pytest.mark.parametrize("norm", [1, 2, np.inf, "P"])
@pytest.mark.parametrize("ball", [1, 2, np.inf])
@pytest.mark.parametrize("intercept", [True, False])
def test_weights_in_a_ball_have_a_proof(norm, ball, intercept):
    X, y = data(5)
    n = len(y)
    square = np.random.default_rng(0).normal(size=(n, n)) + 3 * np.eye(n)
    root = cholesky(square.T @ square)  # √(rᵀPr) is the length of Rr, P = RᵀR
    given = square.T @ square if isinstance(norm, str) else norm
    whole = np.abs(NormRegressor(given, fit_intercept=intercept).fit(X, y).coef_)
    t = 0.4 * float(np.linalg.norm(whole, ball))
    model = NormRegressor(given, radius=t, ball=ball, fit_intercept=intercept)
    if norm in (1, np.inf) and ball == 2:
        with pytest.raises(InvalidParameter, match="has no method here"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert np.linalg.norm(model.coef_, ball) == pytest.approx(t)
    assert abs(model.certificate_.relative_gap) < 1e-9
    # The dual bound, by its definition: νᵀy − t‖Xᵀν‖*.
    A, b = (root @ X, root @ y) if isinstance(norm, str) else (X, y)
    power = 2 if isinstance(norm, str) else norm
    dual = {1: np.inf, 2: 2, np.inf: 1}
    nu = model.multipliers_
    assert np.linalg.norm(nu, dual[power]) <= 1 + 1e-9
    if intercept:
        ones = root @ np.ones(n) if isinstance(norm, str) else np.ones(n)
        assert abs(nu @ ones) < 1e-8 * n * np.abs(ones).max()
    bound = nu @ b - t * np.linalg.norm(A.T @ nu, dual[ball])
    assert bound == pytest.approx(model.norm_, rel=1e-8)


def test_a_large_ball_changes_nothing_and_a_small_one_shrinks():
    X, y = data(6)
    plain = NormRegressor(2).fit(X, y)
    np.testing.assert_allclose(NormRegressor(2, radius=1e6).fit(X, y).coef_, plain.coef_)
    small = [NormRegressor(2, radius=t).fit(X, y) for t in (0.01, 0.1, 0.5)]
    assert small[0].norm_ > small[1].norm_ > small[2].norm_ > plain.norm_
    # The penalised form with the λ that the constraint asks for: ridge.
    w = small[2].coef_
    centred, r = X - X.mean(axis=0), y - small[2].predict(X)
    pull = centred.T @ r
    level = float(pull @ w / (w @ w))
    np.testing.assert_allclose(pull, level * w, atol=1e-8 * np.abs(pull).max())
    ridge = Ridge(level).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, w, rtol=1e-6)


def test_impossible_norms_and_balls():
    X, y = data(7)
    for norm in (0.5, 0, -1, norms.L0(), norms.Lp(0.5), True):
        with pytest.raises((InvalidParameter, ValueError), match=r"norm|Lp\(p="):
            NormRegressor(norm).fit(X, y)
    with pytest.raises(InvalidParameter, match="no method here"):
        NormRegressor(2, radius=1.0, ball=3).fit(X, y)
    with pytest.raises(ValueError, match="radius"):
        NormRegressor(2, radius=0.0).fit(X, y)
    with pytest.raises(InvalidParameter, match="no method here"):
        NormRegressor(3, radius=1.0).fit(X, y)


@pytest.mark.parametrize("p", [1.5, 3.0])
@pytest.mark.parametrize("unit", [1e-250, 1e120])
def test_a_norm_is_a_norm_in_any_unit(p, unit):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 2)), random.normal(size=20)
    plain, scaled = NormRegressor(p).fit(X, y), NormRegressor(p).fit(X, unit * y)
    np.testing.assert_allclose(scaled.coef_ / unit, plain.coef_, rtol=1e-6)
    assert scaled.certificate_.optimal
