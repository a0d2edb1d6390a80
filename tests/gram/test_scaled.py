"""A matrix scaled from both sides, and rows that are chosen in any way."""

import numpy as np
import pytest
from scipy import sparse

from mercer.exceptions import InvalidInput
from mercer.gram.base import Definite, row_numbers, taken
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.gram.scaled import ScaledGram

A = np.random.default_rng(0).normal(size=(8, 3))
K = A @ A.T
W = np.random.default_rng(1).uniform(0.5, 3, 8)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", ["given", "features", "sparse"])
def test_scaled_is_s_k_s(kind, plain):
    rows = sparse.csr_array(A) if kind == "sparse" else A
    inner = GivenGram(K, Definite.POSITIVE) if kind == "given" else FeatureGram.of_rows(rows)
    weights = np.ones(8) if plain else W
    gram = ScaledGram(inner, weights)
    S = np.sqrt(weights)
    truth = S[:, None] * K * S
    assert gram.symmetric
    assert gram.definite is Definite.POSITIVE
    np.testing.assert_allclose(gram.dense(), truth)
    assert gram.dense(np.float32).dtype == np.float32
    np.testing.assert_allclose(gram.diag(), np.diag(truth))
    np.testing.assert_allclose(gram.rows([2, -1]), truth[[2, -1]])
    np.testing.assert_allclose(gram.block(slice(1, 4), np.array([0, 6])), truth[1:4][:, [0, 6]])
    V = np.random.default_rng(2).normal(size=(8, 2))
    np.testing.assert_allclose(gram.multiply(V), truth @ V)
    some = np.array([5, 0, 3])
    np.testing.assert_allclose(gram.take(some).dense(), truth[np.ix_(some, some)])
    single = gram.in_precision(np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single.dense(), truth, rtol=1e-5)
    with pytest.raises(NotImplementedError):
        gram.take(some, some)
    phi = gram.features()
    if kind == "given":
        assert phi is None
    else:
        dense = phi.toarray() if kind == "sparse" else phi
        np.testing.assert_allclose(dense, S[:, None] * A)


def test_a_given_matrix_stays_as_it_is():
    given = K.copy()
    gram = ScaledGram(GivenGram(given), W)
    gram.dense()
    gram.block(slice(0, 8), slice(0, 8))
    gram.rows(slice(None))
    np.testing.assert_array_equal(given, K)


def test_rows_are_chosen_by_numbers_slices_and_masks():
    for index, expected in (
        ([0, -1, -5, 4], [0, 4, 0, 4]),
        (slice(None, None, 2), [0, 2, 4]),
        (np.array([True, False, False, True, False]), [0, 3]),
        ([], []),
    ):
        assert row_numbers(index, 5).tolist() == expected
    for wrong in ([5], [-6], [0, 7]):
        with pytest.raises(InvalidInput, match="There is no row"):
            row_numbers(wrong, 5)
    for wrong in ([[1]], [0.5], np.array([True, False])):
        with pytest.raises(InvalidInput, match="Rows are chosen"):
            row_numbers(wrong, 5)
    assert taken([2, 3, 4], 5) == slice(2, 5)
    assert taken(slice(1, 3), 5) == slice(1, 3)
    assert taken(slice(4, 2), 5) == slice(4, 4)
    assert taken([3], 5) == slice(3, 4)
    for apart in ([1, 3, 2, 4], [1, 2, 2, 4], [4, 3, 2], [0, 2, 1, 3]):
        assert taken(apart, 5).tolist() == apart
    assert taken(slice(0, 5, 2), 5).tolist() == [0, 2, 4]


def test_parts_of_a_matrix_with_other_columns():
    wide = GivenGram(K[:, :3])
    part = wide.take([6, 1])
    assert part.shape == (2, 3)
    np.testing.assert_array_equal(part.dense(), K[[6, 1], :3])
    np.testing.assert_array_equal(wide.take(slice(2, 4)).dense(), K[2:4, :3])
    whole, rows = GivenGram(K).take(slice(2, 5)).shared()
    assert whole is not None
    assert rows.tolist() == [2, 3, 4]
    np.testing.assert_array_equal(whole, K)
    values, rows = GivenGram(K.astype(np.float32)).take([4, 2]).shared()
    assert values.dtype == np.float64
    assert rows.tolist() == [0, 1]
    np.testing.assert_allclose(values, K[np.ix_([4, 2], [4, 2])], rtol=1e-6)


def test_what_cannot_be_multiplied():
    gram = GivenGram(K)
    np.testing.assert_allclose(gram @ np.arange(8), K @ np.arange(8))
    np.testing.assert_allclose(gram @ np.eye(8, dtype=bool), K)
    for wrong in (np.zeros(7), np.zeros((8, 1, 1)), np.float64(1.0)):
        with pytest.raises(InvalidInput, match="cannot multiply"):
            gram @ wrong
    with pytest.raises(InvalidInput, match="of type <U1"):
        gram @ np.full(8, "a")


def test_feature_values_are_counted():
    gram = FeatureGram.of_rows(A)
    gram.block(slice(0, 3), slice(0, 5))
    assert gram.evaluations == 15
    gram.take(slice(0, 4), np.array([1, 2])).dense()
    assert gram.evaluations == 15 + 8
