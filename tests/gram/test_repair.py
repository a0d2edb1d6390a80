"""Repairs of matrices that are not positive semi-definite."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer import RBF, Gram, Repair, Sigmoid, repair
from mercer.exceptions import InvalidInput, InvalidParameter
from tests.gram.cases import vectors

METHODS = ("clip", "flip", "shift")


def symmetric(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 12), seed=st.integers(0, 10**6), method=st.sampled_from(METHODS))
def test_the_result_is_positive_semi_definite(n, seed, method):
    K = symmetric(n, seed)
    result = repair(K, method)
    eigenvalues = np.linalg.eigvalsh(K)
    scale = np.abs(eigenvalues).max()
    expected = {
        "clip": np.maximum(eigenvalues, 0),
        "flip": np.abs(eigenvalues),
        "shift": eigenvalues + max(0, -eigenvalues[0]),
    }[method]
    found = np.linalg.eigvalsh(result.matrix)
    assert_allclose(found, np.sort(expected), atol=1e-12 * scale)
    assert found[0] >= -1e-12 * scale
    assert np.array_equal(result.matrix, result.matrix.T)
    assert result.smallest == pytest.approx(eigenvalues[0])
    change = np.linalg.norm(result.matrix - K) / np.linalg.norm(K)
    assert result.change == pytest.approx(change, abs=1e-12)
    assert result.method == method
    assert isinstance(result, Repair)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 10), seed=st.integers(0, 10**6), method=st.sampled_from(["clip", "flip"]))
def test_training_rows_become_the_repaired_rows(n, seed, method):
    K = symmetric(n, seed)
    result = repair(K, method)
    assert_allclose(result.apply(K), result.matrix, atol=1e-10)
    assert_allclose(result.apply(K[:1]), result.matrix[:1], atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 8), seed=st.integers(0, 10**6), step=st.floats(1e-3, 1))
def test_clip_is_the_nearest(n, seed, step):
    """No positive semi-definite matrix is nearer in the Frobenius norm, far away or close by."""
    K = symmetric(n, seed)
    best = repair(K, "clip").matrix
    distance = np.linalg.norm(best - K)
    random = np.random.default_rng(seed + 1)
    for _ in range(20):
        A = random.normal(size=(n, random.integers(1, n + 1)))
        P = A @ A.T * random.exponential()
        assert np.linalg.norm(P - K) >= distance - 1e-9
        # The set is convex: steps from the best towards any other lead away.
        assert np.linalg.norm((1 - step) * best + step * P - K) >= distance - 1e-9
    for method in ("flip", "shift"):
        assert np.linalg.norm(repair(K, method).matrix - K) >= distance - 1e-9


def test_sound_matrices_are_left_alone():
    K = RBF(gamma=0.4)(vectors(20))
    for method in METHODS:
        result = repair(K, method)
        assert_allclose(result.matrix, K, atol=1e-12)
        assert result.change < 1e-12
        assert_allclose(result.apply(K[:3]), K[:3], atol=1e-6)
    assert repair(np.zeros((3, 3))).change == 0


def test_a_sigmoid_kernel():
    train, new = vectors(40), vectors(7, seed=1)
    kernel = Sigmoid(0.8, -1.0)
    K, rows = Gram(kernel, train).dense(), kernel(new, train)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    clipped = repair(K, "clip")
    # New rows lie in the span of the positive eigenvectors, and projecting twice is once.
    fixed = clipped.apply(rows)
    assert_allclose(clipped.apply(fixed), fixed, atol=1e-10)
    eigenvalues, U = np.linalg.eigh(K)
    assert_allclose(fixed @ U[:, eigenvalues < 0], 0, atol=1e-10)
    assert_allclose(fixed @ U[:, eigenvalues > 0], rows @ U[:, eigenvalues > 0], atol=1e-10)
    flipped = repair(K, "flip").apply(rows)
    assert_allclose(flipped @ U[:, eigenvalues < 0], -rows @ U[:, eigenvalues < 0], atol=1e-10)
    # A shift concerns equal points only: rows of new ones stay.
    assert_allclose(repair(K, "shift").apply(rows), rows)
    assert "Repair by clip: smallest eigenvalue was -" in repr(clipped)
    assert "%" in repr(clipped)


def test_the_input_is_left_alone():
    K = symmetric(5, 0)
    before = K.copy()
    repair(K, "shift").matrix[...] = 0
    assert np.array_equal(K, before)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (np.ones(4), r"shape \(4,\)"),
        (np.zeros((0, 0)), r"shape \(0, 0\)"),
        (np.full((2, 2), np.nan), "finite"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
    ],
)
def test_wrong_matrices_are_refused(matrix, words):
    with pytest.raises(InvalidInput, match=words):
        repair(matrix)


def test_wrong_methods_and_rows_are_refused():
    with pytest.raises(InvalidParameter, match=r"'mend'.*'clip', 'flip' or 'shift'"):
        repair(np.eye(3), "mend")
    for rows in (np.ones(3), np.ones((2, 4))):
        for method in METHODS:
            with pytest.raises(InvalidInput, match="3 points"):
                repair(np.eye(3), method).apply(rows)


def test_how_symmetric_a_matrix_has_to_be():
    K = np.array([[1e6, 1.0], [1.0, 1e-3]])
    K[0, 1] += 0.9e-8 * 1e6
    assert repair(K).matrix.shape == (2, 2)
    K[0, 1] += 0.2e-8 * 1e6
    with pytest.raises(InvalidInput, match="not symmetric"):
        repair(K)
