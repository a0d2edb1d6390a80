"""Newton's method in one call, against a general minimiser and against the method for all sizes."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from mercer import _fast
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.linear import classifier, regressor
from mercer.solvers.base import Budget
from mercer.solvers.linear import squared_newton
from mercer.solvers.linear.linear_newton import LinearNewton
from mercer.solvers.linear.squared_newton import SquaredNewton, is_small

BUDGET = Budget(tol=1e-4, max_iter=1000, gap=1e-6)
SHAPES = [(1, 1), (2, 7), (40, 3), (60, 140), (300, 12)]


def problems(rows, columns, C):
    random = np.random.default_rng(rows + columns)
    X = random.normal(size=(rows, columns))
    value = X @ random.normal(size=columns) + random.normal(size=rows)
    costs = C * random.uniform(0.5, 2, size=rows)
    gram = FeatureGram.of_rows(X)
    yield gram, classifier(np.where(value > 0, 1.0, -1.0), costs, True, 1.0)
    yield gram, regressor(value, costs, 0.3, True)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_ends_at_rounding(shape, C):
    for gram, problem in problems(*shape, C):
        assert is_small(problem, problem.rows(gram))
        found = SquaredNewton(LinearNewton(0)).solve(problem, gram, BUDGET)
        w, beta = found.value
        assert found.status == "optimal"
        left = w - problem.rows(gram).combine(beta)
        assert np.linalg.norm(left) <= 1e-9 * (1 + np.linalg.norm(w))
        judged = problem.certify(found.value, gram)
        assert abs(judged.relative_gap) <= 1e-12
        other = LinearNewton(0).solve(problem, gram, BUDGET)
        # Of a strongly convex function: half the squared distance is no more than the gap.
        gap = max(problem.certify(other.value, gram).gap, 0.0) + 1e-12 * judged.primal
        assert np.linalg.norm(w - other.value.w) ** 2 / 2 <= 2 * gap


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_sparse_rows_have_the_answer_of_dense_ones(C):
    random = np.random.default_rng(3)
    X = random.normal(size=(500, 20)) * (random.random((500, 20)) < 0.3)
    value = X @ random.normal(size=20) + 0.3 * random.normal(size=500)
    signs, costs = np.where(value > 0, 1.0, -1.0), C * random.uniform(0.5, 2, size=500)
    for problem in (classifier(signs, costs, True, 2.0), regressor(value, costs, 0.2, True)):
        grams = [FeatureGram.of_rows(layout(X)) for layout in (np.asarray, sparse.csr_array)]
        assert all(is_small(problem, problem.rows(gram)) for gram in grams)
        dense, thin = (
            SquaredNewton(LinearNewton(0)).solve(problem, gram, BUDGET) for gram in grams
        )
        assert thin.status == "optimal"
        assert problem.certify(thin.value, grams[1]).relative_gap < 1e-8
        np.testing.assert_allclose(
            thin.value.w, dense.value.w, atol=1e-3 * abs(dense.value.w).max()
        )
    wide = classifier(signs[:10], costs[:10], True, 1.0)
    assert not is_small(wide, wide.rows(FeatureGram.of_rows(sparse.csr_array(X[:10]))))


def test_a_general_minimiser_finds_the_same():
    for gram, problem in problems(30, 4, 2.0):
        rows = problem.rows(gram)

        def objective(w, problem=problem, rows=rows):
            return w @ w / 2 + problem.losses(problem.p - rows.dot(w)).sum()

        w = SquaredNewton(LinearNewton(0)).solve(problem, gram, BUDGET).value.w
        least = minimize(objective, np.zeros_like(w), method="BFGS", options={"gtol": 1e-9}).x
        np.testing.assert_allclose(w, least, atol=1e-6)


def test_from_the_answer_no_step_is_needed():
    for gram, problem in problems(50, 5, 1.0):
        first = SquaredNewton(LinearNewton(0)).solve(problem, gram, BUDGET)
        again = SquaredNewton(LinearNewton(0)).solve(problem, gram, BUDGET, first.value)
        assert first.statistics.iterations > 1
        assert again.statistics.iterations <= 1
        np.testing.assert_allclose(again.value.w, first.value.w, rtol=1e-12)


def test_too_few_steps_are_said_to_be_too_few():
    for gram, problem in problems(300, 12, 1e3):
        assert (
            SquaredNewton(LinearNewton(0)).solve(problem, gram, BUDGET.but(max_iter=1)).status
            == "max_iter"
        )


def test_large_and_other_problems_are_for_others():
    gram, problem = next(problems(300, 12, 1.0))
    hinge = classifier(problem.p, np.ones(300), False, 1.0)
    assert not is_small(hinge, hinge.rows(gram))
    gram, problem = next(problems(200, 200, 1.0))
    assert not is_small(problem, problem.rows(gram))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_another_method_goes_on_where_the_gap_is_too_large(scale, monkeypatch):
    (gram, problem), _ = problems(40, 3, 1.0)
    asked = []

    class Other(LinearNewton):
        def run(self, *arguments):
            asked.append(1)
            return super().run(*arguments)

    def ends(square, primal, tol, gap):
        asked.clear()
        with monkeypatch.context() as patch:
            patch.setattr(
                squared_newton, "_minimise", lambda *_: (3, scale * square, scale * primal)
            )
            SquaredNewton(Other(0)).solve(problem, gram, Budget(tol=tol, gap=gap))
        return not asked

    # Half the square of the gradient, as a share of the objective.
    assert ends(0.02, 10.0, 1.01e-3, np.inf)
    assert not ends(0.02, 10.0, 0.99e-3, np.inf)
    assert not ends(0.02, 10.0, 1.01e-3, 0.99e-3)
    assert ends(0.02, 10.0, 1.01e-3, 1.01e-3)
    assert ends(0.02, 0.0, 1.01e-2 * scale, np.inf)
    assert not ends(0.02, 0.0, 0.99e-2 * scale, np.inf)


def test_a_line_search_ends_where_rounding_hides_the_slope():
    """Without that it would try sixty steps, each a pass over all rows, and take one of them."""
    random = np.random.default_rng(0)
    x, u = random.normal(size=500), 1e-20 * random.normal(size=500)
    everywhere = np.ones(500), np.full(500, -np.inf), np.full(500, np.inf), 0.0
    first, _, size = _fast.piecewise.slope(x, u, 0.0, *everywhere)
    np.testing.assert_allclose(size, np.abs(x * u).sum())
    t = _fast.piecewise.line_search(x, u, *everywhere, -first + 1e-16 * size, 0.0)
    assert t == 1.0
