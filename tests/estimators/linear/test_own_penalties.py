"""Penalties of the user's own, of which only value and slope are known."""

import numpy as np
import pytest
from scipy import optimize

from mercer import L1, L2, DeadZone, Huber, LogBarrier, Penalty, PenaltyRegressor, Quantile
from mercer.exceptions import InvalidInput, InvalidParameter


class LogCosh(Penalty):
    def value(self, r):
        return np.logaddexp(r, -r) - np.log(2)

    def slope(self, r):
        return np.tanh(r)


class Linex(Penalty):
    """Errors above cost far more than those below."""

    def value(self, r):
        return np.exp(r) - r - 1

    def slope(self, r):
        return np.expm1(r)


class Kinked(Penalty):
    def value(self, r):
        return np.abs(r) + 0.1 * r**2

    def slope(self, r):
        return np.sign(r) + 0.2 * r


class Pieces(Penalty):
    def value(self, r):
        return np.maximum.reduce([-r, 2 * r, 5 * r - 6])

    def slope(self, r):
        return np.where(r <= 0, -1.0, np.where(5 * r - 6 > 2 * r, 5.0, 2.0))


class Wall(Penalty):
    """Finite for |r| < 6 alone."""

    def value(self, r):
        inside = np.abs(r) < 6
        return np.where(inside, -np.log1p(-(np.where(inside, r / 6, 0.0) ** 2)), np.inf)

    def slope(self, r):
        return 2 * r / (36 - r**2)


OWN = [LogCosh(), Linex(), Kinked(), Pieces(), Wall()]


def data(seed=0, n=40):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.3 + random.laplace(size=n)


def least(penalty, X, y):
    """Return the least value that SciPy finds without slopes, from several starts."""
    A = np.column_stack([X, np.ones(len(y))])
    best = np.inf
    x = np.linalg.lstsq(A, y)[0]
    for method in ("Powell", "Nelder-Mead", "Powell"):
        found = optimize.minimize(
            lambda w: float(np.sum(penalty.value(y - A @ w))),
            x,
            method=method,
            options={"maxiter": 20_000},
            tol=1e-12,
        )
        x, best = found.x, min(best, float(found.fun))
    return best


@pytest.mark.parametrize("penalty", OWN, ids=lambda p: type(p).__name__)
def test_value_and_slope_are_enough(penalty):
    X, y = data()
    model = PenaltyRegressor(penalty).fit(X, y)
    proof = model.certificate_
    assert proof.primal == pytest.approx(penalty.value(y - model.predict(X)).sum())
    assert proof.relative_gap < 1e-5
    found = least(penalty, X, y)
    assert proof.dual <= found * (1 + 1e-9)
    assert proof.primal <= found * (1 + 1e-6)


TWINS = [L2(), Huber(1.0), LogBarrier(3.0), DeadZone(0.5), L1(), Quantile(0.3)]


@pytest.mark.parametrize("known", TWINS, ids=repr)
def test_bounds_of_conjugates_are_above_the_known_ones_and_near(known):
    class Twin(Penalty):
        value = staticmethod(known.value)
        slope = staticmethod(known.slope)

    low, high = np.maximum(known.box[0], -5.0), np.minimum(known.box[1], 5.0)
    nu = np.linspace(low, high, 101)
    exact, bound = known.conjugate(nu), Twin().conjugate(nu)
    assert (bound >= exact - 1e-12).all()
    np.testing.assert_allclose(bound, exact, atol=1e-9)
    if np.isfinite(known.box[1]):
        np.testing.assert_allclose(Twin().box, known.box)
        assert np.isinf(Twin().conjugate(np.array([1.1 * known.box[1]]))).all()
    X, y = data(1)
    mine, theirs = PenaltyRegressor(Twin()).fit(X, y), PenaltyRegressor(known).fit(X, y)
    assert mine.certificate_.primal == pytest.approx(theirs.certificate_.primal, rel=1e-5)
    assert mine.certificate_.relative_gap < 1e-5


def test_penalties_are_callable():
    np.testing.assert_array_equal(Huber(1.0)([0.5, 2.0]), [0.25, 3.0])
    assert LogCosh()([0.0])[0] == 0.0


def test_what_is_missing_or_not_convex():
    X, y = data()

    class Half(Penalty):
        def value(self, r):
            return r**2

    with pytest.raises(InvalidParameter, match="Half has no slope"):
        PenaltyRegressor(Half()).fit(X, y)
    with pytest.raises(InvalidParameter, match="Penalty has no value"):
        PenaltyRegressor(Penalty()).fit(X, y)

    class Bent(Penalty):
        def value(self, r):
            return r**2 / (1 + r**2)

        def slope(self, r):
            return 2 * r / (1 + r**2) ** 2

    with pytest.raises(InvalidInput, match="Bent is not convex: its slope falls from"):
        PenaltyRegressor(Bent()).fit(X, y)

    class Honest(Bent):
        convex = False

    model = PenaltyRegressor(Honest()).fit(X, y)
    assert "not convex" in model.certificate_.problem

    class Single(Penalty):
        def value(self, r):
            return float(np.sum(r**2))

        def slope(self, r):
            return 2 * r

    with pytest.raises(InvalidParameter, match="one number for each"):
        PenaltyRegressor(Single()).fit(X, y)


def test_data_outside_of_a_wall():
    X, y = data()
    with pytest.raises(InvalidInput, match="no start was found"):
        PenaltyRegressor(Wall()).fit(X, 100 * y)
