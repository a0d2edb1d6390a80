"""Ridge regression on landmarks against a dense factorisation, where rounding hurts too."""

import numpy as np
import pytest

from mercer import RBF
from mercer.gram.chunks import ArrayChunks
from mercer.gram.passes import LandmarkProducts
from mercer.gram.products import StreamedProducts
from mercer.problems.landmark_losses import LandmarkClasses, SquaredHinge
from mercer.solvers import landmark_newton, landmark_ridge
from mercer.solvers.landmark_basis import LandmarkBasis, worthwhile_share


def _problem(gamma, constant, rows=1500, count=60, weights=None, targets=1):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 3))
    Y = np.sin(X @ random.standard_normal((3, targets))) + 0.1 * random.standard_normal(
        (rows, targets)
    )
    kernel = RBF(gamma=gamma)
    points = kernel.encode(X[:count])
    basis = LandmarkBasis(kernel(points), constant)
    kept = points.take(basis.kept)
    products = StreamedProducts(kernel, kept, ArrayChunks(X, Y, weights, 400), constant)
    return X, Y, kernel, kept, basis, products


def _naive(X, Y, kernel, kept, alpha, constant, weights=None):
    """Least squares on a stacked matrix, which squares no condition number."""
    K = kernel(kept)
    values, vectors = np.linalg.eigh(K)
    half = (vectors * np.sqrt(np.maximum(values, 0))).T
    root = np.ones(len(X)) if weights is None else np.sqrt(weights)
    Phi, P = kernel(X, kept), np.sqrt(alpha) * half
    if constant:
        Phi = np.column_stack([Phi, np.ones(len(X))])
        P = np.column_stack([P, np.zeros(len(P))])
    A = np.vstack([root[:, None] * Phi, P])
    B = np.vstack([root[:, None] * Y, np.zeros((len(P), Y.shape[1]))])
    return Phi @ np.linalg.lstsq(A, B)[0]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(
    ("gamma", "alpha"), [(0.5, 1e-1), (0.5, 1e-5), (0.01, 1e-3), (0.001, 1e-4), (5.0, 10.0)]
)
def test_the_answer_is_that_of_a_dense_solver(gamma, alpha, constant):
    X, Y, kernel, kept, basis, products = _problem(gamma, constant, targets=2)
    found = landmark_ridge.solve(products, basis, 2, alpha, tol=1e-8)
    values = kernel(X, kept) @ found.coefficients + found.constants
    expected = _naive(X, Y, kernel, kept, alpha, constant)
    assert found.certificate.status == "optimal"
    assert np.abs(values - expected).max() < 1e-6
    assert found.certificate.relative_gap < 1e-6


def test_weights_are_repetitions():
    weights = np.random.default_rng(3).integers(0, 4, 1500).astype(float)
    X, Y, kernel, kept, basis, products = _problem(0.3, True, weights=weights)
    found = landmark_ridge.solve(products, basis, 1, 0.1, tol=1e-10)
    expected = _naive(X, Y, kernel, kept, 0.1, True, weights)
    assert np.allclose(kernel(X, kept) @ found.coefficients + found.constants, expected, atol=1e-8)


def test_landmarks_that_others_span_are_left_away():
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 2)), 3, axis=0)
    basis = LandmarkBasis(RBF(gamma=1.0)(X), False)
    assert len(basis.kept) == 20
    assert len(np.unique(X[basis.kept], axis=0)) == 20


class Interrupted(LandmarkProducts):
    """Presses Ctrl-C in the third pass."""

    def __init__(self, products):
        self._products, self.passes = products, 0
        self.rows, self.columns, self.constant = products.rows, products.columns, products.constant

    def sweep(self, V, rule, precise=False, whitener=None):
        self.passes += 1
        if self.passes == 3:
            raise KeyboardInterrupt
        return self._products.sweep(V, rule, precise, whitener)

    def square(self, V, weighting, R, share=1.0, precise=False):
        # Few rows make a poor preconditioner, so that there are passes to interrupt.
        return self._products.square(V, weighting, R, 0.05, precise)


def test_an_interrupted_fit_gives_its_best_answer_with_the_gap():
    X, Y, kernel, kept, basis, products = _problem(0.3, False)
    found = landmark_ridge.solve(Interrupted(products), basis, 1, 1e-3, tol=1e-10)
    proof = found.certificate
    assert proof.status == "interrupted"
    f = kernel(X, kept) @ found.coefficients
    norm = (found.coefficients.T @ kernel(kept) @ found.coefficients).item()
    assert proof.primal == pytest.approx(0.5 * ((Y - f) ** 2).sum() + 0.5e-3 * norm, rel=1e-9)
    best = _naive(X, Y, kernel, kept, 1e-3, False)
    assert proof.dual <= 0.5 * ((Y - best) ** 2).sum() + 0.5e-3 * norm + 1e-6
    assert proof.gap > 1e-4


def test_limits_end_it():
    *_, basis, products = _problem(0.3, False)
    slow = Interrupted(products)
    slow.passes = 10
    assert landmark_ridge.solve(slow, basis, 1, 1e-3, 1e-12, 2).certificate.status == "max_iter"
    early = landmark_ridge.solve(slow, basis, 1, 1e-3, 1e-12, ends=0.0).certificate
    assert early.status == "time_limit"
    told = landmark_ridge.solve(slow, basis, 1, 1e-3, 1e-12, monitor=lambda error: True)
    assert told.certificate.status == "interrupted"


def test_the_share_of_rows_that_is_squared():
    assert worthwhile_share(1_000, 100, 1e-6) == 1.0
    large = worthwhile_share(10**7, 1_000, 1e-6)
    assert 0.001 < large < 0.1


class Counted(LandmarkProducts):
    """Notes which sweeps ask what the landmarks do not see."""

    def __init__(self, products):
        self._products, self.asked = products, []
        self.rows, self.columns, self.constant = products.rows, products.columns, products.constant

    def sweep(self, V, rule, precise=False, whitener=None):
        self.asked.append(whitener is not None)
        return self._products.sweep(V, rule, precise, whitener)

    def square(self, V, weighting, R, share=1.0, precise=False):
        return self._products.square(V, weighting, R, 0.2, precise)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_what_landmarks_do_not_see_is_asked_in_the_last_pass_of_all(tol):
    *_, basis, products = _problem(0.3, True)
    counted = Counted(products)
    landmark_ridge.solve(counted, basis, 1, 1.0, tol)
    assert counted.asked[-1]
    assert sum(counted.asked) <= 2 < len(counted.asked)
    problem = LandmarkClasses(SquaredHinge(2), 1.0, True)
    labels = (products.chunks.y[:, 0] > 0).astype(int)
    chunks = ArrayChunks(products.chunks.X, labels)
    counted = Counted(StreamedProducts(products.kernel, products.landmarks, chunks, True))
    landmark_newton.solve(counted, basis, problem, tol)
    assert counted.asked[-1]
    assert sum(counted.asked) <= 3 < len(counted.asked)
