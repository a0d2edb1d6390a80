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
from mercer.problems.multi_task import MultiTaskProblem
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.problems.multiple_kernels import MultipleKernelProblem
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalties import L1, Huber, LogBarrier, Quantile
from mercer.problems.penalty_problems import PenaltyProblem
from mercer.problems.ridge import RidgeProblem
from mercer.problems.unbiased import UnbiasedQP
from mercer.problems.vector_norms import Lp
from mercer.solvers.base import Budget
from mercer.solvers.linear.block_descent import BlockDescent
from mercer.solvers.linear.lasso import ElasticNetDescent, WorkingSets
from mercer.solvers.linear.least_norm import LeastNorm
from mercer.solvers.linear.linear_newton import LinearNewton
from mercer.solvers.linear.penalised_regression import LeastPenalties
from mercer.solvers.ridge_systems import RidgeSolver
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.coordinate_ascent import KernelCoordinateAscent
from mercer.solvers.svm.interior import InteriorPoint
from mercer.solvers.svm.multiclass_smo import JointMulticlassSolver
from mercer.solvers.svm.smo import SMO
from mercer.solvers.svm.weight_newton import WeightNewton, _WeightSearch

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


LIMITS = {"rough": Budget(tol=1e-3), "gap": Budget(tol=1e-2, gap=1e-9), "rounding": Budget(tol=0.0)}
"""At the last one nothing but rounding ends the steps: it has the units of what it rounds."""


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize(
    ("solver", "kind"),
    [
        *((solver, kind) for solver in (SMO(), InteriorPoint()) for kind in ("classes", "tube")),
        (KernelCoordinateAscent(), "alone"),
    ],
)
def test_box_problems_to_the_end(solver, kind, limits, a, b):
    n = 50
    y, K = TALL[1][:n], KERNEL[:n, :n]
    problem = (
        qp.regressor(y, np.full(n, 3.0), 0.2)
        if kind == "tube"
        else qp.classifier(np.sign(y), np.full(n, 3.0))
    )
    if kind == "alone":
        problem = UnbiasedQP(
            problem.name, problem.p, problem.lo, problem.hi, problem.start, problem.row,
            problem.group,
        )  # fmt: skip
    unit = b / a**2
    scaled = replace(
        problem, p=b * problem.p, lo=unit * problem.lo, hi=unit * problem.hi,
        start=unit * problem.start,
    )  # fmt: skip
    wanted = limits.but(max_iter=20_000) if isinstance(solver, SMO) else limits
    found = solver.solve(problem, GivenGram(K, Definite.POSITIVE), wanted)
    other = solver.solve(
        scaled, GivenGram(a**2 * K, Definite.POSITIVE), wanted.but(tol=b * limits.tol)
    )
    check_same(found, other, {"": unit})


@pytest.mark.parametrize("a", [16.0, 1 / 32])
@pytest.mark.parametrize("limits", [LIMITS["rough"], LIMITS["gap"]], ids=["rough", "gap"])
@pytest.mark.parametrize("kind", ["classes", "tube"])
def test_dense_steps_know_no_unit_of_the_kernel(kind, limits, a):
    # The tolerances of exact answers are those of margins, so that targets keep their unit.
    n = 50
    y, K, bounds = TALL[1][:n], KERNEL[:n, :n], np.full(n, 3.0)

    def solved(unit):
        each = bounds / unit**2
        problem = qp.regressor(y, each, 0.2) if kind == "tube" else qp.classifier(np.sign(y), each)
        return BoxQPSolver().solve(problem, GivenGram(unit**2 * K, Definite.POSITIVE), limits)

    check_same(solved(1.0), solved(a), {"": a**-2})


@pytest.mark.parametrize("a", [16.0, 1 / 32])
@pytest.mark.parametrize("limits", [LIMITS["rough"], Budget(tol=1e-9)], ids=["rough", "fine"])
@pytest.mark.parametrize("kind", [CrammerSinger, WestonWatkins])
def test_several_classes(kind, limits, a):
    n = 60
    labels = np.digitize(TALL[1][:n], [-1.0, 1.0])
    K = KERNEL[:n, :n]
    found = JointMulticlassSolver().solve(kind(labels, np.full(n, 4.0), 3), GivenGram(K), limits)
    other = JointMulticlassSolver().solve(
        kind(labels, np.full(n, 4.0 / a**2), 3), GivenGram(a**2 * K), limits
    )
    check_same(found, other, {"": a**-2})


@pytest.mark.parametrize("a", [16.0, 1 / 32])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_weights_of_kernels(p, a):
    n = 40
    y, X = TALL[1][:n], TALL[0][:n]
    parts = [np.exp(-((x[:, None] - x) ** 2)) + 0.05 * np.eye(n) for x in X.T[:3]]

    def solved(unit):
        problem = MultipleKernelProblem(
            [(np.arange(n), qp.classifier(np.sign(y), np.full(n, 2.0 / unit**2)))], p
        )
        terms = [GivenGram(unit**2 * K, Definite.POSITIVE) for K in parts]
        search = _WeightSearch(
            WeightNewton(), problem, terms, Definite.POSITIVE, Budget(tol=1e-6, gap=1e-6)
        )
        return search.run(None)

    found, other = solved(1.0), solved(a)
    assert other.iterations == found.iterations
    np.testing.assert_allclose(other.value.weights, found.value.weights, atol=1e-12)
    for ours, theirs in zip(found.value.multipliers, other.value.multipliers, strict=True):
        np.testing.assert_allclose(a**2 * theirs, ours, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("penalty", [L1, lambda b: Quantile(0.8), lambda b: Huber(0.7 * b), lambda b: LogBarrier(9.0 * b)], ids=["L1", "quantile", "Huber", "barrier"])  # fmt: skip  # noqa: E501
def test_penalties(penalty, a, b):
    X, y = TALL[0][:80], TALL[1][:80]
    made = [penalty() if penalty is L1 else penalty(unit) for unit in (1.0, b)]
    solver = LeastPenalties(3, np.random.RandomState(0))
    found = solver.solve(PenaltyProblem(y, made[0]), FeatureGram.of_rows(X), Budget(tol=1e-6))
    other = solver.solve(
        PenaltyProblem(b * y, made[1]), FeatureGram.of_rows(a * X), Budget(tol=1e-6)
    )
    check_same(found, other, {"x": b / a})


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("method", ["cholesky", "mixed", "cg", "eigen"])
@pytest.mark.parametrize("tol", [1e-3, 1e-12])
def test_ridge_systems(tol, method, a, b):
    Y = TALL[1][:120, None]

    def solved(a, b):
        problem = RidgeProblem(b * Y, np.array([0.25 * a**2]), np.ones(120), True)
        gram = GivenGram(a**2 * KERNEL, Definite.POSITIVE)
        return RidgeSolver(method).solve(problem, gram, Budget(tol=tol))

    check_same(solved(1.0, 1.0), solved(a, b), {"coef": b / a**2, "intercepts": b})


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("bend", [0.0, 0.5])
def test_blocks_of_tasks(bend, a, b):
    X, y = TALL[0][:80], TALL[1]
    Y = np.column_stack([y[:80], y[80:160]])
    most = np.sqrt(((X.T @ Y) ** 2).sum(axis=1)).max()
    found = BlockDescent().solve(
        MultiTaskProblem(Y, 0.1 * most, bend), FeatureGram.of_rows(X), Budget(tol=1e-8)
    )
    other = BlockDescent().solve(
        MultiTaskProblem(b * Y, a * b * 0.1 * most, a**2 * bend),
        FeatureGram.of_rows(a * X),
        Budget(tol=1e-8),
    )
    check_same(found, other, {"": b / a})
