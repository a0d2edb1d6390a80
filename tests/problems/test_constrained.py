"""Problems with constraints: the same code judges an SVM dual, a lasso and linear programs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize as scipy_optimize

from mercer import SVC, Infeasible, InvalidInput, Lasso
from mercer.gram.feature_gram import FeatureGram
from mercer.optimize import Affine, ConstrainedProblem, Function, QuadraticFunction, solve
from mercer.problems.penalties import L1
from mercer.problems.penalty_problems import PenaltyProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear.penalised_regression import TiltedVertices
from tests.estimators.cases import heart, regression


def judged(proof, gap=1e-6, residual=1e-6):
    assert proof.gap >= -1e-9 * (1 + abs(proof.primal))
    assert proof.relative_gap <= gap
    for name in ("stationarity", "primal_feasibility", "dual_feasibility", "complementarity"):
        assert getattr(proof, name) <= residual, name


def svm_dual(Q, y, C):
    n = len(y)
    return ConstrainedProblem(
        QuadraticFunction(Q, -np.ones(n)),
        [Affine(-np.eye(n)), Affine(np.eye(n), C)],
        Affine(y),
        name="SVM dual",
    )


def test_an_svm_dual():
    X, labels = heart()
    C = 0.7
    model = SVC(C=C, tol=1e-9).fit(X, labels)
    (machine,) = model.machines_
    y, alpha, b = machine.signs, machine.alpha_, machine.intercept_
    K = model.kernel_(X[machine.rows])
    Q = K * np.outer(y, y)
    rest = Q @ alpha - 1 + b * y  # yᵢ(f(xᵢ) + b) − 1
    problem = svm_dual(Q, y, C)
    multipliers = np.r_[np.maximum(rest, 0), np.maximum(-rest, 0)]
    proof = problem.kkt(alpha, multipliers, b)
    judged(proof)
    # It is the machine's own certificate, with the signs of a minimum.
    assert proof.primal == pytest.approx(-machine.certificate_.dual, rel=1e-9)
    assert proof.dual == pytest.approx(-machine.certificate_.primal, rel=1e-6)
    # A worse answer has a gap: the proof is about the answer, not about the problem.
    worse = problem.kkt(alpha * 0.9, multipliers, b)
    assert worse.relative_gap > 1e-3
    assert worse.complementarity > 1e-3


def lasso_problem(X, y, alpha):
    n, d = X.shape
    P = np.zeros((2 * d, 2 * d))
    P[:d, :d] = X.T @ X / n
    q = np.r_[-X.T @ y / n, np.full(d, alpha)]
    eye = np.eye(d)
    sides = Affine(np.block([[eye, -eye], [-eye, -eye]]))  # −u ≤ w ≤ u
    return ConstrainedProblem(QuadraticFunction(P, q, y @ y / (2 * n)), sides, name="lasso")


@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_a_lasso(alpha):
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 12))
    y = X[:, :3] @ [2.0, -1.0, 0.5] + 0.3 * random.normal(size=60)
    model = Lasso(alpha=alpha, fit_intercept=False, tol=1e-9).fit(X, y)
    w = model.coef_
    problem = lasso_problem(X, y, alpha)
    pull = X.T @ (y - X @ w) / len(y)
    proof = problem.kkt(np.r_[w, np.abs(w)], np.r_[alpha + pull, alpha - pull] / 2)
    judged(proof, gap=1e-8, residual=1e-5)
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    # The multipliers can be found from the answer alone.
    judged(problem.kkt(np.r_[w, np.abs(w)]), gap=1e-4, residual=1e-4)


def test_a_linear_program_from_the_vertices_of_l1_regression():
    X, y = regression(50)
    A = np.column_stack([X, np.ones(len(y))])
    n, d = A.shape
    found = TiltedVertices().solve(PenaltyProblem(y, L1()), FeatureGram.of_rows(A), Budget())
    vertex = found.value
    eye = np.eye(n)
    problem = ConstrainedProblem(
        Affine(np.r_[np.zeros(d), np.ones(n)]),
        Affine(np.block([[A, -eye], [-A, -eye]]), np.r_[y, -y]),  # t ≥ |y − Ax|
    )
    x = np.r_[vertex.x, np.abs(y - A @ vertex.x)]
    # ν = λ₂ − λ₁ and λ₁ + λ₂ = 1
    proof = problem.kkt(x, np.r_[1 - vertex.nu, 1 + vertex.nu] / 2)
    judged(proof, gap=1e-9, residual=1e-8)
    assert proof.primal == pytest.approx(found.certificate.primal, rel=1e-9)
    judged(solve(problem).certificate, gap=1e-9, residual=1e-8)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_linear_programs_agree_with_another_solver_and_have_no_gap(seed):
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 6)), int(random.integers(1, 6))
    A, x = random.normal(size=(m, n)), random.normal(size=n)
    b = A @ x + random.exponential(size=m)
    c = random.normal(size=n)
    box = Affine(np.vstack([np.eye(n), -np.eye(n)]), 3 + np.abs(x).max())
    problem = ConstrainedProblem(Affine(c), [Affine(A, b), box])
    found = solve(problem)
    other = scipy_optimize.linprog(c, A, b, bounds=[(-box.b[0], box.b[0])] * n)
    judged(found.certificate, gap=1e-8, residual=1e-8)
    assert found.certificate.primal == pytest.approx(other.fun, abs=1e-8)
    assert problem.slater_point().holds


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_weak_duality_and_the_dual_function_is_the_least_lagrangian(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 5))
    root = random.normal(size=(n, n))
    P = root @ root.T + 0.1 * np.eye(n)
    problem = ConstrainedProblem(
        QuadraticFunction(P, random.normal(size=n), random.normal()),
        [Affine(random.normal(size=(2, n)), 1.0), QuadraticFunction(np.eye(n), None, -4.0)],
        Affine(random.normal(size=n)),
    )
    lam, nu = random.exponential(size=3), random.normal(size=1)
    g = problem.dual(lam, nu)
    for x in random.normal(size=(20, n)):
        assert g <= problem.lagrangian(x, lam, nu) + 1e-9
    best = solve(problem)
    judged(best.certificate, gap=1e-4, residual=1e-4)
    assert g <= best.certificate.primal + 1e-9
    # The numerical dual function of the same problem, of which it is told that it is convex.
    plain = {
        convex: ConstrainedProblem(
            Function(problem.objective),
            [Function(f.values) for f in problem.inequalities],
            Function(problem.equalities[0].values),
            size=n,
            convex=convex,
        )
        for convex in (True, False)
    }
    assert plain[True].dual(lam, nu) == pytest.approx(g, abs=1e-5)
    assert plain[False].dual(lam, nu) == -math.inf


def test_the_textbook_example():
    # min x² + 1 subject to (x − 2)(x − 4) ≤ 0: g(λ) = −9λ²/(1 + λ) + 1 + 8λ, λ* = 2.
    problem = ConstrainedProblem(
        QuadraticFunction([[2.0]], r=1.0), QuadraticFunction([[2.0]], [-6.0], 8.0)
    )
    for lam in (0.0, 0.5, 2.0, 7.0):
        assert problem.dual(lam) == pytest.approx(-9 * lam**2 / (1 + lam) + 1 + 8 * lam)
    proof = problem.kkt([2.0], 2.0)
    assert proof.primal == proof.dual == pytest.approx(5)
    judged(proof, residual=1e-12)
    assert problem.dual(-1.0) == -math.inf
    point = problem.slater_point()
    assert point.holds
    assert 2 < point.x[0] < 4
    answer = solve(problem)
    assert answer.x == pytest.approx([2.0], abs=1e-7)
    assert answer.lambda_ == pytest.approx([2.0], abs=1e-5)
    assert problem.nonconvexity(low=-5, high=5) is None


def test_an_unbounded_lagrangian():
    problem = ConstrainedProblem(Affine([1.0, 1.0]), Affine(-np.eye(2)))
    assert problem.dual([1.0, 1.0]) == 0
    assert problem.dual([1.0, 0.5]) == -math.inf
    assert problem.kkt([0.0, 0.0], [1.0, 0.5]).gap == math.inf
    saddle = ConstrainedProblem(QuadraticFunction(np.diag([1.0, -1.0])))
    assert saddle.dual() == -math.inf


def test_slater_fails_where_it_must():
    # x² ≤ 0 has a point, and none inside.
    touching = ConstrainedProblem(Affine([1.0]), QuadraticFunction([[2.0]]))
    assert not touching.slater_point([0.5]).holds
    # An affine constraint may hold with equality.
    flat = ConstrainedProblem(QuadraticFunction(np.eye(1)), [Affine([[1.0], [-1.0]])])
    assert flat.slater_point().holds
    nothing = ConstrainedProblem(Affine([1.0]), Affine([[1.0], [-1.0]], [0.0, -1.0]))
    assert not nothing.slater_point().holds
    with pytest.raises(InvalidInput, match="no answer"):
        solve(nothing)


def test_a_pair_shows_what_is_not_convex():
    wave = Function(lambda x: np.sin(x[0]))
    problem = ConstrainedProblem(QuadraticFunction(np.eye(1)), [Affine([1.0]), wave])
    found = problem.nonconvexity(low=-3, high=3)
    assert found.name == "f2"
    middle = found.theta * found.x + (1 - found.theta) * found.y
    chord = found.theta * wave(found.x) + (1 - found.theta) * wave(found.y)
    assert wave(middle) - chord == pytest.approx(found.excess, rel=1e-3)
    # A bent equality is no convex constraint, whichever way it bends.
    circle = ConstrainedProblem(Affine([1.0, 0.0]), (), QuadraticFunction(np.eye(2), r=-1.0))
    assert circle.nonconvexity().name == "-h1"


def test_each_condition_has_its_own_residual():
    problem = ConstrainedProblem(QuadraticFunction([[1.0]]), Affine([-1.0], -1.0))  # x ≥ 1
    assert problem.kkt([1.0], 1.0).gap == pytest.approx(0)
    assert problem.kkt([1.0], 0.5).stationarity == pytest.approx(0.5)
    assert problem.kkt([0.5], 0.5).primal_feasibility == pytest.approx(0.5)
    assert problem.kkt([1.0], -1.0).dual_feasibility == pytest.approx(1)
    assert problem.kkt([3.0], 3.0).complementarity == pytest.approx(6)


def test_bad_input():
    problem = ConstrainedProblem(QuadraticFunction(np.eye(2)), Affine([1.0, 0.0]))
    with pytest.raises(InvalidInput, match="x has 3 entries and the problem 2"):
        problem.value([1, 2, 3])
    with pytest.raises(InvalidInput, match="2 multipliers for 1 inequalities"):
        problem.dual([1.0, 2.0])
    with pytest.raises(InvalidInput, match="finite"):
        problem.value([np.nan, 0])
    with pytest.raises(InvalidInput, match="size="):
        ConstrainedProblem(lambda x: x[0])
    with pytest.raises(InvalidInput, match="symmetric"):
        QuadraticFunction([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(InvalidInput, match="A has 2 rows"):
        Affine(np.eye(2), [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="no function"):
        ConstrainedProblem(3.0)


def waves(x):
    """A function with many minima; the least one is near −0.5."""
    return float(np.sin(3 * x[0]) + 0.1 * x[0] ** 2)


def test_a_local_minimum_is_not_said_to_be_the_optimum():
    problem = ConstrainedProblem(waves, Affine([[1.0], [-1.0]], 6.0), size=1)
    least = min(waves([x]) for x in np.linspace(-6, 6, 10_001))
    answer = solve(problem, [3.5])
    proof = answer.certificate
    assert proof.primal > least + 0.5  # the search ends in another valley
    assert not proof.bounds
    assert proof.dual == -math.inf
    assert proof.status == "nonconvex"
    assert "optimum" not in repr(proof).splitlines()[0]
    # The pair of points is the evidence.
    found = answer.violation
    middle = found.theta * found.x + (1 - found.theta) * found.y
    assert waves(middle) > found.theta * waves(found.x) + (1 - found.theta) * waves(found.y)
    # Whatever the multipliers: nothing is claimed above the optimum.
    assert problem.convex is None
    assert problem.dual([0.0, 0.0], start=[3.5]) <= least
    with pytest.raises(InvalidInput, match="not convex, as it was said to be"):
        solve(ConstrainedProblem(waves, size=1, convex=True), [3.5])


def test_a_bound_needs_a_word_or_a_proof_of_convexity():
    def f(x):
        return float(np.exp(x[0]) + x[0] ** 2)

    silent = solve(ConstrainedProblem(f, size=1))
    assert silent.violation is None
    assert not silent.certificate.bounds
    assert silent.certificate.status == "no negative curvature found"
    stated = solve(ConstrainedProblem(f, size=1, convex=True)).certificate
    assert stated.status == "optimal"
    assert abs(stated.relative_gap) < 1e-8
    # A function that refuses points outside of its domain is no obstacle.
    barrier = ConstrainedProblem(lambda x: x[0] - math.log(x[0]), size=1, convex=True)
    assert solve(barrier, [2.0]).certificate.relative_gap < 1e-6
    with pytest.raises(InvalidInput, match="negative curvature"):
        ConstrainedProblem(QuadraticFunction(np.diag([1.0, -1.0])), convex=True)
    with pytest.raises(InvalidInput, match="equality is quadratic"):
        ConstrainedProblem(Affine([1.0]), (), QuadraticFunction([[1.0]]), convex=True)


def test_quadratic_problems_have_bounds_without_convexity():
    # min −x² on [−1, 2] and x² ≤ 4 have g(λ) exactly: no local minimum is involved.
    problem = ConstrainedProblem(QuadraticFunction([[-2.0]]), QuadraticFunction([[2.0]], r=-4.0))
    assert problem.convex is False
    assert problem.dual(0.5) == -math.inf
    assert problem.dual(1.0) == pytest.approx(-4)
    proof = problem.kkt([2.0], 1.0)
    assert proof.bounds
    assert proof.gap == pytest.approx(0)
    assert solve(problem, [1.0]).certificate.status == "nonconvex"


def disc(x, y):
    """‖z − (x, y)‖² ≤ 1."""
    return QuadraticFunction(2 * np.eye(2), [-2.0 * x, -2.0 * y], x * x + y * y - 1.0)


@pytest.mark.parametrize(
    ("inequalities", "equalities"),
    [
        (QuadraticFunction(2 * np.eye(2), r=1.0), ()),
        ([disc(-2, 0), disc(2, 0)], ()),
        ([disc(0, 0), Affine([-1.0, -1.0], -3.0)], ()),
        ((), [Affine([1.0, 1.0], 0.0), Affine([1.0, 1.0], 1.0)]),
        (Affine([[1.0, 0.0], [-1.0, 0.0]], [0.0, -1.0]), Affine([0.0, 1.0], 2.0)),
        (Affine([-1.0, -1.0], -3.0), QuadraticFunction(2 * np.eye(2), r=-1.0)),  # not convex
    ],
)
@pytest.mark.parametrize("objective", [Affine([1.0, 2.0]), QuadraticFunction(np.eye(2))])
def test_an_infeasible_problem_is_refused_with_a_proof(objective, inequalities, equalities):
    problem = ConstrainedProblem(objective, inequalities, equalities)
    with pytest.raises(Infeasible, match=r"infeasible\. With multipliers") as caught:
        solve(problem)
    error = caught.value
    assert (error.lambda_ >= 0).all()
    assert error.bound > 0
    # Anyone can check it: the weighted constraints are above the bound everywhere.
    for x in np.random.default_rng(0).normal(size=(200, 2), scale=3):
        total = error.lambda_ @ problem.slacks(x) + error.nu @ problem.residuals(x)
        assert total >= error.bound - 1e-6 * (1 + x @ x)
    assert error.violation > 0


def test_what_cannot_be_proven_infeasible_is_said_to_be_a_search():
    with pytest.raises(Infeasible, match="a proof only if they are convex") as caught:
        solve(ConstrainedProblem(Affine([1.0]), lambda x: math.sin(x[0]) + 2))
    assert caught.value.violation == pytest.approx(1)
    assert caught.value.bound == -math.inf
    # Told that they are, the same search is a proof.
    with pytest.raises(Infeasible, match="With multipliers") as caught:
        solve(ConstrainedProblem(QuadraticFunction([[1.0]]), lambda x: x[0] ** 4 + 1, convex=True))
    assert caught.value.bound == pytest.approx(1, abs=1e-3)


def test_an_infeasible_start_of_a_feasible_problem_is_no_matter():
    problem = ConstrainedProblem(QuadraticFunction(np.eye(2)), [disc(3, 0), disc(3, 1)])
    judged(solve(problem, [50.0, -80.0]).certificate, gap=1e-5, residual=1e-5)


@pytest.mark.parametrize("bends", [False, True])
def test_equalities_that_cannot_hold_are_seen(bends):
    """x₀ = 0 and x₀ = 1: whatever point is returned breaks one of them."""
    disc = [QuadraticFunction(np.eye(2), np.zeros(2), -8.0)] if bends else []
    problem = ConstrainedProblem(
        QuadraticFunction(np.eye(2)), disc, [Affine([1.0, 0.0]), Affine([1.0, 0.0], 1.0)]
    )
    found = problem.slater_point([0.25, 0.0])
    assert not found.holds
    assert found.affine == max(abs(found.x[0]), abs(found.x[0] - 1.0)) >= 0.5


def test_affine_inequalities_that_cannot_hold_are_seen():
    """x ≤ −1 and x ≥ 3 have a distance of 2 from any point between them."""
    problem = ConstrainedProblem(QuadraticFunction([[1.0]]), Affine([[1.0], [-1.0]], [-1.0, -3.0]))
    found = problem.slater_point()
    assert not found.holds
    assert found.affine == pytest.approx(2.0)
    assert found.slack == -math.inf


def test_slater_points_of_bent_constraints_are_searched():
    """A disc far from where the search starts, and an equality that no tangent at 0 shows."""
    disc = QuadraticFunction([[2.0]], [-20.0], 99.0)  # (x − 10)² − 1 ≤ 0
    found = ConstrainedProblem(QuadraticFunction([[1.0]]), disc).slater_point()
    assert found.holds
    assert found.x[0] == pytest.approx(10.0, abs=1e-3)
    assert found.slack == pytest.approx(-1.0, abs=1e-6)
    bent = Function(lambda z: z[0] ** 2 - 4.0)
    found = ConstrainedProblem(QuadraticFunction([[1.0]]), (), bent).slater_point([1.0])
    assert abs(found.x[0]) == pytest.approx(2.0, abs=1e-6)
    assert found.affine < 1e-6


@pytest.mark.parametrize("size", [0.0, 9.0])
def test_constraints_that_are_almost_met_have_multipliers(size):
    """By 1e-6 of 1 and the largest: here x ≤ s, beside one of that size that is far away."""
    for share, active in ((0.9, True), (1.1, False)):
        s = share * 1e-6 * (1 + size)
        problem = ConstrainedProblem(
            Affine([-3.0]), Affine([[1.0], [1.0]][: 1 + bool(size)], [s, size][: 1 + bool(size)])
        )
        lam, _ = problem.multipliers([0.0])
        assert lam[0] == pytest.approx(3.0 if active else 0.0)


@pytest.mark.parametrize(
    ("place", "names"),
    [("objective", ["f0"]), ("inequalities", ["f1"]), ("equalities", ["h1", "-h1"])],
)
def test_how_far_a_function_is_above_its_chord(place, names):
    """By fₘ − θf(x) − (1 − θ)f(y), less what rounding may do to the three."""
    x, y, theta = np.array([3.0]), np.array([-1.0]), 0.25
    for name, sign in zip(names, (1, -1), strict=False):
        bent = Function(lambda z, sign=sign: sign * (5.0 - 2.0 * z[0] ** 2))
        given = {"objective": Affine([1.0])} | {place: bent}
        problem = ConstrainedProblem(**given, size=1)
        found = problem.worst_chord([(x, y, theta)])
        assert found.name == name
        # f(3) = −13, f(−1) = 3 and f(0) = 5, of which the chord has −1.
        assert found.excess == pytest.approx(6.0 - 1e-9 * (1 + 13 + 3), rel=1e-13)
        assert (found.x[0], found.y[0], found.theta) == (3.0, -1.0, 0.25)
    flat = ConstrainedProblem(Function(lambda z: 7.0 * z[0] - 1.0), size=1)
    assert flat.worst_chord([(x, y, theta)]) is None
    one = ConstrainedProblem(Function(lambda z: np.array([z[0], -(z[0] ** 2)])), size=1)
    assert one.worst_chord([(x, y, theta)]).name == "f0[1]"


def test_the_worst_of_some_chords_is_kept():
    problem = ConstrainedProblem(Function(lambda z: -(z[0] ** 2)), size=1)
    ends = [(0.0, 1.0), (0.0, 4.0), (0.0, 2.0)]
    found = problem.worst_chord([(np.array([a]), np.array([b]), 0.5) for a, b in ends])
    assert found.y[0] == 4.0
    assert found.excess == pytest.approx(4.0, rel=1e-7)
    same = problem.worst_chord([(np.array([a]), np.array([a + 2]), 0.5) for a in (1.0, -3.0)])
    assert same.x[0] == 1.0  # of two that are equal the first
    # A chord above which a function is by no more than rounding shows nothing.
    tiny = ConstrainedProblem(Function(lambda z: -1e-10 * z[0] ** 2), size=1)
    assert tiny.worst_chord([(np.array([-1.0]), np.array([1.0]), 0.5)]) is None


def test_the_worst_of_several_bent_constraints_is_the_slack():
    discs = [QuadraticFunction([[2.0]], [0.0], -r * r) for r in (1.0, 2.0)]
    found = ConstrainedProblem(QuadraticFunction([[1.0]]), discs).slater_point([0.0])
    assert found.slack == pytest.approx(-1.0, abs=1e-6)


def test_a_descent_that_did_not_arrive_bounds_nothing():
    """At a kink one slope is 1 and the other 0, wherever the descent ends."""

    def slope(x):
        return np.array([1.0 if x[0] >= 0 else -1.0, 2 * x[1]])

    kink = Function(lambda x: abs(x[0] - 0.0) + x[1] ** 2, slope)
    problem = ConstrainedProblem(kink, size=2, convex=True)
    assert problem.dual(start=[0.3, 0.0]) == -math.inf
    smooth = Function(lambda x: x[0] ** 2 + x[1] ** 2 + 1.0)
    assert ConstrainedProblem(smooth, size=2, convex=True).dual(start=[0.3, 1.0]) == pytest.approx(
        1
    )


@pytest.mark.parametrize("t", [1e-13, 1.0, 1e13])
def test_least_values_are_a_matter_of_shares(t):
    """½·2tx² + 4tx has its least value −4t wherever that is, and none along a flat direction."""
    problem = ConstrainedProblem(QuadraticFunction([[2 * t]], [4 * t]))
    assert problem.dual() == pytest.approx(-4 * t, rel=1e-9, abs=0)
    nearly = ConstrainedProblem(QuadraticFunction([[t, 0.0], [0.0, -1e-9 * t]]))
    assert nearly.dual() == 0.0  # what rounding may make of 0, to the last digit
    bent_down = ConstrainedProblem(QuadraticFunction([[2 * t, 0.0], [0.0, -t * 1e-8]]))
    assert bent_down.dual() == -math.inf
    flat = ConstrainedProblem(QuadraticFunction([[2 * t, 0.0], [0.0, 0.0]], [4 * t, 0.0]))
    assert flat.dual() == pytest.approx(-4 * t, rel=1e-9, abs=0)


def test_values_of_functions_that_are_not_known_to_be_convex():
    """Those with a multiplier of 0 do not matter, and one of several that has another does."""
    two = Function(lambda x: np.array([np.sin(x[0]), np.cos(x[0])]))
    problem = ConstrainedProblem(QuadraticFunction([[2.0]], [4.0]), two, size=1)
    assert problem.dual([0.0, 1.0]) == -math.inf
    assert problem.dual([1.0, 0.0]) == -math.inf
    assert problem.dual([0.0, 0.0]) == pytest.approx(-4.0)


def test_slater_points_of_affine_constraints():
    """x₀ ≥ 2 and x₀ + x₁ = 5: a point that keeps both, by 1 where that is possible."""
    problem = ConstrainedProblem(
        QuadraticFunction(np.eye(2)), Affine([-1.0, 0.0], -2.0), Affine([1.0, 1.0], 5.0)
    )
    found = problem.slater_point()
    assert found.holds
    assert found.x[0] >= 3.0 - 1e-9
    assert found.x.sum() == pytest.approx(5.0)
    assert found.affine == pytest.approx(0.0, abs=1e-9)
