"""Manifold regularisation taken apart: a subspace, a column and a Newton step, densely."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems.manifold import ManifoldProblem, ManifoldProblems, Roughness
from mercer.solvers import manifold_newton
from mercer.solvers.base import Budget, Status
from mercer.solvers.manifold_newton import ManifoldNewton, Subspace, _Column, _NewtonDescent

N = 40


def table(hinge=False, intercept=True, a=0.3):
    random = np.random.default_rng(3)
    X = random.normal(size=(N, 2))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    W = np.exp(-D) * (D < 1.0)
    L = np.diag(W.sum(axis=1)) - W
    K = np.exp(-0.5 * D) + 1e-6 * np.eye(N)
    rows = np.arange(0, N, 3)
    y = np.sign(X[rows, 0] + 0.2) if hinge else X[rows, 0] + 0.1 * random.normal(size=len(rows))
    w = random.uniform(0.5, 2.0, len(rows))
    problem = ManifoldProblem(rows, y, w, a, Roughness(sparse.csr_array(L), 0.1), hinge, intercept)
    return K, L, problem


def objective(problem, K, L, c, bias):
    f = K @ c
    e = problem.errors(f[problem.rows], bias)
    return problem.weights @ e**2 / 2 + problem.penalty * c @ f / 2 + 0.1 * f @ L @ f / 2


def subspace(K, problem, columns=25):
    return Subspace(K[:, :columns], problem, lambda V: K @ V)


@pytest.mark.parametrize("hinge", [False, True])
def test_a_basis_is_orthonormal_and_its_matrix_is_h(hinge):
    K, L, problem = table(hinge)
    space = subspace(K, problem)
    m = len(space.base)
    unit = np.eye(m)
    C, V = space.coef(unit), space.values(unit)
    assert_allclose(V, K @ C, atol=1e-6)
    assert_allclose(C.T @ K @ C, unit, atol=1e-6)
    assert_allclose(space.base, problem.penalty * unit + 0.1 * V.T @ L @ V, atol=1e-6)
    r = np.random.default_rng(0).normal(size=(N, 2))
    assert_allclose(space.project(r), V.T @ r, atol=1e-7)
    assert_allclose(space.values_at(problem.rows), V[problem.rows], atol=1e-9)
    d = np.where(np.arange(len(problem.rows)) % 2, problem.weights, 0.0)
    f = V[problem.rows]
    H = space.base + f.T @ (d[:, None] * f)
    H -= np.outer(d @ f, d @ f) / d.sum()
    x = np.ones(m)
    assert_allclose(linalg.cho_solve(space.factor(problem, d), H @ x), x, atol=1e-6)
    plain = table(hinge, intercept=False)[2]
    H = space.base + f.T @ (d[:, None] * f)
    assert_allclose(linalg.cho_solve(space.factor(plain, d), H @ x), x, atol=1e-6)
    nothing = space.factor(problem, np.zeros(len(d)))
    assert_allclose(linalg.cho_solve(nothing, space.base @ x), x, atol=1e-6)


@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_best_function_of_the_subspace(hinge, intercept):
    K, L, problem = table(hinge, intercept)
    space = subspace(K, problem)
    v = space.minimise(problem)

    def value(v):
        c = space.coef(v)
        return objective(problem, K, L, c, problem.best_bias((K @ c)[problem.rows]))

    least = value(v)
    random = np.random.default_rng(1)
    for _ in range(20):
        step = random.normal(size=len(v))
        assert value(v + 1e-3 * step) >= least - 1e-10
        assert value(v - 1e-3 * step) >= least - 1e-10


@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_answers_are_stationary_and_steps_few(hinge, intercept):
    K, L, problem = table(hinge, intercept)
    other = ManifoldProblem(
        problem.rows, -problem.y, problem.weights, problem.penalty, problem.roughness, hinge,
        intercept,
    )  # fmt: skip
    both = ManifoldProblems([problem, other])
    gram = GivenGram(K, Definite.POSITIVE)
    found = ManifoldNewton().solve(both, gram, Budget(tol=1e-9))
    assert found.status is Status.OPTIMAL
    assert found.statistics.iterations <= 20
    for j, part in enumerate(both.parts):
        c, b = found.value.coef[:, j], found.value.bias[j]
        f = K @ c
        e = part.weights * part.errors(f[part.rows], b)
        slope = part.penalty * c + 0.1 * L @ f
        slope[part.rows] -= e
        assert slope @ K @ slope <= 1e-6
        assert not intercept or abs(e.sum()) <= 1e-5
    assert_allclose(found.value.coef[:, 0], -found.value.coef[:, 1], atol=1e-4)
    again = ManifoldNewton().solve(both, gram, Budget(tol=1e-8), found.value)
    assert again.statistics.iterations <= 5
    for limits, status in (
        ({"max_iter": 1}, Status.MAX_ITER),
        ({"deadline": 0.0}, Status.TIME_LIMIT),
        ({"monitor": lambda gap: True}, Status.INTERRUPTED),
    ):
        ended = ManifoldNewton().solve(both, gram, Budget(tol=1e-15, **limits))
        assert ended.status in (status, Status.OPTIMAL)
        assert ended.statistics.iterations <= 3


def test_a_column_and_its_goal():
    K, _, problem = table(True)
    run = _NewtonDescent(
        ManifoldProblems([problem]), GivenGram(K), subspace(K, problem), Budget(tol=1e-3), None
    )
    assert run.products == 1
    column = _Column(run, 0)
    f = run.values[:, 0]
    bias = problem.best_bias(f[problem.rows])
    value = problem.value(run.coef[:, 0], f, bias)
    assert column.goal == pytest.approx(0.5e-3 * value)
    assert_allclose(column.beta, problem.weights * problem.errors(f[problem.rows], bias))
    u = np.random.default_rng(4).normal(size=len(problem.rows))
    bent = column.d * u
    assert_allclose(column.bend(u), bent - column.d * bent.sum() / column.d.sum())
    assert column.bends_alike(column.u)
    assert not column.bends_alike(column.u + 10 * problem.y)
    first = run.factor(column)
    assert run.factor(column) is first


def test_a_newton_step_solves_the_newton_system():
    for hinge in (False, True):
        K, L, problem = table(hinge)
        run = _NewtonDescent(
            ManifoldProblems([problem]), GivenGram(K), subspace(K, problem, 8), Budget(tol=1e-13),
            None,
        )  # fmt: skip
        column = _Column(run, 0)
        G = run.a * run.coef + run.roughness(run.values)
        G[problem.rows, 0] -= column.beta
        found = run._newton_step([column], G, np.array([True]))
        D = np.zeros((N, N))
        D[np.ix_(problem.rows, problem.rows)] = np.diag(column.d) - np.outer(column.d, column.d) / column.d.sum()  # fmt: skip  # noqa: E501
        H = run.a * np.eye(N) + (0.1 * L + D) @ K
        expected = np.linalg.solve(H, -G[:, 0])
        assert_allclose(K @ found.step[:, 0], K @ expected, atol=1e-5)
        assert_allclose(found.values[:, 0], K @ found.step[:, 0], atol=1e-7)
        assert found.first[0] == pytest.approx(G[:, 0] @ K @ G[:, 0] / (2 * run.a), rel=1e-6)
        assert found.last[0] <= column.goal or found.stalled[0]


def test_samples_grow_with_stiffness():
    K = np.eye(900) + 1e-3

    def count(stiffness, n=900):
        return ManifoldNewton().sample(GivenGram(K[:n, :n]), stiffness).shape

    assert count(1.0) == (900, 32)
    assert count(25.0) == (900, 50)
    assert count(1e9) == (900, 240)
    assert count(1.0, 20) == (20, 20)
    sample = ManifoldNewton().sample(GivenGram(K), 1.0)
    assert len(np.unique(sample, axis=1).T) == 32


def test_bands_and_bases():
    V = np.random.default_rng(5).normal(size=(7, 70))
    assert_allclose(manifold_newton._in_bands(lambda W: 2 * W, V), 2 * V)
    Y = np.column_stack([V[:, :3], V[:, 0] + V[:, 1]])
    Q = manifold_newton._orthonormal(Y)
    assert Q.shape == (7, 3)
    assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)
    assert_allclose(Q @ (Q.T @ Y), Y, atol=1e-9)


def test_the_search_halves_until_it_falls():
    _, _, problem = table()
    u = np.zeros(len(problem.rows))
    du = problem.y - problem.best_bias(u)
    slope = -float(problem.weights @ (problem.errors(u, problem.best_bias(u)) * du))
    assert manifold_newton._search(problem, u, du, slope, 0.0, 0.0) == 1.0
    assert manifold_newton._search(problem, u, 6 * du, 6 * slope, 0.0, 0.0) == 0.25
    assert manifold_newton._search(problem, u, -du, slope, 0.0, 0.0) == 0.0
    steep = float(problem.weights @ du**2)
    assert manifold_newton._search(problem, u, du, slope, 0.0, 3 * steep) == 0.25


def test_bases_do_not_depend_on_the_unit():
    K, _, problem = table()
    whole = subspace(K, problem)
    for unit in (2.0**-40, 2.0**40):
        assert len(subspace(unit * K, problem).base) == len(whole.base)
        Y = np.random.default_rng(6).normal(size=(7, 3))
        Q = manifold_newton._orthonormal(unit * Y)
        assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)


def test_a_column_that_is_good_enough_stays():
    K, _, problem = table()
    gram = GivenGram(K, Definite.POSITIVE)
    best = ManifoldNewton().solve(ManifoldProblems([problem]), gram, Budget(tol=1e-10)).value
    run = _NewtonDescent(
        ManifoldProblems([problem]), gram, subspace(K, problem), Budget(tol=1e-4), best
    )
    assert run.products == 2
    before = run.coef.copy()
    run.descend()
    np.testing.assert_array_equal(run.coef, before)


def test_two_problems_are_judged_by_the_worse():
    K, _, problem = table()
    rough = ManifoldProblem(
        problem.rows, 100 * problem.y**3, problem.weights, problem.penalty, problem.roughness,
        False, True,
    )  # fmt: skip
    gram = GivenGram(K, Definite.POSITIVE)
    for order in ([problem, rough], [rough, problem]):
        found = ManifoldNewton().solve(ManifoldProblems(order), gram, Budget(tol=1e-9))
        assert found.status is Status.OPTIMAL
        assert found.certificate.relative_gap <= 1e-8


class Counted(GivenGram):
    """Counts the products that are asked of it."""

    def __init__(self, K):
        super().__init__(K, Definite.POSITIVE)
        self.products = 0

    def multiply(self, V):
        self.products += 1
        return super().multiply(V)

    def in_precision(self, dtype):
        return self


@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_steps_are_products_with_the_matrix(hinge, tol):
    K, _, problem = table(hinge)
    gram = Counted(K)
    found = ManifoldNewton().run(ManifoldProblems([problem]), gram, Budget(tol=tol), None)
    assert found.iterations == gram.products > 2
    gram.products = 0
    again = ManifoldNewton().run(ManifoldProblems([problem]), gram, Budget(tol=tol), found.value)
    assert again.iterations == gram.products
    for most in range(2, found.iterations):
        gram.products = 0
        cut = ManifoldNewton().run(
            ManifoldProblems([problem]), gram, Budget(tol=1e-15, max_iter=most), None
        )
        assert cut.iterations == gram.products <= most + 2
