"""The Newton matrix of logistic regression against products with it, and biases that follow."""

import numpy as np
import pytest
from scipy import sparse

from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems.linear import DesignRows
from mercer.problems.logistic import LinearLogisticProblem, LogisticProblem
from mercer.solvers.linear import logistic_spaces
from mercer.solvers.linear.logistic_spaces import Element, FunctionSpace, WeightSpace


def case(classes, intercept, constant):
    random = np.random.default_rng(classes)
    X, labels = random.normal(size=(70, 4)) + 3.0, random.integers(classes, size=70)
    C = random.uniform(0.1, 2.0, 70)
    problem = LinearLogisticProblem(labels, C, classes, intercept, constant=constant)
    space = WeightSpace(DesignRows(X, constant), 1_000)
    W = random.normal(size=(space.length, problem.functions))
    return problem, space, W, random.normal(size=W.shape)


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_newton_matrix_is_the_second_derivative(classes, intercept, constant):
    problem, space, W, step = case(classes, intercept, constant)
    view = problem.with_best_bias(space.values(W))
    H = space._hessian(problem, view)
    expected = space.adjoint(problem.second_derivative(view)(space.values(step)))
    found = (H @ step.T.ravel()).reshape(step.T.shape).T
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_biases_move_as_predicted(classes):
    problem, space, W, step = case(classes, True, 0.0)
    F, U, size = space.values(W), space.values(step), 1e-5
    view = problem.with_best_bias(F)
    after = problem.with_best_bias(F + size * U, view.bias).bias
    before = problem.with_best_bias(F - size * U, view.bias).bias
    expected = (after - before) / (2 * size)
    # All biases of several classes may move together, which changes nothing.
    found = problem.bias_along(view, U)
    if classes > 2:
        found, expected = found - found.mean(), expected - expected.mean()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_biases_stay_at_zero_where_there_are_none():
    problem, space, W, step = case(3, False, 0.0)
    view = problem.with_best_bias(space.values(W))
    assert not problem.bias_along(view, space.values(step)).any()


# ---- weights of columns -------------------------------------------------------------------------


def exact_step(problem, space, view, R):
    """Solve H s = r, H the second derivative with its penalty, by products with each unit."""
    size, bend = R.size, problem.second_derivative(view)
    H = np.empty((size, size))
    for j in range(size):
        unit = np.zeros(size)
        unit[j] = 1.0
        P = unit.reshape(R.shape)
        H[:, j] = (space.adjoint(bend(space.values(P))) + problem.penalised * P).ravel()
    return np.linalg.solve(H, R.ravel()).reshape(R.shape)


def larger(n, d, classes=2, thin=False, penalised=True, constant=0.0, intercept=True, limit=1_000):
    random = np.random.default_rng(n)
    X, labels = random.normal(size=(n, d)), random.integers(classes, size=n)
    C = random.uniform(0.1, 2.0, n)
    problem = LinearLogisticProblem(labels, C, classes, intercept, penalised, constant=constant)
    rows = DesignRows(sparse.csr_array(X) if thin else X, constant)
    space = WeightSpace(rows, limit)
    W = 0.1 * random.normal(size=(space.length, problem.functions))
    R = Element(space, random.normal(size=W.shape))
    return problem, space, problem.with_best_bias(space.values(W)), R


def test_elements_are_vectors():
    _, space, W, step = case(3, True, 2.0)
    a, b = Element(space, W), Element(space, step)
    assert not a.known
    both = a.plus(0.5, b)
    assert not both.known
    np.testing.assert_array_equal(both.coef, W + 0.5 * step)
    X = np.column_stack([space.rows.X, np.full(70, 2.0)])
    np.testing.assert_allclose(a.values, X @ W)
    assert a.known
    assert not a.plus(0.5, b).known
    assert b.values.shape == (70, 3)
    both = a.plus(0.5, b)
    assert both.known
    np.testing.assert_allclose(both.values, X @ (W + 0.5 * step))
    minus = a.opposite()
    assert minus.known
    np.testing.assert_array_equal(minus.coef, -W)
    np.testing.assert_allclose(minus.values, -X @ W)
    assert not Element(space, W).opposite().known
    assert a.dot(b) == pytest.approx((W * step).sum())
    assert space.size(a) == np.abs(W).max()
    assert space.small
    assert space.length == 5


@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize(("classes", "constant"), [(2, 0.0), (2, 1.5), (3, 0.0)])
def test_newton_steps_by_products(classes, constant, thin, penalised):
    problem, space, view, R = larger(
        80, 6, classes, thin, penalised, constant, intercept=not constant
    )
    if not penalised and classes > 2:  # all functions may move together
        R = Element(space, R.coef - R.coef.mean(axis=1, keepdims=True))
    found = space.iterate(problem, view, R, 1e-10)
    bent = space.adjoint(problem.second_derivative(view)(space.values(found)))
    np.testing.assert_allclose(bent + found if penalised else bent, R.coef, atol=1e-7)
    rough = space.iterate(problem, view, R, 0.5)
    assert np.abs(rough - found).max() > 1e-6


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("penalised", [True, False])
def test_the_diagonal_is_that_of_each_weight(penalised, thin):
    problem, space, view, _ = larger(60, 4, 3, thin, penalised, 1.5, intercept=False)
    X = space.rows.X.toarray() if thin else space.rows.X
    X = np.column_stack([X, np.full(60, 1.5)])
    expected = (X**2).T @ (problem.C[:, None] * view.P * (1 - view.P)) + penalised
    np.testing.assert_allclose(space._diagonal(problem, view), expected)


def test_the_diagonal_of_an_empty_column_is_tiny():
    problem, space, view, _ = larger(60, 4, penalised=False)
    space.rows.X[:, 1] = 0.0
    diagonal = space._diagonal(problem, view)[:, 0]
    assert diagonal[1] == pytest.approx(1e-12 * diagonal.max(), rel=1e-9, abs=0)
    space.rows.X[:] = 0.0
    space.squares = None
    np.testing.assert_allclose(space._diagonal(problem, view), 1e-312, rtol=1e-3)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize(("n", "d", "rows"), [(20, 30, True), (250, 260, True), (251, 260, False)])
def test_wide_systems_are_solved_by_rows(n, d, rows, thin):
    problem, space, view, R = larger(n, d, thin=thin)
    found = space.solve(problem, view, R)
    assert (space.outer is not None) == rows
    assert (space.factor is None) == rows
    if n < 100:
        np.testing.assert_allclose(found, exact_step(problem, space, view, R.coef), atol=1e-9)
    left = found + space.adjoint(problem.second_derivative(view)(space.values(found))) - R.coef
    assert np.abs(left).max() <= 1e-9


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("thin", [False, True])
def test_wide_systems_with_a_constant(thin, constant, intercept):
    problem, space, view, R = larger(20, 30, thin=thin, constant=constant, intercept=intercept)
    found = space.solve(problem, view, R)
    np.testing.assert_allclose(found, exact_step(problem, space, view, R.coef), atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "options", "ways"),
    [
        ((20, 30), {"classes": 3}, "factor"), ((20, 20), {"thin": True}, "factor"),
        ((20, 30), {"penalised": False}, "factor"), ((20, 20), {}, "factor"),
        ((60, 10), {"limit": 10}, "factor"), ((60, 10), {"limit": 9}, "none"),
        ((60, 10), {"limit": 29, "classes": 3}, "none"),
        ((60, 10), {"limit": 30, "classes": 3}, "factor"),
        ((60, 10), {"classes": 3, "thin": True}, "none"), ((60, 10), {"thin": True}, "factor"),
    ],
)  # fmt: skip
def test_which_systems_are_factored(shape, options, ways):
    problem, space, view, R = larger(*shape, **options)
    found = space.solve(problem, view, R)
    assert space.outer is None
    assert (found is None) == (ways == "none")
    assert (space.factor is None) == (ways == "none")
    if found is not None and options.get("penalised", True):
        np.testing.assert_allclose(found, exact_step(problem, space, view, R.coef), atol=1e-9)


def test_old_factors_guide_steps_while_they_are_good():
    # 300 · 120² numbers are more than are formed in each step.
    problem, space, view, R = larger(300, 120)
    exact = space.solve(problem, view, R)
    old = space.factor
    near = problem.with_best_bias(space.values(0.01 * R.coef))
    found = space.solve(problem, near, R)
    assert space.factor is old
    fresh = WeightSpace(space.rows, 1_000)
    truth = fresh.solve(problem, near, Element(fresh, R.coef))
    error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    assert 1e-12 < error <= 0.05
    assert error < np.linalg.norm(exact - truth) / np.linalg.norm(truth)
    # A view that has nothing in common with it takes more steps than a factor is worth.
    far = problem.view(space.values(100 * R.coef), np.zeros(1))
    space.solve(problem, far, R)
    assert space.factor is not old
    small = larger(160, 80)
    small[1].solve(small[0], small[2], small[3])
    first = small[1].factor
    small[1].solve(small[0], small[2], small[3])
    assert small[1].factor is not first  # formed anew each time
    free = larger(300, 120, penalised=False)
    free[1].solve(free[0], free[2], free[3])
    first = free[1].factor
    free[1].solve(free[0], free[2], free[3])
    assert free[1].factor is not first


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("constant", [0.0, 1.5])
def test_memories_begin_with_a_diagonal(thin, constant):
    problem, space, view, _ = larger(300, 120, thin=thin, constant=constant)
    X = space.rows.X.toarray() if thin else space.rows.X
    if constant:
        X = np.column_stack([X, np.full(300, constant)])
    found = space.memory(problem, view).diagonal
    curvatures = problem.curvatures(view)
    same = (X**2).sum(axis=0)[:, None] * curvatures.mean()
    expected = (X**2).T @ curvatures if thin else same
    np.testing.assert_allclose(found, 1 + expected)
    small = larger(160, 80, thin=thin)
    assert small[1].memory(small[0], small[2]) is None
    many = larger(10_000, 2, thin=thin)
    assert many[1].memory(many[0], many[2]) is not None
    free = larger(300, 120, penalised=False)
    assert free[1].memory(free[0], free[2]) is None


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalised", [True, False])
def test_hessians_of_many_rows_in_blocks(classes, penalised):
    # 300 columns make blocks of 873 rows for one function and of 290 for three.
    problem, space, view, R = larger(1000, 300, classes)
    H = space._hessian(problem, view)
    expected = space.adjoint(problem.second_derivative(view)(space.values(R.coef)))
    found = (H @ R.coef.T.ravel()).reshape(R.coef.T.shape).T
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_hessians_are_those_of_dense_rows(intercept, constant):
    problem, space, view, _ = larger(60, 5, thin=True, constant=constant, intercept=intercept)
    dense = WeightSpace(DesignRows(space.rows.X.toarray(), constant), 1_000)
    np.testing.assert_allclose(
        space._hessian(problem, view), dense._hessian(problem, view), atol=1e-10
    )


# ---- functions of a kernel ----------------------------------------------------------------------


def functions(classes=2, penalised=True, most=1_000):
    random = np.random.default_rng(1)
    X, labels = random.normal(size=(30, 3)), random.integers(classes, size=30)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    problem = LogisticProblem(labels, random.uniform(0.5, 3, 30), classes, penalised=penalised)
    space = FunctionSpace(GivenGram(K, Definite.POSITIVE), most)
    view = problem.with_best_bias(K @ random.normal(size=(30, problem.functions)))
    return problem, space, view, K, random.normal(size=(30, problem.functions))


def test_functions_are_measured_by_the_kernel():
    _, space, _, K, c = functions(3)
    d = c[::-1].copy()
    expected = np.vdot(c, K @ d)
    for ask in ((False, False), (True, False), (False, True), (True, True)):
        a, b = Element(space, c), Element(space, d)
        for element, known in zip((a, b), ask, strict=True):
            assert not known or element.values.size
        assert space.dot(a, b) == pytest.approx(expected)
        assert (a.known, b.known) == (ask[0], ask[1] or not ask[0])
    assert space.size(Element(space, c)) == pytest.approx(np.abs(K @ c).max())
    assert space.small
    assert space.length == 30
    np.testing.assert_array_equal(space.adjoint(c), c)


@pytest.mark.parametrize("classes", [2, 3])
def test_newton_steps_of_functions(classes):
    problem, space, view, K, c = functions(classes)
    bend = problem.second_derivative(view)
    right = Element(space, c)
    for found in (space.solve(problem, view, right), space.iterate(problem, view, right, 1e-10)):
        if found is None:
            assert classes == 3
            continue
        left = found + bend(K @ found) - c
        assert np.sqrt(np.vdot(left, K @ left)) <= 1e-6
    assert FunctionSpace(GivenGram(K, Definite.POSITIVE), 29).solve(problem, view, right) is None
    assert space.memory(problem, view) is None


def test_newton_steps_of_functions_at_the_limit():
    problem, _, view, K, c = functions()
    space = FunctionSpace(GivenGram(K, Definite.POSITIVE), 30)
    assert space.solve(problem, view, Element(space, c)) is not None


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_newton_matrices_of_tiny_weights(classes, thin):
    # All curvatures together are far below 1, and the bias still follows.
    problem, space, W, _ = case(classes, True, 0.0)
    if thin:
        if classes > 2:
            return
        space = WeightSpace(DesignRows(sparse.csr_array(space.rows.X), 0.0), 1_000)
    view = problem.with_best_bias(space.values(W))
    small = LinearLogisticProblem(problem.labels, 2.0**-20 * problem.C, classes, True)
    less = small.view(space.values(W), view.bias)
    whole, part = space._hessian(problem, view), space._hessian(small, less)
    np.testing.assert_allclose(2.0**20 * part, whole, atol=1e-9 * np.abs(whole).max())


def test_the_matrix_is_held_where_it_fits(monkeypatch):
    K = GivenGram(np.eye(10), Definite.POSITIVE)
    for there, held in ((None, True), (1600, True), (1599, False)):
        monkeypatch.setattr(logistic_spaces._memory, "available_bytes", lambda there=there: there)
        space = FunctionSpace(K)
        assert (space.K is not None) is held
        np.testing.assert_array_equal(space.values(np.ones((10, 1))), np.ones((10, 1)))
        assert (space.length, space.small) == (10, True)


@pytest.mark.parametrize(
    ("shape", "small"),
    [((60_000, 10), True), ((6_000, 100), False), ((3_000, 100), True), ((110_000, 10), False)],
)
def test_matrices_with_wide_rows_are_worth_threads_sooner(shape, small):
    assert WeightSpace(DesignRows(np.zeros(shape)), 1_000).small is small


@pytest.mark.parametrize("thin", [False, True])
def test_secants_are_worth_less_where_few_rows_make_a_small_system(thin):
    problem, space, *_ = larger(250, 400, thin=thin)
    assert space.secants_worth_newton(problem) == 15
    problem, space, *_ = larger(251, 400, thin=thin)
    assert space.secants_worth_newton(problem) == np.inf
