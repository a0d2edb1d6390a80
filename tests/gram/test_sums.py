"""Sums of matrices, some of which are held as factors."""

import numpy as np
import pytest

from mercer.exceptions import InvalidInput
from mercer.gram.base import Definite
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.gram.sums import SumGram, factor_of, weighted_terms

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(6, 2)), RNG.normal(size=(6, 3))
A = RNG.normal(size=(6, 6))
DENSE = [A @ A.T, np.eye(6), X @ X.T, Z @ Z.T]
TERMS = [
    GivenGram(DENSE[0], Definite.POSITIVE),
    GivenGram(DENSE[1], Definite.CONDITIONAL),
    FeatureGram.of_rows(X),
    FeatureGram.of_rows(Z),
]


@pytest.mark.parametrize("chosen", [[0], [2], [0, 1], [2, 3], [0, 2], [3, 1, 2, 0]])
def test_weighted_sums(chosen):
    weights = np.array([0.5, 2.0, 0.0, 3.0])[: len(chosen)]
    found = weighted_terms([TERMS[m] for m in chosen], weights)
    expected = sum(w * DENSE[m] for w, m in zip(weights, chosen, strict=True))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.dtype == np.float64


def test_factors_are_those_of_features():
    assert factor_of(TERMS[0]) is None
    np.testing.assert_array_equal(factor_of(TERMS[2]), X)


def test_sums_are_their_terms_together():
    gram = SumGram(TERMS)
    whole = sum(DENSE)
    V = RNG.normal(size=(6, 2))
    np.testing.assert_allclose(gram.dense(), whole, atol=1e-12)
    np.testing.assert_allclose(gram.diag(), np.diag(whole), atol=1e-12)
    np.testing.assert_allclose(gram @ V, whole @ V, atol=1e-12)
    some = np.array([4, 1])
    np.testing.assert_allclose(gram.take(some).dense(), whole[np.ix_(some, some)], atol=1e-12)
    assert gram.definite is Definite.CONDITIONAL
    assert gram.symmetric
    assert not gram.take(some, slice(0, 3)).symmetric
    assert TERMS[0].evaluations == 0
    assert TERMS[0].take(slice(2, 5)).shape == (3, 3)
    assert TERMS[0].take(slice(2, 5), slice(1, 6)).shape == (3, 5)
    wide = TERMS[0].take(slice(2, 5), slice(1, 6))
    product = wide.multiply_columns(np.array([3]), np.ones((1, 2)))
    np.testing.assert_allclose(product, DENSE[0][2:5, [4, 4]])
    single = gram.in_precision(np.float32)
    assert single.dense().dtype == np.float32
    assert single.dense(np.float64).dtype == np.float64
    assert gram.dense(np.float32).dtype == np.float32
    with pytest.raises(InvalidInput, match="no row 6"):
        gram.rows([-6, 5, 6])  # the first row may also be named from the end
    with pytest.raises(InvalidInput, match="no row -7"):
        gram.rows([0, -7])
    out = np.empty((2, 6))
    assert gram.block(some, slice(0, 6), out) is out
    np.testing.assert_allclose(out, whole[some], atol=1e-12)
    np.testing.assert_array_equal(DENSE[0], A @ A.T)  # what was given stays as it is
