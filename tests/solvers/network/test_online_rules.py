"""Online rules: the textbook loops, budgets, and both forms of the perceptron."""

import numpy as np
import pytest
from scipy import sparse

from mercer import RBF, Gram
from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.features import Features
from mercer.problems.mistakes import OnlineLoss, SignedRows
from mercer.solvers.base import Budget, Status
from mercer.solvers.network.online_rules import (
    KernelPerceptronRule,
    OnlineRule,
    OnlineWeights,
    held,
)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    return X, np.where(X @ [1.0, -2.0, 0.5] + 0.3 > 0, 1.0, -1.0)


def naive_perceptron(X, y, epochs):
    w, b, updates = np.zeros(X.shape[1]), 0.0, 0
    for _ in range(epochs):
        for x, sign in zip(X, y, strict=True):
            if sign * (w @ x + b) <= 0:
                w, b, updates = w + sign * x, b + sign, updates + 1
    return w, b, updates


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_perceptron_is_the_textbook_loop(rows, kind):
    X, y = rows
    gram = FeatureGram(Features.numbered(kind(X)))
    rule = OnlineRule(shuffle=False)
    found = rule.solve(SignedRows(y, np.ones(60)), gram, Budget(tol=-np.inf, max_iter=3))
    w, b, updates = naive_perceptron(X, y, 3)
    np.testing.assert_allclose(found.value.w, w, rtol=1e-12)
    assert (found.value.b, found.value.updates) == (pytest.approx(b), updates)
    assert found.statistics.iterations == 3
    assert found.status is Status.MAX_ITER
    assert found.certificate is None


def test_it_ends_when_all_rows_are_right(rows):
    X, y = rows
    gram = FeatureGram(Features.numbered(X))
    problem = SignedRows(y, np.ones(60))
    found = OnlineRule().solve(problem, gram, Budget(tol=-np.inf, max_iter=10_000))
    assert found.status is Status.OPTIMAL
    assert (y * (X @ found.value.w + found.value.b) > 0).all()
    again = OnlineRule().solve(problem, gram, Budget(tol=-np.inf), found.value)
    assert again.value.updates == 0
    np.testing.assert_array_equal(again.value.w, found.value.w)


def test_widrow_and_hoff_come_near_least_squares(rows):
    X, y = rows
    gram = FeatureGram(Features.numbered(X))
    problem = SignedRows(y, np.ones(60), OnlineLoss.WIDROW_HOFF)
    found = OnlineRule(eta=1e-3).solve(problem, gram, Budget(tol=-np.inf, max_iter=2000))
    A = np.column_stack([X, np.ones(60)])
    best = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose([*found.value.w, found.value.b], best, atol=0.02)


def test_patience_and_a_deadline_end_it(rows):
    gram = FeatureGram(Features.numbered(rows[0]))
    noise = np.where(np.sin(np.arange(60) * 7.3) > 0, 1.0, -1.0)
    problem = SignedRows(noise, np.ones(60))
    patient = OnlineRule(patience=2).solve(problem, gram, Budget(tol=1e3, max_iter=500))
    assert patient.status is Status.STALLED
    assert patient.statistics.iterations == 3
    late = OnlineRule().solve(problem, gram, Budget(tol=-np.inf, deadline=0.0))
    assert late.status is Status.TIME_LIMIT
    assert late.statistics.iterations == 1


def test_rows_that_are_not_shown_change_nothing(rows):
    X, y = rows
    gram, some = FeatureGram(Features.numbered(X)), np.arange(0, 60, 2)
    budget = Budget(tol=-np.inf, max_iter=4)
    rule, start = OnlineRule(shuffle=False), OnlineWeights(np.zeros(3), 0.0)
    part = rule.solve(SignedRows(y, np.ones(60), rows=some), gram, budget, start)
    alone = rule.solve(SignedRows(y[some], np.ones(30)), gram.take(some), budget, start)
    np.testing.assert_array_equal(part.value.w, alone.value.w)
    assert part.value.losses == pytest.approx(alone.value.losses)


def test_the_kernel_perceptron_with_and_without_the_matrix(rows):
    X, y = rows
    gram = Gram(RBF(gamma=0.5), X)
    problem = SignedRows(y, np.ones(60))
    rule, budget = KernelPerceptronRule(), Budget(tol=-np.inf, max_iter=500)
    whole = rule.solve(problem, held(gram, budget), budget)
    by_rows = rule.solve(problem, gram, budget.but(cache_bytes=0))
    np.testing.assert_array_equal(whole.value.counts, by_rows.value.counts)
    assert whole.status is by_rows.status is Status.OPTIMAL
    values = gram @ (whole.value.counts * y) + whole.value.b
    np.testing.assert_allclose(values, whole.value.f, rtol=1e-10, atol=1e-10)
    assert held(gram, budget.but(cache_bytes=0)) is gram
