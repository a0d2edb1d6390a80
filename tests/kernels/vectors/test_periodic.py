"""Periodic kernels whose columns have periods and length scales of their own."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ExpSineSquared

from mercer import GaussianProcessRegressor, Periodic, format_kernel, parse_kernel
from mercer.exceptions import InvalidInput

PERIODS, SCALES = [24.0, 365.0, 7.0], [1.0, 2.0, 0.6]


@pytest.fixture
def X():
    return np.random.default_rng(0).uniform(0, 400, (30, 3))


@pytest.mark.parametrize("period", [7.0, PERIODS])
@pytest.mark.parametrize("scale", [1.3, SCALES])
def test_it_is_the_product_of_scikit_learns_kernels_of_the_columns(X, period, scale):
    expected = np.ones((30, 30))
    for j, (p, length) in enumerate(
        zip(np.broadcast_to(period, 3), np.broadcast_to(scale, 3), strict=True)
    ):
        expected *= ExpSineSquared(length_scale=length, periodicity=p)(X[:, [j]])
    np.testing.assert_allclose(Periodic(period, scale)(X), expected, rtol=1e-9)


def test_a_list_needs_an_entry_for_each_column(X):
    with pytest.raises(InvalidInput, match="period has 2 entries and X has 3 columns"):
        Periodic([1.0, 2.0])(X)
    with pytest.raises(InvalidInput, match="length_scale has 2 entries and X has 3 columns"):
        Periodic(1.0, [1.0, 2.0])(X)


def test_it_is_written_and_read_back():
    kernel = Periodic(PERIODS, SCALES)
    assert parse_kernel(format_kernel(kernel)) == kernel


def test_a_process_learns_which_column_matters():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (80, 2))
    y = np.sin(2 * np.pi * X[:, 0] / 3.0)
    start = Periodic([2.9, 2.9], [1.0, 1.0])
    machine = GaussianProcessRegressor(start, alpha=1e-4).fit(X, y)
    assert machine.kernel_.period[0] == pytest.approx(3.0, rel=1e-2)
    assert machine.kernel_.length_scale[1] > 10 * machine.kernel_.length_scale[0]
