"""Bounds on mistakes against every direction of the plane, and what ends online training."""

import math
import time

import numpy as np
import pytest

from mercer import RBF, Gram
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.mistakes import SignedRows
from mercer.solvers.base import Budget, Status
from mercer.solvers.network.online_rules import (
    KernelPerceptronRule,
    MistakeBound,
    OnlineRule,
    OnlineWeights,
    _least_weights,
    _Patience,
    _smallest,
    bound_on_mistakes,
    held,
    least_point_of_products,
    least_point_of_rows,
)

ANGLES = np.linspace(0, 2 * np.pi, 100_001)
DIRECTIONS = np.stack([np.cos(ANGLES), np.sin(ANGLES)])


def rows(seed, count=400, apart=1.0):
    """Return vectors zᵢ in the plane on one side of a line through 0."""
    random = np.random.default_rng(seed)
    return random.normal(size=(count, 2)) + np.array([3 + apart, 1.0])


def solvers(Z):
    """Return both solvers of hulls, and the numbers of rows that each was asked for."""
    asked = [], []

    def some(index):
        asked[0].append(len(index))
        return Z[index]

    def products(index):
        asked[1].append(len(index))
        return Z[index] @ Z.T

    return (
        (least_point_of_rows(some, lambda w: Z @ w), asked[0]),
        (least_point_of_products(products), asked[1]),
    )


@pytest.mark.parametrize("seed", range(4))
def test_margins_are_those_of_all_directions(seed):
    Z = rows(seed)
    widest = (Z @ DIRECTIONS).min(axis=0).max()
    squares = (Z**2).sum(axis=1)
    w = np.array([1.0, 0.1])
    for solve, asked in solvers(Z):
        bound = bound_on_mistakes(solve, squares, Z @ w, float(np.linalg.norm(w)))
        assert bound.radius == pytest.approx(np.sqrt(squares.max()))
        if widest > 0:
            assert bound.margin <= widest + 5e-4  # the angles are that far apart
            assert bound.margin == pytest.approx(widest, abs=5e-4)
            assert bound.widest >= widest - 1e-8
            assert bound.widest == pytest.approx(bound.margin, rel=1e-5)
            assert bound.mistakes == pytest.approx((bound.radius / bound.margin) ** 2)
        else:
            assert (bound.margin, bound.mistakes) == (0.0, math.inf)
            assert bound.widest == 0.0
        assert len(asked) <= 8
        assert sum(asked) < len(Z) * 2


def test_a_known_separator_is_not_forgotten():
    Z = np.array([[1.0, 1.0], [1.0, -1.0]])
    squares = (Z**2).sum(axis=1)

    def nothing(index):  # says of the hull what is true of no separator
        return np.zeros(2), 1.0

    found = bound_on_mistakes(nothing, squares, np.array([0.5, 2.0]), 2.0)
    assert (found.margin, found.widest) == (0.25, 1.0)
    assert bound_on_mistakes(nothing, squares, np.array([-0.5, 2.0]), 2.0).margin == 0.0
    assert bound_on_mistakes(nothing, squares, np.array([0.5, 2.0]), 0.0).margin == 0.0
    better = bound_on_mistakes(lambda index: (np.full(2, 3.0), 4.0), squares, np.ones(2), 4.0)
    assert (better.margin, better.widest) == (1.5, 1.5)  # 3/2, and no bound is below its margin
    exact = bound_on_mistakes(least_point_of_rows(Z.__getitem__, lambda w: Z @ w), squares, Z[:, 0], 1.0)  # fmt: skip  # noqa: E501
    assert exact.margin == exact.widest == pytest.approx(1.0)
    assert exact.mistakes == pytest.approx(2.0)
    assert MistakeBound(2.0, 0.0, 1.0).mistakes == math.inf
    assert MistakeBound(2.0, 0.5, 1.0).mistakes == 16.0


def test_room_for_few_rows_ends_the_search():
    Z = rows(0, 3000, apart=2.0)
    squares, counts = (Z**2).sum(axis=1), []

    def solve(index):
        counts.append(len(index))
        assert len(np.unique(index)) == len(index)
        p = _least_weights(Z[index].T) @ Z[index]
        return Z @ p, float(p @ p)

    own = -Z @ [0.3, -1.0]  # a poor guess, whose rows are not those that count
    whole = bound_on_mistakes(solve, squares, own, 1.0)
    rounds = len(counts)
    assert 2 <= rounds <= 6
    assert counts == sorted(counts)
    counts.clear()
    few = bound_on_mistakes(solve, squares, own, 1.0, most=3)
    assert len(counts) == 1
    assert few.margin <= whole.margin + 1e-9
    assert few.widest >= whole.widest - 1e-9


def test_the_least_point_of_a_hull():
    # Of a segment the foot of the perpendicular, or the nearer end.
    foot = _least_weights(np.array([[1.0, -3.0], [1.0, 3.0]]))
    np.testing.assert_allclose(foot, [0.9, 0.1])
    np.testing.assert_allclose(_least_weights(np.array([[1.0, 4.0], [1.0, 1.0]])), [1.0, 0.0])
    np.testing.assert_allclose(_least_weights(1e8 * np.array([[1.0, -3.0], [1.0, 3.0]])), foot)
    np.testing.assert_allclose(_least_weights(np.zeros((2, 2))).sum(), 1.0)
    random = np.random.default_rng(3)
    Z = random.normal(size=(30, 3)) + np.array([2.0, 0.0, 1.0])
    index = np.arange(0, 30, 2)
    values, squares = [], []
    for solve, asked in solvers(Z):
        solve(index[:5])
        at_rows, square = solve(index)
        assert asked in ([5, 15], [5, 10])  # products are only ever added to
        # The conditions of optimality: every row of the hull is at least as far along p as p is.
        assert at_rows[index].min() == pytest.approx(square, rel=1e-6)
        values.append(at_rows)
        squares.append(square)
    np.testing.assert_allclose(values[0], values[1], atol=1e-6)
    assert squares[0] == pytest.approx(squares[1], rel=1e-6)


def test_the_smallest_values():
    values = np.array([3.0, 1.0, 2.0, 0.0, 5.0])
    assert _smallest(values, 2).tolist() == [1, 3]
    assert _smallest(values, 5).tolist() == _smallest(values, 9).tolist() == [0, 1, 2, 3, 4]
    assert _smallest(values, 4).tolist() == [0, 1, 2, 3]


def test_patience():
    patience, budget = _Patience(2), Budget(tol=0.5, max_iter=100)
    falls = [10.0, 9.0, 8.6, 8.7, 7.0, 6.9, 6.8]
    ends = [patience.status(loss, budget, at) for at, loss in enumerate(falls)]
    # 8.6 and 8.7 are two in a row that fall by less than ½ below the best so far.
    assert ends[:3] == [None] * 3
    assert ends[3] is Status.STALLED
    assert ends[4] is None
    assert ends[5] is None
    assert ends[6] is Status.STALLED
    endless = _Patience(1)
    never = Budget(tol=-math.inf, max_iter=3)
    assert [endless.status(1.0 + at, never, at) for at in range(3)] == [None] * 3
    assert endless.status(9.0, never, 3) is Status.MAX_ITER
    equal = _Patience(1)
    assert equal.status(1.0, Budget(tol=0.0), 1) is None
    assert equal.status(1.0, Budget(tol=0.0), 2) is None  # as good as before is not worse
    assert equal.status(1.1, Budget(tol=0.0), 3) is Status.STALLED


X = np.random.default_rng(1).normal(size=(40, 2))
NOISE = np.where(np.sin(np.arange(40) * 5.1) > 0, 1.0, -1.0)


def test_scores_decide_in_the_place_of_losses():
    scores, seen = iter([0.5, 0.6, 0.6, 0.6, 0.9]), []

    def score(w, b):
        seen.append((w.copy(), b))
        return next(scores)

    rule = OnlineRule(score=score, patience=2, shuffle=False)
    gram = FeatureGram.of_rows(X)
    found = rule.solve(SignedRows(NOISE, np.ones(40)), gram, Budget(tol=0.01, max_iter=50))
    assert found.status is Status.STALLED
    assert found.statistics.iterations == len(seen) == len(found.value.losses) == 4
    np.testing.assert_array_equal(seen[-1][0], found.value.w)
    assert seen[-1][1] == found.value.b
    assert not found.value.clean


def test_losses_are_means_of_what_was_shown():
    w, b, losses, updates = np.array([0.5, -1.0]), 0.25, [], 0
    start = OnlineWeights(w.copy(), b)
    some = np.arange(0, 40, 3)
    for _ in range(3):
        loss = 0.0
        for i in some:
            margin = NOISE[i] * (w @ X[i] + b)
            if margin <= 0:
                loss, updates = loss - margin, updates + 1
                w, b = w + 0.5 * NOISE[i] * X[i], b + 0.5 * NOISE[i]
        losses.append(loss / len(some))
    problem = SignedRows(NOISE, np.ones(40), rows=some)
    rule, budget = OnlineRule(eta=0.5, shuffle=False), Budget(tol=-math.inf, max_iter=3)
    found = rule.solve(problem, FeatureGram.of_rows(X), budget, start)
    np.testing.assert_allclose(found.value.w, w)
    assert found.value.b == pytest.approx(b)
    assert found.value.losses == pytest.approx(losses)
    assert found.value.updates == updates
    np.testing.assert_array_equal(start.w, [0.5, -1.0])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_the_kernel_perceptron_is_the_textbook_loop(intercept, memory):
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    rates = np.linspace(0.5, 2.0, 40)
    f, counts, updates, means = np.zeros(40), np.zeros(40), [], []
    for _ in range(4):
        loss, wrong = 0.0, 0
        for i in range(40):
            if NOISE[i] * f[i] <= 0:
                loss, wrong = loss - NOISE[i] * f[i], wrong + 1
                counts[i] += rates[i]
                f = f + NOISE[i] * rates[i] * (K[i] + intercept)
        updates.append(wrong)
        means.append(loss / 40)
    problem = SignedRows(NOISE, rates, intercept=intercept)
    seen = []
    budget = Budget(
        tol=-math.inf, max_iter=4, cache_bytes=memory, monitor=lambda loss: seen.append(loss)
    )
    gram = Gram(RBF(gamma=1.0), X)
    found = KernelPerceptronRule(shuffle=False).solve(problem, gram, budget)
    np.testing.assert_allclose(found.value.counts, counts)
    np.testing.assert_allclose(found.value.f, f, atol=1e-9)
    assert found.value.updates == sum(updates)
    assert found.value.b == pytest.approx(intercept * (NOISE @ counts))
    assert found.statistics.iterations == len(seen) == 4
    np.testing.assert_allclose(seen, means, atol=1e-9)
    # It goes on where it was, and changes nothing of its start.
    before = found.value.counts.copy()
    again = KernelPerceptronRule(shuffle=False).solve(problem, gram, budget, found.value)
    np.testing.assert_array_equal(found.value.counts, before)
    whole = KernelPerceptronRule(shuffle=False).solve(problem, gram, budget.but(max_iter=8))
    np.testing.assert_allclose(again.value.counts, whole.value.counts)


def test_time_ends_an_epoch_after_one_mistake():
    problem = SignedRows(NOISE, np.ones(40))
    budget = Budget(cache_bytes=0, deadline=time.perf_counter() - 1)
    found = KernelPerceptronRule().solve(problem, Gram(RBF(gamma=1.0), X), budget)
    assert found.status is Status.TIME_LIMIT
    assert found.value.updates == 1
    small = Gram(RBF(gamma=1.0), X)
    exact = 8 * 40**2
    assert held(small, Budget(cache_bytes=exact)) is not small
    assert held(small, Budget(cache_bytes=exact - 1)) is small
