"""Losses of rows by loops and differences, and what rounding does to machines on landmarks."""

import math
import sys

import numpy as np
import pytest

from mercer import RBF
from mercer.exceptions import InvalidInput
from mercer.gram.given import GivenGram
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.chunks import ArrayChunks, Chunk
from mercer.landmarks.landmark_gram import LandmarkGram, landmark_cost
from mercer.problems.landmark_bounds import LandmarkRounding
from mercer.problems.landmark_losses import (
    LOSSES,
    Curvatures,
    Curve,
    LandmarkClasses,
    Line,
    Slope,
)
from mercer.problems.landmark_squares import (
    LandmarkFunctions,
    LandmarkRidge,
    RidgeCurve,
    RidgeErrors,
)
from tests.problems.digits import COARSE, FINE, set_unit

U = FINE


@pytest.fixture(autouse=True, params=[FINE, COARSE], ids=["fine", "coarse"])
def unit(request, monkeypatch):
    """Take each unit of rounding in turn, here and in the problems."""
    monkeypatch.setattr(sys.modules[__name__], "U", request.param)
    set_unit(monkeypatch, request.param)


LABELS = {2: np.array([0, 1, 1, 0]), 3: np.array([2, 0, 1, 2])}


def loss_by_hand(name, u, label, classes):
    """Return the losses of one row: one for each function, or one of all."""
    if classes == 2:
        t = 1.0 if label else -1.0
        if name == "logistic":
            return [math.log1p(math.exp(-t * u[0]))]
        return [max(0.0, 1 - t * u[0]) ** 2]
    if name == "logistic":
        return [math.log(sum(math.exp(v) for v in u)) - u[label]]
    return [max(0.0, 1 - (1 if c == label else -1) * u[c]) ** 2 for c in range(classes)]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_losses_by_hand_and_their_derivatives(name, classes):
    loss, labels = LOSSES[name](classes), LABELS[classes]
    rng = np.random.default_rng(0)
    U0 = 2 * rng.normal(size=(4, loss.functions))
    assert loss.functions == (1 if classes == 2 else 3)
    truth = [loss_by_hand(name, u, y, classes) for u, y in zip(U0.tolist(), labels, strict=True)]
    np.testing.assert_allclose(loss.values(U0, labels), truth)
    h, step = 1e-5, rng.normal(size=U0.shape)
    ahead, behind = (loss.values(U0 + t * step, labels).sum() for t in (h, -h))
    slope = loss.negative_gradient(U0, labels)
    assert (slope * step).sum() == pytest.approx(-(ahead - behind) / (2 * h), rel=1e-7)
    turned = loss.negative_gradient(U0 + h * step, labels)
    turned -= loss.negative_gradient(U0 - h * step, labels)
    product = loss.hessian_product(U0, step, labels)
    np.testing.assert_allclose(product, -turned / (2 * h), atol=1e-7)
    diagonal = loss.hessian_diagonal(U0, labels)
    for c in range(loss.functions):
        unit = np.zeros_like(U0)
        unit[:, c] = 1.0
        np.testing.assert_allclose(
            diagonal[:, c], loss.hessian_product(U0, unit, labels)[:, c], atol=1e-12
        )
    # Fenchel and Young: the loss and its conjugate add up to the product at a slope.
    paired = loss.values(U0, labels).reshape(4, -1).sum(axis=1) + (slope * U0).sum(axis=1)
    np.testing.assert_allclose(loss.dual_value(slope, labels), paired, atol=1e-12)
    other = loss.negative_gradient(U0 + step, labels)
    below = loss.values(U0, labels).reshape(4, -1).sum(axis=1) + (other * U0).sum(axis=1)
    assert (loss.dual_value(other, labels) <= below + 1e-12).all()


class Basis:
    """Landmarks whose matrix K_MM has the factor L."""

    def __init__(self, factor):
        self.factor = factor

    def __len__(self):
        return len(self.factor)

    def coefficients(self, W):
        return np.linalg.solve(self.factor.T, W)


def test_bounds_are_sums_over_landmarks_and_rows():
    L = np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-0.5, 0.25, 1.0]])
    found = LandmarkRounding(Basis(L), 100, 1.5, 250.0)
    of_sum, of_landmarks = 4 * 116 * U, 4 * 19 * U
    assert found.of_sum == pytest.approx(of_sum)
    W = np.array([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0]])
    lengths = np.sqrt(np.diag(L @ L.T))
    sizes = lengths @ np.abs(np.linalg.solve(L.T, W))
    np.testing.assert_allclose(found.sizes(W), sizes)
    constants = np.array([0.25, -4.0])
    expected = of_landmarks * (1.5 * sizes + np.abs(constants))
    np.testing.assert_allclose(found.of_values(W, constants), expected)
    np.testing.assert_allclose(found.of_norms(W), of_landmarks * sizes**2)
    G, most = np.array([[1.0, 2.0], [-3.0, 0.5], [0.25, -1.0]]), np.array([10.0, 20.0])
    # Sums over rows, and the solution of a triangular system, both through ∣L⁻¹∣.
    sums = of_sum * 1.5 * np.outer(lengths, most)
    off = np.abs(np.linalg.inv(L)) @ (sums + of_landmarks * np.abs(L) @ np.abs(G))
    squares = 2 * of_landmarks * (lengths @ np.abs(np.linalg.solve(L.T, G))) ** 2
    expected = (off * (2 * np.abs(G) + off)).sum(axis=0) + squares
    np.testing.assert_allclose(found.of_combined(G, most), expected)


# ---- certificates of functions of landmarks, by sums over the rows ------------------------------


def landmark_case(targets, classes=0, size=1.0):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    kernel = RBF(gamma=0.5)
    basis = LandmarkBasis.for_passes(kernel, kernel.encode(X[:4]))
    Y = rng.integers(0, classes, 30) if classes else size * rng.normal(size=(30, targets))
    s = rng.uniform(0.5, 2.0, 30)
    chunks = ArrayChunks(X, Y, s, 8)

    def gram(constant):
        return LandmarkGram(basis, BlockPasses(kernel, basis.points, chunks, constant))

    Z = np.linalg.solve(basis.factor, kernel(basis.points, X)).T  # features of the rows
    np.testing.assert_allclose(basis.factor @ basis.factor.T, kernel(basis.points), atol=1e-12)
    # Scales at which rounding is as large as values, so that each of its terms shows.
    rounding = LandmarkRounding(basis, 10**14, 1e3, float(s.sum()))
    return Y, s, Z, gram, rounding, rng


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
def test_ridge_on_landmarks_by_sums_over_rows(targets, constant):
    Y, s, Z, gram, rounding, rng = landmark_case(targets)
    alpha = 0.5
    problem = LandmarkRidge(alpha, constant, targets)
    W, b = rng.normal(size=(4, targets)), rng.normal(size=targets) * constant
    value, low = LandmarkFunctions(W, b), gram(constant)
    errors = Y - Z @ W - b
    found = problem.prove(value, low, rounding, s @ Y**2)
    primal = (s @ errors**2).sum() / 2 + alpha * (W**2).sum() / 2
    assert found.primal == pytest.approx(primal)
    shift = s @ errors / s.sum() if constant else np.zeros(targets)
    best = errors - shift
    G = Z.T @ (s[:, None] * best)
    dual = (s[:, None] * best * Y).sum() - (s @ best**2).sum() / 2 - (G**2).sum() / (2 * alpha)
    assert found.dual == pytest.approx(dual)
    assert found.stationarity == pytest.approx(np.abs(G - alpha * W).max())
    assert found.problem == "kernel ridge regression, Nyström with 4 landmarks"
    mass, squares, yy = s.sum(), s @ errors**2, s @ Y**2
    off = rounding.of_values(W, b)
    size = np.sqrt(mass * squares)
    above = size * off + mass * off**2 / 2 + rounding.of_sum * squares
    above += alpha * rounding.of_norms(W)
    reach = 2 * size + 2 * np.sqrt(mass * yy) + np.abs(shift) * mass
    moved = squares + shift**2 * mass
    below = rounding.of_combined(G, reach) / (2 * alpha)
    below += rounding.of_sum * (np.sqrt(moved * yy) + moved)
    assert found.rounding == pytest.approx(max(above.sum(), below.sum()))
    # Without functions, and of short rows, only the sums of the dual value are uncertain.
    nothing = LandmarkFunctions(np.zeros_like(W), np.zeros_like(b))
    short = LandmarkRounding(low.basis, 10**14, 1e-12, mass)
    alone = problem.prove(nothing, low, short, s @ Y**2)
    shift = s @ Y / mass if constant else np.zeros(targets)
    moved = yy + shift**2 * mass
    below = short.of_sum * (np.sqrt(moved * yy) + moved)
    if U == FINE:
        assert alone.rounding == pytest.approx(below.sum(), rel=1e-6)
    # With few rows and a large penalty the other value is the uncertain one.
    few = LandmarkRounding(low.basis, 10, 1e12, mass)
    stiff = LandmarkRidge(1e12, constant, targets).prove(value, low, few, s @ Y**2)
    off = few.of_values(W, b)
    above = size * off + mass * off**2 / 2 + few.of_sum * squares + 1e12 * few.of_norms(W)
    assert stiff.rounding == pytest.approx(above.sum())


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", LOSSES)
def test_classes_on_landmarks_by_sums_over_rows(name, classes, constant):
    y, s, Z, gram, rounding, rng = landmark_case(1, classes)
    loss, C = LOSSES[name](classes), 0.25
    problem, low = LandmarkClasses(loss, C, constant), gram(constant)
    W = rng.normal(size=(4, loss.functions))
    b = rng.normal(size=loss.functions) * constant
    value = LandmarkFunctions(W, b)
    found = problem.prove(value, low, rounding)
    F = Z @ W + b
    total = C * sum(s[i] * sum(loss_by_hand(name, F[i].tolist(), y[i], classes)) for i in range(30))
    slopes = loss.negative_gradient(F, y)
    beta = C * s[:, None] * slopes
    gained = C * s @ loss.dual_value(slopes, y)
    G = Z.T @ beta
    lost = (np.abs(beta.sum(axis=0)) * (2 * np.abs(b) + 1)).sum() if constant else 0.0
    assert found.primal == pytest.approx(total + (W**2).sum() / 2)
    assert found.dual == pytest.approx(gained - (G**2).sum() / 2 - lost)
    assert found.stationarity == pytest.approx(np.abs(G - W).max())
    drift = np.abs(beta.sum(axis=0)).max() if constant else 0.0
    assert found.dual_feasibility == pytest.approx(drift)
    mass, off = C * s.sum(), rounding.of_values(W, b).sum()
    steep = 2 * mass + (2 * math.sqrt(mass * total) if name == "squared_hinge" else 0.0)
    above = rounding.of_norms(W).sum() + steep * off
    above += mass * off * off if name == "squared_hinge" else 0.0
    size = (1e3 * rounding.sizes(W) + np.abs(b)).max()
    above += rounding.of_sum * (total + mass) + 16 * U * mass * (1 + size)
    below = rounding.of_combined(G, np.full(loss.functions, steep)).sum() / 2
    below += rounding.of_sum * (abs(gained) + classes * mass)
    if constant:
        below += rounding.of_sum * steep * (2 * np.abs(b) + 1).sum()
    assert found.rounding == pytest.approx(max(above, below))
    # Large functions on few and short rows, so that the primal value is the uncertain one.
    large, large_b, few = 30 * W, 30 * b, LandmarkRounding(low.basis, 10, 0.5, float(s.sum()))
    F = Z @ large + large_b
    total = C * sum(s[i] * sum(loss_by_hand(name, F[i].tolist(), y[i], classes)) for i in range(30))
    off = few.of_values(large, large_b).sum()
    steep = 2 * mass + (2 * math.sqrt(mass * total) if name == "squared_hinge" else 0.0)
    above = few.of_norms(large).sum() + steep * off
    above += mass * off * off if name == "squared_hinge" else 0.0
    size = (0.5 * few.sizes(large) + np.abs(large_b)).max()
    above += few.of_sum * (total + mass) + 16 * U * mass * (1 + size)
    beside = problem.prove(LandmarkFunctions(large, large_b), low, few)
    if name == "logistic":
        assert beside.rounding == pytest.approx(above, rel=1e-9, abs=0)
    else:
        assert beside.rounding >= above * (1 - 1e-9)
    # Where there is no function yet and rows are short, only sums over rows are uncertain.
    nothing = LandmarkFunctions(np.zeros_like(W), np.zeros_like(b))
    short = LandmarkRounding(low.basis, 10**14, 1e-12, float(s.sum()))
    alone = problem.prove(nothing, low, short)
    own = math.log(classes) if name == "logistic" else float(loss.functions)
    total = mass * own
    steep = 2 * mass + (2 * math.sqrt(mass * total) if name == "squared_hinge" else 0.0)
    below = short.of_sum * (mass * own + classes * mass)
    below += short.of_sum * steep * loss.functions if constant else 0.0
    above = short.of_sum * (total + mass) + 16 * U * mass
    assert alone.rounding == pytest.approx(max(above, below), rel=1e-6 if U == FINE else 0.05)
    still = loss.negative_gradient(np.zeros((30, loss.functions)), y)
    cheap = LandmarkClasses(loss, 2.0**-20, constant).certify(nothing, low)
    largest = np.abs(Z.T @ (s[:, None] * still)).max()
    assert cheap.stationarity == pytest.approx(2.0**-20 * largest)
    assert found.problem.startswith(f"{loss.name} classification")
    with pytest.raises(InvalidInput, match="not one on landmarks"):
        problem.certify(value, GivenGram(np.eye(30)))


# ---- what rules make of rows ---------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", LOSSES)
def test_rules_of_rows(name, classes, weighted):
    """Slopes, second derivatives and losses along a line, with the totals that are summed."""
    loss, y, C = LOSSES[name](classes), LABELS[classes], 0.25
    rng = np.random.default_rng(4)
    s = np.array([1.0, 2.0, 0.5, 4.0]) if weighted else None
    w = C * (np.ones(4) if s is None else s)
    chunk, q = Chunk(np.zeros((4, 1)), y, s), loss.functions
    U0, D = rng.normal(size=(4, q)), rng.normal(size=(4, q))

    def total(U):
        rows = [loss_by_hand(name, u, c, classes) for u, c in zip(U.tolist(), y, strict=True)]
        return sum(a * sum(b) for a, b in zip(w, rows, strict=True))

    found = Slope(loss, C)(U0, chunk)
    slopes = loss.negative_gradient(U0, y)
    np.testing.assert_allclose(found.R, w[:, None] * slopes)
    gained = w @ loss.dual_value(slopes, y)
    used = np.count_nonzero(slopes) / q
    np.testing.assert_allclose(found.totals, [total(U0), gained, used])
    both = np.hstack([U0, D])
    bent = Curve(loss, C)(both, chunk)
    np.testing.assert_allclose(bent.R, w[:, None] * loss.hessian_product(U0, D, y))
    assert bent.totals.shape == (0,)
    steps = Line(loss, C, (0.0, 0.5, -2.0))(both, chunk)
    assert steps.R.shape == (4, 0)
    values = np.ravel([np.sum(each) for each in steps.totals])
    np.testing.assert_allclose(values, [total(U0 + t * D) for t in (0.0, 0.5, -2.0)])
    diagonal = w[:, None] * loss.hessian_diagonal(U0, y)
    np.testing.assert_allclose(Curvatures(loss, C, False)(U0, chunk), diagonal)
    np.testing.assert_allclose(
        Curvatures(loss, C, True)(U0, chunk), diagonal.mean(axis=1, keepdims=True)
    )


@pytest.mark.parametrize("constant", [False, True])
def test_what_landmarks_do_not_see(constant):
    """Each row has a part that no landmark spans, of length √(1 − ‖z‖²)."""
    Y, s, Z, gram, _, rng = landmark_case(2)
    hidden = np.sqrt(np.maximum(1 - (Z**2).sum(axis=1), 0.0))
    W, b, alpha = rng.normal(size=(4, 2)), rng.normal(size=2) * constant, 0.5
    errors = Y - Z @ W - b
    shift = s @ errors / s.sum() if constant else np.zeros(2)
    best = errors - shift
    square = ((Z.T @ (s[:, None] * best)) ** 2).sum(axis=0) / alpha
    dual = (s[:, None] * best * Y).sum(axis=0) - (s @ best**2) / 2 - square / 2
    unseen = (s * hidden) @ (np.abs(errors) + np.abs(shift))
    cost = landmark_cost(dual, square + s @ best**2, unseen**2 / alpha)
    found = LandmarkRidge(alpha, constant, 2).certify(LandmarkFunctions(W, b), gram(constant))
    assert found.approximation_cost == pytest.approx(cost)
    for t in (2.0**-20, 2.0**20):  # in other units
        low = landmark_case(2, size=t)[3](constant)
        seen = LandmarkRidge(alpha, constant, 2).certify(LandmarkFunctions(t * W, t * b), low)
        assert seen.stationarity == pytest.approx(t * found.stationarity)
        assert seen.primal == pytest.approx(t * t * found.primal)


@pytest.mark.parametrize("weighted", [False, True])
def test_rules_of_ridge(weighted):
    s = np.array([1.0, 2.0, 0.5, 4.0]) if weighted else None
    w = np.ones(4) if s is None else s
    rng = np.random.default_rng(4)
    Y, U0 = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    chunk, e = Chunk(np.zeros((4, 1)), Y, s), Y - U0
    found = RidgeErrors()(U0, chunk)
    np.testing.assert_allclose(found.R, np.column_stack([w[:, None] * e, w]))
    np.testing.assert_allclose(found.totals, [w @ e**2, w @ (e * Y), w @ Y])
    bent = RidgeCurve()(U0, chunk)
    np.testing.assert_allclose(bent.R, w[:, None] * U0)
    assert bent.totals.shape == (0,)
