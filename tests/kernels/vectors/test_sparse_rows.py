"""Sparse rows are compared as dense ones are."""

import numpy as np
import pytest
from scipy import sparse

from mercer import RBF, SVC, KernelRidge, Laplacian, Linear, Polynomial
from mercer.gram.computed import Gram


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = sparse.random_array((160, 300), density=0.03, format="csr", rng=random)
    near = X[:20].copy()
    near.data *= 1 + 1e-7 * random.normal(size=near.data.size)  # as close as rounding can tell
    return sparse.vstack([X, near, X[5:8]], format="csr")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel", [RBF(gamma=0.7), Linear(), Polynomial(gamma=0.2), Laplacian(0.1)]
)
def test_kernel_values(rows, kernel, dtype):
    S = rows.astype(dtype)
    precision = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(kernel(S), kernel(rows.toarray()), rtol=precision, atol=precision)
    np.testing.assert_allclose(
        kernel(S[:30], S),
        kernel(rows[:30].toarray(), rows.toarray()),
        rtol=precision,
        atol=precision,
    )


def test_rows_that_are_close_keep_their_distance(rows):
    sharp = RBF(gamma=1e13)  # exp(−γd) tells distances of 1e−7 apart
    dense = Gram(sharp, rows.toarray()).dense()
    np.testing.assert_allclose(Gram(sharp, rows).dense(), dense, rtol=1e-4, atol=1e-12)
    assert 0.0 < dense[0, 160] < 1.0


def test_numbers_out_of_order_and_in_parts(rows):
    X = rows.tocoo()
    halves = sparse.coo_array(
        (
            np.concatenate([X.data, X.data]) / 2,
            (np.concatenate([X.row, X.row])[::-1], np.concatenate([X.col, X.col])[::-1]),
        ),
        shape=X.shape,
    )
    halves.data = halves.data[::-1].copy()
    parts = sparse.csr_array(halves)  # which keeps the order within a row
    np.testing.assert_allclose(RBF(gamma=0.7)(parts), RBF(gamma=0.7)(rows), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_machines_find_the_same(rows, kernel):
    y = np.arange(rows.shape[0]) % 3
    new = rows[::2]
    one, other = SVC(kernel=kernel).fit(rows, y), SVC(kernel=kernel).fit(rows.toarray(), y)
    np.testing.assert_allclose(
        one.decision_function(new), other.decision_function(new.toarray()), atol=5e-3
    )
    target = np.asarray(rows.sum(axis=1)).ravel()
    ridge = KernelRidge(kernel=kernel).fit(rows, target).predict(new)
    dense = KernelRidge(kernel=kernel).fit(rows.toarray(), target).predict(new.toarray())
    np.testing.assert_allclose(ridge, dense, rtol=1e-8, atol=1e-10)
