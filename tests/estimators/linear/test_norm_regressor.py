"""Regression in any norm: independent linear programs, interpolation, rank, certificates."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes

from mercer import InvalidParameter, NormRegressor, NotPositiveDefinite


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
    with pytest.raises(InvalidParameter, match="1, 2, inf or a matrix"):
        NormRegressor(3).fit(X, y)
    with pytest.raises(InvalidParameter, match="a row and a column for each"):
        NormRegressor(np.eye(3)).fit(X, y)
    with pytest.raises(NotPositiveDefinite, match="no norm"):
        NormRegressor(-np.eye(len(y))).fit(X, y)
