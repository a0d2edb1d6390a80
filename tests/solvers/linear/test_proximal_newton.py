"""Proximal Newton steps: models of the losses against their definition, and their minima."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mercer.gram.feature_gram import FeatureGram
from mercer.problems.logistic import LogisticAnswer
from mercer.problems.sparse_logistic import SparseLogisticProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear import proximal_newton as proximal
from mercer.solvers.linear.logistic_newton import SHARPNESS
from mercer.solvers.linear.proximal_newton import ProximalNewton


def case(n=60, d=5, classes=2, intercept=True, l1=1.0, thin=False, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + (0.0 if thin else 0.5)
    if thin:
        X *= random.random((n, d)) < 0.5
    labels = random.integers(classes, size=n)
    problem = SparseLogisticProblem(labels, random.uniform(0.2, 2, n), classes, intercept, l1=l1)
    W = 0.3 * random.normal(size=(d, problem.functions))
    return problem, (sparse.csc_array(X) if thin else X), X, W


def everything(W):
    function, column = np.divmod(np.arange(W.size), len(W))
    return proximal._Chosen(column, function, W.shape[1])


def some(W, kept):
    chosen = everything(W)
    return proximal._Chosen(chosen.column[kept], chosen.function[kept], W.shape[1])


# ---- second derivatives -------------------------------------------------------------------------


def gradient(problem, X, W):
    return -(X.T @ problem.with_best_bias(X @ W).beta)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_hessians_by_differences_of_slopes(classes, intercept, thin):
    problem, columns, X, W = case(classes=classes, intercept=intercept, thin=thin)
    view = problem.with_best_bias(X @ W)
    H = proximal.hessian(problem, view, columns, everything(W))
    size = 1e-5
    for at in range(W.size):
        step = np.zeros(W.size)
        step[at] = size
        D = step.reshape(W.shape[::-1]).T
        change = (gradient(problem, X, W + D) - gradient(problem, X, W - D)) / (2 * size)
        np.testing.assert_allclose(H[:, at], change.T.ravel(), atol=1e-6)
    kept = np.array([0, 2, 3, W.size - 1])
    part = proximal.hessian(problem, view, columns, some(W, kept))
    np.testing.assert_allclose(part, H[np.ix_(kept, kept)], atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_hessians_of_many_rows_in_blocks(classes):
    # 600 weights make blocks of 436 rows.
    d = 600 if classes == 2 else 200
    problem, columns, X, W = case(1000, d, classes)
    view = problem.with_best_bias(X @ (0.1 * W))
    H = proximal.hessian(problem, view, columns, everything(W))
    U = np.random.default_rng(1).normal(size=W.shape)
    expected = X.T @ problem.second_derivative(view)(X @ U)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(H @ U.T.ravel(), expected.T.ravel(), atol=1e-10 * scale)
    np.testing.assert_allclose(H, H.T, atol=1e-10 * np.abs(H).max())


def test_rows_without_curvature_have_no_mean():
    problem, columns, X, W = case()
    view = problem.view(1e4 * np.sign(problem.labels - 0.5)[:, None], np.zeros(1))
    assert not problem.curvatures(view).any()
    H = proximal.hessian(problem, view, columns, everything(W))
    assert not H.any()
    model = proximal._ColumnModel(problem, view, X, everything(W))
    assert not model.curvature.any()


def test_spans_of_functions():
    chosen = proximal._Chosen(np.array([4, 1, 2, 0]), np.array([0, 2, 2, 3]), 4)
    assert [(part.start, part.stop) for part in chosen.spans] == [(0, 1), (1, 1), (1, 3), (3, 4)]
    assert len(chosen) == 4


# ---- minima of models ---------------------------------------------------------------------------


def model_minimum(H, q, l1, l2):
    """Return the w with the least ½wᵀHw − qᵀw + l1 ‖w‖₁ + ½ l2 ‖w‖², one weight at a time."""
    w = np.zeros(len(q))
    for _ in range(800):
        for j in range(len(w)):
            pull = q[j] - H[j] @ w + H[j, j] * w[j]
            w[j] = np.sign(pull) * max(abs(pull) - l1, 0) / (H[j, j] + l2)
    return w


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("l1", [1.0, 0.6])
@pytest.mark.parametrize(("classes", "intercept"), [(2, True), (2, False), (3, True), (3, False)])
def test_models_are_minimised(classes, intercept, l1, thin):
    problem, columns, X, W = case(classes=classes, intercept=intercept, l1=l1, thin=thin)
    view = problem.with_best_bias(X @ W)
    chosen = everything(W)
    H = proximal.hessian(problem, view, columns, chosen)
    w, slopes = W.T.ravel(), (X.T @ view.beta).T.ravel()
    best = model_minimum(H, slopes + H @ w, l1, 1 - l1)
    model = proximal._HessianModel(problem, view, columns, chosen)
    found = model.minimise(w, slopes, 1e-9)
    assert model.reached
    np.testing.assert_allclose(found, best, atol=1e-8)
    np.testing.assert_array_equal(found == 0, np.abs(best) < 1e-9)
    other = proximal._ColumnModel(problem, view, columns, chosen)
    found = other.minimise(w, slopes, 1e-9)
    assert other.reached
    np.testing.assert_allclose(found, best, atol=1e-6)
    np.testing.assert_array_equal(w, W.T.ravel())


@pytest.mark.parametrize("kind", [proximal._HessianModel, proximal._ColumnModel])
def test_models_that_are_not_reached_say_so(kind):
    problem, columns, X, W = case(classes=3)
    view = problem.with_best_bias(X @ W)
    model = kind(problem, view, columns, everything(W))
    slopes = (X.T @ view.beta).T.ravel()
    model.minimise(W.T.ravel(), slopes, -1.0)
    assert not model.reached


def test_violations_of_a_model():
    problem, columns, X, W = case(l1=0.75)
    model = proximal._HessianModel(problem, problem.with_best_bias(X @ W), columns, everything(W))
    w, g = np.array([2.0, -1.0, 0.0, 0.0, 1.0]), np.array([0.5, -1.0, 1.0, -0.5, 1.0])
    # Slopes g − ¼w are 0, −¾, 1, −½ and ¾.
    assert model._violation(w, g) == 0.75
    w[0], g[0] = 0.0, 0.0
    assert model._violation(w, g) == 0.25
    g[3] = -1.75
    assert model._violation(w, g) == 1.0


# ---- working sets, and whole solves -------------------------------------------------------------


def steps(problem, X, W, **limits):
    return proximal._Steps(problem, X, W, Budget(**limits), ProximalNewton())


def test_working_sets_hold_what_is_used_and_the_steepest_zeros():
    problem, _, X, _ = case(40, 300, classes=3)
    W = np.zeros((300, 3))
    W[[7, 250], [0, 2]] = 1.0
    slopes = np.random.default_rng(2).normal(size=W.shape)
    chosen = steps(problem, X, W)._working_set(slopes)
    assert len(chosen) == 102
    inside = np.zeros(W.shape, bool)
    inside[chosen.column, chosen.function] = True
    assert inside[7, 0]
    assert inside[250, 2]
    zeros = W == 0
    assert np.abs(slopes[inside & zeros]).min() >= np.abs(slopes[~inside]).max()
    at = chosen.function * 300 + chosen.column
    assert (np.diff(at) > 0).all()
    W[:150, 1] = 1.0
    assert len(steps(problem, X, W)._working_set(slopes)) == 304  # as many again as are used
    W[:] = 1.0
    assert len(steps(problem, X, W)._working_set(slopes)) == 900
    small, _, X, W = case(d=5)
    assert len(steps(small, X, 0 * W)._working_set(W)) == 5


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("small", [0, 400])
@pytest.mark.parametrize(("classes", "l1"), [(2, 1.0), (3, 1.0), (2, 0.5), (3, 0.5)])
def test_answers_meet_their_conditions_after_few_steps(classes, l1, small, thin):
    problem, _, X, _ = case(150, 12, classes, l1=l1, thin=thin)
    gram = FeatureGram.of_rows(sparse.csr_array(X) if thin else X)
    found = ProximalNewton(small_system=small).solve(problem, gram, Budget(tol=1e-8))
    W, bias = found.value
    assert found.status == "optimal"
    V = X.T @ problem.view(X @ W, bias).beta
    pull = V - (1 - l1) * W
    scale = 1e-6 * problem.C.sum()
    assert np.abs(pull[W != 0] - l1 * np.sign(W[W != 0])).max() <= scale
    assert np.abs(pull[W == 0]).max(initial=0.0) <= l1 + scale
    assert l1 < 1 or np.count_nonzero(W == 0) > 0
    assert found.certificate.relative_gap <= 1e-10
    assert found.statistics.iterations <= 12


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("thin", [False, True])
def test_a_constant_is_one_more_column(thin, constant):
    _, _, X, _ = case(80, 4, thin=thin)
    labels = (X[:, 0] + 0.5 > 0).astype(int)
    problem = SparseLogisticProblem(labels, np.ones(80), 2, False, constant=constant)
    gram = FeatureGram.of_rows(sparse.csr_array(X) if thin else X)
    found = ProximalNewton().solve(problem, gram, Budget(tol=1e-8))
    plain = SparseLogisticProblem(labels, np.ones(80), 2, False)
    whole = np.column_stack([X, np.full(80, constant)]) if constant else X
    other = ProximalNewton().solve(plain, FeatureGram.of_rows(whole), Budget(tol=1e-8))
    np.testing.assert_allclose(found.value.coef, other.value.coef, atol=1e-6)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_steps_end_at_the_limit(most):
    problem, _, X, W = case(150, 12)
    found = ProximalNewton().solve(problem, FeatureGram.of_rows(X), Budget(1e-9, max_iter=most))
    assert found.status == "max_iter"
    assert found.statistics.iterations == most
    start = LogisticAnswer(0.5 * np.ones((12, 1)), np.array([0.25]))
    gram = FeatureGram.of_rows(X)
    kept = ProximalNewton().solve(problem, gram, Budget(1e-9, max_iter=0), start)
    np.testing.assert_array_equal(kept.value.coef, start.coef)
    np.testing.assert_array_equal(kept.value.bias, start.bias)
    assert W.shape == (12, 1)


def test_a_good_start_takes_no_step():
    problem, _, X, _ = case(150, 12)
    gram = FeatureGram.of_rows(X)
    first = ProximalNewton().solve(problem, gram, Budget(tol=1e-6))
    again = ProximalNewton().solve(problem, gram, Budget(tol=1e-5), first.value)
    assert again.statistics.iterations == 0
    assert first.statistics.iterations > 0


def test_a_tolerance_of_zero_ends_at_rounding():
    problem, _, X, _ = case(150, 12)
    found = ProximalNewton().solve(problem, FeatureGram.of_rows(X), Budget(tol=0.0))
    assert found.status == "optimal"
    assert found.certificate.relative_gap <= 1e-11
    assert found.statistics.iterations <= 15


@pytest.mark.parametrize(("gap", "seen"), [(np.inf, False), (1e-3, True)])
def test_whether_the_gap_was_seen(gap, seen):
    problem, _, X, _ = case(150, 12)
    found = steps(problem, X, np.zeros((12, 1)), tol=1e-4, gap=gap).solve()
    assert found.gap_seen is seen
    assert (found.product is None) == seen
    if not seen:
        np.testing.assert_allclose(found.product, X @ found.value.coef, atol=1e-12)


def test_slow_columns_get_a_hessian():
    problem, _, X, _ = case(150, 12)
    W = np.zeros((12, 1))
    for accuracy, largest in ((1e-3, 0), (-1.0, 100)):  # the second is never reached
        limits = ProximalNewton(small_system=0, largest_system=100)
        found = proximal._Steps(problem, X, W, Budget(tol=1e-6), limits)
        V = X.T @ found.view.beta
        assert found._step(problem.slopes(W, V), V, found.view.loss, accuracy)
        assert found.largest == largest
        assert found.view.loss + problem.penalty(found.W) < problem.with_best_bias(0 * found.F).loss
        np.testing.assert_allclose(found.F, X @ found.W, atol=1e-12)


@pytest.mark.parametrize("size", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_ends_at_the_first_step_that_meets_both_conditions(classes, size):
    problem, _, X, _ = case(150, 12, classes)
    problem = replace(problem, C=size * problem.C)
    gram, total = FeatureGram.of_rows(X), size * problem.C.sum() / size
    # Where each number of steps leads, its relative gap, and its violation as a share of ΣC.
    gaps, shares = [], []
    for k in range(12):
        W = ProximalNewton().run(problem, gram, Budget(0.0, max_iter=k), None).value.coef
        view = problem.with_best_bias(X @ W)
        V = X.T @ view.beta
        slopes = problem.slopes(W, V)
        value = view.loss + problem.penalty(W)
        gaps.append((value - problem.dual_value(view.beta, V, slopes)) / value)
        shares.append(float(problem.violations(W, slopes).max()) / total)
    for tol in np.geomspace(1e-9, 1.0, 19):
        met = [gap <= SHARPNESS * tol and share <= tol for gap, share in zip(gaps, shares, strict=True)]  # fmt: skip  # noqa: E501
        found = ProximalNewton().run(problem, gram, Budget(tol), None)
        if True in met:
            assert found.iterations == met.index(True)
            assert found.status == "optimal"


def test_rounding_ends_it_after_three_steps_that_bring_nothing():
    problem, _, X, _ = case(150, 12)
    gram, gaps = FeatureGram.of_rows(X), []
    for k in range(20):
        found = ProximalNewton().run(problem, gram, Budget(0.0, max_iter=k), None)
        W = found.value.coef
        view = problem.with_best_bias(X @ W)
        V = X.T @ view.beta
        value = view.loss + problem.penalty(W)
        gaps.append((value - problem.dual_value(view.beta, V, problem.slopes(W, V))) / value)
        if found.status == "optimal":
            break
    first = next(k for k, gap in enumerate(gaps) if gap <= 1e-11)
    assert found.status == "optimal"
    assert first < found.iterations <= first + 6


def test_hessians_ask_for_the_memory_that_they_take(monkeypatch):
    problem, columns, X, W = case(classes=3)
    asked = []
    monkeypatch.setattr(proximal._memory, "require", lambda size, *words: asked.append(size))
    view = problem.with_best_bias(X @ W)
    proximal.hessian(problem, view, columns, everything(W))
    assert asked == [8 * W.size**2]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("small", [0, 400])
def test_steps_that_are_too_long_are_cut_until_the_objective_falls(small, classes):
    cut = 0
    for seed in range(6):
        problem, _, X, W = case(60, 5, classes, seed=seed)
        start = 12 * W  # far out, where the losses hardly bend
        run = proximal._Steps(problem, X, start, Budget(), ProximalNewton(small_system=small))
        for _ in range(4):
            V = X.T @ run.view.beta
            value = run.view.loss + problem.penalty(run.W)
            before = run.W.copy()
            if not run._step(problem.slopes(run.W, V), V, value, 1e-3):
                break
            after = problem.with_best_bias(X @ run.W).loss + problem.penalty(run.W)
            assert after < value
            np.testing.assert_allclose(run.F, X @ run.W, atol=1e-9)
            # The whole step is where the model is lowest; a part of it is a halved one.
            model = proximal._HessianModel(problem, problem.with_best_bias(X @ before), X, everything(before))  # fmt: skip  # noqa: E501
            best = model.minimise(before.T.ravel(), V.T.ravel(), 1e-9).reshape(before.T.shape).T
            share = np.vdot(run.W - before, best - before) / np.vdot(best - before, best - before)
            cut += share < 0.9
    assert cut > 0
