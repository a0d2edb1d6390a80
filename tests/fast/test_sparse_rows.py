"""Inner products of sparse rows and columns, in one compiled call."""

import numpy as np
import pytest
from scipy import sparse

from mercer import _fast
from mercer.problems import elastic_net
from mercer.problems.elastic_net import Design


@pytest.mark.parametrize("density", [0.0, 0.03, 0.5])
def test_products_of_columns_are_added(density):
    X = sparse.random(70, 23, density, random_state=3, format="csr")
    out = np.ones((23, 23))
    _fast.sparse_rows.add_column_products(X.indptr, X.indices, X.data, out)
    dense = X.toarray()
    np.testing.assert_allclose(out, 1 + dense.T @ dense, rtol=1e-14)


def test_entries_of_one_place_add_up():
    # Row 0 is (1 + 2, 0, 5), its entries in no order.
    X = sparse.csr_array((np.array([5.0, 1.0, 2.0]), np.array([2, 0, 0]), np.array([0, 3])))
    out = np.zeros((3, 3))
    _fast.sparse_rows.add_column_products(X.indptr, X.indices, X.data, out)
    np.testing.assert_array_equal(out, np.outer([3, 0, 5], [3, 0, 5]))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("columns", [slice(None), slice(3, 20, 2)])
def test_designs_of_many_rows_use_them(centred, columns, monkeypatch):
    monkeypatch.setattr(elastic_net, "_LITTLE_WORK", 0)
    X = sparse.random(70, 23, 0.1, random_state=4, format="csc")
    Z = X.toarray()
    means = Z.mean(axis=0) if centred else None
    at = np.arange(23)[columns]
    found = Design(X, means).gram(at, at)
    Z = Z - means if centred else Z
    np.testing.assert_allclose(found, Z[:, at].T @ Z[:, at], atol=1e-13)
