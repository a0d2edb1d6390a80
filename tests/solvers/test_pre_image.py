"""Pre-images: images of points come back, and fixed points are stationary."""

import numpy as np

from mercer.solvers.pre_image import nearest_pre_images


def test_the_image_of_a_point_comes_back():
    X = np.random.default_rng(0).normal(size=(20, 2))
    G = np.eye(20)[[3]]
    found = nearest_pre_images(lambda s: -np.exp(-s), X, G, X[[3]] + 0.3, 1e-9, 300)
    np.testing.assert_allclose(found, X[[3]], atol=1e-7)


def test_the_mean_of_two_images_is_stationary():
    X = np.array([[0.0], [0.5]])
    found = nearest_pre_images(lambda s: -np.exp(-s), X, np.array([[0.5, 0.5]]), X[[0]], 1e-9, 300)
    np.testing.assert_allclose(found, [[0.25]], atol=1e-6)


def test_weights_that_cancel_leave_the_point_where_it_is():
    X = np.array([[-1.0], [1.0]])
    start = np.array([[0.0]])
    found = nearest_pre_images(lambda s: -np.exp(-s), X, np.array([[1.0, -1.0]]), start, 1e-9, 9)
    np.testing.assert_array_equal(found, [[0.0]])
