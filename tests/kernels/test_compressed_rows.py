"""Rows of sparse matrices against dense arithmetic."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer.kernels.compressed_rows import CompressedRows
from mercer.kernels.points import Vectors

RANDOM = np.random.default_rng(0)


def rows(count, columns=30, density=0.1, dtype=np.float64):
    dense = RANDOM.normal(size=(count, columns)) * (RANDOM.random((count, columns)) < density)
    dense[0] = 0  # a row without entries
    dense = dense.astype(dtype)
    return dense, CompressedRows.of(Vectors(sparse.csr_array(dense)))


@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("index", [slice(3, 17), np.array([5, 0, 5, 19])])
def test_products_and_distances_of_some_rows(dtype, close, index):
    (A, a), (B, b) = rows(20, dtype=dtype), rows(25, dtype=dtype)
    some = a.take(index)
    assert len(some) == len(A[index])
    assert some.dtype == dtype
    np.testing.assert_allclose(some.products(b), A[index] @ B.T, atol=close)
    expected = cdist(A[index].astype(float), B.astype(float), "sqeuclidean")
    np.testing.assert_allclose(some.squared_distances(b), expected, atol=close)


def test_values_are_written_where_they_are_wanted():
    (A, a), out = rows(12), np.full((12, 12), np.nan)
    assert a.products(a, out) is out
    np.testing.assert_allclose(out, A @ A.T, atol=1e-12)
    single = np.empty((12, 12), np.float32)  # of another precision: not for these values
    assert a.products(a, single) is not single


def test_close_rows_keep_their_digits():
    base = np.zeros((2, 5))
    base[:, 1] = 1e4
    base[1, 1] += 1e-3
    a = CompressedRows.of(Vectors(sparse.csr_array(base)))
    expected = (base[1, 1] - base[0, 1]) ** 2
    assert a.squared_distances(a)[0, 1] == pytest.approx(expected, rel=1e-12)


def test_another_precision():
    A, a = rows(6)
    single = a.astype(np.dtype(np.float32))
    assert single.dtype == np.float32
    assert single.squared_norms.dtype == np.float32
    np.testing.assert_allclose(single.products(single), A @ A.T, atol=1e-5)


def test_entries_of_one_place_add_up():
    twice = sparse.csr_array((np.array([1.0, 2.0, 4.0]), [1, 1, 0], [0, 2, 3]), shape=(2, 3))
    dense = np.array([[0.0, 3.0, 0.0], [4.0, 0.0, 0.0]])
    a = CompressedRows.of(Vectors(twice))
    np.testing.assert_allclose(a.squared_norms, [9.0, 16.0])
    np.testing.assert_allclose(a.squared_distances(a), cdist(dense, dense, "sqeuclidean"))
