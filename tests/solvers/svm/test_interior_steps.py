"""The interior-point method taken apart: each formula by hand, one step by a dense system."""

import math
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Budget, Status
from mercer.solvers.svm import interior
from mercer.solvers.svm.interior import (
    DenseSystem,
    FeatureSystem,
    InteriorPoint,
    climb,
    has_few_features,
    is_small,
    judged,
    linear_system,
)


def never():
    return False


def table(n=9, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    return X, K, X[:, 0] + 0.5 * random.normal(size=n)


def boxes(n=9, C=2.0):
    _, K, v = table(n)
    every = C * (1 + 0.1 * np.arange(n))
    signs = np.where(v > np.median(v), 1.0, -1.0)
    return K, [
        qp.classifier(signs, every),
        qp.regressor(v, every, 0.1),
        qp.nu_classifier(signs, every, 0.3),
        qp.one_class(every, 0.4),
    ]


def widened(problem, low=False):
    """Return the problem with one open end for every third variable."""
    lo, hi = problem.lo.copy(), problem.hi.copy()
    if low:
        lo[::3] = -np.inf
    else:
        hi[::3] = np.inf
    return BoxQP(
        "open", problem.p, lo, hi, problem.start, problem.row, problem.group, problem.groups
    )


def test_it_starts_inside_at_the_scale_of_an_answer():
    K, problems = boxes()
    for problem in [*problems, widened(problems[0]), widened(problems[1], low=True)]:
        run = interior._InteriorRun(problem, DenseSystem(3 * K))
        size = abs(problem.p).max() / 3.0 if abs(problem.p).max() else np.inf
        room = np.minimum((problem.hi - problem.lo) / 2, size)
        room[np.isinf(room)] = 1.0
        near = np.abs(problem.lo) <= np.abs(problem.hi)
        expected = np.where(near, problem.lo + room, problem.hi - room)
        assert_allclose(run.beta, expected)
        assert_allclose(run.below, expected - problem.lo)
        assert_allclose(run.above, problem.hi - expected)
        assert run.products == np.isfinite([problem.lo, problem.hi]).sum()
        f = 3 * K @ np.bincount(problem.row, expected, len(K))
        slope = problem.p - f[problem.row]
        assert_allclose(run.slope(), slope)
        run.bias[:] = np.arange(1.0, problem.groups + 1)
        assert_allclose(run.slope(), slope - problem.group - 1.0)
        barrier = np.abs(slope).mean() * np.median(room)
        low = np.maximum(-slope, 0) + barrier / (expected - problem.lo)
        high = np.maximum(slope, 0) + barrier / (problem.hi - expected)
        assert_allclose(run.low, np.where(np.isfinite(problem.lo), low, 0.0))
        assert_allclose(run.high, np.where(np.isfinite(problem.hi), high, 0.0))


def test_a_matrix_of_zeros_starts_too():
    problem = BoxQP(
        "nothing", np.zeros(3), np.zeros(3), np.ones(3), np.zeros(3), np.arange(3), np.zeros(3, int)
    )
    run = interior._InteriorRun(problem, DenseSystem(np.zeros((3, 3))))
    assert_allclose(run.beta, 0.5)
    assert_allclose(run.low, 1.0)  # a barrier of 1 times the room, over the room
    assert run.diagonal == 1.0


def test_values_gaps_and_merits_by_hand():
    K, problems = boxes()
    random = np.random.default_rng(2)
    for problem in [*problems, widened(problems[1], low=True), widened(problems[0])]:
        run = interior._InteriorRun(problem, DenseSystem(K))
        beta = random.uniform(0.2, 1.0, len(problem))
        c = np.bincount(problem.row, beta, len(K))
        assert run.value(beta) == pytest.approx(problem.p @ beta - c @ K @ c / 2)
        below, above, low, high = random.uniform(0.1, 1.0, (4, len(problem)))
        fl, fh = np.isfinite(problem.lo), np.isfinite(problem.hi)
        assert run.gap(below, above, low, high) == pytest.approx(
            (below * low)[fl].sum() + (above * high)[fh].sum()
        )
        slope, fault = random.normal(size=(2, len(problem)))
        lacks = random.normal(size=problem.groups)
        size, p = np.abs(run.beta), np.abs(problem.p)
        expected = 0.7 / (size @ (p + np.abs(slope)))
        expected += np.abs(fault).max() / (np.abs(slope).max() + p.max())
        expected += np.abs(lacks).max() / size.sum()
        assert run.merit(slope, fault, lacks, 0.7) == pytest.approx(expected, rel=1e-8)
    # Where all is 0 rounding is the measure: 10⁻¹⁰ of K₀₀ times the largest multiplier.
    none = np.zeros(len(problem))
    run.problem = BoxQP(
        "flat", none, problem.lo, problem.hi, none, problem.row, problem.group, problem.groups
    )
    least = 1e-10 * run.diagonal * np.abs(run.beta).max()
    assert run.merit(none, none, np.zeros(1), 2.0) == pytest.approx(
        2.0 / (np.abs(run.beta).sum() * least)
    )
    assert run.merit(none, none + least, np.zeros(1), 0.0) == pytest.approx(1.0)
    run.diagonal = 8.0
    assert run.merit(none, none + 8 * least, np.zeros(1), 0.0) == pytest.approx(1.0)
    # Nothing at all is compared with the least of numbers.
    run.beta = none
    assert run.merit(none, none, np.zeros(1), 1e-300) == pytest.approx(1.0)
    assert run.merit(none, none + 1e-300, np.zeros(1), 0.0) == pytest.approx(1.0)
    assert run.merit(none, none, np.full(1, 1e-300), 0.0) == pytest.approx(1.0)


def test_the_reach_is_the_way_to_the_nearest_bound():
    K, problems = boxes()
    run = interior._InteriorRun(problems[0], DenseSystem(K))
    n = len(problems[0])
    random = np.random.default_rng(3)
    for _ in range(20):
        below, above, run.low, run.high = random.uniform(0.1, 1.0, (4, n))
        way = interior._Direction(*random.normal(size=(1, n)), np.zeros(1), *random.normal(size=(2, n)))  # fmt: skip  # noqa: E501
        steps = []
        for room, move in (
            (below, way.beta),
            (above, -way.beta),
            (run.low, way.low),
            (run.high, way.high),
        ):
            steps += [r / -m for r, m in zip(room, move, strict=True) if m < 0]
        assert run.reach(below, above, way) == pytest.approx(min(steps))
    nothing = interior._Direction(*np.zeros((4, n)))
    assert run.reach(below, above, nothing) == np.inf


def plain_step(problem, K, run):
    """Return Mehrotra's step by one dense system of β, b, low and high."""
    m, g = len(problem), problem.groups
    Q = K[np.ix_(problem.row, problem.row)]
    E = (problem.group[:, None] == np.arange(g)).astype(float)
    fl, fh = np.isfinite(problem.lo), np.isfinite(problem.hi)
    below, above = np.where(fl, run.below, 1.0), np.where(fh, run.above, 1.0)
    matrix = np.block(
        [
            # −QΔβ − EΔb + Δlow − Δhigh = −fault
            [-Q, -E, np.eye(m), -np.eye(m)],
            [E.T, np.zeros((g, g)), np.zeros((g, 2 * m))],
            [np.diag(run.low), np.zeros((m, g)), np.diag(below), np.zeros((m, m))],
            [np.diag(-run.high), np.zeros((m, g)), np.zeros((m, m)), np.diag(above)],
        ]
    )
    fault = problem.p - Q @ run.beta - E @ run.bias + run.low - run.high
    lacks = problem.sums - E.T @ run.beta

    def solve(low_aim, high_aim):
        right = np.concatenate(
            [
                -fault,
                lacks,
                np.where(fl, low_aim - below * run.low, 0.0),
                np.where(fh, high_aim - above * run.high, 0.0),
            ]
        )
        return np.split(np.linalg.solve(matrix, right), [m, m + g, 2 * m + g])

    def reach(way):
        steps = [np.inf]
        for room, move in (
            (run.below, way[0]),
            (run.above, -way[0]),
            (run.low[fl], way[2][fl]),
            (run.high[fh], way[3][fh]),
        ):
            steps += [r / -d for r, d in zip(room, move, strict=True) if d < 0]
        return min(steps)

    none = np.zeros(m)
    guess = solve(none, none)
    t = min(1.0, reach(guess))
    gap = (below * run.low)[fl].sum() + (above * run.high)[fh].sum()
    left = ((below + t * guess[0]) * (run.low + t * guess[2]))[fl].sum()
    left += ((above - t * guess[0]) * (run.high + t * guess[3]))[fh].sum()
    target = (left / gap) ** 3 * gap / (fl.sum() + fh.sum())
    way = solve(target - guess[0] * guess[2], target + guess[0] * guess[3])
    t = min(1.0, 0.995 * reach(way))
    return fault, lacks, gap, t, way


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("number", range(6))
def test_a_step_is_mehrotras(number, features):
    K, problems = boxes()
    problems += [widened(problems[0]), widened(problems[1], low=True)]
    problem = problems[number]
    values, vectors = np.linalg.eigh(K)
    system = FeatureSystem(vectors * np.sqrt(values)) if features else DenseSystem(K)
    run = interior._InteriorRun(problem, system)
    for _ in range(4):
        before = run.beta, run.below, run.above, run.bias, run.low, run.high
        fault, lacks, gap, t, way = plain_step(problem, K, run)
        run.step(fault, lacks, gap)
        close = {"rtol": 1e-6, "atol": 1e-8}
        assert_allclose(run.beta, before[0] + t * way[0], **close)
        assert_allclose(run.below, before[1] + t * way[0], **close)
        assert_allclose(run.above, before[2] - t * way[0], **close)
        assert_allclose(run.bias, before[3] + t * way[1], **close)
        assert_allclose(run.low, before[4] + t * way[2], **close)
        assert_allclose(run.high, before[5] + t * way[3], **close)
        assert min(run.below.min(), run.above.min()) > 0


def test_variables_snap_to_bounds_whose_price_says_so():
    K, problems = boxes(9)
    run = interior._InteriorRun(problems[0], DenseSystem(K))
    lo, hi, middle = problems[0].lo, problems[0].hi, run.beta
    run.low = np.array([0.3, 0.3, 0.2, 0.26, 0.0, 0.3, 0.0, 0.0, 0.25])
    run.high = np.array([0.0, 0.4, 0.0, 0.0, 0.26, 0.3, 0.25, 0.24, 0.0])
    run.fault = 0.0
    wanted = [lo[0], hi[1], middle[2], lo[3], hi[4], hi[5], middle[6], middle[7], middle[8]]
    assert_allclose(run.snapped(1.0), wanted)  # above a quarter of the tolerance
    run.fault = 0.025
    assert_allclose(run.snapped(1e-3), wanted)  # or above ten times the fault
    run.fault = 0.035
    assert_allclose(run.snapped(1.0), [*middle[:1], hi[1], *middle[2:]])


def by_face(problem, K, beta):
    """Return the optimum of the face of the free variables, bounds apart."""
    free = np.flatnonzero((beta > problem.lo) & (beta < problem.hi))
    Q = K[np.ix_(problem.row, problem.row)]
    E = (problem.group[:, None] == np.arange(problem.groups)).astype(float)[free]
    g = problem.groups
    matrix = np.block([[Q[np.ix_(free, free)], E], [E.T, np.zeros((g, g))]])
    right = np.concatenate([(problem.p - Q @ beta)[free], np.zeros(g)])
    way = np.linalg.solve(matrix, right)[: len(free)]
    moved = beta.copy()
    moved[free] += way
    return moved


def test_free_variables_are_polished_to_the_optimum_of_their_face():
    K, problems = boxes(C=50.0)
    for problem in (problems[0], problems[2], problems[3]):
        beta = problem.feasible(0.3 * problem.lo + 0.7 * problem.hi)
        expected = by_face(problem, K, beta)
        found = interior._polished(problem, DenseSystem(K), beta, never)
        inside = ((expected > problem.lo) & (expected < problem.hi)).all()
        if inside:
            assert_allclose(found, expected, atol=1e-9)
        value = interior._InteriorRun(problem, DenseSystem(K)).value
        assert value(found) >= value(beta)
        assert ((found >= problem.lo) & (found <= problem.hi)).all()
        assert_allclose(np.bincount(problem.group, found), problem.sums, atol=1e-9)
        # What is free at the end is at the optimum of its face.
        assert_allclose(found, by_face(problem, K, found), atol=1e-8)


def test_a_face_shrinks_where_a_variable_meets_its_bound():
    # max Σβ − ½Σβ², β ≤ ½ each but one: all go up together, and end at their bounds.
    hi = np.array([0.5, 0.5, 3.0, 0.5])
    problem = BoxQP(
        "by hand", np.array([1.0, 1.0, 4.0, -9.0]), np.array([0.0, 0.0, 0.0, -3.0]), hi,
        np.zeros(4), np.arange(4), np.zeros(4, np.uint8),
    )  # fmt: skip
    beta = np.array([0.25, 0.25, 0.5, -1.0])
    found = interior._polished(problem, DenseSystem(np.eye(4)), beta, never)
    # β₃ takes what the others leave: −1 − β₂, with ½ at both of the first.
    best = (4 + 9 - 1.0) / 2  # of β₂ in 4β − ½β² + 9(1 + β) − ½(1 + β)²
    assert_allclose(found, [0.5, 0.5, min(best, 2.0), -1 - min(best, 2.0)])
    stopped = interior._polished(problem, DenseSystem(np.eye(4)), beta, lambda: True)
    assert_array_equal(stopped, beta)
    asked = []

    def second():
        asked.append(1)
        return len(asked) > 1

    first = interior._polished(problem, DenseSystem(np.eye(4)), beta, second)
    way = by_face(problem, np.eye(4), beta) - beta
    with np.errstate(divide="ignore"):
        t = np.where(way > 0, (hi - beta) / way, (problem.lo - beta) / way).min()
    assert 0 < t < 1
    assert_allclose(first, beta + t * way)


def test_answers_are_judged_in_float64():
    K, problems = boxes()
    problem = problems[0]
    beta = climb(problem, DenseSystem(K), 1e-9, never)
    f = K @ beta
    for tol, gap, status in (
        (1e-6, math.inf, "optimal"),
        (0.0, math.inf, "stalled"),
        (1e-6, 1e-6, "optimal"),
    ):
        found = judged(problem, GivenGram(K), beta, Budget(tol=tol, gap=gap))
        wanted = "optimal" if problem.violation(beta, f) <= tol else status
        assert found.status == wanted
        assert found.gap_seen is (gap < math.inf)
        assert_allclose(found.product, f, atol=1e-12)
        assert found.details == {
            "violation": pytest.approx(problem.violation(beta, f), abs=1e-12),
            "nonconvex": False,
        }
    # A violation that is small enough is not enough where the gap is asked for.
    rough = 0.5 * beta
    violation = problem.violation(rough, K @ rough)
    assert judged(problem, GivenGram(K), rough, Budget(tol=2 * violation)).status == "optimal"
    assert judged(problem, GivenGram(K), rough, Budget(tol=violation / 2)).status == "stalled"
    share = problem.gap(rough, K @ rough).relative()
    for gap, status in ((1.01 * share, "optimal"), (0.99 * share, "stalled")):
        limits = Budget(tol=2 * violation, gap=gap)
        assert judged(problem, GivenGram(K), rough, limits).status == status
    nothing = judged(problem, GivenGram(K), np.zeros(9), Budget())
    assert_array_equal(nothing.product, np.zeros(9))


def test_which_matrices_it_takes():
    X = np.ones((20, 3))
    dense, thin = FeatureGram.of_rows(X), FeatureGram.of_rows(sparse.csr_array(X))
    assert has_few_features(dense, 8000)
    assert not has_few_features(dense, 7999)
    assert not has_few_features(thin, 1 << 30)
    assert not has_few_features(GivenGram(np.eye(20)), 1 << 30)
    assert has_few_features(FeatureGram.of_rows(np.ones((2, 256))), 1 << 30)
    assert not has_few_features(FeatureGram.of_rows(np.ones((2, 257))), 1 << 30)
    assert is_small(GivenGram(np.eye(20)), 6400)
    assert not is_small(GivenGram(np.eye(20)), 6399)
    large = FeatureGram.of_rows(np.ones((2001, 1)))
    assert not is_small(large, 1 << 40)
    assert is_small(FeatureGram.of_rows(np.ones((2000, 1))), 1 << 40)
    assert isinstance(linear_system(dense), FeatureSystem)
    assert isinstance(linear_system(FeatureGram.of_rows(np.ones((2, 256)))), FeatureSystem)
    assert isinstance(linear_system(FeatureGram.of_rows(np.eye(3, 257))), DenseSystem)
    assert linear_system(thin).order == 1  # one column of the matrix spans it
    for rank, system in ((5, FeatureSystem), (6, DenseSystem)):
        found = linear_system(GivenGram(np.diag([1.0] * rank + [0.0] * (10 - rank))))
        assert isinstance(found, system)
        assert found.order == (rank if system is FeatureSystem else 10)


def test_systems_of_linear_equations():
    random = np.random.default_rng(4)
    phi, d, c = random.normal(size=(9000, 3)), random.exponential(size=9000), np.ones(9000)
    # (I + D ΦΦᵀ)u = c gives Φᵀu = (I + Φᵀ D Φ)⁻¹ Φᵀc.
    expected = phi @ np.linalg.solve(np.eye(3) + (phi * d[:, None]).T @ phi, phi.T @ c)
    assert_allclose(FeatureSystem(phi).factor(d)(c), expected, rtol=1e-8)
    at = np.array([4, 1])
    few = phi[:6]
    K = few @ few.T
    for system in (FeatureSystem(few), DenseSystem(K)):
        assert_allclose(system.square(at), K[np.ix_(at, at)])
        assert_allclose(system.multiply(np.arange(6.0)), K @ np.arange(6.0))
    zero = DenseSystem(np.eye(2)).factor(np.array([0.0, 3.0]))
    assert_allclose(zero(np.array([2.0, 2.0])), [2.0, 0.5])


def test_starts_and_budgets():
    K, problems = boxes()
    problem, gram = problems[0], GivenGram(K)
    best = InteriorPoint().run(problem, gram, Budget(tol=1e-8), None)
    assert best.status is Status.OPTIMAL
    asked = []

    def ask(violation):
        asked.append(violation)
        return False

    again = InteriorPoint().run(problem, gram, Budget(tol=1e-8, monitor=ask), best.value)
    assert again.status is Status.OPTIMAL
    assert not asked  # an optimal start is not left
    assert_allclose(again.value, best.value, atol=1e-12)
    InteriorPoint().run(problem, gram, Budget(tol=1e-8, monitor=ask), problem.start)
    assert asked
    assert set(asked) == {np.inf}
    for limit, status in (
        ({"monitor": lambda violation: True}, Status.INTERRUPTED),
        ({"deadline": 0.0}, Status.TIME_LIMIT),
    ):
        ended = InteriorPoint().run(problem, gram, Budget(tol=1e-12, **limit), None)
        assert ended.status is status
        assert ((ended.value >= problem.lo) & (ended.value <= problem.hi)).all()
        assert_allclose(np.bincount(problem.group, ended.value), problem.sums, atol=1e-12)
    # No tolerance at all: what is left is rounding, and the status says what became of it.
    hard = InteriorPoint().run(problem, gram, Budget(tol=0.0), None)
    assert hard.status in (Status.OPTIMAL, Status.STALLED)
    assert problem.violation(hard.value, K @ hard.value) <= 1e-9


def test_without_any_scale_it_starts_at_one():
    # p = 0 and open ends: neither the box nor the answer says how far.
    zero = np.zeros(4)
    problem = BoxQP(
        "open", zero, np.array([0.0, 0.0, -np.inf, 0.0]), np.array([np.inf, 3.0, 0.0, np.inf]),
        zero, np.arange(4), np.zeros(4, int),
    )  # fmt: skip
    run = interior._InteriorRun(problem, DenseSystem(np.eye(4)))
    assert_allclose(run.beta, [1.0, 1.5, -1.0, 1.0])


def test_the_best_of_three_candidates():
    K, problems = boxes(C=0.5)
    nothing = BoxQP(
        "nothing", np.zeros(3), np.zeros(3), np.ones(3), np.r_[1.0, 1.0, 0.0], np.arange(3),
        np.zeros(3, int),
    )  # fmt: skip
    cases = [(problem, DenseSystem(K)) for problem in problems]
    for problem, system in [*cases, (nothing, DenseSystem(np.zeros((3, 3))))]:
        run = interior._InteriorRun(problem, system)
        inside = problem.feasible(run.solve(never))
        snapped = problem.feasible(run.snapped(1e-3))
        polished = interior._polished(problem, system, snapped, never)
        values = [run.value(beta) for beta in (polished, snapped, inside)]
        found = climb(problem, system, 1e-3, never)
        # The first that is as good as the best, up to 10⁻⁹ of it.
        good = [v >= max(values) - 1e-9 * abs(max(values)) for v in values].index(True)
        assert_array_equal(found, (polished, snapped, inside)[good])
    # All of them zero: the first one is taken, though its value is no more than what is enough.
    none = BoxQP(
        "nothing", np.zeros(3), np.zeros(3), np.ones(3), np.zeros(3), np.arange(3), np.zeros(3, int)
    )
    assert_allclose(climb(none, DenseSystem(np.eye(3)), 1e-3, never), 0.0, atol=1e-12)


@pytest.mark.parametrize("features", [False, True])
def test_values_that_overflow_end_it(features):
    _, problems = boxes()
    X, K, _ = table()
    system = FeatureSystem(1e200 * X) if features else DenseSystem(1e250 * K)
    for problem in problems:
        with np.errstate(all="ignore"):
            found = climb(problem, system, 1e-3, never)
        assert np.isfinite(found).all()
        assert ((found >= problem.lo) & (found <= problem.hi)).all()


def test_a_matrix_of_low_rank_is_held_by_its_factors():
    Z = np.random.default_rng(1).normal(size=(8, 5))
    for rank, kind in ((4, FeatureSystem), (5, DenseSystem)):  # up to half of the rows
        K = Z[:, :rank] @ Z[:, :rank].T
        system = linear_system(GivenGram(K))
        assert isinstance(system, kind)
        assert system.order == (rank if kind is FeatureSystem else 8)
        c = np.arange(8.0)
        assert_allclose(system.multiply(c), K @ c)
        assert_allclose(system.square(np.array([5, 1])), K[np.ix_([5, 1], [5, 1])])
        d = np.random.default_rng(2).uniform(0, 2, 8)
        assert_allclose(system.factor(d)(c), K @ np.linalg.solve(np.eye(8) + d[:, None] * K, c))


def test_a_second_descent_is_not_begun_where_the_start_is_good():
    K, problems = boxes()
    gram, problem = GivenGram(K), problems[0]
    best = InteriorPoint().run(problem, gram, Budget(tol=1e-6), None)
    again = InteriorPoint().run(problem, gram, Budget(tol=1e-5), best.value)
    assert_array_equal(again.value, problem.feasible(best.value))
    other = InteriorPoint().run(problem, gram, Budget(tol=1e-6), problem.start)
    assert_allclose(other.value, best.value, atol=1e-6)
    stopped = InteriorPoint().run(problem, gram, Budget(tol=1e-9, monitor=lambda v: True), None)
    assert stopped.status is Status.INTERRUPTED
    late = InteriorPoint().run(problem, gram, Budget(tol=1e-9, deadline=0.0), problem.start)
    assert late.status is Status.TIME_LIMIT


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
def test_a_face_in_other_units(unit):
    K, problems = boxes(C=50.0)
    for problem in (problems[0], problems[2], problems[3]):
        beta = problem.feasible(0.3 * problem.lo + 0.7 * problem.hi)
        scaled = BoxQP(
            "scaled", unit * problem.p, problem.lo, problem.hi, problem.start, problem.row,
            problem.group, problem.groups,
        )  # fmt: skip
        one = interior._polished(problem, DenseSystem(K), beta, never)
        other = interior._polished(scaled, DenseSystem(unit * K), beta, never)
        assert_allclose(other, one, atol=1e-5)
        assert_allclose(np.bincount(problem.group, other), problem.sums, atol=1e-6)


def test_as_many_steps_as_rounding_needs():
    K, problems = boxes()
    for problem in problems:
        run = interior._InteriorRun(problem, DenseSystem(K))
        asked = []

        def count(asked=asked):
            asked.append(1)
            return False

        beta = run.solve(count)
        assert 5 <= len(asked) <= 40
        f = K @ np.bincount(problem.row, beta, len(K))
        assert problem.violation(problem.feasible(run.snapped(1e-9)), f) <= 1e-5
        # The faults of the best iterate: multipliers of the bounds explain all slopes.
        slope = problem.p - f[problem.row] - run.bias[problem.group]
        assert run.fault <= 1e-9
        assert np.abs(slope + run.low - run.high).max() <= 1e-6
        # A stop at once leaves the start.
        first = interior._InteriorRun(problem, DenseSystem(K))
        begin = first.beta.copy()
        assert_array_equal(first.solve(lambda: True), begin)


def test_tolerances_that_are_met_exactly_are_met():
    K, problems = boxes()
    problem, gram = problems[0], GivenGram(K)
    rough = 0.5 * climb(problem, DenseSystem(K), 1e-9, never)
    first = judged(problem, gram, rough, Budget())
    tol, share = first.details["violation"], problem.gap(rough, first.product).relative()
    assert judged(problem, gram, rough, Budget(tol=tol)).status == "optimal"
    assert judged(problem, gram, rough, Budget(tol=tol, gap=share)).status == "optimal"
    # A gap alone does not make an answer of what breaks its conditions.
    assert judged(problem, gram, rough, Budget(tol=tol / 2, gap=9 * share)).status == "stalled"


def test_numbers_that_are_none_have_no_factor_or_none_that_is_a_number():
    _, K, _ = table()
    K[0, 0] = np.nan
    for system in (DenseSystem(K), FeatureSystem(K[:, :2])):
        with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
            assert np.isnan(system.factor(np.ones(9))(np.ones(9))).any()


def test_a_box_alike_on_both_sides_begins_at_its_low_end():
    box = np.full(2, 5.0)  # and the scale of an answer is 1
    problem = BoxQP("by hand", np.ones(2), -box, box, np.zeros(2), np.arange(2), np.zeros(2, int))
    run = interior._InteriorRun(problem, DenseSystem(np.eye(2)))
    assert_allclose(run.beta, -4.0)
    assert run.products == 4


def test_features_up_to_256_are_few():
    X = np.random.default_rng(0).normal(size=(300, 257))
    assert linear_system(FeatureGram.of_rows(X[:, :256])).order == 256
    assert isinstance(linear_system(FeatureGram.of_rows(X)), DenseSystem)


def test_faces_that_are_too_large_stay_as_they_are(monkeypatch):
    K, problems = boxes(C=50.0)
    problem = problems[0]
    beta = problem.feasible(0.3 * problem.lo + 0.7 * problem.hi)
    free = np.count_nonzero((beta > problem.lo) & (beta < problem.hi))
    assert free > 3
    monkeypatch.setattr(interior, "_MOST_FREE", free - 1)
    assert_array_equal(interior._polished(problem, DenseSystem(K), beta, never), beta)
    monkeypatch.setattr(interior, "_MOST_FREE", free)
    moved = interior._polished(problem, DenseSystem(K), beta, never)
    assert np.abs(moved - beta).max() > 0.1


@pytest.mark.parametrize("unit", [2.0**-8, 2.0**8])
@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_faces_shrink_in_any_unit_and_on_either_side(turned, unit):
    p, lo, hi = np.array([1.0, 1.0, 4.0, -9.0]), np.array([0.0, 0.0, 0.0, -3.0]), np.array([0.5, 0.5, 3.0, 0.5])  # fmt: skip  # noqa: E501
    ends = sorted([turned * unit * lo, turned * unit * hi], key=lambda end: end[0])
    low, high = np.minimum(*ends), np.maximum(*ends)
    problem = BoxQP(
        "by hand", turned * unit * p, low, high, np.zeros(4), np.arange(4), np.zeros(4, np.uint8)
    )
    beta = turned * unit * np.array([0.25, 0.25, 0.5, -1.0])
    found = interior._polished(problem, DenseSystem(np.eye(4)), beta, never)
    assert_allclose(found, turned * unit * np.array([0.5, 0.5, 2.0, -3.0]), rtol=1e-12)
