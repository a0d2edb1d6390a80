"""Dual descent and its turns with Newton's method: which is taken, when it ends, what it counts."""

import numpy as np
import pytest
from scipy import sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.problems import linear
from mercer.problems.linear import DesignRows, LinearAnswer
from mercer.solvers.base import Budget, Status
from mercer.solvers.linear import coordinate
from mercer.solvers.linear.coordinate import (
    DescentThenNewton,
    DigitsThenNewton,
    DualDescent,
    linear_solver,
)
from mercer.solvers.linear.linear_newton import LinearNewton
from mercer.solvers.linear.squared_newton import SquaredNewton, is_small


def posed(n, d, squared, C=1.0, thin=False):
    random = np.random.default_rng(n + d)
    X = random.normal(size=(n, d))
    v = X[:, :3].sum(axis=1) + 0.5 * random.normal(size=n)
    problem = linear.regressor(v, np.full(n, C), 0.1, squared)
    return problem, FeatureGram.of_rows(sparse.csr_array(X) if thin else X)


class Shape:
    """A matrix of which only the shape is asked for."""

    def __init__(self, n, d):
        self.shape, self.size = (n, d), n * d


def method(n, d, squared):
    problem = linear.regressor(np.zeros(n), np.ones(n), 0.1, squared)
    return type(coordinate._method_for(problem, DesignRows(Shape(n, d)), 0))


@pytest.mark.parametrize(
    ("n", "d", "squared", "kind"),
    [
        (100, 101, True, LinearNewton), (101, 102, True, DescentThenNewton),
        (101, 101, True, LinearNewton), (1000, 1001, True, DescentThenNewton),
        (1001, 1002, True, DualDescent), (1001, 1001, True, LinearNewton),
        (2, 3, False, DigitsThenNewton), (3, 3, False, LinearNewton),
        (1000, 1001, False, DigitsThenNewton), (1001, 1002, False, DualDescent),
        (1000, 999, False, LinearNewton), (1001, 300, False, LinearNewton),
        (1001, 301, False, DualDescent), (8192, 2048, True, LinearNewton),
        (8193, 2048, True, DualDescent),
    ],
)  # fmt: skip
def test_which_method_suits_a_shape(n, d, squared, kind):
    assert method(n, d, squared) is kind


def test_small_systems_are_compiled():
    for n, d, thin, small in (
        (300, 150, False, True), (300, 151, False, False), (150, 300, False, True),
        (372, 150, False, True), (373, 150, False, False), (30, 30, True, True),
        (24, 30, True, True), (23, 30, True, False), (400, 200, True, True),
    ):  # fmt: skip
        problem, gram = posed(n, d, True, thin=thin)
        assert is_small(problem, problem.rows(gram)) == small
        assert isinstance(linear_solver(problem, gram, 0), SquaredNewton) == small
        assert not is_small(posed(n, d, False)[0], problem.rows(gram))


def optimum(problem, gram):
    return LinearNewton(0).solve(problem, gram, Budget(tol=1e-9))


@pytest.mark.parametrize("thin", [False, True])
def test_few_passes_are_enough_unless_c_is_large(thin):
    problem, gram = posed(40, 200, True, thin=thin)
    found = DescentThenNewton(0).run(problem, gram, Budget(tol=1e-4), None)
    assert found.status is Status.OPTIMAL
    assert problem.certify(found.value, gram).relative_gap <= 1e-8
    assert 1 < found.iterations <= (100 if thin else 30)
    hard, gram = posed(60, 70, True, 1e5, thin=thin)
    found = DescentThenNewton(0).run(hard, gram, Budget(tol=1e-6), None)
    first = 100 if thin else 30
    assert first < found.iterations <= first + 40
    np.testing.assert_allclose(found.value.w, optimum(hard, gram).value.w, atol=1e-6)


@pytest.mark.parametrize("kind", [DescentThenNewton, DigitsThenNewton])
@pytest.mark.parametrize("most", [1, 5, 31, 203])
def test_steps_of_both_count(kind, most):
    problem, gram = posed(60, 70, kind is DescentThenNewton, 1e5)
    found = kind(0).run(problem, gram, Budget(tol=1e-9, max_iter=most), None)
    if found.status is Status.MAX_ITER:
        assert found.iterations == most
    else:
        assert found.iterations < most
    if most <= 5:
        assert found.status is Status.MAX_ITER
        alone = DualDescent(0).run(problem, gram, Budget(tol=0.0, max_iter=most), None)
        np.testing.assert_allclose(found.value.w, alone.value.w)


def test_kinks_are_solved_to_nine_digits():
    problem, gram = posed(40, 300, False)
    for tol in (1e-2, 1e-4):
        found = DigitsThenNewton(0).run(problem, gram, Budget(tol=tol), None)
        assert found.status is Status.OPTIMAL
        assert problem.certify(found.value, gram).relative_gap <= 1e-9
        assert found.iterations <= 200
    hard, gram = posed(60, 70, False, 1e4)
    found = DigitsThenNewton(0).run(hard, gram, Budget(tol=1e-6), None)
    assert 200 < found.iterations <= 300
    assert hard.certify(found.value, gram).relative_gap <= 1e-6


@pytest.mark.parametrize("kind", [DescentThenNewton, DigitsThenNewton])
def test_whoever_watches_may_stop(kind):
    problem, gram = posed(40, 200, kind is DescentThenNewton)
    asked = []

    def stop(violation):
        asked.append(violation)
        return len(asked) == 3

    found = kind(0).run(problem, gram, Budget(tol=1e-9, monitor=stop), None)
    assert found.status is Status.INTERRUPTED
    assert len(asked) == 3
    assert found.iterations == 2


def test_a_start_is_copied_and_gone_on_from():
    problem, gram = posed(40, 200, False)
    first = DualDescent(0).run(problem, gram, Budget(tol=1e-8), None)
    kept = LinearAnswer(first.value.w.copy(), first.value.multipliers.copy())
    again = DualDescent(0).run(problem, gram, Budget(tol=1e-6), first.value)
    assert again.iterations == 1 < first.iterations
    np.testing.assert_array_equal(first.value.w, kept.w)
    np.testing.assert_array_equal(first.value.multipliers, kept.multipliers)


# ---- passes -------------------------------------------------------------------------------------


def watched(answers, count=10, eager=False, **limits):
    """Run passes that answer (active, worst) in turn, and return what each was asked for."""
    asked, answers = [], iter(answers)

    def run(order, active, threshold):
        asked.append((len(order), active, threshold))
        return next(answers)

    return coordinate._passes(run, count, Budget(**limits), eager), asked


def test_passes_shrink_and_look_at_all_in_the_end():
    answers = [(7, 2.0), (5, 1.0), (5, 0.5), (10, 0.6), (6, 0.5), (6, 0.5), (10, 0.5)]
    (passes, status), asked = watched(answers, tol=0.5)
    assert status is Status.OPTIMAL
    inf = np.inf
    assert asked[0] == (10, 10, inf)
    assert asked[1] == (10, 7, 2.0)
    assert asked[2] == (10, 5, 1.0)
    assert asked[3] == (10, 10, inf)
    assert passes == len(asked)


def test_eager_passes_let_go_of_all_at_rest():
    answers = [(4, 3.0), (3, 2.0), (3, 1.0), (6, 0.9), (5, 0.4), (10, 0.2), (10, 0.05)]
    (passes, status), asked = watched(answers, eager=True, tol=0.1)
    inf = np.inf
    assert [a[1:] for a in asked[:4]] == [(10, inf), (4, 0.0), (3, 0.0), (10, inf)]
    assert status is Status.OPTIMAL
    assert passes == len(asked)
    # The goal halves each time that it is met: 1, ½, ¼ …
    assert asked[4][1:] == (6, 0.0)
    assert asked[5][1:] == (10, inf)


def test_passes_end_at_the_limit():
    (passes, status), asked = watched([(10, 1.0)] * 9, tol=1e-3, max_iter=3)
    assert (passes, status, len(asked)) == (3, Status.MAX_ITER, 3)
    (passes, status), asked = watched([], tol=1e-3, max_iter=0)
    assert (passes, status, len(asked)) == (0, Status.MAX_ITER, 0)
    # A pass over some variables proves nothing.
    ended, _ = watched([(5, 1.0), (5, 0.0), (10, 0.0)], tol=1e-3)
    assert ended == (3, Status.OPTIMAL)


def test_seeds_are_any_number_but_zero():
    assert coordinate._generator(0).tolist() == [1]
    assert coordinate._generator(41).tolist() == [42]


@pytest.mark.parametrize("squared", [False, True])
def test_no_turn_takes_more_passes_than_are_left(squared):
    problem, gram = posed(40, 300, squared)
    kind = DescentThenNewton(0) if squared else DigitsThenNewton(0)
    whole = kind.run(problem, gram, Budget(tol=1e-2), None)
    assert whole.status is Status.OPTIMAL
    assert whole.iterations > 3
    for most in range(1, whole.iterations + 2):
        found = kind.run(problem, gram, Budget(tol=1e-2, max_iter=most), None)
        assert found.iterations <= most
        if most > whole.iterations:
            assert found.iterations == whole.iterations
            np.testing.assert_array_equal(found.value.w, whole.value.w)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("squared", [False, True])
def test_passes_go_on_where_the_last_call_ended(monkeypatch, thin, squared):
    """How many passes one compiled call makes changes neither the answer nor their number."""
    problem, gram = posed(60, 40, squared, C=0.1, thin=thin)
    budget = Budget(tol=1e-6, max_iter=200)
    together = DualDescent(3).run(problem, gram, budget, None)
    monkeypatch.setattr(coordinate, "_BATCH", 1)
    each = DualDescent(3).run(problem, gram, budget, None)
    assert together.status is each.status
    assert together.iterations == each.iterations > 10
    assert np.array_equal(together.value.multipliers, each.value.multipliers)
    np.testing.assert_allclose(each.value.w, gram.features().T @ each.value.multipliers, atol=1e-10)
