"""One run of the joint multi-class solver taken apart: each number by its formula."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.exceptions import NumericalOverflow
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.solvers.base import Budget, Status
from mercer.solvers.svm import multiclass_smo
from mercer.solvers.svm.multiclass_smo import JointMulticlassSolver, _JointRun, _Rows

PROBLEMS = [CrammerSinger, WestonWatkins]


def table(n=30, classes=3):
    random = np.random.default_rng(2)
    X = random.normal(size=(n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    score = X[:, 0] + 0.3 * random.normal(size=n)
    return K, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def stated(make, n=30, C=2.0):
    K, labels = table(n)
    return K, make(labels, np.full(n, C), 3)


def run_of(make, n=30, start=None, working_set=512, **limits):
    K, problem = stated(make, n)
    gram = GivenGram(K, Definite.POSITIVE)
    return K, problem, _JointRun(problem, gram, Budget(**limits), start, working_set)


@pytest.mark.parametrize("make", PROBLEMS)
def test_values_gaps_and_rounding(make):
    K, problem, first = run_of(make)
    start = problem.feasible(np.random.default_rng(3).normal(size=(30, 3)))
    K, problem, run = run_of(make, start=start)
    assert_allclose(run.f, K @ run.alpha, atol=1e-12)
    judged = problem.judge(run.alpha, K @ run.alpha)
    assert run._relative_gap() == pytest.approx(judged.relative_gap)
    assert run._dual() == pytest.approx(judged.dual)
    assert run._measure() == pytest.approx(run.wrong.max())
    assert run.best_gap == run._relative_gap()
    weights = np.abs(run.alpha).sum(axis=0).max()  # all k(x, x) are 1
    assert run._rounding() == pytest.approx(2.0**-52 * max(1.0, 0.1 * weights), rel=1e-9, abs=0)
    run.alpha *= 1e6
    assert run._rounding() == pytest.approx(2.0**-52 * 1e5 * weights, rel=1e-9, abs=0)
    assert first._rounding() == 2.0**-52
    assert not first.alpha.any()
    assert not first.f.any()


def test_limits_of_steps_and_points():
    assert run_of(CrammerSinger)[2].max_iter == 5 * 10**7
    assert run_of(CrammerSinger, max_iter=0)[2].max_iter == 0
    assert run_of(CrammerSinger, max_iter=7)[2].max_iter == 7
    assert run_of(CrammerSinger, working_set=9)[2].size == 9
    assert run_of(CrammerSinger)[2].size == 30
    run = run_of(CrammerSinger)[2]
    assert_array_equal(np.sort(run.order), np.arange(30))


@pytest.mark.parametrize("make", PROBLEMS)
def test_working_sets_are_the_worst_points_and_some_of_the_last(make):
    _, _, run = run_of(make, working_set=8)
    run._measure()
    run.wrong = np.random.default_rng(4).permutation(30).astype(float)
    run._choose(0.0)
    assert set(run.working) == set(np.argsort(-run.wrong)[:8])  # all of the first are fresh
    last = run.working.copy()
    run.wrong = np.random.default_rng(5).permutation(30).astype(float)
    run._choose(0.0)
    fresh = np.argsort(-run.wrong)[:4]
    kept = [t for t in last if t not in fresh]
    kept = sorted(kept, key=lambda t: -run.wrong[t])[:4]
    assert set(run.working) == {*fresh, *kept}
    run.working = np.empty(0, np.intp)
    run._choose(50.0)
    assert set(run.working) == set(np.flatnonzero(run.wrong > 25.0))
    run.wrong[:] = 0.0
    run.working = np.arange(3)
    run._choose(1.0)
    assert_array_equal(np.sort(run.working), [0, 1, 2])


@pytest.mark.parametrize("make", PROBLEMS)
def test_improvements_keep_values_and_count_steps(make):
    K, problem, run = run_of(make)
    before = run._dual()
    run._measure()
    run._choose(0.0)
    assert run._improve(1e-6)
    assert run.steps > 0
    assert run._dual() > before
    assert_allclose(run.f, K @ run.alpha, atol=1e-5)
    assert_allclose(problem.feasible(run.alpha), run.alpha, atol=1e-9)
    assert run._refresh()  # float64 sees the progress
    assert run.best_dual == pytest.approx(run._dual())
    assert not run._refresh()  # and nothing new the second time
    assert run.best_alpha is not run.alpha
    _, _, short = run_of(make, max_iter=5)
    short._measure()
    short._choose(0.0)
    short._improve(1e-9)
    assert 1 <= short.steps <= 5 + 30


def test_progress_is_a_tenth_of_the_gap_or_more_of_the_dual():
    _, _, run = run_of(CrammerSinger)
    run._measure()
    run._choose(0.0)
    run._improve(1e-6)
    gap, worst, dual = run._relative_gap(), run._measure(), run._dual()

    def progress(best_gap, least, best_dual):
        run.best_gap, run.least_violation, run.best_dual = best_gap, least, best_dual
        return run._refresh()

    gap, worst, dual = (run._refresh(), run._relative_gap(), run._measure(), run._dual())[1:]
    assert progress(gap / 0.89, worst, dual)
    assert not progress(gap / 0.91, worst, dual)
    assert progress(gap, worst / 0.89, dual)
    assert not progress(gap, worst / 0.91, dual)
    assert progress(gap, worst, dual / (1 + 1.1e-6))
    assert not progress(gap, worst, dual / (1 + 0.9e-6))
    run.best_alpha = None
    progress(gap * 0.5, worst, dual)
    assert run.best_alpha is None  # a worse one is not kept
    assert run.best_gap == gap * 0.5
    assert run.least_violation == worst


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("working_set", [4, 512])
def test_answers_and_their_details(make, working_set):
    K, problem = stated(make)
    gram = GivenGram(K, Definite.POSITIVE)
    violations = []

    def note(violation):
        violations.append(violation)
        return False

    found = JointMulticlassSolver(working_set).solve(problem, gram, Budget(tol=1e-6, monitor=note))
    details = found.statistics.details
    judged = problem.judge(found.value, K @ found.value)
    assert found.status is Status.OPTIMAL
    assert judged.relative_gap <= 1e-6
    assert details["relative_gap"] == pytest.approx(judged.relative_gap, abs=1e-9)
    assert details["violation"] <= 1e-6
    assert not details["nonconvex"]
    assert_allclose(found.product, K @ found.value, atol=1e-10)
    assert len(violations) <= (190 if working_set == 4 else 12)
    again = JointMulticlassSolver(working_set).solve(problem, gram, Budget(tol=1e-5), found.value)
    assert again.statistics.iterations == 0
    assert_allclose(again.value, found.value, atol=1e-9)
    rough = JointMulticlassSolver(working_set).solve(problem, gram, Budget(tol=1e-2))
    assert rough.statistics.iterations < found.statistics.iterations
    assert problem.judge(rough.value, K @ rough.value).relative_gap <= 1e-2


@pytest.mark.parametrize("make", PROBLEMS)
def test_reasons_to_end(make):
    K, problem = stated(make)
    gram = GivenGram(K, Definite.POSITIVE)

    def solve(**limits):
        return JointMulticlassSolver(8).solve(problem, gram, Budget(tol=1e-9, **limits))

    assert solve(max_iter=10).status is Status.MAX_ITER
    assert solve(deadline=0.0).status is Status.TIME_LIMIT
    assert solve(monitor=lambda violation: True).status is Status.INTERRUPTED
    few, more = solve(max_iter=20), solve(max_iter=200)
    assert few.certificate.gap >= more.certificate.gap
    exact = JointMulticlassSolver().solve(problem, gram, Budget(tol=1e-15))
    assert exact.status in (Status.STALLED, Status.OPTIMAL)
    assert exact.certificate.relative_gap <= 1e-10


def test_rows_beyond_a_precision_are_told():
    K = np.full((3, 3), 1e39)
    rows = _Rows(GivenGram(K), np.float32, 1 << 20)
    with pytest.raises(NumericalOverflow, match="float32"):
        rows.fetch(np.array([1]))
    wide = _Rows(GivenGram(K), np.float64, 1 << 20)
    assert_allclose(wide.fetch(np.array([1, 2])), K[1:])
    assert wide.budget == 1 << 20


def test_two_interrupts_end_at_once(monkeypatch):
    _, _, run = run_of(CrammerSinger)
    asked = []

    def press(tol):
        asked.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_improve", press)
    assert run.climb() is Status.INTERRUPTED
    assert len(asked) == 1
    _, _, run = run_of(CrammerSinger)
    monkeypatch.setattr(run, "_improve", press)
    monkeypatch.setattr(run, "_measure", lambda: press(0.0))
    assert run.climb() is Status.INTERRUPTED
    assert len(asked) == 3


def test_few_points_where_there_are_many_rows(monkeypatch):
    monkeypatch.setattr(multiclass_smo, "_MOST_VALUES", 30 * 33)
    assert run_of(CrammerSinger, 30)[2].size == 30
    K, labels = table(60)
    problem = CrammerSinger(labels, np.ones(60), 3)
    for most, size in ((60 * 40, 40), (60, 32)):
        monkeypatch.setattr(multiclass_smo, "_MOST_VALUES", most)
        assert _JointRun(problem, GivenGram(K), Budget(), None, 512).size == size


def test_rounding_goes_by_the_longest_rows():
    _, problem, _ = run_of(CrammerSinger)
    lengths = np.linspace(1.0, 100.0, 30)
    K = table()[0] * np.outer(lengths, lengths)
    run = _JointRun(problem, GivenGram(K, Definite.POSITIVE), Budget(), None, 512)
    assert_allclose(run.lengths, lengths)
    run.alpha = problem.feasible(np.random.default_rng(3).normal(size=(30, 3)))
    largest = max(lengths @ np.abs(column) for column in run.alpha.T) * 100.0
    assert run._rounding() == pytest.approx(2.0**-52 * 0.1 * largest, rel=1e-9, abs=0)


@pytest.mark.parametrize("make", PROBLEMS)
def test_gaps_of_problems_with_biases(make):
    K, problem = stated(make)
    biases = np.array([0.5, -1.0, 0.25])
    problem = replace(problem, biases=biases, free=False)
    start = problem.feasible(np.random.default_rng(3).normal(size=(30, 3)))
    run = _JointRun(problem, GivenGram(K, Definite.POSITIVE), Budget(), start, 512)
    assert_allclose(run.f, K @ run.alpha + biases, atol=1e-12)
    judged = problem.judge(run.alpha, K @ run.alpha)
    assert run._relative_gap() == pytest.approx(judged.relative_gap)
    assert run._dual() == pytest.approx(judged.dual)
    found = run.outcome(Status.STALLED)
    assert_allclose(found.product, K @ run.alpha, atol=1e-12)
    assert found.details["relative_gap"] == pytest.approx(judged.relative_gap)
    assert found.details["nonconvex"] is False
    assert found.iterations == 0
