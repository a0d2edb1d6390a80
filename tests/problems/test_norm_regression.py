"""The least norm of residuals: values and bounds that can be said by hand."""

import math

import numpy as np
import pytest

from mercer.gram.feature_gram import FeatureGram
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalty_problems import PenaltyAnswer
from mercer.problems.vector_norms import Lp

ONES, B = np.ones((2, 1)), np.array([0.0, 2.0])
LINE = FeatureGram.of_rows(ONES)
PLANE = FeatureGram.of_rows(np.eye(2))
FAR = np.array([3.0, 4.0])


@pytest.mark.parametrize(("p", "least"), [(1, 2.0), (2, math.sqrt(2)), (math.inf, 1.0)])
def test_the_middle_of_two_numbers(p, least):
    problem = NormProblem(B, Lp(p))
    judged = problem.prove(PenaltyAnswer(np.array([1.0]), None), LINE)
    assert judged.primal == pytest.approx(least)
    assert judged.dual == pytest.approx(least)
    assert judged.lower <= least <= judged.upper
    assert 0 < judged.rounding < 1e-13
    nu = problem.multipliers(ONES, B - 1.0)
    assert nu[0] == pytest.approx(-nu[1])
    assert nu[0] < 0
    assert problem.norm.dual()(nu) == pytest.approx(1.0)


def test_multipliers_that_are_too_long_are_shortened():
    problem = NormProblem(B, Lp(math.inf))
    for factor in (1.0, 3.0, 1e6):
        nu = factor * np.array([-0.5, 0.5])
        judged = problem.prove(PenaltyAnswer(np.array([1.0]), nu), LINE)
        assert judged.dual == pytest.approx(1.0)
        assert judged.dual_feasibility == pytest.approx(factor - 1)
    short = problem.prove(PenaltyAnswer(np.array([1.0]), np.array([-0.25, 0.25])), LINE)
    assert short.dual == pytest.approx(0.5)


def test_multipliers_that_are_not_orthogonal_bound_nothing():
    problem = NormProblem(B, Lp(2))
    judged = problem.prove(PenaltyAnswer(np.array([0.0]), np.array([0.0, 1.0])), LINE)
    assert judged.dual == 0.0  # bᵀν = 2 is above the optimum
    assert judged.stationarity == 1.0
    assert not judged.optimal


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_the_distance_to_a_ball(radius):
    problem = NormProblem(FAR, Lp(2), radius, Lp(2), 2)
    nearest = PenaltyAnswer(radius * FAR / 5, FAR / 5)
    judged = problem.prove(nearest, PLANE)
    assert judged.primal == pytest.approx(5 - radius)
    assert judged.dual == pytest.approx(5 - radius)
    assert judged.lower <= 5 - radius <= judged.upper
    assert judged.optimal


def test_a_constant_outside_of_the_ball_is_free():
    A = np.column_stack([np.array([1.0, -1.0]), np.ones(2)])
    problem = NormProblem(np.array([12.0, 10.0]), Lp(2), 0.25, Lp(2), 1)
    nu = np.array([1.0, -1.0]) / math.sqrt(2)
    judged = problem.prove(PenaltyAnswer(np.array([0.25, 11.0]), nu), FeatureGram.of_rows(A))
    assert judged.primal == pytest.approx(0.75 * math.sqrt(2))
    assert judged.dual == pytest.approx(0.75 * math.sqrt(2))
    assert judged.optimal


def test_weights_outside_of_the_ball_bound_nothing():
    problem = NormProblem(FAR, Lp(2), 2.0, Lp(2), 2)
    outside = problem.prove(PenaltyAnswer(FAR / 2, FAR / 5), PLANE)
    assert outside.primal_feasibility == pytest.approx(0.5)
    assert not outside.bounds
    nearly = problem.prove(PenaltyAnswer((2 + 1e-9) * FAR / 5, FAR / 5), PLANE)
    assert nearly.bounds
    assert nearly.primal < 3.0 <= nearly.upper < 3.0 + 1e-6


def test_a_design_of_zeros_takes_nothing_off():
    nu = NormProblem(B, Lp(2)).feasible(np.zeros((2, 1)), np.array([0.6, 0.0]))
    assert nu.tolist() == [0.6, 0.0]
    tiny = NormProblem(B, Lp(2)).feasible(np.full((2, 1), 1e-30), np.array([0.6, 0.0]))
    np.testing.assert_allclose(tiny, [0.3, -0.3])


U, LARGE = 2.0**-52, 1e8


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_rounding_of_large_products(p):
    """Rows LARGE (1, −1) and weights LARGE (1, 1): products are 0 and their rounding is large."""
    A, b = LARGE * np.array([[1.0, -1.0]] * 3), np.array([1e4, 3e4, -2e4])
    x, nu = np.array([LARGE, LARGE]), np.array([0.25, 0.125, -0.375])
    problem, gram = NormProblem(b, Lp(p)), FeatureGram.of_rows(A)
    found = problem.prove(PenaltyAnswer(x, nu), gram)
    off = 18 * U * 2 * LARGE * LARGE + 4 * U * np.abs(b)
    assert found.rounding == pytest.approx(Lp(p)(off), rel=1e-9, abs=0)
    price = 2 * 2 * 19 * U * LARGE * LARGE * 0.75
    assert found.dual == pytest.approx(b @ nu - price, rel=1e-9)
    # In a ball around all weights the price is that of the farthest weights instead.
    ball = NormProblem(b, Lp(p), 4 * LARGE, Lp(2), 2)
    inside = ball.prove(PenaltyAnswer(x, nu), gram)
    pull = 19 * U * LARGE * 0.75
    assert inside.dual == pytest.approx(b @ nu - 4 * LARGE * pull * math.sqrt(2), rel=1e-9)
    assert inside.rounding == found.rounding


def test_rounding_of_sums():
    b, nu = np.array([4.0, -8.0, 4.0, 2.0]), np.array([0.5, -0.25, -0.5, 0.25])
    problem, gram = NormProblem(b, Lp(math.inf)), FeatureGram.of_rows(np.ones((4, 1)))
    found = problem.prove(PenaltyAnswer(np.zeros(1), nu / 2), gram)
    assert found.rounding == pytest.approx(4 * U * 8 + 20 * U * 8 * 4, rel=1e-9, abs=0)
    plain = b @ nu / 2
    assert plain - found.dual == pytest.approx(20 * U * np.abs(b * nu).sum() / 2, rel=0.05)
    # Multipliers of length 1 are shortened by what rounding may have done to their length.
    one = problem.prove(PenaltyAnswer(np.zeros(1), nu / 1.5), gram)
    lost = b @ nu / 1.5 - one.dual
    assert lost == pytest.approx(20 * U * (np.abs(b * nu).sum() / 1.5 + b @ nu / 1.5), rel=0.1)


@pytest.mark.parametrize("p", [1, 2, 3, math.inf])
def test_certificates_of_any_point(p):
    rng = np.random.default_rng(0)
    A, b, x, nu = (
        rng.normal(size=(5, 3)),
        rng.normal(size=5),
        rng.normal(size=3),
        rng.normal(size=5),
    )
    gram, r = FeatureGram.of_rows(A), b - A @ x
    norm, dual = Lp(p), Lp(p).dual()
    free = NormProblem(b, norm).certify(PenaltyAnswer(x, nu), gram)
    assert free.primal == pytest.approx(norm(r))
    assert free.dual == pytest.approx(b @ nu)
    assert free.stationarity == pytest.approx(np.abs(A.T @ nu).max())
    assert free.dual_feasibility == pytest.approx(max(dual(nu) - 1, 0.0))
    assert free.complementarity == pytest.approx(abs(norm(r) - nu @ r))
    assert free.primal_feasibility == 0.0
    ball = NormProblem(b, norm, 0.75, Lp(1), 2)
    tied = ball.certify(PenaltyAnswer(x, nu), gram, A @ x)
    assert tied.dual == pytest.approx(b @ nu - 0.75 * np.abs(A[:, :2].T @ nu).max())
    assert tied.stationarity == pytest.approx(abs(A[:, 2] @ nu))
    assert tied.primal_feasibility == pytest.approx(max(np.abs(x[:2]).sum() - 0.75, 0.0))
    assert "in a ball of" in tied.problem
    made = ball.multipliers(A, r)
    assert abs(A[:, 2] @ made) < 1e-12
    assert dual(made) <= 1 + 1e-12


def test_names():
    assert [NormProblem(B, Lp(p)).name for p in (1, 1.5, math.inf)] == [
        "L1 regression", "L1.5 regression", "L∞ regression",
    ]  # fmt: skip
