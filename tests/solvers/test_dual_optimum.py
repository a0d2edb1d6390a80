"""The best dual bound against closed forms and searches of every point."""

import numpy as np
import pytest

from mercer import optimize
from mercer.exceptions import InvalidInput


def quadratic(P, q=None, r=0.0):
    return optimize.QuadraticFunction(P, q, r)


def test_signs_have_a_gap():
    # x₁x₂ + x₂x₃ + x₁x₃ over signs: −1 by trying all; the bound Σν, W + 2 diag ν ⪰ 0, is −3/2.
    cube = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    W = np.ones((3, 3)) - np.eye(3)
    p = min(0.5 * x @ W @ x for x in cube)
    signs = [quadratic(2 * np.diag(row), r=-1.0) for row in np.eye(3)]
    problem = optimize.ConstrainedProblem(quadratic(W), equalities=signs)
    best = optimize.maximise_dual(problem)
    assert p == -1
    assert best.value == pytest.approx(-1.5, abs=1e-5)
    assert best.value <= best.upper <= -1.5 + 1e-5
    shown = problem.kkt([1.0, 1.0, -1.0], (), best.nu)
    assert shown.gap == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_one_ball_leaves_no_gap(seed):
    # The trust region problem: min ½xᵀPx + qᵀx, ‖x‖ ≤ 1, for any P (the S-lemma).
    random = np.random.default_rng(seed)
    P = random.normal(size=(2, 2))
    P, q = P + P.T, random.normal(size=2)
    angle, radius = np.meshgrid(np.linspace(0, 2 * np.pi, 2001), np.linspace(0, 1, 201))
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)])
    p = (0.5 * np.einsum("iab,ij,jab->ab", X, P, X) + np.einsum("i,iab->ab", q, X)).min()
    ball = quadratic(2 * np.eye(2), r=-1.0)
    best = optimize.maximise_dual(optimize.ConstrainedProblem(quadratic(P, q), ball))
    assert best.value <= p + 1e-9  # a bound
    assert best.value == pytest.approx(p, abs=2e-4)  # and no gap, up to the grid


def test_a_convex_program_agrees_with_its_multipliers():
    area = quadratic(2 * np.eye(2), [-2.0, -4.0])
    line = optimize.Affine([[1.0, 1.0]], 1.0)
    problem = optimize.ConstrainedProblem(area, line)
    found = optimize.solve(problem)
    best = optimize.maximise_dual(problem)
    assert best.value == pytest.approx(found.certificate.primal, abs=1e-5)
    np.testing.assert_allclose(best.lambda_, found.lambda_, atol=1e-2)


def test_where_nothing_bounds_the_problem():
    # −x² with a half-line: no multiplier makes L convex.
    problem = optimize.ConstrainedProblem(quadratic([[-2.0]]), optimize.Affine([[1.0]], 1.0))
    best = optimize.maximise_dual(problem)
    assert best.value == -np.inf
    assert best.upper == -np.inf


def test_a_linear_program_has_the_bound_of_its_answer():
    # min x + y, x ≥ 1, y ≥ 2: no multipliers bend L upwards, and g(1, 1) = 3.
    bounds = optimize.Affine([[-1.0, 0.0], [0.0, -1.0]], [-1.0, -2.0])
    problem = optimize.ConstrainedProblem(optimize.Affine([[1.0, 1.0]]), bounds)
    best = optimize.maximise_dual(problem)
    assert best.value == pytest.approx(3.0)
    np.testing.assert_allclose(best.lambda_, [1.0, 1.0])


def test_functions_that_are_no_quadratics_are_refused():
    problem = optimize.ConstrainedProblem(lambda x: np.exp(x[0]), optimize.Affine([[1.0]], 1.0))
    with pytest.raises(InvalidInput, match="neither quadratic nor affine"):
        optimize.maximise_dual(problem)


@pytest.mark.parametrize("unit", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_projections_onto_a_half_space_have_a_closed_form(seed, unit):
    # min ½‖x − c‖² subject to aᵀx ≤ b: λ = (aᵀc − b)⁺/‖a‖², and the value ½λ²‖a‖².
    random = np.random.default_rng(seed)
    c, a = unit * random.normal(size=3), random.normal(size=3)
    for b in (a @ c - unit, a @ c + unit):
        half = optimize.Affine([a], b)
        away = quadratic(np.eye(3), -c, c @ c / 2)
        best = optimize.maximise_dual(optimize.ConstrainedProblem(away, half))
        lam = max(a @ c - b, 0.0) / (a @ a)
        assert best.value == pytest.approx(lam**2 * (a @ a) / 2, abs=1e-6 * (1 + unit**2))
        assert best.lambda_ == pytest.approx([lam], abs=5e-3 * (1 + unit))
        assert best.value <= best.upper <= best.value + 1.01e-7 * (1 + abs(best.value))
        assert 1 <= best.iterations <= 100


@pytest.mark.parametrize("seed", range(3))
def test_an_equality_has_a_multiplier_of_either_sign(seed):
    # min ½‖x‖² subject to aᵀx = b: ν = −b/‖a‖², and the value ½b²/‖a‖².
    a = np.random.default_rng(seed).normal(size=2)
    for b in (-1.5, 2.0):
        line = optimize.Affine([a], b)
        problem = optimize.ConstrainedProblem(quadratic(np.eye(2)), equalities=line)
        best = optimize.maximise_dual(problem)
        assert best.lambda_.shape == (0,)
        assert best.nu == pytest.approx([-b / (a @ a)], rel=1e-3)
        assert best.value == pytest.approx(b * b / (a @ a) / 2, rel=1e-6)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_fewer_rounds_still_give_bounds(most):
    W = np.ones((3, 3)) - np.eye(3)
    signs = [quadratic(2 * np.diag(row), r=-1.0) for row in np.eye(3)]
    problem = optimize.ConstrainedProblem(quadratic(W + np.diag([1.0, 2.0, 3.0])), equalities=signs)
    best, whole = optimize.maximise_dual(problem, max_iter=most), optimize.maximise_dual(problem)
    assert best.iterations <= most
    assert best.value <= whole.value + 1e-6
    assert best.upper >= whole.value - 1e-6
    assert whole.value == pytest.approx(1.5, abs=1e-5)  # the diagonal adds half its sum, 3


def test_no_bound_has_multipliers_of_the_right_sizes():
    sides = [optimize.Affine([[1.0, 0.0], [0.0, 1.0]], 1.0)]
    line = optimize.Affine([[1.0, 1.0]], 0.0)
    problem = optimize.ConstrainedProblem(quadratic(-np.eye(2)), sides, line)
    best = optimize.maximise_dual(problem)
    assert best.value == best.upper == -np.inf
    assert best.iterations == 0
    np.testing.assert_array_equal(best.lambda_, [0.0, 0.0])
    np.testing.assert_array_equal(best.nu, [0.0])
