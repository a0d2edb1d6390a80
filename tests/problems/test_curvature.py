"""Proofs and refutations of definiteness, against eigenvalues."""

import numpy as np
import pytest

from mercer.problems.curvature import EPSILON, dense_curvature, searched_curvature


def matrix(values, rng):
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    K = Q @ np.diag(values) @ Q.T
    return (K + K.T) / 2


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_verdicts_follow_the_least_eigenvalue(scale):
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = scale * rng.uniform(0, 1, 25)
        sound = dense_curvature(matrix(values, rng))
        assert sound.verdict == "proven"
        assert 0 < sound.shift <= 1e-11 * scale
        values[0] = 0.0  # singular, so rounding may have made it negative
        assert dense_curvature(matrix(values, rng)).verdict == "proven"
        values[0] = -1e-9 * scale
        assert dense_curvature(matrix(values, rng)).verdict == "refuted"


def test_a_shift_covers_what_rounding_hides():
    K = np.diag([1.0, 1.0, -2 * EPSILON])
    found = dense_curvature(K)
    assert found.verdict == "proven"
    assert found.shift >= 2 * EPSILON


def test_groups_whose_sums_are_fixed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    K = -((X[:, None] - X[None]) ** 2).sum(axis=2)  # definite for sums of 0
    groups = (np.arange(30) % 2).astype(int)
    assert dense_curvature(K).verdict == "refuted"
    assert dense_curvature(K, np.zeros(30, int)).verdict == "proven"
    assert dense_curvature(K, groups).verdict == "proven"
    between = np.where(groups[:, None] == groups, 1.0, -3.0)  # negative between groups alone
    mixed = np.eye(30) + between
    assert dense_curvature(-mixed + 2 * np.eye(30), groups).verdict == "proven"
    assert dense_curvature(-K, groups).verdict == "refuted"


def test_zeros_and_numbers_that_are_none():
    assert dense_curvature(np.zeros((4, 4))).verdict == "proven"
    assert dense_curvature(np.full((3, 3), np.nan)).verdict == "open"
    assert dense_curvature(np.full((3, 3), np.inf)).verdict == "open"


@pytest.mark.parametrize("largest", [2.0**-10, 1.0, 2.0**10])
@pytest.mark.parametrize("n", [3, 8, 40])
def test_a_search_refutes_beyond_what_rounding_makes_of_zero(n, largest):
    """A direction below −n²ε max∣K∣ cannot be rounding of one that is 0."""
    least = n * n * EPSILON * largest
    for share, verdict in ((0.99, "open"), (1.01, "refuted")):
        found = searched_curvature(lambda V, s=share * least: -s * V, n, largest)
        assert found.verdict == verdict


def test_a_search_can_only_refute():
    rng = np.random.default_rng(0)
    values = rng.uniform(0, 1, 80)
    sound = matrix(values, rng)
    assert searched_curvature(lambda V: sound @ V, 80, 1.0).verdict == "open"
    values[0] = -0.3
    broken = matrix(values, rng)
    assert searched_curvature(lambda V: broken @ V, 80, 1.0).verdict == "refuted"
    X = rng.standard_normal((80, 2))
    K = -((X[:, None] - X[None]) ** 2).sum(axis=2)
    largest = float(np.abs(K).max())
    assert searched_curvature(lambda V: K @ V, 80, largest).verdict == "refuted"
    assert searched_curvature(lambda V: K @ V, 80, largest, np.zeros(80, int)).verdict == "open"
