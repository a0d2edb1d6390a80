"""The solver of joint multi-class machines, against independent solvers and its own certificate."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from mercer import RBF, Centring, FeatureGram, Gram, Linear, Polynomial, Precomputed, Sigmoid
from mercer._fast import multiclass as fast
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.solvers.base import Budget
from mercer.solvers.svm.multiclass_smo import JointMulticlassSolver

MACHINES = [WestonWatkins, CrammerSinger]
machines = st.sampled_from(MACHINES)
seeds = st.integers(0, 10_000)


def blobs(n, k=4, seed=0, columns=2, spread=2.0):
    X, y = make_blobs(n, columns, centers=k, cluster_std=spread, random_state=seed)
    return X, y.astype(np.intp)


def solve_multiclass(problem, gram, start=None, working_set=512, time_limit=None, **limits):
    budget = Budget.within(time_limit, **{"cache_bytes": 1 << 30, **limits})
    return JointMulticlassSolver(working_set).solve(problem, gram, budget, start)


def certificate(problem, solution):
    return problem.judge(solution.value, solution.product)


def reference(problem, K):
    """Return the optimum by Clarabel's interior-point method on the plain dual."""
    clarabel = pytest.importorskip("clarabel")
    n, k = len(problem), problem.classes
    own = np.zeros((n, k), bool)
    own[np.arange(n), problem.labels] = True
    own = own.ravel()
    identity = sparse.eye_array(n * k, format="csc")
    sums = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
    bounded = (own if problem.bound_on_total else ~own).ravel()
    sign = 1 if problem.bound_on_total else -1
    constraints = sparse.vstack([sums, identity[~own], sign * identity[bounded]], format="csc")
    limits = np.repeat(problem.C, k)[bounded]
    bounds = np.concatenate([np.zeros(n), np.zeros((~own).sum()), limits])
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(len(bounds) - n)]
    P = sparse.triu(sparse.kron(K, sparse.eye_array(k)), format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(P, -own.astype(float), constraints, bounds, cones, settings)
    answer = solver.solve()
    assume(answer.status == clarabel.SolverStatus.Solved)  # it does not always trust itself
    return -answer.obj_val


@given(
    machine=machines,
    seed=seeds,
    kernel=st.sampled_from(
        [RBF(gamma=0.5), RBF(gamma=0.01), Linear(), Polynomial(2), Linear() + 1.0]
    ),
    C=st.sampled_from([0.01, 1.0, 30.0]),
)
def test_reference_optimum_lies_in_the_gap(machine, seed, kernel, C):
    rng = np.random.default_rng(seed)
    n, k = rng.integers(2, 30), rng.integers(2, 6)
    X, labels = rng.normal(size=(n, 2)), rng.integers(0, k, n)
    problem = machine(labels, C * rng.uniform(0.2, 2, n), int(k))
    gram = Gram(kernel, X)
    solution = solve_multiclass(problem, gram, tol=1e-6)
    judged = certificate(problem, solution)
    assert solution.status == "optimal"
    assert judged.stationarity <= 1e-6
    assert judged.relative_gap <= 1e-6
    assert judged.dual_feasibility < 1e-12 * C
    optimum = reference(problem, gram.dense())
    close = 1e-7 * abs(optimum)
    assert judged.dual - close <= optimum <= judged.primal + close


@given(machine=machines, seed=seeds)
def test_point_is_solved_exactly(machine, seed):
    """Solving one point leaves no violation: g = K (b − a − S) are its margins afterwards."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    y, C = int(rng.integers(k)), float(rng.choice([1e-3, 0.3, 1.0, 100.0]))
    limit = fast.TOTAL if machine is CrammerSinger else fast.EACH
    b = np.round(rng.normal(size=k) * rng.choice([0.1, 1.0, 50.0]), 1)
    a = np.zeros(k)
    S = fast.solve_point(b, y, C, limit, a)
    rivals = np.arange(k) != y
    assert_allclose(S, a[rivals].sum(), atol=1e-12)
    assert (a[rivals] >= 0).all()
    assert (S if machine is CrammerSinger else a[rivals].max()) <= C
    g = np.where(rivals, b - a - S, 0.0)
    assert fast.violation(g, a, y, C, S, limit) <= 1e-13 * max(1, np.abs(b).max(), C)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_crammer_singer_is_liblinear(C):
    X, y = blobs(150, 4, columns=3)
    X = X / 10
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, tol=1e-8, C=C, max_iter=100_000,
        random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at so strict a tolerance
        peer.fit(X, y)
    problem = CrammerSinger(y, np.full(len(y), C), 4)
    solution = solve_multiclass(problem, Gram(Linear(), X), tol=1e-7)
    assert_allclose(X.T @ solution.value, peer.coef_.T, atol=1e-4)


@pytest.mark.parametrize("machine", MACHINES)
def test_two_classes_are_the_binary_machine(machine):
    """f₁ = −f₀ = f/2 turns both objectives into half the binary one at twice the C."""
    X, y = blobs(120, 2)
    X = X / 5
    C = 0.7
    peer = LinearSVC(loss="hinge", fit_intercept=False, C=2 * C, tol=1e-9, max_iter=10**6)
    w = peer.fit(X, y).coef_[0]
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * (X @ w))
    problem = machine(y, np.full(len(y), C), 2)
    solution = solve_multiclass(problem, Gram(Linear(), X), tol=1e-8)
    assert_allclose(X.T @ (solution.value[:, 1] - solution.value[:, 0]), w, atol=1e-4)
    binary = w @ w / 2 + 2 * C * slack.sum()
    assert_allclose(certificate(problem, solution).primal, binary / 2, rtol=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("cache_bytes", [0, 20_000, 1 << 30])
def test_many_working_sets(machine, cache_bytes):
    """The answer does not depend on the size of working sets or caches, within the gaps."""
    X, y = blobs(400, 5)
    problem = machine(y, np.ones(len(y)), 5)
    gram = Gram(RBF(gamma=0.3), X)
    whole = certificate(problem, solve_multiclass(problem, gram, tol=1e-6))
    solution = solve_multiclass(problem, gram, working_set=32, cache_bytes=cache_bytes)
    judged = certificate(problem, solution)
    assert solution.status == "optimal"
    details = solution.statistics.details
    assert details["violation"] <= 1e-3
    assert_allclose(
        [details["violation"], details["relative_gap"]], [judged.stationarity, judged.relative_gap]
    )
    assert judged.relative_gap <= 1e-3
    assert judged.dual <= whole.primal
    assert whole.dual <= judged.primal
    assert_allclose(solution.product, gram.dense() @ solution.value, atol=1e-10)
    assert solution.statistics.evaluations >= len(y) ** 2


@pytest.mark.parametrize("machine", MACHINES)
def test_long_solves_use_conjugate_gradients(machine):
    """A smooth kernel and a large C: coordinate steps alone would take millions of passes."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (300, 2))
    y = ((np.floor(X[:, 0]) + np.floor(X[:, 1])) % 3).astype(np.intp)
    problem = machine(y, np.full(300, 1000.0), 3)
    solution = solve_multiclass(problem, Gram(RBF(gamma=0.5), X))
    judged = certificate(problem, solution)
    assert solution.status == "optimal"
    assert judged.relative_gap <= 1e-3
    assert judged.dual_feasibility <= 1e-12 * 1000
    assert not solution.statistics.details["nonconvex"]


@pytest.mark.parametrize("machine", MACHINES)
def test_weight_is_repetition(machine):
    X, y = blobs(60, 3)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = machine(y, 0.5 * times, 3)
    repeated = machine(np.repeat(y, times), np.full(times.sum(), 0.5), 3)
    kernel = RBF(gamma=0.2)
    one = solve_multiclass(weighted, Gram(kernel, X), tol=1e-8)
    other = solve_multiclass(repeated, Gram(kernel, np.repeat(X, times, axis=0)), tol=1e-8)
    assert_allclose(np.repeat(one.product, times, axis=0), other.product, atol=1e-6)
    assert_allclose(certificate(weighted, one).primal, certificate(repeated, other).primal)
    assert not one.value[times == 0].any()


@pytest.mark.parametrize("machine", MACHINES)
def test_order_of_points_and_classes_does_not_matter(machine):
    X, y = blobs(80, 4)
    problem = machine(y, np.ones(80), 4)
    f = solve_multiclass(problem, Gram(RBF(gamma=0.2), X), tol=1e-8).product
    rng = np.random.default_rng(1)
    order, names = rng.permutation(80), rng.permutation(4)
    shuffled = machine(names[y[order]], np.ones(80), 4)
    g = solve_multiclass(shuffled, Gram(RBF(gamma=0.2), X[order]), tol=1e-8).product
    assert_allclose(g[:, names], f[order], atol=1e-6)


@settings(max_examples=20)
@given(machine=machines, seed=seeds)
def test_corrupted_coefficients_show_a_larger_gap(machine, seed):
    X, y = blobs(50, 3)
    gram = Gram(RBF(gamma=0.2), X)
    problem = machine(y, np.ones(50), 3)
    solution = solve_multiclass(problem, gram, tol=1e-6)
    rng = np.random.default_rng(seed)
    wrong = problem.feasible(
        solution.value + rng.normal(size=(50, 3)) * (rng.random((50, 1)) < 0.2)
    )
    assert problem.judge(wrong, gram.dense() @ wrong).gap > certificate(problem, solution).gap


@pytest.mark.parametrize("machine", MACHINES)
def test_warm_start(machine):
    X, y = blobs(300, 4)
    gram = Gram(RBF(gamma=0.2), X)
    cold = solve_multiclass(machine(y, np.ones(300), 4), gram)
    again = solve_multiclass(machine(y, np.ones(300), 4), gram, cold.value)
    assert again.statistics.iterations == 0
    assert_allclose(again.value, cold.value, rtol=1e-14)
    smaller = machine(y, np.full(300, 0.5), 4)
    solution = solve_multiclass(smaller, gram, cold.value)
    assert solution.status == "optimal"
    assert certificate(smaller, solution).dual_feasibility < 1e-12


@pytest.mark.parametrize("machine", MACHINES)
def test_any_gram_matrix(machine):
    X, y = blobs(90, 3)
    problem = machine(y, np.ones(90), 3)
    gram = Gram(Linear(), X / 10)
    whole = solve_multiclass(problem, gram, tol=1e-7).product
    matrix = Gram(Precomputed(gram.dense()), np.arange(90))
    single = Gram(Linear(), X / 10, dtype=np.float32)
    for other in (FeatureGram.of(Linear(), X / 10), matrix, single):
        assert_allclose(solve_multiclass(problem, other, tol=1e-7).product, whole, atol=1e-5)
    centred = Centring.fit(gram).apply(gram)
    solution = solve_multiclass(problem, centred, tol=1e-7)
    assert certificate(problem, solution).relative_gap <= 1e-7


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_return_the_best_answer_so_far(machine):
    X, y = blobs(400, 4)
    gram = Gram(RBF(gamma=0.5), X)
    problem = machine(y, np.ones(400), 4)
    few = solve_multiclass(problem, gram, working_set=40, max_iter=100)
    assert few.status == "max_iter"
    assert few.statistics.iterations >= 100
    assert "max_iter" in few.status.advice
    late = solve_multiclass(problem, gram, working_set=40, time_limit=0.0)
    assert late.status == "time_limit"
    for solution in (few, late):
        assert 1e-3 < certificate(problem, solution).relative_gap < 1
        assert_allclose(solution.product, gram.dense() @ solution.value, atol=1e-10)


@pytest.mark.parametrize("machine", MACHINES)
def test_interruption_returns_the_best_answer_so_far(machine, monkeypatch):
    X, y = blobs(400, 4)
    gram = Gram(RBF(gamma=0.5), X)
    problem = machine(y, np.ones(400), 4)
    calls, solve_block = [], fast.solve_block

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return solve_block(*arguments)

    monkeypatch.setattr(fast, "solve_block", interrupted)
    solution = solve_multiclass(problem, gram, working_set=40)
    assert solution.status == "interrupted"
    assert 0 < certificate(problem, solution).relative_gap < 1
    assert_allclose(solution.product, gram.dense() @ solution.value, atol=1e-10)


DEGENERATE = {
    "all equal": (np.ones((20, 2)), np.arange(20) % 3, 1.0, RBF(gamma=1.0)),
    "one point in a class": (blobs(30)[0], np.r_[2, np.arange(29) % 2], 1.0, RBF(gamma=1.0)),
    "an empty class": (blobs(30)[0], np.arange(30) % 2, 1.0, RBF(gamma=1.0)),
    "one class": (blobs(30)[0], np.zeros(30, int), 1.0, RBF(gamma=1.0)),
    "one point": (np.ones((1, 2)), np.zeros(1, int), 1.0, RBF(gamma=1.0)),
    "nothing costs": (blobs(30)[0], np.arange(30) % 3, 0.0, RBF(gamma=1.0)),
    "no features": (np.zeros((20, 2)), np.arange(20) % 3, 1.0, Linear()),
    "one feature is 0": (np.eye(4), np.arange(4) % 3, 1e6, Linear()),
    "large C": (blobs(60)[0], np.arange(60) % 3, 1e6, RBF(gamma=0.1)),
    "contradictions": (np.repeat(blobs(20)[0], 3, axis=0), np.arange(60) % 3, 1e6, RBF(gamma=0.1)),
    "unscaled": (1e6 * blobs(40)[0], blobs(40)[1] % 3, 1.0, Linear()),
    "beyond float32": (1e7 * blobs(40)[0], blobs(40)[1] % 3, 1.0, Polynomial(6, 1.0)),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_sets_end(machine, name):
    X, y, C, kernel = DEGENERATE[name]
    problem = machine(y.astype(np.intp), np.full(len(y), C), 3)
    gram = Gram(kernel, X)
    solve_multiclass(problem, gram, max_iter=1)  # compiles
    solution = solve_multiclass(problem, gram, time_limit=20.0)
    judged = certificate(problem, solution)
    assert judged.dual_feasibility <= 1e-12 * max(C, 1)
    if name in ("unscaled", "beyond float32"):  # float64 cannot tell their margins apart
        assert solution.status in ("optimal", "stalled")
        assert np.isfinite(judged.gap)
    else:
        assert solution.status == "optimal", judged
        assert judged.relative_gap <= 1e-3


@pytest.mark.parametrize("machine", MACHINES)
def test_matrices_beyond_float32_are_taken_in_float64(machine):
    X, y = blobs(40, 3)
    problem = machine(y, np.full(40, 1e-40), 3)
    gram = FeatureGram.of(Linear(), 1e20 * X)
    solution = solve_multiclass(problem, gram)
    assert solution.status == "optimal"
    assert certificate(problem, solution).relative_gap <= 1e-3


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("tol", [1e-12, 1e-16])
def test_tight_tolerances_end(machine, tol):
    X, y = blobs(60, 3)
    problem = machine(y, np.ones(60), 3)
    solution = solve_multiclass(problem, Gram(RBF(gamma=0.3), X), tol=tol, time_limit=20.0)
    assert solution.status in ("optimal", "stalled")
    assert certificate(problem, solution).relative_gap <= 1e-11


@pytest.mark.parametrize("machine", MACHINES)
def test_indefinite_kernels_end(machine):
    X, y = blobs(100, 3)
    problem = machine(y, np.full(100, 10.0), 3)
    solution = solve_multiclass(problem, Gram(Sigmoid(1.0, -1.0), X), time_limit=20.0)
    assert np.isfinite(solution.value).all()
    assert certificate(problem, solution).dual_feasibility <= 1e-11
