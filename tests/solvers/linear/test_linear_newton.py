"""Parts of Newton's method for linear machines, each against its formula or a dense solve."""

import math
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.problems import linear
from mercer.problems.linear import DesignRows, LinearAnswer
from mercer.solvers.base import Budget, Outcome, Status
from mercer.solvers.linear import linear_newton as newton
from mercer.solvers.linear.linear_newton import LinearNewton, _WindowStages


def data(n, d, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X[:, : min(d, 3)].sum(axis=1) + 0.5 * random.normal(size=n), random


def problem_of(kind, v, C=1.0, constant=1.5):
    every = C * np.linspace(0.5, 1.5, len(v))
    if kind in ("hinge", "margins"):
        return linear.classifier(np.sign(v), every, kind == "margins", constant)
    return linear.regressor(v, every, 0.3, kind == "squares", constant)


def stages(kind, C=1.0, n=40, d=4, start=None, thin=False, **limits):
    X, v, _ = data(n, d)
    problem = problem_of(kind, v, C)
    rows = DesignRows(sparse.csr_array(X) if thin else X, problem.constant)
    zeros = LinearAnswer(np.zeros(rows.columns), np.zeros(n))
    start = Outcome(zeros, Status.MAX_ITER) if start is None else start
    return _WindowStages(rows, problem, Budget(**limits), start, True, 2000)


def extended(rows):
    X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
    return np.column_stack([X, np.full(len(X), rows.constant)]) if rows.constant else X


def soft(x, epsilon):
    return np.sign(x) * np.maximum(np.abs(x) - epsilon, 0)


# ---- systems ------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize(("n", "d"), [(30, 5), (12, 12), (6, 20), (1, 3)])
def test_steps_solve_their_system(n, d, thin, constant):
    X, _, random = data(n + 4, d)
    rows = DesignRows(sparse.csr_array(X) if thin else X, constant)
    active = np.sort(random.permutation(n + 4)[:n])
    gain, g = random.uniform(0.1, 3.0, n), random.normal(size=rows.columns)
    B = extended(rows)[active]
    exact = np.linalg.solve(np.eye(rows.columns) + (B.T * gain) @ B, g)
    for largest in (2000, max(n, d + 1), min(n, d + 1)):
        found = newton._newton_step(rows, active, gain, g, largest)
        np.testing.assert_allclose(found, exact, atol=1e-12)
    if n > 1:  # neither side is small enough for a factor: conjugate gradients, to a hundredth
        found = newton._newton_step(rows, active, gain, g, 1)
        left = g - found - B.T @ (gain * (B @ found))
        assert np.linalg.norm(left) <= 0.01 * np.linalg.norm(g)
    none = np.empty(0, np.intp)
    np.testing.assert_array_equal(newton._newton_step(rows, none, gain[:0], g, 2000), g)


def test_large_gains_keep_their_digits():
    # Refined once: I + BᵀB by the inverse of its rows loses half of the digits.
    X, _, random = data(5, 40)
    g, gain = random.normal(size=40), np.full(5, 1e9)
    s = newton._newton_step(DesignRows(X), np.arange(5), gain, g, 2000)
    Q = np.linalg.qr(X.T)[0]
    np.testing.assert_allclose(s, g - Q @ (Q.T @ g), atol=1e-8)
    assert np.abs(X @ s).max() <= 1e-7 * np.abs(X @ g).max()


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("constant", [0.0, 3.0])
@pytest.mark.parametrize("count", [1, 436, 437, 1000])
def test_weighted_gram_of_blocks(count, constant, thin):
    # 300 columns make blocks of some 436 rows.
    X, _, random = data(1001, 300)
    rows = DesignRows(sparse.csr_array(X) if thin else X, constant)
    active = np.sort(random.permutation(1001)[:count])
    gain = random.uniform(0, 2, count)
    B = extended(rows)[active]
    found = newton._weighted_gram(rows, active, gain)
    np.testing.assert_allclose(found, (B.T * gain) @ B, atol=1e-10)


def test_factors_of_singular_matrices():
    random = np.random.default_rng(3)
    B = random.normal(size=(9, 6))
    H, b = B.T @ B, random.normal(size=6)
    kept = H.copy()
    exact = np.linalg.solve(np.eye(6) + H, b)
    np.testing.assert_allclose(newton._solve(newton._factor(H), b), exact, atol=1e-13)
    np.testing.assert_array_equal(H, kept)
    v = random.normal(size=6)
    huge = 1e22 * np.outer(v, v)  # 1 is lost beside it: a trace of the diagonal is added
    s = newton._solve(newton._factor(huge), v)
    assert 0 < v @ s < 1e-21
    diagonal = np.einsum("ij,ij->j", newton._factor(huge), newton._factor(huge))
    upper = np.triu(newton._factor(huge))
    np.testing.assert_allclose((upper**2).sum(axis=0), np.diag(huge), rtol=1e-12)
    assert np.isfinite(diagonal).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize("reach", [0.01, 0.3, 2.0, np.inf])
def test_rows_that_can_change_are_those_whose_multipliers_do(epsilon, reach):
    random = np.random.default_rng(5)
    x, gain = random.uniform(-4, 4, 400), random.uniform(0.5, 3, 400)
    lo, hi = -random.uniform(0, 2, 400), random.uniform(0, 2, 400)
    found = newton._changeable(x, gain, lo, hi, epsilon, reach)
    if reach == np.inf:
        assert found.all()
        return
    within = x[:, None] + reach * np.linspace(-1, 1, 4001)
    beta = np.clip(gain[:, None] * soft(within, epsilon), lo[:, None], hi[:, None])
    changes = np.ptp(beta, axis=1) > 0
    # The grid misses a change that begins at its last point.
    assert np.count_nonzero(found != changes) <= 1
    assert not (changes & ~found).any()
    assert 0 < np.count_nonzero(found) < 400


def test_a_multiplier_at_the_edge_of_its_reach_does_not_change():
    one, lo, hi = np.ones(1), np.array([-1.0]), np.array([1.0])
    for x, changes in ((2.0, False), (1.75, True), (-2.0, False), (-1.75, True)):
        found = newton._changeable(np.array([x]), one, lo, hi, 0.5, 0.5)
        assert bool(found[0]) == changes
    for x, changes in ((0.0, False), (0.25, False), (0.375, True), (-0.375, True)):
        found = newton._changeable(np.array([x]), one, lo, hi, 0.5, 0.25)
        assert bool(found[0]) == changes


# ---- one stage ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hinge", "tube", "squares", "margins"])
def test_what_a_solve_begins_with(kind):
    found = stages(kind)
    B, p = extended(found.rows), found.problem.p
    norms = (B * B).sum(axis=1)
    assert found.longest == pytest.approx(math.sqrt(norms.max()))
    assert found.total_norm == pytest.approx(norms.sum())
    assert found.scale == pytest.approx(np.abs(p).mean())
    assert found.reach == np.inf
    np.testing.assert_array_equal(found.residual, p)
    C = np.linspace(0.5, 1.5, 40)
    widths = {"hinge": C, "tube": 2 * C, "squares": np.ones(40), "margins": np.ones(40)}[kind]
    np.testing.assert_allclose(found.width, widths)
    assert not found.iterative
    assert stages(kind, thin=True).iterative == (kind in ("squares", "margins"))
    w = np.arange(5.0)
    later = stages(kind, start=Outcome(LinearAnswer(w, np.zeros(40)), Status.MAX_ITER, 7))
    np.testing.assert_allclose(later.residual, p - B @ w)
    assert later.scale == pytest.approx(np.abs(p - B @ w).mean())
    assert later.reach == pytest.approx(0.2 * later.scale)
    assert later.steps == 7


def test_a_solve_of_zeros_begins_with_units_of_one():
    X = np.zeros((3, 2))
    problem = linear.regressor(np.zeros(3), np.ones(3), 0.0, False)
    start = Outcome(LinearAnswer(np.zeros(2), np.zeros(3)), Status.MAX_ITER)
    found = _WindowStages(DesignRows(X), problem, Budget(), start, True, 2000)
    assert (found.longest, found.scale, found.total_norm) == (1.0, 1.0, 0.0)
    assert found._gap() == 0.0 or np.isfinite(found._gap())


@pytest.mark.parametrize("kind", ["hinge", "squares"])
@pytest.mark.parametrize(("n", "d"), [(40, 4), (20, 30), (31, 30), (30, 30)])
@pytest.mark.parametrize("narrowed", [0, 2, 5, 6, 9])
def test_windows_fall_by_a_factor(kind, n, d, narrowed):
    found = stages(kind, n=n, d=d)
    found.narrowed = narrowed
    window, least = found._smoothing()
    assert window == pytest.approx(0.1 * found.scale * 0.1 ** min(narrowed, 5))
    wide = d + 1 > n and kind == "hinge"
    assert least == pytest.approx(
        (1e-5 if wide else 1e-9) * found.total_norm * 0.1**narrowed, rel=1e-9, abs=0
    )
    sharp = found.problem.D if kind == "squares" else window / found.width
    assert found._settled() == (narrowed > 5 and least < sharp.min())


def test_stages_are_not_settled_while_c_is_huge():
    found = stages("hinge", C=1e9, n=20, d=30)
    found.narrowed = 6
    assert not found._settled()
    found.narrowed = 15
    assert found._settled()


@pytest.mark.parametrize(
    ("C", "narrowed"), [(1e-3, 0), (1e-3, 3), (1.0, 0), (1.0, 3), (1.0, 7), (1e3, 3), (1e9, 0)]
)
@pytest.mark.parametrize("kind", ["hinge", "tube", "squares", "margins"])
def test_a_stage_ends_at_the_optimum_of_its_window(kind, C, narrowed):
    found = stages(kind, C)
    found.narrowed = narrowed
    problem = found.problem
    random = np.random.default_rng(1)
    low, high = np.maximum(problem.lo, -1.0), np.minimum(problem.hi, 1.0)
    centre = found.centre = random.uniform(low, high)
    found._stage()
    window, least = found._smoothing()
    tau = np.maximum(window / found.width, least)
    if kind in ("squares", "margins"):
        tau = np.where(least > problem.D, least, 0.0)
    B = extended(found.rows)
    residual = problem.p - B @ found.w
    np.testing.assert_allclose(found.residual, residual, atol=1e-9)
    beta = soft(found.residual + tau * centre, problem.epsilon) / (problem.D + tau)
    beta = np.clip(beta, problem.lo, problem.hi)
    np.testing.assert_allclose(found.beta, beta, rtol=1e-12)
    accuracy = 0.1 * max(1e-3, 0.1 * window) / found.longest
    total = B.T @ beta
    assert np.linalg.norm(found.w - total) <= min(accuracy, 1e-4 * np.linalg.norm(total))
    assert found.steps <= 30


class CountedRows(DesignRows):
    """Rows that count products with them."""

    products = 0

    def dot(self, w):
        type(self).products += 1
        return super().dot(w)


@pytest.mark.parametrize("share", [1e-3, 1e-2])
@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_a_stage_that_reaches_too_few_rows_looks_again(kind, share):
    found, whole = stages(kind, n=300), stages(kind, n=300)
    found.reach = share * found.scale
    found._stage()
    whole._stage()
    np.testing.assert_allclose(found.w, whole.w, atol=2e-3)
    assert found.steps <= 25
    # Where a stage ends, it has nothing more to do.
    found.rows, steps = CountedRows(found.rows.X, found.rows.constant), found.steps
    CountedRows.products = 0
    found._stage()
    assert CountedRows.products == 0
    assert found.steps == steps


def test_windows_where_only_some_losses_are_squared():
    found = stages("hinge", n=20, d=30)
    D = np.where(np.arange(20) < 3, 0.5, 0.0)
    found.problem = replace(found.problem, D=D)
    assert found._smoothing()[1] == pytest.approx(1e-9 * found.total_norm, rel=1e-9, abs=0)


def test_the_next_stage_is_centred_on_this_one():
    found = stages("tube")
    found.beta[:] = np.arange(40.0)
    found._narrow(0.25)
    found.beta[:] = 0.0
    np.testing.assert_array_equal(found.centre, np.arange(40.0))
    assert (found.reach, found.narrowed) == (0.5, 1)


def test_squares_without_a_tube_take_one_step():
    # Rows with a residual of zero have a loss as bent as the others'.
    X, v, _ = data(50, 4)
    v[::3] = 0.0
    problem = linear.regressor(v, np.ones(50), 0.0, True)
    found = LinearNewton(0).solve(problem, FeatureGram.of_rows(X), Budget(tol=1e-9))
    assert found.statistics.iterations == 1
    exact = np.linalg.solve(X.T @ X + np.eye(4) / 2, X.T @ v)
    np.testing.assert_allclose(found.value.w, exact, atol=1e-12)


def test_steps_without_progress_are_not_taken_for_ever():
    found = stages("squares", n=60)
    found.scale = -1.0  # so that it never counts as standing still
    gain = 1 / found.problem.D
    beta = gain * soft(found.residual, found.problem.epsilon)
    assert not found._minimise(found.residual, gain, extended(found.rows).T @ beta, np.inf, -1.0)
    assert 102 < found.steps <= 150


@pytest.mark.parametrize(
    ("n", "d", "small"),
    [(100, 300, True), (101, 300, False), (300, 99, True), (300, 100, False)],
)
def test_small_systems_take_one_more_step(n, d, small):
    found = stages("squares", n=n, d=d, tol=1e-3)
    assert found._is_small() == small
    if not small:
        found.solve()
        assert found.max_iter == sys.maxsize


@pytest.mark.parametrize("kind", ["hinge", "squares"])
def test_nobody_has_to_polish(kind):
    found = stages(kind, tol=1e-3)
    found.polish = False
    found.solve()
    assert found.max_iter == sys.maxsize


def test_zeros_meet_a_tolerance_of_zero():
    X = data(6, 2)[0]
    problem = linear.regressor(np.zeros(6), np.ones(6), 0.1, False)
    start = Outcome(LinearAnswer(np.zeros(2), np.zeros(6)), Status.MAX_ITER)
    found = _WindowStages(DesignRows(X), problem, Budget(tol=0.0, gap=0.0), start, True, 9)
    solved = found.solve()
    assert solved.status is Status.OPTIMAL
    assert solved.gap_seen
    assert solved.iterations == 0


@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_stages_go_on_while_c_is_huge(kind):
    X, v, _ = data(20, 30)
    problem, gram = problem_of(kind, v, 1e5), FeatureGram.of_rows(X)
    found = LinearNewton(0).solve(problem, gram, Budget(tol=1e-7))
    assert found.status == "optimal"
    assert problem.certify(found.value, gram).relative_gap <= 1e-7


def smooth_optimum(B, shifted, problem, gain):
    """Minimise ½‖w‖² + Σ loss(shifted − Bw) by a method of SciPy's, with its slopes."""

    def value(w):
        x = shifted - B @ w
        beta = np.clip(gain * soft(x, problem.epsilon), problem.lo, problem.hi)
        losses = beta * x - problem.epsilon * np.abs(beta) - beta**2 / (2 * gain)
        return w @ w / 2 + losses.sum(), w - B.T @ beta

    options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 30}
    found = optimize.minimize(value, np.zeros(B.shape[1]), jac=True, method="L-BFGS-B",
                              options=options)  # fmt: skip
    return found.x


@pytest.mark.parametrize("reach", [np.inf, 30.0, 3.0])
@pytest.mark.parametrize("kind", ["hinge", "tube", "squares"])
def test_steps_on_some_rows_find_the_optimum_of_all(kind, reach):
    found = stages(kind, n=200)
    problem, B = found.problem, extended(found.rows)
    gain = 1 / (problem.D + 0.3)
    x = found.residual.copy()
    beta = np.clip(gain * soft(x, problem.epsilon), problem.lo, problem.hi)
    found.beta = beta.copy()
    reached = found._minimise(x, gain, B.T @ beta, reach, 1e-10)
    assert reached
    np.testing.assert_allclose(found.w, smooth_optimum(B, problem.p, problem, gain), atol=1e-6)
    assert 1 <= found.steps <= 12
    np.testing.assert_array_equal(x, found.residual)  # what was given is not changed


def test_rows_out_of_reach_keep_their_multipliers():
    # Near the optimum only rows within the reach take part; the others are a constant.
    found = stages("tube", n=300)
    problem, B = found.problem, extended(found.rows)
    gain = np.full(300, 50.0)
    w = smooth_optimum(B, problem.p, problem, gain)
    x = problem.p - B @ w
    for reach in (0.02, 0.1):
        near = newton._changeable(x, gain, problem.lo, problem.hi, problem.epsilon, reach)
        assert 0 < np.count_nonzero(near) < 210
        found.w, found.steps = w + 1e-4, 0
        moved = problem.p - B @ found.w
        respond = np.clip(gain * soft(moved, problem.epsilon), problem.lo, problem.hi)
        found.beta = respond.copy()
        assert found._minimise(moved, gain, B.T @ respond, reach, 1e-9)
        np.testing.assert_allclose(found.w, w, atol=1e-6)
        assert 1 <= found.steps <= 4


@pytest.mark.parametrize("most", [0, 1, 3])
def test_steps_end_at_the_limit(most):
    found = stages("hinge", n=200, max_iter=most, tol=1e-9)
    solved = found.solve()
    assert solved.status is Status.MAX_ITER
    assert solved.iterations == most


def test_steps_that_change_nothing_end():
    found = stages("squares", n=60)
    problem, B = found.problem, extended(found.rows)
    gain = 1 / problem.D
    beta = gain * soft(found.residual, problem.epsilon)
    # No gradient is exactly zero: it ends once w stands still.
    assert not found._minimise(found.residual, gain, B.T @ beta, np.inf, 0.0)
    assert found.steps <= 8
    np.testing.assert_allclose(found.w, smooth_optimum(B, problem.p, problem, gain), atol=1e-6)


@pytest.mark.parametrize("C", [1.0, 1e-4])
@pytest.mark.parametrize("kind", ["hinge", "tube", "squares", "margins"])
def test_the_gap_is_that_of_the_certificate(kind, C):
    found = stages(kind, C)
    random = np.random.default_rng(2)
    found.w = C * random.normal(size=5)
    found.residual = found.problem.p - found.rows.dot(found.w)
    low, high = np.maximum(found.problem.lo, -1.0), np.minimum(found.problem.hi, 1.0)
    found.beta = random.uniform(low, high)
    gram = FeatureGram.of_rows(found.rows.X)
    judged = found.problem.certify(LinearAnswer(found.w, found.beta), gram)
    assert found._gap() == pytest.approx((judged.primal - judged.dual) / judged.primal)


def test_the_gap_of_nothing_is_no_share():
    found = stages("tube")
    found.w = np.zeros(5)
    found.residual = np.zeros(40)  # within the tube: no loss
    found.beta = np.full(40, 0.25)
    total = extended(found.rows).T @ found.beta
    expected = total @ total / 2 - found.problem.gain(found.beta)
    assert found._gap() == pytest.approx(expected)


# ---- sparse systems: which way is taken ---------------------------------------------------------


def thin_rows(entries, n=160, d=160, spread=1.0):
    random = np.random.default_rng(4)
    at = random.permutation(n * d)[:entries]
    values = random.normal(size=entries) * spread ** random.uniform(-1, 1, entries)
    X = sparse.csr_array((values, np.divmod(at, d)), (n, d))
    return DesignRows(X)


def directions(rows, gain, share=1.0):
    problem = linear.regressor(np.ones(len(rows)), np.full(len(rows), 0.5), 0.0, True)
    start = Outcome(LinearAnswer(np.zeros(rows.columns), np.zeros(len(rows))), Status.MAX_ITER)
    found = _WindowStages(rows, problem, Budget(), start, True, 2000)
    active = np.arange(int(share * len(rows)))
    g = np.random.default_rng(6).normal(size=rows.columns)
    gains = np.full(len(active), gain)
    B = extended(rows)[active]
    exact = np.linalg.solve(np.eye(rows.columns) + (B.T * gains) @ B, g)
    s = found._direction(rows, active, gains, g)
    return found, float(np.linalg.norm(s - exact) / np.linalg.norm(exact))


def test_sparse_systems_are_factored_where_that_is_less_work():
    # 25 steps of 4 × 3653 + 40,000 are just less than 160³/3, and with 3654 more.
    found, error = directions(thin_rows(3653), 0.05)
    assert 1e-8 < error < 0.05
    assert found.iterative
    found, error = directions(thin_rows(3654), 0.05)
    assert error < 1e-10
    assert found.iterative
    # Of half of the rows half of the entries count, and the smaller side of the system.
    _, error = directions(thin_rows(3200, n=320), 0.05, share=0.5)
    assert 1e-8 < error < 0.05
    _, error = directions(thin_rows(8000, n=320), 0.05, share=0.5)
    assert error < 1e-10
    _, error = directions(thin_rows(3200, n=320), 0.05, share=0.25)
    assert error < 1e-10


def test_dense_systems_are_factored():
    random = np.random.default_rng(1)
    found, error = directions(DesignRows(random.normal(size=(400, 400))), 0.05)
    assert error < 1e-10
    assert not found.iterative


def test_sparse_systems_that_take_long_are_factored_from_then_on():
    found, error = directions(thin_rows(3000, spread=1e4), 1e6)
    assert error < 1e-6
    assert not found.iterative


# ---- samples, and the last step -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "d", "least", "sampled"),
    [(1600, 10, 100, True), (1600, 10, 101, False), (1600, 11, 50, False), (1599, 9, 100, False)],
)
def test_a_sample_is_large_enough_or_none(n, d, least, sampled):
    X, v, _ = data(n, d)
    problem = linear.regressor(v, np.ones(n), 0.1, False)
    rows = problem.rows(FeatureGram.of_rows(X))
    found = LinearNewton(0, least_sample=least)._from_sample(rows, problem, Budget())
    assert found.value.multipliers.shape == (n,)
    assert not found.value.multipliers.any()
    assert found.value.w.any() == sampled
    assert (found.iterations > 0) == sampled
    assert found.iterations <= 45
    if sampled:
        whole = LinearNewton(0).solve(problem, FeatureGram.of_rows(X), Budget()).value.w
        other = LinearNewton(1, least_sample=least)._from_sample(rows, problem, Budget())
        assert 0 < np.abs(found.value.w - whole).max() < 0.5
        assert (other.value.w != found.value.w).any()


@pytest.mark.parametrize("kind", ["hinge", "tube", "squares", "margins"])
def test_one_more_stage_brings_digits_that_were_not_asked_for(kind):
    X, v, _ = data(150, 6)
    problem, gram = problem_of(kind, v), FeatureGram.of_rows(X)
    found = LinearNewton(0).solve(problem, gram, Budget(tol=1e-3, gap=1e-3))
    assert found.status == "optimal"
    judged = problem.certify(found.value, gram)
    assert judged.relative_gap <= (1e-13 if kind in ("squares", "margins") else 1e-8)
    assert judged.stationarity <= 1e-7
    plain = stages(kind, n=150, tol=1e-3)
    plain.polish = False
    rough = plain.solve()
    gap = problem_of(kind, data(150, 4)[1]).certify(
        rough.value, FeatureGram.of_rows(data(150, 4)[0])
    )
    assert gap.relative_gap <= 1e-3
    assert gap.stationarity <= 1e-3


@pytest.mark.parametrize(("gap", "seen"), [(math.inf, False), (1.0, True), (1e-30, False)])
def test_whether_the_gap_was_seen(gap, seen):
    assert stages("tube", tol=1e-4, gap=gap).solve().gap_seen is seen


def test_a_tolerance_that_cannot_be_met_ends_as_stalled():
    asked = []
    found = stages("hinge", tol=0.0, monitor=lambda violation: bool(asked.append(violation)))
    solved = found.solve()
    assert solved.status is Status.STALLED
    assert len(asked) <= 30
    problem = found.problem
    residual = problem.p - extended(found.rows) @ solved.value.w
    # The best of all stages is what comes back.
    assert problem.violation(residual, solved.value.multipliers) <= 2 * min(asked) + 1e-12
    assert min(asked) <= 1e-9


def test_a_start_is_gone_on_from():
    X, v, _ = data(150, 6)
    problem, gram = problem_of("tube", v), FeatureGram.of_rows(X)
    first = LinearNewton(0).solve(problem, gram, Budget(tol=1e-6))
    again = LinearNewton(0).solve(problem, gram, Budget(tol=1e-6), first.value)
    assert again.statistics.iterations <= first.statistics.iterations / 2
    np.testing.assert_allclose(again.value.w, first.value.w, atol=1e-6)


def test_one_last_step_is_one():
    found = stages("squares", n=60, d=4, tol=1e-3)
    found._stage()
    before, w = found.steps, found.w.copy()
    found._last_step()
    assert found.steps - before <= 1
    assert found.max_iter == before + 1
    # At the end multipliers are those of the residuals, and weights their sum.
    beta = soft(found.residual, found.problem.epsilon) / found.problem.D
    np.testing.assert_allclose(found.beta, beta, atol=1e-9)
    np.testing.assert_allclose(found.w, extended(found.rows).T @ found.beta, atol=1e-6)
    assert w.shape == found.w.shape


def test_losses_with_a_kink_are_polished_whatever_their_size():
    found = stages("hinge", n=160, d=120, C=0.1, tol=1e-2)
    assert not found._is_small()
    solved = found.solve()
    assert found.max_iter < sys.maxsize  # the last stage has a limit of its own
    assert solved.status is Status.OPTIMAL
    residual = found.problem.p - found.rows.dot(solved.value.w)
    assert found.problem.violation(residual, solved.value.multipliers) <= 1e-4


def test_without_any_step_nothing_is_reached():
    found = stages("squares", n=60, max_iter=0)
    gain = 1 / found.problem.D
    beta = gain * soft(found.residual, found.problem.epsilon)
    total = extended(found.rows).T @ beta
    assert not found._minimise(found.residual, gain, total, np.inf, 1e9)
    assert found.steps == 0
    assert not found.w.any()


def test_the_second_solve_of_a_wide_system_brings_digits():
    # (I + gXᵀX)s = r with g = 10¹²: exactly, by elimination in rational numbers.
    X, _, random = data(3, 5)
    gradient, gain = random.normal(size=5), np.full(3, 1e12)
    rows, right = [[Fraction(v) for v in row] for row in X.tolist()], gradient.tolist()

    def entry(i, j):
        return Fraction(int(i == j)) + 10**12 * sum(row[i] * row[j] for row in rows)

    system = [[entry(i, j) for j in range(5)] + [Fraction(right[i])] for i in range(5)]
    for i in range(5):
        system[i] = [v / system[i][i] for v in system[i]]
        for j in range(5):
            if j != i:
                system[j] = [
                    v - system[j][i] * u for v, u in zip(system[j], system[i], strict=True)
                ]
    exact = np.array([float(row[5]) for row in system])
    found = newton._newton_step(DesignRows(X), np.arange(3), gain, gradient, 2000)
    root = np.sqrt(gain)
    once = gradient - X.T @ (root * np.linalg.solve(np.eye(3) + np.outer(root, root) * (X @ X.T), root * (X @ gradient)))  # fmt: skip  # noqa: E501
    assert np.abs(found - exact).max() <= 1e-14 * np.abs(gradient).max()
    assert np.abs(once - exact).max() <= 1e-10 * np.abs(gradient).max()
