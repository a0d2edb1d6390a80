"""Features with named coordinates, and Gram matrices that are products of them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer import (
    RBF,
    Delta,
    FeatureGram,
    Features,
    Gram,
    Linear,
    Overlap,
    Polynomial,
)
from mercer.exceptions import InvalidInput, NoFeatureMap, NotEnoughMemory
from mercer.gram import feature_gram
from mercer.gram.feature_gram import gram_for_steps
from tests.gram.cases import POSITIVE_WITH_FEATURES, vectors

WORDS = np.array([["red", "s"], ["blue", "m"], ["red", "m"], ["green", "l"], ["blue", "m"]])
OTHER_WORDS = np.array([["black", "s"], ["red", "xl"], ["blue", "m"]])
CATEGORICAL = (Delta(), Overlap(), Overlap() * Delta() + 2.0 * Overlap(), (Overlap() + 1.0) ** 2)


@pytest.mark.parametrize("kernel", POSITIVE_WITH_FEATURES, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_against_the_kernel_on_numbers(kernel, dtype):
    X, Y = vectors(40, dtype=dtype), vectors(25, seed=1, dtype=dtype)
    for sides in ((X,), (X, Y)):
        _compare(FeatureGram.of(kernel, *sides), Gram(kernel, *sides), dtype)


@pytest.mark.parametrize("kernel", CATEGORICAL, ids=repr)
def test_against_the_kernel_on_categories(kernel):
    """Each batch has only the coordinates that it has seen; keys bring them together."""
    for sides in ((WORDS,), (WORDS, OTHER_WORDS), (OTHER_WORDS, WORDS)):
        gram = FeatureGram.of(kernel, *sides)
        assert gram.left.is_sparse
        _compare(gram, Gram(kernel, *sides), np.float64)


def test_sparse_numbers():
    X = sparse.random_array((40, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    Y = sparse.random_array((20, 30), density=0.2, rng=np.random.default_rng(1), format="csr")
    for kernel in (Linear(), Linear() + 2.0, 0.5 * Linear(), Linear().normalized()):
        for sides in ((X,), (X, Y), (X, Y.toarray()), (X.toarray(), Y)):
            _compare(FeatureGram.of(kernel, *sides), Gram(kernel, *sides), np.float64)


def _compare(gram, exact, dtype):
    K = exact.dense()
    scale = max(1, np.abs(K).max())
    near = {"rtol": 0, "atol": scale * (1e-4 if dtype == np.float32 else 1e-10)}
    assert gram.shape == exact.shape
    assert gram.symmetric == exact.symmetric
    assert_allclose(gram.dense(), K, **near)
    assert gram.dense("float32").dtype == np.float32
    n, m = gram.shape
    index = [0, n - 1, -2, 0]
    mask = np.arange(n) % 2 == 0
    assert_allclose(gram.rows(index), K[index], **near)
    assert_allclose(gram.rows(mask), K[mask], **near)
    assert_allclose(gram.rows(slice(1, None, 2)), K[1::2], **near)
    part = gram.take(index)
    assert_allclose(part.dense(), K[index][:, index] if gram.symmetric else K[index], **near)
    assert_allclose(gram.take(mask, [m - 1, 0]).dense(), K[mask][:, [m - 1, 0]], **near)
    V = np.random.default_rng(0).normal(size=(m, 3))
    assert_allclose(gram @ V, K @ V, rtol=0, atol=m * near["atol"])
    assert_allclose(gram @ V[:, 0], K @ V[:, 0], rtol=0, atol=m * near["atol"])
    if gram.symmetric:
        assert_allclose(gram.diag(), np.diagonal(K), **near)
    else:
        with pytest.raises(InvalidInput, match="no diagonal"):
            gram.diag()
    with pytest.raises(InvalidInput, match="There is no row"):
        gram.rows([n])
    with pytest.raises(InvalidInput, match="There is no row"):
        gram.take([0], [m])
    with pytest.raises(InvalidInput, match="cannot multiply"):
        gram @ np.ones(m + 1)


def test_heuristics_are_settled_on_the_columns():
    X, Y = vectors(20), 3 * vectors(20, seed=1)
    kernel = Polynomial(2, "scale")
    assert_allclose(FeatureGram.of(kernel, X, Y).dense(), kernel(X, Y), rtol=1e-9)


def test_a_million_rows_are_not_multiplied_out(monkeypatch):
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 10**9)
    values = sparse.eye_array(1_000_000, 50, format="csr")
    gram = FeatureGram(Features.numbered(values))
    assert gram.shape == (1_000_000, 1_000_000)
    assert (gram @ np.ones(1_000_000)).sum() == 50
    assert gram.rows([3, 999_999]).sum() == 1
    with pytest.raises(NotEnoughMemory, match=r"1,000,000 × 1,000,000.*8\.0 TB"):
        gram.dense()


def test_kernels_without_features():
    with pytest.raises(NoFeatureMap, match=r"RBF.*RandomFourierFeatures"):
        FeatureGram.of(RBF(gamma=0.4), vectors(5))


# ---- Features ------------------------------------------------------------------------------------


def random_features(seed, n=6, width=5, sparse_values=False):
    random = np.random.default_rng(seed)
    values = random.normal(size=(n, width)) * (random.random((n, width)) < 0.6)
    keys = random.choice(12, size=width, replace=False).astype(np.uint64)
    return Features(sparse.csr_array(values) if sparse_values else values, keys)


def as_dicts(features):
    """Return each row as a dict from key to value: what a row means, without an order."""
    keys = [int(key) for key in features.keys]
    return [dict(zip(keys, row, strict=True)) for row in features.toarray()]


def inner(left, right):
    return [
        [sum(value * z.get(key, 0) for key, value in x.items()) for z in as_dicts(right)]
        for x in as_dicts(left)
    ]


seeds = st.integers(0, 10**6)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, a=st.booleans(), b=st.booleans(), width=st.integers(1, 9))
def test_products_match_keys(seed, a, b, width):
    left = random_features(seed, sparse_values=a)
    right = random_features(seed + 1, n=4, width=width, sparse_values=b)
    assert_allclose(left @ right.T, inner(left, right), atol=1e-12)
    assert_allclose(right @ left.T, np.transpose(inner(left, right)), atol=1e-12)
    aligned = right.aligned(left.keys)
    assert_array_equal(aligned.keys, left.keys)
    for row, old in zip(as_dicts(aligned), as_dicts(right), strict=True):
        assert row == {key: old.get(key, 0) for key in row}
    assert left.aligned(left.keys.copy()) is left


@settings(max_examples=60, deadline=None)
@given(seed=seeds, a=st.booleans(), b=st.booleans())
def test_concatenation_is_the_sum_and_outer_the_product(seed, a, b):
    f, g = random_features(seed, sparse_values=a), random_features(seed + 1, sparse_values=b)
    u, v = (random_features(seed + 2 + i, n=3, width=7, sparse_values=i == 0) for i in range(2))
    both, other = Features.concatenate(f, g), Features.concatenate(u, v)
    assert both.is_sparse == (a or b)
    assert_allclose(both @ other.T, f @ u.T + g @ v.T, atol=1e-12)
    outer, other = Features.outer(f, g), Features.outer(u, v)
    assert outer.is_sparse == (a or b)
    assert outer.shape == (6, 25)
    assert_allclose(outer @ other.T, (f @ u.T) * (g @ v.T), atol=1e-12)
    expected = f.toarray()[:, :, None] * g.toarray()[:, None, :]
    assert_allclose(outer.toarray(), expected.reshape(6, 25), atol=1e-15)
    # The order of the factors matters: f ⊗ g has other coordinates than g ⊗ f.
    crossed = Features.outer(v, u)
    common = np.intersect1d(outer.keys, crossed.keys)
    assert len(common) == np.isin(_pairs(f, g), _pairs(v, u)).sum()


def _pairs(left, right):
    return [f"{i} {j}" for i in left.keys for j in right.keys]


@settings(max_examples=40, deadline=None)
@given(seed=seeds, is_sparse=st.booleans())
def test_normalisation_scaling_and_parts(seed, is_sparse):
    f = random_features(seed, sparse_values=is_sparse)
    dense = f.toarray()
    norms = np.linalg.norm(dense, axis=1)
    unit = f.normalized()
    assert unit.is_sparse == is_sparse
    assert_allclose(np.linalg.norm(unit.toarray(), axis=1), norms > 0, atol=1e-12)
    assert_allclose(unit.toarray() * norms[:, None], dense, atol=1e-12)
    assert_allclose(f.scaled(2.5).toarray(), 2.5 * dense)
    assert_allclose(f.take(np.array([3, 1, 3])).toarray(), dense[[3, 1, 3]])
    assert_allclose(f.take(slice(1, 4)).toarray(), dense[1:4])
    assert_allclose(np.asarray(f), dense)
    assert_allclose(np.asarray(f.T, dtype=np.float32), dense.T, rtol=1e-6)
    assert f.T.shape == f.shape[::-1] == (5, 6)
    assert f.T.T is f
    assert_allclose(f @ np.ones(5), dense.sum(axis=1), atol=1e-12)
    assert len(f) == 6


def test_rows_of_zeros_stay():
    for values in (np.zeros((2, 3)), sparse.csr_array((2, 3))):
        assert not Features.numbered(values).normalized().toarray().any()


def test_types_of_features():
    X = vectors(10, dtype=np.float32)
    for kernel in POSITIVE_WITH_FEATURES:
        assert kernel.features(X).dtype == np.float32, kernel
        assert FeatureGram.of(kernel, X).dtype == np.float32


def test_features_for_steps(monkeypatch):
    """Features where they are few and fit into the memory for rows, or cost nothing."""
    X = vectors(40, seed=3)
    squares = Polynomial(2, gamma=1.0, coef0=1.0)
    points = squares.encode(X)
    width = squares.feature_width(points)
    room = int(16 * width * len(points))

    def kind(kernel, room, whole=False, points=points):
        found = gram_for_steps(kernel, points, room, whole=whole)
        exact = Gram(kernel, points, dtype=np.float64).dense()
        assert_allclose(found.in_precision(np.float64).dense(), exact, rtol=1e-10, atol=1e-10)
        return type(found)

    assert kind(squares, room) is FeatureGram
    assert kind(squares, room - 1) is Gram
    assert kind(squares, room, whole=True) is Gram
    monkeypatch.setattr(feature_gram, "_WIDE", width)
    assert kind(squares, room) is FeatureGram
    monkeypatch.setattr(feature_gram, "_WIDE", width - 1)
    assert kind(squares, room) is Gram
    assert kind(Linear(), 0) is FeatureGram  # the data themselves
    assert kind(Linear(), 0, points=Linear().encode(X[:1])) is FeatureGram
    assert kind(RBF(gamma=1.0), 1 << 30) is Gram
