"""Paths of problems on one matrix: every answer is judged by its certificate."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.solvers.base import Budget
from mercer.solvers.svm.box_qp import BoxQPSolver, Scratch
from mercer.solvers.svm.smo import SMO


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(160, 4))
    signs = np.where(X[:, 0] * X[:, 1] + 0.5 * random.normal(size=160) > 0, 1.0, -1.0)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    return X, signs, squared


def solve_path(K, rows, problems, tol, deadline=math.inf):
    gram, budget = GivenGram(K).take(rows), Budget(tol, deadline=deadline, threads=1)
    return BoxQPSolver().solve_path(problems, gram, budget, Scratch())


def judged(problem, answer):
    return problem.judge(answer.value, answer.product)


@pytest.mark.parametrize("gamma", [1e-4, 0.01, 0.3, 10.0])
def test_path_over_C_is_optimal_everywhere(data, gamma):
    _, signs, squared = data
    K = np.exp(-gamma * squared)
    rows = np.arange(0, 160, 2)[::-1]
    costs = np.logspace(-3, 6, 10)
    problems = [qp.classifier(signs[rows], np.full(len(rows), C)) for C in costs]
    answers = solve_path(K, rows, problems, 1e-5)
    assert len(answers) == len(problems)
    for problem, answer in zip(problems, answers, strict=True):
        assert answer.status == "optimal"
        exact = replace(answer, product=K[np.ix_(rows, rows)] @ answer.value)
        np.testing.assert_allclose(answer.product, exact.product, rtol=1e-9, atol=2e-6)
        certificate = judged(problem, exact)
        assert certificate.stationarity <= 1.2e-5
        assert certificate.dual_feasibility <= 1e-9 * problem.hi.max()
        alone = SMO().solve(problem, GivenGram(K[np.ix_(rows, rows)]), Budget(tol=1e-5))
        mine, other = certificate.dual, judged(problem, alone).dual
        assert mine == pytest.approx(other, rel=1e-4, abs=1e-9)


def test_regressions_and_two_groups(data):
    X, signs, squared = data
    K, rows = np.exp(-0.2 * squared), np.arange(100)
    targets, ones = X[rows, 0] + np.sin(3 * X[rows, 1]), np.ones(100)
    paths = [
        [qp.regressor(targets, C * ones, 0.1) for C in (0.1, 1.0, 100.0)],
        [qp.regressor(targets, ones, e) for e in (0.5, 0.1, 0.0)],
        [qp.nu_classifier(signs[rows], ones, nu) for nu in (0.1, 0.3, 0.5)],
        [qp.nu_regressor(targets, C * ones, 0.4) for C in (0.1, 1.0, 10.0)],
        [qp.one_class(ones, nu) for nu in (0.05, 0.3, 1.0)],
    ]
    for path in paths:
        for problem, answer in zip(path, solve_path(K, rows, path, 1e-6), strict=True):
            assert judged(problem, answer).stationarity <= 1.01e-6
            for g in range(problem.groups):
                mine = problem.group == g
                assert answer.value[mine].sum() == pytest.approx(
                    problem.start[mine].sum(), abs=1e-9 * problem.hi.max()
                )


def test_answers_before_a_cut_do_not_change(data):
    _, signs, squared = data
    K, rows = np.exp(-0.05 * squared), np.arange(160)
    problems = [qp.classifier(signs, np.full(160, C)) for C in np.logspace(-2, 4, 7)]
    whole = solve_path(K, rows, problems, 1e-3)
    short = solve_path(K, rows, problems[:4], 1e-3)
    for one, other in zip(short, whole, strict=False):
        assert np.array_equal(one.value, other.value)
        assert np.array_equal(one.product, other.product)


def test_path_that_goes_down_and_changes_rows(data):
    _, signs, squared = data
    K, rows = np.exp(-0.05 * squared), np.arange(160)
    down = [qp.classifier(signs, np.full(160, C)) for C in (100.0, 1.0, 0.01)]
    for problem, answer in zip(down, solve_path(K, rows, down, 1e-4), strict=True):
        assert judged(problem, answer).stationarity <= 1.01e-4


def test_indefinite_matrix_ends(data):
    X, signs, _ = data
    K = np.tanh(X @ X.T - 1)
    answer = solve_path(K, np.arange(160), [qp.classifier(signs, np.full(160, 10.0))], 1e-3)[0]
    problem = qp.classifier(signs, np.full(160, 10.0))
    assert (answer.value >= problem.lo).all()
    assert (answer.value <= problem.hi).all()
    assert answer.status in ("optimal", "stalled", "max_iter")


def test_time_limit(data):
    _, signs, squared = data
    K, rows = np.exp(-0.05 * squared), np.arange(160)
    problems = [qp.classifier(signs, np.full(160, C)) for C in (1.0, 10.0)]
    assert solve_path(K, rows, problems, 1e-3, time.perf_counter() - 1) == []
    assert len(solve_path(K, rows, problems, 1e-3, math.inf)) == 2
