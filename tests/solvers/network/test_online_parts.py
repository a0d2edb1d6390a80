"""Parts of online rules: patience, rows that are shown, and hulls by hand."""

import math
import time
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import RBF, Gram
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.problems.mistakes import OnlineLoss, SignedRows
from mercer.solvers.base import Budget, Status
from mercer.solvers.network import online_rules
from mercer.solvers.network.online_rules import (
    KernelPerceptronRule,
    MistakeBound,
    MistakeCounts,
    OnlineRule,
    OnlineWeights,
    bound_on_mistakes,
    held,
    least_point_of_products,
    least_point_of_rows,
)


def table(n=40):
    random = np.random.default_rng(3)
    X = random.normal(size=(n, 3))
    return X, np.where(X @ [1.0, -2.0, 0.5] + random.normal(size=n) > 0, 1.0, -1.0)


def test_patience_counts_epochs_without_a_gain():
    patience, budget = online_rules._Patience(3), Budget(tol=0.1)
    losses = (1.0, 0.95, 0.91, 0.8, 0.75, 0.71, 0.72)
    ends = [patience.status(loss, budget, 1) for loss in losses]
    # 0.8 is by 0.1 below 0.91 and counts; then three in a row do not.
    assert ends == [None] * 6 + [Status.STALLED]
    assert patience.best == 0.71
    tie = online_rules._Patience(1, best=1.0)
    assert tie.status(0.9, Budget(tol=0.1), 1) is None
    never = online_rules._Patience(1)
    assert [never.status(1.0, Budget(tol=-math.inf), 1) for _ in range(4)] == [None] * 4
    assert never.status(1.0, Budget(tol=-math.inf, max_iter=5), 5) is Status.MAX_ITER


def test_losses_of_epochs_are_means():
    X, y = table()
    problem = SignedRows(y, np.ones(40))
    found = OnlineRule(shuffle=False).solve(
        problem, FeatureGram.of_rows(X), Budget(tol=-math.inf, max_iter=2)
    )
    w, b, losses = np.zeros(3), 0.0, []
    for _ in range(2):
        total = 0.0
        for x, sign in zip(X, y, strict=True):
            value = sign * (w @ x + b)
            if value <= 0:
                total -= value
                w, b = w + sign * x, b + sign
        losses.append(total / 40)
    assert found.value.losses == pytest.approx(losses)
    assert not found.value.clean


def test_scores_decide_in_the_place_of_losses():
    X, y = table()
    scores = iter([0.5, 0.7, 0.7, 0.6, 0.9])
    seen = []

    def score(w, b):
        seen.append((w.copy(), b))
        return next(scores)

    found = OnlineRule(patience=2, score=score).solve(
        SignedRows(y, np.ones(40)), FeatureGram.of_rows(X), Budget(tol=1e-3)
    )
    assert found.status is Status.STALLED
    assert found.statistics.iterations == 4
    assert_array_equal(seen[-1][0], found.value.w)
    assert seen[-1][1] == found.value.b


def test_penalised_rules_go_on_without_mistakes():
    X, _ = table()
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X = X + 3 * y[:, None] * [1.0, 0.0, 0.0]
    for penalties, status in (({}, Status.OPTIMAL), ({"l2": 1e-9}, Status.MAX_ITER), ({"l1": 1e-9}, Status.MAX_ITER)):  # fmt: skip  # noqa: E501
        problem = SignedRows(y, np.ones(40), **penalties)
        budget = Budget(tol=-math.inf, max_iter=6)
        found = OnlineRule().solve(problem, FeatureGram.of_rows(X), budget)
        assert found.status is status
        assert found.value.clean


def test_weights_that_overflow_are_told():
    X, y = table()
    problem = SignedRows(y, np.ones(40), OnlineLoss.WIDROW_HOFF)
    for columns in (X, np.column_stack([X[:, :1], np.zeros((40, 2))])):
        with pytest.raises(InvalidInput, match="epoch"):
            OnlineRule(eta=1e3).solve(
                problem, FeatureGram.of_rows(columns), Budget(tol=-math.inf, max_iter=10_000)
            )


def test_starts_go_on_where_others_ended():
    X, y = table()
    gram = Gram(RBF(gamma=0.5), X)
    problem = SignedRows(y, np.ones(40))
    rule = KernelPerceptronRule(shuffle=False)
    two = rule.solve(problem, gram, Budget(tol=-math.inf, max_iter=2)).value
    one = rule.solve(problem, gram, Budget(tol=-math.inf, max_iter=1)).value
    kept = one.counts.copy()
    on = rule.solve(problem, gram, Budget(tol=-math.inf, max_iter=1), one).value
    assert_array_equal(on.counts, two.counts)
    assert_array_equal(one.counts, kept)
    assert_allclose(on.f, two.f)
    assert one.updates + on.updates == two.updates == two.counts.sum()
    assert two.b == y @ two.counts
    linear = OnlineRule(shuffle=False)
    rows = FeatureGram.of_rows(X)
    first = linear.solve(problem, rows, Budget(tol=-math.inf, max_iter=1)).value
    second = linear.solve(problem, rows, Budget(tol=-math.inf, max_iter=1), first).value
    both = linear.solve(problem, rows, Budget(tol=-math.inf, max_iter=2)).value
    assert_allclose(second.w, both.w)
    assert second.b == both.b


@pytest.mark.parametrize("intercept", [True, False])
def test_row_by_row_is_the_textbook_loop(intercept):
    X, y = table()
    K, rates = RBF(gamma=0.5)(X), np.linspace(0.5, 2.0, 40)
    problem = SignedRows(y, rates, intercept=intercept)
    offset = 1.0 if intercept else 0.0
    found = MistakeCounts(np.zeros(40), np.zeros(40))
    order = np.random.default_rng(0).permutation(40)
    updates, loss = online_rules._row_by_row(GivenGram(K), order, problem, found, Budget())
    counts, lost, made = np.zeros(40), 0.0, 0
    for i in order:
        value = (K[i] + offset) @ (counts * y)
        if y[i] * value <= 0:
            lost -= y[i] * value
            counts[i] += rates[i]
            made += 1
    assert_allclose(found.counts, counts)
    assert updates == made
    assert loss == pytest.approx(lost)
    assert_allclose(found.f, (K + offset) @ (counts * y), atol=1e-12)
    # After the deadline it ends with the first update, not before one.
    late = MistakeCounts(np.zeros(40), np.zeros(40))
    past = Budget(deadline=time.perf_counter() - 1)
    assert online_rules._row_by_row(GivenGram(K), order, problem, late, past)[0] == 1
    assert np.count_nonzero(late.counts) == 1
    soon = MistakeCounts(np.zeros(40), np.zeros(40))
    later = Budget(deadline=time.perf_counter() + 60)
    assert online_rules._row_by_row(GivenGram(K), order, problem, soon, later)[0] == made
    whole = KernelPerceptronRule(shuffle=False).solve(problem, GivenGram(K), Budget(tol=-math.inf, max_iter=3))  # fmt: skip  # noqa: E501
    rows = KernelPerceptronRule(shuffle=False).solve(problem, GivenGram(K), Budget(tol=-math.inf, max_iter=3, cache_bytes=0))  # fmt: skip  # noqa: E501
    assert_allclose(whole.value.counts, rows.value.counts)


def test_matrices_are_held_within_the_budget():
    gram = Gram(RBF(gamma=0.5), table()[0])
    assert held(gram, Budget(cache_bytes=8 * 40 * 40 - 1)) is gram
    kept = held(gram, Budget(cache_bytes=8 * 40 * 40))
    assert kept is not gram
    assert kept.definite == gram.definite
    assert_allclose(kept.dense(), gram.dense())


def test_bounds_by_hand():
    assert MistakeBound(3.0, 0.5, 1.0).mistakes == 36.0
    assert MistakeBound(3.0, 0.0, 1.0).mistakes == math.inf
    # The hull of (1, 1), (1, −1) and (3, 0) is nearest to the origin at (1, 0).
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]])
    by_rows = least_point_of_rows(lambda index: Z[index], lambda p: Z @ p)
    by_products = least_point_of_products(lambda index: Z[index] @ Z.T)
    for solve in (by_rows, by_products):
        values, square = solve(np.arange(3))
        assert_allclose(values, [1.0, 1.0, 3.0], atol=1e-9)
        assert square == pytest.approx(1.0)
        for clean in (True, False):
            bound = bound_on_mistakes(solve, (Z**2).sum(axis=1), Z @ [1.0, 0.5], math.sqrt(1.25), clean)  # fmt: skip  # noqa: E501
            assert bound.radius == 3.0
            assert bound.margin == pytest.approx(1.0)
            assert bound.widest == pytest.approx(1.0)
    # A known separator may be all there is, and rows around the origin have none.
    around = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    none = bound_on_mistakes(
        least_point_of_rows(lambda index: around[index], lambda p: around @ p),
        (around**2).sum(axis=1), np.array([1.0, -1.0, 1.0]), 1.0, False,
    )  # fmt: skip
    assert (none.radius, none.margin, none.widest) == (2.0, 0.0, 0.0)
    nothing = bound_on_mistakes(by_rows, (Z**2).sum(axis=1), np.zeros(3), 0.0)
    assert nothing.margin == pytest.approx(1.0)


@pytest.mark.parametrize("most", [400, 45, 1])
def test_hulls_grow_by_the_rows_that_are_served_worst(most):
    random = np.random.default_rng(5)
    Z = random.normal(size=(300, 4)) + 2.5 * np.eye(4)[0]
    Z = Z[Z[:, 0] > 0.3]
    asked = []

    def solve(index):
        asked.append(index.copy())
        p = online_rules._least_weights(Z[index].T) @ Z[index]
        return Z @ p, float(p @ p)

    own = Z[:, 0]
    bound = bound_on_mistakes(solve, (Z**2).sum(axis=1), own, 1.0, True, most)
    exact = online_rules._least_weights(Z.T) @ Z
    best = np.linalg.norm(exact)
    assert_array_equal(np.sort(asked[0]), np.sort(np.argsort(own)[:30]))
    assert own.min() - 1e-12 <= bound.margin <= best * (1 + 1e-6)
    assert bound.widest >= best * (1 - 1e-6)
    for before, after in pairwise(asked):
        assert len(before) < len(after) <= max(most, 30)
        assert_array_equal(after[: len(before)], before)
        assert len(set(after.tolist())) == len(after) <= len(before) + 30
    if most == 400:
        assert bound.margin == pytest.approx(best, rel=1e-5)
        assert bound.widest == pytest.approx(best, rel=1e-5)
        assert len(asked) <= 6
    if most == 1:
        assert len(asked) == 1


def test_smallest_values_in_order():
    values = np.array([3.0, 1.0, 2.0, 0.0])
    assert online_rules._smallest(values, 2).tolist() == [1, 3]
    assert online_rules._smallest(values, 3).tolist() == [1, 2, 3]
    assert online_rules._smallest(values, 4).tolist() == [0, 1, 2, 3]
    assert online_rules._smallest(values, 9).tolist() == [0, 1, 2, 3]


def test_least_weights_by_hand():
    assert_allclose(online_rules._least_weights(np.array([[1.0, 3.0]])), [1.0, 0.0])
    assert_allclose(online_rules._least_weights(np.zeros((2, 3))).sum(), 1.0)
    for scale in (1e-9, 1.0, 1e9):  # units do not matter
        F = scale * np.array([[1.0, 1.0, 2.0], [1.0, -3.0, 0.0]])
        assert_allclose(online_rules._least_weights(F), [0.75, 0.25, 0.0], atol=1e-9)


def test_a_start_of_weights_is_the_callers():
    X, y = table()
    start = OnlineWeights(np.ones(3), 0.5)
    OnlineRule().solve(
        SignedRows(y, np.ones(40)), FeatureGram.of_rows(X), Budget(tol=-math.inf, max_iter=1), start
    )
    assert_array_equal(start.w, np.ones(3))
    assert start.b == 0.5


def test_rows_that_are_served_as_well_are_not_added():
    # A hundred rows alike: the hull of some is that of all.
    asked = []
    Z = np.tile([2.0, 0.0], (100, 1))
    solve = least_point_of_rows(lambda index: Z[index], lambda w: Z @ w)

    def noted(index):
        asked.append(len(index))
        return solve(index)

    found = bound_on_mistakes(noted, (Z**2).sum(axis=1), np.full(100, 2.0), 1.0)
    assert asked == [30]
    assert (found.radius, found.margin, found.widest) == (2.0, pytest.approx(2.0), pytest.approx(2.0))  # fmt: skip  # noqa: E501
    # One that is served worse by more than a millionth is, and by less it is not.
    for share, rounds in ((1 - 2e-6, 2), (1 - 0.5e-6, 1)):
        asked.clear()
        Z[99] = [2.0 * share, 0.0]
        own = np.full(100, 2.0)
        own[99] = 3.0
        bound_on_mistakes(noted, (Z**2).sum(axis=1), own, 1.0)
        assert len(asked) == rounds
