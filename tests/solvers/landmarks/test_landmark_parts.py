"""The parts of solvers on landmarks, each against its formula on written-out features."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import RBF
from mercer.exceptions import NotPositiveDefinite
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.chunks import ArrayChunks
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems.landmark_losses import LandmarkClasses, Logistic, SquaredHinge
from mercer.problems.landmark_squares import LandmarkFunctions, LandmarkRidge
from mercer.solvers.base import Budget, Status
from mercer.solvers.landmarks import landmark_newton
from mercer.solvers.landmarks.landmark_newton import LandmarkNewton, _LandmarkDescent, _Refresh
from mercer.solvers.landmarks.landmark_preconditioner import (
    LandmarkPreconditioner,
    penalty_diagonal,
    worthwhile_share,
)
from mercer.solvers.landmarks.landmark_ridge import (
    LandmarkConjugateGradients,
    _RidgeDescent,
    is_direct,
    normal_matrix,
    solve_targets,
)

LOSSES = [SquaredHinge(2), SquaredHinge(3), Logistic(2), Logistic(3)]


def table(classes=3, rows=120, count=12, constant=True):
    random = np.random.default_rng(4)
    X = random.normal(size=(rows, 2))
    score = X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=rows)
    labels = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    kernel = RBF(gamma=0.7)
    basis = LandmarkBasis.for_passes(kernel, kernel.encode(X[:count]))
    passes = BlockPasses(kernel, basis.points, ArrayChunks(X, labels, None, 50), constant)
    Z = np.linalg.solve(basis.R.T, kernel(X, basis.points).T).T
    return np.column_stack([Z, np.ones(rows)]) if constant else Z, labels, basis, passes


def descent(loss, C=2.0, constant=True, **limits):
    Z, labels, basis, passes = table(loss.classes, constant=constant)
    problem = LandmarkClasses(loss, C, constant)
    run = _LandmarkDescent(problem, LandmarkGram(basis, passes), Budget(**limits), False)
    run.precise = run.float64 = True
    return Z, labels, run


def objective(Z, labels, loss, C, W, constant=True):
    free = W[:-1] if constant else W
    return (free**2).sum() / 2 + C * loss.values(Z @ W, labels).sum()


def slope(Z, labels, loss, C, W, constant=True):
    kept = np.ones((len(W), 1))
    if constant:
        kept[-1] = 0.0
    return kept * W - C * Z.T @ loss.negative_gradient(Z @ W, labels)


def some(Z, loss, seed=0):
    return np.random.default_rng(seed).normal(size=(Z.shape[1], loss.functions))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_values_gradients_gaps_and_errors(loss, constant):
    Z, labels, run = descent(loss, constant=constant)
    W = some(Z, loss)
    point = run.evaluate(W)
    assert run.steps == 1
    assert point.value == pytest.approx(objective(Z, labels, loss, 2.0, W, constant))
    gradient = slope(Z, labels, loss, 2.0, W, constant)
    assert_allclose(point.gradient, gradient, atol=1e-8)
    # The gap of f and its multipliers, with what the dual loses by their sum.
    beta = 2.0 * loss.negative_gradient(Z @ W, labels)
    free = Z[:, :-1] if constant else Z
    combined = free.T @ beta
    primal = objective(Z, labels, loss, 2.0, W, constant)
    dual = 2.0 * loss.dual_value(beta / 2.0, labels).sum() - (combined**2).sum() / 2
    if constant:
        dual -= (np.abs(beta.sum(axis=0)) * (2 * np.abs(W[-1]) + 1)).sum()
    assert run.gap(point) == pytest.approx(primal - dual, rel=1e-9)
    for factor in (1e-6, 1e3):  # the gap rules, or what a step promises
        promise = factor * (gradient**2).sum() / 2
        expected = math.sqrt(max(primal - dual, promise) / primal)
        assert run.error(point, lambda R, k=factor: k * R) == pytest.approx(expected, rel=1e-8)
    again = run.evaluate_again(point, near=True)
    assert again.sums.unseen is not None
    assert run.evaluate_again(point).sums.unseen is None
    assert run.steps == 3


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_preconditioners_are_inverses_of_second_derivatives(loss, shared, monkeypatch):
    asked = []
    monkeypatch.setattr(
        landmark_newton, "worthwhile_share", lambda *question: asked.append(question) or 1.0
    )
    Z, labels, run = descent(loss)
    run.shared = shared
    W, R = some(Z, loss), some(Z, loss, 1)
    D = loss.hessian_diagonal(Z @ W, labels)
    penalty = np.diag([*np.ones(Z.shape[1] - 1), 0.0])
    if shared:
        D = np.repeat(D.mean(axis=1, keepdims=True), loss.functions, axis=1)
    expected = [
        np.linalg.solve(2.0 * (Z * d[:, None]).T @ Z + penalty, r)
        for d, r in zip(D.T, R.T, strict=True)
    ]
    found = run.preconditioner(run.evaluate(W))(R)
    assert_allclose(found, np.transpose(expected), rtol=1e-5, atol=1e-8)
    pull = np.count_nonzero(loss.negative_gradient(Z @ W, labels)) / loss.functions
    assert asked == [(int(pull), Z.shape[1], 0.1)]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_directions_are_newtons(loss):
    Z, labels, run = descent(loss)
    W = some(Z, loss)
    point = run.evaluate(W)
    known = _Refresh(run.preconditioner)
    D = run.direction(point, known.at(point), 1e-9, known)
    # The derivative of the slope along D takes the slope away.
    h = 1e-6
    change = slope(Z, labels, loss, 2.0, W + h * D) - slope(Z, labels, loss, 2.0, W - h * D)
    gradient = slope(Z, labels, loss, 2.0, W)
    assert_allclose(change / (2 * h), -gradient, atol=1e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_sizes_of_steps_are_the_lowest(loss):
    Z, labels, run = descent(loss)
    W = 0.1 * some(Z, loss)
    point = run.evaluate(W)
    known = _Refresh(run.preconditioner)
    for stretch in (1.0, 3.0, 40.0):
        D = stretch * run.direction(point, known.at(point), 1e-3, known)
        before = run.steps
        sizes = run.sizes(point, D)
        assert run.steps == before + 1

        def value(sizes, D=D):
            return objective(Z, labels, loss, 2.0, W + sizes * D)

        assert len(sizes) == (1 if loss.joint else loss.functions)
        for factor in (0.7, 1.4) if stretch < 10 else (0.0, 3.0):
            assert value(sizes) <= value(factor * sizes) + 1e-9
        slopes = run.dots(point.gradient, D)
        assert_allclose(slopes.sum(), (slope(Z, labels, loss, 2.0, W) * D).sum(), rtol=1e-8)
        assert len(slopes) == len(sizes)


def test_a_step_is_whole_or_searched_or_none():
    loss = SquaredHinge(2)
    Z, _, run = descent(loss)
    point = run.evaluate(0.1 * some(Z, loss))
    known = _Refresh(run.preconditioner)
    D = run.direction(point, known.at(point), 1e-3, known)
    run.searching, before = False, run.steps
    whole = run.step(point, D)
    assert_allclose(whole.W, point.W + D)
    assert run.steps == before + 1
    # A step that is twelve times too long is searched, and remembered.
    before = run.steps
    cut = run.step(point, 12 * D)
    assert run.searching
    assert run.steps == before + 3  # the whole step, the search, the step
    assert cut.value < point.value
    assert run.step(point, -D) is None  # uphill
    run.searching, before = True, run.steps
    searched = run.step(point, D)
    assert run.steps == before + 2
    assert searched.value <= whole.value + 1e-9
    assert run.searching is bool((np.abs(run.sizes(point, D) - 1) > 0.15).any())


@pytest.mark.parametrize("precise", [True, False])
def test_which_falls_count(precise):
    _, _, run = descent(SquaredHinge(2))
    gaps = {1.0: 5.0}
    run.gap = lambda point: gaps[point.value]

    def at(value, gap=5.0):
        gaps[value] = gap
        return SimpleNamespace(value=value, precise=precise)

    rounding = 1e-13 if precise else 1e-6
    here = at(1.0)
    assert run.falls(here, at(1.0 - 1.1e-4), -1.0)
    assert not run.falls(here, at(1.0 - 0.9e-4), -1.0)
    assert run.falls(here, at(1.0 - 1e-4 + 0.5 * rounding), -1.0)
    assert not run.falls(here, at(1.0 - 1e-4 + 2 * rounding), -1.0)
    # Where the fall is below 10⁻⁹ the gap decides.
    up = 1.0 + 3 * rounding
    assert run.falls(here, at(up, 4.0), -0.9e-9)
    assert not run.falls(here, at(up, 5.0), -0.9e-9)
    assert not run.falls(here, at(up, 4.0), -1.1e-9)
    mixed = SimpleNamespace(value=1.0 + 1e-7, precise=not precise)
    gaps[mixed.value] = 5.0
    assert run.falls(here, mixed, -1e-5)  # one of both in float32


def test_when_a_preconditioner_is_renewed():
    made = []

    def make(point):
        made.append(point)
        return lambda R: R

    def at(active):
        return SimpleNamespace(sums=SimpleNamespace(totals=(0.0, 0.0, active)))

    known = _Refresh(make)
    first = at(100.0)
    known.at(first)
    assert made == [first]
    known.at(at(120.0))
    known.at(at(80.0))
    assert len(made) == 1  # up to a fifth of the rows that pull
    changed = at(121.0)
    known.at(changed)
    assert made[-1] is changed
    known.at(at(96.0))
    assert made[-1] is not changed
    assert known.point is made[-1]
    count = len(made)
    share = math.exp(-2.0)
    known.note(8, share, False)  # 4 steps for each factor of e, the best of its time
    assert not known.late
    known.note(12, share, False)
    assert not known.late  # 1.5 times as many are none too many
    known.note(13, share, False)
    assert known.late
    known.at(at(96.0))
    assert len(made) == count + 1
    known.note(1, share, False)
    known.note(6, share, False)
    assert not known.late  # six are never many
    known.note(7, share, False)
    assert known.late
    known.at(at(96.0))
    known.note(1, share, True)
    assert known.late


def test_origins():
    Z, _, run = descent(SquaredHinge(3))
    assert run.origin(None).shape == (Z.shape[1], 3)
    assert not run.origin(None).any()
    start = LandmarkFunctions(some(Z, SquaredHinge(3))[:-1], np.arange(3.0))
    assert_allclose(run.origin(start), np.vstack([start.coordinates, [0.0, 1.0, 2.0]]))
    Z, _, run = descent(SquaredHinge(3), constant=False)
    start = LandmarkFunctions(some(Z, SquaredHinge(3)), np.zeros(3))
    assert_allclose(run.origin(start), start.coordinates)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_budgets_and_starts_of_newton(loss):
    _, _, basis, passes = table(loss.classes)
    gram, problem = LandmarkGram(basis, passes), LandmarkClasses(loss, 2.0, True)

    def solve(start=None, **limits):
        return LandmarkNewton().solve(problem, gram, Budget(**limits), start)

    errors = []

    def note(error):
        errors.append(error)
        return False

    best = solve(tol=1e-6, monitor=note)
    most = best.statistics.iterations
    assert best.status is Status.OPTIMAL
    assert best.certificate.relative_gap <= 2e-12
    assert most <= 60
    assert len(errors) <= 9  # Newton's steps
    assert errors[-1] < 1e-2 * errors[0]
    again = solve(best.value, tol=1e-5)
    assert again.statistics.iterations < most
    rough = solve(tol=1e-2)
    assert rough.certificate.relative_gap <= 1e-4
    assert rough.statistics.iterations < most
    on = solve(rough.value, tol=1e-6)
    assert on.certificate.relative_gap <= 2e-12
    assert on.statistics.iterations <= most
    for steps in (1, 3, 7):
        found = solve(tol=1e-9, max_iter=steps)
        assert found.status is Status.MAX_ITER
        assert steps <= found.statistics.iterations <= steps + 4
    late = solve(tol=1e-9, deadline=0.0)
    assert late.status is Status.TIME_LIMIT
    assert late.statistics.iterations <= 2
    assert solve(tol=1e-9, monitor=lambda error: True).status is Status.INTERRUPTED
    shared = LandmarkNewton(shared=True).solve(problem, gram, Budget(tol=1e-6))
    assert shared.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-9)


def test_nothing_beyond_rounding_is_claimed():
    _, _, basis, passes = table(2)
    gram, problem = LandmarkGram(basis, passes), LandmarkClasses(Logistic(2), 2.0, True)
    found = LandmarkNewton().solve(problem, gram, Budget(tol=1e-12, max_iter=300))
    assert found.status in (Status.OPTIMAL, Status.STALLED)
    assert found.statistics.iterations < 120
    assert found.certificate.relative_gap <= 1e-12


def test_factors_of_estimated_matrices():
    random = np.random.default_rng(5)
    A = random.normal(size=(5, 5))
    G, penalty, R = A @ A.T, random.uniform(1, 2, 5), random.normal(size=(5, 2))
    expected = np.linalg.solve(G + np.diag(penalty), R)
    assert_allclose(LandmarkPreconditioner(G, penalty)(R), expected)
    # Where rounding made it indefinite, the least of 10⁻⁷, 10⁻⁵ … of its diagonal that helps.
    none = np.zeros(2)
    for least, added in ((-1e-9, 1e-7), (-1e-6, 1e-5), (-1e-4, 1e-3), (-0.5, 1.0)):
        G = np.diag([4.0, 4.0 * least])
        found = LandmarkPreconditioner(G, none)(np.ones(2))
        assert_allclose(found, 1 / (np.diagonal(G) + added * 4.0), rtol=1e-9)
    raised = LandmarkPreconditioner(np.diag([4.0, -1e-9]), np.array([4.0, 0.0]))(np.ones(2))
    assert_allclose(raised, 1 / np.array([8.0 + 8e-7, 8e-7 - 1e-9]), rtol=1e-9)
    with pytest.raises(NotPositiveDefinite):
        LandmarkPreconditioner(np.diag([1.0, -2.0]), none)
    assert_allclose(penalty_diagonal(3, True), [1, 1, 0])
    assert_allclose(penalty_diagonal(3, False), 1)


@pytest.mark.parametrize("tol", [0.5, 0.1, 1e-3, 1e-8, 0.0])
@pytest.mark.parametrize(("rows", "columns"), [(100, 50), (2000, 50), (10**5, 300), (10**6, 2000), (700, 100)])  # fmt: skip  # noqa: E501
def test_the_share_of_rows_is_the_cheapest(rows, columns, tol):
    steps = 2 * math.log(1 / min(max(tol, 1e-15), 0.1))
    ratios = [5 * 100 ** (k / 19) for k in range(20)]
    costs = {
        r * columns / rows: r * columns / rows * 0.03 * columns + steps / math.log(r)
        for r in ratios
        if r * columns < rows
    }
    costs[1.0] = 3 + 0.03 * columns
    best = min(costs, key=costs.get)
    assert worthwhile_share(rows, columns, tol) == pytest.approx(best)


def ridge(constant=True, targets=2, rows=120):
    random = np.random.default_rng(6)
    X = random.normal(size=(rows, 2))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])[:, :targets] + 3.0
    kernel = RBF(gamma=0.7)
    basis = LandmarkBasis.for_passes(kernel, kernel.encode(X[:12]))
    passes = BlockPasses(kernel, basis.points, ArrayChunks(X, Y, None, 50), constant)
    Z = np.linalg.solve(basis.R.T, kernel(X, basis.points).T).T
    return X, Y, Z, LandmarkGram(basis, passes), kernel


def closed_form(Z, Y, alpha, constant, weights=None):
    """Return coordinates and constants by the equations of least squares."""
    P = np.eye(Z.shape[1])
    w = np.ones(len(Z)) if weights is None else weights
    if constant:
        Z, P = np.column_stack([Z, np.ones(len(Z))]), np.diag([*np.diagonal(P), 0.0])
    W = np.linalg.solve((Z * w[:, None]).T @ Z + alpha * P, (Z * w[:, None]).T @ Y)
    return (W[:-1], W[-1]) if constant else (W, np.zeros(Y.shape[1]))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("alpha", [1e-2, 10.0])
def test_ridge_by_its_factor_and_by_steps(alpha, constant):
    _, Y, Z, gram, _ = ridge(constant)
    problem = LandmarkRidge(alpha, constant, 2)
    W, b = closed_form(Z, Y, alpha, constant)
    whole = normal_matrix(gram, alpha, 1e-8, direct=True)
    both = np.column_stack([Z, np.ones(len(Z))]) if constant else Z
    assert_allclose(whole, both.T @ both, atol=1e-9)
    seen = []

    def note(error):
        seen.append(error)
        return False

    direct = LandmarkConjugateGradients().solve(problem, gram, Budget(tol=1e-9))
    stepped = LandmarkConjugateGradients().solve(problem, gram, Budget(tol=1e-9, monitor=note))
    half = LandmarkConjugateGradients(whole / 3).solve(problem, gram, Budget(tol=1e-9))
    assert direct.statistics.iterations == 1
    assert 1 <= stepped.statistics.iterations <= 12
    assert half.statistics.iterations <= 30
    assert seen
    assert seen[0] == pytest.approx(1.0)  # as a share of the first
    for found in (direct, stepped, half):
        assert found.status is Status.OPTIMAL
        assert_allclose(found.value.coordinates, W, atol=1e-6)
        assert_allclose(found.value.constants, b, atol=1e-6)


def test_limits_of_ridge():
    _, _, Z, gram, _ = ridge()
    problem = LandmarkRidge(1e-2, True, 2)
    weak = LandmarkConjugateGradients(np.eye(Z.shape[1] + 1))
    best = weak.solve(problem, gram, Budget(tol=1e-8))
    most = best.statistics.iterations
    assert best.status is Status.OPTIMAL
    assert 3 < most <= 40
    far = []
    for steps in (1, 3, 6):
        found = weak.solve(problem, gram, Budget(tol=1e-8, max_iter=steps))
        assert found.status is Status.MAX_ITER
        assert found.statistics.iterations == steps
        far.append(found.certificate.primal)
    assert far == sorted(far, reverse=True)
    assert weak.solve(problem, gram, Budget(deadline=0.0)).status is Status.TIME_LIMIT
    stopped = weak.solve(problem, gram, Budget(monitor=lambda error: True))
    assert stopped.status is Status.INTERRUPTED
    assert stopped.statistics.iterations == 0
    assert is_direct(gram, Budget())
    assert is_direct(gram, Budget(max_iter=2))
    assert not is_direct(gram, Budget(max_iter=1))
    assert not is_direct(gram, Budget(deadline=0.0))
    assert not is_direct(gram, Budget(monitor=lambda error: False))
    for rows, answer in ((2**29 // 16**2, True), (2**29 // 16**2 + 1, False)):
        passes = SimpleNamespace(holds_features=False, rows=rows, columns=16)
        assert is_direct(SimpleNamespace(passes=passes), Budget()) is answer
        passes.holds_features = True
        assert is_direct(SimpleNamespace(passes=passes), Budget())


def test_targets_with_penalties_of_their_own():
    X, Y, Z, gram, kernel = ridge()
    weights = np.random.default_rng(7).uniform(0.5, 2.0, len(X))
    three = np.column_stack([Y, Y[:, 0] - Y[:, 1]])
    alphas = np.array([0.1, 2.0, 0.1])
    held = LandmarkGram.of(gram.basis, kernel.encode(X), three, weights, True, hold=1 << 30)
    for penalties in (alphas, np.full(3, 0.5)):
        found = solve_targets(held, three, weights, True, penalties, Budget(tol=1e-9))
        assert found.status is Status.OPTIMAL
        for j, alpha in enumerate(penalties):
            W, b = closed_form(Z, three[:, [j]], alpha, True, weights)
            assert_allclose(found.value.coordinates[:, [j]], W, atol=1e-6)
            assert_allclose(found.value.constants[j], b[0], atol=1e-6)
    late = solve_targets(held, three, weights, True, alphas, Budget(tol=1e-9, deadline=0.0))
    assert late.status is Status.TIME_LIMIT


def test_parabolas_through_uneven_places():
    t = np.array([0.5, 0.75, 1.0, 1.25, 1.5, 2.0])
    for at in (0.8, 1.1, 1.6):
        assert landmark_newton._lowest(t, (t - at) ** 2) == pytest.approx(at)
    assert landmark_newton._lowest(np.array([0.0, 1.0, 2.0]), np.zeros(3)) == 0.0
    flat = np.array([1.0, 0.0, np.nan])
    assert landmark_newton._lowest(np.array([0.0, 1.0, 2.0]), flat) == pytest.approx(2.0, nan_ok=True)  # fmt: skip  # noqa: E501


def test_falls_below_rounding_take_whole_steps():
    loss = SquaredHinge(2)
    Z, _, run = descent(loss, C=20.0)
    point = run.evaluate(0.1 * some(Z, loss))
    assert point.value > 100
    D = -point.gradient
    slope = float((point.gradient**2).sum())
    for share, size in ((0.3, 1.0), (3.0, 2.0)):  # a millionth of the value, which float32 hides
        short = share * 1e-6 * point.value / slope
        run.searching = True
        found = run.step(point, short * D)
        assert_allclose(found.W - point.W, size * short * D, rtol=1e-6, atol=1e-18)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_share_of_the_first_residual_ends_conjugate_steps(loss):
    Z, labels, run = descent(loss)
    W = some(Z, loss)
    point = run.evaluate(W)
    known = _Refresh(run.preconditioner)
    counts = []
    for share in (0.5, 1e-2, 1e-5, 1e-8):
        before = run.steps
        D = run.direction(point, lambda R: R, share, known_at(known, point))
        counts.append(run.steps - before)
        h = 1e-6
        change = slope(Z, labels, loss, 2.0, W + h * D) - slope(Z, labels, loss, 2.0, W - h * D)
        left = change / (2 * h) + point.gradient
        size = np.sqrt(run.dots(left, left) / run.dots(point.gradient, point.gradient))
        assert (size <= share + 1e-4).all()
    assert counts == sorted(set(counts))


def known_at(known, point):
    known.at(point)
    return known


@pytest.mark.parametrize("constant", [True, False])
def test_corrections_of_ridge_end_at_their_goal(constant):
    _, Y, Z, gram, _ = ridge(constant)
    both = np.column_stack([Z, np.ones(len(Z))]) if constant else Z
    problem = LandmarkRidge(0.1, constant, 2)
    system = both.T @ both + 0.1 * np.diag([*np.ones(12), *([0.0] if constant else [])])
    unit = np.eye(len(system))
    counts = []
    for share in (0.5, 1e-2, 1e-4):
        run = _RidgeDescent(problem, gram, Budget(tol=1e-9), unit, False)
        run.precise = True
        residual = both.T @ Y
        size = np.sqrt((residual * run.precondition(residual)).sum(axis=0))
        found = run.correction(residual, share * size, size**2)
        left = residual - system @ found
        after = np.sqrt((left * run.precondition(left)).sum(axis=0))
        assert (after <= share * size * (1 + 1e-6)).all()
        counts.append(run.steps)
        assert run.status is Status.OPTIMAL
    assert counts == sorted(set(counts))
    # As many steps as the budget has, and no more.
    for most in (1, 2):
        run = _RidgeDescent(problem, gram, Budget(tol=1e-9, max_iter=most), unit, False)
        run.precise = True
        run.correction(residual, 1e-6 * size, size**2)
        assert (run.steps, run.status) == (most, Status.MAX_ITER)
