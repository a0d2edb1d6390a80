"""Units do not matter: data in other units take the same steps to the same answer in theirs.

Factors are powers of two, which floats multiply by without rounding: a tolerance, a window or a
stopping rule that forgets a unit shows up as another number of steps, or as other digits.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems import linear, qp
from mercer.problems.elastic_net import LassoProblem
from mercer.problems.norm_regression import NormProblem
from mercer.problems.vector_norms import Lp
from mercer.solvers.base import Budget
from mercer.solvers.linear.lasso import ElasticNetDescent, WorkingSets
from mercer.solvers.linear.least_norm import LeastNorm
from mercer.solvers.linear.linear_newton import LinearNewton
from mercer.solvers.svm.interior import InteriorPoint
from mercer.solvers.svm.smo import SMO

UNITS = [(16.0, 1.0), (1 / 32, 1.0), (1.0, 64.0), (8.0, 1 / 16)]
"""Of the columns (or of the square root of the kernel), and of the targets."""
RANDOM = np.random.default_rng(16)


def table(n, d):
    X = RANDOM.normal(size=(n, d)) * RANDOM.uniform(0.5, 2, size=d)
    return X, X @ RANDOM.normal(size=d) / np.sqrt(d) + RANDOM.normal(size=n)


TALL, WIDE = table(300, 6), table(40, 120)
KERNEL = np.exp(-((TALL[0][:120, None] - TALL[0][:120]) ** 2).sum(axis=2) / 30)


def check_same(found, other, units):
    """Check that an answer is another one in other units, after the same steps."""
    assert other.statistics.iterations == found.statistics.iterations
    assert other.status is found.status
    for name, unit in units.items():
        ours, theirs = (getattr(each.value, name, each.value) for each in (found, other))
        np.testing.assert_allclose(theirs, unit * ours, rtol=0, atol=1e-12 * np.abs(theirs).max())


def linear_problem(kind, y, C):
    if kind == "classes":
        return linear.classifier(np.sign(y), np.full(len(y), C), False, 1.0)
    return linear.regressor(y, np.full(len(y), C), 0.2, kind == "squares", 1.0)


# Of the wide table the relative gap, which has no unit, has to be at most tol too, and decides.
@pytest.mark.parametrize(
    ("data", "a", "b"), [*((TALL, *units) for units in UNITS), *((WIDE, *u) for u in UNITS[:2])]
)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", ["classes", "tube", "squares"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_newton_of_linear_machines(C, kind, layout, data, a, b):
    X, y = data
    problem, tol = linear_problem(kind, y, C), 1e-9
    scaled = replace(
        problem, p=b * problem.p, lo=problem.lo * (b / a**2), hi=problem.hi * (b / a**2),
        D=problem.D * a**2, epsilon=b * problem.epsilon, constant=a,
    )  # fmt: skip
    found = LinearNewton(0).solve(problem, FeatureGram.of_rows(layout(X)), Budget(tol=tol))
    other = LinearNewton(0).solve(scaled, FeatureGram.of_rows(layout(a * X)), Budget(tol=b * tol))
    check_same(found, other, {"w": b / a, "multipliers": b / a**2})


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("bend", [0.0, 0.3])
@pytest.mark.parametrize("share", [0.3, 0.01])
@pytest.mark.parametrize("solver", [WorkingSets(), ElasticNetDescent()], ids=["sets", "descent"])
@pytest.mark.parametrize("data", [TALL, WIDE], ids=["tall", "wide"])
def test_lasso(data, solver, share, bend, positive, a, b):
    X, y = data
    most = np.abs(X.T @ y).max()
    problem = LassoProblem(y, share * most, bend, positive)
    scaled = LassoProblem(b * y, a * b * share * most, a**2 * bend, positive)
    found = solver.solve(problem, FeatureGram.of_rows(X), Budget(tol=1e-9))
    other = solver.solve(scaled, FeatureGram.of_rows(a * X), Budget(tol=1e-9))
    check_same(found, other, {"w": b / a})


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("p", [1.1, 1.5, 3.0, 7.0])
def test_least_norm(p, a, b):
    X, y = TALL
    found = LeastNorm().solve(NormProblem(y, Lp(p)), FeatureGram.of_rows(X), Budget(tol=1e-6))
    other = LeastNorm().solve(
        NormProblem(b * y, Lp(p)), FeatureGram.of_rows(a * X), Budget(tol=1e-6)
    )
    check_same(found, other, {"x": b / a})


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("kind", ["classes", "tube"])
@pytest.mark.parametrize("solver", [SMO(), InteriorPoint()], ids=["SMO", "interior"])
def test_box_problems(solver, kind, C, a, b):
    y = TALL[1][: len(KERNEL)]
    bounds, tol = np.full(len(y), C), 1e-7
    problem = (
        qp.classifier(np.sign(y), bounds) if kind == "classes" else qp.regressor(y, bounds, 0.2)
    )
    unit = b / a**2
    scaled = replace(
        problem, p=b * problem.p, lo=unit * problem.lo, hi=unit * problem.hi,
        start=unit * problem.start,
    )  # fmt: skip
    found = solver.solve(problem, GivenGram(KERNEL, Definite.POSITIVE), Budget(tol=tol))
    other = solver.solve(scaled, GivenGram(a**2 * KERNEL, Definite.POSITIVE), Budget(tol=b * tol))
    check_same(found, other, {"": unit})
