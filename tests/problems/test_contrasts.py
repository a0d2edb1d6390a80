"""Contrasts: derivatives by differences, sums by the formula, their spread on Gaussian samples."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm

from mercer._fast import log_cosh
from mercer.linalg.covariance import whiten
from mercer.problems.contrasts import CONTRASTS, gaussian_spread, logcosh, moments
from mercer.solvers.sources.fixed_point import gradient
from mercer.solvers.sources.ica_newton import second_derivatives
from tests.estimators.sources.test_ica import sources


@pytest.mark.parametrize("contrast", ["logcosh", "exp", "cube", "kurtosis"])
def test_first_and_second_derivatives_are_those_of_the_objective(contrast):
    c = CONTRASTS[contrast]
    S, _ = sources(3, 500)
    X = whiten(S).X
    W = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    state = moments(c, W, X)
    weights = c.weights(state)

    def along(D, t):
        return c.objective(moments(c, expm(t * D) @ W, X), weights)

    turns = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        D = np.zeros((3, 3))
        D[i, j], D[j, i] = 1.0, -1.0
        turns.append(D)
        slope = (along(D, 1e-5) - along(D, -1e-5)) / 2e-5
        assert slope == pytest.approx(2 * gradient(c, state)[i, j], abs=1e-7)
    if c.squared:
        return  # its second derivatives are those for fixed weights, which no number shows
    turn = second_derivatives(c, W, X)
    for D in (*turns, turns[0] + 2 * turns[1] - turns[2]):
        bend = (along(D, 1e-3) - 2 * along(D, 0) + along(D, -1e-3)) / 1e-6
        assert np.vdot(D, turn(D)) == pytest.approx(bend, rel=1e-4, abs=1e-6)


def test_log_cosh_and_its_sums_by_the_formula():
    random = np.random.default_rng(0)
    for alpha in (1.0, 1.7):
        for n in (1, 15, 16, 40_000):
            Y = random.normal(size=(3, n)) * [[0.1], [3], [300]]
            squares, totals = log_cosh.sums(Y, np.tanh(alpha * Y), alpha)
            np.testing.assert_allclose(squares, (np.tanh(alpha * Y) ** 2).sum(axis=1), rtol=1e-12)
            size = np.abs(alpha * Y)
            true = (size + np.log1p(np.exp(-2 * size)) - np.log(2)).sum(axis=1)
            np.testing.assert_allclose(totals, true, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("contrast", ["logcosh", "exp", "cube"])
def test_the_spread_of_gaussian_samples_is_known(contrast):
    c = CONTRASTS[contrast]
    Y = stats.zscore(np.random.default_rng(5).normal(size=(2000, 500)), axis=1)
    score = c.score(Y, None)
    distance = (score.slope - (score.values * Y).sum(axis=1)) / Y.shape[1]
    assert distance.std() * np.sqrt(500) == pytest.approx(gaussian_spread(c), rel=0.1)


@pytest.mark.parametrize("name", [*CONTRASTS, "logcosh, α = 1.7"])
def test_scores_and_their_derivatives_by_differences(name):
    c = CONTRASTS[name] if name in CONTRASTS else logcosh(1.7)
    Y = np.linspace(-2.5, 2.5, 11)[None]
    ahead, here, behind = (c.score(Y + h, None) for h in (1e-5, 0.0, -1e-5))
    slopes = (ahead.values - behind.values) / 2e-5
    np.testing.assert_allclose(c.derivative(Y), slopes, rtol=1e-6, atol=1e-8)
    assert here.slope == pytest.approx(slopes.sum(), rel=1e-6)
