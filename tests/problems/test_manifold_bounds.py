"""Intervals of machines on a graph hold the optimum of the float64 problem, rounding included."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mercer.gram.base import Definite
from mercer.gram.given import GivenGram
from mercer.gram.neighbours import neighbour_graph
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import Curvature
from mercer.problems.manifold import (
    DualPoint,
    ManifoldFunctions,
    ManifoldProblem,
    ManifoldProblems,
    Roughness,
)
from mercer.problems.manifold_bounds import bounded
from mercer.problems.manifold_hinge import HingeManifoldProblem
from mercer.problems.products import BoundedProduct, Products
from tests.problems.digits import COARSE, set_unit

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


# ---- all parts of the bounds, in coarse arithmetic -----------------------------------------------

LINE = sparse.csr_array(np.array([[1.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]]))


def gamma(sizes):
    return (np.size(sizes) + 16) * COARSE * float(np.sum(np.abs(sizes)))


def case(kind, intercept, power, large, monkeypatch):
    """Return a problem on a line of four points, any functions, and products of any errors."""
    set_unit(monkeypatch, COARSE)
    rng = np.random.default_rng(2)
    rows, y, w = np.array([0, 2, 3]), np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 0.5])
    make = HingeManifoldProblem if kind == "hinge" else ManifoldProblem
    problem = make(rows, y, w, 0.75, Roughness(LINE, 0.5, power), kind != "squares", intercept)
    errors = (2.0**-6 if large else 0.0) * rng.uniform(0.5, 1, (2, 4))
    f, image = (
        BoundedProduct(rng.normal(size=4), error, rng.uniform(1, 2, 4), Curvature())
        for error in errors
    )
    beta = y * np.array([0.25, 0.75, 0.125])
    point = DualPoint(beta, rng.normal(size=4), rng.normal(size=4))
    return problem, rng.normal(size=4), f, image, point


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("kind", ["squares", "squared hinge", "hinge"])
def test_all_parts_of_both_bounds(kind, power, large, monkeypatch):
    problem, coef, f, image, point = case(kind, False, power, large, monkeypatch)
    u, bias, a, w, y = COARSE, 0.25, 0.75, problem.weights, problem.y
    L = LINE.toarray()
    R = 0.5 * np.linalg.matrix_power(L, power)

    def rough(v):
        sizes = np.linalg.matrix_power(np.abs(L), power) @ np.abs(v)
        return R @ v, (power * (2 * 3 + 16) + 2) * u * 0.5 * sizes

    at = f.f[problem.rows]
    off = f.errors[problem.rows] + 2 * u * (1.0 + np.abs(at) + abs(bias))
    e = y - at - bias
    if kind == "hinge":
        losses, change = w * np.maximum(y * e, 0), w * off
    else:
        e = np.where(y * e > 0, e, 0.0) if kind == "squared hinge" else e
        losses, change = w * e**2 / 2, w * (np.abs(e) * off + off**2 / 2)
    bent, bent_off = rough(f.f)
    above = change.sum() + gamma(losses)
    above += a * (np.abs(coef) @ f.errors + gamma(coef * f.f)) / 2
    above += f.errors @ (np.abs(bent) + bent_off) + 0.5 * 4**power * (f.errors @ f.errors)
    above += (np.abs(f.f) @ bent_off + gamma(f.f * bent)) / 2
    beta, s, g = point.beta, point.values, point.coef
    bent, bent_off = rough(s)
    away = (bent_off + 2 * u * np.abs(bent)) / a + 3 * u * np.abs(g)
    norm = 2 * away @ (np.abs(image.f) + image.errors) + (away @ image.roots) ** 2
    norm += np.abs(g) @ image.errors
    gains = beta * y - (0 if kind == "hinge" else beta**2 / (2 * w))
    below = gamma(gains) + (np.abs(s) @ bent_off + gamma(s * bent)) / 2
    below += a * (norm + gamma(g * image.f)) / 2
    for values in ((f, coef), (BoundedProduct(0 * f.f, 0 * f.errors, f.roots, Curvature()), None)):
        if values[1] is None:  # nothing is uncertain but the dual value, and losses of y − b
            e = y - bias
            off = 2 * u * (1.0 + abs(bias)) * np.ones(3)
            losses = w * np.maximum(y * e, 0) if kind == "hinge" else w * e**2 / 2
            change = w * off if kind == "hinge" else w * (np.abs(e) * off + off**2 / 2)
            above = change.sum() + gamma(losses)
        judged = Certificate("any", primal=3.0, dual=5.0, stationarity=0.0)
        found = bounded(problem, judged, coef, bias, point, values[0], image)
        assert found.rounding == pytest.approx(max(above, below) + 16 * u * 8.0, rel=1e-9, abs=0)
        assert found.dual == 5.0  # no sum has to be 0
    assert below > above


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("kind", ["squares", "squared hinge", "hinge"])
def test_prices_of_sums(kind, large, monkeypatch):
    """β is moved at the label where that costs least, of those that allow it."""
    problem, coef, f, image, point = case(kind, True, 1, large, monkeypatch)
    judged = Certificate("any", primal=30.0, dual=20.0, stationarity=0.0)
    missing = point.beta.sum()
    assert missing == -0.375
    prices = []
    for i, row in enumerate(problem.rows):
        w, y, b = problem.weights[i], problem.y[i], point.beta[i]
        slope, bend = (y, 0.0) if kind == "hinge" else (y - b / w, 1 / w)
        far = abs(slope - image.f[row]) + image.errors[row]
        price = 0.375 * far + 0.375**2 * (bend + image.roots[row] ** 2 / 0.75) / 2
        after = y * (b + 0.375)
        fits = after >= 0 and (kind != "hinge" or after <= w)
        prices.append(price if kind == "squares" or fits else math.inf)
    found = bounded(problem, judged, coef, 0.25, point, f, image)
    assert 20.0 - found.dual == pytest.approx(min(prices) * (1 + 1e-6), rel=1e-12)
    # A sum of 0 costs nothing, and one that no label can take up has no bound but 0.
    even = DualPoint(problem.y * np.array([0.25, 0.375, 0.125]), point.values, point.coef)
    assert bounded(problem, judged, coef, 0.25, even, f, image).dual == 20.0
    crowd = replace(problem, y=np.ones(3))
    together = DualPoint(np.array([0.25, 0.125, 0.25]), point.values, point.coef)
    assert (bounded(crowd, judged, coef, 0.25, together, f, image).dual > 0) == (kind == "squares")
    if kind != "squares":  # signs that the dual does not take
        wrong = DualPoint(-point.beta, point.values, point.coef)
        assert bounded(problem, judged, coef, 0.25, wrong, f, image).dual == 0.0


@pytest.mark.parametrize("hinge", [False, True])
def test_losses_change_by_as_much_as_errors_may(hinge):
    y, w = np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 0.5])
    problem = ManifoldProblem(np.arange(3), y, w, 1.0, Roughness(LINE, 0.0), hinge, False)
    u, off = np.array([0.5, -3.0, 0.25]), np.array([2.0, 0.5, 1.0])
    e = [0.5, 0.0 if hinge else 2.0, 0.75]
    expected = [w[i] * (e[i] * off[i] + off[i] ** 2 / 2) for i in range(3)]
    np.testing.assert_allclose(problem.loss_change(u, 0.0, off), expected)


def test_multipliers_on_their_bounds_are_allowed():
    y, w = np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 0.5])
    tiny = 1e-300
    for make, hinge in (
        (ManifoldProblem, False),
        (ManifoldProblem, True),
        (HingeManifoldProblem, True),
    ):
        problem = make(np.arange(3), y, w, 1.0, Roughness(LINE, 0.0), hinge, False)
        assert problem.allows(np.zeros(3)).all()
        assert problem.allows(y * w).all()
        assert problem.allows(-y * tiny).any() == (not hinge)
        above = problem.allows(y * np.nextafter(w, np.inf))
        assert above.any() == (make is ManifoldProblem)


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_how_far_out_multipliers_of_the_hinge_may_be(size):
    """By 1e-6 of what there is, or of 1 where that is little."""
    y, w = np.array([1.0, -1.0, 1.0]), size * np.ones(3)
    problem = HingeManifoldProblem(np.arange(3), y, w, 1.0, Roughness(LINE, 0.0), True, False)
    for share, holds in ((0.9, True), (1.1, False)):
        beta = y * w
        beta[0] += share * 1e-6 * max(1.0, 3 * size)
        point = DualPoint(beta, np.zeros(4), np.zeros(4))
        found = problem.judge(np.zeros(4), np.zeros(4), 0.0, point, np.zeros(4))
        assert math.isfinite(found.dual) == holds
        assert found.dual_feasibility == pytest.approx(beta[0] - size)
