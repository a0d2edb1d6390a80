"""Ridge regression on landmarks against a dense factorisation, where rounding hurts too."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import RBF
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.chunks import ArrayChunks
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.landmarks.passes import Passes
from mercer.problems.landmark_losses import LandmarkClasses, SquaredHinge
from mercer.problems.landmark_squares import LandmarkRidge
from mercer.solvers.base import Budget
from mercer.solvers.landmarks.landmark_newton import LandmarkNewton
from mercer.solvers.landmarks.landmark_preconditioner import worthwhile_share
from mercer.solvers.landmarks.landmark_ridge import LandmarkConjugateGradients, normal_matrix


def _problem(gamma, constant, rows=1500, count=60, weights=None, targets=1):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 3))
    Y = np.sin(X @ random.standard_normal((3, targets))) + 0.1 * random.standard_normal(
        (rows, targets)
    )
    kernel = RBF(gamma=gamma)
    basis = LandmarkBasis.for_passes(kernel, kernel.encode(X[:count]))
    passes = BlockPasses(kernel, basis.points, ArrayChunks(X, Y, weights, 400), constant)
    return X, Y, kernel, basis.points, basis, passes


def _solve(passes, basis, targets, alpha, tol=1e-6, max_iter=500, **limits):
    gram = LandmarkGram(basis, passes)
    problem = LandmarkRidge(alpha, passes.constant, targets)
    budget = Budget(tol=tol, max_iter=max_iter, **limits)
    found = LandmarkConjugateGradients().solve(problem, gram, budget)
    return found.value.coefficients(gram), found.value.constants, found.certificate


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
    X, Y, kernel, kept, basis, passes = _problem(gamma, constant, targets=2)
    coefficients, constants, proof = _solve(passes, basis, 2, alpha, tol=1e-8)
    values = kernel(X, kept) @ coefficients + constants
    expected = _naive(X, Y, kernel, kept, alpha, constant)
    assert proof.status == "optimal"
    assert np.abs(values - expected).max() < 1e-6
    assert proof.relative_gap < 1e-6


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("gamma", "alpha"), [(0.5, 1e-1), (0.01, 1e-3), (5.0, 10.0)])
def test_steps_lead_where_the_factor_does(gamma, alpha, constant):
    X, Y, kernel, kept, basis, passes = _problem(gamma, constant, targets=2)
    expected = _naive(X, Y, kernel, kept, alpha, constant)
    problem, budget = LandmarkRidge(alpha, constant, 2), Budget(tol=1e-8, max_iter=500)
    in_pieces = LandmarkGram(basis, passes)
    held = LandmarkGram.of(basis, kernel.encode(X), Y, None, constant, hold=1 << 30)
    by_steps = LandmarkConjugateGradients(normal_matrix(in_pieces, alpha, 1e-8))
    for method, gram in [
        (by_steps, in_pieces),
        (LandmarkConjugateGradients(), in_pieces),
        (LandmarkConjugateGradients(), held),
    ]:
        found = method.solve(problem, gram, budget)
        values = kernel(X, kept) @ found.value.coefficients(gram) + found.value.constants
        assert found.certificate.status == "optimal"
        assert np.abs(values - expected).max() < 1e-6
        judged = problem.certify(replace(found.value, sums=None), in_pieces)
        assert found.certificate.primal == pytest.approx(judged.primal, rel=1e-9)
        assert found.certificate.dual == pytest.approx(judged.dual, rel=1e-9)
        assert found.certificate.approximation_cost == pytest.approx(judged.approximation_cost)


def test_weights_are_repetitions():
    weights = np.random.default_rng(3).integers(0, 4, 1500).astype(float)
    X, Y, kernel, kept, basis, passes = _problem(0.3, True, weights=weights)
    coefficients, constants, _ = _solve(passes, basis, 1, 0.1, tol=1e-10)
    expected = _naive(X, Y, kernel, kept, 0.1, True, weights)
    assert np.allclose(kernel(X, kept) @ coefficients + constants, expected, atol=1e-8)


def test_landmarks_that_others_span_are_left_away():
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 2)), 3, axis=0)
    kernel = RBF(gamma=1.0)
    basis = LandmarkBasis.for_passes(kernel, kernel.encode(X))
    assert len(basis.kept) == 20
    assert len(np.unique(X[basis.kept], axis=0)) == 20


class Interrupted(Passes):
    """Presses Ctrl-C in the third pass."""

    def __init__(self, passes):
        self._passes, self.count = passes, 0
        self.rows, self.columns, self.constant = passes.rows, passes.columns, passes.constant

    def sums(self, V, rule, precise=False, whitener=None):
        self.count += 1
        if self.count == 3:
            raise KeyboardInterrupt
        return self._passes.sums(V, rule, precise, whitener)

    def square(self, V, weighting, R, share=1.0, precise=False):
        # Few rows make a poor preconditioner, so that there are passes to interrupt.
        return self._passes.square(V, weighting, R, 0.05, precise)


def test_an_interrupted_fit_gives_its_best_answer_with_the_gap():
    X, Y, kernel, kept, basis, passes = _problem(0.3, False)
    coefficients, _, proof = _solve(Interrupted(passes), basis, 1, 1e-3, tol=1e-10)
    assert proof.status == "interrupted"
    f = kernel(X, kept) @ coefficients
    norm = (coefficients.T @ kernel(kept) @ coefficients).item()
    assert proof.primal == pytest.approx(0.5 * ((Y - f) ** 2).sum() + 0.5e-3 * norm, rel=1e-9)
    best = _naive(X, Y, kernel, kept, 1e-3, False)
    assert proof.dual <= 0.5 * ((Y - best) ** 2).sum() + 0.5e-3 * norm + 1e-6
    assert proof.gap > 1e-4


def test_limits_end_it():
    *_, basis, passes = _problem(0.3, False)
    slow = Interrupted(passes)
    slow.count = 10
    assert _solve(slow, basis, 1, 1e-3, 1e-12, 2)[2].status == "max_iter"
    assert _solve(slow, basis, 1, 1e-3, 1e-12, deadline=0.0)[2].status == "time_limit"
    stopped = _solve(slow, basis, 1, 1e-3, 1e-12, monitor=lambda error: True)[2]
    assert stopped.status == "interrupted"


def test_the_share_of_rows_that_is_squared():
    assert worthwhile_share(1_000, 100, 1e-6) == 1.0
    large = worthwhile_share(10**7, 1_000, 1e-6)
    assert 0.001 < large < 0.1


class Counted(Passes):
    """Notes which passes ask what the landmarks do not see."""

    def __init__(self, passes):
        self._passes, self.asked = passes, []
        self.rows, self.columns, self.constant = passes.rows, passes.columns, passes.constant

    def sums(self, V, rule, precise=False, whitener=None):
        self.asked.append(whitener is not None)
        return self._passes.sums(V, rule, precise, whitener)

    def square(self, V, weighting, R, share=1.0, precise=False):
        return self._passes.square(V, weighting, R, 0.2, precise)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_what_landmarks_do_not_see_is_asked_in_the_last_pass_of_all(tol):
    *_, basis, passes = _problem(0.3, True)
    counted = Counted(passes)
    _solve(counted, basis, 1, 1.0, tol)
    assert counted.asked[-1]
    assert sum(counted.asked) <= 2 < len(counted.asked)
    problem = LandmarkClasses(SquaredHinge(2), 1.0, True)
    labels = (passes.chunks.y[:, 0] > 0).astype(int)
    chunks = ArrayChunks(passes.chunks.X, labels)
    counted = Counted(BlockPasses(passes.kernel, passes.landmarks, chunks, True))
    LandmarkNewton().solve(problem, LandmarkGram(basis, counted), Budget(tol, 500))
    assert counted.asked[-1]
    assert sum(counted.asked) <= 3 < len(counted.asked)
