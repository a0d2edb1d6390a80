"""Widths that are settled on data: what they are, on which points, and that nothing is kept."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from mercer import RBF, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid
from mercer.exceptions import InvalidParameter
from mercer.kernels.evaluation import Pairs
from tests.kernels.cases import close
from tests.oracles.strategies import tables

HEURISTIC = [
    RBF(),
    RBF("scale"),
    RBF("median"),
    RBF(sigma="median"),
    RBF(length_scale="scale"),
    Laplacian(),
    Laplacian("median"),
    Matern(nu=1.5),
    Matern(nu=0.9, sigma="median"),
    RationalQuadratic(alpha=0.7, gamma="median"),
    Polynomial(2, "scale"),
    Sigmoid("scale", 0.1),
]


def settled(kernel, X):
    return kernel.resolve(kernel.encode(X))


def test_scale_is_scikit_learns(X):
    y = np.arange(len(X)) % 2
    gamma = SVC(gamma="scale").fit(X, y)._gamma
    assert gamma == pytest.approx(1 / (X.shape[1] * X.var()))
    for kernel in (RBF(), RBF("scale"), Polynomial(2, "scale"), Sigmoid("scale")):
        assert settled(kernel, X).gamma == pytest.approx(gamma, rel=1e-12)
    close(RBF()(X), rbf_kernel(X, gamma=gamma))
    assert settled(RBF(sigma="scale"), X).sigma == pytest.approx((2 * gamma) ** -0.5)
    assert settled(Matern(nu=1.5), X).gamma == pytest.approx(gamma)
    assert settled(Laplacian(length_scale="scale"), X).length_scale == pytest.approx(3 * X.std())


def test_median_is_the_median_distance(X):
    distinct = np.delete(X, 4, axis=0)
    euclidean, manhattan = (np.median(pdist(distinct, d)) for d in ("euclidean", "cityblock"))
    assert settled(RBF(length_scale="median"), distinct).length_scale == pytest.approx(euclidean)
    assert settled(RBF("median"), distinct).gamma == pytest.approx(1 / (2 * euclidean**2))
    assert settled(Matern(nu=2.5, sigma="median"), distinct).sigma == pytest.approx(euclidean)
    assert settled(Laplacian("median"), distinct).gamma == pytest.approx(1 / manhattan)
    # Equal rows do not count.
    distances = pdist(X)
    expected = np.median(distances[distances > 0])
    assert settled(RBF(sigma="median"), X).sigma == pytest.approx(expected)


def test_median_of_many_rows_looks_at_some():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    found = settled(RBF(sigma="median"), X).sigma
    assert found == pytest.approx(np.median(pdist(X[::4])), rel=0.03)


@pytest.mark.parametrize("kernel", HEURISTIC, ids=repr)
def test_sparse_data_give_the_same_width(kernel, X):
    dense, thin = (settled(kernel, form(X)).get_params() for form in (np.asarray, sparse.csr_array))
    assert dense == pytest.approx(thin)


@pytest.mark.parametrize("kernel", HEURISTIC, ids=repr)
def test_nothing_is_stored_on_the_users_kernel(kernel, X, Z):
    before, text = kernel.get_params(), repr(kernel)
    state = dict(vars(kernel))
    for call in (kernel, kernel.diag):
        call(X)
    kernel(X, Z)
    list(kernel.gradients(X))
    found = settled(kernel, X)
    assert found != kernel
    assert kernel.get_params() == before
    assert vars(kernel) == state
    assert repr(kernel) == text
    assert settled(found, Z) is found, "a settled kernel stays as it is"


@pytest.mark.parametrize("kernel", HEURISTIC, ids=repr)
def test_settled_on_training_points_not_on_test_points(kernel, X, Z):
    close(kernel(Z, X), settled(kernel, X)(Z, X))
    wide = 10 * np.asarray(Z)
    close(kernel(wide, X), settled(kernel, X)(wide, X))
    assert not np.allclose(kernel(wide, X), settled(kernel, wide)(wide, X))


def test_nested_in_composites_and_on_columns(X, Z):
    inner = RBF().on(0, 2) * Laplacian("median").on(1) + 2 * Polynomial(2, "scale")
    kernel = (inner**2).normalized()
    left = settled(RBF(), X[:, [0, 2]]).on(0, 2) * settled(Laplacian("median"), X[:, [1]]).on(1)
    expected = ((left + 2 * settled(Polynomial(2, "scale"), X)) ** 2).normalized()
    found = settled(kernel, X)
    assert found == expected
    close(kernel(Z, X), expected(Z, X))
    assert kernel == (inner**2).normalized()
    assert kernel.kernel.kernel.left.left.kernel.gamma is None


def test_what_needs_no_data_is_not_copied(X):
    kernel = RBF(gamma=0.5) + Linear()
    assert settled(kernel, X) is kernel


@pytest.mark.parametrize("kernel", HEURISTIC, ids=repr)
def test_constant_data_give_finite_widths(kernel):
    K = kernel(np.ones((4, 2)))
    assert np.isfinite(K).all()
    assert np.isfinite(kernel(np.ones((1, 2)))).all()


@pytest.mark.parametrize("kernel", HEURISTIC, ids=repr)
def test_unsettled_kernels_say_so(kernel, X):
    values = Pairs(kernel.encode(X)).row_diagonal()
    with pytest.raises(InvalidParameter, match=r"settled.*kernel\.resolve\(points\)"):
        kernel.evaluate(values)


@given(tables((2, 7)), st.floats(0.5, 4.0), st.floats(-5.0, 5.0))
def test_scaling_and_moving_the_data_changes_nothing(X, factor, shift):
    for kernel in (RBF(), RBF("median"), Laplacian(), Laplacian("median")):
        # The variance of all entries: moving all columns alike keeps it.
        if X.var() > 1e-4:
            close(kernel(factor * X + shift), kernel(X), 1e-6)


def test_float32_widths(X):
    single = settled(RBF(), X.astype(np.float32)).gamma
    assert isinstance(single, float)
    assert single == pytest.approx(settled(RBF(), X).gamma, rel=1e-5)
