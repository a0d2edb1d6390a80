"""Solvers of box problems taken apart: what they choose, keep, remember and say."""

import math
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import RBF, Gram
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.unbiased import UnbiasedQP
from mercer.solvers.base import Budget, Outcome, Status
from mercer.solvers.svm import box_parts, box_qp, smo
from mercer.solvers.svm.box_parts import _ends, _pieces
from mercer.solvers.svm.box_qp import BoxQPSolver, Scratch, _OnMatrix, share_matrix
from mercer.solvers.svm.coordinate_ascent import KernelCoordinateAscent
from mercer.solvers.svm.smo import SMO, _WorkingSetRun, step_limit, violation_of


def table(n=60, C=1.0, kind="classes"):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    v = X[:, 0] + 0.6 * random.normal(size=n)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    every = np.full(n, C)
    problem = {
        "classes": lambda: qp.classifier(np.sign(v), every),
        "tube": lambda: qp.regressor(v, every, 0.2),
        "nu": lambda: qp.nu_classifier(np.sign(v), every, 0.4),
    }[kind]()
    return K, problem


# ---- working sets ------------------------------------------------------------


def test_violations_and_limits_by_hand():
    assert violation_of(np.array([[3.0, 1.0], [0.0, 5.0]])) == 2.0
    assert violation_of(np.array([[1.0, 3.0]])) == 0.0
    assert violation_of(np.array([[-np.inf, 3.0], [2.5, 2.0]])) == 0.5
    assert violation_of(np.array([[-np.inf, np.inf]])) == 0.0
    assert step_limit(5, 100) == 5
    assert step_limit(0, 100) == 0
    assert step_limit(-1, 100) == 10**7
    assert step_limit(-1, 10**6) == 10**8


def working(n=60, kind="classes", start=None, shrinking=True, **limits):
    K, problem = table(n, kind=kind)
    gram = GivenGram(K, Definite.POSITIVE)
    return K, problem, _WorkingSetRun(problem, gram, Budget(**limits), start, shrinking)


@pytest.mark.parametrize("kind", ["classes", "tube", "nu"])
def test_checks_are_in_float64(kind):
    K, problem, run = working(kind=kind)
    random = np.random.default_rng(1)
    for count in (1, 2):
        run.beta = problem.feasible(random.uniform(problem.lo, problem.hi))
        violation, objective = run.check()
        c = problem.coefficients(run.beta, 60)
        assert_allclose(run.exact_f, K @ c, atol=1e-12)
        assert violation == pytest.approx(problem.violation(run.beta, K @ c), abs=1e-12)
        assert objective == pytest.approx(c @ K @ c / 2 - problem.p @ run.beta)
        assert run.refreshes == count
    run.check()
    assert run.refreshes == 2  # nothing moved
    assert run.rounding() == pytest.approx(2.0**-52 * np.abs(run.beta).sum(), rel=1e-9, abs=0)
    run.greatest = 8.0
    assert run.rounding() == pytest.approx(2.0**-49 * np.abs(run.beta).sum(), rel=1e-9, abs=0)


def test_sizes_of_working_sets():
    _, _, run = working(cache_bytes=200 << 20)
    assert run.size == 60
    assert len(run.block) == 3600
    assert run.block.dtype == np.float32
    run.most = 10
    run.resize(1024)
    assert run.size == 10
    run.resize(3)
    assert run.size == 4
    run.use_float64(False)
    assert not run.precise
    run.use_float64(True)
    assert run.precise
    assert run.block.dtype == np.float64
    assert run.size == 4
    assert working(cache_bytes=32 * 100**2)[2].most == 100
    assert working(cache_bytes=0)[2].most == 64


def test_what_a_gap_asks_for():
    K, problem, run = working(gap=1e-6, tol=0.5)
    run.beta = problem.feasible(np.random.default_rng(2).uniform(problem.lo, problem.hi))
    violation, _ = run.check()
    gap = problem.gap(run.beta, K @ run.beta).relative()
    wanted = violation * min(0.3, max(0.03, 1e-6 / gap))
    assert run.sharper(violation) == pytest.approx(wanted)
    assert run.inner == pytest.approx(wanted)
    run.nonconvex = True
    assert run.sharper(violation) == 0.0
    _, _, content = working(tol=0.5)
    assert content.sharper(1.0) == 0.0


def test_a_block_is_filled_in_strips(monkeypatch):
    K, _, run = working()
    monkeypatch.setattr(smo, "STRIP", 7)
    rows = np.random.default_rng(3).permutation(60)[:40]
    out = np.full((25, 40), np.nan, np.float32)
    run.fill(rows, out)
    assert_allclose(out, K[np.ix_(rows[:25], rows)], rtol=1e-6)
    run.use_float64(True)
    exact = np.full((25, 40), np.nan)
    run.fill(rows, exact)
    assert_allclose(exact, K[np.ix_(rows[:25], rows)], rtol=1e-14)


@pytest.mark.parametrize("kind", ["classes", "tube", "nu"])
@pytest.mark.parametrize("gap", [math.inf, 1e-8])
def test_ends_of_working_sets(kind, gap):
    K, problem = table(kind=kind)
    gram = GivenGram(K, Definite.POSITIVE)
    found = SMO().run(problem, gram, Budget(tol=1e-3, gap=gap), None)
    f = K @ problem.coefficients(found.value, 60)
    assert found.status is Status.OPTIMAL
    assert found.gap_seen is (gap < math.inf)
    assert problem.violation(found.value, f) <= 1e-3
    if gap < math.inf:
        assert problem.gap(found.value, f).relative() <= 1e-8
    steps = found.iterations
    fewer = SMO().run(problem, gram, Budget(tol=1e-3, gap=gap, max_iter=steps // 2), None)
    assert fewer.status is Status.MAX_ITER
    assert fewer.iterations == steps // 2
    start = found.value.copy()
    again = SMO().run(problem, gram, Budget(tol=1e-3, gap=gap), start)
    assert again.iterations == 0
    assert_array_equal(start, found.value)
    none = SMO().run(problem, gram, Budget(tol=1e-3, max_iter=0), None)
    assert none.iterations <= 1
    assert none.status is Status.MAX_ITER


# ---- dense matrices ------------------------------------------------------------


def test_which_matrices_are_shared():
    def parts(*sizes):
        return [(np.arange(size), None) for size in sizes]

    room = 24 * 5000**2
    assert share_matrix(2000, parts(2000), room)
    assert not share_matrix(2001, parts(2001), room)
    assert share_matrix(5000, parts(3500, 10), room)
    assert not share_matrix(5001, parts(3500, 10), 2 * room)
    assert not share_matrix(5000, parts(3501, 10), room)
    assert not share_matrix(5000, parts(3500), room)
    assert not share_matrix(5000, parts(3500, 10), room - 1)
    assert share_matrix(100, parts(100), 240_000)
    assert not share_matrix(100, parts(100), 239_999)


def test_memory_is_used_again():
    scratch = Scratch()
    first = scratch.block(4)
    assert first.shape == (4, 4)
    assert first.dtype == np.float32
    assert np.shares_memory(scratch.block(3), first)
    assert scratch.block(3).shape == (3, 3)
    assert not np.shares_memory(scratch.block(5), first)
    one, two = scratch.matrix(3, 0), scratch.matrix(3, 1)
    assert one.dtype == np.float64
    assert not np.shares_memory(one, two)
    assert np.shares_memory(scratch.matrix(3, 0), one)


def on_matrix(K, problem):
    return _OnMatrix(BoxQPSolver(), K, np.arange(len(K)), problem, Scratch())


def test_counts_of_rounds_and_pairs():
    K, problem = table(10)
    run = on_matrix(K, problem)
    assert (run.rounds, run.patience, run.pairs) == (8, 12, 3000)
    K, problem = table(800)
    run = on_matrix(K, problem)
    assert (run.rounds, run.patience, run.pairs) == (5, 7, 12_800)
    K, problem = table(2100, kind="tube")
    run = on_matrix(K, problem)
    assert (run.rounds, run.patience, run.pairs) == (1, 2, 16 * 4200)


@pytest.mark.parametrize("kind", ["classes", "tube", "nu"])
def test_answers_on_a_matrix(kind):
    K, problem = table(kind=kind)
    for limits in (Budget(tol=1e-3), Budget(tol=1e-3, gap=1e-9), Budget(tol=1e-8)):
        for fine in (False, True):
            found = on_matrix(K, problem).run(problem, limits, None, fine)
            f = K @ problem.coefficients(found.value, 60)
            assert found.status is Status.OPTIMAL
            assert_allclose(found.product, f, atol=1e-10)
            violation = problem.violation(found.value, f)
            assert violation <= limits.tol
            assert found.details["violation"] == pytest.approx(violation, abs=1e-11)
            assert found.gap_seen is (limits.gap < math.inf)
            if fine:
                assert violation <= 1e-9
            if limits.gap < math.inf:
                assert problem.gap(found.value, f).relative() <= 1e-9


def test_the_next_problem_of_a_path_starts_near_the_last():
    K, problem = table(C=1.0)
    run = on_matrix(K, problem)
    first = run.run(problem, Budget(tol=1e-8), None)
    begin, f = run._begin(problem, None)
    assert_allclose(begin, first.value, atol=1e-12)
    assert_allclose(f, (K @ first.value), atol=1e-10)
    _, wider = table(C=1.7)
    assert run.fits(wider)
    assert not run.fits(table(kind="tube")[1])
    begin, f = run._begin(wider, None)

    def value(beta):
        return wider.p @ beta - beta @ K @ beta / 2

    scaled = 1.7 * first.value
    expected = scaled if value(scaled) > value(first.value) else first.value
    assert_allclose(begin, expected, atol=1e-9)
    assert_allclose(f, K @ begin, atol=1e-9)
    _, narrower = table(C=0.4)
    begin, f = run._begin(narrower, None)
    assert_allclose(begin, narrower.feasible(begin), atol=1e-12)
    assert_allclose(f, K @ begin, atol=1e-9)
    second = run.run(wider, Budget(tol=1e-8), None)
    cold = on_matrix(K, wider).run(wider, Budget(tol=1e-8), None)
    assert value(second.value) == pytest.approx(value(cold.value), rel=1e-9)
    assert second.iterations <= cold.iterations
    own, _ = run._begin(wider, wider.start)
    assert_array_equal(own, wider.start)


def test_paths_end_at_the_deadline_and_have_no_certificates():
    K, problem = table()
    gram = GivenGram(K, Definite.POSITIVE)
    path = [table(C=C)[1] for C in (0.1, 1.0, 10.0)]
    found = BoxQPSolver().solve_path(path, gram, Budget(tol=1e-6), Scratch())
    assert [each.status for each in found] == [Status.OPTIMAL] * 3
    assert all(each.certificate is None for each in found)
    for each, problem in zip(found, path, strict=True):
        assert problem.violation(each.value, K @ each.value) <= 1e-6
        assert each.statistics.seconds > 0
    assert BoxQPSolver().solve_path(path, gram, Budget(deadline=0.0), Scratch()) == []
    later = Budget(tol=1e-6, deadline=time.perf_counter() + 60)
    assert len(BoxQPSolver().solve_path(path, gram, later, Scratch())) == 3


def test_the_better_of_two_answers():
    K, problem = table()
    best = SMO().run(problem, GivenGram(K), Budget(tol=1e-9), None)
    half = best.value / 2
    worse = Outcome(half, Status.MAX_ITER, product=K @ half)
    flag, value = box_qp._merit(problem, best)
    assert flag
    assert value == pytest.approx(problem.p @ best.value - best.value @ K @ best.value / 2)
    assert not box_qp._merit(problem, worse)[0]
    assert box_qp._merit(problem, worse)[1] < value
    stopped = Outcome(half, Status.INTERRUPTED, product=K @ half)
    assert box_qp._status(best, stopped) is Status.OPTIMAL
    assert box_qp._status(worse, stopped) is Status.INTERRUPTED
    assert box_qp._status(worse, worse) is Status.STALLED
    late = Outcome(half, Status.TIME_LIMIT, product=K @ half)
    assert box_qp._status(late, best) is Status.TIME_LIMIT


def test_which_method_steps_take(monkeypatch):
    K, problem = table()
    calls = []

    def method(name, status):
        def run(self, problem, gram, budget, start):
            calls.append((name, budget.max_iter, start is None))
            beta = problem.start
            return Outcome(beta, status[0], 3, product=np.zeros(60), details={"nonconvex": False})

        return run

    pairs, inside = [Status.MAX_ITER], [Status.OPTIMAL]
    monkeypatch.setattr(box_qp.SMO, "run", method("pairs", pairs))
    monkeypatch.setattr(box_qp.InteriorPoint, "run", method("inside", inside))
    given, features = GivenGram(K), FeatureGram.of_rows(np.random.default_rng(0).normal(size=(60, 2)))  # fmt: skip  # noqa: E501

    def steps(gram=given, start=None, solver=None, **limits):
        calls.clear()
        found = (solver or BoxQPSolver(turn=5)).by_steps(problem, gram, Budget(**limits), start)
        return found, [name for name, *_ in calls]

    found, names = steps()
    assert names == ["pairs", "inside"]
    assert calls[0][1] == 300  # five for each variable
    assert found.iterations == 6
    assert found.status is Status.OPTIMAL
    assert steps(features)[1] == ["inside"]
    assert steps(features, start=problem.start)[1] == ["pairs", "inside"]
    assert steps(features, solver=BoxQPSolver(pairwise_first=True))[1] == ["pairs", "inside"]
    assert steps(max_iter=7)[1] == ["pairs"]
    assert calls[0][1] == 7
    assert steps(cache_bytes=100)[1] == ["pairs"]
    inside[0] = Status.STALLED
    assert steps()[1] == ["pairs", "inside", "pairs"]
    assert steps()[0].iterations == 9
    assert steps()[0].status is Status.STALLED
    for status in (Status.OPTIMAL, Status.TIME_LIMIT, Status.INTERRUPTED):
        pairs[0] = status
        assert steps()[1] == ["pairs"]
    pairs[0] = Status.STALLED
    assert steps()[1] == ["pairs", "inside", "pairs"]


def test_parts_stand_one_after_the_other():
    assert _ends([3, 0, 2]).tolist() == [0, 3, 3, 5]
    assert _pieces(np.array([0, 3, 3, 5])) == [slice(0, 3), slice(3, 3), slice(3, 5)]


@pytest.mark.parametrize("stop", ["none", "monitor", "steps"])
def test_several_problems(stop):
    K, problem = table()
    rows = np.arange(60)
    some = rows[::2]
    less = qp.classifier(problem.p[some], np.ones(30))
    limits = {
        "none": {},
        "monitor": {"monitor": lambda violation: True},
        "steps": {"max_iter": 3},
    }[stop]
    found = BoxQPSolver().solve_all(
        [(rows, problem), (some, less)], GivenGram(K), Budget(tol=1e-6, **limits)
    )
    status = {"none": "optimal", "monitor": "interrupted", "steps": "max_iter"}[stop]
    assert [each.status for each in found] == [status] * 2
    assert [each.statistics.evaluations for each in found] == [3600, 900]
    if stop == "none":
        inside = K[np.ix_(some, some)]
        assert problem.violation(found[0].value, K @ found[0].value) <= 1e-6
        assert less.violation(found[1].value, inside @ found[1].value) <= 1e-6
        starts = [each.value for each in found]
        again = BoxQPSolver().solve_all(
            [(rows, problem), (some, less)], GivenGram(K), Budget(tol=1e-5), starts
        )
        assert [each.statistics.iterations for each in again] == [0, 0]


# ---- one multiplier at a time ------------------------------------------------------------


@pytest.mark.parametrize("bytes_", [200 << 20, 8 * 20 * 20])
@pytest.mark.parametrize("gap", [math.inf, 1e-8])
def test_coordinate_ascent(bytes_, gap):
    K, box = table()
    problem = UnbiasedQP(box.name, box.p, box.lo, box.hi, box.start, box.row, box.group)
    gram = GivenGram(K, Definite.POSITIVE)
    limits = Budget(tol=1e-4, gap=gap, cache_bytes=bytes_)
    found = KernelCoordinateAscent().run(problem, gram, limits, None)
    f = K @ found.value
    slopes = problem.p - f
    open_ = np.where(slopes > 0, found.value < problem.hi, found.value > problem.lo)
    assert np.abs(np.where(open_, slopes, 0.0)).max() <= 1e-4
    assert found.status is Status.OPTIMAL
    assert found.gap_seen is (gap < math.inf)
    assert_allclose(found.product, f, atol=1e-12)
    assert found.details["violation"] == pytest.approx(np.abs(np.where(open_, slopes, 0.0)).max())
    if gap < math.inf:
        assert problem.gap(found.value, f).relative() <= 1e-8
    again = KernelCoordinateAscent().run(problem, gram, limits, found.value)
    assert again.iterations == 0
    for most in (0, 5):
        cut = KernelCoordinateAscent().run(problem, gram, limits.but(max_iter=most), None)
        assert cut.status is Status.MAX_ITER
        assert cut.iterations == most
        assert_allclose(cut.product, K @ cut.value, atol=1e-12)
    assert found.iterations <= 4000
    # However many calls it takes, the steps are those that are left.
    for most in range(0, found.iterations, max(1, found.iterations // 9)):
        cut = KernelCoordinateAscent().run(problem, gram, limits.but(max_iter=most), None)
        assert cut.iterations == most


@pytest.mark.parametrize(("bytes_", "whole"), [(8 * 3600, True), (8 * 3600 - 1, False)])
def test_the_whole_matrix_is_held_where_it_fits(bytes_, whole):
    _, box = table()
    problem = UnbiasedQP(box.name, box.p, box.lo, box.hi, box.start, box.row, box.group)
    gram = Gram(RBF(gamma=0.3), np.random.default_rng(0).normal(size=(60, 3)))
    found = KernelCoordinateAscent().solve(problem, gram, Budget(tol=1e-4, cache_bytes=bytes_))
    assert found.status is Status.OPTIMAL
    much = KernelCoordinateAscent().solve(problem, gram, Budget(tol=1e-4))
    assert (found.statistics.evaluations == much.statistics.evaluations) is whole


def test_where_one_is_interrupted_the_rest_is_too():
    K, problem = table()
    parts = [(np.arange(60), problem), (np.arange(60), problem), (np.arange(60), problem)]
    for limits in ({"cache_bytes": 0}, {}):  # each on rows of its own, and all on one matrix
        asked = []

        def once(violation, asked=asked):
            asked.append(violation)
            return len(asked) == 1

        found = BoxQPSolver().solve_all(
            parts, GivenGram(K), Budget(tol=1e-9, monitor=once, threads=1, **limits)
        )
        assert [each.status for each in found] == [Status.INTERRUPTED] * 3
        assert len(asked) == 1  # nobody is asked again


def test_the_better_of_the_last_answer_and_its_multiple():
    K, problem = table(C=100.0)

    def value(beta):
        return problem.p @ beta - beta @ K @ beta / 2

    taken = []
    for wide in (0.25, 0.5, 1.0, 1.5, 3.0):
        last = qp.classifier(problem.p, np.full(60, 100.0 / wide))
        for size in (-0.02, 0.005, 0.02, 0.05, 0.1, 0.3):
            run = on_matrix(K, problem)
            shape = np.abs(np.random.default_rng(int(1000 * abs(size))).normal(size=60))
            run.last, run.beta = last, last.feasible(size * problem.p * shape)
            run.f = K @ run.beta
            begin, f = run._begin(problem, None)
            best = max((run.beta, wide * run.beta), key=value)
            taken.append(bool(value(wide * run.beta) > value(run.beta)))
            assert_allclose(begin, best, atol=1e-12)
            assert_allclose(f, K @ begin, atol=1e-9)
    assert 5 < sum(taken) < len(taken) - 5


def test_a_last_answer_outside_of_the_box_has_its_own_product():
    K, problem = table(C=1.0)
    run = on_matrix(K, problem)
    run.last, run.beta = problem, 1.0 * problem.p * np.linspace(0.5, 1.5, 60)
    run.beta = qp.classifier(problem.p, np.full(60, 9.0)).feasible(run.beta)
    run.f = K @ run.beta
    begin, f = run._begin(problem, None)
    assert np.abs(begin).max() <= 1.0
    assert_allclose(f, K @ begin, atol=1e-12)


def test_the_greatest_value_on_the_diagonal():
    K, problem = table(10)
    scaled = K * np.outer(np.arange(1.0, 11.0), np.arange(1.0, 11.0))
    assert on_matrix(scaled, problem).greatest == pytest.approx(100.0)
    assert on_matrix(-scaled, problem).greatest == pytest.approx(100.0)
    assert on_matrix(-scaled, problem).diag.dtype == np.float32


def test_working_sets_grow_where_more_is_free(monkeypatch):
    monkeypatch.setattr(smo, "WORKING_SET", 8)
    monkeypatch.setattr(smo, "LARGE_WORKING_SET", 16)
    for kind, C, size in (("tube", 1e6, 16), ("classes", 1e-3, 8)):
        K, problem = table(kind=kind, C=C)
        run = _WorkingSetRun(problem, GivenGram(K + 0.1 * np.eye(60)), Budget(), None, True)
        assert run.size == 8
        found = run.solve()
        free = np.count_nonzero((found.value > problem.lo) & (found.value < problem.hi))
        assert bool(free > 8) == (size == 16)
        assert run.size == size
    # Blocks have to fit the budget: 8 × 8 numbers are all that there is room for.
    K, problem = table(kind="tube", C=1e6)
    run = _WorkingSetRun(problem, GivenGram(K + 0.1 * np.eye(60)), Budget(), None, True)
    run.most = 8
    run.solve()
    assert run.size == 8


def test_which_answers_are_made_exact():
    for n, tol, fine in ((200, 1e-2, True), (201, 1e-2, False), (200, 1.1e-2, False), (201, 1.0, False)):  # fmt: skip  # noqa: E501
        problem = qp.classifier(np.where(np.arange(n) % 2, 1.0, -1.0), np.ones(n))
        assert BoxQPSolver()._is_fine(problem, Budget(tol=tol)) is fine


class CountedSteps(_WorkingSetRun):
    """Counts its working sets."""

    count = 0

    def step(self, active, extremes, violation):
        self.count += 1
        return super().step(active, extremes, violation)


@pytest.mark.parametrize("kind", ["classes", "tube", "nu"])
def test_rounds_are_counted(kind):
    K, problem = table(kind=kind)
    run = CountedSteps(problem, GivenGram(K, Definite.POSITIVE), Budget(tol=1e-6), None, True)
    found = run.solve()
    assert found.details["rounds"] == run.count > 1
    assert found.details["refreshes"] == run.refreshes > 0
    assert found.details["nonconvex"] is False


@pytest.mark.parametrize(("megabytes", "rows"), [(0, 0), (40, 2), (200, 140)])
def test_what_working_sets_leave_of_the_budget_is_for_rows(megabytes, rows, monkeypatch):
    K, problem = table()
    given = []
    plain = smo.row_products

    def noted(gram, room, threads):
        given.append(room)
        return plain(gram, room, threads)

    monkeypatch.setattr(smo, "row_products", noted)
    SMO().run(problem, GivenGram(K), Budget(cache_bytes=megabytes << 20), None)
    # Blocks of 8·min(2048, √(budget/32))² bytes, and 28 MB on their way.
    most = max(64, math.isqrt((megabytes << 20) // 32))
    spare = (megabytes << 20) - 8 * min(2048, most) ** 2 - (28 << 20)
    assert given == [max(0, spare)]
    assert given[0] >> 20 == rows


@pytest.mark.parametrize(("extra", "shared"), [(0, False), (2, True)])
def test_threads_share_several_problems_where_that_pays(extra, shared, monkeypatch):
    # 40 problems of 100 rows have 400,000 cells: up to there one call does.
    K, _ = table(102)
    signs = np.where(np.arange(100) % 2, 1.0, -1.0)
    parts = [(np.arange(100), qp.classifier(signs, np.full(100, 1e-3)))] * 40
    if extra:
        parts = [*parts[:39], (np.arange(102), qp.classifier(np.r_[signs, 1, -1], np.full(102, 1e-3)))]  # fmt: skip  # noqa: E501
    groups = []
    plain = box_parts._parallel.run

    def noted(task, items, threads):
        groups.append([len(item) for item in items])
        return plain(task, items, threads)

    monkeypatch.setattr(box_parts._parallel, "run", noted)
    found = box_parts.solve_together(parts, K, np.arange(102), Budget(tol=1e-3), 2)
    assert groups == ([[20, 20]] if shared else [])
    assert all(each.status is Status.OPTIMAL for each in found)


@pytest.mark.parametrize("n", [120, 260])
def test_gaps_of_several_problems_are_closed_in_one_call(n):
    # Up to 200 variables answers are exact, beyond that the gap asks for more than ``tol`` does.
    K, problem = table(n, C=20.0)
    rows = np.arange(n)
    budget = Budget(tol=0.1, gap=1e-6)
    (found,) = box_parts.solve_together([(rows, problem)], K, rows, budget, 1)
    assert found is not None
    f = K @ found.value
    assert problem.violation(found.value, f) <= 0.1
    assert problem.relative_gap(found.value, f, 0.0) <= 1e-6
    assert_allclose(problem.sums, np.bincount(problem.group, found.value), atol=1e-9)
    (loose,) = box_parts.solve_together([(rows, problem)], K, rows, Budget(tol=0.1), 1)
    assert loose is not None
    assert problem.relative_gap(loose.value, K @ loose.value, 0.0) > 1e-6
