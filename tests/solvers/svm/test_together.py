"""Several small problems on one matrix in one compiled call: the answers of each one alone."""

from itertools import combinations

import numpy as np
import pytest

from mercer import _fast
from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.problems.qp import rounding_of_sums
from mercer.solvers.base import Budget
from mercer.solvers.svm.box_qp import SUMS_ROUNDING, BoxQPSolver


def parts_of(problem_of, codes):
    parts = []
    for first, second in combinations(range(codes.max() + 1), 2):
        rows = np.flatnonzero((codes == first) | (codes == second))
        parts.append((rows, problem_of(np.where(codes[rows] == first, 1.0, -1.0))))
    return parts


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(3)
    codes = np.arange(150) % 5
    X = random.normal(size=(150, 3)) + 1.2 * random.normal(size=(5, 3))[codes]
    return codes, ((X[:, None] - X) ** 2).sum(axis=2)


@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_they_are_solved_as_one_by_one(data, gamma, C):
    codes, squared = data
    gram = GivenGram(np.exp(-gamma * squared))
    parts = parts_of(lambda signs: qp.classifier(signs, np.full(len(signs), C)), codes)
    together = BoxQPSolver().solve_all(parts, gram, Budget())
    # Whoever watches hears of each problem by itself.
    alone = BoxQPSolver().solve_all(parts, gram, Budget(monitor=lambda violation: False))
    for (_, problem), mine, other in zip(parts, together, alone, strict=True):
        assert mine.status == other.status == "optimal"
        assert mine.certificate.stationarity <= 1e-3
        assert problem.sums_error(mine.value) <= SUMS_ROUNDING
        assert mine.statistics.iterations == other.statistics.iterations
        assert mine.certificate.dual == pytest.approx(other.certificate.dual, rel=1e-6)
        np.testing.assert_allclose(mine.product, other.product, atol=1e-3)
        if gamma > 0.1:  # else the matrix is nearly singular, and many answers are the best one
            np.testing.assert_allclose(mine.value, other.value, rtol=1e-9, atol=1e-9 * C)


def test_two_groups_and_answers_that_take_longer(data):
    codes, squared = data
    gram = GivenGram(np.exp(-0.5 * squared))
    parts = parts_of(lambda signs: qp.nu_classifier(signs, np.ones(len(signs)), 0.3), codes)
    for tol in (1e-3, 1e-9):  # the second one is more than a single call reaches
        together = BoxQPSolver().solve_all(parts, gram, Budget(tol))
        for (rows, problem), mine in zip(parts, together, strict=True):
            alone = BoxQPSolver().solve(problem, gram.take(rows), Budget(tol))
            assert mine.certificate.stationarity <= tol
            assert mine.certificate.dual == pytest.approx(alone.certificate.dual, rel=1e-6)


def test_large_sets_of_problems_are_shared_out(data):
    codes, squared = data
    whole = np.tile(np.arange(150), 5)
    gram = GivenGram(np.exp(-squared)[np.ix_(whole, whole)])
    parts = parts_of(lambda signs: qp.classifier(signs, np.ones(len(signs))), codes[whole])
    for threads in (1, 2, 64):  # with more threads than problems, too
        for (rows, problem), mine in zip(
            parts, BoxQPSolver().solve_all(parts, gram, Budget(threads=threads)), strict=True
        ):
            alone = BoxQPSolver().solve(problem, gram.take(rows), Budget())
            np.testing.assert_allclose(mine.product, alone.product, atol=2e-3)
            assert mine.certificate.relative_gap < 1e-2


@pytest.mark.parametrize("state", ["nu_classifier", "classifier", "hulls"])
def test_the_compiled_gap_is_that_of_the_problem(data, state):
    codes, squared = data
    K, signs = 3.0 * np.exp(-squared), np.where(codes % 2, 1.0, -1.0)
    ones = np.ones(len(signs))
    problem = {
        "nu_classifier": lambda: qp.nu_classifier(signs, ones, 0.4),
        "classifier": lambda: qp.classifier(signs, 5.0 * ones),
        "hulls": lambda: qp.hulls(signs),
    }[state]()
    random = np.random.default_rng(0)
    best = BoxQPSolver().solve(problem, GivenGram(K), Budget(1e-10)).value
    for size in (0.0, 1e-9, 1e-3, 1.0):
        beta = problem.feasible(best + size * random.normal(size=len(best)))
        for f in (K @ beta, K @ beta + np.inf, K @ beta * np.nan):
            box = (problem.lo, problem.hi, beta, problem.group, problem.sums)
            with np.errstate(invalid="ignore"):
                mine = _fast.box_parts.relative_gap(problem.p, f, *box, 3.0)
                wanted = problem.relative_gap(beta, f, rounding_of_sums(beta, 3.0))
            assert mine == pytest.approx(wanted, rel=1e-9, abs=1e-15)
        assert problem.relative_gap(beta, K @ beta, 0.0) > 0 or size == 0.0


def test_hard_constraints_are_none_of_the_compiled_gap(data):
    codes, squared = data
    K, signs = np.exp(-squared), np.where(codes % 2, 1.0, -1.0)
    problem = qp.classifier(signs, np.full(len(signs), np.inf))
    beta = 0.1 * signs
    box = (problem.lo, problem.hi, beta, problem.group, problem.sums)
    assert _fast.box_parts.relative_gap(problem.p, K @ beta, *box, 1.0) == 0.0
    assert problem.relative_gap(beta, K @ beta, 0.0) == 0.0


def test_answers_with_a_large_gap_are_solved_on(data):
    codes, squared = data
    gram = GivenGram(np.exp(-0.3 * squared))
    parts = parts_of(lambda signs: qp.classifier(signs, np.full(len(signs), 1e3)), codes)
    for gap in (1e-2, 1e-6):  # a violation of 1 alone says little here
        for (rows, problem), mine in zip(
            parts, BoxQPSolver().solve_all(parts, gram, Budget(1.0, gap=gap)), strict=True
        ):
            judged = problem.certify(mine.value, gram.take(rows))
            assert mine.status == "optimal"
            assert judged.relative_gap <= 1.1 * gap
