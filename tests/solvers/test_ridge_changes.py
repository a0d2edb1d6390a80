"""Changed rows of ridge machines: the linear map by dense algebra, the bounds by brute force."""

from itertools import combinations, product

import numpy as np
import pytest

from mercer.solvers.ridge_changes import RidgeSmoother, _falls, _Spread, harmless_changes
from mercer.solvers.svm.changed_rows import _greatest_squares, _greatest_sums

N = 9
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(N, 2)), RNG.normal(size=(6, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)


def kernel(a, b, gamma=0.5):
    return np.exp(-gamma * ((a[:, None] - b) ** 2).sum(axis=2))


def fitted(rows, y, shift, constant, gamma):
    """Return the values at new rows of a machine on some rows, by one linear system."""
    K, n = kernel(X[rows], X[rows], gamma), len(rows)
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = K + np.diag(shift[rows])
    A[:n, n] = A[n, :n] = 1.0
    k = kernel(NEW, X[rows], gamma)
    if not constant:
        return k @ np.linalg.solve(A[:n, :n], y)
    found = np.linalg.solve(A, np.append(y, 0.0))
    return k @ found[:n] + found[n]


@pytest.mark.parametrize("constant", [False, True])
def test_the_map_from_targets(constant):
    shift = RNG.uniform(0.5, 2.0, N)
    smoother = RidgeSmoother.of(kernel(X, X), kernel(NEW, X), shift, constant)
    truth = fitted(np.arange(N), Y, shift, constant, 0.5)
    np.testing.assert_allclose(smoother.weights @ Y, truth)
    coefficients = smoother.inverse @ Y
    if constant:
        assert abs(coefficients.sum()) < 1e-12
        np.testing.assert_allclose(smoother.weights.sum(axis=1), 1.0)
    left = (Y - kernel(X, X) @ coefficients) / shift - coefficients
    np.testing.assert_allclose(left, (left * shift).mean() / shift if constant else 0, atol=1e-12)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("machines", [1, 2])
@pytest.mark.parametrize("change", ["relabelled", "removed", "both"])
def test_what_is_proven_is_true_of_all_changes(change, machines, constant):
    gammas, shift = (0.5, 0.2)[:machines], np.full(N, 4.0)
    smoothers = [
        RidgeSmoother.of(kernel(X, X, g), kernel(NEW, X, g), shift, constant) for g in gammas
    ]
    leads = np.mean([s.weights @ Y for s in smoothers], axis=0)
    found = harmless_changes(smoothers, Y, leads, 1.0, change)
    assert found.max() >= 1  # there is something to be proven here
    fates = {"relabelled": "l", "removed": "r", "both": "lr"}[change]
    worst = np.full((len(NEW), 4), np.inf)
    worst[:, 0] = np.abs(leads)
    for m in (1, 2, 3):
        for rows in combinations(range(N), m):
            for fate in product(fates, repeat=m):
                y, kept = Y.copy(), np.ones(N, bool)
                for row, what in zip(rows, fate, strict=True):
                    y[row] *= -1 if what == "l" else 1
                    kept[row] = what == "l"
                at = np.flatnonzero(kept)
                values = np.mean([fitted(at, y[at], shift, constant, g) for g in gammas], axis=0)
                worst[:, m] = np.minimum(worst[:, m], np.sign(leads) * values)
    worst = np.minimum.accumulate(worst, axis=1)
    for i in range(len(NEW)):
        for m in range(min(found[i], 3) + 1):
            assert worst[i, m] > 0
        if change == "relabelled" and found[i] < 3:  # which is exact
            assert worst[i, found[i] + 1] <= 1e-6


def test_labels_are_counted_exactly():
    smoother = RidgeSmoother(np.eye(3), np.array([[0.5, -0.25, 0.125], [0.0, 1.0, -1.0]]))
    y = np.array([1.0, -1.0, 1.0])
    # Values 0.875 and −2: a turned label takes away 2∣h∣.
    found = harmless_changes([smoother], y, np.array([0.875, -2.0]), 1.0, "relabelled")
    assert found.tolist() == [0, 0]
    found = harmless_changes([smoother], y, np.array([1.01, -2.01]), 1.0, "relabelled")
    assert found.tolist() == [1, 1]
    found = harmless_changes([smoother], y, np.array([1.76, -9.0]), 1.0, "relabelled")
    assert found.tolist() == [3, 3]
    assert harmless_changes([smoother], y, np.zeros(2), 1.0, "relabelled").tolist() == [-1, -1]


def test_sums_of_the_greatest():
    values = np.array([[3.0, -1.0, 2.0, 5.0], [0.0, 0.0, 1.0, -2.0]])
    assert _greatest_sums(values, 0).tolist() == [[0.0], [0.0]]
    assert _greatest_sums(values, 2).tolist() == [[0.0, 5.0, 8.0], [0.0, 1.0, 1.0]]
    assert _greatest_sums(values, 4)[:, -1].tolist() == [9.0, -1.0]
    terms = np.abs(RNG.normal(size=(6, 6)))
    terms = terms + terms.T
    bounds = _greatest_squares(terms.copy(), 4)
    assert bounds[0] == 0.0
    for m in range(1, 5):
        # Rows with their own term and the m − 1 greatest of the others, the m greatest of these.
        others = [sorted(np.delete(terms[i], i), reverse=True)[: m - 1] for i in range(6)]
        each = sorted(terms[i, i] + sum(others[i]) for i in range(6))
        assert bounds[m] == pytest.approx(sum(each[-m:]))
        truth = max(terms[np.ix_(c, c)].sum() for c in combinations(range(6), m))
        assert bounds[m] >= truth - 1e-12


def test_more_changes_are_looked_at_where_all_are_harmless():
    # A hundred rows of a hundredth each: half of the labels may turn, nearly all rows may leave.
    smoother = RidgeSmoother(np.eye(100), np.full((2, 100), 0.01))
    y = np.ones(100)
    leads = np.array([1.0, 0.3])
    turned = harmless_changes([smoother], y, leads, 1.0, "relabelled")
    assert turned.tolist() == [49, 14]
    # The coefficient of each is its target: one that leaves takes its hundredth with it.
    gone = harmless_changes([smoother], y, leads, 1.0, "removed")
    assert gone.tolist() == [99, 29]
    assert harmless_changes([smoother], y, leads, 1.0, "both").tolist() == [49, 14]
    # Just as many as are looked at first, and one less.
    for count in (31, 32, 33):
        leads = np.full(2, 0.02 * count + 0.01)
        found = harmless_changes([smoother], y, leads, 1.0, "relabelled")
        assert found.tolist() == [count] * 2


def test_what_other_changed_rows_add():
    # G̃ of two rows that lean on each other by a quarter, and one alone.
    G = np.array([[4.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    y = np.array([1.0, -1.0, 2.0])
    spread = _Spread.of(RidgeSmoother(G, np.zeros((1, 3))), y, 2)
    np.testing.assert_allclose(spread.left_out, [0.75, -0.75, 2.0])
    np.testing.assert_allclose(spread.roots, [2.0, 2.0, 1.0])
    np.testing.assert_allclose(spread.shares, [[0, 0.25, 0.25], [0, 0.25, 0.25], [0, 0, 0]])
    np.testing.assert_allclose(spread.others(1, 0.0), 0.0)
    # T = max sᵢ∣lᵢ∣/(1 − qᵢ) = 2, or 2·5 where labels move by 5.
    np.testing.assert_allclose(spread.others(2, 0.0), [0.25, 0.25, 0.0])
    np.testing.assert_allclose(spread.others(2, 5.0), [1.25, 1.25, 0.0])
    close = _Spread.of(RidgeSmoother(np.ones((2, 2)), np.zeros((1, 2))), np.ones(2), 2)
    assert close.others(2, 0.0) is None  # q = 1 bounds nothing


def test_falls_of_rows_that_leave_or_turn():
    # G̃ of two rows that lean on each other by three quarters, and one alone.
    G = np.array([[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    y, h = np.array([1.0, -1.0, 2.0]), np.array([[0.1, -0.2, 0.3]])
    smoother = RidgeSmoother(G, h)
    # What leaves takes hᵢlᵢ, l = (¼, −¼, 2), and ∣hᵢ∣qT/sᵢ of others: q = ¾, and T = 2.
    removed = _falls([smoother], [h], y, 0.5, "removed", 2)
    alone = np.array([0.025, 0.05, 0.6])
    more = np.array([0.1, 0.2, 0.0]) * 0.75
    np.testing.assert_allclose(removed, [[0.0, 0.6, np.sort(alone + more * 2.0 / 2.0)[-2:].sum()]])
    # Labels that may move by 0.5 beyond: T = 2.5·2, and a turned label takes hᵢyᵢ + ∣hᵢ∣/2.
    both = _falls([smoother], [h], y, 0.5, "both", 2)
    turned = np.array([0.15, 0.3, 0.75])
    terms = np.maximum(alone + more * 5.0 / 2.0, turned)
    np.testing.assert_allclose(both, [[0.0, 0.75, np.sort(terms)[-2:].sum()]])
    labels = _falls([smoother], [h], y, 0.5, "relabelled", 3)
    np.testing.assert_allclose(labels, [[0.0, 0.75, 1.05, 1.2]])
