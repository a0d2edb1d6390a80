"""Ascents of the evidence: the curvature as its formula says, tops as high as those of L-BFGS."""

import numpy as np
import pytest

from mercer import RBF, Linear, Matern, RationalQuadratic, White
from mercer.data import load_data
from mercer.gram.kernel_family import KernelFamily
from mercer.solvers.base import Budget
from mercer.solvers.gp.evidence import EvidenceAt, RegressionEvidence
from mercer.solvers.gp.evidence_ascent import _step, climb, maximise

KERNELS = [
    1.5 * RBF(length_scale=[1.0, 2.0, 3.0]) + White(0.1),
    RBF(length_scale=[1.0, 2.0, 3.0]) * Matern(length_scale=4.0) + White(0.2),
]
NOISE = 1e-8


def evidence_of(kernel, rows=300, targets=1):
    random = np.random.default_rng(3)
    X = random.uniform(-2, 2, (rows, 3))
    Y = np.sin(2 * X[:, [0]]) + X[:, [1]] + 0.2 * random.standard_normal((rows, targets))
    family = KernelFamily(kernel, kernel.encode(X), list(kernel.free_parameters()))
    return RegressionEvidence(family, Y, NOISE)


def start_of(kernel):
    return np.log(list(kernel.free_parameters().values()))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("targets", [1, 2])
def test_slope_and_curvature_are_those_of_the_formulas(kernel, targets):
    evidence = evidence_of(kernel, targets=targets)
    slope, curvature = EvidenceAt(evidence, start_of(kernel)).slope_and_curvature()
    A = evidence.family.matrix(start_of(kernel)) + NOISE * np.eye(300)
    a, inverse = np.linalg.solve(A, evidence.Y), np.linalg.inv(A)
    parts = [D for _, D in kernel.gradients(evidence.family.points)]
    wanted = [0.5 * np.sum((a @ a.T - targets * inverse) * D) for D in parts]
    np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-8)
    wanted = [[0.5 * np.sum((D @ a) * (inverse @ (E @ a))) for E in parts] for D in parts]
    np.testing.assert_allclose(curvature, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_tops_are_as_high_as_those_of_l_bfgs_in_fewer_evaluations(kernel):
    evidence, start = evidence_of(kernel), start_of(kernel)
    bounds = np.log([[1e-5, 1e5]] * len(start))
    ours = evidence.climb_by_curvature([start], bounds, Budget(tol=1e-8))
    theirs = maximise(evidence.value_and_gradient, [start], bounds)
    assert ours.converged
    assert ours.value > theirs.value - 1e-4
    assert ours.evaluations < theirs.evaluations
    assert (bounds[:, 0] <= ours.theta).all()
    assert (ours.theta <= bounds[:, 1]).all()


WIDTHS = [1.0] * 10
REAL = [
    RBF(length_scale=WIDTHS) + White(0.1),
    1.0 * Matern(nu=1.5, length_scale=WIDTHS) + White(0.1),
    1.0 * RationalQuadratic(alpha=1.0, length_scale=1.0) + 0.5 * Linear() + White(0.1),
]


@pytest.mark.parametrize("kernel", REAL, ids=lambda kernel: str(kernel)[:16])
def test_every_ascent_on_real_data_ends_on_a_top_as_high_as_that_of_l_bfgs(kernel):
    data = load_data("diabetes")
    X, y = np.asarray(data.X, dtype=float)[::4], np.asarray(data.y, dtype=float)[::4]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    family = KernelFamily(kernel, kernel.encode(X), list(kernel.free_parameters()))
    evidence = RegressionEvidence(family, y[:, None], NOISE)
    random = np.random.default_rng(0)
    theta = start_of(kernel)
    bounds = np.log([[1e-5, 1e5]] * len(theta))
    for start in (theta, *(theta + random.standard_normal((1, len(theta))))):
        ours = evidence.climb([start], bounds, Budget(tol=1e-8))
        theirs = maximise(evidence.value_and_gradient, [start], bounds)
        assert ours.converged
        assert ours.value > theirs.value - 1e-3
        # Nothing is left to gain along any parameter that no bound holds.
        for j, held in enumerate(np.isin(ours.theta, bounds)):
            for step in () if held else (0.05, -0.05):
                moved = ours.theta.copy()
                moved[j] += step
                assert evidence.value(moved) < ours.value + 1e-3


@pytest.mark.parametrize("damping", [1e-3, 1.0])
def test_steps_stay_in_their_box_and_always_promise_a_gain(damping):
    random = np.random.default_rng(1)
    for _ in range(200):
        root = random.standard_normal((4, 4)) * np.exp(3 * random.standard_normal(4))
        H, slope = root.T @ root, np.exp(3 * random.standard_normal(4)) * random.choice([-1, 1], 4)
        bounds = np.array([[-1.0, 1.0]] * 4)
        theta = np.clip(random.uniform(-2, 2, 4), -1, 1)
        step = _step(theta, slope, H, bounds, damping)
        assert (np.abs(theta + step) <= 1 + 1e-12).all()
        held = theta * np.sign(slope) >= 1
        assert held.all() or slope @ step - 0.5 * step @ H @ step > 0


def test_a_start_without_evidence_is_told():
    class Nowhere:
        value = -np.inf

    found = climb(
        lambda theta: Nowhere(), [np.zeros(2)], np.array([[-1.0, 1.0]] * 2), Budget(tol=1e-8)
    )
    assert not found.converged
    assert "not finite" in found.messages[0]
