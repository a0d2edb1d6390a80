"""Weighted sums of symmetric matrices: what NumPy says."""

import numpy as np
import pytest

from mercer.linalg.weighted_sum import weighted_sum


@pytest.mark.parametrize("count", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("dtypes", [[np.float64], [np.float32], [np.float32, np.float64]])
@pytest.mark.parametrize("n", [1, 7, 50])
def test_it_is_the_sum(n: int, count: int, dtypes: list[type]) -> None:
    random = np.random.default_rng(count)
    squares = [random.normal(size=(n, n)) for _ in range(count)]
    matrices = [(K + K.T).astype(dtypes[m % len(dtypes)]) for m, K in enumerate(squares)]
    weights = random.random(count)
    weights[1::2] = 0.0
    found = weighted_sum(matrices, weights)
    wanted = sum(w * K.astype(np.float64) for w, K in zip(weights, matrices, strict=True))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)
    assert (found == found.T).all()


def test_nothing_has_a_sum_of_zero() -> None:
    assert not weighted_sum([np.eye(3)], np.zeros(1)).any()


def test_matrices_need_not_be_contiguous() -> None:
    K = np.arange(36.0).reshape(6, 6)
    K = (K + K.T)[::2, ::2]
    np.testing.assert_array_equal(weighted_sum([K], np.array([2.0])), 2 * K)
