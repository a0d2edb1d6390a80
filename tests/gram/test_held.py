"""A Gram matrix held as its upper triangle is the matrix itself."""

import numpy as np
import pytest

from mercer import RBF, Gram, Polynomial
from mercer.exceptions import InvalidInput
from mercer.gram.held import HeldGram, holdable


@pytest.fixture(scope="module")
def data():
    return np.random.default_rng(0).normal(size=(1100, 4)) + 5.0


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(2, gamma=0.1)], ids=str)
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_it_is_the_same_matrix(data, kernel, dtype, error, columns):
    gram = Gram(kernel, data)
    K = gram.dense()
    held = HeldGram(gram, dtype)
    V = np.random.default_rng(1).normal(size=(1100, columns))
    scale = np.abs(K).max()
    assert held.symmetric
    assert held.definite is gram.definite
    np.testing.assert_allclose(held.dense(), K, atol=error * scale)
    np.testing.assert_allclose(held @ V, K @ V, atol=error * 100 * scale)
    unit = V / np.linalg.norm(V, axis=0)
    assert 0 < np.linalg.norm(held @ unit - K @ unit, axis=0).max() <= held.rounding
    assert held.rounding <= error * 100 * scale
    np.testing.assert_allclose(held.diag(), np.diagonal(K), atol=error * scale)
    some = [1099, 3, 600, 3]
    np.testing.assert_allclose(held.rows(some), K[some], atol=error * scale)


@pytest.mark.parametrize("n", [1, 5, 513])
def test_any_size(data, n):
    held = HeldGram(Gram(RBF(gamma=0.3), data[:n]))
    K = RBF(gamma=0.3)(data[:n])
    for columns in (0, 2, 11):
        V = np.random.default_rng(1).normal(size=(n, columns))
        np.testing.assert_allclose(held @ V, K @ V, atol=1e-12)
    np.testing.assert_allclose(held.dense(), K, atol=1e-12)


def test_other_columns_cannot_be_held(data):
    with pytest.raises(InvalidInput):
        HeldGram(Gram(RBF(gamma=1.0), data[:10], data))


def test_precision_by_size():
    assert holdable(1_000) == np.float64
    assert holdable(5_000) == np.float32
    assert holdable(5_000, fine=True) == np.float64
    assert holdable(10_000_000) is None
