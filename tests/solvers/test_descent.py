"""Descent methods: theory, closed forms, and each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import linalg
from sklearn.linear_model import LogisticRegression

from mercer import InvalidInput, InvalidParameter, norms
from mercer.optimize import (
    Function,
    QuadraticFunction,
    coordinate_ascent,
    gradient_descent,
    line_search,
    newton,
    steepest_descent,
)
from mercer.solvers.descent import _definite_factor
from tests.estimators.cases import heart


def bowl(seed, n=3):
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    P = root @ root.T + np.eye(n)
    q = random.normal(size=n)
    return QuadraticFunction(P, q), np.linalg.solve(P, -q)


def soft(x):
    """The textbook's log-sum-exp in the plane (Boyd and Vandenberghe, section 9.3.2)."""
    return np.exp(x[0] + 3 * x[1] - 0.1) + np.exp(x[0] - 3 * x[1] - 0.1) + np.exp(-x[0] - 0.1)


def soft_gradient(x):
    a, b, c = np.exp([x[0] + 3 * x[1] - 0.1, x[0] - 3 * x[1] - 0.1, -x[0] - 0.1])
    return np.array([a + b - c, 3 * a - 3 * b])


def soft_hessian(x):
    a, b, c = np.exp([x[0] + 3 * x[1] - 0.1, x[0] - 3 * x[1] - 0.1, -x[0] - 0.1])
    return np.array([[a + b + c, 3 * a - 3 * b], [3 * a - 3 * b, 9 * a + 9 * b]])


SOFT_BEST = np.array([-math.log(2) / 2, 0.0])
P = np.array([[2.0, 0.5], [0.5, 8.0]])
EVERY_NORM = {
    "1": 1,
    "2": 2,
    "inf": np.inf,
    "1.5": 1.5,
    "quadratic": P,
    "Lp(4)": norms.Lp(4),
    "local": soft_hessian,
}


@pytest.mark.parametrize("search", ["backtracking", "exact"])
@pytest.mark.parametrize("norm", EVERY_NORM.values(), ids=EVERY_NORM)
def test_every_norm_leads_to_the_minimum(norm, search):
    found = steepest_descent(
        soft, [-1.0, 1.0], soft_gradient, norm=norm, line_search=search, tol=1e-8
    )
    assert found.status == "optimal"
    np.testing.assert_allclose(found.x, SOFT_BEST, atol=1e-7)
    assert found.value == pytest.approx(soft(SOFT_BEST), rel=1e-12)
    # Every step goes down, and the trace tells the whole way.
    assert (np.diff(found.trace.values) <= 1e-15 * found.trace.values[:-1]).all()
    assert len(found.trace) == found.iterations == len(found.trace.points) - 1
    np.testing.assert_array_equal(found.trace.points[-1], found.x)
    assert found.trace.slopes[-1] == found.slope <= 1e-8
    assert found.advice == ""


@pytest.mark.parametrize("search", ["backtracking", "exact"])
def test_newton_is_steepest_descent_in_the_norm_of_the_hessian(search):
    options = {"line_search": search, "tol": 1e-9}
    one = newton(soft, [-1.0, 1.0], soft_gradient, soft_hessian, **options)
    two = steepest_descent(soft, [-1.0, 1.0], soft_gradient, norm=soft_hessian, **options)
    assert one.iterations == two.iterations
    np.testing.assert_allclose(one.trace.points, two.trace.points, atol=1e-9)
    np.testing.assert_allclose(one.trace.slopes, two.trace.slopes, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(1, 6))
def test_quadratic_functions(seed, n):
    f, best = bowl(seed, n)
    start = np.random.default_rng(seed).normal(size=n) * 3
    once = newton(f, start)
    assert once.iterations == 1
    np.testing.assert_allclose(once.x, best, atol=1e-8)
    # λ²/2 is the distance from the optimum, of quadratic functions exactly.
    assert once.trace.slopes[0] ** 2 / 2 == pytest.approx(f(start) - f(best), rel=1e-6)
    down = gradient_descent(f, start, line_search="exact", tol=1e-8, max_iter=100_000)
    np.testing.assert_allclose(down.x, best, atol=1e-6)
    # Exact steps: t = gᵀg / gᵀPg, and Kantorovich's rate.
    g = f.gradient(start)
    assert down.trace.sizes[0] == pytest.approx(g @ g / (g @ f.P @ g), rel=1e-9)
    away = down.trace.values - f(best)
    condition = np.linalg.cond(f.P)
    rate = ((condition - 1) / (condition + 1)) ** 2
    sound = away[:-1] > 1e-9 * away[0]
    assert (away[1:][sound] <= rate * away[:-1][sound] * (1 + 1e-6) + 1e-12 * away[0]).all()


@pytest.mark.parametrize("norm", [1, 1.5, 2, 7, np.inf, P], ids=str)
@given(seed=st.integers(0, 1000))
def test_the_steepest_direction_attains_the_dual_norm(norm, seed):
    measure = norms.Quadratic(P) if np.ndim(norm) else norms.Lp(norm)
    g = np.random.default_rng(seed).normal(size=2) * 10 ** float(seed % 7 - 3)
    v = measure.steepest(g)
    assert measure(v) == pytest.approx(1)
    assert g @ v == pytest.approx(-measure.dual()(g))
    assert not measure.steepest(np.zeros(2)).any()


def test_what_is_no_norm_has_no_steepest_direction():
    for measure in (norms.Lp(0.5), norms.L0()):
        with pytest.raises(InvalidParameter, match="no norm"):
            measure.steepest([1.0, 2.0])


def test_backtracking_keeps_armijos_promise_and_no_longer_step_does():
    x, d = np.array([-1.0, 1.0]), -soft_gradient(np.array([-1.0, 1.0]))
    slope, share = soft_gradient(x) @ d, 0.2
    step = line_search(soft, x, d, soft_gradient, share=share, shrink=0.7)
    assert step.value == soft(x + step.size * d) <= soft(x) + share * step.size * slope
    longer = step.size / 0.7
    assert soft(x + longer * d) > soft(x) + share * longer * slope
    assert step.evaluations == round(math.log(step.size) / math.log(0.7)) + 1


def test_the_exact_search_ends_where_the_slope_is_zero():
    x, d = np.array([-1.0, 1.0]), -soft_gradient(np.array([-1.0, 1.0]))
    step = line_search(soft, x, d, soft_gradient, method="exact")
    assert soft_gradient(x + step.size * d) @ d == pytest.approx(0, abs=1e-9)
    # Also at the edge of a domain: −log(1 − x) − log(1 + x) is infinite from 1 on.
    barrier = Function(lambda x: -np.log(1 - x[0]) - np.log(1 + x[0]) if abs(x[0]) < 1 else np.inf)
    inside = line_search(barrier, [-0.9], [5.0], method="exact")
    assert -0.9 + 5 * inside.size == pytest.approx(0, abs=1e-6)
    for_ever = line_search(lambda x: -x[0], [0.0], [1.0], method="exact")
    assert math.isinf(for_ever.size)


def test_logistic_regression_by_newton():
    X, labels = heart()
    y = np.where(labels == np.unique(labels)[1], 1.0, -1.0)

    def f(w):
        return np.logaddexp(0, -y * (X @ w)).sum() + w @ w / 2

    def gradient(w):
        return -X.T @ (y / (1 + np.exp(y * (X @ w)))) + w

    found = newton(f, np.zeros(X.shape[1]), gradient, tol=1e-8)
    assert found.status == "optimal"
    assert found.iterations < 10
    other = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, labels)
    np.testing.assert_allclose(found.x, other.coef_[0], atol=1e-5)


def test_newton_gets_over_a_saddle():
    # x⁴ − x² + y² has a Hessian that is not positive definite near 0.
    found = newton(lambda x: x[0] ** 4 - x[0] ** 2 + x[1] ** 2, [0.1, 1.0], tol=1e-5)
    np.testing.assert_allclose(np.abs(found.x), [math.sqrt(0.5), 0], atol=1e-5)


def test_coordinate_ascent_solves_an_svm_dual():
    X, labels = heart()
    X, labels = X[:80], labels[:80]
    y = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    # Without a bias there is no equality constraint, so one coordinate can move alone.
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    Q = K * np.outer(y, y)
    dual = QuadraticFunction(-Q, np.ones(len(y)))
    found = coordinate_ascent(dual, np.zeros(len(y)), lower=0.0, upper=0.5, tol=1e-6)
    assert found.status == "optimal"
    assert (np.diff(found.trace.values) >= -1e-12).all()
    alpha = found.x
    assert ((alpha >= 0) & (alpha <= 0.5)).all()
    # The hinge loss of f = Σ yᵢαᵢk(xᵢ, ·) gives the primal value: no gap.
    primal = alpha @ Q @ alpha / 2 + 0.5 * np.maximum(0, 1 - Q @ alpha).sum()
    assert primal - found.value <= 1e-4 * primal


def test_coordinate_ascent_moves_along_axes():
    f, best = bowl(4, 2)
    found = coordinate_ascent(lambda x: -f(x), [4.0, -3.0], lambda x: -f.gradient(x), tol=1e-9)
    np.testing.assert_allclose(found.x, best, atol=1e-8)
    assert (np.count_nonzero(np.diff(found.trace.points, axis=0), axis=1) == 1).all()
    bounded = coordinate_ascent(lambda x: -f(x), [4.0, -3.0], upper=best - 1.0)
    assert bounded.status == "optimal"
    assert (bounded.x <= best - 1 + 1e-12).all()
    assert coordinate_ascent(lambda x: x[0], [0.0]).status == "unbounded"


def test_statuses():
    f, _ = bowl(1)
    short = gradient_descent(f, np.ones(3) * 5, max_iter=2)
    assert short.status == "max_iter"
    assert "max_iter" in short.advice
    assert gradient_descent(lambda x: -x[0], [0.0], max_iter=200).status in (
        "unbounded",
        "max_iter",
    )
    assert newton(lambda x: -x[0], [0.0], line_search="exact").status == "unbounded"
    # A gradient that lies: no step goes down.
    lies = gradient_descent(lambda x: x @ x, [1.0], lambda x: -2 * x)
    assert lies.status == "stalled"
    assert "gradient" in lies.advice
    assert "stalled" in repr(lies)


def test_bad_input():
    with pytest.raises(InvalidInput, match="finite"):
        gradient_descent(soft, [np.nan, 0.0])
    with pytest.raises(InvalidInput, match="start where it is finite"):
        newton(lambda x: -np.inf, [1.0])
    with pytest.raises(InvalidParameter, match="line_search='guess'"):
        gradient_descent(soft, [0.0, 0.0], line_search="guess")
    with pytest.raises(InvalidParameter, match="norm='large'"):
        steepest_descent(soft, [0.0, 0.0], norm="large")
    with pytest.raises(InvalidInput, match="slope"):
        line_search(soft, [-1.0, 1.0], soft_gradient(np.array([-1.0, 1.0])))
    with pytest.raises(InvalidInput, match="3 entries"):
        line_search(soft, [-1.0, 1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="Coordinate 1 has no room"):
        coordinate_ascent(soft, [0.0, 0.0], lower=[0.0, 2.0], upper=1.0)
    with pytest.raises(InvalidInput, match="2 values"):
        gradient_descent(lambda x: x, [1.0, 2.0])
    with pytest.raises(InvalidInput, match="gradient is not finite"):
        gradient_descent(soft, [0.0, 0.0], lambda x: x * np.nan)


def test_differences_are_as_good_as_their_steps():
    f = Function(soft)
    x = np.array([-0.4, 0.3])
    np.testing.assert_allclose(f.gradient(x), soft_gradient(x), rtol=1e-8)
    np.testing.assert_allclose(f.hessian(x), soft_hessian(x), rtol=1e-5, atol=1e-5)
    better = Function(soft, soft_gradient)
    np.testing.assert_allclose(better.hessian(x), soft_hessian(x), rtol=1e-8, atol=1e-8)
    assert linalg.eigvalsh(better.hessian(x)).min() > 0


# ---- fixed steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "status"), [(1e-4, "max_iter"), (0.05, "optimal"), (0.19, "optimal"), (0.21, "diverged")]
)
def test_a_fixed_step_converges_below_two_over_the_largest_curvature(t, status):
    curvatures = np.array([1.0, 4.0, 10.0])
    valley = QuadraticFunction(np.diag(curvatures))
    start = np.array([1.0, -2.0, 0.5])
    down = gradient_descent(valley, start, line_search=t, max_iter=2000)
    assert down.status == status
    # Each coordinate shrinks or grows by its own factor, 1 − t·curvature, at every step.
    steps = np.arange(len(down.trace.points))[:, None]
    expected = start * (1 - t * curvatures) ** steps
    np.testing.assert_allclose(down.trace.points, expected, rtol=1e-9, atol=1e-12)
    assert (down.trace.sizes == t).all()
    if status == "diverged":
        assert "too long" in down.advice


def test_fixed_steps_of_newton_and_of_other_norms():
    f = Function(lambda x: float(np.cosh(x).sum()))
    pure = newton(f, [1.0, -0.5], line_search=1.0)
    assert pure.status == "optimal"
    np.testing.assert_allclose(pure.x, 0.0, atol=1e-6)
    signs = steepest_descent(f, [1.0, -0.5], norm=np.inf, line_search=0.2)
    assert signs.status == "optimal"


def test_a_fixed_step_out_of_the_domain_diverges():
    f = Function(lambda x: float(x[0] - np.log(x[0])) if x[0] > 0 else np.nan)
    assert gradient_descent(f, [0.1], line_search=5.0).status == "diverged"
    log = Function(lambda x: float(-np.log(x[0])) if x[0] < 2 else np.inf)
    assert gradient_descent(log, [1.0], line_search=1.0).status == "diverged"


@pytest.mark.parametrize("step", [0.0, -1.0, np.inf, "long", True])
def test_impossible_steps(step):
    with pytest.raises(InvalidParameter, match="line_search="):
        gradient_descent(lambda x: float(x @ x), [1.0], line_search=step)


# ---- numbers on the way --------------------------------------------------------------------------


def test_the_next_search_begins_at_four_times_the_last_step():
    # Of ½cx² any step below 2/c is a fall: nothing is cut, and 1024 leads to 0 in one go.
    down = gradient_descent(QuadraticFunction([[2.0**-10]]), [1.0], tol=1e-12)
    assert down.trace.sizes.tolist() == [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]
    assert down.evaluations == 6
    assert (down.x.tolist(), down.status) == ([0.0], "optimal")
    # Newton's method never tries more than 1, the norm of a Hessian neither.
    cosh = Function(lambda x: float(np.cosh(x).sum()), lambda x: np.sinh(x))
    assert newton(cosh, [4.0]).trace.sizes.max() == 1.0
    own = steepest_descent(cosh, [4.0], norm=lambda x: np.diag(np.cosh(x)))
    assert own.trace.sizes.max() == 1.0


@pytest.mark.parametrize("method", [gradient_descent, newton])
def test_a_tolerance_that_is_met_exactly_is_met(method):
    f = Function(lambda x: float(np.cosh(x[0])), lambda x: np.sinh(x), lambda x: [[np.cosh(x[0])]])
    whole = method(f, [2.0], tol=1e-9)
    slopes = whole.trace.slopes
    assert len(slopes) == whole.iterations + 1
    for k, slope in enumerate(slopes[:-1]):
        found = method(f, [2.0], tol=slope)
        assert (found.iterations, found.slope, found.status) == (k, slope, "optimal")
        few = method(f, [2.0], tol=slope * (1 - 1e-12), max_iter=k)
        assert (few.iterations, few.status) == (k, "max_iter")


def test_a_value_far_above_the_start_has_diverged():
    # Of ½x² the step 1 + a turns x into −ax: values grow by a² each, up to 10¹⁶ times the first.
    down = gradient_descent(QuadraticFunction([[1.0]]), [2.0], line_search=11.0)
    assert down.status == "diverged"
    np.testing.assert_allclose(down.trace.values, 2.0 * 100.0 ** np.arange(9))
    # The start of 0.02 counts as 1.
    small = gradient_descent(QuadraticFunction([[1.0]]), [0.2], line_search=11.0)
    np.testing.assert_allclose(small.trace.values, 0.02 * 100.0 ** np.arange(9))
    shifted = gradient_descent(QuadraticFunction([[1.0]], r=-4.0), [2.0], line_search=11.0)
    np.testing.assert_allclose(shifted.trace.values, 2.0 * 100.0 ** np.arange(9) - 4.0)


def test_hessians_are_lifted_by_as_little_as_does():
    lower = lifted(np.diag([-1.0, 3.0]))
    # 3·10⁻¹⁰·4ᵏ, the first above 1: k = 16.
    np.testing.assert_allclose(lower, np.diag([-1.0, 3.0]) + 3e-10 * 4.0**16 * np.eye(2))
    np.testing.assert_allclose(lifted(np.zeros((2, 2))), 1e-10 * np.eye(2))
    np.testing.assert_allclose(lifted(np.diag([0.0, 5.0])), np.diag([5e-10, 5.0]), rtol=1e-9)
    np.testing.assert_allclose(lifted(np.diag([4.0, 9.0])), np.diag([4.0, 9.0]))


def lifted(H):
    """Return the matrix that was factorised in the place of H."""
    factor, lower = _definite_factor(H)
    root = np.tril(factor) if lower else np.triu(factor).T
    return root @ root.T


def test_coordinates_with_half_of_the_tolerance_stay():
    hill = QuadraticFunction(-np.eye(2))
    for slope, steps in ((0.25, 0), (0.2, 0), (0.3, 1)):
        found = coordinate_ascent(hill, [-2.0, slope], tol=0.5)
        assert found.iterations == 1 + steps
        assert found.x.tolist() == [0.0, 0.0 if steps else slope]
        assert found.slope == (0.0 if steps else slope)
    # A slope of just the tolerance ends it, and so does a wall that holds a steeper one.
    assert coordinate_ascent(hill, [-0.25, 0.25], tol=0.25, max_iter=0).status == "max_iter"
    held = coordinate_ascent(hill, [-3.0, 1.0], lower=[-4.0, 1.0], upper=[-3.0, 2.0])
    assert (held.iterations, held.slope, held.status) == (0, 0.0, "optimal")
    # A step ends at a wall, near or far, and is as long as it is.
    walls = coordinate_ascent(hill, [-3.0, -3.0], lower=-5.0, upper=[-2.75, -0.5])
    assert walls.x.tolist() == [-2.75, -0.5]
    assert walls.trace.sizes.tolist() == [0.25, 2.5]
    assert walls.trace.values.tolist() == [-9.0, -8.28125, -3.90625]
    down = coordinate_ascent(hill, [3.0, 3.0], lower=[2.75, 0.5], upper=5.0)
    assert down.x.tolist() == [2.75, 0.5]


def test_rounds_of_coordinates_are_counted():
    hill = QuadraticFunction([[-2.0, 1.9], [1.9, -2.0]], [1.0, 0.0])
    for rounds in (1, 2, 5):
        found = coordinate_ascent(hill, [0.0, 0.0], max_iter=rounds, tol=1e-12)
        assert (found.status, found.iterations) == ("max_iter", 2 * rounds)
        # Each step is exact: x ← (1 + 1.9y)/2, y ← 1.9x/2.
        x = y = 0.0
        for _ in range(rounds):
            x = (1 + 1.9 * y) / 2
            y = 1.9 * x / 2
        np.testing.assert_allclose(found.x, [x, y], rtol=1e-9)
        assert found.slope == pytest.approx(abs(1 + 1.9 * y - 2 * x))


def test_a_round_that_ends_at_just_the_tolerance_is_the_last():
    # The second coordinate goes to 1, where the first has a slope of ½.
    hill = QuadraticFunction([[-1.0, 0.5], [0.5, -1.0]], [0.0, 1.0])
    found = coordinate_ascent(hill, [0.0, 0.0], tol=0.5)
    assert (found.x.tolist(), found.slope) == ([0.0, 1.0], 0.5)
    assert (found.status, found.iterations) == ("optimal", 1)
    assert coordinate_ascent(hill, [0.0, 0.0], tol=0.499).iterations > 1


def test_a_value_of_minus_infinity_has_no_end():
    cliff = Function(lambda x: -np.inf if x[0] > 1 else -float(x[0]), lambda x: -np.ones(1))
    found = gradient_descent(cliff, [0.0], line_search=2.0)
    assert (found.status, found.iterations, found.value) == ("unbounded", 0, 0.0)
