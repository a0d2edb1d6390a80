"""The solver of kernel ridge regression against the equations themselves."""

import time

import numpy as np
import pytest

from mercer import RBF, Gram
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.scaled import ScaledGram
from mercer.kernels.features import Features
from mercer.problems.ridge import RidgeFunctions, RidgeProblem
from mercer.solvers.base import Budget, Status
from mercer.solvers.ridge_systems import METHODS, RidgeSolver

RANDOM = np.random.default_rng(2)
X = RANDOM.standard_normal((70, 3))
Y = RANDOM.standard_normal((70, 3))
WEIGHTS = 0.2 + RANDOM.random(70)
ALPHAS = np.array([0.5, 2.0, 0.5])
KERNEL = RBF(gamma=0.5)
EXACT = Budget(tol=1e-13, max_iter=1000)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_solves_the_equations_of_every_target(method, intercept):
    problem = RidgeProblem(Y, ALPHAS, WEIGHTS, intercept)
    gram = Gram(KERNEL, X)
    found = RidgeSolver(method).solve(problem, gram, EXACT)
    K = gram.dense()
    for j, alpha in enumerate(ALPHAS):
        c, b = found.value.coef[:, j], found.value.intercepts[j]
        np.testing.assert_allclose(K @ c + alpha * c / WEIGHTS + b, Y[:, j], atol=1e-9)
        assert c.sum() == pytest.approx(0, abs=1e-9) if intercept else b == 0
    np.testing.assert_allclose(found.product, K @ found.value.coef, atol=1e-9)
    assert found.status == "optimal"
    assert found.certificate.gap == pytest.approx(0, abs=1e-8)
    assert found.statistics.details["method"] in METHODS


def test_features_stand_for_the_matrix():
    Z = RANDOM.standard_normal((70, 4))
    problem = RidgeProblem(Y, ALPHAS, WEIGHTS)
    few = RidgeSolver().solve(problem, FeatureGram(Features.numbered(Z)), EXACT)
    assert few.statistics.details["method"] == "cg"
    for j, alpha in enumerate(ALPHAS):
        whole = np.linalg.solve(Z @ Z.T + alpha * np.diag(1 / WEIGHTS), Y[:, j])
        np.testing.assert_allclose(few.value.coef[:, j], whole, atol=1e-9)


def test_many_penalties_share_one_eigendecomposition():
    alphas = np.geomspace(0.1, 10, 12)
    problem = RidgeProblem(np.repeat(Y[:, :1], 12, axis=1), alphas, np.ones(70))
    found = RidgeSolver().solve(problem, Gram(KERNEL, X), EXACT)
    assert found.statistics.details["method"] == "eigen"
    assert found.certificate.gap == pytest.approx(0, abs=1e-8)


def test_a_budget_that_is_over_gives_the_best_answer_until_then():
    problem = RidgeProblem(Y, np.full(3, 1e-3), np.ones(70))
    late = Budget(tol=1e-13, max_iter=1000, deadline=time.perf_counter() - 1)
    found = RidgeSolver("cg").solve(problem, Gram(KERNEL, X), late)
    assert found.status is Status.TIME_LIMIT
    assert found.certificate.status == "time_limit"
    assert np.isfinite(found.value.coef).all()


def test_a_wrong_answer_has_a_gap():
    problem = RidgeProblem(Y, ALPHAS, WEIGHTS)
    gram = Gram(KERNEL, X)
    found = RidgeSolver().solve(problem, gram, EXACT)
    worse = RidgeFunctions(0.9 * found.value.coef, found.value.intercepts)
    assert problem.certify(worse, gram).gap > 1e-3


@pytest.mark.parametrize("weights", [np.ones(70), WEIGHTS], ids=["plain", "weighted"])
def test_a_scaled_matrix_is_that_of_the_formula(weights):
    gram = Gram(KERNEL, X)
    scaled = ScaledGram(gram, weights)
    wanted = np.sqrt(weights)[:, None] * gram.dense() * np.sqrt(weights)
    some, rows = np.array([3, 50]), slice(10, 20)
    np.testing.assert_allclose(scaled.dense(), wanted)
    np.testing.assert_allclose(scaled.diag(), np.diagonal(wanted))
    np.testing.assert_allclose(scaled.rows(some), wanted[some])
    np.testing.assert_allclose(scaled.square(some), wanted[np.ix_(some, some)])
    np.testing.assert_allclose(scaled.block(rows, some), wanted[rows][:, some])
    np.testing.assert_allclose(scaled.multiply(Y), wanted @ Y)
    np.testing.assert_allclose(scaled.take(some).dense(), wanted[np.ix_(some, some)])
    np.testing.assert_allclose(scaled.dense(np.float32), wanted, rtol=1e-5)
    assert scaled.symmetric
    assert scaled.definite == gram.definite
    Z = RANDOM.standard_normal((70, 4))
    phi = ScaledGram(FeatureGram(Features.numbered(Z)), weights).features()
    np.testing.assert_allclose(phi @ phi.T, np.sqrt(np.outer(weights, weights)) * (Z @ Z.T))
