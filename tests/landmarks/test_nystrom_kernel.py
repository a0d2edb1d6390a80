"""Features through landmarks and the kernel that they make."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    RBF,
    Chi2,
    Delta,
    InvalidParameter,
    Linear,
    Nystrom,
    NystromKernel,
    Spectrum,
    White,
)
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.landmarks.basis import LandmarkBasis
from tests.gram.cases import TABLE_KERNELS, table_columns, vectors


def test_it_is_the_formula():
    X, new = vectors(40), vectors(7, seed=1)
    kernel = RBF(gamma=0.4)
    points = kernel.encode(X)
    approximate = NystromKernel.of(kernel, points, Nystrom(12))
    M = approximate.points
    inverse = np.linalg.inv(Gram(kernel, M).dense())
    expected = Gram(kernel, kernel.encode(new), M) @ inverse @ Gram(kernel, M, points).dense()
    np.testing.assert_allclose(approximate(new, X), expected, atol=1e-12)
    phi = approximate.features(new)
    assert phi.shape == (7, 12)
    np.testing.assert_allclose(phi.values @ phi.values.T, approximate(new), atol=1e-13)
    np.testing.assert_allclose(approximate.diag(new), np.diagonal(approximate(new)), atol=1e-13)
    assert np.linalg.eigvalsh(kernel(X) - approximate(X)).min() > -1e-12
    assert repr(approximate) == "NystromKernel(RBF(gamma=0.4), 12 landmarks)"
    assert clone(approximate).points is M


def test_blocks_change_nothing():
    X = vectors(100)
    kernel = RBF(gamma=0.2)
    basis = LandmarkBasis(kernel, kernel.encode(X[:20]))
    whole = basis.features(kernel.encode(X))
    blocks = [block for _, block in basis.blocks(kernel.encode(X), block_bytes=1)]
    assert len(blocks) > 1
    np.testing.assert_allclose(np.vstack(blocks), whole, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_landmarks_that_nearly_repeat_are_dropped(dtype):
    X = vectors(60, dtype=dtype)
    near = X[:10] + dtype(1e-9)
    kernel = RBF(gamma=0.5)
    basis = LandmarkBasis(kernel, kernel.encode(np.vstack([X[:10], near, X[:10]])))
    assert 8 <= len(basis) <= 10  # two of the ten are equal
    K = kernel(X.astype(float))
    Z = basis.features(kernel.encode(X))
    assert Z.dtype == dtype
    across = kernel(X.astype(float), X[:10].astype(float))
    square = kernel(X[:10].astype(float))
    exact = across @ np.linalg.pinv(square, rcond=1e-10) @ across.T
    np.testing.assert_allclose(Z @ Z.T, exact, atol=1e-9 if dtype == np.float64 else 1e-4)
    assert basis.residual(kernel.encode(X)).min() >= 0
    assert (np.linalg.eigvalsh(K - Z @ Z.T) > -1e-4).all()


def test_sums_over_many_points_become_sums_over_landmarks():
    texts = ["GATTACA", "CATTAG", "TTTTTT", "ACGTACGT", "GAGAGA", "CCCATT", "TACATA"]
    kernel = Spectrum(2).normalized()
    points = kernel.encode(texts)
    approximate = NystromKernel.of(kernel, points, Nystrom(4))
    coefficients = np.random.default_rng(0).normal(size=(7, 2))
    short = approximate.condensed(points, coefficients)
    assert len(short) == 4
    assert short.kernel == kernel
    new = ["GATTAG", "CCC", "TACG"]
    long = Expansion(approximate, points, coefficients)
    np.testing.assert_allclose(short(new), long(new), atol=1e-12)


@pytest.mark.parametrize("kernel", TABLE_KERNELS, ids=str)
def test_tables(kernel):
    import pandas as pd

    frame = pd.DataFrame(table_columns())
    points = kernel.encode(frame)
    kernel = kernel.resolve(points)
    approximate = NystromKernel.of(kernel, points, Nystrom(len(points)))
    np.testing.assert_allclose(Gram(approximate, points).dense(), kernel(points), atol=1e-8)


def test_it_takes_part_in_the_algebra():
    X = vectors(30)
    kernel = RBF(gamma=0.4)
    approximate = NystromKernel.of(kernel, kernel.encode(X), Nystrom(8))
    np.testing.assert_allclose((2 * approximate + 1.0)(X), 2 * approximate(X) + 1, atol=1e-12)
    assert (approximate + White(0.1)).definite == kernel.definite


def test_bad_parts():
    X = vectors(9)
    kernel = RBF(gamma=0.4)
    points = kernel.encode(X)
    good = NystromKernel.of(kernel, points, Nystrom(4))
    for factor in (good.factor[:3], good.factor.T, -good.factor, good.factor * np.nan):
        with pytest.raises(InvalidParameter, match="factor"):
            NystromKernel(kernel, good.points, factor)
    with pytest.raises(InvalidParameter, match="not encoded for"):
        NystromKernel(Chi2(), good.points, good.factor)
    with pytest.raises(InvalidParameter, match="needs a kernel and landmarks"):
        NystromKernel(kernel, X, good.factor)
    with pytest.raises(InvalidParameter, match="needs a kernel and landmarks"):
        NystromKernel("rbf", good.points, good.factor)


def test_one_kernel_for_categories():
    cities = np.array([["Oslo"], ["Rome"], ["Lima"], ["Oslo"], ["Rome"]], dtype=object)
    points = Delta().encode(cities)
    approximate = NystromKernel.of(Delta(), points, Nystrom(5))
    assert len(approximate) == 3
    np.testing.assert_allclose(Gram(approximate, points).dense(), Delta()(cities), atol=1e-12)
    assert Linear().has_features
