"""Regression with penalties: formulas, optimality against other solvers, certificates."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog, minimize
from sklearn.linear_model import QuantileRegressor

from mercer import (
    L1,
    L2,
    DeadZone,
    Huber,
    InvalidInput,
    InvalidParameter,
    LargeError,
    LogBarrier,
    NormRegressor,
    PenaltyRegressor,
    Quantile,
)

CONVEX = [L2(), L1(), Huber(0.7), DeadZone(0.5), LogBarrier(80.0), Quantile(0.2)]


def data(seed=0, n=50, d=3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + random.standard_t(3, size=n)


def naive(penalty, r):
    """Return φ of one residual, as the textbook has it."""
    a = getattr(penalty, "a", None)
    match type(penalty).__name__:
        case "L2":
            return r * r
        case "L1":
            return abs(r)
        case "Huber":
            return r * r if abs(r) <= a else a * (2 * abs(r) - a)
        case "DeadZone":
            return max(0.0, abs(r) - a)
        case "LogBarrier":
            return -(a**2) * np.log(1 - (r / a) ** 2) if abs(r) < a else np.inf
        case "LargeError":
            return min(r * r, a * a)
        case "Quantile":
            return penalty.tau * r if r > 0 else (penalty.tau - 1) * r


@pytest.mark.parametrize("penalty", [*CONVEX, LargeError(0.5)], ids=repr)
def test_values_and_slopes(penalty):
    r = np.linspace(-3, 3, 61) + 0.013
    np.testing.assert_allclose(penalty.value(r), [naive(penalty, v) for v in r])
    step = 1e-6
    slopes = (penalty.value(r + step) - penalty.value(r - step)) / (2 * step)
    np.testing.assert_allclose(penalty.slope(r), slopes, atol=1e-6)


@pytest.mark.parametrize("penalty", CONVEX, ids=repr)
def test_conjugates(penalty):
    grid = np.linspace(-40, 40, 400_001)
    low, high = penalty.box
    for nu in np.linspace(max(low, -3), min(high, 3), 7):
        best = (nu * grid - penalty.value(grid)).max()
        assert penalty.conjugate(np.array([nu]))[0] == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("penalty", CONVEX, ids=repr)
@given(seed=st.integers(0, 1000))
def test_nothing_near_by_is_better(penalty, seed):
    X, y = data(seed)
    model = PenaltyRegressor(penalty).fit(X, y)
    value = penalty.value(y - model.predict(X)).sum()
    assert model.certificate_.primal == pytest.approx(value)
    assert abs(model.certificate_.relative_gap) < 1e-6
    assert model.certificate_.dual_feasibility < 1e-9
    random = np.random.default_rng(seed)
    for size in (1e-4, 1e-2, 1.0):
        other = y - X @ (model.coef_ + size * random.normal(size=3)) - model.intercept_
        assert penalty.value(other).sum() >= value * (1 - 1e-6)


def test_other_solvers_find_the_same():
    X, y = data(4)
    A = np.column_stack([X, np.ones(len(y))])
    quantile = PenaltyRegressor(Quantile(0.3)).fit(X, y)
    theirs = QuantileRegressor(quantile=0.3, alpha=0).fit(X, y)
    np.testing.assert_allclose(quantile.coef_, theirs.coef_, atol=1e-7)
    penalty = Huber(0.7)
    huber = PenaltyRegressor(penalty).fit(X, y)
    search = minimize(lambda x: penalty.value(y - A @ x).sum(), np.zeros(4), tol=1e-12)
    np.testing.assert_allclose(np.append(huber.coef_, huber.intercept_), search.x, atol=1e-5)
    np.testing.assert_allclose(
        PenaltyRegressor("l2").fit(X, y).coef_, NormRegressor(2).fit(X, y).coef_
    )
    np.testing.assert_allclose(
        PenaltyRegressor("l1").fit(X, y).coef_, NormRegressor(1).fit(X, y).coef_
    )
    n = len(y)
    parts = np.hstack([A, np.eye(n), -np.eye(n), np.eye(n), -np.eye(n)])
    cost = np.r_[np.zeros(4 + 2 * n), np.ones(2 * n)]
    bounds = [(None, None)] * 4 + [(0, 0.5)] * 2 * n + [(0, None)] * 2 * n
    program = linprog(cost, A_eq=parts, b_eq=y, bounds=bounds)
    dead = PenaltyRegressor(DeadZone(0.5)).fit(X, y)
    assert dead.certificate_.primal == pytest.approx(program.fun)


def test_a_large_huber_is_least_squares_and_a_share_lies_below_a_quantile():
    X, y = data(1, n=200)
    np.testing.assert_allclose(
        PenaltyRegressor(Huber(1e6)).fit(X, y).coef_, NormRegressor(2).fit(X, y).coef_
    )
    below = y < PenaltyRegressor(Quantile(0.25)).fit(X, y).predict(X) - 1e-9
    assert abs(below.mean() - 0.25) <= 4 / 200


def test_the_barrier_keeps_all_residuals_inside_or_says_that_it_cannot():
    X, y = data(2)
    least = NormRegressor(np.inf).fit(X, y).norm_
    tight = PenaltyRegressor(LogBarrier(1.01 * least)).fit(X, y)
    assert np.abs(y - tight.predict(X)).max() < 1.01 * least
    assert abs(tight.certificate_.relative_gap) < 1e-6
    with pytest.raises(InvalidInput, match="No weights bring all residuals within"):
        PenaltyRegressor(LogBarrier(0.99 * least)).fit(X, y)


def test_what_is_not_convex_says_so_and_starts_several_times():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 1))
    y = 2 * X[:, 0] + 0.1 * random.normal(size=60)
    y[:25] += 30 + 10 * X[:25, 0]  # many rows of another line
    model = PenaltyRegressor(LargeError(0.5), n_init=30, random_state=0).fit(X, y)
    assert "not convex" in repr(model.certificate_)
    assert len(model.values_) == 30
    assert (np.diff(model.values_) >= 0).all()
    assert model.values_[-1] > model.values_[0]  # some starts end in worse places
    assert model.coef_[0] == pytest.approx(2, abs=0.1)
    assert model.certificate_.primal == pytest.approx(model.values_[0])


@pytest.mark.parametrize("penalty", [*CONVEX, LargeError(0.5)], ids=repr)
def test_more_features_than_samples_and_constant_targets(penalty):
    random = np.random.default_rng(0)
    X = random.normal(size=(6, 10))
    y = random.normal(size=6)
    model = PenaltyRegressor(penalty, random_state=0).fit(X, y)
    assert penalty.value(y - model.predict(X)).sum() < 1e-12
    X = random.normal(size=(20, 3))
    constant = PenaltyRegressor(penalty, random_state=0).fit(X, np.full(20, 4.0))
    assert penalty.value(4 - constant.predict(X)).sum() < 1e-12


def test_bad_parameters():
    for penalty in (Huber, DeadZone, LogBarrier, LargeError):
        for a in (0.0, -1.0, np.nan, np.inf):
            with pytest.raises(InvalidParameter, match="above 0"):
                penalty(a)
    for tau in (0.0, 1.0, -0.5):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            Quantile(tau)
    with pytest.raises(ValueError, match="penalty"):
        PenaltyRegressor("l3").fit(*data())


def test_penalties_are_values():
    assert Huber(2.0) == Huber(2.0)
    assert Huber(2.0) != Huber(1.0)
    assert Huber(2.0) != DeadZone(2.0)
    assert hash(Huber(2.0)) == hash(Huber(2.0))
    assert repr(Quantile(0.25)) == "Quantile(tau=0.25)"


def test_the_old_name_of_n_init_warns_and_works():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] + np.random.default_rng(1).normal(size=30)
    new = PenaltyRegressor(LargeError(0.5), n_init=5, random_state=0).fit(X, y)
    with pytest.warns(FutureWarning, match="n_init"):
        old = PenaltyRegressor(LargeError(0.5), n_starts=5, random_state=0).fit(X, y)
    assert len(old.values_) == 5
    np.testing.assert_array_equal(old.values_, new.values_)
