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
