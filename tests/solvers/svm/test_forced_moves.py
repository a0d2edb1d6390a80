"""Where the free multipliers go when others are forced: against the conditions of the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import is_regressor

import mercer as m
from mercer.solvers.svm.forced_moves import ForcedMoves


def optimum(machine, X, y):
    """Return the one problem of a machine, its matrix, an optimum to rounding, and p − Kβ."""
    machine.fit(X, y)
    fit = machine.restate(X, y, None, "test")
    ((_, problem),) = fit.plan.problems
    K, held = fit.gram.dense(), fit.coefficients[:, 0]
    parts = [held] if len(problem) == len(K) else [np.maximum(held, 0.0), np.minimum(held, 0.0)]
    beta = problem.feasible(np.concatenate(parts))
    return problem, K, beta, problem.p - (K @ problem.coefficients(beta, len(K)))[problem.row]


def share_that_ended(machine, shape, seed):
    """Return for which share of the rows the answer fulfils the conditions of the optimum."""
    random = np.random.default_rng(seed)
    X = random.normal(size=shape)
    y = np.sin(2 * X[:, 0]) + 0.5 * random.normal(size=len(X))
    problem, K, beta, F = optimum(machine, X, y if is_regressor(machine) else (y > 0).astype(int))
    moves = ForcedMoves.of(problem, K, beta, F)
    if moves is None:
        return None  # no multiplier is free
    ended = []
    for row in np.unique(problem.row[beta != 0]):
        found = moves.without(row)
        own = problem.row == row
        if found is None:
            ended.append(False)
            continue
        assert not found[own].any()
        assert ((problem.lo <= found) & (found <= problem.hi)).all()
        slopes = problem.p - (K @ problem.coefficients(found, len(K)))[problem.row]
        up, down = ~own & (found < problem.hi), ~own & (found > problem.lo)
        apart = slopes[up].max() - slopes[down].min()
        ended.append(abs(found.sum()) < 1e-8 and apart < 1e-6)
    return np.mean(ended)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_answer_is_nearly_always_the_optimum_without_the_row(C):
    """What it is not, where the matrix of free rows is nearly singular, is solved on from there."""
    assert share_that_ended(m.SVC(C=C, gamma=0.1, tol=1e-10), (200, 10), 0) > 0.9


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.1, 1.0, 10.0]), number=st.booleans())
def test_the_answer_is_in_the_box_without_the_row(seed, C, number):
    kind = m.SVR if number else m.SVC
    share_that_ended(kind(C=C, gamma=1.0, tol=1e-10), (40, 2), seed)


def test_equal_rows_make_no_singular_system():
    random = np.random.default_rng(0)
    X = np.repeat(random.normal(size=(12, 2)), 3, axis=0)
    y = np.tile([0, 1, 1], 12)
    left_out = m.leave_one_out(m.SVC(C=5.0, gamma=1.0).fit(X, y), X, y)
    assert np.isfinite(left_out.decisions).all()


def test_without_free_multipliers_there_is_nothing_to_answer():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    problem, K, beta, F = optimum(m.SVC(C=1e-3, kernel="linear"), X, y)
    assert ForcedMoves.of(problem, K, beta, F) is None


@pytest.mark.parametrize("C", [0.5, 50.0])
def test_rows_far_apart_do_not_move_each_other(C):
    X = np.array([[0.0], [0.3], [0.7], [100.0], [100.4], [100.9]])
    y = np.array([0, 1, 0, 1, 0, 1])
    problem, K, beta, F = optimum(m.SVC(C=C, gamma=1.0, tol=1e-10), X, y)
    assert np.abs(K[:3, 3:]).max() == 0.0
    moves = ForcedMoves.of(problem, K, beta, F)
    found = None if moves is None else moves.without(0)
    assert found is None or np.isfinite(found).all()
