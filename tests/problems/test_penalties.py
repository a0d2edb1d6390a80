"""Penalties and sums of them: textbook formulas in plain Python, and intervals said by hand."""

import math

import numpy as np
import pytest

from mercer import L1, L2, DeadZone, Huber, LargeError, LogBarrier, Quantile
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalty_problems import (
    ChebyshevProblem,
    PenaltyAnswer,
    PenaltyProblem,
    VertexAnswer,
)
from mercer.problems.vector_norms import Lp

U = 2.0**-52
FORMULAS = {
    L2(): lambda r: r * r,
    L1(): abs,
    Quantile(0.25): lambda r: 0.25 * r if r > 0 else -0.75 * r,
    DeadZone(0.5): lambda r: max(0.0, abs(r) - 0.5),
    Huber(0.75): lambda r: r * r if abs(r) <= 0.75 else 0.75 * (2 * abs(r) - 0.75),
    LogBarrier(2.0): lambda r: -4 * math.log(1 - r * r / 4) if abs(r) < 2 else math.inf,
    LargeError(0.75): lambda r: min(r * r, 0.75**2),
}
BOXES = {
    L2(): math.inf, L1(): 1.0, DeadZone(0.5): 1.0, Huber(0.75): 1.5, LogBarrier(2.0): math.inf,
}  # fmt: skip
RESIDUALS = np.array([-3.0, -2.0, -1.9, -0.8, -0.6, -0.3, 0.1, 0.4, 0.55, 0.7, 1.2, 1.9, 2.0, 5.0])


@pytest.mark.parametrize("penalty", FORMULAS, ids=repr)
def test_values_slopes_and_curvatures(penalty):
    formula = FORMULAS[penalty]
    np.testing.assert_allclose(penalty(RESIDUALS), [formula(r) for r in RESIDUALS], rtol=1e-12)
    assert penalty([0.0]) == 0.0
    inside = RESIDUALS[np.isfinite(penalty(RESIDUALS))]
    h = 1e-5
    slopes = [(formula(r + h) - formula(r - h)) / (2 * h) for r in inside]
    np.testing.assert_allclose(penalty.slope(inside), slopes, rtol=1e-6, atol=1e-9)
    if penalty.convex:
        bends = [(formula(r + h) - 2 * formula(r) + formula(r - h)) / h**2 for r in inside]
        np.testing.assert_allclose(penalty.curvature(inside), bends, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("penalty", [p for p in FORMULAS if p.convex], ids=repr)
def test_conjugates_are_the_greatest_distance_from_a_line(penalty):
    formula, (low, high) = FORMULAS[penalty], penalty.box
    if penalty in BOXES:
        assert (low, high) == (-BOXES[penalty], BOXES[penalty])
    else:
        assert (low, high) == (-0.75, 0.25)
    grid = np.linspace(-20, 20, 40_001)
    values = np.array([formula(r) for r in grid])
    for nu in np.linspace(max(low, -5.0), min(high, 5.0), 7):
        truth = (nu * grid - values)[np.isfinite(values)].max()
        assert penalty.conjugate(np.array([nu]))[0] == pytest.approx(truth, abs=1e-5)


def test_what_slopes_and_curvatures_are_at_the_length_itself():
    at = np.array([-0.75, 0.75])
    assert Huber(0.75).curvature(at).tolist() == [2.0, 2.0]
    assert LargeError(0.75).slope(at).tolist() == [-1.5, 1.5]
    assert DeadZone(0.75).slope(at).tolist() == [0.0, 0.0]


def test_the_slope_at_the_kink_of_quantiles_is_that_from_below():
    assert Quantile(0.3).slope(np.array([-1.0, 0.0, 1.0])).tolist() == [0.3 - 1, 0.3 - 1, 0.3]


@pytest.mark.parametrize(("kind", "bad"), [
    (Huber, 0.0), (Huber, -1.0), (Huber, math.inf), (DeadZone, "1"), (LogBarrier, 0),
    (Quantile, 0.0), (Quantile, 1.0), (Quantile, None),
])  # fmt: skip
def test_lengths_and_levels_that_are_none(kind, bad):
    with pytest.raises(ValueError, match="has to"):
        kind(bad)


def test_penalties_are_equal_by_kind_and_length():
    assert Huber(1.0) == Huber(1.0)
    assert Huber(1.0) != Huber(2.0)
    assert Huber(1.0) != DeadZone(1.0)
    assert len({Huber(1.0), Huber(1.0), Huber(2.0), L1(), L1()}) == 3


@pytest.mark.parametrize(
    ("penalty", "residual", "expected"),
    [
        # Slopes less their mean, and then as long as the box allows.
        (L1(), [3.0, 1.0, -2.0], [0.5, 0.5, -1.0]),
        (L1(), [-3.0, -1.0, 2.0], [-0.5, -0.5, 1.0]),
        (Quantile(0.25), [1.0, -1.0, -1.0], [0.25, -0.125, -0.125]),
        (Quantile(0.75), [-1.0, 1.0, 1.0], [-0.25, 0.125, 0.125]),
        (L2(), [3.0, 1.0, -1.0], [4.0, 0.0, -4.0]),
        (Huber(1.0), [0.5, 0.25, -0.75], [1.0, 0.5, -1.5]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("columns", [1, 2])
def test_slopes_become_a_dual_point(penalty, residual, expected, columns):
    problem = PenaltyProblem(np.zeros(3), penalty)
    nu = problem.multipliers(np.ones((3, columns)), np.array(residual))
    np.testing.assert_allclose(nu, expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.2, 5.0])
@pytest.mark.parametrize("kind", ["penalty", "norm"])
def test_directions_that_rounding_made_are_none_of_the_design(kind, share):
    """Of 200 × 2 numbers a singular value below 200 ε of the largest is rounding."""
    first, second = np.linalg.qr(np.random.default_rng(0).normal(size=(200, 2)))[0].T
    small = share * 200 * 2.0**-52
    A = 7.0 * (np.outer(first, [0.6, 0.8]) + small * np.outer(second, [-0.8, 0.6]))
    r = 0.01 * (first + second)
    if kind == "penalty":
        nu = PenaltyProblem(r, L2()).multipliers(A, r) / L2().slope(np.ones(1))[0]
    else:
        nu = NormProblem(r, Lp(2)).feasible(A, r)
    assert abs(nu @ first) < 1e-12
    assert nu @ second == pytest.approx(0.01 if share < 1 else 0.0, abs=2e-3)


def test_a_design_of_zeros_takes_nothing_off():
    nu = PenaltyProblem(np.zeros(2), L2()).multipliers(np.zeros((2, 2)), np.array([3.0, 1.0]))
    assert nu.tolist() == [6.0, 2.0]
    tiny = PenaltyProblem(np.zeros(2), L2()).multipliers(
        np.full((2, 1), 1e-30), np.array([3.0, 1.0])
    )
    np.testing.assert_allclose(tiny, [2.0, -2.0])


def judged_by_hand(b, A, x, nu, penalty):
    """Return the numbers of a certificate by loops over the formulas."""
    r = [b[i] - sum(A[i][j] * x[j] for j in range(len(x))) for i in range(len(b))]
    conjugate = penalty.conjugate(np.array(nu))
    pulls = [sum(A[i][j] * nu[i] for i in range(len(b))) for j in range(len(x))]
    values = [FORMULAS[penalty](z) for z in r]
    low, high = penalty.box
    return {
        "primal": sum(values),
        "dual": sum(b[i] * nu[i] - conjugate[i] for i in range(len(b))),
        "stationarity": max(abs(p) for p in pulls),
        "dual_feasibility": max(0.0, max(nu) - high, low - min(nu)),
        "complementarity": max(
            0.0, max(values[i] + conjugate[i] - nu[i] * r[i] for i in range(len(b)))
        ),
    }


@pytest.mark.parametrize("penalty", [L2(), L1(), Quantile(0.25), DeadZone(0.5), Huber(0.75)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_certificates_of_any_point(penalty, sign):
    rng = np.random.default_rng(0)
    A, b, x = rng.normal(size=(5, 2)), rng.normal(size=5) * 3, rng.normal(size=2)
    nu = sign * np.array([0.1, -0.2, 0.15, 3.0, 0.0])
    problem, gram = PenaltyProblem(b, penalty), FeatureGram.of_rows(A)
    found = problem.certify(PenaltyAnswer(x, nu), gram)
    for name, value in judged_by_hand(b, A, x, nu, penalty).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-9, abs=1e-12), name
    assert problem.certify(PenaltyAnswer(x, nu), gram, A @ x + 1).primal == pytest.approx(
        sum(FORMULAS[penalty](z - 1) for z in b - A @ x)
    )


def test_without_convexity_no_residual_is_the_bound():
    b, A, x = np.array([2.0, 0.5]), np.array([[1.0], [3.0]]), np.array([0.25])
    problem, gram = PenaltyProblem(b, LargeError(1.0)), FeatureGram.of_rows(A)
    found = problem.certify(PenaltyAnswer(x), gram)
    assert found.primal == 1.0 + 0.0625  # residuals 1.75 and −0.25
    assert found.dual == 0.0
    assert found.stationarity == 1.5  # 3 · 2 · (−0.25)
    assert "not convex" in found.problem
    assert 0 < problem.prove(PenaltyAnswer(x), gram).rounding < 1e-14


FAR = 1e8
"""Rows FAR (1, −1) and weights FAR (1, 1): products are 0 and their rounding is large."""


@pytest.mark.parametrize("penalty", [L1(), L2(), Quantile(0.25), DeadZone(0.5)], ids=repr)
def test_rounding_of_large_products_is_in_the_interval(penalty):
    b = np.array([1e4, 3e4, -2e4])
    A, x = FAR * np.array([[1.0, -1.0]] * 3), np.array([FAR, FAR])
    nu = 0.25 * np.array([0.5, 0.25, -0.75])
    value = PenaltyAnswer(x, nu)
    problem, gram = PenaltyProblem(b, penalty), FeatureGram.of_rows(A)
    found = problem.prove(value, gram)
    off = [(2 + 16) * U * 2 * FAR * FAR + 4 * U * abs(z) for z in b]
    phi = FORMULAS[penalty]
    above = sum(max(phi(z + o), phi(z - o)) - phi(z) for z, o in zip(b.tolist(), off, strict=True))
    assert found.rounding == pytest.approx(above, rel=1e-9, abs=0)
    plain = judged_by_hand(b, A, x, nu, penalty)["dual"]
    price = 2 * 2 * (3 + 16) * U * FAR * FAR * np.abs(nu).sum()
    assert found.dual == pytest.approx(max(plain - price, 0.0), rel=1e-9)
    assert found.lower <= found.upper
    # By slopes where no multipliers are given, which are a dual point themselves.
    slopes = problem.multipliers(A, b)
    again = problem.prove(PenaltyAnswer(x), gram)
    assert again.dual == problem.prove(PenaltyAnswer(x, slopes), gram).dual


@pytest.mark.parametrize("penalty", [L1(), DeadZone(0.5)], ids=repr)
def test_rounding_of_sums_is_in_the_interval(penalty):
    b = np.array([4.0, -8.0, 4.0, 2.0])
    nu = np.array([1.0, -0.5, -1.0, 0.5])
    problem, gram = PenaltyProblem(b, penalty), FeatureGram.of_rows(np.ones((4, 1)))
    found = problem.prove(PenaltyAnswer(np.zeros(1), nu), gram)
    size = sum(FORMULAS[penalty](z) for z in b)
    assert found.rounding == pytest.approx((4 * 18 + 20 * size) * U, rel=0.02, abs=0)
    conjugate = penalty.conjugate(nu)
    plain, terms = b @ nu - conjugate.sum(), np.abs(b * nu).sum() + conjugate.sum()
    assert plain - found.dual == pytest.approx(20 * U * terms, rel=0.05)


def test_multipliers_outside_of_the_box_are_clipped_into_it():
    problem, gram = (
        PenaltyProblem(np.array([4.0, -4.0]), L1()),
        FeatureGram.of_rows(np.ones((2, 1))),
    )
    found = problem.prove(PenaltyAnswer(np.zeros(1), np.array([3.0, -2.0])), gram)
    assert found.dual_feasibility == 2.0
    assert found.dual == pytest.approx(8.0)


class Lifted(L2):
    """φ(r) = r² + 1, so that no sum of n is below n."""

    def value(self, r):
        return r * r + 1

    def conjugate(self, nu):
        return nu * nu / 4 - 1


def test_a_dual_point_that_lacks_too_much_leaves_the_value_of_zero():
    A = FeatureGram.of_rows(np.ones((3, 1)))
    found = PenaltyProblem(np.array([1.0, 2.0, 6.0]), Lifted()).prove(
        PenaltyAnswer(np.array([3.0]), np.array([0.0, 0.0, 6.0])), A
    )
    assert found.dual == 3.0
    best = PenaltyProblem(np.array([1.0, 2.0, 6.0]), Lifted()).prove(
        PenaltyAnswer(np.array([3.0])), A
    )
    assert best.primal == 3 + 4 + 1 + 9
    assert best.dual == pytest.approx(17.0)


def test_the_name_that_is_better_known():
    assert PenaltyProblem(np.zeros(1), L1(), "median").name == "median"
    assert PenaltyProblem(np.zeros(1), L1()).name == "regression with L1()"


def test_the_least_largest_deviation():
    b, A = np.array([0.0, 4.0, 1.0]), np.array([[1.0], [1.0], [1.0]])
    problem, gram = ChebyshevProblem(b), FeatureGram.of_rows(A)
    x, nu = np.array([1.5]), np.array([-0.5, 0.75, 0.25])
    found = problem.certify(VertexAnswer(x, nu, np.arange(2)), gram)
    assert (found.primal, found.dual) == (2.5, 3.25)
    assert (found.stationarity, found.dual_feasibility) == (0.5, 0.5)
    # ∣νᵢ∣ (2.5 − sign νᵢ · rᵢ) of the residuals −1.5, 2.5 and −0.5
    assert found.complementarity == max(0.5 * 1.0, 0.0, 0.25 * 3.0)
    assert problem.certify(VertexAnswer(x, nu, np.arange(2)), gram, np.full(3, 2.0)).primal == 2.0
    best = problem.prove(VertexAnswer(np.array([2.0]), np.array([-0.5, 0.5, 0.0]), None), gram)
    assert best.primal == 2.0
    assert best.lower <= 2.0 <= best.upper
    assert best.distance < 1e-13
    # Multipliers twice too long are halved, those that are not orthogonal bound nothing.
    long = problem.prove(VertexAnswer(np.array([2.0]), np.array([-1.0, 1.0, 0.0]), None), gram)
    assert long.dual == pytest.approx(2.0)
    short = problem.prove(VertexAnswer(np.array([2.0]), np.array([-0.25, 0.25, 0.0]), None), gram)
    assert short.dual == pytest.approx(1.0)
    assert problem.prove(VertexAnswer(x, nu, None), gram).dual == 0.0


def test_rounding_of_the_least_largest_deviation():
    b = np.array([1e4, 3e4, -2e4])
    A, x = FAR * np.array([[1.0, -1.0]] * 3), np.array([FAR, FAR])
    nu = np.array([0.25, 0.125, -0.375])
    found = ChebyshevProblem(b).prove(VertexAnswer(x, nu, None), FeatureGram.of_rows(A))
    assert found.rounding == pytest.approx(18 * U * 2 * FAR * FAR + 4 * U * 3e4, rel=1e-9, abs=0)
    price = 2 * 2 * 19 * U * FAR * FAR * 0.75
    assert found.dual == pytest.approx(b @ nu - price, rel=1e-9)
    none = ChebyshevProblem(np.array([4.0, -8.0])).prove(
        VertexAnswer(np.zeros(1), np.array([0.5, -0.25]), None),
        FeatureGram.of_rows(np.array([[1.0], [2.0]])),
    )
    assert none.rounding == 4 * U * 8
    assert 4.0 - none.dual == pytest.approx(18 * U * 4, rel=0.05)
