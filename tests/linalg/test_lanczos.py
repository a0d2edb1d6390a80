"""Block Lanczos against LAPACK on matrices with hard spectra."""

import numpy as np
import pytest

from mercer.linalg.lanczos import leading_eigenpairs, randomised_range


def _matrix(values, seed=0):
    random = np.random.default_rng(seed)
    Q = np.linalg.qr(random.standard_normal((len(values), len(values))))[0]
    return Q * values @ Q.T


SPECTRA = {
    "decaying": 0.8 ** np.arange(150),
    "flat": np.linspace(1, 2, 300),
    "cluster of ten": np.r_[np.full(10, 5.0), 0.5 ** np.arange(190)],
    "indefinite": np.linspace(-3, 2, 200),
    "rank three": np.r_[3.0, 2.0, 1.0, np.zeros(97)],
    "zero": np.zeros(40),
    "one": np.array([7.0]),
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("count", [1, 4, 20])
def test_values_and_vectors_are_lapacks(name, count):
    A = _matrix(SPECTRA[name])
    count = min(count, len(A))
    pairs = leading_eigenpairs(lambda V: A @ V, len(A), count)
    expected = np.linalg.eigvalsh(A)[::-1][:count]
    scale = max(1e-300, np.abs(SPECTRA[name]).max())
    assert pairs.converged
    np.testing.assert_allclose(pairs.values, expected, atol=1e-10 * scale)
    V = pairs.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(count), atol=1e-10)
    residuals = np.linalg.norm(A @ V - V * pairs.values, axis=0)
    assert residuals.max() <= 1e-10 * scale
    np.testing.assert_allclose(pairs.residuals, residuals, atol=1e-12 * scale)


def test_a_loose_tolerance_needs_fewer_products_and_keeps_its_word():
    A = _matrix(np.linspace(1, 2, 300))
    loose = leading_eigenpairs(lambda V: A @ V, 300, 3, tol=1e-3)
    tight = leading_eigenpairs(lambda V: A @ V, 300, 3)
    assert loose.products < tight.products
    assert loose.residuals.max() <= 1e-3 * 2


def test_it_says_when_products_ran_out():
    A = _matrix(np.linspace(1, 2, 1000))
    pairs = leading_eigenpairs(lambda V: A @ V, 1000, 3, max_products=2)
    assert pairs.products == 2
    assert not pairs.converged


def test_randomised_range_holds_a_matrix_of_low_rank():
    random = np.random.default_rng(1)
    A = random.standard_normal((80, 5)) @ random.standard_normal((5, 60))
    start = random.standard_normal((60, 8))
    Q = randomised_range(lambda V: A @ V, lambda V: A.T @ V, start, 2)
    np.testing.assert_allclose(Q @ (Q.T @ A), A, atol=1e-10)
