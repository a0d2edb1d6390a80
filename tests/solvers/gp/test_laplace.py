"""Laplace's approximation against its formulas: the mode, the evidence, its gradient, averages."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from mercer import RBF, Matern
from mercer.gram.kernel_family import KernelFamily
from mercer.solvers.base import Budget, Status
from mercer.solvers.gp.evidence_ascent import Optimum
from mercer.solvers.gp.laplace import LaplaceEvidence, logistic_mean

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(25, 2))
Y = (X[:, 0] + 0.5 * RANDOM.normal(size=25) > 0).astype(float)
KERNEL = 2.0 * RBF(length_scale=[1.0, 1.5])
FAMILY = KernelFamily(KERNEL, KERNEL.encode(X), list(KERNEL.free_parameters()))
THETA = np.log(list(KERNEL.free_parameters().values()))


class Counted(LaplaceEvidence):
    """Notes the log posterior of every place that it makes a Gaussian around."""

    def _around(self, K, f, a):
        self.__dict__.setdefault("seen", []).append(self._posterior(f, a))
        return super()._around(K, f, a)


def posterior(K, f):
    """Return log p(y | f) − ½fᵀK⁻¹f."""
    likely = np.where(Y == 1, expit(f), expit(-f))
    return np.log(likely).sum() - 0.5 * f @ np.linalg.solve(K, f)


@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0, 1e4, 1e6])
def test_the_mode_is_stationary_and_found_in_few_steps(size):
    K = size * FAMILY.matrix(THETA)
    counted = Counted(FAMILY, Y)
    mode = counted.mode(K)
    seen = counted.__dict__["seen"]
    # ∇ log p(y | f) = K⁻¹f
    np.testing.assert_allclose(mode.a, Y - expit(mode.f), atol=1e-6)
    np.testing.assert_allclose(mode.f, K @ mode.a, rtol=1e-9, atol=1e-9 * size)
    np.testing.assert_allclose(mode.pi, expit(mode.f))
    np.testing.assert_allclose(mode.root**2, mode.pi * (1 - mode.pi))
    assert np.all(np.diff(seen) >= -1e-9 * np.abs(seen[:-1]))  # each step rises
    assert len(seen) <= {1e-3: 4, 1.0: 6, 50.0: 9, 1e4: 17, 1e6: 26}[size]
    # From the mode itself there is one Gaussian to make, and at most a step to see that.
    again = Counted(FAMILY, Y)
    near = again.mode(K, mode.a)
    np.testing.assert_allclose(near.f, mode.f, rtol=1e-6, atol=1e-6)
    assert len(again.__dict__["seen"]) <= 2


def test_the_evidence_is_its_formula():
    K = FAMILY.matrix(THETA)
    evidence = LaplaceEvidence(FAMILY, Y)
    mode = evidence.mode(K)
    B = np.eye(25) + mode.root[:, None] * K * mode.root
    wanted = posterior(K, mode.f) - 0.5 * np.linalg.slogdet(B)[1]
    assert mode.value == pytest.approx(wanted, rel=1e-10)
    assert evidence.value(THETA) == pytest.approx(wanted, rel=1e-10)
    np.testing.assert_allclose(evidence.last[0], mode.a)
    assert evidence._posterior(mode.f, mode.a) == pytest.approx(posterior(K, mode.f), rel=1e-10)


def test_one_step_is_newtons():
    K = FAMILY.matrix(THETA)
    mode = LaplaceEvidence(FAMILY, Y, max_iter=1).mode(K)
    # From 0 W is ¼, so that f = (K⁻¹ + ¼)⁻¹(y − ½).
    np.testing.assert_allclose(mode.f, np.linalg.solve(np.linalg.inv(K) + np.eye(25) / 4, Y - 0.5))
    bad = LaplaceEvidence(FAMILY, Y, max_iter=0).mode(K, -100 * (Y - 0.5))
    assert not bad.f.any()  # a start that is worse than 0 is not taken
    good = LaplaceEvidence(FAMILY, Y, max_iter=0).mode(K, 0.1 * (Y - 0.5))
    np.testing.assert_allclose(good.f, K @ (0.1 * (Y - 0.5)))


@pytest.mark.parametrize("kernel", [KERNEL, 3.0 * Matern(nu=1.5, length_scale=0.7)], ids=str)
def test_the_gradient_is_that_of_differences(kernel):
    family = KernelFamily(kernel, kernel.encode(X), list(kernel.free_parameters()))
    theta = np.log(list(kernel.free_parameters().values()))
    evidence = LaplaceEvidence(family, Y)
    value, slope = evidence.value_and_gradient(theta)
    assert value == pytest.approx(evidence.value(theta), rel=1e-10)
    for j, unit in enumerate(np.eye(len(theta))):
        change = evidence.value(theta + 1e-5 * unit) - evidence.value(theta - 1e-5 * unit)
        assert slope[j] == pytest.approx(change / 2e-5, abs=1e-5)


def test_the_process_of_the_best_parameters():
    evidence = LaplaceEvidence(FAMILY, Y)
    found, product = evidence.condition(Optimum(THETA, -7.5, Status.OPTIMAL, 1))
    K = FAMILY.matrix(THETA)
    mode = evidence.mode(K)
    assert found.theta is THETA
    assert found.value == -7.5
    np.testing.assert_allclose(found.coef, Y - mode.pi)
    np.testing.assert_allclose(product, K @ (Y - mode.pi))


class Indefinite:
    """A matrix that no parameter makes definite."""

    def matrix(self, theta):
        return -40.0 * np.eye(len(Y))


def test_no_evidence_where_the_matrix_is_indefinite():
    evidence = LaplaceEvidence(Indefinite(), Y)
    assert evidence.value(THETA) == -np.inf
    value, slope = evidence.value_and_gradient(THETA)
    assert value == -np.inf
    assert slope.tolist() == [0.0] * len(THETA)


def test_an_ascent_ends_on_a_top_that_beats_an_even_chance():
    evidence = LaplaceEvidence(FAMILY, Y)
    bounds = np.log([[1e-5, 1e5]] * len(THETA))
    found = evidence.climb([THETA], bounds, Budget(tol=1e-8))
    assert found.converged
    assert found.value > len(Y) * np.log(0.5)
    assert found.evaluations <= 60
    for unit in np.eye(len(THETA)):
        for step in (0.02, -0.02):
            at = np.clip(found.theta + step * unit, bounds[:, 0], bounds[:, 1])
            assert evidence.value(at) <= found.value + 1e-6


def test_averages_of_the_logistic_function():
    mean = np.array([0.0, 0.5, -3.0, 8.0, -20.0, 1.0, 2.0])
    variance = np.array([1.0, 0.0, 4.0, 30.0, 100.0, 1e-12, -1e-18])
    found = logistic_mean(mean, variance)
    for m, v, average in zip(mean, variance, found, strict=True):
        s = np.sqrt(max(v, 0.0))
        wanted = quad(
            lambda z, m=m, s=s: expit(m + s * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi),
            -12, 12, epsabs=1e-13, limit=400,
        )[0]  # fmt: skip
        assert average == pytest.approx(wanted, abs=1e-11)
    # Few nodes are enough for narrow ones, and many for wide ones; blocks do not matter.
    wide = RANDOM.normal(size=9000) * 3
    spread = RANDOM.uniform(0, 60, 9000)
    spread[4096:8192] /= 100
    whole = logistic_mean(wide, spread)
    each = np.array([
        logistic_mean(wide[i : i + 1], spread[i : i + 1])[0] for i in range(0, 9000, 97)
    ])  # fmt: skip
    np.testing.assert_allclose(whole[::97], each, atol=1e-10)
    assert logistic_mean(np.zeros(0), np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("size", [1e3, 1e6])
@pytest.mark.parametrize("far", [20.0, 40.0])
def test_steps_that_go_too_far_are_halved(size, far):
    # Far out on the right side there is no curvature, and a whole step leads back to f = 0. The
    # mode of each row alone solves f = k(y − σ(f)).
    signs = 2 * Y - 1
    counted = Counted(FAMILY, Y)
    mode = counted.mode(size * np.eye(25), far / size * signs)
    seen = counted.__dict__["seen"]
    np.testing.assert_allclose(signs * mode.f, size * expit(-signs * mode.f), rtol=1e-7)
    assert (np.diff(seen) > 0).all()
    assert len(seen) <= 14


@pytest.mark.parametrize("far", [1.0, 4.0, 7.0, 12.0, 30.0])
def test_the_first_of_the_halved_steps_that_rises_enough(far):
    K = 1e3 * np.eye(25)
    signs = 2 * Y - 1
    a = far / 1e3 * signs
    f = far * signs
    evidence = LaplaceEvidence(FAMILY, Y, max_iter=1)
    found = evidence.mode(K, a)
    # Newton's step of log p(y | f) − ½fᵀK⁻¹f, for W = π(1 − π).
    pi = expit(f)
    step = (Y - pi - a) / (pi * (1 - pi) + 1e-3)
    share = 1.0
    while posterior(K, f + share * step) < (posterior(K, f) + 1e-4 * share * (Y - pi - a) @ step):
        share /= 2
    np.testing.assert_allclose(found.f, f + share * step, rtol=1e-9)


def test_a_step_has_to_rise_by_a_share_of_what_it_promises():
    # One row with k = 1000: somewhere a whole step comes back to just the height of its start.
    k = 1e3
    evidence = LaplaceEvidence(FAMILY, np.ones(1), max_iter=1)

    def height(f):
        return -f * f / (2 * k) - np.logaddexp(0, -f)

    def newton(f):
        pi = expit(f)
        slope = 1 - pi - f / k
        return slope, slope / (pi * (1 - pi) + 1 / k)

    low, high = 5.2, 40.0  # near the top, and so far out that a step falls
    for _ in range(200):
        middle = (low + high) / 2
        step = newton(middle)[1]
        low, high = (middle, high) if height(middle + step) > height(middle) else (low, middle)
    for far, halved in ((low * 0.999, False), (low - 1e-9, True), (high * 1.001, True)):
        slope, step = newton(far)
        rise = height(far + step) - height(far)
        assert bool(rise < 1e-4 * slope * step) == halved
        found = evidence.mode(np.full((1, 1), k), np.full(1, far / k))
        whole = abs(found.f[0] - (far + step)) < 1e-6 * abs(step)
        assert bool(whole) != halved


class Plateau(LaplaceEvidence):
    """The same evidence everywhere."""

    def value_and_gradient(self, theta):
        return self.__dict__["height"], np.zeros(len(theta))


def test_what_is_no_better_than_even_chances_is_climbed_in_stages_too():
    even, bounds = 25 * np.log(0.5), np.log([[1e-5, 1e5]] * len(THETA))
    # Better by a thousandth says something.
    for share, evaluations in ((1.1, 2), (1.0, 2), (0.9991, 2), (0.999, 1), (0.9989, 1), (0.5, 1)):
        flat = Plateau(FAMILY, Y)
        flat.__dict__["height"] = share * even
        found = flat.climb([THETA], bounds, Budget())
        assert (found.evaluations, found.value) == (evaluations, share * even)
