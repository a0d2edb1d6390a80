"""Eigenpairs by single vectors: right, or None where eigenvalues come several times."""

import numpy as np
import pytest

from mercer.linalg.lanczos import eigenpairs_by_vectors, leading_eigenpairs


def centred(X, gamma):
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def circle(n):
    t = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(t), np.sin(t), np.cos(3 * t), np.sin(3 * t)])


def clusters(n, count):
    base = np.random.default_rng(0).normal(size=(n // count, 2))
    return np.concatenate(
        [np.column_stack([base, np.tile(100.0 * row, (len(base), 1))]) for row in np.eye(count)]
    )


def grid(side):
    return np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)


CASES = {
    "circle": (circle(200), 2.0),
    "five clusters": (clusters(200, 5), 0.3),
    "eight clusters": (clusters(200, 8), 0.3),
    "grid": (grid(14), 0.1),
    "plain": (np.random.default_rng(1).normal(size=(200, 3)), 0.3),
    "corners": (10.0 * np.eye(150), 1.0),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [3, 6, 10, 15])
def test_no_copy_of_an_eigenvalue_is_missed(name, count):
    K = centred(*CASES[name])
    exact = np.linalg.eigvalsh(K)[::-1][:count]
    for seed in range(5):
        random = np.random.default_rng(seed)
        found = eigenpairs_by_vectors(lambda v: K @ v, len(K), count, random=random)
        if found is None:
            assert name != "plain"
            found = leading_eigenpairs(lambda V: K @ V, len(K), count, block=8)
        np.testing.assert_allclose(found.values, exact, atol=1e-9 * exact[0])
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-8)
        assert found.residuals.max() <= 1e-9 * exact[0]


def test_a_matrix_of_low_rank():
    B = np.random.default_rng(0).normal(size=(120, 3))
    K = B @ B.T
    exact = np.linalg.eigvalsh(K)[::-1][:5]
    found = eigenpairs_by_vectors(lambda v: K @ v, 120, 5, random=np.random.default_rng(0))
    if found is not None:
        np.testing.assert_allclose(found.values, exact, atol=1e-9 * exact[0])
