"""Statistics are computed once, shared between kernels, kept under a budget."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import RBF, Gram, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, White
from mercer.kernels.statistics import CoordinateSum, DotProduct, SquaredDistance
from tests.gram.cases import KERNELS, close, vectors

N = 150
ONE = N * N * 8


@pytest.fixture
def pairs_computed(monkeypatch):
    """Count the pairs for which each statistic is computed."""
    counts = {}

    def count(statistic):
        compute = statistic.compute

        def counting(self, a, b, *args, **kwargs):
            name = statistic.__name__
            counts[name] = counts.get(name, 0) + len(a) * len(b)
            return compute(self, a, b, *args, **kwargs)

        monkeypatch.setattr(statistic, "compute", counting)

    for statistic in (SquaredDistance, DotProduct, CoordinateSum):
        count(statistic)
    return counts


def triangle(counts, name="SquaredDistance"):
    """Return how often a whole symmetric matrix was computed, tiles of its diagonal in full."""
    return counts.get(name, 0) / (N * N)


def test_a_grid_of_widths_costs_one_distance_matrix(pairs_computed):
    X = vectors(N)
    gram = Gram(RBF(gamma=1.0), X, statistic_bytes=ONE)
    gram.dense()
    once = dict(pairs_computed)
    assert 0.5 <= triangle(once) <= 1
    for width in np.logspace(-3, 2, 20):
        same = gram.with_kernel(RBF(gamma=width))
        assert_allclose(
            same.dense(), Gram(RBF(gamma=width), X.copy()).dense(), rtol=1e-12, atol=1e-300
        )
    assert 20 * triangle(once) <= triangle(pairs_computed) - triangle(once) <= 20
    pairs_computed.clear()
    for width in np.logspace(-3, 2, 20):
        same = gram.with_kernel(RBF(gamma=width))
        K = same.dense()
        assert_allclose(same @ np.ones(N), K.sum(axis=1), rtol=1e-12)
        assert_allclose(same.rows([5, 3]), K[[5, 3]], rtol=1e-12)
        assert_allclose(same.take([7, 8]).dense(), K[7:9, 7:9], rtol=1e-12)
        assert_array_equal(same.diag(), np.ones(N))
    # Other profiles of the same distances are free too.
    for kernel in (Matern(nu=1.5, sigma=1.0), RationalQuadratic(gamma=0.3), RBF("median")):
        gram.with_kernel(kernel).dense()
    assert pairs_computed == {}


def test_folds_are_parts_of_the_stored_matrix(pairs_computed):
    X = vectors(N)
    gram = Gram(RBF(gamma=0.3), X, statistic_bytes=ONE)
    K = gram.dense()
    pairs_computed.clear()
    train, test = np.arange(0, N, 2), np.arange(1, N, 2)
    for width in (0.1, 1.0):
        other = gram.with_kernel(RBF(gamma=width))
        expected = K ** (width / 0.3)
        assert_allclose(other.take(train).dense(), expected[np.ix_(train, train)], rtol=1e-9)
        assert_allclose(other.take(test, train).dense(), expected[np.ix_(test, train)], rtol=1e-9)
        part = other.take(train)
        assert_allclose(part.take([1, 2]).dense(), expected[np.ix_(train[1:3], train[1:3])])
    assert pairs_computed == {}


def test_a_composite_computes_each_statistic_once(pairs_computed):
    kernel = (
        RBF(gamma=0.3) + RBF(gamma=2.0) * Matern(nu=1.5, sigma=1.0) + RationalQuadratic(gamma=0.1)
    )
    Gram(kernel, vectors(N), vectors(N, seed=1)).dense()
    assert pairs_computed == {"SquaredDistance": N * N}
    pairs_computed.clear()
    mixed = (Linear() + Polynomial(2)) * RBF(gamma=0.1) + Laplacian(0.2) * Laplacian(0.4)
    Gram(mixed, vectors(N), vectors(N, seed=1)).dense()
    assert pairs_computed == {"SquaredDistance": N * N, "DotProduct": N * N, "CoordinateSum": N * N}


def stored_bytes(gram):
    return sum(matrix.nbytes for matrix in gram._pairs.stored.values())


@pytest.mark.parametrize(
    ("budget", "kept"),
    [(0, 0), (ONE - 1, 0), (ONE, 1), (2 * ONE - 1, 1), (2 * ONE, 2), (10 * ONE, 3)],
)
def test_the_budget_is_respected(pairs_computed, budget, kept):
    X = vectors(N)
    kernel = RBF(gamma=0.3) * Linear() + Laplacian(0.2)
    gram = Gram(kernel, X, statistic_bytes=budget)
    K = gram.dense()
    assert stored_bytes(gram) == kept * ONE <= budget
    pairs_computed.clear()
    grid = [gram.with_kernel(RBF(gamma=w) * Linear() + Laplacian(w)) for w in (0.5, 0.7)]
    for other in grid:
        other.dense()
    assert len(pairs_computed) == 3 - kept  # past the budget: computed again
    assert stored_bytes(gram) == stored_bytes(grid[0]) == kept * ONE
    assert_allclose(K, kernel(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [None, np.float32, np.float64])
@pytest.mark.parametrize("data", [np.float32, np.float64])
@pytest.mark.parametrize("budget", [ONE // 2 - 1, ONE // 2, ONE - 1, ONE])
def test_the_budget_counts_what_is_stored(data, dtype, budget):
    gram = Gram(RBF(gamma=0.3), vectors(N, dtype=data), statistic_bytes=budget, dtype=dtype)
    gram.dense()
    assert stored_bytes(gram) <= budget
    assert stored_bytes(gram) > 0 or budget < ONE


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_stored_statistics_change_nothing(kernel, dtype):
    X, Y = vectors(70, dtype=dtype), vectors(40, seed=1, dtype=dtype)
    for sides in ((X,), (X, Y)):
        plain, stored = Gram(kernel, *sides), Gram(kernel, *sides, statistic_bytes=10**7)
        assert_allclose(stored.dense(), plain.dense(), **close(dtype))
        assert kernel.statistics() == [] or stored_bytes(stored) > 0
        before = {s: matrix.copy() for s, matrix in stored._pairs.stored.items()}
        again = stored.dense()
        assert_allclose(again, plain.dense(), **close(dtype))
        assert_allclose(stored.rows([2, 1]), plain.rows([2, 1]), **close(dtype))
        v = np.linspace(-1, 1, plain.shape[1])
        assert_allclose(stored @ v, plain @ v, rtol=1e-4, atol=70 * close(dtype)["atol"])
        # No formula writes into the shared matrices.
        for statistic, matrix in stored._pairs.stored.items():
            assert_array_equal(matrix, before[statistic])


def test_diagonals_are_computed_once(monkeypatch):
    calls = []
    diagonal = DotProduct.diagonal
    monkeypatch.setattr(
        DotProduct, "diagonal", lambda self, a: calls.append(len(a)) or diagonal(self, a)
    )
    X = vectors(900)
    Gram((Linear() + 1.0).normalized(), X).dense()
    assert calls == [900]


def test_with_kernel_keeps_the_options():
    X = vectors(30)
    gram = Gram(RBF(), X, cache_bytes=4321, threads=1, dtype=np.float32)
    other = gram.with_kernel(RBF(gamma=2.0) + White(0.1))
    assert other.dtype == np.float32
    assert other.cache is not gram.cache
    assert other.cache.nbytes == gram.cache.nbytes > 0
    assert gram.kernel == RBF().resolve(gram.points)
    assert other.points is gram.points
    assert_allclose(np.diagonal(other.dense()), 1.1, rtol=1e-6)
