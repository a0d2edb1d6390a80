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
