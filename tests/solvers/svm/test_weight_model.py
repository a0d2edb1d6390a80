"""Quadratic models on a part of an ℓp-ball: their optimality conditions, and closed forms."""

import numpy as np
import pytest

from mercer.solvers.svm import weight_model
from mercer.solvers.svm.weight_model import least_weights


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_conditions_hold(seed, p):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    A = rng.normal(size=(count, count))
    H, g, d = A @ A.T, rng.normal(size=count) - 1.0, rng.uniform(0, 0.3, count)
    scale = 10.0 ** rng.integers(-3, 4)
    x = least_weights(scale * g, scale * H, d, p)
    assert (x >= 0).all()
    total = (x**p).sum()
    assert total <= 1 + 1e-9
    slope = g + H @ (x - d)
    used = x > 1e-7
    norm = p * x ** (p - 1)
    if total < 1 - 1e-6:
        price = 0.0
    else:
        price = float(-(slope[used] @ norm[used]) / (norm[used] @ norm[used]))
        assert price > -1e-6
    np.testing.assert_allclose((slope + price * norm)[used], 0.0, atol=1e-5)
    assert (slope + price * norm)[~used].min(initial=0.0) > -1e-5


def test_closed_forms():
    none = np.zeros((3, 3))
    g = np.array([-1.0, -3.0, -2.0])
    np.testing.assert_allclose(least_weights(g, none, np.zeros(3), 1.0), [0, 1, 0], atol=1e-8)
    np.testing.assert_allclose(
        least_weights(g, none, np.zeros(3), 2.0), -g / np.linalg.norm(g), atol=1e-8
    )
    cube = np.sqrt(-g)  # ‖x‖₃ ≤ 1: x² is in proportion to −g
    np.testing.assert_allclose(
        least_weights(g, none, np.zeros(3), 3.0), cube / (cube**3).sum() ** (1 / 3), atol=1e-7
    )
    inside = np.array([0.2, 0.1, 0.3])
    np.testing.assert_allclose(
        least_weights(np.zeros(3), np.eye(3), inside, 1.0), inside, atol=1e-6
    )
    twins = least_weights(np.full(4, -1.0), np.ones((4, 4)), np.zeros(4), 1.0)
    np.testing.assert_allclose(twins, twins[0], rtol=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0])
def test_few_steps_are_enough(p, monkeypatch):
    answers = []
    for most in (80, 32):
        monkeypatch.setattr(weight_model, "_STEPS", most)
        for seed in range(10):
            rng = np.random.default_rng(seed)
            count = int(rng.integers(1, 6))
            A = rng.normal(size=(count, count))
            answers.append(
                least_weights(rng.normal(size=count) - 1.0, A @ A.T, rng.uniform(0, 0.3, count), p)
            )
    for whole, few in zip(answers[:10], answers[10:], strict=True):
        np.testing.assert_allclose(few, whole, atol=1e-6)
