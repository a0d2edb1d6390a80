"""Budgets and what all solvers share: when they stop, what they refuse, what they are told."""

import math
import time

import numpy as np
import pytest

from mercer.exceptions import InvalidInput, NoFeatureMap, NotPositiveDefinite
from mercer.gram.base import Definite
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.problems.certificate import Certificate
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Solver, Status


def test_reasons_to_stop():
    assert Budget().stop(1.0, 10**9) is None
    limited = Budget(max_iter=5)
    assert [limited.stop(1.0, steps) for steps in (4, 5, 6)] == [None, *[Status.MAX_ITER] * 2]
    assert Budget(max_iter=0).stop(1.0) is Status.MAX_ITER
    assert Budget(deadline=time.perf_counter() - 1).stop(1.0) is Status.TIME_LIMIT
    assert Budget(deadline=time.perf_counter() + 60).stop(1.0) is None
    seen = []
    asked = Budget(monitor=lambda violation: seen.append(violation) or violation < 0.5, max_iter=1)
    assert asked.stop(0.25, 9) is Status.INTERRUPTED
    assert asked.stop(0.75, 9) is Status.MAX_ITER
    assert seen == [0.25, 0.75]


def test_seconds():
    assert Budget.within(None).deadline == math.inf
    soon = Budget.within(50.0, tol=0.5)
    assert 45 < soon.seconds_left <= 50
    assert soon.tol == 0.5
    assert soon.but(tol=0.25).deadline == soon.deadline
    assert soon.but(tol=0.25).tol == 0.25


def test_sharper_violations():
    budget = Budget(gap=0.1)
    assert budget.sharper(1.0, 0.1) == 0.0
    assert budget.sharper(1.0, 0.2) == pytest.approx(0.3)  # no more than to a third
    assert budget.sharper(2.0, 1.0) == pytest.approx(0.2)
    assert budget.sharper(1.0, 1e9) == pytest.approx(0.03)  # and no less than to a thirtieth
    assert budget.sharper(1.0, 1.0, floor=1.0) == 0.0
    assert budget.sharper(1.0, 1.0, floor=0.9) > 0


def test_good_enough():
    budget = Budget(tol=0.01, gap=1e-5)
    assert budget.met(0.01, 1e-3)
    assert not budget.met(0.011, 0.0)
    assert not budget.met(0.0, 1.1e-3)
    assert Budget(tol=0.01, gap=0.5).met(0.0, 0.5)


def test_advice():
    assert Status.OPTIMAL.advice == ""
    for status in Status:
        assert status is Status.OPTIMAL or status.advice.endswith(".")


class Fixed:
    """A problem whose certificate is known beforehand."""

    name = "a problem"

    def __init__(self, **values):
        self.judged = Certificate(
            "a problem", **{"primal": 1.0, "dual": 1.0, **values}, stationarity=0.0
        )

    def certify(self, value, gram, product=None):
        assert gram.dtype == np.float64
        return self.judged


class Ends(Solver):
    def __init__(self, *outcome, **details):
        self.outcome, self.details = outcome, details

    def run(self, problem, gram, budget, start):
        return Outcome(np.ones(2), *self.outcome, **self.details)


GRAM = GivenGram(np.eye(2), Definite.POSITIVE)


@pytest.mark.parametrize(
    ("values", "ended", "status", "word"),
    [
        ({}, Status.OPTIMAL, Status.OPTIMAL, "optimal"),
        ({"dual": 0.5}, Status.OPTIMAL, Status.OPTIMAL, "within tolerance"),
        ({"dual": 0.5}, Status.MAX_ITER, Status.MAX_ITER, "max_iter"),
        ({"dual": 2.0}, Status.OPTIMAL, Status.STALLED, "stalled"),
        ({"dual": -math.inf}, Status.OPTIMAL, Status.STALLED, "stalled"),
        ({"dual": -math.inf, "dual_feasibility": 0.5}, Status.OPTIMAL, Status.STALLED, "stalled"),
        ({"dual": 2.0, "dual_feasibility": 0.5}, Status.OPTIMAL, Status.OPTIMAL, "optimal"),
        ({"dual": 2.0}, Status.TIME_LIMIT, Status.TIME_LIMIT, "time_limit"),
    ],
)
def test_what_a_solver_says_is_held_against_the_values(values, ended, status, word):
    for gram in (GRAM, GRAM.in_precision(np.float32)):
        found = Ends(ended, 7).solve(Fixed(**values), gram, Budget())
        assert found.status is status
        assert found.certificate.status == word
        assert found.certificate.iterations == found.statistics.iterations == 7
        assert found.certificate.seconds == found.statistics.seconds >= 0


def test_negative_curvature_is_said():
    found = Ends(Status.OPTIMAL, details={"nonconvex": True}).solve(Fixed(), GRAM, Budget())
    assert found.certificate.status == "nonconvex"
    assert found.status is Status.OPTIMAL


def test_gaps_that_a_solver_has_seen_are_not_judged():
    seen = Ends(Status.OPTIMAL, gap_seen=True).solve(Fixed(), GRAM, Budget())
    assert seen.certificate is None
    assert Ends(Status.MAX_ITER, gap_seen=True).solve(Fixed(), GRAM, Budget()).certificate

    class Free(Ends):
        certified = False

    assert Free(Status.OPTIMAL).solve(Fixed(), GRAM, Budget()).certificate is None


def test_matrices_that_do_not_suit():
    with pytest.raises(InvalidInput, match="3 rows and other columns"):
        Ends(Status.OPTIMAL).solve(Fixed(), GivenGram(np.ones((3, 2))), Budget())

    class OnFeatures(Ends, FeatureSolver):
        pass

    with pytest.raises(NoFeatureMap, match="written-out features"):
        OnFeatures(Status.OPTIMAL).solve(Fixed(), GRAM, Budget())
    rows = FeatureGram.of_rows(np.eye(2))
    assert OnFeatures(Status.OPTIMAL).solve(Fixed(), rows, Budget()).status is Status.OPTIMAL

    class OnLandmarks(Ends):
        needs_landmarks = True

    with pytest.raises(InvalidInput, match="passes over rows and landmarks"):
        OnLandmarks(Status.OPTIMAL).solve(Fixed(), GRAM, Budget())

    class Definitely(Ends):
        needs = Definite.POSITIVE

    assert Definitely(Status.OPTIMAL).solve(Fixed(), GRAM, Budget()).status is Status.OPTIMAL
    with pytest.raises(NotPositiveDefinite, match="needs a matrix that is known to be"):
        Definitely(Status.OPTIMAL).solve(Fixed(), GivenGram(np.eye(2)), Budget())
