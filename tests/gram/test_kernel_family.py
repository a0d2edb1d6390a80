"""Matrices as a function of parameters: few points in one block, many in tiles, both as defined."""

import numpy as np
import pytest

from mercer import RBF, Constant, Gram, Linear, Matern, Periodic, White
from mercer.exceptions import NotEnoughMemory, NumericalOverflow
from mercer.gram.kernel_family import SMALL, KernelFamily
from mercer.kernels.vectors.dot import Polynomial

KERNELS = [
    RBF(length_scale=1.5) + White(0.1),
    2.0 * RBF(length_scale=[1.0, 2.0, 0.5]) + White(0.1),
    Matern(nu=2.5, length_scale=[1.0, 2.0, 3.0]) * Periodic(1.5, 0.7) + 0.3 * Linear(),
    (RBF(gamma=0.5) + 0.5 * Linear()).normalized(),
    Constant(2.0) * RBF(gamma=0.7)
    + 0.5 * (Matern(nu=1.5, length_scale=[1.0, 2.0, 3.0]) + White(0.2))
    + 0.3,
    Matern(nu=0.5, sigma=2.0) * Constant(1.5) + 2.0 * White(0.1),
]


def family_of(kernel, n, dtype=np.float64):
    X = np.random.default_rng(1).uniform(-1, 1, (n, 3)).astype(dtype)
    return KernelFamily(kernel, kernel.encode(X), list(kernel.free_parameters())), X


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("n", [40, SMALL + 88])
def test_matrices_and_sums_are_those_of_the_kernel(kernel, n):
    family, X = family_of(kernel, n)
    random = np.random.default_rng(0)
    M = random.standard_normal((n, n))
    M, V = M + M.T, random.standard_normal((n, 2))
    start = np.log(list(kernel.free_parameters().values()))
    # Back and forth: nothing that is kept may belong to another θ.
    for theta in (start, start + 0.3, start - 0.2, start):
        changed = kernel.with_parameters(dict(zip(family.names, np.exp(theta), strict=True)))
        K = family.matrix(theta)
        np.testing.assert_allclose(K, changed(X), rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(K, K.T)
        K[...] = 0  # belongs to the caller
        gradients = [D for _, D in changed.gradients(X)]
        sums, products = family.contract(theta, lambda i, j: M[i, j], V)
        for j, D in enumerate(gradients):
            assert sums[j] == pytest.approx((M * D).sum(), rel=1e-8, abs=1e-8)
            np.testing.assert_allclose(products[j], D @ V, rtol=1e-8, atol=1e-8)


def test_single_precision_is_widened():
    kernel = RBF(length_scale=1.5)
    family, X = family_of(kernel, 30, np.float32)
    K = family.matrix(np.log([1.5]))
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, Gram(kernel, X, dtype=np.float64).dense(), rtol=1e-12)


def test_scales_multiply_the_logarithms():
    kernel = 2.0 * RBF(length_scale=1.5)
    plain, _ = family_of(kernel, 30)
    scaled = KernelFamily(kernel, plain.points, plain.names, np.array([2.0, 1.0]))
    theta = np.array([0.2, -0.1])
    np.testing.assert_allclose(scaled.matrix(theta), plain.matrix(theta * [2.0, 1.0]))
    ones = np.ones((30, 30))
    sums, _ = scaled.contract(theta, lambda i, j: ones[i, j])
    wanted, _ = plain.contract(theta * [2.0, 1.0], lambda i, j: ones[i, j])
    np.testing.assert_allclose(sums, wanted * [2.0, 1.0])
    some = np.array([1, 5, 7])
    np.testing.assert_allclose(
        scaled.take(some).matrix(theta), scaled.matrix(theta)[np.ix_(some, some)]
    )


def test_values_that_overflow_are_named():
    kernel = 1.0 * Polynomial(200)
    family = KernelFamily(kernel, kernel.encode(np.full((3, 1), 1e9)), [])
    with pytest.raises(NumericalOverflow, match="row 0"):
        family.matrix(np.zeros(0))


def test_parameters_that_are_not_learnt_keep_their_values():
    kernel = 2.0 * RBF(length_scale=[1.0, 2.0, 0.5]) + White(0.1)
    whole, X = family_of(kernel, 30)
    names = ["right__noise", "left__kernel__length_scale[1]"]
    family = KernelFamily(kernel, whole.points, names)
    theta = np.log([0.3, 1.1])
    changed = kernel.with_parameters(dict(zip(names, np.exp(theta), strict=True)))
    np.testing.assert_allclose(family.matrix(theta), changed(X), rtol=1e-12)
    ones = np.ones((30, 30))
    sums, _ = family.contract(theta, lambda i, j: ones[i, j])
    gradients = dict(changed.gradients(X))
    np.testing.assert_allclose(sums, [gradients[name].sum() for name in names], rtol=1e-12)


def test_rows_that_are_the_same_object_share_their_noise():
    kernel = RBF(length_scale=1.0) + White(0.5)
    family, _ = family_of(kernel, 10)
    twice = family.take(np.array([0, 0, 1]))
    K = twice.matrix(np.log([1.0, 0.5]))
    assert K[0, 1] == pytest.approx(1.5)


def test_threads_share_the_columns_of_many_rows(monkeypatch):
    random = np.random.default_rng(3)
    kernel = 2.0 * RBF(length_scale=[1.0, 0.5, 2.0]) + White(0.1)
    points = kernel.encode(random.normal(size=(520, 3)))
    M, V = random.normal(size=(520, 520)), random.normal(size=(520, 1))
    M += M.T
    names = list(kernel.free_parameters())
    theta = np.log(list(kernel.free_parameters().values()))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        family = KernelFamily(kernel, points, names)
        found.append(family.contract(theta, lambda i, j: M[i, j], V))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_memory_for_three_matrices(monkeypatch):
    kernel = RBF(length_scale=1.5)
    for spare, fits in ((0, True), (-1, False)):
        there = 3 * 8 * 30**2 + spare
        monkeypatch.setattr("mercer._memory.available_bytes", lambda there=there: there)
        if fits:
            family_of(kernel, 30)
        else:
            with pytest.raises(NotEnoughMemory, match="30 rows"):
                family_of(kernel, 30)


@pytest.mark.parametrize("kernel", KERNELS[2:4], ids=str)
def test_kernels_are_made_once_for_each_theta(kernel):
    family, _ = family_of(kernel, 20)
    theta = np.log(list(kernel.free_parameters().values()))
    first = family.at(theta)
    assert family.at(theta.copy()) is first
    assert family.at(theta + 0.1) is not first
    assert family.at(theta) == first


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sums_without_products(kernel):
    family, _ = family_of(kernel, 20)
    theta = np.log(list(kernel.free_parameters().values()))
    M = np.eye(20)
    sums, products = family.contract(theta, lambda i, j: M[i, j])
    both, _ = family.contract(theta, lambda i, j: M[i, j], np.ones((20, 1)))
    np.testing.assert_allclose(sums, both)
    assert products.shape == (len(theta), 20, 0)
