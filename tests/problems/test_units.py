"""The law of units: data in other units give the same certificate, in other units.

Targets times t and weights times t have values times t², and residuals times t. A number that has
no unit, such as a 1 among the residuals, breaks this.
"""

from dataclasses import replace

import numpy as np
import pytest

from mercer.gram.base import Definite
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.gram.sums import SumGram
from mercer.problems import linear, qp
from mercer.problems.design_products import Bounded, DesignProducts
from mercer.problems.elastic_net import LassoProblem
from mercer.problems.kernel_alignment import AlignmentProblem
from mercer.problems.linear import LinearAnswer
from mercer.problems.manifold import ManifoldFunctions, ManifoldProblem, ManifoldProblems, Roughness
from mercer.problems.multi_task import MultiTaskProblem
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalties import Huber
from mercer.problems.penalty_problems import (
    ChebyshevProblem,
    PenaltyAnswer,
    PenaltyProblem,
    VertexAnswer,
)
from mercer.problems.processes import MeanProblem
from mercer.problems.ridge import RidgeFunctions, RidgeProblem
from mercer.problems.squares_bounds import prove_squares
from mercer.problems.unbiased import UnbiasedQP
from mercer.problems.vector_norms import Lp
from tests.problems.test_manifold_bounds import LINE

N = 6
RNG = np.random.default_rng(11)
A = RNG.normal(size=(N, N))
K = GivenGram(A @ A.T, Definite.POSITIVE)
OPEN = GivenGram(A @ A.T + np.eye(N), Definite.UNKNOWN)
X = RNG.normal(size=(N, 3))
ROWS = FeatureGram.of_rows(X)
Y, C = RNG.normal(size=(N, 2)) * 3, RNG.normal(size=(N, 2))
W = np.array([[0.5, -1.0], [0.0, 0.0], [2.0, 1.0]])
S = RNG.uniform(0.5, 2.0, N)
SILENT = np.where(np.arange(N) % 3 == 0, 0.0, S)
BETA = np.array([0.5, -1.5, 4.0, -3.0, 1.0, -2.0])


def process(t, gram=K, noise=S):
    return MeanProblem(t * Y, noise).certify(t * C, gram)


def ridge(t, gram=K, alphas=(0.5, 3.0), weights=S, intercept=False):
    problem = RidgeProblem(t * Y, np.array(alphas), weights, intercept)
    return problem.certify(RidgeFunctions(t * C, t * np.array([0.5, -1.0]) * intercept), gram)


def lasso(t, l1=0.5, l2=0.7, positive=False):
    problem = LassoProblem(t * Y[:, 0], t * l1, l2, positive)
    answer = problem.evaluate(problem.design(ROWS), t * W[:, 0] * (-1 if positive else 1))
    return problem.certify(answer, ROWS)


def squares(t, l1=0.5, l2=0.7, positive=False, constant=False):
    b = Bounded(np.full(1, 0.25 * t), np.zeros(1), np.full(1, 0.25 * t)) if constant else None
    problem = LassoProblem(t * Y[:, 0], t * l1, l2, positive, weights=S)
    return prove_squares(problem, DesignProducts(X), t * Y[:, 0], t * np.abs(W[:, 0]), b)


def tasks(t, l1=0.5, l2=0.7):
    return MultiTaskProblem(t * Y, t * l1, l2).certify(t * W, ROWS)


def tubes(t, squared):
    problem = linear.regressor(t * Y[:, 0], S * (1 if squared else t), 0.125 * t, squared)
    return problem.prove(LinearAnswer(t * W[:, 0], t * BETA), ROWS)


def manifold(t, intercept=False):
    rough = Roughness(LINE, 0.5)
    parts = [
        ManifoldProblem(np.array([0, 2, 3]), t * y[:3], S[:3], 0.75, rough, False, intercept)
        for y in Y.T
    ]
    answer = ManifoldFunctions(t * C[:4], t * np.array([0.5, -1.0]) * intercept)
    found = ManifoldProblems(parts).certify(answer, K.take(slice(0, 4)))
    return found if not intercept else replace(found, dual_feasibility=0.0)  # rounding


def boxes(t, kind=qp.BoxQP, spoilt=0.0):
    signs = np.where(np.arange(N) % 2, -1.0, 1.0)
    problem = kind(
        "any", t * Y[:, 0], np.minimum(0.0, t * signs), np.maximum(0.0, t * signs), np.zeros(N),
        np.arange(N), np.zeros(N, np.uint8),
    )  # fmt: skip
    beta = problem.feasible(t * BETA)
    beta[0] += spoilt * t
    return problem.certify(beta, K)


SQUARED = {
    "process": process,
    "process without noise": lambda t: process(t, noise=SILENT),
    "process, matrix looked at": lambda t: process(t, OPEN),
    "ridge": ridge,
    "ridge without penalty": lambda t: ridge(t, alphas=(0.0, 0.0)),
    "ridge with and without": lambda t: ridge(t, alphas=(0.0, 2.0), intercept=True),
    "ridge without some weights": lambda t: ridge(t, weights=SILENT, intercept=True),
    "ridge, matrix looked at": lambda t: ridge(t, OPEN),
    "lasso": lambda t: lasso(t, l2=0.0),
    "elastic net": lasso,
    "elastic net of weights below 0": lambda t: lasso(t, positive=True),
    "least squares": lambda t: lasso(t, 0.0, 0.0),
    "least squares of weights above 0": lambda t: lasso(t, 0.0, 0.0, True),
    "lasso proved": lambda t: squares(t, l2=0.0),
    "elastic net proved": lambda t: squares(t, constant=True),
    "elastic net proved, weights above 0": lambda t: squares(t, positive=True),
    "least squares proved": lambda t: squares(t, 0.0, 0.0),
    "tasks": tasks,
    "tasks with groups alone": lambda t: tasks(t, l2=0.0),
    "tube": lambda t: tubes(t, squared=False),
    "squared tube": lambda t: tubes(t, squared=True),
    "manifold": manifold,
    "manifold with a constant": lambda t: manifold(t, intercept=True),
    "box": boxes,
    "box without a bias": lambda t: boxes(t, UnbiasedQP),
}
RESIDUALS = ("stationarity", "primal_feasibility", "dual_feasibility")
VALUES = ("primal", "dual", "complementarity")


@pytest.mark.parametrize("t", [2.0**-20, 2.0**20])
@pytest.mark.parametrize("name", SQUARED)
def test_values_are_squares_of_units(name, t):
    one, other = SQUARED[name](1.0), SQUARED[name](t)
    for residual in RESIDUALS:
        expected = t * getattr(one, residual)
        assert getattr(other, residual) == pytest.approx(expected, rel=1e-9, abs=1e-13 * t)
    for value in VALUES:
        expected = t * t * getattr(one, value)
        assert getattr(other, value) == pytest.approx(expected, rel=1e-9, abs=1e-13 * t * t)
    assert (other.rounding is None) == (one.rounding is None)
    if one.rounding is not None:
        assert other.rounding == pytest.approx(t * t * one.rounding, rel=1e-3, abs=0)
    assert (other.curvature, other.problem) == (one.curvature, one.problem)


@pytest.mark.parametrize("t", [2.0**-20, 2.0**20])
def test_kernels_times_a_factor_ask_for_weights_over_it(t):
    kernels, v = [A @ A.T, X @ X.T], np.array([0.5, -0.25])
    one, other = (
        AlignmentProblem(Y).certify(v / s, SumGram([GivenGram(s * each) for each in kernels]))
        for s in (1.0, t)
    )
    assert other.stationarity == pytest.approx(t * one.stationarity)
    assert other.primal_feasibility == pytest.approx(one.primal_feasibility / t)
    assert other.primal == pytest.approx(one.primal)
    assert other.dual == pytest.approx(one.dual)
    assert other.complementarity == pytest.approx(one.complementarity)


@pytest.mark.parametrize("t", [2.0**-20, 2.0**-10])
def test_multipliers_in_other_units(t):
    """A small ν has a small residual, and no box is broken by it."""
    b, x, nu = Y[:, 0], W[:, 0], C[:, 0] / np.abs(C[:, 0]).sum()
    for problem, answer in (
        (NormProblem(b, Lp(2.0)), lambda nu: PenaltyAnswer(x, nu)),
        (PenaltyProblem(b, Huber(1.0)), lambda nu: PenaltyAnswer(x, nu)),
        (ChebyshevProblem(b), lambda nu: VertexAnswer(x, nu, np.arange(4))),
    ):
        found = problem.certify(answer(t * nu), ROWS)
        assert found.stationarity == pytest.approx(t * np.abs(X.T @ nu).max())
        assert found.dual_feasibility == 0.0
