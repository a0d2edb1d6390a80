"""The matrix of a few vectors: the same values as by blocks, whatever is asked of it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mercer import RBF, Gram, Laplacian, Linear, Matern, Periodic, RationalQuadratic
from mercer.gram.direct import DirectGram

DIRECT = [
    RBF(gamma=0.7),
    RBF(sigma=2.0),
    Matern(nu=0.5, length_scale=1.5),
    RationalQuadratic(alpha=2.0, gamma=0.3),
]
NOT_DIRECT = [
    Laplacian(0.5),
    Linear(),
    Periodic(2.0),
    RBF(length_scale=[1.0, 2.0, 3.0]),
    RBF(gamma=1.0) + 1,
]


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(3).normal((5.0, 0.0, -100.0), 1.0, (40, 3))


@pytest.mark.parametrize("kernel", DIRECT, ids=repr)
def test_it_is_the_matrix_of_the_kernel(kernel, vectors):
    gram, whole = DirectGram.of(kernel, kernel.encode(vectors)), Gram(kernel, vectors)
    expected = whole.dense()
    V = np.random.default_rng(0).normal(size=(40, 2))
    rows, columns = np.array([3, 7, 7, 0]), slice(5, 12)
    np.testing.assert_allclose(gram.dense(), expected, rtol=1e-11)
    np.testing.assert_allclose(gram.multiply(V), expected @ V, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(gram.block(rows, columns), expected[rows][:, columns], rtol=1e-11)
    np.testing.assert_allclose(gram.diag(), whole.diag(), rtol=1e-15)
    np.testing.assert_allclose(gram.take(rows).dense(), expected[np.ix_(rows, rows)], rtol=1e-11)
    part = gram.take(rows, np.array([1, 2]))
    np.testing.assert_allclose(part.dense(), expected[np.ix_(rows, [1, 2])], rtol=1e-11)
    assert not part.symmetric
    single = gram.in_precision(np.float32)
    assert single.dense().dtype == np.float32
    assert gram.in_precision(np.float64) is gram


def test_values_are_symmetric_and_counted(vectors):
    gram = DirectGram.of(RBF(gamma=1.0), RBF(gamma=1.0).encode(vectors))
    K = gram.dense()
    assert np.array_equal(K, K.T)
    assert gram.evaluations == 1600
    gram.block(slice(0, 2), slice(0, 3))
    assert gram.evaluations == 1606


def test_other_precisions_are_symmetric_too(vectors):
    gram = DirectGram.of(RBF(gamma=0.5), RBF(gamma=0.5).encode(vectors))
    single = gram.in_precision(np.float32)
    assert single.symmetric
    assert single.dtype == np.float32
    assert gram.in_precision(np.float64) is gram


def test_each_answer_has_memory_of_its_own(vectors):
    gram = DirectGram.of(RBF(gamma=1.0), RBF(gamma=1.0).encode(vectors))
    gram.dense()[:] = np.nan
    assert np.isfinite(gram.dense()).all()


@pytest.mark.parametrize("kernel", NOT_DIRECT, ids=repr)
def test_other_kernels_have_none(kernel, vectors):
    assert DirectGram.of(kernel, kernel.encode(vectors)) is None


def test_single_precision_sparse_and_many_rows_have_none(vectors):
    from scipy import sparse

    for X in (vectors.astype(np.float32), sparse.csr_array(vectors), np.zeros((2000, 3))):
        assert DirectGram.of(RBF(gamma=1.0), RBF(gamma=1.0).encode(X)) is None


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 5))
def test_values_of_a_row_do_not_depend_on_the_others(seed, n, d):
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(n, d)) * 10, random.normal(size=(17, d))
    together = RBF(gamma=0.3).direct(a, b)
    for i in range(n):
        assert np.array_equal(RBF(gamma=0.3).direct(a[i : i + 1], b)[0], together[i])


@pytest.mark.parametrize("columns", [1, 3, 4, 6, 9])
def test_any_number_of_columns(columns):
    X = np.random.default_rng(columns).normal(size=(30, columns))
    for kernel in DIRECT:
        np.testing.assert_allclose(kernel.direct(X, X), Gram(kernel, X).dense(), rtol=1e-11)
        # Rows do not depend on those beside them, nor on whether both sides are one.
        assert np.array_equal(kernel.direct(X, X[:7]), kernel.direct(X, X)[:, :7])


def test_many_rows_are_left_to_threads():
    kernel = RBF(gamma=1.0)
    assert DirectGram.of(kernel, kernel.encode(np.zeros((1000, 1)))) is not None
    assert DirectGram.of(kernel, kernel.encode(np.zeros((1001, 1)))) is None


def test_points_that_are_far_from_each_other_have_nothing_in_common():
    X = np.array([[0.0], [1.0], [2.0], [40.0]])
    np.testing.assert_array_equal(RBF(gamma=1e6).direct(X, X), np.eye(4))
    near = RBF(gamma=1.0).direct(X[:1], np.array([[26.0], [26.5]]))
    np.testing.assert_allclose(near, np.exp([[-676.0, -702.25]]) * [[1, 0]], rtol=1e-10)
