"""Programs with constraints: what is proven of an answer, and of there being none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.exceptions import Infeasible, InvalidInput
from mercer.problems.constrained import ConstrainedProblem
from mercer.problems.functions import Affine, Function, QuadraticFunction
from mercer.solvers import constrained_programs
from mercer.solvers.constrained_programs import solve

BALL = QuadraticFunction(2 * np.eye(2), r=-1.0)
"""x² + y² ≤ 1."""


def test_projections_onto_a_ball():
    # min ½‖x − (3, 4)‖²: (0.6, 0.8), and 2λx = c − x gives λ = 2.
    away = QuadraticFunction(np.eye(2), [-3.0, -4.0], 12.5)
    found = solve(ConstrainedProblem(away, BALL, convex=True))
    assert_allclose(found.x, [0.6, 0.8], atol=1e-6)
    assert_allclose(found.lambda_, [2.0], atol=1e-5)
    assert found.nu.shape == (0,)
    assert found.certificate.status == "optimal"
    assert found.certificate.primal == pytest.approx(8.0)
    assert found.certificate.gap <= 1e-6
    assert found.certificate.iterations > 1
    assert found.certificate.seconds > 0
    assert found.violation is None
    few = solve(ConstrainedProblem(away, BALL, convex=True), max_iter=1)
    assert few.certificate.status == "max_iter"


def test_a_start_that_breaks_the_constraints_is_led_back():
    away = QuadraticFunction(np.eye(2), [-3.0, -4.0], 12.5)
    line = Affine([[1.0, 1.0]], 1.0)
    found = solve(ConstrainedProblem(away, BALL, line, convex=True), start=[50.0, -80.0])
    assert_allclose(found.x.sum(), 1.0, atol=1e-6)
    assert_allclose(found.x, [0.0, 1.0], atol=1e-5)
    assert len(found.nu) == 1


def test_statuses_of_what_is_not_convex():
    saddle = QuadraticFunction(np.diag([1.0, -1.0]))
    found = solve(ConstrainedProblem(saddle, BALL), start=[0.3, 0.4])
    assert found.certificate.status == "nonconvex"
    assert found.violation is not None
    assert_allclose(np.abs(found.x), [0.0, 1.0], atol=1e-4)
    waves = Function(lambda x: np.array([np.sin(3 * x[0])]), lambda x: np.array([[3 * np.cos(3 * x[0])]]))  # fmt: skip  # noqa: E501
    with pytest.raises(InvalidInput, match="not convex, as it was said"):
        solve(ConstrainedProblem(waves, Affine([[1.0], [-1.0]], [2.0, 2.0]), convex=True), start=[0.0])  # fmt: skip  # noqa: E501
    # A function of which nobody said anything, and in which no chord lies below: not proven.
    bowl = Function(lambda x: np.array([x[0] ** 4 + x[0] ** 2]), lambda x: np.array([[4 * x[0] ** 3 + 2 * x[0]]]))  # fmt: skip  # noqa: E501
    found = solve(ConstrainedProblem(bowl, Affine([[-1.0]], -1.0)), start=[2.0])
    assert found.x == pytest.approx([1.0], abs=1e-6)
    assert found.certificate.status not in ("optimal", "nonconvex")
    assert solve(ConstrainedProblem(bowl, Affine([[-1.0]], -1.0), convex=True), start=[2.0]).certificate.status == "optimal"  # fmt: skip  # noqa: E501


@pytest.mark.parametrize("affine", [True, False])
def test_what_is_infeasible_has_weights_that_prove_it(affine):
    # x + y ≤ 1 (or x² + y² ≤ 1), x − y = 4 and x = 3: the last two give y = −1.
    first = Affine([[1.0, 1.0]], 1.0) if affine else BALL
    lines = [Affine([[1.0, -1.0]], 4.0), Affine([[1.0, 0.0]], 3.0)]
    problem = ConstrainedProblem(QuadraticFunction(np.eye(2)), first, lines, convex=True)
    with pytest.raises(Infeasible, match="has no answer") as told:
        solve(problem, start=[0.0, 0.0])
    error = told.value
    assert error.lambda_.shape == (1,)
    assert error.nu.shape == (2,)
    assert (error.lambda_ >= 0).all()
    assert error.violation > 0.1

    def total(x):
        values = [float(first.values(x)[0]), x[0] - x[1] - 4.0, x[0] - 3.0]
        return error.lambda_ @ values[:1] + error.nu @ values[1:]

    assert error.bound > 0
    for x in np.random.default_rng(0).normal(size=(200, 2)) * 5:
        assert total(x) >= error.bound - 1e-6 * (1 + np.abs(x).sum())


def test_programs_without_an_answer():
    with pytest.raises(InvalidInput, match="no answer"):
        solve(ConstrainedProblem(Affine([[1.0]]), Affine([[1.0]], 0.0)))  # falls for ever
    with pytest.raises(Infeasible):
        solve(ConstrainedProblem(Affine([[1.0]]), Affine([[1.0], [-1.0]], [0.0, -1.0])))


def test_chords_are_looked_for_on_the_way_and_around_it():
    # Convex between −3 and 3, and bent downwards beyond: seen from far, not from near.
    def value(x):
        return np.array([np.where(np.abs(x[0]) < 3, x[0] ** 2, 9 - 5 * (np.abs(x[0]) - 3))])

    problem = ConstrainedProblem(Function(value, lambda x: np.array([[2 * x[0]]])), size=1)
    near = constrained_programs._negative_curvature(problem, np.array([0.5]), np.array([0.0]))
    assert near is None
    far = constrained_programs._negative_curvature(problem, np.array([6.0]), np.array([0.0]))
    assert far is not None
    ahead = constrained_programs._negative_curvature(problem, np.array([-2.5]), np.array([0.0]))
    assert ahead is not None  # beyond the start, and as far around the end
