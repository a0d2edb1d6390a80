"""Ascents on functions whose tops are known: steps by formula, counts, ends, and several starts."""

import math
import time
from contextlib import nullcontext

import numpy as np
import pytest

from mercer import RBF, White
from mercer.gram.kernel_family import KernelFamily
from mercer.solvers.base import Budget, Status
from mercer.solvers.gp import evidence as evidence_module
from mercer.solvers.gp.evidence import EvidenceSolver, RegressionEvidence, is_flat
from mercer.solvers.gp.evidence_ascent import (
    Optimum,
    _corrected,
    _step,
    ascend_by,
    better,
    climb,
    maximise,
)

WIDE = np.array([[-50.0, 50.0]] * 2)


class Hill:
    """A function with its slope and curvature, which notes where it was asked."""

    def __init__(self, value, slope, curvature):
        self.functions, self.asked, self.slopes = (value, slope, curvature), [], 0

    def __call__(self, theta):
        self.asked.append(theta.copy())
        hill = self

        class Local:
            value = float(hill.functions[0](theta))

            def slope_and_curvature(self):
                hill.slopes += 1
                return hill.functions[1](theta), hill.functions[2](theta)

        return Local()

    def both(self, theta):
        self.asked.append(theta.copy())
        return float(self.functions[0](theta)), self.functions[1](theta)


Q, TOP = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])


def bowl(bent=1.0):
    """Return −½(θ − c)ᵀQ(θ − c), with a curvature that is so many times the true one."""
    return Hill(
        lambda t: -0.5 * (t - TOP) @ Q @ (t - TOP),
        lambda t: -Q @ (t - TOP),
        lambda t: bent * Q,
    )


def quartic():
    """Return −Σ(θ − c)⁴/4, whose top is flat."""
    return Hill(
        lambda t: -(((t - TOP) ** 4) / 4).sum(),
        lambda t: -((t - TOP) ** 3),
        lambda t: np.diag(3 * (t - TOP) ** 2),
    )


def bend():
    """Return minus Rosenbrock's valley, with the curvature of its squares."""

    def inner(t):
        return np.array([3 * (t[1] - t[0] ** 2), 1 - t[0]])

    def jacobian(t):
        return np.array([[-6 * t[0], 3.0], [-1.0, 0.0]])

    return Hill(
        lambda t: -0.5 * inner(t) @ inner(t),
        lambda t: -jacobian(t).T @ inner(t),
        lambda t: jacobian(t).T @ jacobian(t),
    )


def far():
    """Return −log cosh of the distance: the curvature fades before the slope does."""
    return Hill(
        lambda t: -np.log(np.cosh(t - TOP)).sum(),
        lambda t: -np.tanh(t - TOP),
        lambda t: np.diag(1 / np.cosh(t - TOP) ** 2),
    )


@pytest.mark.parametrize(
    ("hill", "start", "top", "evaluations", "slopes"),
    [
        (bowl(), [0.0, 0.0], TOP, 6, 6),
        (bowl(), [30.0, -30.0], TOP, 18, 18),
        (bowl(4.0), [0.0, 0.0], TOP, 9, 9),
        (bowl(0.3), [0.0, 0.0], TOP, 15, 12),
        (quartic(), [3.0, 2.0], TOP, 28, 28),
        (bend(), [-1.0, 1.0], [1.0, 1.0], 27, 20),
        (bend(), [3.0, -4.0], [1.0, 1.0], 14, 14),
        (far(), [20.0, 20.0], TOP, 17, 17),
    ],
    ids=["bowl", "far bowl", "stiff", "soft", "quartic", "bend", "other bend", "plateau"],
)
def test_tops_are_found_in_few_steps(hill, start, top, evaluations, slopes):
    hill.asked, hill.slopes = [], 0
    found = climb(hill, [np.array(start)], WIDE, Budget(tol=1e-12))
    assert found.status is Status.OPTIMAL
    assert found.messages == ()
    near = 1e-2 if evaluations == 28 else 1e-5  # the top of a quartic is flat
    np.testing.assert_allclose(found.theta, top, atol=near)
    assert found.value == hill.functions[0](found.theta)
    assert found.evaluations == len(hill.asked)
    assert found.value == max(hill.functions[0](t) for t in hill.asked)
    # No parameter moves by more than 2 in a step.
    moves = np.abs(np.diff(hill.asked, axis=0)).max()
    assert moves <= 2.0
    assert found.evaluations <= evaluations + 1
    assert hill.slopes <= slopes + 1


@pytest.mark.parametrize("low", [-0.5, 1.5])
def test_bounds_are_kept_and_the_rest_is_best(low):
    bounds = np.array([[low, 5.0], [-50.0, 50.0]])
    hill = bowl()
    found = climb(hill, [np.array([-20.0, 7.0])], bounds, Budget(tol=1e-14))
    first = max(low, 1.0)
    # ∂/∂θ₂ = 0: 2(θ₂ + 2) = −(θ₁ − 1)
    np.testing.assert_allclose(found.theta, [first, -2 - (first - 1) / 2], atol=1e-5)
    assert all((bounds[:, 0] <= t).all() and (t <= bounds[:, 1]).all() for t in hill.asked)
    assert found.evaluations <= 10


def test_ends_of_an_ascent():
    few = climb(bowl(), [np.array([30.0, 30.0])], WIDE, Budget(tol=1e-12, max_iter=3))
    assert (few.status, few.evaluations) == (Status.MAX_ITER, 3)
    late = climb(bowl(), [np.zeros(2)] * 3, WIDE, Budget(tol=1e-12, deadline=0.0))
    assert (late.status, late.evaluations) == (Status.TIME_LIMIT, 1)
    top = climb(bowl(), [TOP], WIDE, Budget(tol=1e-12))
    assert (top.status, top.evaluations) == (Status.OPTIMAL, 1)
    np.testing.assert_array_equal(top.theta, TOP)
    # A loose tolerance ends sooner: the share of a value of 100 is 1.
    high = bowl()
    high.functions = (lambda t: 100.0 - 0.5 * (t - TOP) @ Q @ (t - TOP), *high.functions[1:])
    loose = climb(high, [np.array([0.9, -1.9])], WIDE, Budget(tol=1e-2))
    assert loose.evaluations == 1
    # Slopes that promise what never comes end it too, after some steps.
    lying = Hill(lambda t: -1.0, lambda t: np.ones(2), lambda t: np.eye(2))
    stuck = climb(lying, [np.zeros(2)], WIDE, Budget(tol=1e-14))
    assert stuck.status is Status.OPTIMAL
    np.testing.assert_array_equal(stuck.theta, np.zeros(2))
    assert 8 <= stuck.evaluations <= 14  # damping grows eightfold up to 10⁹
    endless = Hill(
        lambda t: t.sum() * 1e-3, lambda t: np.full(2, 1e-3), lambda t: np.diag([1e6, 1e6])
    )
    slow = climb(endless, [np.zeros(2)], WIDE, Budget(tol=1e-20))
    assert slow.status is Status.MAX_ITER
    assert slow.messages == ("500 steps were not enough",)
    assert slow.evaluations == 501


def test_curvature_learns_from_steps():
    random = np.random.default_rng(0)
    H = np.diag([2.0, 3.0, 4.0])
    step = random.normal(size=3)
    for share in (0.2, 1.0, 9.0):
        fall = share * (step @ H @ step) / (step @ step) * step
        found = _corrected(H, [(step, fall)])
        np.testing.assert_allclose(found @ step, fall)  # the secant equation
        np.testing.assert_allclose(found, found.T)
        assert np.linalg.eigvalsh(found)[0] > 0
        wanted = H - np.outer(H @ step, H @ step) / (step @ H @ step)
        np.testing.assert_allclose(found, wanted + np.outer(fall, fall) / (step @ fall))
    for share in (-1.0, 0.0, 0.05, 10.5, 40.0):
        fall = share * (step @ H @ step) / (step @ step) * step
        np.testing.assert_array_equal(_corrected(H, [(step, fall)]), H)
    np.testing.assert_array_equal(_corrected(0 * H, [(step, step)]), 0 * H)
    assert _corrected(H, []) is H


def test_damped_steps_by_formula():
    wide = np.array([[-9.0, 9.0]] * 2)
    at, slope = np.zeros(2), np.array([0.3, -0.2])
    for damping in (0.0, 0.5, 2.0):
        H = Q.copy()
        np.fill_diagonal(H, (1 + damping) * np.diagonal(Q))
        np.testing.assert_allclose(_step(at, slope, Q, wide, damping), np.linalg.solve(H, slope))
        # Where there is hardly any curvature the slope stands for it: 2/(1 + λ).
        flat = _step(at, slope, np.diag([1e-9, 0.0]), wide, damping)
        np.testing.assert_allclose(flat, np.array([2.0, -2.0]) / (1 + damping))
    # A long step is made shorter as a whole, or cut at the box, whichever gains more.
    long = _step(at, np.array([300.0, -2.0]), np.diag([50.0, 4.0]), wide, 0.0)
    np.testing.assert_allclose(long, [2.0, -0.5])
    # One parameter at its wall: the other is best for that.
    walls = np.array([[-9.0, 0.1], [-9.0, 9.0]])
    found = _step(at, np.array([3.0, 1.0]), Q, walls, 0.0)
    np.testing.assert_allclose(found, [0.1, (1.0 - 0.1) / 2])
    held = _step(np.array([0.1, 0.0]), np.array([3.0, 1.0]), Q, walls, 0.0)
    np.testing.assert_allclose(held, [0.0, 0.5])
    low = np.array([[0.0, 9.0], [-9.0, 9.0]])
    np.testing.assert_allclose(_step(at, np.array([-3.0, 1.0]), Q, low, 0.0), [0.0, 0.5])
    np.testing.assert_array_equal(_step(at, np.zeros(2), Q, wide, 0.0), [0.0, 0.0])


def test_stages_tops_and_counts_of_gradients_alone():
    hill = bowl()
    found = maximise(hill.both, [np.zeros(2)], WIDE)
    assert found.converged
    assert found.evaluations == len(hill.asked)
    np.testing.assert_allclose(found.theta, TOP, atol=1e-3)
    assert found.value == pytest.approx(0.0, abs=1e-6)
    # Stages: no evaluation is further than the reach from where its stage began.
    staged = bowl()
    found = maximise(staged.both, [np.array([9.0, 9.0])], WIDE, reach=2.0)
    assert found.evaluations == len(staged.asked)
    np.testing.assert_allclose(found.theta, TOP, atol=1e-3)
    assert np.abs(staged.asked[0] - [9.0, 9.0]).max() == 0
    assert max(np.abs(t - [9.0, 9.0]).max() for t in staged.asked[:3]) <= 2.0
    assert 8 <= found.evaluations <= 25
    # It ends at a top that is known, and looks where that is not one.
    known = Optimum(TOP, 0.0, Status.OPTIMAL, 3)
    ended = bowl()
    again = maximise(ended.both, [np.zeros(2)], WIDE, known=known, slope=1e-9, gain=1e-16)
    assert again.status is Status.OPTIMAL
    assert np.abs(again.theta - TOP).max() < 0.05
    assert again.evaluations == len(ended.asked)
    whole = maximise(bowl().both, [np.zeros(2)], WIDE, slope=1e-9, gain=1e-16)
    assert again.evaluations < whole.evaluations
    for other in (
        Optimum(TOP, 0.0, Status.STALLED, 3),
        Optimum(TOP, -1.0, Status.OPTIMAL, 3),
        Optimum(TOP + 0.2, 0.0, Status.OPTIMAL, 3),
    ):
        found = maximise(bowl().both, [np.zeros(2)], WIDE, known=other, slope=1e-9, gain=1e-16)
        assert found.evaluations == whole.evaluations


def test_budgets_of_gradients_alone():
    far_away = np.array([40.0, 40.0])
    few = maximise(bowl().both, [far_away], WIDE, budget=Budget(max_iter=3))
    assert (few.status, few.evaluations) == (Status.MAX_ITER, 3)
    late = maximise(bowl().both, [far_away] * 2, WIDE, budget=Budget(deadline=0.0))
    assert (late.status, late.evaluations) == (Status.TIME_LIMIT, 1)
    hill = bowl()
    begin = maximise(hill.both, [np.array([90.0, 90.0])], WIDE, budget=Budget(max_iter=1))
    np.testing.assert_array_equal(hill.asked, [[50.0, 50.0]])
    np.testing.assert_array_equal(begin.theta, [50.0, 50.0])
    # The first step is at most 1 long, however steep it is.
    steep = bowl()
    maximise(steep.both, [far_away], WIDE, budget=Budget(max_iter=2))
    assert np.linalg.norm(steep.asked[1] - far_away) <= math.sqrt(2) + 1e-9
    nowhere = maximise(lambda t: (-np.inf, np.zeros(2)), [np.zeros(2)], WIDE)
    assert nowhere.value == -np.inf


def test_the_best_of_several():
    low = Optimum(np.zeros(1), -3.0, Status.STALLED, 4, ("low",))
    high = Optimum(np.ones(1), -1.0, Status.OPTIMAL, 5, ("high",))
    both = better(low, high)
    assert (both.theta, both.value, both.status) == (high.theta, -1.0, Status.OPTIMAL)
    assert (both.evaluations, both.messages) == (9, ("low", "high"))
    assert both.converged
    assert not low.converged
    assert better(high, Optimum(np.ones(1), -2.0, Status.TIME_LIMIT, 1)).status is Status.TIME_LIMIT
    two = Hill(
        lambda t: np.exp(-((t[0] + 2) ** 2)) + 2 * np.exp(-((t[0] - 2) ** 2)),
        lambda t: np.array([
            -2 * (t[0] + 2) * np.exp(-((t[0] + 2) ** 2))
            - 4 * (t[0] - 2) * np.exp(-((t[0] - 2) ** 2))
        ]),
        lambda t: np.eye(1),
    )  # fmt: skip
    starts, bounds = [np.array([-2.5]), np.array([2.5])], np.array([[-5.0, 5.0]])
    for found in (
        climb(two, starts, bounds, Budget(tol=1e-12)),
        maximise(two.both, starts, bounds),
    ):
        assert found.theta == pytest.approx([2.0], abs=1e-3)
    alone = [climb(two, [start], bounds, Budget(tol=1e-12)) for start in starts]
    both = climb(two, starts, bounds, Budget(tol=1e-12))
    assert both.evaluations == alone[0].evaluations + alone[1].evaluations


def test_optimizers_of_users_minimise():
    def tried(objective, start, bounds):
        return start + 1, objective(start + 1)[0]

    found = ascend_by(tried, lambda t: (float(t @ t), 2 * t), [np.zeros(2), np.ones(2)], WIDE)
    np.testing.assert_array_equal(found.theta, [1.0, 1.0])
    assert (found.value, found.status, found.evaluations) == (-2.0, Status.OPTIMAL, 0)


class Parabola:
    """An evidence −(θ − 2)², which notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def value(self, theta):
        self.asked.append("value")
        return -float((theta - 2) @ (theta - 2))

    def value_and_gradient(self, theta):
        self.asked.append("both")
        return -float((theta - 2) @ (theta - 2)), -2 * (theta - 2)

    def climb(self, starts, bounds, budget):
        self.asked.append("climb")
        return maximise(self.value_and_gradient, starts, bounds)


def test_what_learns_parameters():
    start, bounds = np.array([0.5]), np.array([[-5.0, 5.0]])
    fixed = EvidenceSolver([start], bounds, learns=False).ascend(Parabola(), Budget())
    assert (fixed.theta, fixed.value, fixed.evaluations) == (start, -2.25, 1)
    nothing = EvidenceSolver([np.zeros(0)], np.zeros((0, 2))).ascend(Parabola(), Budget())
    assert (nothing.value, nothing.evaluations) == (0.0, 1)
    learnt = EvidenceSolver([start], bounds).ascend(Parabola(), Budget())
    assert learnt.theta == pytest.approx([2.0], abs=1e-4)
    seen = []

    def own(objective, start, bounds):
        value, slope = objective(start)
        seen.extend([value, slope.tolist(), objective(start, eval_gradient=False)])
        return [2], 0.25

    chosen = EvidenceSolver([start], bounds, optimizer=own).ascend(Parabola(), Budget())
    assert seen == [2.25, [-3.0], 2.25]
    assert (chosen.theta.tolist(), chosen.value) == ([2.0], -0.25)
    assert chosen.theta.dtype == np.float64


def test_flat_parameters():
    def value(theta):
        return 0.02 * min(theta[0], 0.0) + theta[1]

    theta = np.zeros(2)
    assert is_flat(value, theta, 0.0, 0)  # upwards nothing changes
    assert not is_flat(value, theta, 0.0, 1)
    assert is_flat(lambda t: 0.02 * max(t[0], 0.0), theta, 0.0, 0)
    assert not is_flat(lambda t: 0.02 * t[0], theta, 0.0, 0)
    assert is_flat(lambda t: 0.009 * t[0], theta, 0.0, 0)
    assert is_flat(lambda t: 5 + 0.009 * t[0], theta, 5.0, 0)
    # A factor of e is looked at, no more, and both ways.
    assert is_flat(lambda t: 0.006 * max(t[0], 0.0) + 5 * min(t[0], 0.0), theta, 0.0, 0)
    assert is_flat(lambda t: 5 * max(t[0], 0.0) + 0.006 * min(t[0], 0.0), theta, 0.0, 0)
    np.testing.assert_array_equal(theta, [0.0, 0.0])


KERNEL = 1.0 * RBF(length_scale=1.0) + White(0.1)


def process(rows):
    random = np.random.default_rng(rows)
    X = random.uniform(-3, 3, (rows, 1))
    Y = np.sin(2 * X) + 0.3 * random.normal(size=X.shape)
    family = KernelFamily(KERNEL, KERNEL.encode(X), list(KERNEL.free_parameters()))
    return RegressionEvidence(family, Y, np.linspace(0.01, 0.02, rows))


THETA = np.log(list(KERNEL.free_parameters().values()))
BOUNDS = np.log([[1e-5, 1e5]] * len(THETA))


def test_many_rows_start_where_some_of_them_lead():
    budget = Budget(tol=1e-8)
    small = process(60)
    assert small._head_start(THETA, BOUNDS, budget) is THETA
    large = process(820)
    begun = large._head_start(THETA, BOUNDS, budget)
    some = np.arange(0, 820, 3)
    part = RegressionEvidence(large.family.take(some), large.Y[some], large.noise[some])
    alone = part.climb_by_curvature([THETA], BOUNDS, Budget(tol=1e-4))
    np.testing.assert_allclose(begun, alone.theta, atol=1e-6)
    assert large.value(begun) > large.value(THETA) + 10


def test_few_rows_get_a_second_opinion_and_many_digits():
    small = process(60)
    found = small.climb([THETA], BOUNDS, Budget(tol=1e-3))
    best = maximise(small.value_and_gradient, [THETA], BOUNDS, gain=1e-14, slope=1e-7)
    assert found.converged
    assert found.value == pytest.approx(best.value, abs=1e-6)
    alone = small.climb_by_curvature([THETA], BOUNDS, Budget(tol=evidence_module._FINE))
    assert found.evaluations > alone.evaluations
    late = small.climb([THETA], BOUNDS, Budget(deadline=time.perf_counter() - 1))
    assert (late.status, late.evaluations) == (Status.TIME_LIMIT, 1)
    value, slope = small.value_and_gradient(THETA)
    assert value == small.value(THETA)
    for j, unit in enumerate(np.eye(len(THETA))):
        ends = [small.value(THETA + s * 1e-5 * unit) for s in (1, -1)]
        assert slope[j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


class Indefinite:
    """A matrix that no parameter makes definite."""

    def matrix(self, theta):
        return -40.0 * np.eye(60)


def test_no_evidence_where_the_matrix_is_indefinite():
    nothing = RegressionEvidence(Indefinite(), process(60).Y, 0.1)
    assert nothing.value(THETA) == -np.inf
    value, slope = nothing.value_and_gradient(THETA)
    assert value == -np.inf
    assert slope.tolist() == [0.0] * len(THETA)
    ended = nothing.climb_by_curvature([THETA], BOUNDS, Budget())
    assert (ended.status, ended.evaluations) == (Status.STALLED, 1)


class Astray(RegressionEvidence):
    """Is led to where there is no evidence."""

    def _head_start(self, theta, bounds, budget):
        return np.array([10.0, 0.0, 0.0])


class PartlyIndefinite(Indefinite):
    """Matrices of a family, which are not definite where the first parameter is above 9."""

    def __init__(self, family):
        self.family, self.contract = family, family.contract

    def matrix(self, theta):
        return super().matrix(theta) if theta[0] > 9 else self.family.matrix(theta)


def test_where_some_rows_lead_astray_all_rows_begin_again():
    small = process(60)
    astray = Astray(PartlyIndefinite(small.family), small.Y, small.noise)
    alone = small.climb_by_curvature([THETA], BOUNDS, Budget(tol=evidence_module._FINE))
    lost = astray.climb_by_curvature(
        [astray._head_start(THETA, BOUNDS, Budget())], BOUNDS, Budget()
    )
    assert (lost.value, lost.evaluations) == (-np.inf, 1)
    found = astray.climb([THETA], BOUNDS, Budget(tol=1e-8))
    assert found.value == pytest.approx(alone.value, abs=1e-6)
    assert found.evaluations > 1 + alone.evaluations
    # Other starts count too, each of them.
    two = small.climb_by_curvature([THETA, THETA + 1], BOUNDS, Budget(tol=evidence_module._FINE))
    both = small.climb([THETA, THETA + 1], BOUNDS, Budget(tol=1e-8))
    assert both.evaluations > two.evaluations > alone.evaluations


# ---- damping, step by step ----------------------------------------------------------------------


class Scripted:
    """A slope and a curvature of one, and values that are given shares of what was predicted."""

    def __init__(self, shares, slopes=()):
        self.shares, self.slopes = list(shares), list(slopes)
        self.asked, self.at, self.high, self.slope, self.told = [], 0.0, 0.0, 1.0, 0

    def __call__(self, theta):
        new = float(theta[0])
        if self.asked:
            step = new - self.at
            share = self.shares.pop(0)
            value = self.high + share * (self.slope * step - step * step / 2)
            if share > 1e-3:
                self.at, self.high = new, value
        else:
            value = self.high
            self.at = new
        self.asked.append(new)
        script = self

        class Local:
            def __init__(self):
                self.value = value

            def slope_and_curvature(self):
                script.told += 1
                if script.told > 1 and script.slopes:
                    script.slope = script.slopes.pop(0)
                return np.array([script.slope]), np.eye(1)

        return Local()


@pytest.mark.parametrize(
    ("share", "damping"),
    [
        (0.9, 1 / 8),
        (0.75, 1.0),  # the gain has to be above three quarters of what was predicted
        (0.5, 1.0),
        (0.25, 3.0),
        (0.1, 3.0),
        (5e-4, 8.0),
        (-2.0, 8.0),
    ],
)
def test_damping_follows_the_share_of_the_gain(share, damping):
    hill = Scripted([share, 0.5])
    end = climb(hill, [np.zeros(1)], WIDE[:1], Budget(tol=1e-12, max_iter=3))
    first = 0.5  # 1/(1 + λ), λ = 1
    begin = first if share > 1e-3 else 0.0
    np.testing.assert_allclose(hill.asked, [0.0, first, begin + 1 / (1 + damping)], rtol=1e-14)
    assert (end.status, end.evaluations) == (Status.MAX_ITER, 3)
    assert hill.told == (3 if share > 1e-3 else 2)


def test_damping_has_a_least_and_a_smallest_growth():
    # Eight good steps: 1, ⅛, 1/64, 1/512, and no less than 1/1000.
    hill = Scripted([1.0] * 9)
    climb(hill, [np.full(1, -40.0)], WIDE[:1], Budget(tol=1e-12, max_iter=8))
    dampings = [1, 1 / 8, 1 / 64, 1 / 512, 1e-3, 1e-3, 1e-3]
    np.testing.assert_allclose(np.diff(hill.asked), [1 / (1 + d) for d in dampings], rtol=1e-13)
    # After that a bad step leads to 0.1, and the next to 0.8.
    hill = Scripted([1.0] * 4 + [-1.0, -1.0, 0.5])
    climb(hill, [np.full(1, -40.0)], WIDE[:1], Budget(tol=1e-12, max_iter=8))
    steps = np.array(hill.asked[5:]) - hill.asked[4]
    np.testing.assert_allclose(steps, [1 / 1.001, 1 / 1.1, 1 / 1.8], rtol=1e-13)


@pytest.mark.parametrize(
    ("tol", "share", "evaluations", "told"),
    [
        (0.375, 1.0, 1, 1),  # what is predicted is no more than what ends it
        (0.374, 1.0, 2, 1),
        (0.0375, 0.9, 2, 1),  # the last step: ten times as much, and as predicted
        (0.0375, 1.3, 2, 1),
        (0.0375, 0.75, 3, 3),
        (0.0375, 1.4, 3, 3),
        (0.0374, 0.9, 3, 3),
    ],
)
def test_the_last_step(tol, share, evaluations, told):
    hill = Scripted([share, 0.5])
    found = climb(hill, [np.zeros(1)], WIDE[:1], Budget(tol=tol, max_iter=3))
    assert (found.evaluations, hill.told) == (evaluations, told)
    assert found.status is (Status.OPTIMAL if told == 1 else Status.MAX_ITER)
    assert found.theta.tolist() == [0.5 if told == 1 and evaluations == 2 else hill.asked[-1]]


def test_tolerances_are_shares_of_values_above_one():
    # 0.375 is predicted: the share 0.1 of a value of 3, and less than that of 4.
    for high, evaluations in ((4.0, 1), (-4.0, 1), (3.0, 2), (0.0, 2), (-3.0, 2)):
        hill = Scripted([0.5])
        hill.high = high
        found = climb(hill, [np.zeros(1)], WIDE[:1], Budget(tol=0.1, max_iter=2))
        assert found.evaluations == evaluations


def plain_climb(value, slope, curvature, theta, tol):
    """Climb without bounds by the formulas, and return all places."""
    damping, asked, seen = 1.0, [theta], []
    g, H = slope(theta), curvature(theta)
    for _ in range(40):
        D = H.copy()
        np.fill_diagonal(D, (1 + damping) * np.diagonal(H))
        step = np.linalg.solve(D, g)
        predicted = g @ step - step @ H @ step / 2
        if predicted <= tol * max(1, abs(value(theta))):
            break
        asked.append(theta + step)
        share = (value(theta + step) - value(theta)) / predicted
        if share > 0.75:
            damping = max(damping / 8, 1e-3)
        elif share <= 0.25:
            damping = 3 * damping if share > 1e-3 else max(8 * damping, 0.1)
        if share <= 1e-3:
            continue
        theta, before = theta + step, g
        if predicted <= 10 * tol * max(1, abs(value(theta))) and 0.75 < share < 4 / 3:
            break
        g, H = slope(theta), curvature(theta)
        if np.abs(step).max() < 0.3:
            seen = [*seen, (step, before - g)][-3:]
        for s, fall in seen:
            bent, expected, observed = H @ s, s @ H @ s, s @ fall
            if 0.1 * expected < observed < 10 * expected:
                H = H - np.outer(bent, bent) / expected + np.outer(fall, fall) / observed
    return np.array(asked)


@pytest.mark.parametrize("size", [0.3, 0.7])
@pytest.mark.parametrize("bent", [0.4, 1.5, 4.0])
def test_ascents_go_where_the_formulas_lead(bent, size):
    random = np.random.default_rng(7)
    R = random.normal(size=(4, 4))
    M, begin = R @ R.T + 2 * np.eye(4), size * random.uniform(-1, 1, 4)
    stand_in = bent * np.diag(np.diagonal(M)) + 0.1 * M
    parts = (lambda t: -t @ M @ t / 2, lambda t: -M @ t, lambda t: stand_in)
    hill = Hill(*parts)
    climb(hill, [begin], np.array([[-50.0, 50.0]] * 4), Budget(tol=1e-9))
    wanted = plain_climb(*parts, begin, 1e-9)
    assert len(wanted) > 5
    np.testing.assert_allclose(hill.asked, wanted, rtol=1e-7, atol=1e-9)


def test_steps_of_one_third_do_not_correct_the_curvature():
    # The slope falls from 0.6 to 0.4 over a step of 0.3, from 0.5 to 0.4 over one of ¼.
    for slope, moved in ((0.6, 0.2), (0.5, 0.4 / 2 / (0.1 / 0.25))):
        hill = Scripted([0.5, 0.5], [0.4])
        hill.slope = slope
        climb(hill, [np.zeros(1)], WIDE[:1], Budget(tol=1e-12, max_iter=3))
        assert hill.asked[1] == pytest.approx(slope / 2)
        assert hill.asked[2] - hill.asked[1] == pytest.approx(moved)


def test_small_matrices_have_one_thread():
    assert not isinstance(evidence_module.few_threads(512), nullcontext)
    assert isinstance(evidence_module.few_threads(513), nullcontext)


def test_the_first_step_is_the_gradient_where_that_is_short():
    for away in ([0.1, 0.0], [0.0, -0.2]):
        start = np.add(TOP, away)
        hill = bowl()
        maximise(hill.both, [start], WIDE, budget=Budget(max_iter=2))
        np.testing.assert_allclose(hill.asked[1], start - Q @ (start - TOP), rtol=1e-9)
    steep, start = bowl(), np.add(TOP, [4.0, 0.0])
    maximise(steep.both, [start], WIDE, budget=Budget(max_iter=2))
    # A slope of (−12, −4) is made one of 1.
    np.testing.assert_allclose(steep.asked[1], start - [1.0, 1 / 3], rtol=1e-9)
