"""The search for weights of kernels taken apart: each formula by hand or by differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.multiple_kernels import MultipleKernelProblem, WeightedMultipliers
from mercer.solvers.base import Budget, Status
from mercer.solvers.svm.weight_model import _reach, _solved, least_weights
from mercer.solvers.svm.weight_newton import WeightNewton, _bend, _WeightPoint, _WeightSearch
from tests.problems.weights_reference import gram_of, random_weights_problem


def matrices(n=14, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    K = np.array([np.exp(-0.5 * (x[:, None] - x) ** 2) + 0.05 * np.eye(n) for x in X.T])
    return K, X[:, 0] + X[:, 1] ** 2 - 1 + 0.4 * random.normal(size=n)


def machines(n=14, C=3.0):
    K, v = matrices(n)
    every, signs = np.full(n, C), np.sign(v)
    rows = np.arange(n)
    return K, [
        [(rows, qp.classifier(signs, every))],
        [(rows, qp.regressor(v, every, 0.05))],
        [(rows, qp.nu_classifier(signs, every, 0.4))],
        [(rows[::-1][:11], qp.classifier(signs[::-1][:11], every[:11])),
         (rows[2:], qp.classifier(signs[2:], every[2:] / 2))],
    ]  # fmt: skip


def search(parts, K, p=1.0, **budget):
    problem = MultipleKernelProblem(parts, p)
    terms = [GivenGram(each, Definite.POSITIVE) for each in K]
    return _WeightSearch(WeightNewton(), problem, terms, Definite.POSITIVE, Budget(**budget))


def test_gaps_are_shares_of_the_larger_value():
    def gap(primal, dual):
        return _WeightPoint(*[np.zeros(1)] * 5, primal, dual, 0.0, 0.0).gap

    assert gap(4.0, 3.0) == 0.25
    assert gap(-3.0, -4.0) == 0.25
    assert gap(2.0, -4.0) == 1.5
    assert gap(0.0, 0.0) == 0.0
    assert gap(math.inf, 1.0) == math.inf
    assert gap(1.0, -math.inf) == math.inf


@pytest.mark.parametrize("number", range(4))
def test_a_bend_is_that_of_the_bordered_system(number):
    K, kinds = machines()
    run = search(kinds[number], K)
    point = run._machines(run.problem.equal_weights(3), [part.start for _, part in kinds[number]])
    total = np.zeros((3, 3))
    for j, (rows, part) in enumerate(kinds[number]):
        beta = point.multipliers[j]
        free = np.flatnonzero((beta - part.lo > 1e-9) & (part.hi - beta > 1e-9))
        at, groups = rows[part.row[free]], part.group[free]
        E = (groups[:, None] == np.unique(groups)).astype(float)
        A, G = point.K[np.ix_(at, at)], point.F[:, at, j].T
        none = np.zeros((E.shape[1],) * 2)
        inverse = np.linalg.inv(np.block([[A, E], [E.T, none]]))[: len(at), : len(at)]
        expected = G.T @ inverse @ G
        found = _bend(part, beta, rows, point.K, point.F[:, :, j])
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
        total += expected
    assert_allclose(run._hessian(point), total, rtol=1e-6, atol=1e-9 * np.abs(total).max())


@pytest.mark.parametrize("number", range(4))
def test_slopes_and_bends_are_those_of_differences(number):
    K, kinds = machines()
    run = search(kinds[number], K, tol=1e-10)
    run.inner = 1e-13
    starts = [part.start for _, part in kinds[number]]
    d = np.array([0.5, 0.3, 0.2])

    def value(weights):
        return run._machines(weights, starts)

    point, h = value(d), 1e-4
    H = np.empty((3, 3))
    for m in range(3):
        step = h * np.eye(3)[m]
        up, down = value(d + step), value(d - step)
        assert (up.value - down.value) / (2 * h) == pytest.approx(-point.q[m] / 2, rel=1e-4)
        H[m] = (down.q - up.q) / (4 * h)
    assert_allclose(run._hessian(point), H, rtol=2e-3, atol=2e-3 * np.abs(H).max())


def test_without_free_multipliers_or_a_factor_there_is_no_bend():
    part = qp.classifier(np.array([1.0, -1.0]), np.ones(2))
    F = np.ones((2, 2))
    at_bounds = _bend(part, np.array([1.0, -1.0]), np.arange(2), np.eye(2), F)
    assert_array_equal(at_bounds, np.zeros((2, 2)))
    inside = np.array([0.5, -0.5])
    negative = _bend(part, inside, np.arange(2), np.array([[1.0, 3.0], [3.0, 1.0]]), F)
    assert_array_equal(negative, np.zeros((2, 2)))
    # A singular matrix gets the least of the jitters: P = (1 − 1)/(4·jitter) on differences.
    F = np.array([[1.0, -1.0], [2.0, 2.0]])
    singular = _bend(part, inside, np.arange(2), np.ones((2, 2)), F)
    assert singular[0, 0] == pytest.approx(2 / 1e-12, rel=1e-3)
    assert_allclose(singular[1], 0.0, atol=1.0)
    nearly = _bend(part, np.array([2e-9, -2e-9]), np.arange(2), np.eye(2), F)
    assert nearly[0, 0] == pytest.approx(2.0)  # free from 10⁻⁹ of the width on
    assert not _bend(part, np.array([5e-10, -5e-10]), np.arange(2), np.eye(2), F).any()


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_what_weights_and_multipliers_come_to(p):
    K, kinds = machines()
    run = search(kinds[3], K, p)
    problem = run.problem
    d = problem.on_sphere(np.array([1.0, 2.0, 0.5]))
    random = np.random.default_rng(1)
    betas = [
        part.feasible(random.uniform(size=len(part)) * (part.hi + part.lo)) for _, part in kinds[3]
    ]
    point = run._at(d, betas, run._sum(d))
    q, linear, losses = np.zeros(3), 0.0, 0.0
    for (rows, part), beta in zip(kinds[3], betas, strict=True):
        inside = K[np.ix_(range(3), rows, rows)]
        f = inside @ beta
        q += f @ beta
        linear += part.p @ beta
        residual = part.p - d @ f - part.biases(beta, d @ f)[0]
        losses += (part.hi * np.maximum(residual, 0) + part.lo * np.minimum(residual, 0)).sum()
    assert_allclose(point.q, q)
    assert_allclose(point.K, np.tensordot(d, K, 1))
    assert point.value == pytest.approx(linear - d @ q / 2)
    assert point.bound == pytest.approx(d @ q / 2 + losses)
    dual_norm = q.max() if p == 1 else np.linalg.norm(q)
    s = 2 * p / (p + 1)
    block = ((d * np.sqrt(q)) ** s).sum() ** (2 / s)
    assert point.dual == pytest.approx(linear - dual_norm / 2)
    assert point.primal == pytest.approx(block / 2 + losses)
    nothing = run._at(d, [np.zeros(len(part)) for _, part in kinds[3]], run._sum(d))
    assert_array_equal(nothing.F, np.zeros((3, 14, 2)))


def test_sums_are_kept_for_the_same_weights():
    K, kinds = machines()
    run = search(kinds[0], K)
    d = np.array([0.2, 0.3, 0.5])
    first = run._sum(d)
    assert run._sum(d) is first
    other = np.array([0.5, 0.5, 0.0])
    assert_allclose(run._sum(other), (K[0] + K[1]) / 2)
    assert_allclose(run._sum(d), first)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_missed_kernels_keep_a_share_of_the_least_gap(p):
    K, kinds = machines()
    run = search(kinds[0], K, p)
    assert_array_equal(run._floor(), np.zeros(3))
    run.missed[1] = True
    equal = 3 ** (-1 / p)
    assert_allclose(run._floor(), [0.0, 0.05 * equal, 0.0])  # no gap is known yet
    run.least = 0.2
    assert_allclose(run._floor(), [0.0, 0.01 * equal, 0.0])


def test_small_weights_that_were_kept_go_where_the_answer_is_as_good():
    K, kinds = machines()
    run = search([kinds[0][0]], np.array([K[0], K[0], K[1]]))
    starts = [kinds[0][0][1].start]
    d = np.array([0.6, 0.02, 0.38])
    point = run._machines(d, starts)
    assert run._pruned(point, 1.0) is point  # no weight was kept
    run.floor = np.array([0.0, 0.02 / 1.5, 0.0])
    pruned = run._pruned(point, 1.0)
    assert_allclose(pruned.weights, [0.6 / 0.98, 0.0, 0.38 / 0.98])
    assert run._pruned(point, -1.0) is point  # not as good
    assert run._pruned(point, pruned.gap).weights[1] == 0.0
    run.floor = np.array([0.0, 0.0199 / 1.5, 0.0])
    assert run._pruned(point, 1.0) is point
    gone = run._machines(np.array([0.6, 0.0, 0.4]), starts)
    assert run._pruned(gone, 1.0) is gone


def test_a_weight_below_its_floor_is_lifted_first():
    K, kinds = machines()
    run = search(kinds[0], K)
    run.missed[2], run.least = True, 0.3
    point = run._machines(np.array([0.5, 0.5, 0.0]), [kinds[0][0][1].start])
    found = run._next(point)
    floor = 0.05 * 0.3 / 3
    lifted = np.array([0.0, 0.0, floor]) + (1 - floor) * np.array([0.5, 0.5, 0.0])
    assert_allclose(found.weights, lifted)
    assert_allclose(run.floor, [0.0, 0.0, floor])


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_a_step_is_the_least_of_the_model_where_that_falls(p):
    K, kinds = machines()
    run = search(kinds[0], K, p, tol=1e-10)
    run.inner = 1e-12
    point = run._machines(run.problem.equal_weights(3), [kinds[0][0][1].start])
    for _ in range(3):
        aim = least_weights(-point.q / 2, run._hessian(point), point.weights, p)
        found = run._next(point)
        steps = [
            run.problem.on_sphere(point.weights + t * (run.problem.on_sphere(aim) - point.weights))
            for t in (1.0, 0.3, 0.09)
        ]
        falls = [run._machines(step, point.multipliers).value < point.value for step in steps]
        first = falls.index(True)
        assert_allclose(found.weights, steps[first], atol=1e-6)
        assert found.value < point.value + 1e-12
        point = found


def test_where_no_step_falls_the_weights_follow_the_norms(monkeypatch):
    K, kinds = machines()
    for p in (1.0, 2.0):
        run = search(kinds[0], K, p)
        d = run.problem.equal_weights(3)
        point = run._machines(d, [kinds[0][0][1].start])
        asked, solve = [], run._machines

        def worse(weights, start, asked=asked, solve=solve):
            asked.append(weights)
            return replace(solve(weights, start), value=math.inf)

        monkeypatch.setattr(run, "_machines", worse)
        found = run._next(point)
        assert len(asked) == 5  # steps of 1, 0.3, 0.09 and 0.027, then by the norms
        aim = asked[0] - d
        straight = [run.problem.on_sphere(d + t * aim) for t in (1.0, 0.3, 0.09, 0.027)]
        for one, other in zip(asked[:4], straight, strict=True):
            assert_allclose(one, other, atol=1e-9)
        sizes = (d**2 * point.q) ** (1 / (p + 1))
        assert_allclose(found.weights, sizes / np.linalg.norm(sizes, p))


def test_machines_start_feasible_and_say_how_they_ended():
    K, kinds = machines()
    run = search(kinds[0], K)
    far = [np.full(14, 9.0)]
    d = run.problem.equal_weights(3)
    assert run._machines(d, far).status is Status.OPTIMAL
    assert not run._machines(d, far).nonconvex
    stopped = search(kinds[0], K, monitor=lambda violation: True)
    assert stopped._machines(d, far).status is Status.INTERRUPTED
    late = search(kinds[0], K, deadline=0.0)
    assert late._machines(d, far).status is Status.TIME_LIMIT
    limited = search(kinds[0], K, max_iter=0)
    assert limited._machines(d, far).status is Status.OPTIMAL  # steps are those of weights
    part = kinds[0][0][1]
    found = run._machines(d, far)
    assert part.violation(found.multipliers[0], found.K @ found.multipliers[0]) <= 1e-3


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_budgets(p):
    K, kinds = machines()
    problem, gram = MultipleKernelProblem(kinds[0], p), gram_of(K)
    gaps = []

    def note(gap):
        gaps.append(gap)
        return False

    whole = WeightNewton().solve(problem, gram, Budget(tol=1e-9, monitor=note))
    most = whole.statistics.iterations
    assert whole.status is Status.OPTIMAL
    assert 2 <= most <= 8
    primals = []
    for steps in range(most + 1):
        found = WeightNewton().solve(problem, gram, Budget(tol=1e-9, max_iter=steps))
        assert found.statistics.iterations == steps
        assert (found.status is Status.OPTIMAL) is (steps == most)
        assert (found.status is Status.MAX_ITER) is (steps < most)
        primals.append(found.certificate.gap)
    assert primals == sorted(primals, reverse=True)  # the best so far
    by_gap = WeightNewton().solve(problem, gram, Budget(tol=1.0, gap=1e-9))
    assert by_gap.status is Status.OPTIMAL
    assert by_gap.certificate is None  # it has seen the gap itself
    assert problem.certify(by_gap.value, gram).relative_gap <= 2e-9
    assert by_gap.statistics.iterations == most
    again = WeightNewton().solve(problem, gram, Budget(tol=1e-8), whole.value)
    assert again.statistics.iterations == 0
    assert_array_equal(again.value.weights, whole.value.weights)
    for limit, status in (
        ({"monitor": lambda gap: True}, Status.INTERRUPTED),
        ({"deadline": 0.0}, Status.TIME_LIMIT),
    ):
        found = WeightNewton().solve(problem, gram, Budget(tol=1e-9, **limit))
        assert found.status is status
        assert_allclose(found.value.weights, problem.equal_weights(3))
    assert_allclose(found.product, np.tensordot(found.value.weights, K, 1) @ found.value.multipliers[0][:, None], atol=1e-12)  # fmt: skip  # noqa: E501


def test_what_cannot_get_better_has_stalled():
    K, kinds = machines()
    problem, gram = MultipleKernelProblem(kinds[0], 1.0), gram_of(K)
    found = WeightNewton().solve(problem, gram, Budget(tol=0.0))
    exact = WeightNewton().solve(problem, gram, Budget(tol=1e-9))
    judged = problem.certify(found.value, gram)
    assert found.status in (Status.STALLED, Status.OPTIMAL)
    assert found.statistics.iterations <= exact.statistics.iterations + 40
    assert judged.relative_gap <= 1e-11


@pytest.mark.parametrize("seed", range(8))
def test_a_warm_start_saves_steps(seed):
    problem, K = random_weights_problem(seed)
    gram = gram_of(K)
    rough = WeightNewton().solve(problem, gram, Budget(tol=1e-2))
    fine = WeightNewton().solve(problem, gram, Budget(tol=1e-7))
    on = WeightNewton().solve(problem, gram, Budget(tol=1e-7), rough.value)
    assert on.status is fine.status is Status.OPTIMAL
    assert rough.statistics.iterations <= fine.statistics.iterations <= 14
    assert on.statistics.iterations <= fine.statistics.iterations - rough.statistics.iterations + 3
    assert on.certificate.primal == pytest.approx(fine.certificate.primal, rel=1e-6)


def test_systems_and_reaches_of_the_model():
    random = np.random.default_rng(5)
    A = random.normal(size=(4, 4)) * [1.0, 1e3, 1e-3, 10.0]
    system, force = A.T @ A, random.normal(size=4)
    assert_allclose(system @ _solved(system, force), force, rtol=1e-5, atol=1e-7)
    assert _reach(np.array([1.0, 2.0]), np.array([1.0, 0.0])) == 1.0
    assert _reach(np.array([1.0, 2.0]), np.array([-4.0, -4.0])) == pytest.approx(0.99 / 4)
    assert _reach(np.array([1.0, 2.0]), np.array([-0.5, 3.0])) == 1.0


def test_the_start_is_the_callers():
    K, kinds = machines()
    problem = MultipleKernelProblem(kinds[0], 1.0)
    start = WeightedMultipliers(np.array([0.2, 0.3, 0.5]), [np.zeros(14)])
    for steps in (0, 1):  # the first step is the machine at these weights
        found = WeightNewton().solve(problem, gram_of(K), Budget(max_iter=steps, tol=1e-12), start)
        assert_allclose(found.value.weights, [0.2, 0.3, 0.5])
    assert not start.multipliers[0].any()
