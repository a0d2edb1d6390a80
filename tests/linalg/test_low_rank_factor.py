"""Factors of matrices of low rank: exact to a share of the trace, or none at all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import RBF, Laplacian
from mercer.exceptions import NotPositiveDefinite
from mercer.gram.computed import Gram
from mercer.gram.given import GivenGram
from mercer.linalg.pivoted import low_rank_factor


def gram(kernel, X):
    points = kernel.encode(X)
    return Gram(kernel.resolve(points), points, dtype=np.float64)


def factor(K, rank=64, share=1e-12):
    return low_rank_factor(K, rank, np.random.default_rng(0), share)


@pytest.mark.parametrize("tails", [False, True])
@pytest.mark.parametrize("n", [50, 700])
def test_a_smooth_kernel_of_one_column_is_its_factor(n, tails):
    random = np.random.default_rng(n)
    X = random.standard_t(4, size=(n, 1)) if tails else random.normal(size=(n, 1))
    F = factor(gram(RBF(gamma=0.7), X))
    K = RBF(gamma=0.7)(X)
    assert F.shape[1] < 45
    assert np.trace(K - F @ F.T) <= 1e-12 * n + 1e-13 * n
    assert_allclose(F @ F.T, K, atol=1e-9)


def test_a_matrix_of_exact_rank_has_as_many_columns():
    A = np.random.default_rng(0).normal(size=(300, 5))
    F = factor(GivenGram(A @ A.T))
    assert F.shape == (300, 5)
    assert_allclose(F @ F.T, A @ A.T, atol=1e-10)


def test_a_rough_kernel_has_none_and_few_of_its_values_are_computed():
    K = gram(Laplacian(gamma=2.0), np.random.default_rng(0).normal(size=(400, 1)))
    assert factor(K) is None
    assert K.evaluations <= 400 + 64**2


def test_nothing_has_no_columns():
    assert factor(GivenGram(np.zeros((30, 30)))).shape == (30, 0)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(NotPositiveDefinite):
        factor(GivenGram(-np.eye(40)))
