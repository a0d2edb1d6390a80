"""Sums of radial kernels, noise and constants: values of new rows, and what is no such sum."""

import numpy as np
import pytest

from mercer import RBF, Constant, Linear, Matern, White
from mercer.gram import radial_sum
from mercer.gram.radial_sum import RadialSum, values_between
from mercer.kernels.vectors.radial import Radial

RNG = np.random.default_rng(0)
ROWS, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(5, 3))
KERNELS = [
    RBF(gamma=0.7),
    2.0 * RBF(length_scale=[1.0, 2.0, 0.5]) + White(0.25),
    Matern(nu=1.5, length_scale=[1.0, 2.0, 3.0]) + 0.5,
    Constant(2.0) * Matern(nu=0.5, sigma=2.0) + 3.0 * White(0.5),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_between_new_and_known_rows(kernel):
    K, own = values_between(kernel, NEW, ROWS)
    np.testing.assert_allclose(K, kernel(NEW, ROWS), rtol=1e-12, atol=1e-14)
    assert own == pytest.approx(float(kernel.diag(NEW)[0]))


def test_what_is_left_to_others(monkeypatch):
    kernel = KERNELS[1]
    assert values_between(Linear(), NEW, ROWS) is None
    assert values_between(kernel + Linear(), NEW, ROWS) is None
    assert values_between(kernel, NEW.astype(np.float32), ROWS) is None
    assert values_between(kernel, np.asfortranarray(NEW), ROWS) is None
    assert values_between(RBF(length_scale=[1.0, 2.0]), NEW, ROWS) is None  # of two columns
    monkeypatch.setattr(radial_sum, "_MOST_NEW", NEW.size * len(ROWS))
    assert values_between(kernel, NEW, ROWS) is not None
    monkeypatch.setattr(radial_sum, "_MOST_NEW", NEW.size * len(ROWS) - 1)
    assert values_between(kernel, NEW, ROWS) is None


class Bell(Radial):
    """A radial kernel of which nobody has written the derivative."""

    def profile(self, s):
        return np.exp(-s, out=s)


def test_kernels_without_a_derivative_are_no_terms():
    kernel = RBF(length_scale=1.5)
    points = kernel.encode(ROWS)
    assert RadialSum.of(kernel, points, list(kernel.free_parameters())) is not None
    bell = Bell(length_scale=1.5)
    assert RadialSum.of(bell, bell.encode(ROWS), list(bell.free_parameters())) is None
    assert values_between(bell, NEW, ROWS) is None


def test_rows_and_differences_up_to_their_limits(monkeypatch):
    kernel, rows = RBF(length_scale=1.5), len(ROWS)
    points, names = kernel.encode(ROWS), ["length_scale"]
    for name, limit in (("_MOST_ROWS", rows), ("_MOST_DIFFERENCES", rows * ROWS.size)):
        with monkeypatch.context() as patch:
            patch.setattr(radial_sum, name, limit)
            assert RadialSum.of(kernel, points, names) is not None
            patch.setattr(radial_sum, name, limit - 1)
            assert RadialSum.of(kernel, points, names) is None
