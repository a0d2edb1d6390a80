"""Landmarks: every way to choose them, on numbers, strings and graphs."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mercer import (
    RBF,
    InvalidInput,
    InvalidParameter,
    Linear,
    NegativeDistance,
    NotPositiveDefinite,
    Nystrom,
    NystromKernel,
    Precomputed,
    Sigmoid,
    Spectrum,
    WeisfeilerLehman,
    White,
    load_data,
    read_graphs,
    read_table,
)
from mercer.gram.computed import Gram
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.choose import METHODS, choose_landmarks
from mercer.linalg.pivoted import pivoted_cholesky
from tests.gram.cases import vectors


@cache
def data(kind):
    """Return a kernel and real objects."""
    if kind == "numbers":
        return RBF(gamma=0.05), load_data("diabetes").X[:300]
    if kind == "strings":
        return Spectrum(4).normalized(), read_table("promoters").frame["dna"].to_pylist()
    graphs = np.empty(150, dtype=object)
    graphs[:] = read_graphs("solubility").graphs[:150]
    return WeisfeilerLehman(2).normalized(), graphs


KINDS = ("numbers", "strings", "graphs")


def dense_residual(kernel, X, L):
    """Return K − K_nM K_MM⁺ K_Mn by dense linear algebra alone."""
    points = kernel.encode(X)
    K = Gram(kernel, points).dense()
    across = Gram(kernel, points, L).dense()
    return K - across @ np.linalg.pinv(Gram(kernel, L).dense(), rcond=1e-12) @ across.T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_all_data(method, kind):
    kernel, X = data(kind)
    points = kernel.encode(X)
    if method == "kmeans" and kind != "numbers":
        with pytest.raises(InvalidInput, match="needs rows of numbers"):
            choose_landmarks(kernel, points, Nystrom(20, method))
        return
    found = choose_landmarks(kernel, points, Nystrom(20, method))
    assert len(found) == 20
    assert found.candidates == len(points)
    residual = dense_residual(kernel, X, found.points)
    basis = LandmarkBasis(kernel, found.points)
    np.testing.assert_allclose(basis.residual_trace(points), np.trace(residual), rtol=1e-8)
    np.testing.assert_allclose(basis.residual(points), np.diagonal(residual), atol=1e-9)
    if found.residual_trace is not None:
        np.testing.assert_allclose(found.residual_trace, np.trace(residual), rtol=1e-8)
    if found.index is None:
        assert method == "kmeans"
    else:
        assert len(set(found.index.tolist())) == 20
        np.testing.assert_array_equal(found.points.ids, points.ids[found.index])
    again = choose_landmarks(kernel, points, Nystrom(20, method))
    np.testing.assert_array_equal(
        Gram(kernel, again.points).dense(), Gram(kernel, found.points).dense()
    )


@pytest.mark.parametrize("method", ["pivoted", "leverage", "kmeans"])
def test_methods_that_look_find_what_blind_ones_miss(method):
    """Few rows lie far from a crowd: a blind draw sees the crowd alone."""
    random = np.random.default_rng(0)
    X = np.vstack([0.05 * random.normal(size=(950, 3)), 4 * random.normal(size=(50, 3))])
    kernel = RBF(gamma=0.3)

    def left(method, seed):
        points = kernel.encode(X)
        found = choose_landmarks(kernel, points, Nystrom(60, method, seed))
        return LandmarkBasis(kernel, found.points).residual_trace(points)

    blind = np.mean([left("uniform", seed) for seed in range(5)])
    assert np.mean([left(method, seed) for seed in range(5)]) < 0.5 * blind


def test_all_rows_leave_nothing():
    kernel, X = data("numbers")
    points = kernel.encode(X)
    for method in ("pivoted", "uniform", "leverage"):
        found = choose_landmarks(kernel, points, Nystrom(len(X), method))
        assert sorted(found.index.tolist()) == list(range(len(X)))
        assert LandmarkBasis(kernel, found.points).residual_trace(points) < 1e-9


def test_where_few_landmarks_give_the_whole_matrix_fewer_are_taken():
    X = vectors(50, 3)
    points = Linear().encode(X)
    found = choose_landmarks(Linear(), points, 20)
    assert len(found) == 3
    assert found.residual_trace < 1e-10
    zeros = choose_landmarks(Linear(), np.zeros((5, 2)), 3)
    assert len(zeros) == 1
    assert zeros.residual_trace == 0
    few = choose_landmarks(
        RBF(gamma=1.0), np.repeat(vectors(4, 2), 5, axis=0), Nystrom(8, "kmeans")
    )
    assert len(few) <= 4


def test_a_small_budget_looks_at_some_rows_only():
    X = vectors(400, 3)
    found = choose_landmarks(RBF(gamma=0.3), X, 10, budget=8 * 10 * 50)
    assert found.candidates == 50
    assert len(set(found.index.tolist())) == len(found) == 10
    assert found.residual_trace is None
    assert choose_landmarks(RBF(gamma=0.3), X, 10).residual_trace is not None


class Matrix:
    """A matrix that is there, with the face that pivots are drawn from."""

    def __init__(self, K):
        self.K = K

    def diag(self):
        return np.diagonal(self.K)

    def block(self, rows, columns):
        return self.K[rows][:, columns]


def test_pivots_have_the_law_of_pivots_drawn_one_by_one():
    """Rejection keeps the distribution; the first two of four pivots, by their frequencies."""
    X = np.array([[0.0], [0.1], [1.0], [3.0]])
    K = RBF(gamma=1.0)(X) * np.outer([1, 2, 1, 1.5], [1, 2, 1, 1.5])
    expected = np.zeros((4, 4))
    d = np.diagonal(K)
    for i in range(4):
        rest = np.maximum(d - K[:, i] ** 2 / d[i], 0)
        rest[i] = 0
        expected[i] = d[i] / d.sum() * rest / rest.sum()
    gram = Matrix(K)
    draws = 1500
    counts = np.zeros((4, 4))
    for seed in range(draws):
        i, j = pivoted_cholesky(gram, 2, np.random.default_rng(seed)).pivots
        counts[i, j] += 1
    possible = expected > 0
    assert counts[~possible].sum() == 0
    chi2 = ((counts - draws * expected)[possible] ** 2 / (draws * expected)[possible]).sum()
    # 11 degrees of freedom: above 31.3 in one of a thousand, were the law the right one.
    assert chi2 < 31.3


@settings(max_examples=25)
@given(
    st.integers(2, 60),
    st.integers(1, 4),
    st.sampled_from(
        [
            RBF(gamma=0.4),
            Linear(),
            RBF(gamma=0.2) + 0.1 * White(0.5),
            RBF(gamma=0.2) * Linear() + 1.0,
        ]
    ),
    st.integers(0, 5),
)
def test_the_residual_falls_with_each_pivot_and_is_never_negative(n, d, kernel, seed):
    X = vectors(n, d, seed)
    points = kernel.encode(X)
    gram = Gram(kernel, points, dtype=np.float64)
    factor = pivoted_cholesky(gram, n, np.random.default_rng(seed))
    K = gram.dense()
    scale = np.trace(K)
    steps = np.cumsum(np.vstack([np.zeros(n), factor.F.T**2]), axis=0)
    traces = scale - steps.sum(axis=1)
    assert (np.diff(traces) <= 1e-9 * scale).all()
    assert (factor.left >= 0).all()
    assert np.linalg.eigvalsh(K - factor.F @ factor.F.T).min() > -1e-7 * scale
    # The pivots are nested: the first m alone leave what the first m columns leave.
    m = max(1, len(factor.pivots) // 2)
    basis = LandmarkBasis(kernel, points.take(factor.pivots[:m]))
    np.testing.assert_allclose(basis.residual_trace(points), traces[m], atol=1e-6 * scale)


@pytest.mark.parametrize("bad", [0, -3, 2.5, "ten", True, None])
def test_counts_that_are_none(bad):
    with pytest.raises(InvalidParameter, match="1 or more"):
        Nystrom(bad)


def test_bad_input():
    X = vectors(10)
    with pytest.raises(InvalidParameter, match="11 landmarks were asked for, and there are 10"):
        choose_landmarks(RBF(gamma=1.0), X, 11)
    with pytest.raises(InvalidParameter, match="has to be one of 'pivoted', 'uniform'"):
        Nystrom(3, "best")
    with pytest.raises(InvalidParameter, match="random_state=-1"):
        Nystrom(3, random_state=-1)
    with pytest.raises(InvalidParameter, match="has to be None, a number of landmarks"):
        choose_landmarks(RBF(gamma=1.0), X, "many")
    with pytest.raises(InvalidParameter, match="spec=None"):
        choose_landmarks(RBF(gamma=1.0), X, None)
    for kernel in (Sigmoid(1.0, -1.0), NegativeDistance()):
        with pytest.raises(NotPositiveDefinite, match="need a positive definite kernel"):
            choose_landmarks(kernel, X, 3)


@pytest.mark.parametrize("method", ["pivoted", "uniform", "leverage"])
def test_a_matrix_that_turns_out_to_be_indefinite(method):
    random = np.random.default_rng(0)
    A = random.normal(size=(30, 30))
    kernel = Precomputed(A + A.T + 3 * np.eye(30))
    with pytest.raises(NotPositiveDefinite):
        NystromKernel.of(kernel, kernel.encode(np.arange(30)), Nystrom(30, method))


def test_seeds():
    kernel, X = data("numbers")
    same = [choose_landmarks(kernel, X, Nystrom(9, "uniform", 4)).index for _ in range(2)]
    np.testing.assert_array_equal(*same)
    other = choose_landmarks(kernel, X, Nystrom(9, "uniform", 5)).index
    assert not np.array_equal(same[0], other)
    free = [choose_landmarks(kernel, X, Nystrom(9, "uniform", None)).index for _ in range(2)]
    assert not np.array_equal(*free)


def test_the_old_name_of_random_state_warns():
    with pytest.warns(FutureWarning, match="'random_state'"):
        old = Nystrom(3, seed=7)
    assert old == Nystrom(3, random_state=7)
