"""Scores and intervals against scikit-learn, SciPy and brute force."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest
from sklearn import metrics

from mercer.report import scores
from mercer.report.reliability import calibration


@given(st.integers(1, 400), st.data())
def test_wilson_is_that_of_scipy(n, data):
    hits = data.draw(st.integers(0, n))
    expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(scores.wilson(hits, n), (expected.low, expected.high), atol=1e-12)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_auc_is_that_of_scikit_learn(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 8, size=n).astype(float)  # with ties
    positive = rng.random(n) < 0.5
    positive[:2] = [True, False]
    assert scores.auc(values, positive) == pytest.approx(metrics.roc_auc_score(positive, values))


@pytest.mark.parametrize(
    ("value", "up", "down"), [(0.8, 30, 50), (1.0, 10, 12), (0.0, 5, 5), (0.5, 1, 1)]
)
def test_auc_interval_solves_its_equation(value, up, down):
    low, high = scores.auc_interval(value, up, down)
    assert 0 <= low <= value <= high <= 1
    for theta in (low, high):
        if theta in (0.0, 1.0):
            continue
        # Hanley and McNeil's variance at theta, with both classes of the mean size.
        q1, q2 = theta / (2 - theta), 2 * theta**2 / (1 + theta)
        mean = (up + down) / 2
        spread = theta * (1 - theta) + (mean - 1) * (q1 - theta**2 + q2 - theta**2)
        assert abs(value - theta) == pytest.approx(scores.Z * np.sqrt(spread / (up * down)))
    # A perfect order of few rows proves little.
    if value == 1.0:
        assert low < 0.9


def test_auc_interval_covers_the_truth():
    rng = np.random.default_rng(0)
    truth = 0.7602499  # Φ(1/√2), the AUC of two normal distributions one apart
    inside = 0
    for _ in range(300):
        values = np.concatenate([rng.normal(1, 1, 25), rng.normal(0, 1, 40)])
        low, high = scores.auc_interval(scores.auc(values, np.arange(65) < 25), 25, 40)
        inside += low <= truth <= high
    assert 0.92 <= inside / 300 <= 0.985


@pytest.mark.parametrize("classes", [2, 4])
def test_classification_against_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    codes = rng.integers(classes, size=200)
    decisions = np.eye(classes)[codes] + rng.normal(size=(200, classes))
    probabilities = np.exp(decisions) / np.exp(decisions).sum(axis=1, keepdims=True)
    predicted = decisions.argmax(axis=1)
    shares = np.bincount(codes, minlength=classes) / 200
    usual = np.full(200, shares.argmax())
    given_decisions = decisions[:, 1] - decisions[:, 0] if classes == 2 else decisions
    found = {
        score.name: score
        for score in scores.classification(
            codes, predicted, given_decisions, probabilities, shares, usual, 0
        )
    }
    assert found["Accuracy"].value == pytest.approx(metrics.accuracy_score(codes, predicted))
    assert found["Accuracy"].baseline == pytest.approx(metrics.accuracy_score(codes, usual))
    balanced = metrics.balanced_accuracy_score(codes, predicted)
    assert found["Balanced accuracy"].value == pytest.approx(balanced)
    assert found["Balanced accuracy"].baseline == pytest.approx(1 / classes)
    if classes == 2:
        auc = metrics.roc_auc_score(codes, given_decisions)
    else:
        auc = np.mean([metrics.roc_auc_score(codes == c, decisions[:, c]) for c in range(classes)])
    assert found["AUC"].value == pytest.approx(auc)
    assert found["Log loss"].value == pytest.approx(metrics.log_loss(codes, probabilities))
    assert found["Log loss"].baseline == pytest.approx(
        metrics.log_loss(codes, np.tile(shares, (200, 1)))
    )
    for score in found.values():
        assert score.low < score.value < score.high


def test_regression_against_scikit_learn():
    rng = np.random.default_rng(1)
    actual = rng.normal(1e4, 3, size=150)
    predicted, mean = actual + rng.normal(size=150), np.full(150, 1e4)
    r2, mae, rmse = scores.regression(actual, predicted, mean, 0)
    assert r2.value == pytest.approx(metrics.r2_score(actual, predicted))
    assert r2.baseline == pytest.approx(metrics.r2_score(actual, mean))
    assert mae.value == pytest.approx(metrics.mean_absolute_error(actual, predicted))
    assert rmse.value == pytest.approx(metrics.root_mean_squared_error(actual, predicted))
    assert not mae.higher_is_better
    for score in (r2, mae, rmse):
        assert score.low < score.value < score.high


def test_bootstrap_of_a_mean_is_the_normal_interval():
    values = np.random.default_rng(2).normal(size=4000)
    low, high = scores.bootstrap(values[:, None], lambda means: means[:, 0], 0)
    half = 1.96 * values.std() / np.sqrt(4000)
    np.testing.assert_allclose(
        [low, high], values.mean() + np.array([-half, half]), atol=0.1 * half
    )
    assert (low, high) == scores.bootstrap(values[:, None], lambda means: means[:, 0], 0)


def test_bootstrap_against_plain_resampling():
    rng = np.random.default_rng(3)
    actual = rng.normal(size=60)
    predicted = actual + 0.4 * rng.normal(size=60)
    score = scores.regression(actual, predicted, np.zeros(60), 5)[0]
    plain = [
        metrics.r2_score(actual[rows], predicted[rows])
        for rows in rng.integers(60, size=(1500, 60))
    ]
    np.testing.assert_allclose(
        [score.low, score.high], np.quantile(plain, [0.025, 0.975]), atol=0.04
    )


def test_one_row_and_one_class_left():
    zero = np.zeros(1, dtype=np.intp)
    only = scores.classification(zero, zero, np.array([-1.0]), None, np.array([0.5, 0.5]), zero, 0)
    assert [score.name for score in only] == ["Accuracy"]
    assert (only[0].low, only[0].high) == pytest.approx((0.2065, 1.0), abs=1e-3)
    one = scores.regression(np.ones(1), np.zeros(1), np.zeros(1), 0)
    assert [score.name for score in one] == ["Mean absolute error", "Root mean squared error"]


def test_calibration_of_a_calibrated_model():
    rng = np.random.default_rng(4)
    p = rng.random(5000)
    codes = (rng.random(5000) < p).astype(np.intp)
    both = np.column_stack([1 - p, p])
    bins = calibration(codes, (p > 0.5).astype(np.intp), None, both, ["no", "yes"])
    assert bins.error < 0.03
    assert len(bins.said) == 10
    assert bins.count.sum() == 5000
    assert ((bins.low <= bins.share) & (bins.share <= bins.high)).all()
    # Each bin by hand, from sorted rows.
    order = np.argsort(p)
    np.testing.assert_allclose(bins.said[0], p[order[:500]].mean(), rtol=1e-2)
    np.testing.assert_allclose(bins.share[-1], codes[order[-500:]].mean(), atol=1e-2)


def test_calibration_needs_rows():
    codes = np.zeros(5, dtype=np.intp)
    assert calibration(codes, codes, np.arange(5.0), None, ["a", "b"]) is None
