"""The course of a training and the rule of Adam, epoch by epoch and by the formula."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.network.stochastic import Adam, Momentum, TrainingCourse


def test_epochs_without_a_gain_are_counted():
    course = TrainingCourse()
    waited = []
    for loss in (1.0, 0.95, 0.8, 0.75, 0.9, 0.6):
        course.loss = loss
        course.improves(0.1)
        waited.append(course.waited)
    # 0.8 and 0.6 are by more than 0.1 below the best before them.
    assert waited == [0, 1, 0, 1, 2, 0]
    assert course.best_loss == 0.6


def test_scores_are_counted_and_the_best_is_told():
    course = TrainingCourse()
    best, waited = [], []
    for score in (0.5, 0.55, 0.7, 0.7, 0.6, 0.81):
        best.append(course.scores_best(score, 0.1))
        waited.append(course.waited)
    assert best == [True, True, True, False, False, True]
    assert waited == [0, 1, 0, 1, 2, 0]
    assert course.best_score == 0.81
    assert course.scores == [0.5, 0.55, 0.7, 0.7, 0.6, 0.81]


def test_adam_by_the_formula():
    adam = Adam(
        means=np.zeros(3), squares=np.zeros(3), learning_rate_init=0.1, beta_1=0.8, beta_2=0.9,
        epsilon=1e-3,
    )  # fmt: skip
    w = np.array([1.0, -2.0, 0.5])
    expected, m, v = w.copy(), np.zeros(3), np.zeros(3)
    random = np.random.default_rng(0)
    for t in range(1, 4):
        g = random.normal(size=3)
        mean = g / 5.0
        m, v = 0.8 * m + 0.2 * mean, 0.9 * v + 0.1 * mean**2
        rate = 0.1 * np.sqrt(1 - 0.9**t) / (1 - 0.8**t)
        expected = expected - rate * m / (np.sqrt(v) + 1e-3)
        adam.step(w, g.copy(), 0, 0.0, 5.0)
        assert_allclose(w, expected, rtol=1e-12)
        assert adam.learning_rate == pytest.approx(rate)
    assert adam.t == 3
    assert adam.stops()
    assert adam.fits(3, np.dtype(np.float64))
    assert not adam.fits(2, np.dtype(np.float64))
    assert not adam.fits(3, np.dtype(np.float32))


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_by_the_formula(nesterov):
    descent = Momentum(np.zeros(3), 0.1, "constant", 0.9, nesterov, 0.5)
    w, v = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    expected = w.copy()
    random = np.random.default_rng(1)
    for _ in range(3):
        g = random.normal(size=3)
        # The first two weights are penalised by 0.3 of themselves; all is a mean over 4 rows.
        slope = (g + 0.3 * expected * [1, 1, 0]) / 4.0
        v = 0.9 * v - 0.1 * slope
        expected = expected + (0.9 * v - 0.1 * slope if nesterov else v)
        descent.step(w, g.copy(), 2, 0.3, 4.0)
        assert_allclose(w, expected, rtol=1e-12)
        assert_allclose(descent.velocity, v, rtol=1e-12)


def test_rates_fall_as_the_schedule_says():
    def rule(schedule):
        return Momentum(np.zeros(1), 0.1, schedule, 0.9, True, 0.5)

    constant, falling, adaptive = rule("constant"), rule("invscaling"), rule("adaptive")
    for t in (0, 3, 99):
        for each in (constant, falling, adaptive):
            each.epoch_ends(t)
        assert falling.learning_rate == pytest.approx(0.1 / (t + 1) ** 0.5)
    assert constant.learning_rate == adaptive.learning_rate == 0.1
    assert constant.stops()
    assert falling.stops()
    rates = []
    while not adaptive.stops():
        rates.append(adaptive.learning_rate)
    # A fifth each time, until it is no more than 10⁻⁶.
    assert_allclose(rates, 0.1 / 5.0 ** np.arange(1, len(rates) + 1))
    assert rates[-1] <= 1e-6 < rates[-2]


def test_a_velocity_of_another_network_does_not_fit():
    descent = Momentum(np.zeros(3), 0.1, "constant", 0.9, True, 0.5)
    assert descent.fits(3, np.dtype(np.float64))
    assert not descent.fits(2, np.dtype(np.float64))
    assert not descent.fits(3, np.dtype(np.float32))


def test_the_smallest_rate_is_the_last():
    assert Momentum(np.zeros(1), 1e-6, "adaptive", 0.9, True, 0.5).stops()
    assert not Momentum(np.zeros(1), 1.1e-6, "adaptive", 0.9, True, 0.5).stops()
