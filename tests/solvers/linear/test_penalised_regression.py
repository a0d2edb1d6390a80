"""Parts of regression by penalties, each by its definition: vertices, tangents and starts."""

import itertools

import numpy as np
import pytest
from scipy import optimize

from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.penalties import (
    L1,
    DeadZone,
    Huber,
    LargeError,
    LogBarrier,
    Penalty,
    Quantile,
)
from mercer.problems.penalty_problems import ChebyshevProblem, PenaltyProblem
from mercer.problems.tangents import tangents
from mercer.solvers.base import Budget, Status
from mercer.solvers.linear import penalised_regression as parts
from mercer.solvers.linear.penalised_regression import (
    ChebyshevProgram,
    LeastPenalties,
    TiltedVertices,
)

RANDOM = np.random.default_rng(11)
A = np.column_stack([RANDOM.normal(size=(50, 3)), np.ones(50)])
B = A @ [1.0, -2.0, 0.5, 3.0] + RANDOM.standard_t(2, size=50)
GRAM = FeatureGram.of_rows(A)


def solver(n_init=10, seed=0):
    return LeastPenalties(n_init, np.random.RandomState(seed))


def least_l1(A, b, low=-1.0, high=1.0):
    """Return the least Σ tilted |b − Ax| by a linear program."""
    n, d = A.shape
    found = optimize.linprog(
        np.r_[np.zeros(d), np.full(n, high), np.full(n, -low)],
        A_eq=np.hstack([A, np.eye(n), -np.eye(n)]),
        b_eq=b,
        bounds=[(None, None)] * d + [(0, None)] * (2 * n),
    )
    return found.fun


def tilted(r, low=-1.0, high=1.0):
    return float(np.where(r > 0, high * r, low * r).sum())


# ---- vertices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.5, 0.1, 0.8])
def test_reweighted_squares_come_near(tau):
    Q = np.linalg.qr(A)[0]
    x = parts._near(tau - 1, tau, Q, B)
    least = least_l1(A, B, tau - 1, tau)
    assert least <= tilted(B - Q @ x, tau - 1, tau) <= 1.05 * least
    squares = tilted(B - Q @ (Q.T @ B), tau - 1, tau)
    assert tilted(B - Q @ x, tau - 1, tau) < squares


def test_reweighted_squares_of_no_residuals():
    Q = np.linalg.qr(A)[0]
    x = Q.T @ (A @ np.arange(4.0))
    np.testing.assert_allclose(parts._near(-1.0, 1.0, Q, Q @ x), x, atol=1e-9)


def test_a_basis_has_independent_rows_of_small_residuals():
    Q = np.linalg.qr(A)[0]
    size = np.arange(50.0)[::-1]
    rows = parts._basis(Q, size)
    assert len(set(rows.tolist())) == 4
    assert np.linalg.cond(Q[rows]) < 1e3
    assert (rows >= 38).all()  # among the twelve of the smallest residuals
    same = A.copy()
    same[:12] = A[0]  # the twelve smallest are one row: others have to be taken
    Q = np.linalg.qr(same)[0]
    rows = parts._basis(Q, np.arange(50.0))
    assert np.linalg.matrix_rank(Q[rows]) == 4
    assert np.count_nonzero(rows < 12) <= 1


def test_small_residuals_count_more():
    # All rows are equally good: the first ones of the order are taken.
    Q = np.tile(np.eye(3), (5, 1)) / np.sqrt(5)
    assert sorted(parts._basis(Q, np.arange(15.0))) == [0, 1, 2]
    assert sorted(parts._basis(Q, -np.arange(15.0))) == [12, 13, 14]


@pytest.mark.parametrize("seed", range(8))
def test_the_entering_row_is_where_the_objective_stops_falling(seed):
    random = np.random.default_rng(seed)
    r, change = random.normal(size=12), random.normal(size=12)
    rows = np.array([2, 5])
    r[rows] = 0.0
    slope = 0.5 * float(np.abs(change[change * np.sign(r) > 0]).sum())
    found = parts._entering_row(r, change, rows, slope)

    def value(t):  # in units of the width of the box, beside what falls with the leaving row
        others = np.delete(np.arange(12), rows)
        passed = np.maximum(-(r - t * change)[others] * np.sign(r[others]), 0)
        return passed.sum() - slope * t

    ends = [r[i] / change[i] for i in range(12) if i not in rows and r[i] * change[i] > 0]
    best = min(ends, key=value)
    assert r[found] / change[found] == pytest.approx(best)
    # A steep slope leads to the last of all.
    last = parts._entering_row(r, change, rows, 1e9)
    assert r[last] / change[last] == pytest.approx(max(ends))


def test_residuals_that_hardly_move_do_not_enter():
    r, change = np.array([1.0, 1.0, -1.0]), np.array([1e-13, 1.0, 1.0])
    assert parts._entering_row(r, change, np.array([], np.intp), 0.5) == 1
    assert parts._entering_row(r, change, np.array([], np.intp), 5.0) == 1
    with pytest.raises(InvalidInput, match="scale the columns"):
        parts._entering_row(r, -change, np.array([2]), 0.5)


def test_inverses_after_an_exchange():
    M = RANDOM.normal(size=(4, 4))
    new = RANDOM.normal(size=4)
    inverse = np.linalg.inv(M)
    for leaving in range(4):
        changed = M.copy()
        changed[leaving] = new
        found = parts._exchange(inverse, new @ inverse, leaving)
        np.testing.assert_allclose(found, np.linalg.inv(changed), atol=1e-9)


def test_independent_columns():
    C = np.column_stack([A[:, 0], np.zeros(50), 2 * A[:, 0], A[:, 1], 1e-9 * A[:, 2], np.ones(50)])
    found = parts._independent_columns(C)
    assert len(found) == 4
    assert set(found) - {0, 2} == {3, 4, 5}
    np.testing.assert_array_equal(found, np.sort(found))
    assert len(parts._independent_columns(A[:2])) == 2
    nearly = np.column_stack([A[:, 0], A[:, 0] + 1e-13 * A[:, 1]])
    assert len(parts._independent_columns(nearly)) == 2  # 50 ε is 10⁻¹⁴
    same = np.column_stack([A[:, 0], A[:, 0] + 1e-15 * A[:, 1]])
    assert len(parts._independent_columns(same)) == 1


@pytest.mark.parametrize("tau", [0.5, 0.05, 0.7])
def test_vertices_end_at_the_least_sum(tau):
    found = TiltedVertices().solve(PenaltyProblem(B, Quantile(tau)), GRAM, Budget())
    x, nu, rows = found.value
    assert found.status == "optimal"
    assert tilted(B - A @ x, tau - 1, tau) == pytest.approx(least_l1(A, B, tau - 1, tau))
    assert np.abs((B - A @ x)[rows]).max() <= 1e-12
    assert len(rows) == 4
    assert np.abs(A.T @ nu).max() <= 1e-13
    r = B - A @ x
    others = np.setdiff1d(np.arange(50), rows)
    np.testing.assert_array_equal(nu[others], np.where(r[others] > 0, tau, tau - 1))
    assert found.statistics.iterations <= 15


@pytest.mark.parametrize("most", [0, 1, 2])
def test_vertices_on_the_way_have_a_dual_point(most):
    # A start far from the optimum: many rows are equal, so that squares say little.
    random = np.random.default_rng(3)
    C, b = random.normal(size=(80, 12)), random.standard_cauchy(80)
    problem, gram = PenaltyProblem(b, Quantile(0.9)), FeatureGram.of_rows(C)
    best = TiltedVertices().solve(problem, gram, Budget())
    found = TiltedVertices().solve(problem, gram, Budget(max_iter=most))
    assert best.statistics.iterations > 2
    assert found.status == "max_iter"
    # A look at a vertex counts.
    assert found.statistics.iterations == max(most - 1, 0)
    nu = found.value.nu
    assert np.abs(C.T @ nu).max() <= 1e-12
    assert nu.max() <= 0.9 + 1e-12
    assert nu.min() >= -0.1 - 1e-12
    assert max(nu.max() / 0.9, nu.min() / -0.1) == pytest.approx(
        1.0, rel=1e-12
    )  # as far as it goes
    assert found.certificate.dual <= best.certificate.primal <= found.certificate.primal
    assert found.certificate.dual > 0


def test_hundreds_of_exchanges_stay_exact():
    random = np.random.default_rng(5)
    C, b = random.normal(size=(1000, 80)), random.standard_cauchy(1000)
    problem, gram = PenaltyProblem(b, L1()), FeatureGram.of_rows(C)
    found = TiltedVertices().solve(problem, gram, Budget())
    assert found.status == "optimal"
    assert np.abs(b - C @ found.value.x)[found.value.rows].max() <= 1e-11
    assert abs(found.certificate.gap) <= 1e-11 * found.certificate.primal
    assert 100 < found.statistics.iterations < 200


def test_dependent_columns_have_a_weight_of_zero():
    C = np.column_stack([A, A[:, 0] - A[:, 1]])
    found = TiltedVertices().solve(PenaltyProblem(B, L1()), FeatureGram.of_rows(C), Budget())
    assert np.count_nonzero(found.value.x) == 4
    assert tilted(B - C @ found.value.x) == pytest.approx(least_l1(A, B))


def test_ties_of_many_rows():
    b = np.repeat([0.0, 1.0, 5.0], [20, 20, 10])
    found = TiltedVertices().solve(PenaltyProblem(b, L1()), GRAM, Budget())
    assert found.status == "optimal"
    assert found.certificate.primal == pytest.approx(least_l1(A, b))


# ---- the least largest residual -----------------------------------------------------------------


def test_the_least_largest_residual_of_all_subsets():
    C, b = A[:9, 1:3], B[:9]
    found = ChebyshevProgram().solve(ChebyshevProblem(b), FeatureGram.of_rows(C), Budget())
    # The optimum is that of the worst d + 1 rows.
    worst = 0.0
    for rows in itertools.combinations(range(9), 3):
        part = C[list(rows)]
        v = np.linalg.svd(part.T)[2][-1]  # orthogonal to both columns
        worst = max(worst, abs(b[list(rows)] @ v) / np.abs(v).sum())
    x, nu, rows = found.value
    assert np.abs(b - C @ x).max() == pytest.approx(worst, rel=1e-12)
    assert b @ nu == pytest.approx(worst, rel=1e-12)
    assert np.abs(nu).sum() == pytest.approx(1.0, rel=1e-12)
    assert np.abs(C.T @ nu).max() <= 1e-14
    np.testing.assert_array_equal(rows, np.flatnonzero(nu))
    np.testing.assert_allclose(np.abs(b - C @ x)[rows], worst, rtol=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
def test_few_rows_may_have_the_largest_residual(unit):
    # The second column has nothing to do with the two worst rows.
    C, b = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), unit * np.array([3.0, -1.0, 0.5])
    found = ChebyshevProgram().solve(ChebyshevProblem(b), FeatureGram.of_rows(C), Budget())
    x, nu, rows = found.value
    assert np.abs(b - C @ x).max() == pytest.approx(2 * unit)
    np.testing.assert_allclose(nu, [0.5, -0.5, 0.0])
    np.testing.assert_array_equal(rows, [0, 1])


def test_dependent_columns_of_the_least_largest_residual():
    C = np.column_stack([A, 2 * A[:, 1]])
    one = ChebyshevProgram().solve(ChebyshevProblem(B), GRAM, Budget())
    two = ChebyshevProgram().solve(ChebyshevProblem(B), FeatureGram.of_rows(C), Budget())
    assert two.certificate.primal == pytest.approx(one.certificate.primal)
    assert two.certificate.gap <= 1e-10
    assert np.count_nonzero(two.value.x) == 4


# ---- methods of penalties -----------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.1, 1.0])
def test_dead_zones(a):
    problem = PenaltyProblem(B, DeadZone(a))
    found = solver().solve(problem, GRAM, Budget())
    x, nu = found.value
    r = B - A @ x
    assert np.abs(nu).max() <= 1.0
    assert np.abs(A.T @ nu).max() <= 1e-9
    dual = B @ nu - a * np.abs(nu).sum()
    assert dual == pytest.approx(np.maximum(np.abs(r) - a, 0).sum(), rel=1e-9)
    assert found.statistics.iterations > 0


@pytest.mark.parametrize("a", [0.5, 2.0])
def test_newtons_method_ends_where_slopes_vanish(a):
    problem = PenaltyProblem(B, Huber(a))
    found = solver().solve(problem, GRAM, Budget(tol=1e-6))
    x = found.value.x
    slopes = A.T @ problem.penalty.slope(B - A @ x)
    assert np.abs(slopes).max() <= 1e-6
    assert found.statistics.iterations <= 12
    again = optimize.minimize(lambda z: problem.value(B - A @ z), np.zeros(4), method="BFGS")
    assert problem.value(B - A @ x) <= again.fun + 1e-9


@pytest.mark.parametrize("most", [0, 1, 3])
def test_newtons_method_stops_at_the_limit(most):
    problem = PenaltyProblem(B, Huber(0.1))
    found = solver().solve(problem, GRAM, Budget(tol=1e-9, max_iter=most))
    assert found.status == "max_iter"
    assert found.statistics.iterations == most
    values = [
        solver().solve(problem, GRAM, Budget(tol=1e-9, max_iter=k)).certificate.primal
        for k in range(4)
    ]
    assert (np.diff(values) < 0).all()


def test_rough_answers_take_fewer_steps():
    problem = PenaltyProblem(B, Huber(0.1))
    rough = solver().solve(problem, GRAM, Budget(tol=10.0))
    fine = solver().solve(problem, GRAM, Budget(tol=1e-8))
    assert rough.status == fine.status == "optimal"
    assert rough.statistics.iterations < fine.statistics.iterations


def test_barriers_start_inside():
    least = ChebyshevProgram().solve(ChebyshevProblem(B), GRAM, Budget()).certificate.primal
    assert np.abs(B - A @ np.linalg.lstsq(A, B, rcond=None)[0]).max() > 1.05 * least
    problem = PenaltyProblem(B, LogBarrier(1.05 * least))
    found = solver().solve(problem, GRAM, Budget(tol=1e-6))
    r = B - A @ found.value.x
    assert np.abs(r).max() < 1.05 * least
    assert np.abs(A.T @ problem.penalty.slope(r)).max() <= 1e-5 * np.abs(A.T).sum()
    for share in (0.9, 1.0):
        with pytest.raises(InvalidInput, match="No weights bring all residuals within"):
            parts._strictly_inside(PenaltyProblem(B, LogBarrier(share * least)), GRAM)


class Kinks(Penalty):
    """|r| with a steeper part beyond 2, by values and slopes alone."""

    def value(self, r):
        return np.abs(r) + np.maximum(np.abs(r) - 2, 0)

    def slope(self, r):
        return np.sign(r) * (1.0 + (np.abs(r) > 2))


def test_tangents_bound_from_below_and_meet_in_the_end():
    # Σ tᵢ above tangents at −4, −1, 1 and 4 is the sum of penalties itself.
    seen = [tangents(Kinks(), np.full(50, at)) for at in (-4.0, -1.0, 1.0, 4.0)]
    x, nu = parts._least_tangents(A, B, seen)
    problem = PenaltyProblem(B, Kinks())
    found = solver().solve(problem, GRAM, Budget())
    assert problem.value(B - A @ x) == pytest.approx(found.certificate.primal, rel=1e-6)
    assert np.abs(A.T @ nu).max() <= 1e-9
    assert np.abs(nu).max() <= 2 + 1e-9
    # b·ν − φ*(ν), φ* being the largest of νr − φ(r) at the kinks 0 and ±2
    conjugate = np.maximum(2 * np.abs(nu) - 2, 0)
    assert B @ nu - conjugate.sum() == pytest.approx(problem.value(B - A @ x), rel=1e-9)
    part, _ = parts._least_tangents(A, B, seen[1:3])  # |r| alone
    assert tilted(B - A @ part) == pytest.approx(least_l1(A, B))


def test_programs_of_tangents_go_on_where_kinks_stop_newtons_method():
    problem = PenaltyProblem(B, Kinks())
    found = solver().solve(problem, GRAM, Budget(tol=1e-6))
    assert found.status == "optimal"
    assert found.certificate.relative_gap <= 1e-6
    alone = solver().newton(problem, GRAM, Budget(tol=1e-6))
    judged = problem.certify(alone.value, GRAM)
    assert judged.relative_gap > 1e-6
    assert 1 <= found.statistics.iterations - alone.iterations <= 15
    stopped = solver().tangents(problem, GRAM, Budget(tol=1e-6, max_iter=alone.iterations + 1))
    assert stopped.iterations == alone.iterations + 1


class Dented(Kinks):
    convex = False


def test_without_convexity_there_are_no_programs():
    problem = PenaltyProblem(B, Dented())
    found = solver().tangents(problem, GRAM, Budget(tol=1e-6))
    alone = solver().newton(problem, GRAM, Budget(tol=1e-6))
    assert found.iterations == alone.iterations
    np.testing.assert_array_equal(found.value.x, alone.value.x)
    assert solver().tangents(problem, GRAM, Budget(max_iter=1)).status is Status.MAX_ITER


@pytest.mark.parametrize("n_init", [1, 2, 3, 20])
def test_starts_and_the_values_they_reach(n_init):
    random = np.random.default_rng(4)
    b = B.copy()
    b[:20] = A[:20] @ [5.0, 5.0, 5.0, 5.0] + 0.01 * random.normal(size=20)
    problem = PenaltyProblem(b, LargeError(0.3))
    found = solver(n_init).solve(problem, GRAM, Budget())
    values = found.statistics.details["values"]
    assert len(values) == max(n_init, 2)
    assert values == sorted(values)
    assert problem.value(b - A @ found.value.x) == pytest.approx(values[0])
    # Each is a fixed point: the squares of the rows within 0.3 of it.
    r = b - A @ found.value.x
    inside = np.abs(r) <= 0.3
    again = np.linalg.lstsq(A[inside], b[inside], rcond=None)[0]
    np.testing.assert_allclose(found.value.x, again, atol=1e-10)
    assert found.statistics.iterations >= len(values)
    if n_init == 20:
        assert values[0] <= values[-1]
        assert found.statistics.iterations <= 20 * 15
    none = solver(n_init).solve(problem, GRAM, Budget(max_iter=0))
    assert none.statistics.iterations == 0
    one = solver(n_init).solve(problem, GRAM, Budget(max_iter=1))
    assert one.statistics.iterations == len(values)


@pytest.mark.parametrize("unit", [1e-170, 1e-8, 1e150])
@pytest.mark.parametrize("tau", [0.3, 0.9])
def test_reweighted_squares_in_any_unit(unit, tau):
    Q = np.linalg.qr(A)[0]
    one = parts._near(tau - 1, tau, Q, B)
    np.testing.assert_allclose(parts._near(tau - 1, tau, Q, unit * B) / unit, one, rtol=1e-6)


def test_reweighted_squares_are_the_plain_loop():
    Q = np.linalg.qr(A)[0]
    for low, high in ((-1.0, 1.0), (-0.2, 0.8)):
        x = Q.T @ B
        for _ in range(12):
            r = B - Q @ x
            size = np.maximum(np.abs(r), 1e-3 * np.median(np.abs(r)))
            w = np.where(r > 0, high, -low) / size
            x = np.linalg.solve((Q.T * w) @ Q, (Q.T * w) @ B)
        np.testing.assert_allclose(parts._near(low, high, Q, B), x, rtol=1e-7)


def test_rows_that_are_nearly_dependent_are_no_basis():
    # The six of the smallest residuals are alike up to 10⁻⁹: another row has to be taken.
    Q = np.vstack([np.tile([1.0, 1.0], (6, 1)), [[0.0, 1.0], [1.0, 0.0]]])
    Q[:6, 1] += 1e-9 * np.arange(6.0)
    rows = parts._basis(Q, np.arange(8.0))
    assert np.linalg.cond(Q[rows]) < 10
    Q[:6, 1] = 1.0 + 1e-3 * np.arange(6.0)  # and these will do
    assert (parts._basis(Q, np.arange(8.0)) < 6).all()


def test_a_multiplier_may_leave_its_box_by_rounding():
    # The median of 1, 2 and 2.5 is 2, whose multiplier is 0; of 0.9 and 0.1 the slopes do not sum.
    ones = FeatureGram.of_rows(np.ones((3, 1)))
    for tau, best in ((0.5, 2.0), (0.3, 1.0), (0.7, 2.5), (0.1, 1.0)):
        found = TiltedVertices().solve(
            PenaltyProblem(np.array([1.0, 2.0, 2.5]), Quantile(tau)), ones, Budget()
        )
        assert found.value.x == pytest.approx([best])
        assert found.status == "optimal"
        assert found.value.nu.sum() == pytest.approx(0.0, abs=1e-12)


def test_newtons_method_begins_beyond_all_bends():
    # No residual of the least squares is below a: there is no curvature at all to begin with.
    r = B - A @ np.linalg.lstsq(A, B, rcond=None)[0]
    problem = PenaltyProblem(B, Huber(0.5 * np.abs(r).min()))
    found = solver().newton(problem, GRAM, Budget(tol=1e-6))
    assert problem.value(B - A @ found.value.x) < problem.value(r) * (1 - 1e-3)
    assert found.iterations > 1


@pytest.mark.parametrize("most", [0, 1, 5])
def test_exact_fits_end_at_once(most):
    problem = PenaltyProblem(A @ np.arange(4.0), Huber(1.0))
    found = solver().newton(problem, GRAM, Budget(tol=1e-6, max_iter=most))
    assert found.iterations == min(most, 1)
    assert found.status == ("optimal" if most else "max_iter")
    np.testing.assert_allclose(found.value.x, np.arange(4.0), atol=1e-9)


def test_residuals_of_zero_have_the_largest_weight_there_is():
    # More than half of the rows are met exactly, so that the median residual is 0.
    Q = np.array([[1.0], [0.0], [0.0], [0.0], [0.0]])
    assert parts._near(-1.0, 1.0, Q, np.array([2.0, 0.0, 0.0, 0.0, 1.0])) == pytest.approx([2.0])
    assert len(parts._independent_columns(np.zeros((4, 2)))) == 0
    tiny = 1e-30 * A
    assert len(parts._independent_columns(tiny)) == 4


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_rows_that_enter_and_bases_in_any_unit(unit):
    r, change = np.array([1.0, 1.0, -1.0]), unit * np.array([1e-13, 1.0, 1.0])
    nobody = np.array([], np.intp)
    assert parts._entering_row(r, change, nobody, 0.5 * unit) == 1
    assert parts._entering_row(r, unit * np.array([1e-11, 1.0, 1.0]), nobody, 5.0 * unit) == 0
    Q = np.linalg.qr(A)[0]
    size = np.abs(B)
    np.testing.assert_array_equal(parts._basis(unit * Q, size), parts._basis(Q, size))
    same = np.tile([1.0, 1.0], (8, 1)) + np.vstack([1e-9 * np.eye(2), np.zeros((4, 2)), np.eye(2)])
    np.testing.assert_array_equal(
        np.sort(parts._basis(unit * same, np.arange(8.0))),
        np.sort(parts._basis(same, np.arange(8.0))),
    )
