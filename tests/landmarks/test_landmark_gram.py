"""The Gram matrix on landmarks against the formula, in memory and in pieces."""

import numpy as np
import pytest

from mercer import RBF, InvalidInput, InvalidParameter, Nystrom, Spectrum
from mercer.gram.computed import Gram
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.checkpoint import CheckpointedPasses
from mercer.landmarks.chunks import ArrayChunks
from mercer.landmarks.landmark_gram import LandmarkGram, approximate
from mercer.problems.landmark_losses import LandmarkClasses, Logistic
from mercer.problems.landmark_squares import LandmarkRidge
from mercer.solvers.base import Budget
from mercer.solvers.landmarks.landmark_newton import LandmarkNewton
from mercer.solvers.landmarks.landmark_ridge import LandmarkConjugateGradients, solve_targets

KERNEL = RBF(gamma=0.3)


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((120, 3))
    return X, np.sin(X[:, :1]) + 0.1 * random.standard_normal((120, 1))


def _grams(X, y=None, constant=False, path=None):
    """The same matrix in memory and in pieces."""
    basis = LandmarkBasis.for_passes(KERNEL, KERNEL.encode(X[:15]))
    here = LandmarkGram.of(basis, KERNEL.encode(X), y, None, constant)
    passes = BlockPasses(KERNEL, basis.points, ArrayChunks(X, y, None, 32), constant)
    if path is not None:
        passes = CheckpointedPasses(passes, path, {"rows": len(X)})
    return here, LandmarkGram(basis, passes)


@pytest.mark.parametrize("number", [0, 1], ids=["memory", "pieces"])
def test_it_is_the_formula(data, number):
    X, _ = data
    gram = _grams(X)[number]
    K = KERNEL(X, X[:15]) @ np.linalg.solve(KERNEL(X[:15]), KERNEL(X[:15], X))
    V = np.random.default_rng(1).standard_normal((120, 2))
    assert gram.shape == (120, 120)
    assert gram.symmetric
    np.testing.assert_allclose(gram.multiply(V), K @ V, atol=1e-11)
    np.testing.assert_allclose(gram.dense(), K, atol=1e-12)
    np.testing.assert_allclose(gram.diag(), np.diagonal(K), atol=1e-12)
    np.testing.assert_allclose(gram.rows([3, 5]), K[[3, 5]], atol=1e-12)
    np.testing.assert_allclose(gram.take([7, 2, 9]).dense(), K[np.ix_([7, 2, 9], [7, 2, 9])])
    np.testing.assert_allclose(gram.features() @ gram.features().T, K, atol=1e-12)
    assert gram.in_precision(np.float64) is gram
    assert gram.landmarks() is gram
    assert Gram(KERNEL, X).landmarks() is None


def test_what_a_machine_publishes(data):
    X, _ = data
    gram = approximate(KERNEL, KERNEL.encode(X), Nystrom(20), "Machine")
    np.testing.assert_allclose(gram.kernel(X), gram.dense(), atol=1e-12)
    left = np.diagonal(KERNEL(X)) - gram.diag()
    assert gram.residual_trace == pytest.approx(left.sum(), rel=1e-9)
    a = np.random.default_rng(2).standard_normal((120, 2))
    np.testing.assert_allclose(gram.condensed(a)(X), gram @ a, atol=1e-10)
    some = np.array([4, 9])
    np.testing.assert_allclose(
        gram.condensed(a[some], some)(X), gram.dense()[:, some] @ a[some], atol=1e-10
    )
    np.testing.assert_array_equal(
        X[gram.index], next(iter(gram.basis.points.leaves.values())).values
    )
    assert approximate(KERNEL, KERNEL.encode(X), None, "Machine") is None
    with pytest.raises(InvalidParameter, match=r"Machine: approximation=3 chooses .* in place"):
        approximate(KERNEL, KERNEL.encode(X), 3, "Machine", objects=False)


@pytest.mark.parametrize("constant", [False, True])
def test_a_solver_sees_no_difference_and_the_certificate_is_that_of_scratch(
    data, constant, tmp_path
):
    X, y = data
    labels = (y[:, 0] > 0).astype(int)
    cases = [
        (LandmarkConjugateGradients(), LandmarkRidge(0.1, constant), y, 1e-8),
        (LandmarkNewton(), LandmarkClasses(Logistic(2), 3.0, constant), labels, 1e-5),
    ]
    for solver, problem, targets, tol in cases:
        grams = _grams(X, targets, constant, tmp_path / solver.__class__.__name__)
        found = [solver.solve(problem, gram, Budget(tol=tol, max_iter=500)) for gram in grams]
        assert found[0].status == found[1].status == "optimal"
        values = [part.value.coefficients(grams[0]) for part in found]
        np.testing.assert_allclose(values[0], values[1], atol=1e-5)
        assert found[0].certificate.primal == pytest.approx(found[1].certificate.primal, rel=1e-9)
        proof = found[0].certificate
        assert proof.kernel_evaluations > 0
        assert proof.iterations == found[0].statistics.iterations
        # From the coefficients alone, by a pass of its own.
        fresh = type(found[0].value)(found[0].value.coordinates, found[0].value.constants)
        judged = problem.certify(fresh, _grams(X, targets, constant)[1])
        assert judged.primal == pytest.approx(proof.primal, rel=1e-9)
        assert judged.dual == pytest.approx(proof.dual, rel=1e-9)
        assert judged.approximation_cost == pytest.approx(proof.approximation_cost, rel=1e-6)
        warm = solver.solve(problem, grams[0], Budget(tol=tol, max_iter=500), found[0].value)
        assert warm.certificate.primal == pytest.approx(proof.primal, rel=1e-8)


def test_targets_with_a_penalty_each(data):
    X, y = data
    Y = np.column_stack([y, y**2, y + 1])
    gram = LandmarkGram.of(
        LandmarkBasis.for_passes(KERNEL, KERNEL.encode(X[:15])), KERNEL.encode(X)
    )
    alphas = np.array([0.1, 2.0, 0.1])
    budget = Budget(tol=1e-9, max_iter=200)
    together = solve_targets(gram, Y, np.ones(120), True, alphas, budget)
    for j, alpha in enumerate(alphas):
        alone = solve_targets(gram, Y[:, [j]], np.ones(120), True, alphas[[j]], budget)
        np.testing.assert_allclose(
            together.value.coordinates[:, j], alone.value.coordinates[:, 0], atol=1e-7
        )
        assert alone.statistics.evaluations > 0
        assert alpha > 0


def test_solvers_refuse_other_matrices(data):
    X, _ = data
    with pytest.raises(InvalidInput, match="passes over rows and landmarks"):
        LandmarkNewton().solve(LandmarkClasses(Logistic(2), 1.0, False), Gram(KERNEL, X), Budget())


def test_any_objects():
    words = ["banana", "ananas", "bandana", "anna", "nab", "can"]
    kernel = Spectrum(2)
    gram = approximate(kernel, kernel.encode(words), 6, "Machine", by_passes=True)
    np.testing.assert_allclose(gram.dense(), kernel(words), atol=1e-9)
