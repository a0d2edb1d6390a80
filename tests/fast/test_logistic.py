"""The compiled logistic loss against its formula."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from mercer import _fast


def _case(scale):
    random = np.random.default_rng(0)
    z = scale * random.standard_normal(60)
    signs = np.where(random.random(60) < 0.3, 1.0, -1.0)
    return z, signs, random.uniform(0.5, 2.0, 60)


@pytest.mark.parametrize("scale", [0.0, 1.0, 50.0, 1e4])
def test_loss_and_derivatives(scale):
    z, signs, C = _case(scale)
    p = np.empty_like(z)
    loss, slope, curvature = _fast.logistic.look(z, 0.3, signs, C, p)
    share = expit(z + 0.3)
    np.testing.assert_allclose(p, share, rtol=1e-14)
    assert loss == pytest.approx(float(C @ np.logaddexp(0.0, -signs * (z + 0.3))), rel=1e-13)
    assert slope == pytest.approx(float(C @ ((signs > 0) - share)), rel=1e-12)
    assert curvature == pytest.approx(float(C @ (share * expit(-z - 0.3))), rel=1e-12)


@pytest.mark.parametrize("start", [-30.0, 0.0, 8.0])
@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
def test_the_best_bias_has_no_slope(scale, start):
    z, signs, C = _case(scale)
    p = np.empty_like(z)
    bias, loss = _fast.logistic.best_bias(z, start, signs, C, p)
    found = minimize_scalar(lambda b: float(C @ np.logaddexp(0.0, -signs * (z + b))))
    assert loss <= found.fun * (1 + 1e-12)
    np.testing.assert_allclose(p, expit(z + bias), rtol=1e-14)
    assert abs(float(C @ ((signs > 0) - p))) <= 1e-12 * C.sum()


def test_nan_ends_the_search():
    p = np.empty(3)
    nan = np.full(3, np.nan)
    assert np.isnan(_fast.logistic.best_bias(nan, 0.0, np.ones(3), np.ones(3), p)[1])
