"""Least norms against their conditions of optimality, which have closed forms."""

import math

import numpy as np
import pytest

from mercer.exceptions import InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalty_problems import PenaltyAnswer
from mercer.problems.vector_norms import Lp
from mercer.solvers.base import Budget
from mercer.solvers.linear import least_norm
from mercer.solvers.linear.least_norm import LeastNorm, WeightsInBall

RANDOM = np.random.default_rng(5)
A = np.column_stack([RANDOM.normal(size=(40, 4)) * [1, 2, 0.5, 1], np.ones(40)])
B = A @ [1.0, -0.5, 2.0, 0.0, 3.0] + RANDOM.standard_t(3, size=40)
GRAM = FeatureGram.of_rows(A)


def least(b, p, gram=GRAM, start=None, **budget):
    return LeastNorm().solve(NormProblem(b, Lp(p)), gram, Budget(tol=1e-6, **budget), start)


@pytest.mark.parametrize("p", [1.05, 1.2, 1.5, 1.9, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 20.0])
def test_slopes_are_orthogonal_to_the_columns(p):
    found = least(B, p)
    r = B - A @ found.value.x
    r = r / np.abs(r).max()
    slopes = np.sign(r) * np.abs(r) ** (p - 1)
    assert found.status == "optimal"
    if p >= 1.2:  # nearer to 1 slopes at residuals of zero are anything
        # Below 2 a relative gap of 10⁻⁹ is enough, whose square root the slopes have.
        size = np.abs(A.T @ np.abs(slopes)).max()
        assert np.abs(A.T @ slopes).max() <= (1e-6 if p >= 2 else 1e-4) * size
    assert 0 <= found.certificate.gap <= 1e-8 * found.certificate.primal
    assert found.certificate.primal == pytest.approx(np.linalg.norm(B - A @ found.value.x, ord=p))
    # Norms in between are good starts: a few steps for each of them.
    assert found.statistics.iterations <= (60 if p < 2 else 8 * math.ceil(math.log2(p)) + 5)


@pytest.mark.parametrize("p", [1.5, 3.0])
def test_nearly_all_rows_fit_one_answer(p):
    # Half of the residuals are rounding beside the others, and some are zero.
    b = A @ [1.0, 2.0, 3.0, 4.0, 5.0]
    b[:3] += [1.0, -2.0, 0.5]
    found = least(b, p)
    r = b - A @ found.value.x
    slopes = np.sign(r) * np.abs(r) ** (p - 1)
    assert np.abs(A.T @ slopes).max() <= 1e-5 * np.abs(slopes).sum()


@pytest.mark.parametrize("p", [1.5, 3.0])
@pytest.mark.parametrize("unit", [1e-170, 1e-101, 1e101, 1e170])
def test_units_near_the_range_of_floats(p, unit):
    near = least(B, p)
    found = least(unit * B, p)
    np.testing.assert_allclose(found.value.x / unit, near.value.x, rtol=1e-5)
    again = least(unit * B, p, start=found.value)
    assert again.statistics.iterations <= found.statistics.iterations
    np.testing.assert_allclose(again.value.x / unit, near.value.x, rtol=1e-5)


@pytest.mark.parametrize("p", [1.5, 3.0])
def test_an_exact_fit_takes_no_step(p):
    for x in (np.zeros(5), np.arange(5.0)):
        found = least(A @ x, p)
        assert found.status == "optimal"
        assert found.statistics.iterations == 0
        np.testing.assert_allclose(found.value.x, x, atol=1e-12)
    assert least(B, p).statistics.iterations > 0


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_no_more_steps_than_are_allowed(steps):
    found = least(B, 8.0, max_iter=steps)
    assert found.status == "max_iter"
    assert found.statistics.iterations == steps


def test_a_start_is_where_it_begins():
    start = PenaltyAnswer(least(B, 8.0).value.x)
    assert least(B, 8.0, start=start).statistics.iterations < least(B, 8.0).statistics.iterations
    np.testing.assert_array_equal(least(B, 8.0, start=start, max_iter=0).value.x, start.x)


@pytest.mark.parametrize("p", [1.05, 1.5, 1.9])
def test_smoothing_ends_once_the_gap_is_small(p):
    rough = LeastNorm().solve(NormProblem(B, Lp(p)), GRAM, Budget(tol=1.0))
    fine = LeastNorm().solve(NormProblem(B, Lp(p)), GRAM, Budget(tol=1e-9))
    assert rough.certificate.relative_gap <= 1e-3
    assert fine.certificate.relative_gap <= 1e-8
    assert rough.statistics.iterations < fine.statistics.iterations <= 90


def test_powers_on_the_way():
    assert list(least_norm._stages(2.0)) == [(2.0, 0.0)]
    assert list(least_norm._stages(3.0)) == [(3.0, 0.0)]
    assert list(least_norm._stages(4.0)) == [(4.0, 0.0)]
    assert list(least_norm._stages(9.0)) == [(4.0, 0.0), (8.0, 0.0), (9.0, 0.0)]
    powers, smoothings = zip(*least_norm._stages(1.5), strict=True)
    assert set(powers) == {1.5}
    np.testing.assert_allclose(np.log10(smoothings), -np.arange(1.0, 14.0))


SOME = np.array([3.0, -1.0, 0.5, 0.0, -2.0])


@pytest.mark.parametrize("unit", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("e", [0.0, 0.3])
@pytest.mark.parametrize("p", [1.2, 2.0, 3.0, 10.0])
def test_smoothed_norms_and_their_slopes(p, e, unit):
    squares = SOME**2 + e**2
    norm = (squares ** (p / 2)).sum() ** (1 / p)
    assert least_norm._smoothed(unit * SOME, p, unit * e) / unit == pytest.approx(norm)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(squares > 0, SOME * squares ** (p / 2 - 1), 0.0) * norm ** (1 - p)
    found = least_norm._smoothed_slopes(unit * SOME, p, unit * e)
    np.testing.assert_allclose(found, slopes, rtol=1e-12)
    # Of length 1 in the dual norm, or less where it is smoothed.
    q = p / (p - 1)
    length = np.linalg.norm(found, ord=q)
    assert length == pytest.approx(1.0) if e == 0 else length < 1


def test_smoothed_norms_of_nothing():
    zeros = np.zeros(3)
    assert least_norm._smoothed(zeros, 1.5, 0.0) == 0.0
    np.testing.assert_array_equal(least_norm._smoothed_slopes(zeros, 1.5, 0.0), zeros)


@pytest.mark.parametrize("e", [0.0, 0.2])
@pytest.mark.parametrize("p", [1.5, 2.0, 3.0, 6.0])
def test_a_step_is_newtons(p, e):
    if p < 2 and e == 0:
        e = 0.05
    near = least(B, max(p, 2.0)).value.x
    near = near + 1e-3 * np.arange(5)
    r = B - A @ near
    squares = r**2 + e**2
    slope = r * squares ** (p / 2 - 1)
    bend = squares ** (p / 2 - 2) * ((p - 1) * r**2 + e**2)
    full = np.linalg.solve((A.T * bend) @ A, A.T @ slope)
    found = least_norm._newton_step(A, B, near, p, e)

    def norm(x):
        return (((B - A @ x) ** 2 + e**2) ** (p / 2)).sum() ** (1 / p)

    # The whole step, or half of it and so on, the first that lowers the norm.
    share = (found - near) @ full / (full @ full)
    np.testing.assert_allclose(found - near, share * full, rtol=1e-8, atol=1e-12)
    assert math.log2(share) == pytest.approx(round(math.log2(share)))
    assert norm(found) < norm(near)
    if p >= 2:
        assert share == pytest.approx(1.0)
    for _ in range(60):
        after = least_norm._newton_step(A, B, found, p, e)
        if after is None:
            break
        found = after
    assert after is None  # the optimum has no better neighbour
    slopes = least_norm._smoothed_slopes(B - A @ found, p, e)
    assert np.abs(A.T @ slopes).max() <= 1e-6


def test_rows_without_curvature_are_no_trouble():
    # Residuals of which the largest power is all that counts.
    b = np.r_[1e8, np.zeros(39)]
    x = least_norm._newton_step(A, b, np.zeros(5), 8.0, 0.0)
    assert x is None or np.isfinite(x).all()


# ---- weights in a ball --------------------------------------------------------------------------


def in_ball(p, q, t, weights=4, columns=A):
    problem = NormProblem(B, Lp(p), t, Lp(q), weights)
    return WeightsInBall().solve(problem, FeatureGram.of_rows(columns), Budget(tol=1e-6)).value


LONGEST = {
    q: np.linalg.norm(np.linalg.lstsq(A, B, rcond=None)[0][:4], ord=q) for q in (1, 2, np.inf)
}


@pytest.mark.parametrize("columns", [A, A[:, :4]], ids=["intercept", "none"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 2.0])
@pytest.mark.parametrize("q", [1.0, 2.0, math.inf])
def test_squares_in_a_ball_have_slopes_along_its_normal(q, share, columns):
    t = share * LONGEST[q]
    x = in_ball(2.0, q, t, columns=columns).x
    w, r = x[:4], B - columns @ x
    pull = columns.T @ r
    size = 1e-8 * np.linalg.norm(columns.T @ B)
    assert np.abs(pull[4:]).max(initial=0) <= size  # columns outside of the ball take all they can
    assert np.linalg.norm(w, ord=q) <= t * (1 + 1e-9)
    # Hölder: Wᵀr · w = ‖Wᵀr‖* ‖w‖, and ‖w‖ = t unless the slope is zero.
    dual = np.linalg.norm(pull[:4], ord={1.0: np.inf, 2.0: 2, math.inf: 1}[q])
    assert pull[:4] @ w == pytest.approx(dual * t, abs=10 * size * t)
    inside = np.linalg.norm(np.linalg.lstsq(columns, B, rcond=None)[0][:4], ord=q) < t
    assert (dual <= size) == inside


@pytest.mark.parametrize("share", [1e-6, 0.01, 0.5, 0.99])
def test_squares_in_a_ball_of_dependent_columns(share):
    W = np.column_stack([A[:, :3], A[:, 0] + A[:, 1]])
    shortest = np.linalg.lstsq(W, B, rcond=None)[0]
    t = share * np.linalg.norm(shortest)
    w = least_norm._in_l2(W, B, t)
    assert np.linalg.norm(w) == pytest.approx(t, rel=1e-12)
    pull = W.T @ (B - W @ w)
    level = pull @ w / t**2
    assert level > 0
    np.testing.assert_allclose(pull, level * w, atol=1e-9 * np.abs(pull).max())


def test_beyond_the_end_of_the_lassos_path():
    whole = np.linalg.lstsq(A, B, rcond=None)[0]
    t = np.abs(whole).sum()
    np.testing.assert_allclose(least_norm._in_l1(A, B, 1.5 * t), 1.5 * whole, rtol=1e-9)
    np.testing.assert_allclose(np.abs(least_norm._in_l1(A, B, 0.3 * t)).sum(), 0.3 * t)


def test_weights_in_a_square():
    t = 1.2
    w = least_norm._in_linf(A, B, t)
    pull = A.T @ (B - A @ w)
    assert np.abs(w).max() == t
    inside = np.abs(w) < t
    assert inside.any()
    assert np.abs(pull[inside]).max() <= 1e-9 * np.abs(A.T @ B).max()
    assert (pull[~inside] * w[~inside] > 0).all()


@pytest.mark.parametrize("columns", [A, A[:, :4]], ids=["intercept", "none"])
@pytest.mark.parametrize("share", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("q", [1.0, math.inf])
@pytest.mark.parametrize("p", [1.0, math.inf])
def test_linear_programs_meet_their_dual(p, q, share, columns):
    t = share * LONGEST[q]
    x, nu = in_ball(p, q, t, columns=columns)
    other = {1.0: np.inf, math.inf: 1}
    primal = np.linalg.norm(B - columns @ x, ord=p)
    assert np.linalg.norm(x[:4], ord=q) <= t * (1 + 1e-9)
    assert np.linalg.norm(nu, ord=other[p]) <= 1 + 1e-9
    assert np.abs(columns[:, 4:].T @ nu).max(initial=0) <= 1e-8
    dual = abs(B @ nu) - t * np.linalg.norm(columns[:, :4].T @ nu, ord=other[q])
    assert dual == pytest.approx(primal, rel=1e-8)


@pytest.mark.parametrize(("p", "q"), [(2.0, 3.0), (1.0, 2.0), (math.inf, 2.0), (3.0, 1.0)])
def test_other_pairs_are_refused(p, q):
    with pytest.raises(InvalidParameter, match="no method here"):
        in_ball(p, q, 1.0)


@pytest.mark.parametrize("p", [3.0, 4.0, 6.0])
def test_residuals_of_zero_pull_at_nothing(p):
    # Three rows of one column, two of them met: one Newton step of Σ|b − x|ᵖ from 0.
    found = least_norm._newton_step(np.ones((3, 1)), np.array([0.0, 3.0, 0.0]), np.zeros(1), p, 0.0)
    assert found == pytest.approx([3.0 / (p - 1)], rel=1e-9)


def test_a_step_that_promises_rounding_is_none():
    # At x the slope is −2·h·|r|, relative to the norm: above 10⁻¹⁵ it is taken, below it is not.
    ones, b = np.ones((2, 1)), np.array([1.0, -1.0])
    assert least_norm._newton_step(ones, b, np.array([1e-6]), 2.0, 0.0) == pytest.approx([0.0], abs=1e-12)  # fmt: skip  # noqa: E501
    assert least_norm._newton_step(ones, b, np.array([1e-9]), 2.0, 0.0) is None
    assert least_norm._newton_step(ones, b, np.zeros(1), 2.0, 0.0) is None


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0, 8.0])
def test_falls_are_slopes_of_the_norm(p):
    # With a share of one half a step has to bring half of what the slope promises: a step of
    # Newton's on a parabola brings just that, and the first of the halved ones brings more.
    r = np.array([2.0, -1.0, 0.5])
    e = 0.0 if p >= 2 else 0.1
    h = 1e-6
    change = np.array([1.0, 0.3, -0.2])
    slopes = least_norm._smoothed_slopes(r, p, e)
    ends = [least_norm._smoothed(r + s * h * change, p, e) for s in (1, -1)]
    assert slopes @ change == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


def test_a_fit_up_to_rounding_takes_no_step():
    x = np.arange(5.0)
    exact = A @ x
    for share, steps in ((0.5e-14, 0), (1e-10, 1)):
        b = exact.copy()
        b[3] += share * np.abs(exact).max()
        found = least(b, 3.0, start=PenaltyAnswer(x))
        assert (found.statistics.iterations > 0) == bool(steps)


@pytest.mark.parametrize("q", [1.0, 2.0, math.inf])
def test_a_ball_that_is_just_large_enough_changes_nothing(q):
    whole = np.linalg.lstsq(A, B, rcond=None)[0]
    for share in (1 + 1e-9, 3.0):
        found = in_ball(2.0, q, share * np.linalg.norm(whole[:4], ord=q)).x
        np.testing.assert_allclose(found, whole, atol=1e-10)
    less = in_ball(2.0, q, 0.999 * np.linalg.norm(whole[:4], ord=q)).x
    assert np.linalg.norm(less[:4], ord=q) == pytest.approx(
        0.999 * np.linalg.norm(whole[:4], ord=q)
    )


def test_the_lassos_path_between_its_corners():
    # Orthonormal columns: soft thresholds of c = (4, 2, 1), so that ‖w‖₁ = t by one level.
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 3)))[0]
    for t, w in (
        (1.0, [1.0, 0.0, 0.0]),
        (2.0, [2.0, 0.0, 0.0]),
        (3.0, [2.5, 0.5, 0.0]),
        (4.0, [3.0, 1.0, 0.0]),
        (5.5, [3.5, 1.5, 0.5]),
        (7.0, [4.0, 2.0, 1.0]),
    ):
        found = least_norm._in_l1(Q, Q @ [4.0, 2.0, 1.0], t)
        np.testing.assert_allclose(found, w, atol=1e-9)
