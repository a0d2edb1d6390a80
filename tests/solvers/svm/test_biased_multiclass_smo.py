"""Joint machines with free biases, against Clarabel on the primal problem and their certificate."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from mercer import RBF, SVC, Gram, Linear, certify, load, save
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.sums import SumGram
from mercer.problems.biased_multiclass import BiasedMulticlass, JointAnswer
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.solvers.base import Budget
from mercer.solvers.svm.biased_multiclass_smo import BiasedJointSolver
from mercer.solvers.svm.multiclass_smo import JointMulticlassSolver

MACHINES = [WestonWatkins, CrammerSinger]


def least_cost(problem, X):
    """Return the optimum of ½‖W‖² + Σ Cξ over weights, biases and slacks as they are written."""
    (n, d), k = X.shape, problem.classes
    rivals = [(i, c) for i in range(n) for c in range(k) if c != problem.labels[i]]
    weights, slacks = k * (d + 1), n if problem.bound_on_total else len(rivals)
    rows = np.zeros((len(rivals), weights + slacks))
    for at, (i, c) in enumerate(rivals):
        own, point = problem.labels[i], np.append(X[i], 1.0)
        rows[at, own * (d + 1) : (own + 1) * (d + 1)] -= point
        rows[at, c * (d + 1) : (c + 1) * (d + 1)] += point
        rows[at, weights + (i if problem.bound_on_total else at)] = -1.0
    positive = np.hstack([np.zeros((slacks, weights)), -np.eye(slacks)])
    bounds = np.concatenate([-np.ones(len(rivals)), np.zeros(slacks)])
    costs = problem.C if problem.bound_on_total else np.array([problem.C[i] for i, _ in rivals])
    # A trace of a penalty keeps biases that do not matter at 0.
    squares = np.concatenate([np.tile(np.append(np.ones(d), 1e-9), k), np.zeros(slacks)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    answer = clarabel.DefaultSolver(
        sparse.diags_array(squares, format="csc"),
        np.concatenate([np.zeros(weights), costs]),
        sparse.csc_array(np.vstack([rows, positive])),
        bounds,
        [clarabel.NonnegativeConeT(len(bounds))],
        settings,
    ).solve()
    assert answer.status == clarabel.SolverStatus.Solved
    return answer.obj_val


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_that_of_clarabel(machine, seed):
    random = np.random.default_rng(seed)
    n, k = int(random.integers(6, 24)), int(random.integers(2, 5))
    X, labels = random.normal(size=(n, 2)) + random.normal(size=2), random.integers(0, k, n)
    problem = machine(labels, 10 ** random.uniform(-1, 1) * random.uniform(0.3, 2, n), k)
    gram = Gram(Linear(), X, dtype=np.float64)
    found = BiasedJointSolver().solve(BiasedMulticlass(problem), gram, Budget(tol=1e-6))
    assert found.status == "optimal"
    wanted = least_cost(problem, X)
    judged = BiasedMulticlass(problem).certify(found.value, gram)
    slack = 1e-7 * (1 + wanted)
    assert judged.lower - slack <= wanted <= judged.upper + slack
    assert judged.gap <= 2e-6 * (1 + wanted)
    np.testing.assert_allclose(found.value.alpha.sum(axis=0), 0, atol=1e-9 * problem.C.sum())


@pytest.mark.parametrize("machine", MACHINES)
def test_answers_that_are_not_balanced_are_moved_before_they_bound_anything(machine):
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(20, 2)), random.integers(0, 3, 20)
    problem = machine(labels, np.ones(20), 3)
    gram = Gram(RBF(gamma=0.5), X, dtype=np.float64)
    best = BiasedJointSolver().solve(BiasedMulticlass(problem), gram, Budget(tol=1e-7))
    for _ in range(20):
        wild = problem.feasible(-random.exponential(size=(20, 3)))
        answer = JointAnswer(wild, random.normal(size=3))
        judged = BiasedMulticlass(problem).certify(answer, gram)
        assert judged.lower <= best.certificate.upper + 1e-9
        assert judged.upper >= best.certificate.lower - 1e-9


@pytest.mark.parametrize("name", ["weston_watkins", "crammer_singer"])
def test_with_biases_the_origin_does_not_matter(name, tmp_path):
    iris = load_iris()
    X, y = iris.data[:, 2:], iris.target
    options = {"C": 1.0, "multi_class": name, "tol": 1e-6}
    machine = SVC("linear", joint_intercepts=True, **options).fit(X, y)
    moved = SVC("linear", joint_intercepts=True, **options).fit(X + 7.0, y)
    np.testing.assert_allclose(
        moved.decision_function(X + 7.0), machine.decision_function(X), atol=0.02
    )
    without = SVC("linear", **options).fit(X, y)
    assert machine.certificate_.primal < without.certificate_.dual  # more room, less cost
    assert machine.intercept_.any()
    assert not without.intercept_.any()
    assert machine.certificate_.optimal
    assert certify(machine, X, y).relative_gap <= 1e-5
    save(machine, tmp_path / "joint.mercer")
    again = load(tmp_path / "joint.mercer")
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))
    warm = SVC("linear", joint_intercepts=True, **options).fit(X, y, start=machine)
    assert warm.certificate_.optimal


def test_a_certificate_knows_the_biases():
    iris = load_iris()
    machine = SVC("linear", multi_class="weston_watkins", joint_intercepts=True, tol=1e-5)
    machine.fit(iris.data, iris.target)
    machine.settle()
    machine.intercept_ = machine.intercept_ + np.array([0.5, 0.0, -0.5])
    assert certify(machine, iris.data, iris.target).relative_gap > 1e-3


@pytest.mark.parametrize("machine", MACHINES)
def test_starts_and_limits(machine):
    random = np.random.default_rng(4)
    X = random.normal(size=(24, 2))
    labels = np.arange(24) % 3
    problem = BiasedMulticlass(machine(labels, np.full(24, 1.0), 3))
    gram = Gram(RBF(gamma=0.5), X)
    best = BiasedJointSolver().solve(problem, gram, Budget(tol=1e-5))
    assert best.status == "optimal"
    assert np.abs(best.value.alpha.sum(axis=0)).max() <= 1e-9
    # A constant in all biases changes nothing, and an answer is no worse a start for it.
    again = [
        BiasedJointSolver().solve(
            problem,
            gram,
            Budget(tol=1e-4),
            JointAnswer(best.value.alpha, best.value.biases + shift),
        )
        for shift in (0.0, 5.0)
    ]
    for found in again:
        assert found.status == "optimal"
        assert found.statistics.iterations <= best.statistics.iterations / 4
        np.testing.assert_allclose(
            found.value.biases - found.value.biases.mean(),
            best.value.biases - best.value.biases.mean(),
            atol=0.05,
        )
        assert abs(found.value.biases.mean()) <= 1e-6
    cut = BiasedJointSolver().solve(problem, gram, Budget(tol=1e-9, max_iter=30))
    assert cut.status == "max_iter"
    assert 30 <= cut.statistics.iterations <= 60
    stopped = BiasedJointSolver().solve(problem, gram, Budget(tol=1e-9, monitor=lambda _: True))
    assert stopped.status == "interrupted"


@pytest.mark.parametrize("machine", MACHINES)
def test_steps_are_those_of_the_joint_problems(machine):
    random = np.random.default_rng(4)
    problem = machine(np.arange(24) % 3, np.ones(24), 3)
    gram = Gram(RBF(gamma=0.5), random.normal(size=(24, 2)))
    # One round: the joint problem with K + 1, since all k(x, x) are 1.
    ones = FeatureGram.of_rows(np.ones((24, 1)))
    stated = replace(problem, biases=np.zeros(3), free=False)
    for most in (1, 10, 25):
        limits = Budget(tol=3e-10, max_iter=most)
        alone = JointMulticlassSolver().run(stated, SumGram([gram, ones]), limits, None)
        cut = BiasedJointSolver().run(
            BiasedMulticlass(problem), gram, Budget(tol=1e-9, max_iter=most), None
        )
        assert cut.iterations == alone.iterations
        np.testing.assert_allclose(cut.value.biases, alone.value.sum(axis=0), atol=1e-12)
        assert cut.details["nonconvex"] is False
        assert cut.details["relative_gap"] == pytest.approx(
            abs(
                BiasedMulticlass(problem).with_biases(cut.value.biases).judge(
                    cut.value.alpha, cut.product
                ).relative_gap
            )
        )  # fmt: skip
