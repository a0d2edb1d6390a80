"""The compiled logistic loss against its formula."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp

from mercer import _fast


def _case(scale):
    random = np.random.default_rng(0)
    z = scale * random.standard_normal(60)
    signs = np.where(random.random(60) < 0.3, 1.0, -1.0)
    return z, signs, random.uniform(0.5, 2.0, 60)


@pytest.mark.parametrize("scale", [0.0, 1.0, 50.0, 1e4])
def test_loss_and_derivatives(scale):
    z, signs, C = _case(scale)
    p, beta = np.empty_like(z), np.empty_like(z)
    loss, slope, curvature = _fast.logistic.look(z, 0.3, signs, C, p, beta)
    share = expit(z + 0.3)
    np.testing.assert_allclose(p, share, rtol=1e-14)
    np.testing.assert_allclose(beta, C * signs * expit(-signs * (z + 0.3)), rtol=1e-14)
    assert loss == pytest.approx(float(C @ np.logaddexp(0.0, -signs * (z + 0.3))), rel=1e-13)
    assert slope == pytest.approx(float(C @ ((signs > 0) - share)), rel=1e-12)
    assert curvature == pytest.approx(float(C @ (share * expit(-z - 0.3))), rel=1e-12)


def test_where_arrays_lie_in_memory_does_not_matter():
    """Two fits on the same data agree to the last digit."""
    random = np.random.default_rng(0)
    n, classes = 270, 5
    z, C = 3 * random.normal(size=n), np.full(n, 2.0)
    signs, labels = np.where(random.random(n) < 0.4, 1.0, -1.0), random.integers(classes, size=n)
    F, bias = random.normal(size=(n, classes)), random.normal(size=classes)
    found, found_for_classes, kept = set(), set(), []
    for turn in range(2_000):
        # Some memory stays in use and some is free again, so that arrays lie elsewhere each time.
        passing = [np.empty(random.integers(1, 2_000)) for _ in range(3)]
        if turn % 7 == 0:
            kept.append(passing[0])
        p, beta = np.empty(n), np.empty(n)
        numbers = _fast.logistic.look(z, 0.1, signs, C, p, beta)
        found.add((*numbers, p.tobytes(), beta.tobytes()))
        P, B, slopes, turns = np.empty_like(F), np.empty_like(F), np.empty(5), np.empty(5)
        loss = _fast.multinomial.look_at_classes(F, bias, labels, C, P, B, slopes)
        _fast.multinomial.turn_of_slopes(P, C, F, turns)
        found_for_classes.add((loss, *(each.tobytes() for each in (P, B, slopes, turns))))
    assert len(found) == 1
    assert len(found_for_classes) == 1


@pytest.mark.parametrize("start", [-30.0, 0.0, 8.0])
@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
def test_the_best_bias_has_no_slope(scale, start):
    z, signs, C = _case(scale)
    p, beta = np.empty_like(z), np.empty_like(z)
    bias, loss, slope = _fast.logistic.best_bias(z, start, signs, C, p, beta, 1e-15)
    found = minimize_scalar(lambda b: float(C @ np.logaddexp(0.0, -signs * (z + b))))
    assert loss <= found.fun * (1 + 1e-12)
    np.testing.assert_allclose(p, expit(z + bias), rtol=1e-14)
    assert abs(float(C @ ((signs > 0) - p))) <= 1e-12 * C.sum()
    assert slope == pytest.approx(beta.sum(), abs=1e-14 * C.sum())


def test_the_best_bias_follows_the_log_odds():
    z, signs, C = _case(1.0)
    p, beta, u = np.empty_like(z), np.empty_like(z), np.cos(np.arange(len(z)))

    def best(t):
        return _fast.logistic.best_bias(z + t * u, 0.0, signs, C, p, beta, 1e-15)[0]

    expected = (best(1e-5) - best(-1e-5)) / 2e-5
    best(0.0)
    assert _fast.logistic.bias_along(p, C, u) == pytest.approx(expected, rel=1e-6)
    assert _fast.logistic.bias_along(np.ones_like(z), C, u) == 0.0


def test_nan_ends_the_search():
    p, beta, ones = np.empty(3), np.empty(3), np.ones(3)
    nan = np.full(3, np.nan)
    assert np.isnan(_fast.logistic.best_bias(nan, 0.0, ones, ones, p, beta, 1e-15)[1])


def test_shares_of_several_classes_are_their_softmax():
    random = np.random.default_rng(0)
    F, bias = random.normal(size=(20, 4)), random.normal(size=4)
    F[0] = [800.0, 0.0, -800.0, 1.0]  # whose exponentials no float holds
    labels, C = random.integers(4, size=20), random.uniform(0.1, 2, 20)
    P, beta, slopes = np.empty((20, 4)), np.empty((20, 4)), np.empty(4)
    loss = _fast.multinomial.look_at_classes(F, bias, labels, C, P, beta, slopes)
    Z = F + bias
    logs = Z - logsumexp(Z, axis=1, keepdims=True)
    np.testing.assert_allclose(P, np.exp(logs), rtol=1e-13, atol=1e-300)
    expected = C[:, None] * (np.eye(4)[labels] - np.exp(logs))
    np.testing.assert_allclose(beta, expected, atol=1e-14)
    np.testing.assert_allclose(slopes, expected.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(loss, -C @ logs[np.arange(20), labels], rtol=1e-13)


@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
def test_the_best_biases_have_no_slopes(scale):
    random = np.random.default_rng(0)
    F, C = scale * random.normal(size=(90, 3)), random.uniform(0.1, 2, 90)
    labels, bias = random.integers(3, size=90), np.array([3.0, -1.0, -2.0])
    P, beta, slopes = np.empty((90, 3)), np.empty((90, 3)), np.empty(3)
    loss = _fast.multinomial.best_biases(F, bias, labels, C, P, beta, slopes, 1e-13)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-12 * C.sum())
    logs = F + bias - logsumexp(F + bias, axis=1, keepdims=True)
    np.testing.assert_allclose(P, np.exp(logs), rtol=1e-12)
    np.testing.assert_allclose(beta, C[:, None] * (np.eye(3)[labels] - P), atol=1e-13)
    assert loss == pytest.approx(float(-C @ logs[np.arange(90), labels]), rel=1e-12)


def test_a_class_without_shares_keeps_its_bias():
    """Its bias has no curvature, and the others find theirs."""
    random = np.random.default_rng(0)
    F, labels, C = random.normal(size=(40, 3)), random.integers(2, size=40), np.ones(40)
    F[:, 2] = -1e4
    P, beta, slopes = np.empty((40, 3)), np.empty((40, 3)), np.empty(3)
    bias = np.array([1.0, -1.0, 0.0])
    _fast.multinomial.best_biases(F, bias, labels, C, P, beta, slopes, 1e-13)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-11)
    assert bias[2] == 0.0


def test_rows_are_centred_and_weighed_in_one_pass():
    random = np.random.default_rng(0)
    X, means, factors = random.normal(size=(7, 3)), random.normal(size=3), random.random(7)
    expected = (X - means) * factors[:, None]
    np.testing.assert_allclose(_fast.logistic.centre_and_weigh(X, means, factors), expected)


@pytest.mark.parametrize("classes", [3, 5, 6, 40])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e3])
def test_shares_of_classes_near_and_far(classes, scale):
    """Both ways: sums of exponentials as they are, and without the largest where these overflow."""
    random = np.random.default_rng(classes)
    n = 700  # some pieces of rows, the last one shorter
    F, bias = scale * random.normal(size=(n, classes)), random.normal(size=classes)
    labels, C = random.integers(classes, size=n), random.uniform(0.5, 2.0, n)
    P, B, slopes = np.empty_like(F), np.empty_like(F), np.empty(classes)
    loss = _fast.multinomial.look_at_classes(F, bias, labels, C, P, B, slopes)
    Z = F + bias
    shares = np.exp(Z - logsumexp(Z, axis=1, keepdims=True))
    np.testing.assert_allclose(P, shares, rtol=1e-11, atol=1e-300)
    pulls = C[:, None] * (np.eye(classes)[labels] - shares)
    np.testing.assert_allclose(B, pulls, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slopes, pulls.sum(axis=0), atol=1e-11 * C.sum())
    lost = C * (logsumexp(Z, axis=1) - Z[np.arange(n), labels])
    assert loss == pytest.approx(lost.sum(), rel=1e-13)
    # The curvature of the biases, in loops or by BLAS.
    step = np.empty(classes)
    _fast.multinomial.biases_along(P, C, slopes, step)
    H = np.diag(C @ shares) - shares.T @ (C[:, None] * shares)
    free = H + (C.sum() / classes**2)
    if scale <= 1.0:  # elsewhere classes depend on each other
        np.testing.assert_allclose(free @ step, slopes, atol=1e-10 * C.sum())


def test_a_value_that_is_no_number_shows():
    F = np.zeros((4, 3))
    F[2, 1] = np.nan
    P, B, slopes = np.empty_like(F), np.empty_like(F), np.empty(3)
    loss = _fast.multinomial.look_at_classes(
        F, np.zeros(3), np.zeros(4, np.int64), np.ones(4), P, B, slopes
    )
    assert np.isnan(loss)


def test_logarithms():
    random = np.random.default_rng(0)
    x = np.concatenate(
        [np.exp(random.uniform(-690, 690, 5_000)), random.uniform(0.5, 3, 5_000), [1.0, 2.0, 0.5]]
    )
    y = x.copy()
    _fast.exponentials.logarithms(y)
    expected = np.log(x)
    assert np.abs(y - expected).max() <= 4e-16 * np.abs(expected).max()
    np.testing.assert_allclose(y, expected, rtol=1e-15, atol=1e-15)
    none = np.array([np.nan, np.inf])
    _fast.exponentials.logarithms(none)
    assert np.isnan(none).all()
