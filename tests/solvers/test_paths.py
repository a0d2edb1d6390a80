"""Paths of problems on one matrix: every answer is judged by its certificate."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from mercer.problems import qp
from mercer.solvers.paths import Workshop, solve_path
from mercer.solvers.rows import DenseRows
from mercer.solvers.smo import Settings, solve


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(160, 4))
    signs = np.where(X[:, 0] * X[:, 1] + 0.5 * random.normal(size=160) > 0, 1.0, -1.0)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    return X, signs, squared


def judged(problem, answer):
    return problem.certify(answer.beta, answer.f, problem.biases(answer.beta, answer.f))


@pytest.mark.parametrize("gamma", [1e-4, 0.01, 0.3, 10.0])
def test_path_over_C_is_optimal_everywhere(data, gamma):
    _, signs, squared = data
    K = np.exp(-gamma * squared)
    rows = np.arange(0, 160, 2)[::-1]
    costs = np.logspace(-3, 6, 10)
    problems = [qp.classifier(signs[rows], np.full(len(rows), C)) for C in costs]
    answers = solve_path(K, rows, problems, 1e-5, Workshop())
    assert len(answers) == len(problems)
    for problem, answer in zip(problems, answers, strict=True):
        assert answer.status == "optimal"
        exact = replace(answer, f=K[np.ix_(rows, rows)] @ answer.beta)
        np.testing.assert_allclose(answer.f, exact.f, rtol=1e-9, atol=2e-6)
        certificate = judged(problem, exact)
        assert certificate.stationarity <= 1.2e-5
        assert certificate.dual_feasibility <= 1e-9 * problem.hi.max()
        alone = solve(problem, DenseRows(K[np.ix_(rows, rows)]), Settings(tol=1e-5))
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
        for problem, answer in zip(path, solve_path(K, rows, path, 1e-6, Workshop()), strict=True):
            assert judged(problem, answer).stationarity <= 1.01e-6
            for g in range(problem.groups):
                mine = problem.group == g
                assert answer.beta[mine].sum() == pytest.approx(
                    problem.start[mine].sum(), abs=1e-9 * problem.hi.max()
                )


def test_answers_before_a_cut_do_not_change(data):
    _, signs, squared = data
    K, rows = np.exp(-0.05 * squared), np.arange(160)
    problems = [qp.classifier(signs, np.full(160, C)) for C in np.logspace(-2, 4, 7)]
    whole = solve_path(K, rows, problems, 1e-3, Workshop())
    short = solve_path(K, rows, problems[:4], 1e-3, Workshop())
    for one, other in zip(short, whole, strict=False):
        assert np.array_equal(one.beta, other.beta)
        assert np.array_equal(one.f, other.f)


def test_path_that_goes_down_and_changes_rows(data):
    _, signs, squared = data
    K, rows = np.exp(-0.05 * squared), np.arange(160)
    down = [qp.classifier(signs, np.full(160, C)) for C in (100.0, 1.0, 0.01)]
    for problem, answer in zip(down, solve_path(K, rows, down, 1e-4, Workshop()), strict=True):
        assert judged(problem, answer).stationarity <= 1.01e-4


def test_indefinite_matrix_ends(data):
    X, signs, _ = data
    K = np.tanh(X @ X.T - 1)
    answer = solve_path(K, np.arange(160), [qp.classifier(signs, np.full(160, 10.0))], 1e-3,
                        Workshop())[0]  # fmt: skip
    problem = qp.classifier(signs, np.full(160, 10.0))
    assert (answer.beta >= problem.lo).all()
    assert (answer.beta <= problem.hi).all()
    assert answer.status in ("optimal", "stalled", "max_iter")


def test_time_limit(data):
    _, signs, squared = data
    K, rows = np.exp(-0.05 * squared), np.arange(160)
    problems = [qp.classifier(signs, np.full(160, C)) for C in (1.0, 10.0)]
    assert solve_path(K, rows, problems, 1e-3, Workshop(), time.perf_counter() - 1) == []
    assert len(solve_path(K, rows, problems, 1e-3, Workshop(), math.inf)) == 2
