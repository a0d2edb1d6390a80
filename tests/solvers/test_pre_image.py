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


def test_steps_are_measured_by_the_largest_number():
    def calls(scale, tol, most=300):
        asked = []

        def derivative(s):
            asked.append(len(s))
            return -np.exp(-s / scale**2)

        X = scale * np.array([[0.0], [0.5]])
        start = scale * np.array([[0.0]])
        G = np.array([[0.5, 0.5]])
        return len(asked), nearest_pre_images(derivative, X, G, start, tol, most)[0, 0], asked

    counts = []
    for tol in (1e-1, 1e-2, 1e-4):
        found = [calls(scale, tol) for scale in (1.0, 1024.0, 2.0**-10)]
        lengths = [len(asked) for _, _, asked in found]
        assert len(set(lengths)) == 1
        counts.append(lengths[0])
        for (_, at, _), scale in zip(found, (1.0, 1024.0, 2.0**-10), strict=True):
            assert abs(at / scale - 0.25) <= tol
    assert counts == sorted(set(counts))
    assert len(calls(1.0, 0.0, most=7)[2]) == 7
    assert calls(1.0, 1e-4, most=0)[1] == 0.0
