"""Factors of kernels of single columns: those of their matrices, made in one call."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer import RBF, Laplacian, learn_weights
from mercer.estimators.multiple_kernel.column_factors import gaussian_column, kernel_factors

RANDOM = np.random.default_rng(0)


def factors_of(kernels, X):
    points = sum(kernels[1:], kernels[0]).encode(X)
    return kernel_factors([kernel.resolve(points) for kernel in kernels], points)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(101, 700),
    widths=st.lists(st.sampled_from([1e-3, 0.1, 1.0, 3.0]), min_size=1, max_size=5),
    few_values=st.booleans(),
    factor=st.sampled_from([1.0, 0.25, 7.0]),
)
def test_factors_are_those_of_the_matrices(seed, n, widths, few_values, factor):
    X = np.random.default_rng(seed).normal(size=(n, len(widths)))
    if few_values:
        X = X.round()
    kernels = [factor * RBF(gamma=gamma).on(j) for j, gamma in enumerate(widths)]
    found = factors_of(kernels, X)
    for j, (gamma, F) in enumerate(zip(widths, found.parts, strict=True)):
        K = factor * np.exp(-gamma * (X[:, j, None] - X[:, j]) ** 2)
        assert_allclose(F @ F.T, K, atol=1e-8 * factor)
        assert factor * n - (F**2).sum() <= 1.01e-12 * factor * n
        assert F.shape[1] <= len(np.unique(X[:, j]))
    assert_allclose(found.stacked, np.hstack(found.parts), rtol=0)


def test_what_is_no_gaussian_of_one_column_is_found_otherwise():
    X = np.column_stack([RANDOM.normal(size=600), 2.0 * (RANDOM.random(600) > 0.5)])
    rough = RBF(gamma=1e4).on(0)
    narrow, wide, other = factors_of([rough, RBF(gamma=1.0).on(0), Laplacian().on(1)], X).parts
    assert narrow is None  # its rank is high
    assert wide.shape[1] < 40
    assert other.shape[1] == 2
    both = RBF(gamma=0.5)
    assert gaussian_column(both, both.encode(X)) is None
    scales = RBF(length_scale=[2.0])
    assert_allclose(gaussian_column(scales, scales.encode(X[:, :1])).rate, 1 / 8)


def test_one_kernel_without_a_factor_leaves_the_others_theirs():
    X = RANDOM.normal(size=(600, 3))
    found = factors_of([RBF(gamma=1.0).on(0), RBF(gamma=1e4).on(1), RBF(gamma=0.1).on(2)], X)
    assert found.stacked is None
    assert [part is None for part in found.parts] == [False, True, False]
    x = X[:, 2, None]
    assert_allclose(found.parts[2] @ found.parts[2].T, np.exp(-0.1 * (x - x.T) ** 2), atol=1e-9)


def test_named_columns_with_gaps_are_not_taken_for_numbers():
    frame = pd.DataFrame({"a": RANDOM.normal(size=150), "b": RANDOM.normal(size=150)})
    frame.loc[3, "b"] = np.nan
    kernels = [RBF(gamma=1.0).on("a"), RBF(gamma=1.0).on("b", missing="zero")]
    named, gappy = factors_of(kernels, frame).parts
    assert named is not None
    assert gappy is None


@pytest.mark.parametrize("method", ["alignment", "easymkl"])
def test_few_rows_are_held_as_factors_too(method):
    X = RANDOM.normal(size=(250, 3))
    kernels = [RBF(gamma=1.0).on(j) for j in range(3)]
    parts = factors_of(kernels, X).parts
    assert all(part.shape[1] < 40 for part in parts)
    found = learn_weights(kernels, X, X[:, 0] > 0.2, method)
    assert found.certificate.relative_gap < 1e-7
    assert found.shares.argmax() == 0


@pytest.mark.parametrize(("seed", "gamma"), [(0, 0.05), (1, 0.3)])
def test_nearest_points_of_many_rows_have_a_small_gap(seed, gamma):
    """Factors that left 1e-12 of the trace had 2e-7 and more."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(1500, 20))
    y = X[:, 0] + X[:, 1] + 0.5 * random.normal(size=1500) > 0
    kernels = [RBF(gamma=gamma).on(j) for j in range(20)]
    found = learn_weights(kernels, X, y, "easymkl", balance=0.0055, normalise=False)
    assert found.certificate.relative_gap < 3e-8
