"""Steps of independent component analysis against formulas, differences and plain loops."""

import numpy as np
import pytest
from scipy.linalg import expm

from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.features import Features
from mercer.linalg.covariance import whiten
from mercer.problems.contrasts import CONTRASTS, moments
from mercer.problems.entropy import SumOfEntropies, spacing_entropy
from mercer.solvers.base import Budget, Status
from mercer.solvers.sources.fixed_point import (
    DeflationFixedPoint,
    DeflationRows,
    ParallelRows,
    SymmetricFixedPoint,
    Unmixing,
    _orthogonal,
    decorrelate,
    gradient,
)
from mercer.solvers.sources.ica_newton import (
    _MEMORY,
    QuasiNewtonICA,
    _cayley,
    _Descent,
    second_derivatives,
)
from mercer.solvers.sources.rotations import PairRotations, _best_angle, _entropies

CONTRAST = CONTRASTS["logcosh"]


def white(n=800, d=3, seed=0):
    random = np.random.default_rng(seed)
    S = np.column_stack([random.laplace(size=(n, d - 1)), random.uniform(-1, 1, n)])
    return whiten(S @ random.normal(size=(d, d))).X.T


def gram_of(X):
    return FeatureGram(Features.numbered(X))


def turned(D, W):
    return expm(D) @ W


X3 = white()
W3 = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]


def test_gradients_and_second_derivatives_are_those_of_differences():
    data = X3 if X3.shape[0] == 3 else X3.T
    at = moments(CONTRAST, W3, data)
    weights = CONTRAST.weights(at)

    def value(D):
        return CONTRAST.objective(moments(CONTRAST, turned(D, W3), data), weights)

    G = gradient(CONTRAST, at)
    np.testing.assert_allclose(G, -G.T, atol=1e-15)
    product = second_derivatives(CONTRAST, W3, data)
    given = second_derivatives(CONTRAST, W3, data, at)
    random = np.random.default_rng(1)
    for _ in range(4):
        D = random.normal(size=(3, 3))
        D = D - D.T
        h = 1e-4
        slope = (value(h * D) - value(-h * D)) / (2 * h)
        assert np.vdot(G, D) == pytest.approx(slope, abs=1e-6)
        bent = (value(h * D) - 2 * value(0 * D) + value(-h * D)) / h**2
        assert np.vdot(D, product(D)) == pytest.approx(bent, abs=1e-4)
        np.testing.assert_array_equal(product(D), given(D))


def test_cayley_is_a_rotation_near_the_exponential():
    D = np.array([[0.0, 0.3, -0.2], [-0.3, 0.0, 0.1], [0.2, -0.1, 0.0]])
    for size in (1.0, 0.1):
        R = _cayley(size * D)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
        assert np.abs(R - expm(size * D)).max() <= 0.1 * size**3 * np.abs(D).sum() ** 3 / 12


def test_the_nearest_orthogonal_matrix():
    A = np.random.default_rng(2).normal(size=(3, 3))
    U, _, V = np.linalg.svd(A)
    np.testing.assert_allclose(decorrelate(A), U @ V, atol=1e-12)
    assert np.isfinite(decorrelate(np.ones((2, 2)))).all()
    found = np.eye(3)[:1]
    np.testing.assert_allclose(_orthogonal(np.array([5.0, 3.0, 4.0]), found), [0.0, 0.6, 0.8])
    near = _orthogonal(np.array([1.0, 1e-9, 0.0]), found)
    np.testing.assert_allclose(near, [0.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_array_equal(_orthogonal(np.array([2.0, 0.0, 0.0]), found), np.zeros(3))


METHODS = {
    "symmetric": (SymmetricFixedPoint, 12),
    "deflation": (DeflationFixedPoint, 14),
    "parallel rows": (ParallelRows, 8),
    "deflation rows": (DeflationRows, 8),
}


@pytest.mark.parametrize("name", METHODS)
def test_fixed_points_say_how_far_they_moved(name):
    method, steps = METHODS[name][0](), METHODS[name][1]
    gram = gram_of(X3.T if X3.shape[0] == 3 else X3)
    start = Unmixing(W3, np.inf)
    found = method.solve(CONTRAST, gram, Budget(tol=1e-7, max_iter=100), start)
    assert found.status is Status.OPTIMAL
    assert 0 <= found.value.gradient <= 1e-7
    assert 2 <= found.statistics.iterations <= 3 * steps
    # From the answer one step is enough, or none.
    again = method.solve(CONTRAST, gram, Budget(tol=1e-6, max_iter=100), found.value)
    assert again.statistics.iterations <= 1
    # Rows that turn by an angle t differ by t, and 1 − cos t is about t²/2.
    np.testing.assert_allclose(np.abs(again.value.W), np.abs(found.value.W), atol=1e-3)
    few = method.solve(CONTRAST, gram, Budget(tol=1e-12, max_iter=2), start)
    assert few.status is Status.MAX_ITER
    assert few.statistics.iterations == 2
    assert few.value.gradient > 1e-12
    seen = []
    budget = Budget(tol=1e-12, max_iter=3, monitor=lambda moved: seen.append(moved))
    method.solve(CONTRAST, gram, budget, start)
    assert len(seen) >= 3
    assert all(np.isfinite(seen))


@pytest.mark.parametrize("method", [DeflationRows(), DeflationFixedPoint()], ids=["rows", "all"])
def test_deflation_is_the_plain_loop(method):
    data = X3 if X3.shape[0] == 3 else X3.T
    W = np.zeros((3, 3))
    for j, w in enumerate(W3):
        if isinstance(method, DeflationFixedPoint):
            w = w - W[:j].T @ (W[:j] @ w)
        w = w / np.linalg.norm(w)
        for _ in range(4):
            y = np.tanh(w @ data)
            new = data @ y / data.shape[1] - (1 - y**2).mean() * w
            new = new - W[:j].T @ (W[:j] @ new)
            w = new / np.linalg.norm(new)
        W[j] = w
    budget = Budget(tol=0.0, max_iter=4)
    found = method.solve(CONTRAST, gram_of(data.T), budget, Unmixing(W3, np.inf))
    np.testing.assert_allclose(np.abs(found.value.W), np.abs(W), atol=1e-10)
    assert found.statistics.iterations == 4


@pytest.mark.parametrize("seed", range(3))
def test_newton_like_steps_are_few(seed):
    data = white(seed=seed)
    data = data if data.shape[0] == 3 else data.T
    gram = gram_of(data.T)
    method = QuasiNewtonICA(np.random.RandomState(0))
    found = method.solve(CONTRAST, gram, Budget(tol=1e-10, max_iter=100), Unmixing(W3, np.inf))
    assert found.status is Status.OPTIMAL
    at = moments(CONTRAST, found.value.W, data)
    assert np.abs(gradient(CONTRAST, at)).max() <= 1e-9
    assert found.value.gradient <= 1e-10
    assert found.statistics.iterations <= 16
    H = second_derivatives(CONTRAST, found.value.W, data)
    for i, j in ((0, 1), (0, 2), (1, 2)):  # a minimum along every pair
        D = np.zeros((3, 3))
        D[i, j], D[j, i] = 1.0, -1.0
        assert np.vdot(D, H(D)) > 0


def test_directions_by_memory_are_those_of_bfgs():
    data = X3 if X3.shape[0] == 3 else X3.T
    descent = _Descent(CONTRAST, data, W3)
    np.testing.assert_allclose(descent._direction(), -descent.G / descent._curvature())
    for _ in range(4):
        assert descent._move(descent._direction())
    assert 1 <= len(descent.memory) <= _MEMORY
    # The inverse of B by its updates: B⁻¹ ← (1 − ρsyᵀ)B⁻¹(1 − ρysᵀ) + ρssᵀ.
    inverse = np.diag(1 / descent._curvature().ravel())
    for s, y in descent.memory:
        s, y = s.ravel(), y.ravel()
        part = np.eye(9) - np.outer(s, y) / (s @ y)
        inverse = part @ inverse @ part.T + np.outer(s, s) / (s @ y)
    np.testing.assert_allclose(descent._direction().ravel(), -inverse @ descent.G.ravel())
    size = descent.size
    assert descent._move(descent._newton_direction())
    assert descent.size < 0.2 * size
    assert not descent._move(descent.G)  # uphill there is nothing


def test_slow_memories_are_told_from_quick_ones():
    data = X3 if X3.shape[0] == 3 else X3.T
    descent = _Descent(CONTRAST, data, W3)
    descent.size = 1e-3
    quick, slow = [1.0, 0.1, 0.01, 1e-3], [1.1e-3, 1.05e-3, 1.02e-3, 1e-3]
    assert descent._is_slow(slow, 1e-8)
    assert not descent._is_slow(quick, 1e-8)
    assert not descent._is_slow(slow[1:], 1e-8)
    assert not descent._is_slow(slow, 0.999e-3)
    descent.size = 4e-3
    assert not descent._is_slow(slow, 1e-8)
    # log(10⁻³/tol) against 3·(1 + d/3)·log 10: six digits with d = 3.
    descent.size = 1e-3
    assert descent._is_slow(quick, 0.9e-9)
    assert not descent._is_slow(quick, 1.1e-9)


def test_the_best_angle_of_a_pair():
    random = np.random.default_rng(0)
    S = np.stack([random.uniform(-1, 1, 2000), random.laplace(size=2000)])
    S /= S.std(axis=1, keepdims=True)
    grid = np.arange(60) / 60 * (np.pi / 2) - np.pi / 4
    for angle in (-0.6, -0.1, 0.3, 0.7):
        c, s = np.cos(angle), np.sin(angle)
        pair = np.array([[c, -s], [s, c]]) @ S
        found = _best_angle(pair, pair, grid)
        assert found == pytest.approx(angle, abs=0.03)
        fine = found + np.linspace(-0.02, 0.02, 81)
        assert _entropies(pair, np.array([found]))[0] <= _entropies(pair, fine).min() + 2e-3
    assert abs(_best_angle(S, S, grid)) < 0.03
    one = _entropies(S, np.array([0.4]))[0]
    c, s = np.cos(0.4), np.sin(0.4)
    assert one == pytest.approx(
        float(spacing_entropy((c * S[0] + s * S[1])[None])[0])
        + float(spacing_entropy((c * S[1] - s * S[0])[None])[0])
    )


def test_sweeps_of_rotations_end_and_are_rotations():
    random = np.random.default_rng(3)
    S = np.column_stack([random.laplace(size=900), random.uniform(-1, 1, 900), random.choice([-1, 1], 900) + 0.2 * random.normal(size=900)])  # fmt: skip  # noqa: E501
    data = whiten(S @ random.normal(size=(3, 3))).X
    method = PairRotations(np.random.RandomState(0))
    X = data if len(data) == 3 else data.T
    gram = gram_of(X.T)
    found = method.solve(SumOfEntropies(), gram, Budget(max_iter=20), None)
    assert found.status is Status.OPTIMAL
    assert 2 <= found.statistics.iterations <= 8
    assert found.value.gradient <= 1e-3
    W = found.value.W
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-10)
    best = spacing_entropy(W @ X).sum()
    assert best < spacing_entropy(X).sum()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        angles = np.linspace(-0.7, 0.7, 57)
        assert _entropies((W @ X)[[i, j]], angles).min() >= _entropies((W @ X)[[i, j]], np.zeros(1))[0] - 0.01  # fmt: skip  # noqa: E501
    once = method.solve(SumOfEntropies(), gram, Budget(max_iter=1), None)
    assert (once.status, once.statistics.iterations) == (Status.MAX_ITER, 1)


def test_steps_uphill_are_refused_however_short():
    data = X3 if X3.shape[0] == 3 else X3.T
    for size in (1.0, 1e-2, 1e-4):
        descent = _Descent(CONTRAST, data, W3)
        assert not descent._move(size * descent.G)
        np.testing.assert_array_equal(descent.W, W3)
        assert not descent.memory


def test_no_step_turns_by_more_than_a_radian():
    data = X3 if X3.shape[0] == 3 else X3.T
    first, second = _Descent(CONTRAST, data, W3), _Descent(CONTRAST, data, W3)
    D = first._direction()
    longest = np.abs(D).max()
    assert first._move(D * (40 / longest))
    assert second._move(D / longest)
    np.testing.assert_allclose(first.W, second.W, atol=1e-12)
    # Short ones are taken as they are.
    third = _Descent(CONTRAST, data, W3)
    assert third._move(0.125 * D / longest)
    np.testing.assert_allclose(third.W, _cayley(0.125 * D / longest) @ W3, atol=1e-12)


def test_a_few_conjugate_steps_give_the_newton_direction():
    data = X3 if X3.shape[0] == 3 else X3.T
    descent = _Descent(CONTRAST, data, W3)
    while descent.size > 1e-3:
        assert descent._move(descent._direction())
    H = second_derivatives(CONTRAST, descent.W, data)
    D = descent._newton_direction()
    left = np.linalg.norm(H(D) + descent.G)
    assert left <= np.sqrt(descent.size) * np.linalg.norm(descent.G) * (1 + 1e-9)
    np.testing.assert_allclose(D, -D.T, atol=1e-15)
    assert np.vdot(D, descent.G) < 0
