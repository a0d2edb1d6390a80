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
