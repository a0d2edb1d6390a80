"""Steps along a direction: which of them is taken, and how many values that costs."""

import math

import numpy as np
import pytest
from scipy import sparse

from mercer import optimize
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.linalg.covariance import whiten
from mercer.problems.contrasts import CONTRASTS
from mercer.problems.logistic import LinearLogisticProblem, LogisticProblem
from mercer.problems.manifold import (
    ManifoldFunctions,
    ManifoldProblem,
    ManifoldProblems,
    Roughness,
)
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalties import Huber
from mercer.problems.penalty_problems import PenaltyProblem
from mercer.problems.vector_norms import Lp
from mercer.solvers import manifold_newton
from mercer.solvers.base import Budget
from mercer.solvers.line_search import FixedStep, Search, backtrack, exact, step_rule
from mercer.solvers.linear import least_norm, logistic_newton, penalised_regression
from mercer.solvers.linear.least_norm import LeastNorm
from mercer.solvers.linear.logistic_newton import KernelLogisticNewton, LinearLogisticNewton
from mercer.solvers.linear.penalised_regression import LeastPenalties
from mercer.solvers.manifold_newton import ManifoldNewton
from mercer.solvers.sources import ica_newton


def parabola(t):
    return (t - 0.3) ** 2  # value 0.09 and slope −0.6 at 0


@pytest.mark.parametrize(
    ("share", "shrink", "first", "size", "count"),
    [
        (1e-4, 0.5, 1.0, 0.5, 2),  # 0.04 at ½ is a fall
        (0.5, 0.5, 1.0, 0.25, 3),  # half of the slope promises 0.09 − 0.3 t, which ½ does not keep
        (1e-4, 0.1, 1.0, 0.1, 2),
        (1e-4, 0.5, 0.3, 0.3, 1),
        (1e-4, 0.25, 4.0, 0.25, 3),
    ],
)
def test_the_first_step_that_falls_enough(share, shrink, first, size, count):
    found = backtrack(parabola, 0.09, -0.6, share, shrink, first)
    assert (found.size, found.evaluations) == (size, count)
    assert found.value == parabola(size)


def test_no_step_falls():
    found = backtrack(lambda t: 1.0 + t, 1.0, -1.0, smallest=1e-3)
    assert (found.size, found.value, found.evaluations) == (0.0, 1.0, 10)  # 2⁻⁹ is above 10⁻³
    assert backtrack(lambda t: 1.0 + t, 1.0, -1.0, first=8.0, smallest=0.25).evaluations == 3
    # A rise that rounding may have made is forgiven where that is said.
    assert backtrack(lambda t: 1.0 + 1e-13, 1.0, -1e-20, hidden=1e-12).size == 1.0
    assert backtrack(lambda t: 1.0 + 1e-11, 1.0, -1e-20, hidden=1e-12).size == 0.0


def test_slopes_decide_where_values_are_equal():
    def flat(t):
        return 1.0

    assert backtrack(flat, 1.0, -1.0, slope_along=lambda t: 0.5).size == 1.0
    assert backtrack(flat, 1.0, -1.0, slope_along=lambda t: 0.75 * t).size == 0.5
    assert backtrack(lambda t: 1.0 + 2.0**-51, 1.0, -1.0, slope_along=lambda t: 0.0).size == 1.0
    steep = backtrack(lambda t: 1.0 + 2.0**-40 * t, 1.0, -1.0, slope_along=lambda t: 0.0)
    assert steep.size <= 2.0**-11  # only there the rise is rounding


def test_exact_steps():
    found = exact(parabola, lambda t: 2 * (t - 0.3), 0.09)
    assert found.size == pytest.approx(0.3, abs=1e-14)
    assert found.value < 1e-25
    far = exact(lambda t: (t - 50) ** 2, lambda t: 2 * (t - 50), 2500.0)
    assert far.size == pytest.approx(50.0)
    assert 7 <= far.evaluations <= 15  # 1, 2, 4, … 64, and the root between 32 and 64
    assert exact(lambda t: -t, lambda t: -1.0, 0.0).size == math.inf
    assert exact(lambda t: -t, lambda t: -1.0, 0.0).value == -math.inf
    wall = exact(
        lambda t: -math.log(1 - t) - 4 * t if t < 1 else math.inf,
        lambda t: 1 / (1 - t) - 4 if t < 1 else math.nan,
        0.0,
    )
    assert wall.size == pytest.approx(0.75)
    worse = exact(lambda t: parabola(t) + 1, lambda t: 2 * (t - 0.3), 0.09)
    assert (worse.size, worse.value) == (0.0, 0.09)


def test_searches_by_name_and_number():
    bowl = optimize.QuadraticFunction([[10.0]])
    x, d = np.array([1.0]), np.array([-10.0])
    assert Search("exact")(bowl, x, d, 5.0, -100.0).size == pytest.approx(0.1)
    assert Search()(bowl, x, d, 5.0, -100.0).size == 0.125
    assert Search(first=0.3)(bowl, x, d, 5.0, -100.0).size == 0.15
    assert Search(first=0.5)(bowl, x, d, 5.0, -100.0, first=0.6).size == 0.15
    assert step_rule("exact", 0.1, 0.5) == Search("exact", 0.1, 0.5)
    fixed = step_rule(0.5, 0.1, 0.5)
    assert fixed == FixedStep(0.5)
    step = fixed(bowl, x, d, 5.0, -100.0)
    assert (step.size, step.value, step.evaluations) == (0.5, 80.0, 1)
    for wrong in (0.0, -1.0, math.inf):
        with pytest.raises(InvalidParameter, match="above 0"):
            FixedStep(wrong)
    for wrong in ({"share": 0.0}, {"share": 1.0}, {"shrink": 0.0}, {"shrink": 1.0}, {"first": 0.0}):
        with pytest.raises(InvalidParameter, match="share and shrink"):
            Search(**wrong)
    with pytest.raises(InvalidParameter, match="'backtracking', 'exact'"):
        step_rule("newton", 0.1, 0.5)
    with pytest.raises(InvalidParameter, match="'backtracking', 'exact'"):
        step_rule(True, 0.1, 0.5)
    with pytest.raises(InvalidInput, match="its slope is 100"):
        optimize.line_search(bowl, x, -d)
    with pytest.raises(InvalidInput, match="must match"):
        optimize.line_search(bowl, x, [1.0, 2.0])
    with pytest.raises(InvalidInput, match="does not fall"):
        optimize.line_search(bowl, [0.0], d)
    outside = optimize.line_search(lambda z: -np.log(1 - z[0]) - 4 * z[0], [0.0], [8.0],
                                   lambda z: np.array([1 / (1 - z[0]) - 4]))  # fmt: skip
    assert outside.size == 0.0625  # 8 and 4 and 2 and 1 are outside, ½ is no fall below 0


def test_a_slope_of_zero_at_the_start_counts_as_one():
    asked = []

    def slope(t):
        asked.append(t)
        return t

    # Between −1 at 0 and the slope of 1 at 1, the first guess is in the middle.
    exact(lambda t: 0.0, slope, 0.0)
    assert [t for t in asked if t != 1.0][:2] == [0.0, 0.5]
    asked.clear()
    # Else the slope of the start stands for it: between −3 and 1, beyond the domain too.
    exact(lambda t: t * t / 2 - 3 * t if t < 4 else math.inf, lambda t: slope(t) - 3, 0.0, 4.0)
    assert asked[1] == 2.0  # −3 and +3 around 4, where there is no slope to ask for


def test_how_far_an_exact_search_looks():
    asked = []

    def value(t):
        asked.append(t)
        return -t

    found = exact(value, lambda t: -1.0, 0.0, 0.5)
    assert found.evaluations == len(asked) == 67
    assert asked == [0.5 * 2.0**k for k in range(67)]  # 2⁶⁷ is the first above 10²⁰
    assert (found.size, found.value) == (math.inf, -math.inf)
    # A slope of zero at the first look ends the search there.
    flat = exact(lambda t: t * t - 2 * t, lambda t: 2 * t - 2, 0.0)
    assert flat.size == pytest.approx(1.0, abs=1e-14)
    # A value as high as the start is taken.
    same = exact(lambda t: 0.0, lambda t: t - 0.25, 0.0)
    assert same.size == pytest.approx(0.25, abs=1e-14)


def test_steps_at_the_edge_of_what_is_enough():
    # A fall of share·t·slope exactly: 1 − ¼·½ at t = ½.
    falls = {1.0: 1.0, 0.5: 0.875, 0.25: 0.5}
    assert backtrack(falls.__getitem__, 1.0, -1.0, share=0.25).size == 0.5
    assert backtrack(falls.__getitem__, 1.0, -1.0, share=0.2501).size == 0.25
    # The smallest step is one of those that are tried.
    tried = []

    def rises(t):
        tried.append(t)
        return 2.0

    found = backtrack(rises, 1.0, -1.0, first=4.0, smallest=0.125)
    assert tried == [4.0, 2.0, 1.0, 0.5]
    assert (found.size, found.value, found.evaluations) == (0.0, 1.0, 4)
    tried.clear()
    backtrack(rises, 1.0, -1.0)
    assert len(tried) == 47  # 2⁻⁴⁶ is the last above 10⁻¹⁴
    # Values that differ by two units of rounding are equal, by three they are not.
    for units, size in ((4, 1.0), (6, 0.0)):
        found = backtrack(
            lambda t, units=units: 1.0 + units * 2.0**-53, 1.0, -1.0, slope_along=lambda t: 0.5,
            smallest=0.5,
        )  # fmt: skip
        assert found.size == size


RANDOM = np.random.default_rng(8)
X = np.column_stack([RANDOM.normal(size=(30, 3)), np.ones(30)])
Y = X @ [1.0, -1.0, 0.5, 0.2] + 0.5 * RANDOM.normal(size=30)
ROWS = FeatureGram.of_rows(X)
KERNEL = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) + 0.01 * np.eye(30)
NEAR = sparse.csr_array(np.diag(np.full(30, 2.0)) - np.eye(30, k=1) - np.eye(30, k=-1))


def manifold():
    part = ManifoldProblem(np.arange(0, 30, 2), Y[::2], np.ones(15), 0.2, Roughness(NEAR, 0.3), False, True)  # fmt: skip  # noqa: E501
    gram = GivenGram(KERNEL, Definite.POSITIVE)
    # A start away from the answer, so that there is something to search.
    start = ManifoldNewton().solve(ManifoldProblems([part]), gram, Budget(tol=1e-2)).value
    moved = ManifoldFunctions(start.coef + 0.1, start.bias, start.points)
    ManifoldNewton().run(ManifoldProblems([part]), gram, Budget(tol=1e-6), moved)


def logistic(classes, kernel):
    labels = np.digitize(Y, np.quantile(Y, np.arange(1, classes) / classes))
    if kernel:
        problem = LogisticProblem(labels, np.ones(30), classes, True)
        KernelLogisticNewton().run(
            problem, GivenGram(KERNEL, Definite.POSITIVE), Budget(1e-6), None
        )
    else:
        problem = LinearLogisticProblem(labels, np.ones(30), classes, True)
        LinearLogisticNewton().run(problem, ROWS, Budget(1e-6), None)


def norm_of(p):
    LeastNorm().run(NormProblem(Y, Lp(p)), ROWS, Budget(1e-3), None)


def bent(a):
    problem = PenaltyProblem(Y, Huber(a))
    LeastPenalties(1, np.random.RandomState(0)).run(problem, ROWS, Budget(1e-6), None)


def sources():
    S = np.column_stack([RANDOM.laplace(size=500), RANDOM.uniform(-1, 1, 500)])
    W = np.linalg.qr(RANDOM.normal(size=(2, 2)))[0]
    descent = ica_newton._Descent(CONTRASTS["logcosh"], whiten(S).X, W)
    for _ in range(3):
        descent._move(descent._direction())


SEARCHES = {
    "least norm 1.5": (least_norm, lambda: norm_of(1.5)),
    "least norm 5": (least_norm, lambda: norm_of(5.0)),
    "Huber": (penalised_regression, lambda: bent(0.2)),
    "manifold": (manifold_newton, manifold),
    "logistic": (logistic_newton, lambda: logistic(2, False)),
    "several logistic": (logistic_newton, lambda: logistic(3, False)),
    "logistic of a kernel": (logistic_newton, lambda: logistic(2, True)),
    "several of a kernel": (logistic_newton, lambda: logistic(3, True)),
    "sources": (ica_newton, sources),
}  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
def test_slopes_that_searches_begin_with_are_those_along_the_step(name, monkeypatch):
    module, run = SEARCHES[name]
    seen = []

    def noted(along, value, slope, *others, **options):
        here, size = along(0.0), 1e-4
        ends = along(size), along(-size)
        if np.isfinite([here, *ends]).all():
            seen.append((value, here, slope, (ends[0] - ends[1]) / (2 * size)))
        return backtrack(along, value, slope, *others, **options)

    monkeypatch.setattr(module, "backtrack", noted)
    run()
    assert seen
    for value, here, slope, wanted in seen:
        assert value == pytest.approx(here, rel=1e-9)
        rounding = 1e-11 * abs(value)  # of the difference, over its size
        assert slope == pytest.approx(wanted, rel=1e-3, abs=10 * rounding)
        assert slope < 0
