"""Scores of left-out rows, and the noise of their differences."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from mercer.estimators.automatic.measures import CLASS_MEASURES, NUMBER_MEASURES

RANDOM = np.random.default_rng(0)
Y = np.where(RANDOM.random((200, 1)) < 0.3, 1.0, -1.0)
F = np.round(0.6 * Y + RANDOM.normal(size=Y.shape), 1)  # with ties


def test_areas_are_those_of_scikit_learn():
    judged = CLASS_MEASURES["auc"](F, Y)
    assert judged.score == pytest.approx(roc_auc_score(Y[:, 0], F[:, 0]))
    assert judged.influence.mean() == pytest.approx(0, abs=1e-12)
    labels = RANDOM.integers(0, 3, 200)
    three = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    values = three + RANDOM.normal(size=three.shape)
    shares = [roc_auc_score(three[:, c], values[:, c]) * (labels == c).mean() for c in range(3)]
    assert CLASS_MEASURES["auc"](values, three).score == pytest.approx(sum(shares))


def test_the_noise_is_that_of_a_bootstrap():
    other = F + RANDOM.normal(size=F.shape)
    a, b = CLASS_MEASURES["auc"](F, Y), CLASS_MEASURES["auc"](other, Y)
    drawn = []
    for _ in range(150):
        rows = RANDOM.integers(0, 200, 200)
        y = Y[rows, 0]
        drawn.append(roc_auc_score(y, F[rows, 0]) - roc_auc_score(y, other[rows, 0]))
    assert a.noise(b) == pytest.approx(np.std(drawn), rel=0.3)
    assert a.noise(a) == 0


def test_errors_and_logarithms():
    squares = CLASS_MEASURES["brier"](F, Y)
    assert squares.score == pytest.approx(-((F - Y) ** 2).mean())
    assert NUMBER_MEASURES["absolute_error"](F, Y).score == pytest.approx(-np.abs(F - Y).mean())
    two = CLASS_MEASURES["log_loss"](F, Y)
    both = CLASS_MEASURES["log_loss"](np.hstack([-F / 2, F / 2]), np.hstack([-Y, Y]))
    assert two.score == pytest.approx(both.score, rel=1e-6)
    assert two.score > -np.log(2)


def test_closeness_is_the_score_unless_only_the_order_counts():
    squares = float(((F - Y) ** 2).mean())
    assert CLASS_MEASURES["auc"](F, Y).closeness == pytest.approx(-squares)
    for name, measure in {**CLASS_MEASURES, **NUMBER_MEASURES}.items():
        if name != "auc":
            judged = measure(F, Y)
            assert judged.closeness == judged.score
