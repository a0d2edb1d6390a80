"""Logistic regression: values, derivatives and bounds of rounding by the formulas."""

import math

import numpy as np
import pytest

from mercer.exceptions import NotPositiveDefinite
from mercer.gram.base import Definite
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.problems.logistic import LinearLogisticProblem, LogisticAnswer, LogisticProblem
from mercer.problems.sparse_logistic import SparseLogisticProblem

U = 2.0**-52
N = 7
LABELS = {2: np.array([0, 1, 1, 0, 1, 0, 1]), 3: np.array([0, 1, 2, 0, 1, 2, 1])}
C = np.array([1.0, 0.5, 2.0, 1.5, 1.0, 0.25, 3.0])
CASES = [(2, True), (2, False), (3, True), (3, False)]
cases = pytest.mark.parametrize(("classes", "intercept"), CASES)


def case(classes, columns=N, seed=0):
    rng = np.random.default_rng(seed)
    functions = 1 if classes == 2 else 3
    return rng.normal(size=(columns, functions)), rng.normal(size=functions), rng


def shares(F, bias, classes):
    """Return the probabilities of all classes by the softmax."""
    G = F + bias
    G = np.hstack([np.zeros((len(G), 1)), G]) if classes == 2 else G
    P = np.exp(G - G.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def loss(F, bias, classes):
    P = shares(F, bias, classes)
    return -sum(C[i] * math.log(P[i, LABELS[classes][i]]) for i in range(N))


def multipliers(F, bias, classes):
    P, full = shares(F, bias, classes), np.zeros((N, classes))
    for i in range(N):
        for c in range(classes):
            full[i, c] = C[i] * ((c == LABELS[classes][i]) - P[i, c])
    return full[:, 1:] if classes == 2 else full


def entropy(beta, classes):
    full = np.hstack([-beta, beta]) if classes == 2 else beta
    total = 0.0
    for i in range(N):
        for c in range(classes):
            p = (c == LABELS[classes][i]) - full[i, c] / C[i]
            total -= C[i] * p * math.log(p) if p > 0 else 0.0
    return total


def problem_of(kind, classes, intercept, **more):
    return kind(LABELS[classes], C, classes, intercept, **more)


@cases
def test_views_by_the_softmax(classes, intercept):
    problem = problem_of(LogisticProblem, classes, intercept)
    F, bias, _ = case(classes)
    seen = problem.view(F, bias)
    P = shares(F, bias, classes)
    np.testing.assert_allclose(seen.P, P[:, 1:] if classes == 2 else P)
    np.testing.assert_allclose(seen.beta, multipliers(F, bias, classes), atol=1e-13)
    np.testing.assert_allclose(seen.slopes, seen.beta.sum(axis=0), atol=1e-13)
    assert seen.loss == pytest.approx(loss(F, bias, classes))
    assert problem.entropy(seen.beta) == pytest.approx(entropy(seen.beta, classes))
    best = problem.with_best_bias(F)
    if intercept:
        np.testing.assert_allclose(best.beta.sum(axis=0), 0.0, atol=1e-12)
        for nearby in best.bias + 0.1 * np.vstack([np.eye(len(bias)), -np.eye(len(bias))]):
            assert loss(F, nearby, classes) > best.loss
        flat = problem.with_best_bias(np.zeros_like(F))
        mass = np.bincount(LABELS[classes], C)
        np.testing.assert_allclose(shares(0 * F, flat.bias, classes)[0], mass / mass.sum())
        again = problem.with_best_bias(F, bias)
        np.testing.assert_allclose(again.beta, best.beta, atol=1e-11)
    else:
        assert not best.bias.any()
    assert best.loss == pytest.approx(loss(F, best.bias, classes))


@cases
def test_second_derivatives_by_differences(classes, intercept):
    problem = problem_of(LogisticProblem, classes, intercept)
    F, _, rng = case(classes)
    step, h = rng.normal(size=F.shape), 1e-5
    at, ahead, behind = (problem.with_best_bias(F + t * step) for t in (0.0, h, -h))
    turn = -(ahead.beta - behind.beta) / (2 * h)
    np.testing.assert_allclose(problem.second_derivative(at)(step), turn, atol=1e-7)
    move = (ahead.bias - behind.bias) / (2 * h)
    found = problem.bias_along(at, step)
    # All of several biases may grow together, and nothing changes.
    shift = (found - move).mean() if classes > 2 else 0.0
    np.testing.assert_allclose(found - shift, move, atol=1e-7)
    P = shares(F, at.bias, classes)
    P = P[:, 1:] if classes == 2 else P
    np.testing.assert_allclose(problem.curvatures(at), C[:, None] * P * (1 - P))
    if intercept:
        H = np.diag(C @ P) - P.T @ (C[:, None] * P)
        inverse = problem.bias_inverse(at)
        np.testing.assert_allclose(H @ inverse @ H, H, atol=1e-12)
        np.testing.assert_allclose(inverse, inverse.T)


def test_sizes_and_names():
    assert [problem_of(LogisticProblem, k, True).functions for k in (2, 3)] == [1, 3]
    assert problem_of(LogisticProblem, 2, True).name == "logistic regression"
    free = problem_of(LogisticProblem, 3, True, penalised=False)
    assert free.name == "multinomial logistic regression without penalty"
    assert problem_of(SparseLogisticProblem, 2, True).name == "logistic regression, ℓ₁ penalty"
    mixed = problem_of(SparseLogisticProblem, 2, True, l1=0.25)
    assert mixed.name == "logistic regression, elastic-net penalty"
    gram = FeatureGram.of_rows(np.ones((N, 2)))
    zeros = problem_of(LinearLogisticProblem, 3, True, constant=2.0).zeros(gram)
    assert zeros.coef.shape == (3, 3)
    assert zeros.bias.shape == (3,)


def test_norms_that_rounding_made_negative():
    problem = problem_of(LogisticProblem, 2, True)
    ones = np.ones((N, 1))
    assert problem.cleared_norm(3.0, ones, ones) == 3.0
    assert problem.cleared_norm(-1e-9, ones, ones) == 0.0
    with pytest.raises(NotPositiveDefinite, match="not positive semi-definite"):
        problem.cleared_norm(-1e-6, ones, ones)
    for size in (2.0**-10, 2.0**10):  # by 1e-8 of the sizes of all terms
        limit = 1e-8 * 2 * size * N
        assert problem.cleared_norm(-0.99 * limit, 2 * ones, -size * ones) == 0.0
        with pytest.raises(NotPositiveDefinite):
            problem.cleared_norm(-1.01 * limit, 2 * ones, -size * ones)


@pytest.mark.parametrize("spread", [0.5, 3.0, 30.0])
def test_second_derivatives_for_the_biases_are_inverted(spread):
    """diag(Σ Cp) − Σ Cppᵀ, and the mean of that along equal biases, which change nothing."""
    problem = problem_of(LogisticProblem, 3, True)
    view = problem.view(spread * np.random.default_rng(0).normal(size=(N, 3)), np.zeros(3))
    H = sum(c * (np.diag(p) - np.outer(p, p)) for c, p in zip(C, view.P, strict=True))
    H = H + C.sum() / 9
    np.testing.assert_allclose(problem.bias_inverse(view) @ H, np.eye(3), atol=1e-6)
    two = problem_of(LogisticProblem, 2, True)
    certain = two.view(1e4 * two.signs[:, None], np.zeros(1))  # whose biases move nothing
    assert two.bias_along(certain, np.ones((N, 1))).tolist() == [0.0]
    assert two.bias_inverse(certain).tolist() == [[0.0]]
    view = two.view(np.linspace(-1, 1, N)[:, None], np.zeros(1))
    total = sum(c * p * (1 - p) for c, p in zip(C, view.P[:, 0], strict=True))
    assert two.bias_inverse(view) == pytest.approx(1 / total)
    cheap = LogisticProblem(two.labels, two.C / 128, 2, True)
    assert cheap.bias_inverse(view) == pytest.approx(128 / total)


def test_shares_outside_of_their_range_have_no_entropy():
    """β beyond what any probabilities give counts as its nearest end."""
    three = problem_of(LogisticProblem, 3, True)
    beta = np.zeros((N, 3))
    beta[np.arange(N), LABELS[3]] = -0.5 * C  # a share of 1½ of the own class
    beta[np.arange(N), (LABELS[3] + 1) % 3] = 0.5 * C  # and of −½ of another
    assert three.entropy(beta) == 0.0
    two = problem_of(LogisticProblem, 2, True)
    for beyond in (-0.5, 1.5):
        signs = np.where(LABELS[2] > 0, 1.0, -1.0)
        assert two.entropy((beyond * signs * C)[:, None]) == 0.0
    half = np.where(LABELS[2] > 0, 0.5, -0.5) * C
    assert two.entropy(half[:, None]) == pytest.approx(C.sum() * math.log(2))


@pytest.mark.parametrize("penalised", [True, False])
@cases
def test_kernel_machines_by_the_formulas(classes, intercept, penalised):
    problem = problem_of(LogisticProblem, classes, intercept, penalised=penalised)
    coef, bias, rng = case(classes)
    coef = coef / 4
    if not intercept:
        bias = np.zeros_like(bias)
    A = rng.normal(size=(N, N)) / 2
    K = A @ A.T
    value, F = LogisticAnswer(coef, bias), K @ coef
    best = problem.with_best_bias(F, bias)
    V = K @ best.beta
    plain = problem.certify(value, None, problem.products(value, lambda c: K @ c))
    square = np.vdot(coef, F) if penalised else 0.0
    assert plain.primal == pytest.approx(loss(F, bias, classes) + square / 2)
    dual = entropy(best.beta, classes)
    dual -= np.vdot(best.beta, V) / 2 if penalised else 0.0
    assert plain.dual == pytest.approx(dual)
    distance = np.abs(V - F if penalised else V).max()
    assert plain.stationarity == pytest.approx(distance)
    drift = np.abs(best.beta.sum(axis=0)).max() if intercept else 0.0
    assert plain.dual_feasibility == pytest.approx(drift if penalised else distance)
    # What rounding may have done, term by term.
    roots = np.sqrt(np.diag(K))

    def errors(c):
        return (np.count_nonzero(c, axis=0) + 16) * U * np.outer(roots, roots @ np.abs(c))

    few, mass = (coef.size + 16) * U, C.sum()
    sizes = np.abs(F) + np.abs(bias)
    off = (errors(coef) + 8 * U * sizes).max(axis=1)
    above = C @ (2 * off + 2 * few * sizes.max(axis=1)) + few * (abs(plain.primal) + mass)
    below = few * (mass * math.log(classes) + abs(plain.dual))
    below += plain.dual_feasibility * sizes.max()
    if penalised:
        above += np.vdot(np.abs(coef), errors(coef) + few * np.abs(F)) / 2
        below += np.vdot(np.abs(best.beta), errors(best.beta) + few * np.abs(V)) / 2
    proved = problem.certify(value, GivenGram(K, Definite.POSITIVE))
    assert proved.rounding == pytest.approx(above, rel=1e-9, abs=0)
    assert proved.dual == pytest.approx(max(plain.dual - below, 0.0), rel=1e-15, abs=1e-15)
    assert proved.lower <= proved.upper
    # Where the matrix is proven by its factor alone, a shift comes on top.
    shifted = problem.certify(value, GivenGram(K, Definite.UNKNOWN))
    assert shifted.curvature == "proven"
    trace = np.trace(K)
    shift = 2 * (N + 2) * U * trace
    shift += (N + 2) * U * (trace + N * shift)
    reach = np.vdot(coef, coef) + classes * C @ C
    assert shifted.rounding == pytest.approx(above + shift * reach, rel=0.5, abs=0)
    assert shifted.rounding > above + 0.9 * shift * reach - above * 0.5


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("penalised", [True, False])
@cases
def test_linear_machines_by_the_formulas(classes, intercept, penalised, constant):
    problem = problem_of(
        LinearLogisticProblem, classes, intercept, penalised=penalised, constant=constant
    )
    columns = 3 + (constant > 0)
    W, bias, rng = case(classes, columns)
    if not intercept:
        bias = np.zeros_like(bias)
    X = rng.normal(size=(N, 3))
    Z = np.column_stack([X, np.full(N, constant)]) if constant else X
    gram, value = FeatureGram.of_rows(X), LogisticAnswer(W, bias)
    F = Z @ W
    best = problem.with_best_bias(F, bias)
    V = Z.T @ best.beta
    plain, proved = problem.certify(value, gram), problem.prove(value, gram)
    primal = loss(F, bias, classes) + (np.vdot(W, W) / 2 if penalised else 0.0)
    dual = entropy(best.beta, classes) - (np.vdot(V, V) / 2 if penalised else 0.0)
    distance = np.abs(V - W if penalised else V).max()
    for found in (plain, proved):
        assert found.primal == pytest.approx(primal)
        assert found.stationarity == pytest.approx(distance)
    assert plain.dual == pytest.approx(dual)
    assert proved.dual == pytest.approx(max(dual, 0.0) if penalised else 0.0)
    assert problem.certify(value, gram, F).primal == plain.primal
    assert (problem.products(value, lambda w: Z @ w) == F).all()
    sizes, mass = np.abs(F) + np.abs(bias), C.sum()
    off = ((3 + 16) * U * np.abs(Z) @ np.abs(W) + 8 * U * sizes).max(axis=1)
    above = 2 * C @ off + (N + 16) * U * C @ (2 * sizes.max(axis=1) + math.log(classes))
    if penalised:
        above += (W.size + 16) * U * np.vdot(W, W) / 2
    assert proved.rounding == pytest.approx(above, rel=1e-9, abs=0)
    # What the dual pays, by the same terms.
    below = classes * 48 * U * mass + (N + 16) * U * mass * math.log(classes)
    drift = 0.0
    if intercept:
        size = np.abs(best.beta).sum(axis=0)
        left = np.abs(best.beta.sum(axis=0)) + (N + 16) * U * size
        below += 4 * left.sum() * (np.abs(F + best.bias).max() + 1)
        drift = 2 * (left / size).max()
    terms = np.abs(Z).T @ np.abs(best.beta)
    reach = ((N + 16) * U + drift) * terms
    if penalised:
        below += (np.vdot(reach, 2 * np.abs(V) + reach) + (V.size + 16) * U * np.vdot(V, V)) / 2
        paid = max(dual - below, 0.0)
        assert proved.dual == pytest.approx(paid, rel=1e-15, abs=4e-15 + 0.2 * below)


def test_without_penalty_a_dual_point_pays_for_what_it_lacks():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0], [1.0], [3.0], [-1.0]])
    problem = problem_of(LinearLogisticProblem, 2, False, penalised=False)
    gram = FeatureGram.of_rows(X)
    low, high = -5.0, 5.0
    for _ in range(200):
        middle = (low + high) / 2
        slope = float((X.T @ problem.view(X * middle, np.zeros(1)).beta).item())
        low, high = (middle, high) if slope > 0 else (low, middle)
    best = np.array([[low]])
    there = problem.prove(LogisticAnswer(best, np.zeros(1)), gram)
    assert there.optimal
    assert 0 <= there.gap < 1e-11
    near = problem.prove(LogisticAnswer(best + 1e-5, np.zeros(1)), gram)
    V = float(np.abs(X.T @ problem.view(X * (best + 1e-5), np.zeros(1)).beta).item())
    plain = problem.certify(LogisticAnswer(best + 1e-5, np.zeros(1)), gram)
    assert plain.dual - near.dual == pytest.approx(2 * V * abs(low + 1e-5), rel=1e-6)
    far = problem.prove(LogisticAnswer(best + 1, np.zeros(1)), gram)
    assert far.dual == 0.0


@pytest.mark.parametrize("l1", [1.0, 0.25])
@pytest.mark.parametrize("strength", [0.05, 4.0])
@cases
def test_sparse_machines_by_the_formulas(classes, intercept, l1, strength):
    problem = problem_of(SparseLogisticProblem, classes, intercept, l1=l1)
    W, bias, rng = case(classes, 3)
    W[1] = 0.0
    if not intercept:
        bias = np.zeros_like(bias)
    X = strength * rng.normal(size=(N, 3))
    gram, value, F = FeatureGram.of_rows(X), LogisticAnswer(W, bias), X @ W
    best = problem.with_best_bias(F, bias)
    V, l2 = X.T @ best.beta, 1 - l1
    assert problem.l2 == l2
    slopes = V - l2 * W
    price = l1 * np.abs(W).sum() + l2 * (W * W).sum() / 2
    assert problem.penalty(W) == pytest.approx(price)

    def dual(share):
        value = entropy(share * best.beta, classes)
        excess = np.maximum(share * np.abs(V) - l1, 0.0)
        return value - (excess**2).sum() / (2 * l2) if l2 else value

    worst = np.abs(slopes).max()
    inside = min(1.0, l1 / worst)
    duals = [dual(t) for t in ((inside, 1.0) if l2 else (inside,))]
    broken = np.where(
        W != 0, np.abs(slopes - l1 * np.sign(W)), np.maximum(np.abs(slopes) - l1, 0.0)
    )
    plain, proved = problem.certify(value, gram), problem.prove(value, gram)
    for found in (plain, proved):
        assert found.primal == pytest.approx(loss(F, bias, classes) + price)
        assert found.stationarity == pytest.approx(broken.max())
        assert found.complementarity == pytest.approx(
            (np.abs(l1 - np.abs(slopes)) * np.abs(W)).max()
        )
        assert found.dual_feasibility == pytest.approx(0.0, abs=1e-12)
    assert plain.dual == pytest.approx(max(duals))
    assert proved.dual == pytest.approx(max(max(duals), 0.0), abs=1e-10)
    assert problem.certify(value, gram, F).primal == plain.primal
    sizes = np.abs(F) + np.abs(bias)
    off = ((3 + 16) * U * np.abs(X) @ np.abs(W) + 8 * U * sizes).max(axis=1)
    above = 2 * C @ off + (N + 16) * U * C @ (2 * sizes.max(axis=1) + math.log(classes))
    above += (W.size + 16) * U * price
    assert proved.rounding == pytest.approx(above, rel=1e-9, abs=0)
    assert 0 <= plain.dual - proved.dual < 1e-9 or proved.dual == 0.0
