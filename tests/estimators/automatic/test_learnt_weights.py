"""Weights of columns that are learnt: errors and slopes against brute force, and what they find."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from mercer import RBF, Laplacian, Matern
from mercer.estimators.automatic.learnt_weights import learnt_weights, left_out_loss

RANDOM = np.random.default_rng(0)
Z = RANDOM.normal(size=(40, 3))
Y = np.c_[np.sin(2 * Z[:, 0]), Z[:, 1]] + 0.1 * RANDOM.normal(size=(40, 2))
Y -= Y.mean(axis=0)
KERNELS = [Laplacian, lambda **w: Matern(nu=0.5, **w), lambda **w: Matern(nu=1.5, **w), RBF]
kernels = pytest.mark.parametrize("kernel", [make(length_scale=1.0) for make in KERNELS], ids=str)


def errors_without_each_row(kernel, weights, alpha):
    """Return the errors of ridge regressions of which each never saw the row."""
    A = kernel(Z * weights ** (1 / kernel.power)) + 1
    errors = np.empty(Y.shape)
    for i in range(len(Z)):
        rest = np.delete(np.arange(len(Z)), i)
        a = np.linalg.solve(A[np.ix_(rest, rest)] + alpha * np.eye(len(rest)), Y[rest])
        errors[i] = Y[i] - A[i, rest] @ a
    return errors


@kernels
def test_the_loss_is_that_of_machines_that_never_saw_the_row(kernel):
    weights, alpha = np.array([0.5, 0.1, 2.0]), 0.3
    value, _ = left_out_loss(kernel, Z, Y, weights, alpha)
    errors = errors_without_each_row(kernel, weights, alpha)
    assert value == pytest.approx(20 * np.log((errors**2).sum() / 40))


@kernels
def test_slopes_are_those_of_differences(kernel):
    theta = np.log([0.5, 0.1, 2.0, 0.3])

    def loss(theta):
        return left_out_loss(kernel, Z, Y, np.exp(theta[:-1]), np.exp(theta[-1]))

    expected = approx_fprime(theta, lambda at: loss(at)[0], 1e-6)
    np.testing.assert_allclose(loss(theta)[1], expected, rtol=1e-3, atol=1e-4)


@kernels
def test_errors_get_smaller_and_noise_gets_less_weight(kernel):
    start = np.full(3, 0.3)
    found = learnt_weights(kernel, Z, Y, start, 0.1)
    # The best of a few penalties before and after.
    before, after = (
        min((errors_without_each_row(kernel, w, a) ** 2).sum() for a in (0.001, 0.01, 0.1, 1.0))
        for w in (start, found)
    )
    assert after < 0.8 * before
    assert found[2] < 0.5 * found[:2].min()


def test_rows_that_are_copies_and_columns_of_one_value_do_no_harm():
    rows = np.c_[np.repeat(Z[:20], 2, axis=0), np.ones(40)]
    for kernel in (Laplacian(length_scale=1.0), Matern(nu=0.5, length_scale=1.0)):
        assert np.isfinite(learnt_weights(kernel, rows, Y, np.ones(4), 0.1)).all()
