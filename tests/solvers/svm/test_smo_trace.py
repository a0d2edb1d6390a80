"""Sequential minimal optimisation step by step, and machines without a bias."""

import numpy as np
import pytest
from scipy import optimize as theirs
from sklearn import svm

from mercer import RBF, SVC, certify, leave_one_out, optimize
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.solvers.svm.smo_trace import _PairSteps

N = 60
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 2))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * RANDOM.normal(size=N) > 0, 1, -1)
K = RBF(gamma=0.5)(X)


def best_without_bias(matrix, y, C):
    """Return the largest value of the dual problem with a box alone, by SciPy."""
    Q = matrix * np.outer(y, y)
    found = theirs.minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.zeros(len(y)),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * len(y),
        method="L-BFGS-B",
        options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return -found.fun


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_pair_steps_find_the_machine_of_scikit_learn(C):
    trace = optimize.smo(K, Y, C, tol=1e-8, max_iter=20_000)
    machine = svm.SVC(kernel="precomputed", C=C, tol=1e-8).fit(K, Y)
    signed = np.zeros(N)
    signed[machine.support_] = machine.dual_coef_[0]
    assert trace.status == "optimal"
    np.testing.assert_allclose(Y * trace.alpha, signed, atol=1e-5 * C)
    assert trace.intercept == pytest.approx(machine.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_the_trace_is_what_happened(bias):
    trace = optimize.smo(K, Y, 2.0, fit_intercept=bias, tol=1e-4)
    Q = K * np.outer(Y, Y)
    assert trace.alphas.shape == (len(trace) + 1, N)
    for s, (i, j) in enumerate(trace.pairs):
        before, after = trace.alphas[s], trace.alphas[s + 1]
        changed = np.flatnonzero(before != after)
        assert set(changed) <= {i, j}
        low, high = trace.intervals[s]
        assert low - 1e-12 <= after[j] <= high + 1e-12
        assert after[j] == pytest.approx(np.clip(trace.unclipped[s], low, high))
        assert after[j] - before[j] == pytest.approx(trace.steps[s], abs=1e-12)
        # The interval is as wide as the bounds of both allow.
        room = []
        for end in (low, high):
            other = before[i] - Y[i] * Y[j] * (end - before[j]) if i != j else 0.0
            room.append(min(end, 2.0 - end, other, 2.0 - other) if i != j else min(end, 2.0 - end))
        np.testing.assert_allclose(room, 0.0, atol=1e-12)
    values = [a.sum() - a @ Q @ a / 2 for a in trace.alphas]
    np.testing.assert_allclose(trace.objectives, values, atol=1e-9)
    assert (np.diff(trace.objectives) >= -1e-12).all()
    if bias:
        assert np.abs(trace.alphas @ Y).max() < 1e-10
    assert trace.violations[-1] <= 1e-4 < trace.violations[-2]


def test_it_stops_at_the_limit_and_is_drawn():
    trace = optimize.smo(K, Y, 2.0, max_iter=7)
    assert (len(trace), trace.status) == (7, "max_iter")
    assert "max_iter: 7 steps" in repr(trace)
    left, right = trace.plot()
    assert len(left.lines[0].get_xdata()) == 8
    assert len(right.collections) == 3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((K, np.zeros(N)), InvalidInput, "list of"),
        ((K, np.where(np.arange(N) == 3, 0.5, Y)), InvalidInput, "list of"),
        ((K, np.stack([Y, Y])), InvalidInput, "list of"),
        ((K[:0, :0], Y[:0]), InvalidInput, "list of"),
        ((K[:3], Y), InvalidInput, "has to be 60 × 60"),
        ((K * np.nan, Y), InvalidInput, "finite"),
        ((K, Y, 0.0), InvalidParameter, "C=0.0"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        optimize.smo(*arguments)


# ---- machines without a bias -----------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_without_a_bias_the_dual_value_is_that_of_scipy(C):
    best = best_without_bias(K, Y, C)
    machine = SVC(RBF(gamma=0.5), C=C, fit_intercept=False, tol=1e-6).fit(X, Y)
    proof = machine.certificate_
    assert proof.optimal
    assert proof.lower <= best + 1e-7 * best
    assert proof.upper >= best - 1e-7 * best
    assert proof.dual == pytest.approx(best, rel=1e-6)
    assert machine.intercept_[0] == 0.0
    again = certify(machine, X, Y)
    assert again.primal == pytest.approx(proof.primal)
    steps = optimize.smo(K, Y, C, fit_intercept=False, tol=1e-7, max_iter=50_000)
    assert steps.objectives[-1] == pytest.approx(best, rel=1e-6)


def test_without_a_bias_the_linear_machine_is_that_of_liblinear():
    y = X[:, 0] + 0.3 * X[:, 1] + 0.2 > 0
    theirs = svm.LinearSVC(loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6)
    ours = SVC("linear", fit_intercept=False, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.fit(X, y).coef_, atol=1e-4)


def test_working_sets_find_the_same():
    whole = SVC(RBF(gamma=0.5), C=5.0, fit_intercept=False, tol=1e-6).fit(X, Y)
    parts = SVC(RBF(gamma=0.5), C=5.0, fit_intercept=False, tol=1e-6, cache_size=0.002).fit(X, Y)
    values = whole.decision_function(X)
    np.testing.assert_allclose(parts.decision_function(X), values, atol=1e-4)
    assert parts.certificate_.optimal


def test_what_a_machine_without_a_bias_can_do():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    machine = SVC(fit_intercept=False, multi_class="ovr", approximation=20).fit(X, y)
    assert machine.score(X, y) > 0.8
    assert machine.certificate_.optimal
    weights = np.where(Y > 0, 2.0, 0.5)
    weighted = SVC(fit_intercept=False, tol=1e-6).fit(X, Y, sample_weight=weights)
    assert (weighted.alpha_ <= weights + 1e-12).all()
    start = SVC(fit_intercept=False, tol=1e-6).fit(X, Y, sample_weight=weights, start=weighted)
    assert start.n_iter_[0] <= weighted.n_iter_[0]
    with pytest.raises(InvalidParameter, match="fit_intercept=False needs a finite C"):
        SVC(C=np.inf, fit_intercept=False).fit(X, Y)
    with pytest.raises(InvalidParameter, match="refit=True"):
        leave_one_out(SVC(fit_intercept=False).fit(X, Y), X, Y)
    found = SVC(C="auto", fit_intercept=False).fit(X, Y)
    assert found.intercept_[0] == 0.0


def test_a_machine_that_may_take_few_steps_says_so():
    with pytest.warns(UserWarning, match="terminated early"):
        machine = SVC(fit_intercept=False, C=100.0, max_iter=3).fit(X, Y)
    assert machine.n_iter_[0] == 3
    assert machine.certificate_.gap > 0


# ---- the multipliers of the slacks -------------------------------------------------------------


def test_beta_is_what_alpha_leaves_of_C():
    weights = np.where(Y > 0, 2.0, 0.5)
    machine = SVC(RBF(gamma=0.5), C=3.0, tol=1e-8).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(machine.alpha_ + machine.beta_, 3 * weights)
    assert machine.beta_.min() >= 0
    # Complementary slackness: βᵢξᵢ = 0.
    assert np.abs(machine.beta_ * machine.slack_).max() < 1e-4
    several = SVC().fit(X, np.arange(N) % 3)
    assert [len(part.beta_) for part in several.machines_] == [40, 40, 40]
    hard = SVC("linear", C=np.inf).fit(X, X[:, 0] > 0)
    assert np.isinf(hard.beta_).all()


def test_one_value_that_is_none_is_refused():
    for wrong in (np.nan, np.inf):
        matrix = np.eye(3)
        matrix[2, 1] = wrong
        with pytest.raises(InvalidInput, match="finite kernel values"):
            optimize.smo(matrix, [1, -1, 1])
    with pytest.raises(InvalidInput, match="3 × 3"):
        optimize.smo(np.eye(2), [1, -1, 1])
    for y in ([], [[1, -1]], [1, 0], [1, 2]):
        with pytest.raises(InvalidInput, match="a list of"):
            optimize.smo(np.eye(2), y)
    for limits in ({"C": 0.0}, {"C": np.inf}, {"tol": 0.0}, {"max_iter": -1}):
        with pytest.raises(InvalidParameter, match="have to be"):
            optimize.smo(np.eye(2), [1, -1], **limits)


def by_hand(alpha, E, y, C=1.0, bias=True, matrix=None):
    run = _PairSteps(np.eye(len(y)) if matrix is None else matrix, np.array(y), C, bias)
    run.alpha, run.E = np.array(alpha), np.array(E)
    return run


def test_pairs_are_of_those_that_can_move():
    # At 0 and C only one way is open: up for αᵢ < C of +1 and αᵢ > 0 of −1, down for the others.
    y, E = [1.0, 1.0, -1.0, -1.0], [-1.0, 2.0, -3.0, 4.0]
    for alpha, pair, violation in (
        ([0.0, 0.0, 0.0, 0.0], (0, 3), 5.0),  # up: 0 and 1, down: 2 and 3
        ([1.0, 0.0, 0.0, 0.0], (1, 3), 2.0),
        ([1.0, 1.0, 1.0, 1.0], (2, 1), 5.0),  # up: 2 and 3, down: 0 and 1
        ([0.5, 0.5, 0.5, 0.5], (2, 3), 7.0),
        ([0.0, 0.0, 1.0, 1.0], None, 0.0),  # all go up, none down
        ([1.0, 1.0, 0.0, 0.0], None, 0.0),
    ):
        run = by_hand(alpha, E, y)
        assert run.choose(1e-3) == pair
        assert run.violations == [violation]
    assert by_hand([0.0] * 4, E, y).choose(5.0) is None  # no more than the tolerance
    assert by_hand([0.0] * 4, E, y).choose(4.99) == (0, 3)
    # Of those that gain, the one with the largest gap² over curvature: 3²/6 is below 2²/2.
    matrix = np.diag([1.0, 1.0, 1.0, 5.0])
    run = by_hand([0.5] * 4, [-1.0, 0.0, 1.0, 2.0], y, matrix=matrix)
    assert run.choose(1e-3) == (0, 2)


def test_without_a_bias_each_moves_alone():
    y, E = [1.0, 1.0, -1.0, -1.0], [-1.0, 2.0, -3.0, 4.0]
    for alpha, pair, violation in (
        ([0.0] * 4, (3, 3), 4.0),
        ([1.0] * 4, (2, 2), 3.0),
        ([0.0, 0.5, 0.0, 1.0], (1, 1), 2.0),
        ([0.0, 0.0, 0.0, 1.0], (0, 0), 1.0),
        ([1.0, 0.0, 0.0, 1.0], None, 0.0),
    ):
        run = by_hand(alpha, E, y, bias=False)
        assert run.choose(1e-3) == pair
        assert run.violations == [violation]
    assert by_hand([0.0] * 4, E, y, bias=False).choose(4.0) is None
    matrix = np.diag([1.0, 1.0, 1.0, 20.0])  # 16/20 is below 1
    assert by_hand([0.0] * 4, E, y, bias=False, matrix=matrix).choose(1e-3) == (0, 0)


def test_the_constant_by_hand():
    y, E = [1.0, 1.0, -1.0, -1.0], [-1.0, 2.0, -3.0, 4.0]
    # The mean over those that are free; else the middle of what both sides leave.
    assert by_hand([0.5, 0.0, 0.5, 1.0], E, y)._intercept() == 2.0
    assert by_hand([0.0, 1.0, 0.0, 1.0], E, y)._intercept() == -(-1.0 + 2.0) / 2
    assert by_hand([0.0, 0.0, 1.0, 1.0], E, y)._intercept() == 3.0  # all of them up
    assert by_hand([1.0, 1.0, 0.0, 0.0], E, y)._intercept() == -4.0
    assert by_hand([0.5] * 4, E, y, bias=False)._intercept() == 0.0
    assert by_hand([1.0, 0.0, 1.0, 0.0], E, y, C=2.0)._intercept() == 2.0


def test_values_of_the_dual_after_each_step():
    for bias in (True, False):
        trace = optimize.smo(K, Y, 2.0, fit_intercept=bias, tol=1e-3)
        for value, alpha in zip(trace.objectives, trace.alphas, strict=True):
            c = alpha * Y
            assert value == pytest.approx(alpha.sum() - c @ K @ c / 2, abs=1e-9)
        few = optimize.smo(K, Y, 2.0, fit_intercept=bias, tol=1e-3, max_iter=3)
        assert (len(few), few.status) == (3, "max_iter")
        np.testing.assert_array_equal(few.alphas, trace.alphas[:4])
        whole = optimize.smo(K, Y, 2.0, fit_intercept=bias, tol=1e-3, max_iter=len(trace))
        assert (len(whole), whole.status) == (len(trace), "optimal")


def test_curvatures_of_pairs_have_both_values_and_what_is_between_them():
    # Gaps 2 and 3 with curvatures 1 + 4 − 2·2 = 1 and 1 + 4 + 2·1 = 7: the first gains more.
    y, E = [1.0, -1.0, -1.0], [-1.0, 1.0, 2.0]
    matrix = np.array([[1.0, 2.0, -1.0], [2.0, 4.0, 0.0], [-1.0, 0.0, 4.0]])
    run = by_hand([0.0] * 3, E, y, matrix=matrix)
    assert run.choose(1e-3) == (0, 1)
    run.step(0, 1)
    # α₁ grows by gap/curvature = 2, up to C = 1, and α₀ with it.
    assert run.unclipped == [2.0]
    assert run.intervals == [(0.0, 1.0)]
    assert run.alpha.tolist() == [1.0, 1.0, 0.0]
    np.testing.assert_allclose(run.E, np.array(E) + matrix[0] - matrix[1])
    # Of the same label one grows by what the other loses.
    run = by_hand([0.75, 0.5], [1.0, -1.0], [1.0, 1.0], matrix=np.array([[1.0, 0.5], [0.5, 2.0]]))
    run.step(1, 0)
    assert run.intervals == [(0.25, 1.0)]
    assert run.unclipped == [0.75 - 2.0 / 2.0]
    assert run.alpha.tolist() == [0.25, 1.0]
    assert run.steps == [-0.5]
    alone = by_hand([0.5, 0.5], [1.0, -0.5], [1.0, -1.0], bias=False, matrix=np.diag([4.0, 0.0]))
    alone.step(0, 0)
    assert alone.alpha.tolist() == [0.25, 0.5]
    alone.step(1, 1)  # without curvature it goes to its end
    assert alone.alpha.tolist() == [0.25, 0.0]
    assert alone.intervals == [(0.0, 1.0)] * 2
