"""A certificate says "optimal" only where its two values bound the optimum."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import RBF
from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.problems.certificate import Certificate
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.study.summary import certificate_in_words

SOUND = Certificate("a problem", primal=1.0, dual=0.999, stationarity=0.0)


@pytest.mark.parametrize(
    "values",
    [
        {"primal": np.nan},
        {"dual": np.nan},
        {"primal": np.inf},
        {"dual": -np.inf},
        {"primal": -2.2e11, "dual": 4.3e10},
        {"primal": 1.0, "dual": 1.0001},
    ],
    ids=str,
)
def test_values_that_bound_nothing_say_so(values):
    certificate = replace(SOUND, **values)
    assert not certificate.bounds
    assert "no bound" in repr(certificate)
    assert "within" not in repr(certificate).splitlines()[0]
    assert "not proven" in certificate_in_words(certificate)


def test_rounding_is_no_fault_and_is_shown():
    for dual in (0.999, 1.0, 1.0 + 1e-9):
        assert replace(SOUND, dual=dual).bounds
    assert "within 1e-09 of the optimum" in repr(replace(SOUND, dual=1.0 + 1e-9))


class Claims(Solver):
    """A solver that calls any answer optimal."""

    def __init__(self, beta):
        self.beta = beta

    def run(self, problem, gram, budget, start):
        return Outcome(self.beta, Status.OPTIMAL)


@pytest.fixture(scope="module")
def one_class():
    X = np.random.default_rng(0).normal(size=(30, 2))
    problem, gram = qp.one_class(np.ones(30), 0.2), GivenGram(RBF(gamma=0.5)(X))
    return problem, gram, BoxQPSolver().solve(problem, gram, Budget()).value


@pytest.mark.parametrize("spoil", [lambda b: 0 * b, lambda b: b + 1e-3, lambda b: b * np.nan])
def test_no_claim_of_a_solver_makes_a_broken_answer_optimal(one_class, spoil):
    problem, gram, beta = one_class
    assert Claims(beta).solve(problem, gram, Budget()).status is Status.OPTIMAL
    solution = Claims(spoil(beta)).solve(problem, gram, Budget())
    assert not solution.certificate.bounds
    assert solution.certificate.status != "optimal"
    assert solution.status is Status.STALLED


@pytest.mark.parametrize(
    ("values", "tol", "status"),
    [
        ({"primal": 1000.0, "dual": 999.0}, 1e-3, "optimal"),
        ({"primal": 100.0, "dual": 99.0}, 0.01, "within tolerance"),
        ({"dual": 0.99}, 0.009, "stalled"),
        ({"dual": 1.5}, 1.0, "stalled"),
        ({"dual": -np.inf}, np.inf, "stalled"),
        ({"curvature": "refuted"}, 1e-3, "stationary point, no bound"),
        ({"curvature": "open"}, 1e-3, "no negative direction found, no bound"),
    ],
    ids=str,
)
def test_the_status_that_values_show(values, tol, status):
    certificate = replace(SOUND, **values)
    assert certificate.under("optimal", tol).status == status
    if certificate.curvature == "proven":
        assert certificate.under("max_iter", tol).status == "max_iter"


def test_intervals_with_their_rounding():
    wide = replace(SOUND, primal=4.0, dual=3.0, rounding=0.25)
    assert (wide.lower, wide.upper, wide.gap, wide.relative_gap) == (2.75, 4.25, 1.0, 0.25)
    assert wide.distance == 1.5 / 4
    assert replace(wide, rounding=None).distance == 0.25
    assert replace(wide, curvature="open").upper == np.inf
    assert replace(wide, curvature="open").gap == np.inf
    crossed = replace(wide, dual=4.5)
    assert crossed.bounds  # by no more than rounding may do to both
    assert not replace(crossed, dual=4.5 + 1e-9).bounds
    assert not replace(wide, rounding=np.inf).bounds
    assert replace(wide, rounding=np.nan).rounding == np.inf
    tiny = replace(SOUND, primal=1e-12, dual=0.0, rounding=1e-12)
    assert tiny.within_rounding
    assert tiny.optimal
    assert not replace(tiny, rounding=0.9e-12).optimal
    assert not replace(tiny, rounding=None).within_rounding
    near = replace(SOUND, primal=1000.0, dual=999.0)
    assert near.optimal
    assert not replace(near, rounding=1.0).within_rounding  # it is optimal anyway
    assert not replace(SOUND, primal=1.0, dual=1 - 1.001e-3).optimal


def test_no_number_is_the_worst_number():
    lost = replace(SOUND, primal=np.nan, dual=np.nan, rounding=np.nan)
    assert (lost.primal, lost.dual, lost.rounding) == (np.inf, -np.inf, np.inf)


def test_the_table_has_every_number_once():
    rows = [line.rsplit("  ", 1)[0].strip() for line in repr(SOUND).splitlines()[1:]]
    assert [row.split("  ")[0] for row in rows] == [
        "primal", "dual", "gap", "relative gap", "stationarity", "primal feasibility",
        "dual feasibility", "complementarity", "iterations", "seconds", "kernel evaluations",
        "rounding", "curvature",
    ]  # fmt: skip


def test_prices_come_off_the_dual_value():
    assert SOUND.paying(0.5).dual == pytest.approx(0.499)
    assert SOUND.paying(2.0).dual == 0.0
    assert SOUND.paying(np.inf, -3.0).dual == -3.0


def test_totals_of_what_is_known():
    parts = [replace(SOUND, rounding=r, curvature=c) for r, c in ((0.5, "proven"), (0.25, "open"))]
    total = Certificate.total(parts)
    assert (total.rounding, total.curvature) == (0.75, "open")
    assert Certificate.total([*parts, replace(SOUND, curvature="refuted")]).rounding is None
    assert Certificate.total([*parts, replace(SOUND, curvature="refuted")]).curvature == "refuted"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"primal_feasibility": 0.5}, "breaks a hard constraint by 0.5"),
        ({"primal_feasibility": 2e-3}, "breaks a hard constraint by 0.002"),
        ({"primal_feasibility": 1e-3}, "within 0.001 of the optimum"),
        ({"curvature": "refuted"}, "stationary point, no bound"),
        ({"dual": 3.0}, "no bound, the values 3 and 1 show none"),
        ({"primal": 1e-12, "dual": 0.0, "rounding": 1e-12}, "within rounding, 1e-12, of"),
    ],
    ids=str,
)
def test_headlines(values, words):
    assert words in repr(replace(SOUND, **values)).splitlines()[0]
    assert "rounding             not known" in repr(SOUND)


def test_ends_without_a_rounding_are_the_values_themselves():
    plain = replace(SOUND, primal=3.0, dual=2.5, rounding=None)
    assert (plain.lower, plain.upper) == (2.5, 3.0)
    wide = replace(plain, rounding=0.25)
    assert (wide.lower, wide.upper) == (2.25, 3.25)
