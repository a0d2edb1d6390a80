"""Linear machines and machines without a bias: every number of a certificate by loops."""

import math

import numpy as np
import pytest
from scipy import sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.problems import linear
from mercer.problems.linear import DesignRows, LinearAnswer, LinearCrammerSinger, SparseClassifier
from mercer.problems.unbiased import unbiased_classifier

U = 2.0**-52
FAR = 1e8
"""Rows FAR (1, −1) and weights FAR (1, 1): products are 0 and their rounding is large."""


@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_rows_with_a_constant(kind, constant):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3)) * (rng.random((7, 3)) < 0.6)
    rows = DesignRows(sparse.csr_array(X) if kind == "csr" else X, constant)
    whole = np.column_stack([X, np.full(7, constant)]) if constant else X
    assert (len(rows), rows.columns) == whole.shape
    assert rows.entries == (np.count_nonzero(X) if kind == "csr" else 21)
    for shape in ((), (2,)):
        w, beta = rng.normal(size=(whole.shape[1], *shape)), rng.normal(size=(7, *shape))
        np.testing.assert_allclose(rows.dot(w), whole @ w)
        np.testing.assert_allclose(rows.combine(beta), whole.T @ beta)
    np.testing.assert_allclose(rows.squared_norms(), (whole**2).sum(axis=1))
    part = rows.take(np.array([5, 1]))
    np.testing.assert_allclose(part.dot(np.ones(whole.shape[1])), whole[[5, 1]].sum(axis=1))


Y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
C = np.array([0.5, 1.0, 2.0, 0.25, 1.5])
KINDS = {
    "hinge": (linear.classifier(Y, C, False), lambda r, i: C[i] * max(0.0, Y[i] * r)),
    "squared hinge": (linear.classifier(Y, C, True), lambda r, i: C[i] * max(0.0, Y[i] * r) ** 2),
    "tube": (linear.regressor(3 * Y, C, 0.5, False), lambda r, i: C[i] * max(0.0, abs(r) - 0.5)),
    "squared tube": (
        linear.regressor(3 * Y, C, 0.5, True),
        lambda r, i: C[i] * max(0.0, abs(r) - 0.5) ** 2,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_those_of_the_textbook(kind):
    problem, loss = KINDS[kind]
    for r in (-2.0, -0.5, -0.25, 0.0, 0.3, 0.5, 4.0):
        expected = [loss(r, i) for i in range(5)]
        np.testing.assert_allclose(problem.losses(np.full(5, r)), expected, atol=1e-15)
    assert problem.name.startswith("linear SV")
    assert ("squared" in problem.name) == ("squared" in kind)


def by_loops(problem, loss, X, w, beta):
    n, p = X.shape
    r = [problem.p[i] - sum(X[i, j] * w[j] for j in range(p)) for i in range(n)]
    total = [sum(beta[i] * X[i, j] for i in range(n)) for j in range(p)]
    costs = [problem.epsilon * abs(b) + problem.D[i] * b * b / 2 for i, b in enumerate(beta)]
    slopes = [0.0]
    for i, b in enumerate(beta):
        slope = r[i] - problem.D[i] * b
        if b < problem.hi[i]:
            slopes.append(slope - (problem.epsilon if b >= 0 else -problem.epsilon))
        if b > problem.lo[i]:
            slopes.append(-slope + (problem.epsilon if b > 0 else -problem.epsilon))
    losses = [loss(r[i], i) for i in range(n)]
    return {
        "primal": sum(z * z for z in w) / 2 + sum(losses),
        "dual": sum(a * b for a, b in zip(problem.p, beta, strict=True))
        - sum(costs)
        - sum(z * z for z in total) / 2,
        "stationarity": max(slopes),
        "complementarity": max(0.0, *(losses[i] + costs[i] - beta[i] * r[i] for i in range(n))),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 5.0])
def test_certificates_by_loops(kind, scale):
    problem, loss = KINDS[kind]
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(5, 2)), scale * rng.normal(size=2)
    for raw in (scale * rng.normal(size=5), np.zeros(5), 100 * rng.normal(size=5)):
        beta = np.clip(raw, problem.lo, problem.hi)
        gram, value = FeatureGram.of_rows(X), LinearAnswer(w, beta)
        plain, proved = problem.certify(value, gram), problem.prove(value, gram)
        for name, truth in by_loops(problem, loss, X, w, beta).items():
            assert getattr(plain, name) == pytest.approx(truth, rel=1e-9, abs=1e-11), name
            assert getattr(proved, name) == pytest.approx(truth, rel=1e-9, abs=1e-11), name
        assert plain.dual_feasibility == proved.dual_feasibility == 0.0
    other = problem.certify(value, gram, np.ones(5))
    assert other.primal == pytest.approx(
        w @ w / 2 + sum(loss(problem.p[i] - 1, i) for i in range(5))
    )


def test_multipliers_out_of_their_box_are_moved_into_it():
    problem, loss = KINDS["tube"]
    X, w, beta = np.eye(5), np.zeros(5), np.array([0.5, -3.0, 2.25, 0.25, -1.5])
    gram = FeatureGram.of_rows(X)
    plain = problem.certify(LinearAnswer(w, beta), gram)
    proved = problem.prove(LinearAnswer(w, beta), gram)
    assert plain.dual_feasibility == proved.dual_feasibility == 2.0
    inside = np.clip(beta, -C, C)
    assert proved.dual == pytest.approx(by_loops(problem, loss, X, w, inside)["dual"])


@pytest.mark.parametrize("kind", ["tube", "squared tube"])
def test_rounding_of_large_products(kind):
    X, w = FAR * np.array([[1.0, -1.0]] * 5), np.array([FAR, FAR])
    problem, loss = KINDS[kind]
    found = problem.prove(LinearAnswer(w, np.zeros(5)), FeatureGram.of_rows(X))
    off = [18 * U * 2 * FAR * FAR + 4 * U * abs(z) for z in problem.p]
    above = sum(max(loss(z + o, i), loss(z - o, i)) - loss(z, i)
                for i, (z, o) in enumerate(zip(problem.p, off, strict=True)))  # fmt: skip
    above += 18 * U * FAR * FAR  # of ½‖w‖²
    assert found.rounding == pytest.approx(above, rel=1e-9, abs=0)


def test_rounding_of_dual_values():
    problem = linear.regressor(np.array([1.0, -2.0]), np.ones(2), 4.0, False)
    beta = np.array([0.5, 0.25])
    big = problem.prove(
        LinearAnswer(np.zeros(1), beta), FeatureGram.of_rows(np.full((2, 1), 2.0**20))
    )
    v = 0.75 * 2.0**20
    error = 18 * U * v
    assert big.rounding == pytest.approx(
        (error * (2 * v + error) + 17 * U * v * v) / 2, rel=1e-9, abs=0
    )
    flat = FeatureGram.of_rows(np.zeros((2, 1)))
    small = problem.prove(LinearAnswer(np.zeros(1), beta), flat)
    assert small.rounding == pytest.approx(18 * U * (0.5 + 0.5 + 4 * 0.75), rel=1e-9, abs=0)
    curved = linear.regressor(np.zeros(2), np.full(2, 0.125), 4.0, True)  # D = 4
    bent = curved.prove(LinearAnswer(np.zeros(1), beta), flat)
    assert bent.rounding == pytest.approx(
        18 * U * (4 * 0.75 + 2 * (0.25 + 0.0625)), rel=1e-9, abs=0
    )


def test_rounding_of_losses_and_weights():
    problem = linear.regressor(np.array([4.0, -8.0]), np.ones(2), 1.0, False)
    gram = FeatureGram.of_rows(np.zeros((2, 1)))
    found = problem.prove(LinearAnswer(np.array([16.0]), np.zeros(2)), gram)
    assert found.rounding == pytest.approx((4 * 12 + 18 * 10 + 17 * 128) * U, rel=0.01, abs=0)


# ---- ℓ₁ penalty ---------------------------------------------------------------------------------


def sparse_by_loops(X, signs, prices, w, alpha):
    n, p = X.shape
    slack = [max(0.0, 1 - signs[i] * sum(X[i, j] * w[j] for j in range(p))) for i in range(n)]
    slopes = [
        sum(2 * prices[i] * slack[i] * signs[i] * X[i, j] for i in range(n)) for j in range(p)
    ]
    pulls = [sum(alpha[i] * signs[i] * X[i, j] for i in range(n)) for j in range(p)]
    broken = [
        abs(s - math.copysign(1, v)) if v else max(0.0, abs(s) - 1)
        for s, v in zip(slopes, w, strict=True)
    ]
    return {
        "primal": sum(map(abs, w)) + sum(c * s * s for c, s in zip(prices, slack, strict=True)),
        "dual": sum(alpha) - sum(a * a / (4 * c) for a, c in zip(alpha, prices, strict=True)),
        "stationarity": max(broken),
        "dual_feasibility": max(0.0, max(map(abs, pulls)) - 1, -min(alpha)),
        "complementarity": max(abs(v) * abs(1 - abs(q)) for v, q in zip(w, pulls, strict=True)),
    }


@pytest.mark.parametrize("least", [0.0, -0.3])
def test_sparse_weights_by_loops(least):
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(5, 3)), np.array([0.5, 0.0, -0.25])
    alpha = np.array([0.1, least, 0.3, 0.0, 0.4])
    problem, gram = SparseClassifier(Y, C), FeatureGram.of_rows(X)
    found = problem.certify(LinearAnswer(w, alpha), gram)
    for name, truth in sparse_by_loops(X, Y, C, w, alpha).items():
        assert getattr(found, name) == pytest.approx(truth, rel=1e-9, abs=1e-12), name
    best = problem.multipliers(problem.rows(gram), w)
    proved = problem.prove(LinearAnswer(w, best), gram)
    for name, truth in sparse_by_loops(X, Y, C, w, best).items():
        assert getattr(proved, name) == pytest.approx(truth, rel=1e-9, abs=1e-12), name
    assert problem.certify(LinearAnswer(w, best), gram, np.zeros(5)).primal == 0.75 + C.sum()


@pytest.mark.parametrize("price", [0.01, 0.5])
@pytest.mark.parametrize("w", [0.0, 1.0, -1.0, 0.5, 2.0])
def test_one_sparse_weight_by_loops(w, price):
    """With one column nothing hides behind the largest number of others."""
    X, prices = np.array([[1.0], [-0.5], [2.0], [0.25], [-1.0]]), np.full(5, price)
    problem, gram = SparseClassifier(Y, prices), FeatureGram.of_rows(X)
    for alpha in (np.full(5, 0.125), np.array([0.5, 0.0, 0.25, 1.0, 2.0])):
        found = problem.certify(LinearAnswer(np.array([w]), alpha), gram)
        for name, truth in sparse_by_loops(X, Y, prices, np.array([w]), alpha).items():
            assert getattr(found, name) == pytest.approx(truth, rel=1e-9, abs=1e-12), name


def test_the_best_multiple_that_the_dual_allows():
    problem = SparseClassifier(np.ones(2), np.full(2, 0.125))
    # At w = 0 all α are ¼, the best multiple of which is 1, if ∣Σ αᵢxᵢ∣ ≤ 1 allows it.
    for size, expected in ((0.25, 0.25), (4.0, 0.125), (0.0, 0.25)):
        rows = DesignRows(np.full((2, 1), size))
        found = problem.multipliers(rows, np.zeros(1))
        np.testing.assert_allclose(found, [expected, expected])
    assert not problem.multipliers(DesignRows(np.ones((2, 1))), np.array([3.0])).any()
    # Margins that lack 0.1: ten times α = ¼ would be best, and twice of it is allowed.
    tight = SparseClassifier(np.ones(2), np.full(2, 1.25))
    found = tight.multipliers(DesignRows(np.ones((2, 1))), np.array([0.9]))
    np.testing.assert_allclose(found, [0.5, 0.5])


def test_rounding_of_sparse_weights():
    X, w = FAR * np.array([[1.0, -1.0]] * 2), np.array([FAR, FAR])
    prices = np.array([1.0, 2.0])
    problem = SparseClassifier(np.array([1.0, -1.0]), prices)
    found = problem.prove(LinearAnswer(w, np.zeros(2)), FeatureGram.of_rows(X))
    off = 18 * U * 2 * FAR * FAR + 4 * U
    assert found.rounding == pytest.approx(3 * ((1 + off) ** 2 - 1), rel=1e-6, abs=0)
    # Σ αᵢyᵢxᵢ = FAR (−2, 2), with errors of (2 + 16) U (6 FAR): the share keeps all of it at 1.
    share = 1 / (2 * FAR + 18 * U * 6 * FAR)
    assert found.dual == pytest.approx(share * 6, rel=1e-12)
    flat = FeatureGram.of_rows(np.zeros((2, 1)))
    small = problem.prove(LinearAnswer(np.array([32.0]), np.zeros(2)), flat)
    assert small.rounding == pytest.approx((3 * 8 + 18 * 3 + 17 * 32) * U, rel=0.02, abs=0)


# ---- all classes at once ------------------------------------------------------------------------

LABELS = np.array([0, 1, 2, 1])
PRICES = np.array([1.0, 0.5, 2.0, 1.0])


def joint_by_loops(X, W, alpha):
    n, k = len(LABELS), 3
    scores = X @ W
    loss, dual, slopes, slack = 0.0, 0.0, [0.0], [0.0]
    for i in range(n):
        raised = [scores[i, c] + (c != LABELS[i]) for c in range(k)]
        loss += PRICES[i] * (max(raised) - raised[LABELS[i]])
        dual -= sum(alpha[i, c] for c in range(k) if c != LABELS[i])
        room = [(PRICES[i] if c == LABELS[i] else 0.0) - alpha[i, c] for c in range(k)]
        slopes.append(max(raised) - min(raised[c] for c in range(k) if room[c] > 0))
        slack += [room[c] * (max(raised) - raised[c]) for c in range(k)]
    return {
        "primal": (W**2).sum() / 2 + loss,
        "dual": dual - ((X.T @ alpha) ** 2).sum() / 2,
        "stationarity": max(slopes),
        "complementarity": max(slack),
    }


def joint():
    rng = np.random.default_rng(4)
    X, W = rng.normal(size=(4, 2)), rng.normal(size=(2, 3))
    alpha = -rng.uniform(0.05, 0.2, (4, 3))
    alpha[np.arange(4), LABELS] = 0.0
    alpha[np.arange(4), LABELS] = -alpha.sum(axis=1)
    return X, W, alpha


def test_classes_by_loops():
    X, W, alpha = joint()
    problem, gram = LinearCrammerSinger(LABELS, PRICES, 3), FeatureGram.of_rows(X)
    for found in (
        problem.certify(LinearAnswer(W, alpha), gram),
        problem.prove(LinearAnswer(W, alpha), gram),
    ):
        for name, truth in joint_by_loops(X, W, alpha).items():
            assert getattr(found, name) == pytest.approx(truth, rel=1e-9), name
        assert found.dual_feasibility == pytest.approx(0.0, abs=1e-15)
    other = problem.certify(LinearAnswer(W, alpha), gram, np.zeros((4, 3)))
    assert other.primal == pytest.approx((W**2).sum() / 2 + PRICES.sum())


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("margin", [-2.0, -0.125, 0.0, 0.125, 2.0])
def test_one_row_of_two_classes(share, margin):
    """Between its bounds a multiplier asks for a margin of 0, at 0 for none below, at C above."""
    problem, gram = LinearCrammerSinger(np.array([0]), np.array([0.25]), 2), np.ones((1, 1))
    W = np.array([[0.5 - margin / 2, margin / 2 - 0.5]])
    alpha = 0.25 * share * np.array([[1.0, -1.0]])
    found = problem.certify(LinearAnswer(W, alpha), FeatureGram.of_rows(gram))
    wrong = max(margin if share < 1 else 0.0, -margin if share > 0 else 0.0)
    assert found.stationarity == wrong
    assert found.complementarity == 0.25 * max((1 - share) * margin, -share * margin)
    assert found.dual_feasibility == 0.0


def test_multipliers_of_classes_that_break_a_constraint():
    X, W, alpha = joint()
    problem, gram = LinearCrammerSinger(LABELS, PRICES, 3), FeatureGram.of_rows(X)
    for change, broken in (((0, 1, 0.75), 0.75), ((1, 1, 3.0), 3.0), ((2, 0, -9.0), 9.0)):
        spoilt = alpha.copy()
        i, c, by = change
        spoilt[i, c] += by
        found = problem.certify(LinearAnswer(W, spoilt), gram).dual_feasibility
        room = PRICES[i] * (c == LABELS[i]) - spoilt[i, c]
        assert found == pytest.approx(max(-room, broken))
        # Moved back: other classes to 0 at most, then all of a row by one share.
        mended = np.minimum(spoilt, 0.0)
        mended[np.arange(4), LABELS] = 0.0
        own = -mended.sum(axis=1)
        mended[np.arange(4), LABELS] = own
        mended *= np.minimum(1.0, PRICES / own)[:, None]
        proved = problem.prove(LinearAnswer(W, spoilt), gram)
        assert proved.dual == pytest.approx(joint_by_loops(X, W, mended)["dual"], rel=1e-9)


def test_rounding_of_classes():
    X, W = FAR * np.array([[1.0, -1.0]] * 4), np.full((2, 3), FAR)
    problem = LinearCrammerSinger(LABELS, PRICES, 3)
    found = problem.prove(LinearAnswer(W, np.zeros((4, 3))), FeatureGram.of_rows(X))
    off = 18 * U * 2 * FAR * FAR + 4 * U
    above = 2 * PRICES.sum() * off + (6 + 16) * U * 6 * FAR * FAR / 2
    assert found.rounding == pytest.approx(above, rel=1e-9, abs=0)
    flat = problem.prove(
        LinearAnswer(np.zeros((1, 3)), np.zeros((4, 3))), FeatureGram.of_rows(np.zeros((4, 1)))
    )
    assert flat.rounding == pytest.approx((2 * 4 * 4.5 + 20 * 4.5) * U, rel=1e-9, abs=0)
    # One column of 2²⁰: the squares of Σ αᵢxᵢ are what rounding is about.
    big, alpha = 2.0**20, np.zeros((4, 3))
    alpha[0] = [0.75, -0.5, -0.25]
    dual = problem.prove(
        LinearAnswer(np.zeros((1, 3)), alpha), FeatureGram.of_rows(np.full((4, 1), big))
    )
    v = big * np.abs(alpha[0])
    error = 20 * U * v
    below = (error @ (2 * v + error) + (3 + 16) * U * v @ v) / 2 + 7 * U * v @ v
    assert dual.rounding == pytest.approx(below, rel=1e-9, abs=0)


# ---- without a bias -----------------------------------------------------------------------------


def unbiased_by_loops(K, signs, prices, beta):
    n = len(signs)
    f = [sum(K[i, j] * beta[j] for j in range(n)) for i in range(n)]
    r = [signs[i] - f[i] for i in range(n)]
    square = sum(beta[i] * f[i] for i in range(n))
    lo, hi = np.minimum(0, signs * prices), np.maximum(0, signs * prices)
    room = [(hi[i] - beta[i]) * max(r[i], 0) + (beta[i] - lo[i]) * max(-r[i], 0) for i in range(n)]
    movable = [abs(z) for i, z in enumerate(r) if (beta[i] < hi[i] if z > 0 else beta[i] > lo[i])]
    hinge = sum(prices[i] * max(0.0, 1 - signs[i] * f[i]) for i in range(n))
    return {
        "primal": square / 2 + hinge,
        "dual": sum(signs[i] * beta[i] for i in range(n)) - square / 2,
        "stationarity": max([0.0, *movable]),
        "complementarity": max(map(abs, room)),
    }


def test_no_bias_by_loops():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(5, 5))
    K = A @ A.T
    problem = unbiased_classifier(Y, C)
    for share in (0.0, 0.1, 1.0):
        beta = share * Y * C * rng.uniform(0, 1, 5)
        truth = unbiased_by_loops(K, Y, C, beta)
        for found in (problem.certify(beta, GivenGram(K)), problem.certify(beta, None, K @ beta)):
            for name, value in truth.items():
                assert getattr(found, name) == pytest.approx(value, rel=1e-9, abs=1e-11), name
            assert found.dual_feasibility == 0.0
        gap = problem.gap(beta, K @ beta)
        assert gap.gap == pytest.approx(truth["primal"] - truth["dual"])
        assert gap.scale == pytest.approx(max(abs(truth["primal"]), abs(truth["dual"])))
        square = beta @ K @ beta
        terms = truth["primal"] - square / 2 + abs(Y @ beta) + square
        assert gap.terms == pytest.approx(terms)
        order = np.array([4, 2, 0, 1, 3])
        assert problem.gap(beta, (K @ beta)[order], np.argsort(order)).gap == pytest.approx(gap.gap)
        assert problem.violation(beta, K @ beta) == pytest.approx(truth["stationarity"])
    assert problem.biases(beta, K @ beta) == 0.0
    np.testing.assert_array_equal(problem.feasible(10 * Y), np.clip(10 * Y, problem.lo, problem.hi))
    for off in (1e-8, 1e-3):
        spoilt = Y * C
        spoilt[2] += off
        found = problem.certify(spoilt, None, K @ spoilt)
        assert found.dual_feasibility == pytest.approx(off)
        assert math.isfinite(found.dual) == (off == 1e-8)
        below = -0.0 * Y
        below[1] = off  # the second row is of the class −1
        assert problem.certify(below, None, K @ below).dual_feasibility == off
