"""Least squares and ridge regression by every way, against closed forms and exact answers."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import linalg, sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.problems.elastic_net import Design, LassoProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear import least_squares
from mercer.solvers.linear.least_squares import (
    PlainLeastSquares,
    RidgeFactors,
    accurate,
    shortest,
)

U = np.finfo(float).eps


def data(n, p, seed=0, thin=False):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) * (random.random((n, p)) < (0.3 if thin else 1.0))
    return X, X[:, : min(p, 4)].sum(axis=1) + random.normal(size=n)


def closed_form(X, y, alpha):
    return np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ y)


def solve(design, y, alpha, **options):
    limits = {name: options.pop(name) for name in ("tol", "max_iter", "gap") if name in options}
    problem = LassoProblem(y, 0.0, alpha)
    gram = FeatureGram.of_rows(design.X)
    return RidgeFactors(design, **options).run(problem, gram, Budget(**limits), None), problem


@pytest.mark.parametrize("alpha", [1e-13, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (12, 12)])
@pytest.mark.parametrize("thin", [False, True])
def test_ridge_by_its_closed_form(shape, alpha, thin):
    X, y = data(*shape, thin=thin)
    design = Design(sparse.csc_array(X) if thin else X)
    found, problem = solve(design, y, alpha, tol=1e-9)
    w = found.value.w
    assert found.status == "optimal"
    slopes = X.T @ (y - X @ w) - alpha * w
    assert np.abs(slopes).max() <= 1e-3 * np.sqrt(alpha) + 1e-9
    if alpha >= 1e-3:
        np.testing.assert_allclose(w, closed_form(X, y, alpha), atol=1e-4)
    assert found.value.bounds.gap <= 1e-9 * found.value.bounds.primal + 1e-12
    primal = ((y - X @ w) ** 2).sum() / 2 + alpha * (w @ w) / 2
    assert found.value.bounds.primal == pytest.approx(primal)
    assert problem.l2 == alpha


@pytest.mark.parametrize("shape", [(40, 7), (7, 40)])
def test_no_penalty_gives_the_shortest_answer(shape):
    X, y = data(*shape)
    found, _ = solve(Design(X), y, 0.0)
    np.testing.assert_allclose(found.value.w, np.linalg.pinv(X) @ y, atol=1e-10)
    X[:, 3] = X[:, 1] - X[:, 2]  # dependent columns
    found, _ = solve(Design(X), y, 0.0)
    np.testing.assert_allclose(found.value.w, np.linalg.pinv(X) @ y, atol=1e-9)


def test_factors_serve_all_targets_and_penalties():
    X, y = data(40, 7)
    factors = RidgeFactors(Design(X))
    gram = FeatureGram.of_rows(X)
    for target in (y, -2 * y + 1):
        for alpha in (0.5, 2.0, 0.5):
            found = factors.run(LassoProblem(target, 0.0, alpha), gram, Budget(), None)
            np.testing.assert_allclose(found.value.w, closed_form(X, target, alpha), atol=1e-12)
    assert len(factors._factors) == 2


def test_a_matrix_that_is_not_definite_is_no_factor():
    factors = RidgeFactors(Design(np.eye(3)))
    with pytest.raises(linalg.LinAlgError, match="not positive definite"):
        factors._solve(-2.0, np.ones(3))


@pytest.mark.parametrize("gap", [1e-3, 1e-30])
def test_a_gap_that_was_seen_is_that_before_the_last_step(gap):
    X, y = data(40, 7)
    found, problem = solve(Design(X), y, 0.5, gap=gap)
    assert found.gap_seen == (gap == 1e-3)
    w = closed_form(X, y, 0.5)
    np.testing.assert_allclose(found.value.w, w, atol=1e-12)
    judged = problem.evaluate(Design(X), w)
    assert found.value.bounds.primal == pytest.approx(judged.bounds.primal)
    assert not solve(Design(X), y, 0.5)[0].gap_seen
    strict, _ = solve(Design(X), y, 0.5, gap=1e-3, tol=1e-30)
    assert not strict.gap_seen


def test_float32_columns_are_refined_or_given_up():
    random = np.random.default_rng(2)
    short = random.normal(size=(200, 5)).astype(np.float32)
    X = short.astype(float)
    means, y = X.mean(axis=0), random.normal(size=200)
    for spread in (1.0, 3e-4):  # nearly equal columns have digits that float32 has not
        short[:, 4] = short[:, 3] + np.float32(spread) * short[:, 4]
        X = short.astype(float)
        means = X.mean(axis=0)
        found, _ = solve(Design(X, means, short=short), y, 1e-3)
        exact = closed_form(X - means, y, 1e-3)
        np.testing.assert_allclose(found.value.w, exact, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-10])
def test_steps_on_sparse_data_end_at_a_tenth_of_the_gap(tol):
    X, y = data(3000, 400, thin=True)
    X *= np.random.default_rng(1).random(X.shape) < 0.1
    design, problem = Design(sparse.csc_array(X)), LassoProblem(y, 0.0, 1.0)
    found = RidgeFactors(design)._by_steps(problem, Budget(tol=tol, gap=tol))
    assert found is not None
    assert found.gap_seen
    w = found.value.w
    judged = problem.evaluate(design, w)
    assert found.value.bounds.primal == pytest.approx(judged.bounds.primal, rel=1e-9)
    assert found.value.bounds.dual == pytest.approx(judged.bounds.dual, rel=1e-9)
    slopes = X.T @ (y - X @ w) - w
    primal = ((y - X @ w) ** 2).sum() / 2 + w @ w / 2
    assert slopes @ slopes / 2 <= 0.11 * tol * primal
    assert slopes @ slopes / 2 > 1e-6 * tol * primal  # and not much later


@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
def test_steps_that_cost_more_than_a_factor_are_not_taken(shape):
    X, y = data(*shape, thin=True)
    factors = RidgeFactors(Design(sparse.csc_array(X)))
    assert factors._by_steps(LassoProblem(y, 0.0, 1e-3), Budget(tol=1e-12)) is None


@pytest.mark.parametrize(("rows", "columns", "least"), [(21, 20, 21), (20, 21, 21), (21, 20, 20)])
def test_large_sparse_data_are_solved_by_lsqr(rows, columns, least):
    X, y = data(rows, columns, thin=True)
    design = Design(sparse.csc_array(X))
    found, problem = solve(design, y, 0.7, largest_factor=least - 2, tol=1e-8)
    np.testing.assert_allclose(found.value.w, closed_form(X, y, 0.7), atol=1e-4)
    assert found.iterations > 1
    assert problem.optimal(found.value, 1e-8)
    factored, _ = solve(design, y, 0.7, largest_factor=min(rows, columns), tol=1e-8)
    assert factored.iterations == 0


def test_lsqr_goes_on_until_the_gap_is_small_or_rounding_is_met():
    X, y = data(80, 30, thin=True)
    design, problem = Design(sparse.csc_array(X)), LassoProblem(y, 0.0, 1e-6)
    rough = least_squares._by_lsqr(problem, design, Budget(tol=1e-2))
    fine = least_squares._by_lsqr(problem, design, Budget(tol=1e-12))
    assert rough.status == fine.status == "optimal"
    assert rough.iterations <= 80
    assert fine.iterations <= 80
    assert problem.optimal(fine.value, 1e-12)
    never = least_squares._by_lsqr(problem, design, Budget(tol=0.0))
    assert never.status == "optimal"
    short = least_squares._by_lsqr(problem, design, Budget(tol=1e-12, max_iter=2))
    assert short.status == "max_iter"
    assert short.iterations == 2


@pytest.mark.parametrize("positive", [False, True])
def test_plain_squares(positive):
    X, y = data(30, 6)
    problem = LassoProblem(y - 4 * X[:, 5], 0.0, 0.0, positive)
    found = PlainLeastSquares().solve(problem, FeatureGram.of_rows(X), Budget())
    w = found.value.w
    pull = X.T @ (problem.y - X @ w)
    if positive:
        assert w.min() == 0.0
        assert pull.max() <= 1e-10
        np.testing.assert_allclose(pull[w > 0], 0.0, atol=1e-10)
    else:
        np.testing.assert_allclose(pull, 0.0, atol=1e-10)


# ---- nearly all digits --------------------------------------------------------------------------


def exact_squares(A, b):
    """Solve the normal equations in rational numbers."""
    rows = [[Fraction(float(z)) for z in row] for row in A]
    d = len(rows[0])
    N = [
        [sum(r[i] * r[j] for r in rows) for j in range(d)]
        + [sum(r[i] * Fraction(float(z)) for r, z in zip(rows, b, strict=True))]
        for i in range(d)
    ]
    for k in range(d):
        pivot = next(i for i in range(k, d) if N[i][k] != 0)
        N[k], N[pivot] = N[pivot], N[k]
        for i in range(d):
            if i != k:
                share = N[i][k] / N[k][k]
                N[i] = [a - share * c for a, c in zip(N[i], N[k], strict=True)]
    return np.array([float(N[k][d] / N[k][k]) for k in range(d)])


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-6])
def test_powers_of_a_number_have_nearly_all_digits(unit):
    t = np.linspace(0, 1, 12)
    A = unit * t[:, None] ** np.arange(7)
    A[:, 2] *= 1e5
    b = np.exp(t) + 0.1 * np.cos(20 * t)
    found = accurate(A, b)
    assert found.rank == 7
    np.testing.assert_allclose(found.x, exact_squares(A, b), rtol=1e-11)


def test_ranks_and_shortest_answers():
    random = np.random.default_rng(3)
    A, b = random.normal(size=(9, 4)), random.normal(size=9)
    low = np.column_stack([A, A[:, 0] + A[:, 1], np.zeros(9)])
    found = accurate(low, b)
    assert found.rank == 4
    np.testing.assert_allclose(found.x, np.linalg.pinv(low) @ b, atol=1e-12)
    np.testing.assert_allclose(shortest(low, b), np.linalg.pinv(low) @ b, atol=1e-12)
    wide = accurate(A.T, b[:4])
    assert wide.rank == 4
    np.testing.assert_allclose(wide.x, np.linalg.pinv(A.T) @ b[:4], atol=1e-12)
    none = accurate(np.zeros((3, 2)), b[:3])
    assert none.rank == 0
    np.testing.assert_array_equal(none.x, np.zeros(2))


def test_singular_values_at_the_limit_of_the_rank():
    # max(9, 2) ε: a share above it counts, one below is rounding.
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(9, 2)))[0]
    b = Q[:, 1]
    for share, ranks in ((40 * U, 2), (2 * U, 1)):
        A = Q * [1.0, share]
        found = shortest(A, b)
        assert (abs(found[1]) > 1e3) == (ranks == 2)
        # accurate scales columns to length 1 first, so that a short one is as good as any
        assert accurate(A, b).rank == 2
        V = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
        assert accurate((Q * [1.0, share]) @ V, b).rank == ranks


def test_badly_conditioned_columns_are_refined():
    t = np.linspace(10, 11, 40)
    X = t[:, None] ** np.arange(1, 6)
    y = np.sin(t)
    means = X.mean(axis=0)
    exact = exact_squares(np.column_stack([X, np.ones(40)]), y)
    found, _ = solve(Design(X, means), y - y.mean(), 0.0)
    np.testing.assert_allclose(found.value.w, exact[:5], rtol=1e-6)
    weights = np.linspace(0.5, 2, 40)
    heavy = Design(X, np.average(X, axis=0, weights=weights), weights)
    root = np.sqrt(weights)
    centred = y - np.average(y, weights=weights)
    found, _ = solve(heavy, root * centred, 0.0)
    exact = exact_squares(np.column_stack([X, np.ones(40)]) * root[:, None], root * y)
    np.testing.assert_allclose(found.value.w, exact[:5], rtol=1e-6)
    plain, _ = solve(Design(X), y, 0.0)
    np.testing.assert_allclose(plain.value.w, exact_squares(X, y), rtol=1e-6)
    thin, _ = solve(Design(sparse.csc_array(X)), y, 0.0)
    np.testing.assert_allclose(thin.value.w, exact_squares(X, y), rtol=1e-6)


def test_the_second_solve_takes_away_what_the_first_has_left():
    # The third column is nearly the sum of the others: the normal equations lose ten digits.
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + 1e-5 * X[:, 2]
    y, alpha = random.normal(size=60), 1e-9
    factors = RidgeFactors(Design(X))
    once = factors._solve(alpha, X.T @ y)
    found = factors.run(LassoProblem(y, 0.0, alpha), FeatureGram.of_rows(X), Budget(), None)
    # The exact answer, by elimination in rational numbers.
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    system = [
        [sum(r[i] * r[j] for r in rows) + Fraction(alpha) * (i == j) for j in range(3)]
        + [sum(r[i] * Fraction(t) for r, t in zip(rows, y.tolist(), strict=True))]
        for i in range(3)
    ]
    for i in range(3):
        system[i] = [v / system[i][i] for v in system[i]]
        for j in range(3):
            if j != i:
                system[j] = [
                    v - system[j][i] * u for v, u in zip(system[j], system[i], strict=True)
                ]
    exact = np.array([float(row[3]) for row in system])
    away = np.abs(once - exact).max()
    assert away > 1e-9 * np.abs(exact).max()
    assert np.abs(found.value.w - exact).max() < away / 4


def test_directions_that_are_rounding_count_as_none():
    # Singular values 1 and s: kept above max(n, p)·ε of the largest.
    for n in (10, 40):
        for share, rank in ((0.5, 1), (2.0, 2)):
            U = np.linalg.qr(np.random.default_rng(n).normal(size=(n, 2)))[0]
            X = U * [1.0, share * n * np.finfo(float).eps]
            w = shortest(X, U @ np.ones(2))
            assert np.count_nonzero(np.abs(w) > 1e3) == rank - 1


@pytest.mark.parametrize("unit", [1e-20, 1e20])
@pytest.mark.parametrize("shape", [(40, 7), (7, 40)])
def test_no_penalty_in_any_unit(shape, unit):
    X, y = data(*shape)
    X[:, 3] = X[:, 1] - X[:, 2]
    found, _ = solve(Design(unit * X), y, 0.0)
    np.testing.assert_allclose(unit * found.value.w, np.linalg.pinv(X) @ y, atol=1e-9)


def test_a_matrix_of_zeros_has_the_rank_0():
    found = accurate(np.zeros((4, 2)), np.ones(4))
    assert found.rank == 0
    assert found.x.tolist() == [0.0, 0.0]
    whole = accurate(np.diag([1.0, 1e-8]), np.ones(2))
    assert whole.rank == 2
    np.testing.assert_allclose(whole.x, [1.0, 1e8])
    part = accurate(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([2.0, 4.0]))
    assert part.rank == 1
    np.testing.assert_allclose(part.x, [1.0, 1.0])


def test_a_gap_that_the_slopes_bound_is_seen():
    X, y = data(40, 7)
    alpha, design = 0.5, Design(X)
    factors = RidgeFactors(design)
    w = factors._solve(alpha, design.correlate(y))
    r = y - design.dot(w)
    slopes = design.correlate(r) - alpha * w
    share = float(slopes @ slopes) / (2 * alpha) / (float(r @ r + alpha * w @ w) / 2)
    problem, gram = LassoProblem(y, 0.0, alpha), FeatureGram.of_rows(X)
    assert 0 < share < 1e-20
    for gap, tol, seen in (
        (2.0, 9.0, True),
        (9.0, 2.0, True),
        (0.5, 9.0, False),
        (9.0, 0.5, False),
    ):
        budget = Budget(tol=tol * share, gap=gap * share)
        assert factors.run(problem, gram, budget, None).gap_seen is seen
    assert not factors.run(problem, gram, Budget(tol=1.0), None).gap_seen
