"""Planes above a dual function, phase one, and manifold steps: each part by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import RBF, Gram
from mercer.problems.constrained import ConstrainedProblem
from mercer.problems.functions import Affine, Function, QuadraticForm, QuadraticFunction
from mercer.solvers import constrained_programs
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.dual_optimum import _forms, _Planes, maximise_dual


def forms():
    """Return f₀ = −x² + y² − 2x, f₁ = x² − 1 and f₂ = x + y − 3."""
    return [
        QuadraticForm(np.diag([-2.0, 2.0]), np.array([-2.0, 0.0]), 0.0),
        QuadraticForm(np.diag([2.0, 0.0]), np.zeros(2), -1.0),
        QuadraticForm(np.zeros((2, 2)), np.ones(2), -3.0),
    ]


def test_bounds_of_multipliers():
    planes = _Planes(forms(), 1)
    assert planes.count == 2
    assert planes.bounds == [(0.0, 3e4), (-3e4, 3e4)]
    small = [QuadraticForm(form.P / 10, form.q / 10, form.r / 10) for form in forms()]
    assert _Planes(small, 2).bounds == [(0.0, 1e4)] * 2


def test_values_of_the_dual_function_and_their_planes():
    planes = _Planes(forms(), 1)
    z = np.array([3.0, 0.5])
    assert_allclose(planes._matrix(z), np.diag([4.0, 2.0]))
    # L = 2x² − 1.5x + y² + 0.5y − 4.5, lowest at x = 3/8, y = −1/4.
    x, y = 3 / 8, -1 / 4
    lowest = 2 * x * x - 1.5 * x + y * y + 0.5 * y - 4.5
    assert planes._evaluate(z) == pytest.approx(lowest)
    assert_allclose(planes.values[-1], [x * x - 1, x + y - 3, -x * x + y * y - 2 * x])
    assert planes._evaluate(np.array([0.5, 0.0])) == -math.inf  # bent downwards
    assert len(planes.values) == 1
    # Flat along x, where L falls: no plane, and no bound.
    assert planes._evaluate(np.array([1.0, 0.0])) == -math.inf
    # Flat along x without a slope: 2 − 2 = 0.
    assert planes._evaluate(np.array([1.0, 2.0])) == pytest.approx(-1.0 - 6.0 - 1.0)


def test_directions_that_fall_for_ever():
    planes = _Planes(forms(), 1)
    planes._bend(np.array([0.5, 0.0]))
    assert_allclose(np.abs(planes.bends), [[2.0, 0.0, 2.0]])
    planes._bend(np.array([3.0, 0.0]))
    assert len(planes.bends) == 1  # it bends upwards everywhere


def test_the_way_inside_ends_before_the_border():
    planes = _Planes(forms(), 1)
    inner = np.array([3.0, 0.0])  # P = diag(4, 2)
    assert planes._way_inside(inner, np.array([5.0, 0.0])) == 1.0
    # At z = 0 P is diag(−2, 2), and 0 at two thirds of the way.
    assert planes._way_inside(inner, np.zeros(2)) == pytest.approx(0.999 * 2 / 3)
    assert planes._way_inside(inner, np.array([1.5, 0.0])) == 1.0


def test_inner_points_bend_upwards():
    planes = _Planes(forms(), 1)
    z, upper = planes._inner_point(50)
    assert np.linalg.eigvalsh(planes._matrix(z))[0] > 0
    assert upper == math.inf
    assert planes._inner_point(0) == (None, math.inf)
    never = _Planes([forms()[0], forms()[2]], 1)  # nothing bends −x² upwards
    assert never._inner_point(50) == (None, -math.inf)
    flat = _Planes([forms()[2], forms()[2]], 1)
    assert flat._inner_point(50) == (None, math.inf)


def test_the_highest_place_below_all_planes():
    planes = _Planes(forms()[:2], 1)
    planes.values = [np.array([-1.0, 2.0]), np.array([1.0, 0.0])]  # t ≤ 2 − z and t ≤ z
    z, height = planes._highest()
    assert_allclose(z, [1.0], atol=1e-8)
    assert height == pytest.approx(1.0)
    planes.bends = [np.array([-2.0, 1.0])]  # 0 ≤ 1 − 2z
    z, height = planes._highest()
    assert_allclose(z, [0.5], atol=1e-8)
    assert height == pytest.approx(0.5)


def test_the_best_bound_by_a_closed_form():
    # min −x² − 2x subject to x² ≤ 1 is −3 at x = 1, and there is no gap: λ = 2.
    problem = ConstrainedProblem(
        QuadraticFunction([[-2.0]], [-2.0]), QuadraticFunction([[2.0]], [0.0], -1.0)
    )
    found = maximise_dual(problem)
    assert found.value == pytest.approx(-3.0, abs=1e-6)
    assert found.upper == pytest.approx(-3.0, abs=1e-6)
    assert found.upper >= found.value
    assert_allclose(found.lambda_, [2.0], atol=1e-2)
    assert 1 <= found.iterations <= 60
    rough = maximise_dual(problem, tol=0.1)
    assert rough.iterations < found.iterations
    assert rough.value <= -3.0 + 1e-9
    assert rough.upper - rough.value <= 0.1 * (1 + abs(rough.value)) + 1e-9
    assert maximise_dual(problem, max_iter=3).iterations <= 3
    listed, count = _forms(problem)
    assert (len(listed), count) == (2, 1)


def test_phase_one_is_the_largest_violation():
    affine = Affine(np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([1.0, 3.0]))
    curved = Function(lambda x: np.array([x @ x - 4.0]), lambda x: 2 * x[None])
    equal = Affine(np.array([[1.0, -1.0]]), np.array([0.5]))
    problem = ConstrainedProblem(QuadraticFunction(np.eye(2)), [affine, curved], [equal])
    relaxed = constrained_programs._relaxed(problem)
    z = np.array([0.7, -0.4, 1.3])
    x, s = z[:2], z[2]
    fs = np.concatenate([affine.values(x), curved.values(x)])
    h = equal.values(x)
    assert_allclose(relaxed.slacks(z), [*(fs - s), *(h - s), *(-h - s), -s - 1.0])
    assert relaxed.value(z) == pytest.approx(s)
    J = relaxed.jacobians(z)[0]
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        change = (relaxed.slacks(z + step) - relaxed.slacks(z - step)) / 2e-6
        assert_allclose(J[:, k], change, atol=1e-6)
    worst = max(0.0, fs.max(), abs(h[0]))
    assert constrained_programs._worst_violation(problem, x) == pytest.approx(worst)
    inside = constrained_programs._find_feasible(problem, np.array([9.0, 9.0]))
    assert constrained_programs._worst_violation(problem, inside) <= 1e-6 * 10
    lost = ConstrainedProblem(
        QuadraticFunction(np.eye(2)), Function(lambda x: np.array([np.nan]), lambda x: 0 * x[None])
    )
    assert constrained_programs._worst_violation(lost, x) == math.inf
    assert constrained_programs._allowed(np.array([3.0, -9.0])) == pytest.approx(1e-5)


class Asks(Solver):
    """Evaluates a known part of the matrix."""

    certified = False

    def run(self, problem, gram, budget, start):
        gram.rows([0, 1])
        return Outcome(None, Status.OPTIMAL)


def test_costs_are_what_a_solver_used():
    gram = Gram(RBF(gamma=1.0), np.arange(12.0).reshape(6, 2))
    problem = ConstrainedProblem(QuadraticFunction(np.eye(2)))
    for _ in range(2):  # what was evaluated before is none of its business
        cost = Asks().solve(problem, gram, Budget()).statistics
        assert cost.evaluations == 12
        assert 0 <= cost.seconds < 10


def test_eigenvalues_at_the_edge_of_what_counts():
    tiny = 1e-9
    for share, kept in ((1.0, False), (1.01, True), (0.5, False)):
        planes = _Planes(
            [QuadraticForm(np.diag([1.0, share * tiny]), np.array([0.0, 2e-6]), 0.0)], 0
        )
        found = planes._evaluate(np.zeros(0))
        # Kept, the second variable goes to −q/p, and lowers L by q²/2p.
        wanted = -2e-12 / (share * tiny) if kept else 0.0
        assert found == pytest.approx(wanted if kept else -math.inf)
        assert planes.values[-1] == pytest.approx([wanted])
    # A slope of one millionth, of 1 + the largest, is none.
    for slope, found in ((1e-6, 0.0), (1.1e-6, -math.inf)):
        planes = _Planes([QuadraticForm(np.diag([1.0, 0.0]), np.array([0.0, slope]), 0.0)], 0)
        assert planes._evaluate(np.zeros(0)) == found


@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
def test_what_bends_upwards_by_a_billionth_of_the_largest_or_of_one(size):
    edge = 1e-9 * max(size, 1.0)
    for share, inside in ((0.9, False), (1.1, True), (-0.9, False)):
        P = np.diag([size, share * edge])
        planes = _Planes([QuadraticForm(P, np.zeros(2), 0.0)] * 2, 1)
        planes._bend(np.zeros(1))
        assert len(planes.bends) == (0 if inside else 1)
        assert (planes._inner_point(1)[0] is None) != inside
    # Bent downwards by less than that is rounding.
    for share, found in ((-0.9, 0.0), (-1.1, -math.inf)):
        P = np.diag([size, share * edge])
        assert _Planes([QuadraticForm(P, np.zeros(2), 0.0)], 0)._evaluate(np.zeros(0)) == found


def test_where_nothing_bends_one_round_is_enough():
    flat = _Planes([forms()[2], forms()[2]], 1)
    assert flat._inner_point(50) == (None, math.inf)
    assert len(flat.bends) == 2  # both directions, once
    assert flat.climb(1e-7, 50) == (None, math.inf, 0)
    # All directions that are nearly the lowest are looked at together: −4 and −3, not −1.
    P = np.diag([-4.0, -3.0, -1.0, 2.0])
    planes = _Planes(
        [QuadraticForm(P, np.zeros(4), 0.0), QuadraticForm(np.eye(4), np.zeros(4), -1.0)], 1
    )
    z, _ = planes._inner_point(1)
    assert z is None
    assert_allclose(planes.bends, [[1.0, -4.0], [1.0, -3.0]])
    z, upper = planes._inner_point(5)
    assert z[0] >= 5 * (1 - 1e-9)  # bends upwards by 1, the most that is asked for
    assert upper == math.inf


def test_few_rounds_have_the_bounds_of_their_planes():
    # min ½x² − x, x ≤ ½: g(λ) = −½(1 − λ)² − ½λ, at its best −3/8 for λ = ½.
    problem = [
        QuadraticForm(np.eye(1), -np.ones(1), 0.0),
        QuadraticForm(np.zeros((1, 1)), np.ones(1), -0.5),
    ]
    planes = _Planes(problem, 1)
    assert planes.climb(1e-12, 0) == (None, math.inf, 0)
    # The plane at 0 rises by ½: the highest place is at the end of the box, λ = 10⁴.
    planes = _Planes(problem, 1)
    best, upper, rounds = planes.climb(1e-12, 1)
    assert upper == pytest.approx(0.5e4 - 0.5)
    assert rounds == 1
    assert_allclose(best, [0.0])
    before = math.inf
    for most in (10, 20, 40):
        best, upper, rounds = _Planes(problem, 1).climb(1e-9, most)
        assert rounds <= most
        g = -0.5 * (1 - best[0]) ** 2 - 0.5 * best[0]
        assert g <= -3 / 8 + 1e-12 <= upper + 1e-9
        assert upper - g < before
        before = upper - g
    assert before <= 1e-9 * 2


def test_programs_have_multipliers_of_what_there_is():
    # min x + 2y, x = 3, y = 1: equalities alone; and x ≥ 3, y ≥ 1: inequalities alone.
    cost = Affine([[1.0, 2.0]])
    equal = constrained_programs.solve(
        ConstrainedProblem(cost, equalities=Affine(np.eye(2), [3.0, 1.0]))
    )
    assert_allclose(equal.x, [3.0, 1.0])
    assert equal.lambda_.shape == (0,)
    assert_allclose(equal.nu, [-1.0, -2.0])
    above = constrained_programs.solve(ConstrainedProblem(cost, Affine(-np.eye(2), [-3.0, -1.0])))
    assert_allclose(above.x, [3.0, 1.0])
    assert above.nu.shape == (0,)
    assert_allclose(above.lambda_, [1.0, 2.0])
    assert above.certificate.gap == pytest.approx(0.0, abs=1e-9)
