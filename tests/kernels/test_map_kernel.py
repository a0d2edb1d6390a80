"""Kernels of the user's own feature maps."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures

from mercer import RBF, Gram, KernelRidge, Linear, MapKernel, check_kernel, save
from mercer.exceptions import CannotSave, InvalidInput, InvalidParameter, NumericalOverflow


def squares(x):
    return [x[0] ** 2, x[1] ** 2, np.sqrt(2) * x[0] * x[1]]


def many_squares(X):
    return np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, np.sqrt(2) * X[:, 0] * X[:, 1]])


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(12, 2))


@pytest.mark.parametrize(
    "kernel",
    [
        MapKernel(squares),
        MapKernel(many_squares, vectorized=True),
        MapKernel(lambda X: sparse.csr_matrix(many_squares(X)), vectorized=True),
    ],
)
def test_the_map_of_a_square_is_the_square_of_the_linear_kernel(X, kernel):
    # ⟨x, z⟩² = x₁²z₁² + 2x₁x₂z₁z₂ + x₂²z₂²
    np.testing.assert_allclose(kernel(X), (X @ X.T) ** 2, atol=1e-12)
    np.testing.assert_allclose(kernel(X[:3], X), (X[:3] @ X.T) ** 2, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), (X**2).sum(axis=1) ** 2)
    np.testing.assert_allclose(Gram(kernel, X).multiply(np.ones(12)), kernel(X).sum(axis=1))
    assert check_kernel(kernel, X)
    features = kernel.features(X)
    np.testing.assert_allclose(features.toarray(), many_squares(X))
    assert kernel(X.astype(np.float32)).dtype == np.float32


def test_algebra_and_columns(X):
    kernel = MapKernel(lambda x: x[0] ** 3).on(1) * RBF(gamma=0.3) + 2 * Linear()
    cubes = X[:, 1] ** 3
    expected = np.outer(cubes, cubes) * RBF(gamma=0.3)(X) + 2 * X @ X.T
    np.testing.assert_allclose(kernel(X), expected, atol=1e-12)
    features = (MapKernel(squares) + Linear()).features(X)
    np.testing.assert_allclose(features @ features.T, (X @ X.T) ** 2 + X @ X.T, atol=1e-12)


def test_objects_of_any_kind():
    words = ["kernel", "colonel", "machine"]
    kernel = MapKernel(lambda word: [word.count(letter) for letter in "elm"])
    np.testing.assert_array_equal(kernel(words), [[5, 4, 2], [4, 5, 1], [2, 1, 2]])


def test_ridge_on_it_is_ridge_of_scikit_learn_on_the_features(X):
    y = np.sin(X[:, 0]) * X[:, 1]
    phi = PolynomialFeatures(3, include_bias=False)
    theirs = Ridge(0.1, fit_intercept=False).fit(phi.fit_transform(X), y)
    ours = KernelRidge(alpha=0.1, kernel=MapKernel(phi.transform, vectorized=True)).fit(X, y)
    Z = X[::-1] + 0.1
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(phi.transform(Z)), atol=1e-8)


def test_parameters():
    kernel = MapKernel(squares)
    assert clone(kernel) == kernel == pickle.loads(pickle.dumps(kernel))
    assert repr(kernel) == "MapKernel(phi=squares)"
    with pytest.raises(InvalidParameter, match="phi=3 has to be a function"):
        MapKernel(3)


@pytest.mark.parametrize(
    ("phi", "vectorized", "words"),
    [
        (lambda x: [0.0] * (1 + int(x[0] > 1)), False, "1 coordinates for the first object and 2"),
        (lambda x: "text", False, "row 0 is no list of numbers"),
        (lambda x: [[1.0, 2.0]], False, "row 0 is no list of numbers"),
        (lambda x: [1.0, np.nan if x[0] > 1 else 1.0], False, "row 1 is not finite"),
        (lambda X: np.ones(2), True, "shape (2,) for 2 objects"),
        (lambda X: np.ones((3, 2)), True, "shape (3, 2) for 2 objects"),
        (lambda X: np.full((2, 2), 1j), True, "complex128"),
        (lambda X: sparse.csr_array([[1.0], [np.inf]]), True, "row 1 is not finite"),
    ],
)
def test_what_is_no_map(phi, vectorized, words):
    with pytest.raises(InvalidInput) as caught:
        MapKernel(phi, vectorized)([[0.0], [2.0]])
    assert words in str(caught.value)


def test_batches_of_different_dimensions_and_overflow():
    with pytest.raises(InvalidInput, match="1 coordinates for X and 2 for Y"):
        MapKernel(lambda x: x)([[1.0]], [[1.0, 2.0]])
    with pytest.raises(NumericalOverflow):
        MapKernel(lambda x: [1e300])([[1.0]])


def test_a_function_is_not_stored(X, tmp_path):
    machine = KernelRidge(alpha=0.1, kernel=MapKernel(squares)).fit(X, X[:, 0])
    with pytest.raises(CannotSave, match="cannot be saved"):
        save(machine, tmp_path / "model.mercer")
