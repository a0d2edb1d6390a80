"""Joint multi-class problems: their certificates against loops over the definitions."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose

from mercer.exceptions import InvalidParameter
from mercer.gram.given import GivenGram
from mercer.problems.multiclass import CrammerSinger, WestonWatkins, _widest_way

MACHINES = [WestonWatkins, CrammerSinger]
machines = st.sampled_from(MACHINES)
seeds = st.integers(0, 10_000)


def random_problem(machine, seed):
    rng = np.random.default_rng(seed)
    n, k = rng.integers(2, 8), rng.integers(2, 5)
    X = rng.normal(size=(n, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    return machine(rng.integers(0, k, n), rng.uniform(0.1, 3, n), int(k)), K, rng


def random_alpha(problem, rng):
    """Feasible coefficients, some of them on their bounds."""
    wild = rng.normal(size=(len(problem), problem.classes)) * rng.choice([0.1, 1, 10])
    return problem.feasible(wild)


@given(machine=machines, seed=seeds)
def test_certificate_is_the_definition(machine, seed):
    problem, K, rng = random_problem(machine, seed)
    alpha = random_alpha(problem, rng)
    f = K @ alpha
    primal = dual = 0.0
    wrong = products = 0.0
    for c in range(problem.classes):
        primal += alpha[:, c] @ K @ alpha[:, c] / 2
        dual -= alpha[:, c] @ K @ alpha[:, c] / 2
    for i, y in enumerate(problem.labels):
        C = problem.C[i]
        g = {c: 1 - (f[i, y] - f[i, c]) for c in range(problem.classes) if c != y}
        a = {c: -alpha[i, c] for c in g}
        dual += alpha[i, y]
        if machine is WestonWatkins:
            primal += C * sum(max(0, margin) for margin in g.values())
            for c in g:
                wrong = max(wrong, g[c] if a[c] < C else 0, -g[c] if a[c] > 0 else 0)
                products = max(products, (C - a[c]) * max(g[c], 0), a[c] * max(-g[c], 0))
        else:
            slack = max(0, *g.values())
            primal += C * slack
            used = [g[c] for c in g if a[c] > 0] + ([0.0] if alpha[i, y] < C else [])
            wrong = max(wrong, slack - min(used))
            room = C - alpha[i, y]
            products = max(products, room * slack, *(a[c] * (slack - g[c]) for c in g))
    certificate = problem.judge(alpha, f, iterations=3)
    assert_allclose(certificate.primal, primal)
    assert_allclose(certificate.dual, dual)
    assert_allclose(certificate.stationarity, wrong, atol=1e-12)
    assert_allclose(certificate.complementarity, products, atol=1e-12)
    assert certificate.dual_feasibility < 1e-12
    assert certificate.iterations == 3


@pytest.mark.parametrize("machine", MACHINES)
def test_given_biases_weigh_with_the_sums_of_coefficients(machine):
    """With biases that are given the dual value loses Σ_c b_c Σᵢ αᵢ_c, and margins move."""
    labels, C, biases = np.array([0, 1, 2, 0]), np.array([1.0, 2.0, 0.5, 1.0]), [0.5, -1.0, 0.25]
    problem = machine(labels, C, 3, np.array(biases))
    rng = np.random.default_rng(3)
    alpha = problem.feasible(rng.normal(size=(4, 3)))
    A = rng.normal(size=(4, 4))
    f = A @ A.T @ alpha
    found = problem.judge(alpha, f)
    loss = 0.0
    for i, y in enumerate(labels):
        g = [1 - f[i, y] - biases[y] + f[i, c] + biases[c] for c in range(3) if c != y]
        costs = [max(0.0, each) for each in g]
        loss += C[i] * (sum(costs) if machine is WestonWatkins else max(costs))
    half = (alpha * f).sum() / 2
    moved = sum(b * alpha[:, c].sum() for c, b in enumerate(biases))
    assert abs(moved) > 0.1
    assert found.primal == pytest.approx(half + loss)
    assert found.dual == pytest.approx(alpha[np.arange(4), labels].sum() - half - moved)
    # Where they are free the sums have to vanish, and what is left of them is no feasible point.
    free = machine(labels, C, 3, np.array(biases), True).judge(alpha, f)
    assert free.dual == pytest.approx(alpha[np.arange(4), labels].sum() - half)
    assert free.dual_feasibility == pytest.approx(np.abs(alpha.sum(axis=0)).max())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("margin", [-2.0, 0.0, 2.0])
def test_one_point_alone(machine, share, margin):
    """Between its bounds a multiplier asks for a margin of 0, at 0 for none below, at C above."""
    problem = machine(np.array([0]), np.array([4.0]), 2)
    alpha = 4.0 * share * np.array([[1.0, -1.0]])
    f = np.array([[0.5 - margin / 2, margin / 2 - 0.5]])
    assert problem.margins(f)[0].tolist() == [0.0, margin]
    found = problem.judge(alpha, f)
    wrong = max(margin if share < 1 else 0.0, -margin if share > 0 else 0.0)
    assert found.stationarity == wrong
    assert found.complementarity == 4.0 * max((1 - share) * margin, -share * margin)


@pytest.mark.parametrize("machine", MACHINES)
def test_sums_are_balanced_by_no_more_than_they_lack(machine):
    """Where there is room, what one class has too much of goes straight to those that lack it."""
    problem = machine(np.array([0, 1, 2, 0]), np.full(4, 100.0), 3, np.zeros(3), True)
    alpha = np.array([[6.0, -2.0, -4.0], [-3.0, 6.0, -3.0], [-2.0, -3.0, 5.0], [4.0, -2.0, -2.0]])
    sums = alpha.sum(axis=0)
    assert sums.tolist() == [5.0, -1.0, -4.0]
    inside = problem.feasible(alpha)
    np.testing.assert_allclose(inside.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(inside.sum(axis=1), 0.0, atol=1e-13)
    assert np.abs(inside - alpha).sum() == pytest.approx(np.abs(sums).sum())


def test_points_without_a_price_have_no_multipliers():
    problem = CrammerSinger(np.array([0, 1, 0]), np.array([0.0, 2.0, 0.0]), 3)
    wild = np.array([[1.0, -0.5, -0.5], [-1.0, 4.0, -3.0], [0.0, 0.0, 0.0]])
    inside = problem.feasible(wild)
    np.testing.assert_allclose(inside, [[0, 0, 0], [-0.5, 2.0, -1.5], [0, 0, 0]], atol=1e-15)
    part = CrammerSinger(np.array([0]), np.array([4.0]), 3).feasible(np.array([[9.0, -1.0, -0.5]]))
    np.testing.assert_array_equal(part, [[1.5, -1.0, -0.5]])


@given(machine=machines, seed=seeds)
def test_every_dual_value_is_below_every_primal_value(machine, seed):
    problem, K, rng = random_problem(machine, seed)
    one, other = random_alpha(problem, rng), random_alpha(problem, rng)
    lower, upper = problem.judge(one, K @ one), problem.judge(other, K @ other)
    assert lower.dual <= upper.primal + 1e-9
    assert lower.gap >= -1e-9


@given(machine=machines, seed=seeds)
def test_feasible_coefficients_stay(machine, seed):
    problem, K, rng = random_problem(machine, seed)
    alpha = random_alpha(problem, rng)
    assert problem.judge(alpha, K @ alpha).dual_feasibility < 1e-12
    assert_allclose(problem.feasible(alpha), alpha, atol=1e-12)
    assert_allclose(alpha.sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_learnt(machine):
    problem = machine(np.array([0, 1, 2]), np.array([1.0, 2.0, 3.0]), 3)
    nothing = np.zeros((3, 3))
    certificate = problem.judge(nothing, nothing)
    assert certificate.primal == 6 * (2 if machine is WestonWatkins else 1)
    assert certificate.dual == 0
    assert certificate.stationarity == 1
    assert certificate.relative_gap == 1


@pytest.mark.parametrize("machine", MACHINES)
def test_broken_constraints_are_seen(machine):
    problem = machine(np.array([0, 1]), np.array([1.0, 1.0]), 2)
    K = np.eye(2)
    for alpha, off in [
        ([[1.5, -1.5], [0, 0]], 0.5),
        ([[-0.25, 0.25], [0, 0]], 0.25),
        ([[0.5, -0.2], [0, 0]], 0.3),
    ]:
        alpha = np.array(alpha)
        assert_allclose(problem.judge(alpha, K @ alpha).dual_feasibility, off)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("C", [np.inf, np.nan, -1.0])
def test_prices_are_finite(machine, C):
    with pytest.raises(InvalidParameter, match="finite"):
        machine(np.array([0, 1]), np.array([1.0, C]), 2)


@pytest.mark.parametrize("seed", range(8))
def test_the_way_with_most_room(seed):
    """Of all ways between two classes, the one whose narrowest step is widest."""
    rng = np.random.default_rng(seed)
    n = 5
    room = rng.integers(0, 6, (n, n)).astype(float) if seed % 2 else rng.uniform(size=(n, n))
    first, last = 0, n - 1
    best = 0.0
    for count in range(n - 1):
        for between in permutations(range(1, n - 1), count):
            way = [first, *between, last]
            best = max(best, min(room[a, b] for a, b in pairwise(way)))
    way, width = _widest_way(room, first, last)
    assert width == best
    if best > 0:
        assert (way[0], way[-1]) == (first, last)
        assert min(room[a, b] for a, b in pairwise(way)) == best


def test_sums_that_rounding_took_off_their_bound():
    problem = CrammerSinger(np.array([0]), np.array([2.0]), 2)
    for lack, own in ((1e-14, 2.0), (1e-12, 2.0 * (1 - 1e-12))):
        part = 2.0 * (1 - lack)
        assert problem.feasible(np.array([[part, -part]]))[0, 0] == own


@pytest.mark.parametrize("machine", MACHINES)
def test_certificates_from_a_matrix(machine):
    problem, K, rng = random_problem(machine, 3)
    alpha = random_alpha(problem, rng)
    found, known = problem.certify(alpha, GivenGram(K)), problem.certify(alpha, None, K @ alpha)
    assert found.primal == pytest.approx(known.primal)
    assert found.dual == pytest.approx(known.dual)
    assert found.curvature == "proven"
