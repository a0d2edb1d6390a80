"""Bounds of rounding as a whole, at points where all of their parts are of one size.

Each is put together anew from its parts: γ of a sum of s products of sizes zᵢ is (s + 16) u Σ zᵢ,
for u of float64 and for one so large that no part hides.
"""

import math
import sys

import numpy as np
import pytest

from mercer.gram.feature_gram import FeatureGram
from mercer.problems import linear
from mercer.problems.design_products import Bounded, DesignProducts
from mercer.problems.elastic_net import Design, LassoProblem
from mercer.problems.linear import LinearAnswer, LinearCrammerSinger, SparseClassifier
from mercer.problems.logistic import LinearLogisticProblem, LogisticAnswer
from mercer.problems.multi_task import MultiTaskProblem
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalties import Huber, LogBarrier
from mercer.problems.penalty_problems import (
    ChebyshevProblem,
    PenaltyAnswer,
    PenaltyProblem,
    VertexAnswer,
)
from mercer.problems.sparse_logistic import SparseLogisticProblem
from mercer.problems.squares_bounds import _dual_point, prove_squares
from mercer.problems.vector_norms import Lp
from tests.problems.digits import COARSE, FINE, set_unit

U = FINE


@pytest.fixture(autouse=True, params=[FINE, COARSE], ids=["fine", "coarse"])
def unit(request, monkeypatch):
    """Take each unit of rounding in turn, here and in the problems."""
    monkeypatch.setattr(sys.modules[__name__], "U", request.param)
    set_unit(monkeypatch, request.param)


def near(bound):
    """Differences of losses that are almost equal have few digits where u is small."""
    return pytest.approx(bound, rel=0.02 if U == FINE else 1e-7, abs=0)


def numbers(seed=17):
    return np.random.default_rng(seed)


X = numbers().normal(size=(6, 3))
GRAM = FeatureGram.of_rows(X)
C = PRICES = numbers().uniform(0.5, 2.0, 6)
SIGNS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
LABELS = np.array([0, 1, 2, 1, 0, 2])


def gamma(sizes):
    sizes = np.asarray(sizes)
    return (sizes.size + 16) * U * float(sizes.sum())


def product(W):
    """Return XW and how far it may be off."""
    return X @ W, (3 + 16) * U * (np.abs(X) @ np.abs(W))


def transposed(B):
    """Return XᵀB, how far it may be off, and the sizes of its terms."""
    sizes = np.abs(X).T @ np.abs(B)
    return X.T @ B, (6 + 16) * U * sizes, sizes


def squares_off(V, errors):
    return float((errors * (2 * np.abs(V) + errors)).sum()) + gamma(V * V)


@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kind", ["hinge", "margins", "tube", "squares"])
def test_linear_machines(kind, size, constant):
    if kind in ("hinge", "margins"):
        problem = linear.classifier(SIGNS, C, kind == "margins", constant)
    else:
        problem = linear.regressor(2.0 * SIGNS, C, 0.3, kind == "squares", constant)
    w = size * np.array([0.5, -1.0, 0.7, 0.4][: 3 + bool(constant)])
    beta = np.clip(np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.2]) / size, problem.lo, problem.hi)
    rows = np.column_stack([X, np.full(6, constant)])[:, : len(w)]
    values, errors = rows @ w, (3 + 16) * U * (np.abs(rows) @ np.abs(w))
    total, sizes = rows.T @ beta, np.abs(rows).T @ np.abs(beta)
    off = errors + 4 * U * (np.abs(problem.p) + np.abs(values))
    r = problem.p - values
    most = np.maximum(problem.losses(r + off), problem.losses(r - off))
    above = float((most - problem.losses(r)).sum()) + gamma(most) + gamma(w * w / 2)
    terms = np.abs(problem.p * beta) + problem.epsilon * np.abs(beta) + problem.D * beta**2 / 2
    below = gamma(terms) + squares_off(total, (6 + 16) * U * sizes) / 2
    found = problem.prove(LinearAnswer(w, beta), GRAM)
    assert found.rounding == near(max(above, below))


@pytest.mark.parametrize(("size", "price"), [(0.05, 1), (0.5, 1), (5.0, 1), (0.0, 2.0**-7)])
def test_sparse_classifiers(size, price):
    C = price * PRICES
    problem, w = SparseClassifier(SIGNS, C), size * np.array([0.5, -1.0, 0.0])
    values, errors = product(w)
    off = errors + 4 * U * (1 + np.abs(values))
    excess = np.maximum(1 - SIGNS * values, 0)
    alpha = 2 * C * excess
    pull, errors, _ = transposed(SIGNS * alpha)
    limit = 1 / ((np.abs(pull) + errors).max() * (1 + 4 * U))
    share = min(alpha.sum() / (alpha**2 / (2 * C)).sum(), limit)
    alpha = share * alpha
    most = C * np.maximum(1 - SIGNS * values + off, 0) ** 2
    above = float((most - C * excess**2).sum()) + gamma(most) + gamma(np.abs(w))
    below = gamma(alpha) + gamma(alpha**2 / (4 * C))
    found = problem.prove(LinearAnswer(w, np.zeros(6)), GRAM)
    assert found.rounding == near(max(above, below))
    assert found.dual == pytest.approx(alpha.sum() - (alpha**2 / (4 * C)).sum(), rel=1e-12)
    assert (below > above) == (size == 0)
    # What rounding may add to the constraints is inside of them.
    assert share * (np.abs(pull) + errors).max() <= 1


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_all_classes_at_once(size):
    W = size * np.arange(-4.0, 5.0).reshape(3, 3) / 4
    alpha = -np.abs(numbers(5).normal(size=(6, 3))) / 10
    alpha[np.arange(6), LABELS] = 0.0
    alpha[np.arange(6), LABELS] = -alpha.sum(axis=1)
    problem = LinearCrammerSinger(LABELS, C, 3)
    values, errors = product(W)
    off = errors + 4 * U * (1 + np.abs(values))
    above = 2 * float(C @ off.max(axis=1)) + gamma(W * W / 2)
    above += gamma(C * (1 + 2 * np.abs(values).max(axis=1)))
    total, errors, sizes = transposed(alpha)
    below = squares_off(total, errors) / 2 + gamma(np.abs(alpha))
    below += (3 + 4) * U * float((np.abs(total) * sizes).sum())
    found = problem.prove(LinearAnswer(W, alpha), GRAM)
    assert found.rounding == pytest.approx(max(above, below), rel=1e-6, abs=0)


def test_multipliers_on_their_bound_stay_a_little_below_it():
    problem = LinearCrammerSinger(np.zeros(2, int), np.array([0.5, 2.0]), 3)
    inside = problem._feasible(np.array([[9.0, -1.0, -1.0], [1.0, -0.5, -0.5]]))
    limit = 0.5 * (1 - 7 * U)
    np.testing.assert_allclose(inside[0], [limit, -limit / 2, -limit / 2], rtol=1e-16)
    assert inside[0, 0] < 0.5
    np.testing.assert_array_equal(inside[1], [1.0, -0.5, -0.5])


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("size", [0.1, 1.0])
@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.0), (0.5, 0.7), (0.0, 0.7), (1e6, 1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_penalised_squares(l1, l2, size, positive, weighted):
    y, w = numbers(5).normal(size=6), size * np.array([0.5, 0.0, 1.0])
    weights = C if weighted else None
    problem = LassoProblem(y, l1, l2, positive, weights=weights)
    s = C if weighted else np.ones(6)
    values, errors = product(w)
    r, off = y - values, errors + 4 * U * (np.abs(y) + np.abs(values))
    above = float(s @ (np.abs(r) * off + off * off / 2)) + gamma(s * r * r)
    above += gamma(l1 * np.abs(w) + l2 * w * w / 2)
    nu = s * r
    c, errors, _ = transposed(nu)
    reach = errors + 4 * U * l1
    onto, norm = gamma(np.abs(y * nu)), gamma(nu * nu / s)
    sized = c if positive else np.abs(c)
    slopes = c - l2 * w
    worst = ((slopes if positive else np.abs(slopes)) + reach).max()
    duals = []
    for share in {min(1.0, l1 / max(worst, 1e-300)), 1.0} if l2 else {min(1.0, l1 / worst)}:
        value = share * (y @ nu) - share**2 * (nu * nu / s).sum() / 2
        below = share * onto + share**2 * norm / 2
        if l2:
            excess = np.maximum(share * sized - l1, 0) ** 2
            most = np.maximum(share * (sized + reach) - l1, 0) ** 2
            value -= excess.sum() / (2 * l2)
            below += (float((most - excess).sum()) + gamma(most)) / (2 * l2)
        duals.append((value, below + 16 * U * abs(value)))
    value, below = max(duals, key=lambda pair: pair[0] - pair[1])
    found = prove_squares(problem, DesignProducts(X), y, w, None)
    assert found.rounding == near(max(above, below))
    assert found.dual == pytest.approx(value, rel=1e-12)
    assert found.primal == pytest.approx((s * r * r).sum() / 2 + l1 * w.sum() + l2 * (w @ w) / 2)
    assert found.dual_feasibility == 0.0


@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_slopes_that_overflow_bound_nothing(l2):
    """At weights of 0 the primal value is sound, and Xᵀy is beyond all numbers."""
    huge, y = np.full((6, 3), 1e308), np.full(6, 10.0)
    with np.errstate(invalid="ignore"):  # 0 · ∞ in the slack of weights
        found = prove_squares(LassoProblem(y, 0.5, l2), DesignProducts(huge), y, np.zeros(3), None)
    assert found.primal == 300.0
    assert not found.bounds
    assert found.rounding == math.inf


def check_price_of_logistic(problem, W, biases, found):
    """The dual value pays for what rounding may have added to it."""
    values, errors = product(W)
    best = problem.with_best_bias(values, biases)
    below, drift = problem._entropy_bound(Bounded(values, errors, errors), best)
    V, errors, sizes = transposed(best.beta)
    reach = errors + drift * sizes
    plain = problem.entropy(best.beta)
    if problem.penalised:
        plain -= (V * V).sum() / 2
        below += squares_off(V, reach) / 2
    else:
        below += 2 * float(((np.abs(V) + reach) * np.abs(W)).sum())
        if (np.abs(V) > 1e-3 * sizes + errors).any():
            below = math.inf
    if U == COARSE and below < plain:
        assert plain - found.dual == pytest.approx(below, rel=1e-7, abs=0)
    else:
        assert found.dual == pytest.approx(max(plain - below, 0.0), rel=1e-12)


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_losses_of_logistic_regression(classes, penalised, bias):
    labels = LABELS % classes
    problem = LinearLogisticProblem(labels, C, classes, True, penalised)
    k = problem.functions
    W, biases = numbers(5).normal(size=(3, k)), np.linspace(-bias, bias, k) + bias / 2
    values, errors = product(W)
    sizes = np.abs(values) + np.abs(biases)
    above = 2 * float(C @ (errors + 8 * U * sizes).max(axis=1))
    above += gamma(C * (2 * sizes.max(axis=1) + math.log(classes)))
    if penalised:
        above += gamma(W * W / 2)
    found = problem.prove(LogisticAnswer(W, biases), GRAM)
    assert found.rounding == pytest.approx(above, rel=1e-9, abs=0)
    check_price_of_logistic(problem, W, biases, found)
    if penalised:
        sparse = SparseLogisticProblem(labels, C, classes, True, l1=0.25)
        price = gamma(0.25 * np.abs(W) + 0.75 * W * W / 2) - gamma(W * W / 2)
        found = sparse.prove(LogisticAnswer(W, biases), GRAM)
        assert found.rounding == pytest.approx(above + price, rel=1e-9, abs=0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
def test_entropies_of_logistic_regression(classes, intercept):
    problem = LinearLogisticProblem(LABELS % classes, C, classes, intercept)
    W = 0.5 * numbers(5).normal(size=(3, problem.functions))
    found = DesignProducts(X).dot(W)
    best = problem.with_best_bias(found.values)
    below, drift = problem._entropy_bound(found, best)
    expected = classes * 48 * U * C.sum() + gamma(C * math.log(classes))
    if not intercept:
        assert drift == 0.0
        assert below == pytest.approx(expected, rel=1e-9, abs=0)
        return
    sizes = np.abs(best.beta).sum(axis=0)
    left = np.abs(best.beta.sum(axis=0)) + (6 + 16) * U * sizes
    steepest = np.abs(found.values + best.bias).max()
    assert below == pytest.approx(expected + 4 * left.sum() * (steepest + 1), rel=1e-9, abs=0)
    assert drift == pytest.approx(2 * (left / sizes).max(), rel=1e-9, abs=0)


@pytest.mark.parametrize("l1", [1.0, 0.25, 0.02])
@pytest.mark.parametrize("size", [0.01, 0.3])
@pytest.mark.parametrize("classes", [2, 3])
def test_shares_of_duals_with_sparse_weights(classes, size, l1):
    labels = LABELS % classes
    problem = SparseLogisticProblem(labels, C, classes, True, l1=l1)
    W = size * numbers(5).normal(size=(3, problem.functions))
    W[1] = 0.0
    biases = np.zeros(problem.functions)
    values, errors = product(W)
    best = problem.with_best_bias(values, biases)
    entropy, drift = problem._entropy_bound(Bounded(values, errors, errors), best)
    V, errors, sizes = transposed(best.beta)
    reach = errors + drift * sizes + 4 * U * l1
    worst = float((np.abs(V - (1 - l1) * W) + reach).max())
    duals = []
    for share in {min(1.0, l1 / worst), 1.0} if l1 < 1 else {min(1.0, l1 / worst)}:
        dual, below = problem.entropy(share * best.beta), entropy
        if l1 < 1:
            price = float((np.maximum(share * np.abs(V) - l1, 0) ** 2).sum()) / (2 - 2 * l1)
            most = float((np.maximum(share * (np.abs(V) + reach) - l1, 0) ** 2).sum())
            most /= 2 - 2 * l1
            dual -= price
            below += most - price + (W.size + 16) * U * (most + price)
        duals.append((dual, below))
    dual, below = max(duals, key=lambda pair: pair[0] - pair[1])
    found = problem.prove(LogisticAnswer(W, biases), GRAM)
    assert 0 < below < dual
    assert dual - found.dual == near(below)


def test_the_whole_dual_point_near_the_optimum_of_sparse_weights():
    """There the largest share is the best, with a price of V in it."""
    labels, l1 = LABELS % 2, 0.25
    problem = SparseLogisticProblem(labels, C, 2, True, l1=l1)
    W, step = np.zeros((3, 1)), 0.02
    for _ in range(1000):  # proximal gradient steps
        moved = W + step * (X.T @ problem.with_best_bias(X @ W).beta - (1 - l1) * W)
        W = np.sign(moved) * np.maximum(np.abs(moved) - step * l1, 0.0)
    best = problem.with_best_bias(X @ W)
    values, errors = product(W)
    entropy, drift = problem._entropy_bound(Bounded(values, errors, errors), best)
    V, errors, sizes = transposed(best.beta)
    reach = errors + drift * sizes + 4 * U * l1
    assert np.abs(V - (1 - l1) * W).max() <= l1 * (1 + 1e-6)
    price, most = (
        float((np.maximum(size - l1, 0) ** 2).sum()) / (2 - 2 * l1)
        for size in (np.abs(V), np.abs(V) + reach)
    )
    found = problem.prove(LogisticAnswer(W, best.bias), GRAM)
    below = entropy + most - price + (3 + 16) * U * (most + price)
    dual = problem.entropy(best.beta) - price
    assert price > 0.01
    assert found.primal == pytest.approx(dual, rel=1e-6)
    if U == COARSE:
        assert dual - found.dual == pytest.approx(below, rel=1e-6)
    # The multipliers of another bias do not add up to 0, which is said.
    other = problem.view(X @ W, best.bias + 1.0)
    said = problem._judged(LogisticAnswer(W, best.bias), X @ W, other, V, dual)
    assert said.dual_feasibility == pytest.approx(abs(other.beta.sum()))


def test_drift_of_classes_is_that_of_the_worst():
    problem = SparseLogisticProblem(LABELS, C, 3, True, l1=0.5)
    W, biases = np.zeros((3, 3)), np.array([0.0, 0.5, 2.0])
    view = problem.view(X @ W, biases)
    drift = np.abs(view.beta.sum(axis=0)).max()
    assert np.abs(view.beta.sum(axis=0)).min() < 0.9 * drift
    found = problem._judged(LogisticAnswer(W, biases), X @ W, view, X.T @ view.beta, 0.0)
    assert found.dual_feasibility == pytest.approx(drift)
    plain = LinearLogisticProblem(LABELS, C, 3, True)
    found = plain._certificate(X @ W, biases, view, 0.0, 0.0, 0.0)
    assert found.dual_feasibility == pytest.approx(drift)


def test_rows_that_are_certain_have_no_multipliers():
    """Values so far apart that all probabilities are 0 and 1: nothing is divided by nothing."""
    labels = LABELS % 2
    F = 1e4 * np.where(labels > 0, 1.0, -1.0)[:, None]
    best = LinearLogisticProblem(labels, C, 2, False).with_best_bias(F)
    assert not best.beta.any()
    with_bias = LinearLogisticProblem(labels, C, 2, True)
    found = Bounded(F, np.zeros_like(F), np.abs(F))
    below, drift = with_bias._entropy_bound(found, best)
    assert math.isfinite(below)
    assert drift == 0.0


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_the_optimum_has_no_gap(l1, l2, positive):
    """With orthogonal columns it has a closed form: each weight for itself."""
    Q, c = np.linalg.qr(X)[0], np.array([2.0, -1.5, 0.25])
    y = Q @ c + 0.5 * (np.eye(6) - Q @ Q.T) @ numbers(3).normal(size=6)
    size = np.maximum((c if positive else np.abs(c)) - l1, 0.0)
    w = np.sign(c) * size / (1 + l2)
    problem = LassoProblem(y, l1, l2, positive)
    r = y - Q @ w
    least = r @ r / 2 + l1 * np.abs(w).sum() + l2 * (w @ w) / 2
    found = prove_squares(problem, DesignProducts(Q), y, w, None)
    assert found.primal == pytest.approx(least, rel=1e-12)
    tasks = MultiTaskProblem(y[:, None], l1, l2).certify(w[:, None], FeatureGram.of_rows(Q))
    if l1 or l2 or not positive:
        assert found.dual == pytest.approx(least, rel=1e-9 if U == FINE else 0.01)
        assert found.stationarity < 1e-12
        assert problem.evaluate(Design(Q), w).bounds.dual == pytest.approx(least, rel=1e-12)
    if (l1 or l2) and not positive:
        assert tasks.dual == pytest.approx(least, rel=1e-12)
        assert tasks.stationarity < 1e-12
    assert tasks.primal == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("with_constant", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_squares_without_penalties(weighted, with_constant):
    """At the least squares; what Xᵀν lacks of 0 is paid by weights twice as large."""
    s = C if weighted else np.ones(6)
    y, rows = numbers(5).normal(size=6), np.column_stack([X, np.ones(6)])[:, : 3 + with_constant]
    root = np.sqrt(s)[:, None]
    x = np.linalg.lstsq(root * rows, root[:, 0] * y, rcond=None)[0]
    w, off_constant = x[:3], 2.0**-8 * U
    constant = Bounded(x[3:], np.full(1, off_constant), np.abs(x[3:])) if with_constant else None
    problem = LassoProblem(y, 0.0, weights=C if weighted else None)
    found = prove_squares(problem, DesignProducts(X), y, w, constant)
    values, errors = product(w)
    r, off = y - values, errors + 4 * U * (np.abs(y) + np.abs(values))
    if with_constant:
        r, off = r - x[3], off + off_constant + 4 * U * abs(x[3])
    above = float(s @ (np.abs(r) * off + off * off / 2)) + gamma(s * r * r)
    nu, drift = _dual_point(s, r, with_constant)
    c, errors, sizes = transposed(nu)
    price = gamma(np.abs(y * nu)) + drift * np.abs(y * nu).sum()
    price += (gamma(nu * nu / s) + 3 * drift * (nu * nu / s).sum()) / 2
    price += 2 * float((np.abs(c) + errors + drift * sizes) @ np.abs(w))
    best = y @ nu - (nu * nu / s).sum() / 2
    assert found.rounding == near(above)
    assert found.primal == pytest.approx(best)
    assert best - found.dual == near(price)
    assert found.dual_feasibility < 1e-12


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("radius", [math.inf, 0.5])
@pytest.mark.parametrize("length", [0.25, 2.0])
def test_norms_of_residuals(p, radius, length):
    k = 0 if radius == math.inf else 2
    x = np.array([0.25, -0.125, 0.5])
    b = numbers(5).normal(size=6)
    problem = NormProblem(b, Lp(p), radius, Lp(2), k)
    nu = problem.feasible(X, b)
    nu = nu * (length / Lp(p).dual()(nu))
    found = problem.prove(PenaltyAnswer(x, nu), GRAM)
    values, errors = product(x)
    primal = float(Lp(p)(b - values))
    above = float(Lp(p)(errors + 4 * U * (np.abs(b) + np.abs(values)))) + gamma([primal] * 6)
    assert found.rounding == pytest.approx(above, rel=1e-9, abs=0)
    inside = nu / max(length * (1 + (6 + 16) * U), 1.0)
    c, errors, _ = transposed(inside)
    size = np.abs(c) + errors
    below = gamma(np.abs(b * inside)) + 2 * float(size[k:] @ np.abs(x[k:]))
    if k:
        below += radius * np.linalg.norm(size[:k]) * (1 + (2 + 16) * U)
    assert below < b @ inside
    assert b @ inside - found.dual == near(below)


@pytest.mark.parametrize("length", [0.25, 2.0])
def test_largest_residuals(length):
    x, b = np.array([0.25, -0.125, 0.5]), numbers(5).normal(size=6)
    nu = NormProblem(b, Lp(math.inf)).feasible(X, b)
    nu *= length / np.abs(nu).sum()
    found = ChebyshevProblem(b).prove(VertexAnswer(x, nu, np.arange(4)), GRAM)
    values, errors = product(x)
    off = errors + 4 * U * (np.abs(b) + np.abs(values))
    assert found.rounding == pytest.approx(off.max(), rel=1e-9, abs=0)
    inside = nu / max(np.abs(nu).sum() + gamma(np.abs(nu)), 1.0)
    c, errors, _ = transposed(inside)
    below = gamma(np.abs(b * inside)) + 2 * float((np.abs(c) + errors) @ np.abs(x))
    assert b @ inside - found.dual == near(below)


@pytest.mark.parametrize("penalty", [Huber(0.5), Huber(4.0)])
def test_prices_of_duals_of_penalties(penalty):
    b, x = numbers(5).normal(size=6), np.array([0.25, -0.125, 0.5])
    problem = PenaltyProblem(b, penalty)
    nu = problem.multipliers(X, b - X @ x)
    for given in (None, nu):
        found = problem.prove(PenaltyAnswer(x, given), GRAM)
        conjugate = penalty.conjugate(nu)
        c, errors, _ = transposed(nu)
        below = gamma(np.abs(b * nu) + np.abs(conjugate))
        below += 2 * float((np.abs(c) + errors) @ np.abs(x))
        plain = b @ nu - conjugate.sum()
        assert below < plain
        assert plain - found.dual == near(below)


@pytest.mark.parametrize("penalty", [Huber(0.5), LogBarrier(9.0)])
def test_sums_of_penalties(penalty):
    b, x = numbers(5).normal(size=6), np.array([0.5, -0.5, 1.0])
    values, errors = product(x)
    r, off = b - values, errors + 4 * U * (np.abs(b) + np.abs(values))
    most = np.maximum(penalty.value(r + off), penalty.value(r - off))
    above = float((most - penalty.value(r)).sum()) + gamma(most)
    found = PenaltyProblem(b, penalty).prove(PenaltyAnswer(x), GRAM)
    assert found.rounding == near(above)


@pytest.mark.parametrize("centred", [False, True])
def test_dual_points_that_add_up_to_zero(centred):
    r = numbers(5).normal(size=6) + 5.0
    nu, drift = _dual_point(C, r, centred)
    if not centred:
        np.testing.assert_array_equal(nu, C * r)
        assert drift == 0.0
        return
    np.testing.assert_allclose(nu, C * (r - (C @ r) / C.sum()), atol=1e-14)
    left = abs(nu.sum()) + (6 + 16) * U * np.abs(nu).sum()
    assert drift == pytest.approx(left / np.abs(nu).sum(), rel=1e-9, abs=0)
    assert _dual_point(C, np.full(6, 3.0), True)[1] <= 1.0
    assert _dual_point(C, np.zeros(6), True)[1] == 0.0


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_targets_of_zero_have_an_optimum_of_zero(l1):
    problem = LassoProblem(np.zeros(6), l1, 0.5)
    found = prove_squares(problem, DesignProducts(X), np.zeros(6), np.zeros(3), None)
    assert (found.primal, found.dual, found.rounding) == (0.0, 0.0, 0.0)
    assert problem.evaluate(Design(X), np.zeros(3)).bounds.dual == 0.0


def test_the_dual_value_of_all_classes_is_the_uncertain_one():
    """Without weights the losses are certain, and multipliers on their bounds are long sums."""
    alpha = -(2.0**-7) * numbers(5).uniform(0.5, 1.0, (6, 3))
    alpha[np.arange(6), LABELS] = 0.0
    own = -alpha.sum(axis=1)
    alpha[np.arange(6), LABELS] = own
    problem = LinearCrammerSinger(LABELS, own * (1 + 1e-3), 3)
    found = problem.prove(LinearAnswer(np.zeros((3, 3)), alpha), GRAM)
    total, errors, sizes = transposed(alpha)
    below = squares_off(total, errors) / 2 + gamma(np.abs(alpha))
    below += (3 + 4) * U * float((np.abs(total) * sizes).sum())
    above = 8 * U * problem.C.sum() + gamma(problem.C)
    assert below > above
    assert found.rounding == pytest.approx(below, rel=1e-9, abs=0)
