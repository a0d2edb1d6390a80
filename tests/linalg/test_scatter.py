"""Scatter matrices against sums in extended precision, where the quick way is and is not safe."""

import numpy as np
import pytest

from mercer.linalg.scatter import class_sums, column_sums, scatter


def _never():
    raise AssertionError("the numbers are finite")


def _expected(X, centres):
    R = X.astype(np.longdouble) - centres.astype(np.longdouble)
    return (R.T @ R).astype(np.float64)


@pytest.mark.parametrize("shift", [0.0, 3.0, 1e3, 1e8])
@pytest.mark.parametrize("classes", [None, 4])
def test_no_shift_costs_digits(shift, classes):
    random = np.random.default_rng(0)
    codes = None if classes is None else random.integers(0, classes, 2500)
    X = random.normal(size=(2500, 6)) * [1, 2, 3, 4, 5, 6] + shift
    if codes is None:
        centres = column_sums(X, _never) / len(X)
        rows = np.broadcast_to(centres, X.shape)
    else:
        X += codes[:, None]
        centres = class_sums(X, codes, classes, _never) / np.bincount(codes)[:, None]
        rows = centres[codes]
    S = scatter(X, centres, codes)
    expected = _expected(X, rows)
    size = np.sqrt(np.outer(np.diagonal(expected), np.diagonal(expected)))
    assert (np.abs(S - expected) / size).max() < 1e-12
    np.testing.assert_array_equal(S, S.T)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6])
def test_a_constant_column_has_no_scatter(constant):
    X = np.random.default_rng(0).normal(size=(2000, 3))
    X[:, 1] = constant
    S = scatter(X, column_sums(X, _never) / len(X))
    assert abs(S[1, 1]) <= (1e-11 * constant) ** 2 * len(X)
    assert np.abs(S[1, [0, 2]]).max() <= 1e-11 * constant * len(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_find_numbers_that_are_not_finite(bad, dtype):
    X = np.ones((50, 3), dtype)
    X[7, 1] = bad
    for sums in (
        lambda refuse: column_sums(X, refuse),
        lambda refuse: class_sums(X, np.arange(50) % 2, 2, refuse),
    ):
        asked = []
        sums(lambda: asked.append(True))  # noqa: B023
        assert asked


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_sums_of_short_numbers_have_their_digits(n):
    X = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32) + np.float32(7)
    found = column_sums(X, pytest.fail)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, X.astype(np.float64).sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 0.5, 2.0, 50.0, 1e4])
def test_scatter_keeps_its_digits_wherever_the_centre_is(dtype, offset):
    random = np.random.default_rng(5)
    X = (random.normal(size=(1500, 4)) * [1, 2, 3, 4] + offset).astype(dtype)
    mean = X.astype(np.float64).mean(axis=0)
    R = X - mean
    exact = R.T @ R
    # A mean in float32 is off by a rounding of the offset, and R with it.
    off = 1500 * (offset * np.finfo(dtype).eps) ** 2
    digits = 1e-5 if dtype == np.float32 else 1e-11
    found = scatter(X, mean.astype(dtype))
    np.testing.assert_allclose(found, exact, atol=digits * exact.max() + off)


def test_rows_that_come_late_may_be_far():
    """The first rows look as if the centre were near; all of them show that it is not."""
    X = np.full((3000, 2), 1e6)
    X[:1024] += np.random.default_rng(0).normal(size=(1024, 2)) * 1e6
    X[1024:, 0] += 1e-3
    R = X - X.mean(axis=0)
    np.testing.assert_allclose(scatter(X, X.mean(axis=0)), R.T @ R, rtol=1e-9)
