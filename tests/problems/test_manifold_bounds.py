"""Intervals of machines on a graph hold the optimum of the float64 problem, rounding included."""

import numpy as np
import pytest

from mercer.gram.base import Definite
from mercer.gram.given import GivenGram
from mercer.gram.neighbours import neighbour_graph
from mercer.problems.manifold import (
    DualPoint,
    ManifoldFunctions,
    ManifoldProblem,
    ManifoldProblems,
    Roughness,
)
from mercer.problems.manifold_bounds import bounded
from mercer.problems.manifold_hinge import HingeManifoldProblem
from mercer.problems.products import Products

Long = np.longdouble


def posed(seed, intercept, kind=ManifoldProblem, hinge=False):
    """Return a matrix, its graph in extended precision, and a problem on them."""
    rng = np.random.default_rng(seed)
    n = 30
    X = rng.standard_normal((n, 2))
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = 10.0 ** rng.uniform(-3, 3) * np.exp(-(10.0 ** rng.uniform(-1, 1)) * squares)
    K += 1e-3 * K.max() * np.eye(n)
    K = (K + K.T) / 2
    gram = GivenGram(K, Definite.POSITIVE)
    graph = neighbour_graph(gram, 5, "heat")
    normalized, power = bool(rng.integers(2)), int(rng.integers(1, 3))
    mu, a = 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-3, 1)
    rows = np.sort(rng.choice(n, 12, replace=False))
    y = np.where(np.arange(12) % 3 > 0, 1.0, -1.0) if hinge else 10 * rng.standard_normal(12) + 50
    weights = rng.uniform(0.5, 2, 12)
    rough = Roughness(graph.laplacian(normalized), mu, power)
    W = graph.weights.toarray().astype(Long)
    degrees = W.sum(axis=1)
    L = np.diag(degrees) - W
    if normalized:
        scale = 1 / np.sqrt(degrees)
        L = np.eye(n, dtype=Long) - scale[:, None] * W * scale
    R = Long(mu) * np.linalg.matrix_power(L, power)
    problem = kind(rows, y, weights, a, rough, hinge, intercept)
    return gram, K.astype(Long), R, problem


def primal(problem, K, R, coef, bias):
    """Return the primal value in extended precision."""
    f = K @ coef.astype(Long)
    e = problem.y.astype(Long) - f[problem.rows] - Long(bias)
    losses = problem.weights * e**2 / 2
    if isinstance(problem, HingeManifoldProblem):
        losses = problem.weights * np.maximum(0, problem.y * e)
    elif problem.hinge:
        losses = np.where(problem.y * e > 0, losses, 0)
    return losses.sum() + Long(problem.penalty) * (coef @ f) / 2 + f @ R @ f / 2


def optimum(problem, K, R):
    """Return c and b with squared errors: af + Rf = β and Σβ = 0, refined in extended precision."""
    n = len(K)
    D = np.zeros((n, n), dtype=Long)
    D[problem.rows, problem.rows] = problem.weights
    A = np.zeros((n + 1, n + 1), dtype=Long)
    A[:n, :n] = problem.penalty * np.eye(n) + (R + D) @ K
    A[:n, n] = D.sum(axis=1)
    A[n, :n], A[n, n] = D.sum(axis=1) @ K, D.sum()
    right = np.zeros(n + 1, dtype=Long)
    right[problem.rows] = problem.weights * problem.y
    right[n] = (problem.weights * problem.y).sum()
    if not problem.intercept:
        A, right = A[:n, :n], right[:n]
    x, plain = np.zeros(len(A), dtype=Long), A.astype(float)
    for _ in range(12):
        x = x + np.linalg.solve(plain, (right - A @ x).astype(float)).astype(Long)
    return x[:n], x[n] if problem.intercept else Long(0)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_optimum_is_inside_however_near_the_answer(intercept):
    for seed in range(40):
        gram, K, R, problem = posed(seed, intercept)
        coef, bias = optimum(problem, K, R)
        best = primal(problem, K, R, coef, bias)
        near = coef.astype(float)
        if seed % 2:
            near = near * (1 + 1e-9 * np.random.default_rng(seed).standard_normal(len(near)))
        answer = ManifoldFunctions(near[:, None], np.array([float(bias)]))
        judged = ManifoldProblems([problem]).certify(answer, gram)
        assert judged.lower <= best <= judged.upper, seed
        assert abs(primal(problem, K, R, near, float(bias)) - judged.primal) <= judged.rounding
        assert judged.rounding <= 1e-6 * best, seed


@pytest.mark.parametrize("kind", [ManifoldProblem, HingeManifoldProblem])
def test_values_of_hinges_are_within_their_rounding(kind):
    for seed in range(20):
        gram, K, R, problem = posed(seed, False, kind, hinge=True)
        coef = np.random.default_rng(seed).standard_normal(len(K))
        judged = ManifoldProblems([problem]).certify(
            ManifoldFunctions(coef[:, None], np.zeros(1)), gram
        )
        found = primal(problem, K, R, coef, 0.0)
        assert abs(found - judged.primal) <= judged.rounding


def test_a_sum_that_is_not_zero_is_paid_for():
    """β of another constant breaks Σβ = 0; moved at one label it bounds the optimum again."""
    for seed in range(20):
        gram, K, R, problem = posed(seed, True)
        coef, bias = optimum(problem, K, R)
        best = primal(problem, K, R, coef, bias)
        rows = np.arange(len(K))
        f = Products(gram, coef.astype(float)[:, None]).part(rows, 0)
        # The constant that is best but for a little.
        beta = problem.weights * (problem.y - f.f[problem.rows] - float(bias) - 1e-4)
        gamma = -problem.roughness(f.f)
        gamma[problem.rows] += beta
        point = DualPoint(beta, f.f, gamma / problem.penalty)
        image = Products(gram, point.coef[:, None]).part(rows, 0)
        bare = problem.judge(coef.astype(float), f.f, float(bias), point, image.f)
        paid = bounded(problem, bare, coef.astype(float), float(bias), point, f, image)
        assert paid.lower <= best
        assert paid.dual < bare.dual
