"""The working-set solver: one answer from any start, with any cache and any threads."""

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer import RBF, FunctionKernel, Gram, Linear, Polynomial, Precomputed, Sigmoid
from mercer.gram.cached import TiledCache
from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.solvers.base import Budget, Status
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.smo import SMO
from tests.problems.reference import KINDS, Case, random_case
from tests.stopwatch import stopwatch


def data(n, d=4, seed=0):
    """Return rows of two overlapping classes and their signs, read-only."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    signs = np.where(X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n) > 0, 1.0, -1.0)
    X.flags.writeable = False
    return X, signs


def classifier(n=1500, C=1.0, seed=0):
    X, signs = data(n, seed=seed)
    return X, qp.classifier(signs, np.full(n, C))


def rows_of(kernel, X, threads=None):
    return Gram.by_products(kernel, kernel.encode(X), threads)


def solve(problem, gram, budget, start=None, shrinking=True):
    return SMO(shrinking).solve(problem, gram, budget, start)


def solve_all(kernel, X, problems, budget, starts=None):
    return BoxQPSolver().solve_all(problems, rows_of(kernel, X), budget, starts)


def nonconvex(answer):
    return answer.statistics.details["nonconvex"]


def violation(answer):
    return answer.statistics.details["violation"]


def judged(problem, kernel, X, beta):
    """Judge β with a matrix that the solver never saw."""
    f = Gram(kernel, X).dense() @ problem.coefficients(beta, len(X))
    return problem.judge(beta, f)


def check_feasible(problem, beta):
    assert (problem.lo <= beta).all()
    assert (beta <= problem.hi).all()
    scale = max(1.0, np.abs(problem.start).sum(), np.abs(beta).sum())
    assert_allclose(np.bincount(problem.group, beta), problem.sums, atol=1e-11 * scale)


@settings(max_examples=60)
@given(st.sampled_from(KINDS), st.integers(0, 10**6))
def test_any_start_leads_to_the_same_value(kind, seed):
    case, random = random_case(kind, seed, most=20), np.random.default_rng(seed)
    problem, limits = case.problem, Budget(tol=1e-6, max_iter=100_000)
    kernel, rows = Precomputed(case.K), np.arange(len(case.K))
    bounds = []
    for start in (problem.start, case.move(problem.start, random), problem.start):
        before = start.copy()
        for answer in (
            solve(problem, GivenGram(case.K), limits, start),
            solve_all(kernel, rows, [(rows, problem)], limits, [start])[0],
        ):
            check_feasible(problem, answer.value)
            assert_array_equal(start, before)  # the caller's own
            f = case.K @ problem.coefficients(answer.value, len(rows))
            assert_allclose(answer.product, f, rtol=1e-9, atol=1e-9 * (1 + np.abs(f).max()))
            certificate = case.certify(answer.value)
            bounds.append((certificate.dual, certificate.primal))
    lower, upper = np.transpose(bounds)
    assert lower.max() <= upper.min() + 1e-9 * (1 + np.abs(bounds).max())


@pytest.mark.parametrize("kind", KINDS)
def test_the_violation_is_that_of_the_certificate(kind):
    for seed in range(8):
        case = random_case(kind, seed)
        answer = solve(case.problem, GivenGram(case.K), Budget(tol=1e-2, max_iter=100_000))
        certificate = case.certify(answer.value)
        scale = 1e-9 * (1 + np.abs(case.K).max() * np.abs(answer.value).sum())
        assert_allclose(violation(answer), certificate.stationarity, atol=scale)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear(), Polynomial(2, 0.3, 1.0)], ids=repr)
@pytest.mark.parametrize("megabytes", [0, 3, 200])
def test_any_cache_gives_the_same_answer(kernel, megabytes):
    X, problem = classifier()
    limits = Budget(tol=1e-3, cache_bytes=megabytes << 20)
    answer = solve(problem, rows_of(kernel, X), limits)
    assert answer.status == "optimal"
    check_feasible(problem, answer.value)
    certificate = judged(problem, kernel, X, answer.value)
    assert certificate.stationarity <= 1e-3 * (1 + 1e-6)
    best = solve(problem, rows_of(kernel, X), Budget(tol=1e-6))
    sharp = judged(problem, kernel, X, best.value)
    assert certificate.dual <= sharp.primal
    assert certificate.primal >= sharp.dual
    assert certificate.relative_gap < 5e-3
    assert answer.statistics.details["hits"] >= 0
    assert answer.statistics.details["misses"] > 0


def test_the_cache_adds_what_the_matrix_has():
    X, _ = data(1300)
    K = RBF(gamma=0.3)(X)
    random = np.random.default_rng(1)
    for budget in (0, 600 * 4 * 1536, 1 << 30):
        cache = TiledCache(rows_of(RBF(gamma=0.3), X), budget, 2)
        for columns in (np.arange(1300), np.sort(random.permutation(1300)[:700])):
            cache.restart(columns, precise=False)
            f = np.zeros(len(columns))
            total = np.zeros(1300)
            for size in (1, 3, 512, 513, 900):
                rows = random.permutation(1300)[:size]
                weights = random.normal(size=size)
                cache.add(rows, weights, random.uniform(size=size) < 0.7, f)
                total[rows] += weights
            assert_allclose(f, (K @ total)[columns], atol=1e-5 * np.abs(total).sum())


def test_any_number_of_threads_agrees():
    X, problem = classifier(2500, C=10.0)
    bounds = []
    for threads in (1, 2, 8):
        limits = Budget(threads=threads)
        kernel = RBF(gamma=0.3)
        answer = solve(problem, rows_of(kernel, X, threads), limits)
        assert answer.status == "optimal"
        certificate = judged(problem, kernel, X, answer.value)
        bounds.append((certificate.dual, certificate.primal))
    lower, upper = np.transpose(bounds)
    assert lower.max() <= upper.min()
    assert np.ptp(lower) <= 2e-3 * upper.min()


def test_several_problems_on_one_matrix():
    X, signs = data(600)
    third = np.arange(600) % 3
    problems = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        rows = np.flatnonzero((third == a) | (third == b))
        problems.append((rows, qp.classifier(signs[rows], np.ones(len(rows)))))
    kernel = RBF(gamma=0.5)
    together = solve_all(kernel, X, problems, Budget(tol=1e-6))
    for (rows, problem), answer in zip(problems, together, strict=True):
        alone = solve(problem, rows_of(kernel, X[rows]), Budget(tol=1e-6))
        one, two = (judged(problem, kernel, X[rows], s.value) for s in (answer, alone))
        assert answer.status == alone.status == "optimal"
        assert one.dual <= two.primal
        assert two.dual <= one.primal
        assert_allclose(one.dual, two.dual, rtol=1e-6)
    apart = solve_all(kernel, X, problems, Budget(tol=1e-6, cache_bytes=0))
    for one, two in zip(together, apart, strict=True):
        assert_allclose(one.product, two.product, atol=1e-4)


@pytest.mark.parametrize("n", [100, 800, 1500])
def test_max_iter(n):
    X, problem = classifier(n, C=100.0)
    kernel = RBF(gamma=0.3)
    for most in (1, 10, 50):
        problems = [(np.arange(n), problem)]
        limits = Budget(max_iter=most)
        answer = solve_all(kernel, X, problems, limits)[0]
        assert answer.status == "max_iter"
        assert answer.statistics.iterations <= most
        assert violation(answer) > limits.tol
        assert "max_iter" in answer.status.advice
        check_feasible(problem, answer.value)
        certificate = judged(problem, kernel, X, answer.value)
        assert certificate.dual > 0  # better than where it began
        assert_allclose(certificate.stationarity, violation(answer), rtol=1e-6)


@pytest.mark.parametrize("n", [100, 800, 1500])
def test_time_limit(n):
    """Linear, overlapping, C huge: without a limit this takes minutes."""
    X, problem = classifier(n, C=1e8)
    kernel = Linear()
    solve_all(kernel, X, [(np.arange(n), problem)], Budget.within(0.5))  # compiles
    with stopwatch() as watch:
        answer = solve_all(kernel, X, [(np.arange(n), problem)], Budget.within(0.5))[0]
    assert watch.seconds < 2.5
    assert answer.status in ("optimal", "time_limit", "stalled")
    check_feasible(problem, answer.value)
    assert judged(problem, kernel, X, answer.value).dual > 0


def interrupting(share):
    """Return a kernel that is interrupted once, after a share of all pairs, on whichever thread."""
    pairs = [0.0]

    def compare(A, B):
        pairs[0] += len(A) * len(B)
        if share * 1200**2 < pairs[0] < np.inf:
            pairs[0] = np.inf
            raise KeyboardInterrupt
        return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    return FunctionKernel(compare, vectorized=True)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_interrupt_returns_what_was_found(share):
    X, problem = classifier(1200, C=10.0)
    answer = solve(problem, rows_of(interrupting(share), X), Budget(tol=1e-4))
    assert answer.status == "interrupted"
    assert answer.status.advice == Status.INTERRUPTED.advice
    check_feasible(problem, answer.value)
    certificate = judged(problem, RBF(gamma=0.3), X, answer.value)
    assert_allclose(certificate.stationarity, violation(answer), rtol=1e-6)
    best = judged(
        problem, RBF(gamma=0.3), X, solve(problem, rows_of(RBF(gamma=0.3), X), Budget()).value
    )
    assert certificate.dual <= best.primal
    assert certificate.primal >= best.dual


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="needs signals")
def test_ctrl_c_returns_what_was_found():
    X, problem = classifier(3000, C=1e6)
    kernel = Linear()
    solve(problem, rows_of(kernel, X), Budget(max_iter=100))  # compiles
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with stopwatch() as watch:
        timer.start()
        answer = solve(problem, rows_of(kernel, X), Budget(tol=1e-9))
        timer.join()
    assert watch.seconds < 5
    assert answer.status == "interrupted"
    check_feasible(problem, answer.value)
    assert judged(problem, kernel, X, answer.value).dual > 0


def test_a_monitor_sees_the_violation_and_can_stop():
    X, problem = classifier(1500, C=100.0)
    seen = []

    def monitor(violation):
        seen.append(violation)
        return len(seen) == 3

    answer = solve(problem, rows_of(RBF(gamma=0.3), X), Budget(tol=1e-6, monitor=monitor))
    assert answer.status == "interrupted"
    assert len(seen) == 3
    assert all(violation > 0 for violation in seen)
    check_feasible(problem, answer.value)


def indefinite(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return (A + A.T) / 2


@pytest.mark.parametrize("n", [20, 150, 400])
def test_negative_curvature_is_met_and_told(n):
    K, signs = indefinite(n), np.where(np.arange(n) % 2, 1.0, -1.0)
    problem = qp.classifier(signs, np.ones(n))
    kernel = Precomputed(K)
    problems = [(np.arange(n), problem)]
    for answer in (
        solve_all(kernel, np.arange(n), problems, Budget.within(20))[0],
        solve(problem, GivenGram(K), Budget.within(20)),
    ):
        assert nonconvex(answer)
        assert answer.status == "optimal"
        check_feasible(problem, answer.value)
        # A stationary point all the same: no pair improves it at first order.
        assert Case(problem, K).certify(answer.value).stationarity <= 1e-3 * (1 + 1e-6)


def test_sound_kernels_show_no_negative_curvature():
    X, problem = classifier(400)
    X = np.concatenate([X, X])  # zero curvature between equal rows
    problem = qp.classifier(np.tile(problem.p, 2), np.ones(800))
    for kernel in (RBF(gamma=0.3), Linear(), RBF(gamma=1e-8), Polynomial(3, 1.0, 1.0)):
        for answer in (
            solve_all(kernel, X, [(np.arange(800), problem)], Budget())[0],
            solve(problem, rows_of(kernel, X), Budget()),
        ):
            assert not nonconvex(answer)
            assert answer.status == "optimal"


def test_a_sigmoid_kernel_ends():
    X, problem = classifier(1300)
    answer = solve(problem, rows_of(Sigmoid(2.0, -1.0), X), Budget.within(30))
    assert nonconvex(answer)
    assert answer.status == "optimal"


def test_a_warm_start_along_C_is_cheaper():
    X, signs = data(1500)
    kernel = RBF(gamma=0.3)
    first = qp.classifier(signs, np.full(1500, 10.0))
    answer = solve(first, rows_of(kernel, X), Budget())
    for C in (11.0, 12.0, 20.0):
        problem = qp.classifier(signs, np.full(1500, C))
        cold = solve(problem, rows_of(kernel, X), Budget())
        warm = solve(problem, rows_of(kernel, X), Budget(), answer.value * (C / 10.0))
        assert warm.statistics.iterations < 0.9 * cold.statistics.iterations
        one, two = (judged(problem, kernel, X, s.value) for s in (cold, warm))
        assert one.dual <= two.primal
        assert two.dual <= one.primal
    again = solve(first, rows_of(kernel, X), Budget(), answer.value)
    assert again.statistics.iterations == 0
    assert_array_equal(again.value, answer.value)


def test_kernel_evaluations_are_counted():
    X, problem = classifier(1500)
    answer = solve(problem, rows_of(RBF(gamma=0.3), X), Budget())
    assert 1500 < answer.statistics.evaluations < 20 * 1500**2
    kernel = RBF(gamma=0.3)
    few = [(np.arange(100), classifier(100)[1])]
    assert solve_all(kernel, X[:100], few, Budget())[0].statistics.evaluations == 10**4


@pytest.mark.parametrize("shrinking", [True, False])
def test_shrinking_changes_nothing(shrinking):
    X, problem = classifier(4000, C=10.0)
    kernel = RBF(gamma=0.5)
    answer = solve(problem, rows_of(kernel, X), Budget(), shrinking=shrinking)
    assert answer.status == "optimal"
    assert judged(problem, kernel, X, answer.value).stationarity <= 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize("kind", ["ε-SVR", "ν-SVR", "one-class SVM", "ν-SVC"])
def test_other_problems_past_the_small_sizes(kind):
    """Big enough for working sets, float32 rows and, for regressions, two variables a row."""
    n = 1300
    X, signs = data(n)
    targets = np.sin(X[:, 0]) + 0.2 * signs
    problem = {
        "ε-SVR": qp.regressor(targets, np.full(n, 10.0), 0.1),
        "ν-SVR": qp.nu_regressor(targets, np.full(n, 10.0), 0.3),
        "one-class SVM": qp.one_class(np.ones(n), 0.2),
        "ν-SVC": qp.nu_classifier(signs, np.ones(n), 0.3),
    }[kind]
    kernel = RBF(gamma=0.3)
    tol = 1e-3
    answer = solve(problem, rows_of(kernel, X), Budget(tol=tol))
    assert answer.status == "optimal"
    check_feasible(problem, answer.value)
    certificate = judged(problem, kernel, X, answer.value)
    assert certificate.stationarity <= tol * (1 + 1e-6)
    assert 0 <= certificate.gap <= tol * np.abs(problem.hi - problem.lo).sum()


def test_every_status_has_advice():
    for status in Status:
        assert (status.advice == "") == (status == "optimal")
    assert "max_iter" in Status("max_iter").advice


def test_nothing_to_do():
    """Both variables at bounds that they cannot leave: no pair exists, and none is sought."""
    problem = qp.nu_classifier(np.array([1.0, -1.0]), np.ones(2), 1.0)
    kernel = Linear()
    X = np.array([[1.0], [-1.0]])
    answer = solve_all(kernel, X, [(np.arange(2), problem)], Budget())[0]
    assert_array_equal(answer.value, [1.0, -1.0])
    assert answer.status == "optimal"
    assert violation(answer) == 0
    alone = solve(problem, GivenGram(np.array([[1.0, -1.0], [-1.0, 1.0]])), Budget())
    assert_array_equal(alone.value, answer.value)
    assert alone.status == "optimal"


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_float64_has_the_last_word(C):
    X, problem = classifier(4000, C)
    answer = solve(problem, rows_of(RBF(gamma=0.5), X), Budget(tol=1e-3, gap=1e-3))
    f = Gram(RBF(gamma=0.5), X).dense() @ problem.coefficients(answer.value, len(X))
    assert np.abs(answer.f - f).max() <= 1e-11 * C
    top, bottom = problem.extremes(answer.value, f)[0]
    assert violation(answer) == pytest.approx(top - bottom, abs=1e-10 * C)


def test_few_rounds_solve_all_that_fit_a_working_set():
    X, problem = classifier(900)
    answer = solve(problem, rows_of(RBF(gamma=0.5), X), Budget(tol=1e-3))
    assert answer.statistics.details["rounds"] <= 2
    assert judged(problem, RBF(gamma=0.5), X, answer.value).relative_gap < 1e-3
