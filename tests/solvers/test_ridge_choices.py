"""Which way ridge systems are solved, what each way costs, and where it gives way to another."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import LinAlgWarning

from mercer import RBF, Gram
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.gram.scaled import ScaledGram
from mercer.kernels.definite import Definite
from mercer.problems.ridge import RidgeProblem
from mercer.solvers import ridge_systems
from mercer.solvers.base import Budget, Status
from mercer.solvers.ridge_systems import RidgeSolver, choose

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(60, 2))
K = RBF(gamma=0.5)(X)
K.flags.writeable = False
Y = RANDOM.normal(size=(60, 2))


def task(alpha, budget=None, matrix=K, right=Y, features=None):
    system = ScaledGram(GivenGram(matrix, Definite.POSITIVE), np.ones(len(matrix)))
    return ridge_systems._Task(system, right, alpha, features, None, budget or Budget(tol=1e-12), 0)


def test_the_choice(monkeypatch):
    there = {"bytes": None}
    monkeypatch.setattr(ridge_systems._memory, "available_bytes", lambda: there["bytes"])
    assert choose(100, 1.0, True, True) == "cg"
    assert choose(100, 0.5, True, True) == "cg"
    assert choose(100, 0.0, True, True) == "cholesky"
    assert choose(100, 1.0, True, False) == "cholesky"
    assert choose(2499, 0.5, True, False) == "cholesky"
    assert choose(2500, 0.5, True, False) == "mixed"
    assert choose(2500, 0.0, True, False) == "cholesky"
    assert choose(2500, 0.5, False, False) == "cholesky"
    there["bytes"] = 1.1 * 8 * 2500**2  # room for float32 alone
    assert choose(2500, 0.5, False, False) == "cg"
    assert choose(2500, 0.5, True, False) == "mixed"
    assert choose(2500, 0.0, True, False) == "cholesky"
    there["bytes"] = 1.1 * 8 * 2500**2 + 1
    assert choose(2500, 0.5, False, False) == "cholesky"
    there["bytes"] = 1.1 * 4 * 2500**2
    assert choose(2500, 0.5, True, False) == "cg"
    there["bytes"] = 0
    assert choose(1000, 0.5, True, False) == "cholesky"  # so few are not asked about
    assert choose(1001, 0.5, True, False) == "cg"


def test_few_features_are_fewer_than_rows():
    def found(Z):
        return ridge_systems._few_features(ScaledGram(FeatureGram.of_rows(Z), np.full(5, 4.0)))

    Z = RANDOM.normal(size=(5, 4))
    assert_allclose(found(Z) @ found(Z).T, 4 * Z @ Z.T)
    assert_allclose(found(sparse.csr_array(Z)), found(Z))
    assert isinstance(found(sparse.csr_array(Z)), np.ndarray)
    assert found(RANDOM.normal(size=(5, 5))) is None
    assert ridge_systems._few_features(ScaledGram(GivenGram(np.eye(5)), np.ones(5))) is None


@pytest.mark.parametrize(("count", "method"), [(8, "cholesky"), (9, "eigen")])
def test_many_penalties_are_nine(count, method):
    alphas = np.geomspace(0.1, 2, count)
    problem = RidgeProblem(np.repeat(Y[:, :1], count, axis=1), alphas, np.ones(60))
    found = RidgeSolver().solve(problem, Gram(RBF(gamma=0.5), X), Budget(tol=1e-12))
    assert found.statistics.details["method"] == method
    assert found.statistics.iterations == count
    for j, alpha in enumerate(alphas):
        c = np.linalg.solve(K + alpha * np.eye(60), Y[:, 0])
        assert_allclose(found.value.coef[:, j], c, atol=1e-9)


def test_singular_systems_have_the_shortest_answer():
    ones = np.ones((4, 4))
    with pytest.warns(LinAlgWarning, match="singular"):
        found = ridge_systems._dense(task(0.0, matrix=ones, right=np.ones((4, 1))))
    assert found.details["method"] == "eigen"
    assert_allclose(found.value, 0.25)  # Kc = 1 by c = ¼, and by no shorter one
    assert_allclose(found.product, 1.0)
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.warns(LinAlgWarning):
        found = ridge_systems._dense(task(0.5, matrix=indefinite, right=np.array([[1.0], [0.0]])))
    assert found.status is Status.NONCONVEX
    assert_allclose(found.value, np.linalg.solve(indefinite + np.eye(2) / 2, [[1.0], [0.0]]))
    sound = ridge_systems._dense(task(1.5, matrix=indefinite, right=np.array([[1.0], [0.0]])))
    assert sound.status is Status.OPTIMAL
    assert sound.details["method"] == "cholesky"
    assert sound.iterations == 1
    assert_allclose(sound.product, indefinite @ sound.value)
    shifted = ridge_systems._spectral(task(1.5, matrix=indefinite, right=np.array([[1.0], [0.0]])))
    assert shifted.status is Status.OPTIMAL
    assert_allclose(shifted.value, sound.value)


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_a_factor_in_float32_is_refined(alpha):
    found = ridge_systems._mixed(task(alpha))
    assert found.details["method"] == "mixed"
    assert 1 <= found.iterations <= 12
    assert_allclose(found.value, np.linalg.solve(K + alpha * np.eye(60), Y), atol=1e-7 / alpha)
    assert_allclose(found.product, K @ found.value, atol=1e-9)
    near = ridge_systems._single(task(alpha))(Y)
    assert near.dtype == np.float64
    exact = np.linalg.solve(K + alpha * np.eye(60), Y)
    assert np.linalg.norm(near - exact) <= 1e-2 * np.linalg.norm(exact)


def test_what_float32_cannot_refine_goes_to_float64(monkeypatch):
    # A step is too few: the dense factor takes over, where it fits.
    few = ridge_systems._mixed(task(1e-9, Budget(tol=1e-15, max_iter=1)))
    assert few.details["method"] == "cholesky"
    monkeypatch.setattr(ridge_systems, "_fits", lambda n, size: False)
    left = ridge_systems._mixed(task(1e-9, Budget(tol=1e-15, max_iter=1)))
    assert left.details["method"] == "mixed"
    assert left.status is Status.MAX_ITER
    assert left.iterations == 1
    none = ridge_systems._mixed(task(1e-9, Budget(tol=1e-15, max_iter=0)))
    assert none.iterations == 0
    assert not none.value.any()


def test_a_factor_in_float32_is_lifted_over_rounding():
    low = RANDOM.normal(size=(60, 2))
    flat = low @ low.T * 1e4
    shifts = []
    cholesky = ridge_systems.Cholesky

    class Noted(cholesky):
        def __init__(self, A, shift):
            shifts.append(shift)
            super().__init__(A, shift)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ridge_systems, "Cholesky", Noted)
        inverse = ridge_systems._single(task(1e-9, matrix=flat))
    rounding = 2.0**-23 * np.trace(flat)
    assert shifts[0] == 1e-9
    assert shifts[1] == pytest.approx(1e-9 + rounding, rel=1e-3)
    for before, after in pairwise(shifts[1:]):
        assert after == pytest.approx(10 * before)
    expected = np.linalg.solve(flat + shifts[-1] * np.eye(60), Y)
    assert np.linalg.norm(inverse(Y) - expected) <= 0.2 * np.linalg.norm(expected)


@pytest.mark.parametrize("method", ["cholesky", "mixed", "cg", "eigen"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_given_matrix_stays_as_it_is(method, dtype):
    given = K.astype(dtype)
    problem = RidgeProblem(Y, np.array([0.3, 1.0]), np.ones(60))
    RidgeSolver(method).solve(problem, GivenGram(given, Definite.POSITIVE), Budget())
    np.testing.assert_array_equal(given, K.astype(dtype))


def test_rounds_of_conjugate_gradients():
    seen = []

    def note(size):
        seen.append(size)
        return False

    alpha = 1e-2
    exact = np.linalg.solve(K + alpha * np.eye(60), Y)
    plain = ridge_systems._refined(
        task(alpha, Budget(tol=1e-10, monitor=note)), lambda R: R, -1, "cg"
    )
    assert plain.status is Status.OPTIMAL
    assert_allclose(plain.value, exact, atol=1e-6)
    assert_allclose(plain.product, K @ plain.value, atol=1e-10)
    assert seen[0] == pytest.approx(1.0)  # of the right-hand sides
    assert len(seen) <= plain.iterations + 4
    assert plain.iterations <= 200
    residual = Y - K @ plain.value - alpha * plain.value
    assert (np.linalg.norm(residual, axis=0) <= 1e-9 * np.linalg.norm(Y, axis=0)).all()
    inverse = np.linalg.inv(K + alpha * np.eye(60))
    quick = ridge_systems._refined(task(alpha), lambda R: inverse @ R, -1, "cg")
    assert 1 <= quick.iterations <= 6
    for most in (0, 1, 5):
        cut = ridge_systems._refined(task(alpha), lambda R: R, most, "cg")
        assert cut.status is Status.MAX_ITER
        assert cut.iterations == most
    zero = ridge_systems._refined(task(alpha, right=np.zeros((60, 2))), lambda R: R, -1, "cg")
    assert zero.status is Status.OPTIMAL
    assert zero.iterations == 0
    one = ridge_systems._refined(
        task(alpha, right=np.column_stack([Y[:, 0], np.zeros(60)])), lambda R: inverse @ R, -1, "cg"
    )
    assert_allclose(one.value[:, 0], exact[:, 0], atol=1e-9)
    assert not one.value[:, 1].any()
    # Another norm of the residual than the one that is asked for: a second round brings it.
    loose = ridge_systems._refined(task(alpha, Budget(tol=1e-3)), lambda R: inverse @ R, -1, "cg")
    assert loose.iterations <= quick.iterations
    stopped = ridge_systems._refined(
        task(alpha, Budget(tol=1e-12, monitor=lambda size: True)), lambda R: R, -1, "cg"
    )
    assert stopped.status is Status.INTERRUPTED
    assert stopped.iterations == 0


def test_what_does_not_converge_has_stalled():
    # A preconditioner that is not definite leads nowhere.
    turned = np.diag(np.where(np.arange(60) % 2, 1.0, -1.0))
    lost = ridge_systems._refined(
        task(1e-6, Budget(tol=1e-13, max_iter=50)), lambda R: turned @ R, 50, "cg"
    )
    assert lost.status is not Status.OPTIMAL
    best = Y - K @ lost.value - 1e-6 * lost.value
    assert np.linalg.norm(best) <= np.linalg.norm(Y) * (1 + 1e-12)


@pytest.mark.parametrize("n", [30, 60])
def test_preconditioners_by_pivots_make_steps_few(n):
    found = ridge_systems._iterate(task(1e-2, matrix=K[:n, :n], right=Y[:n]))
    assert found.details["method"] == "cg"
    assert found.iterations <= 10
    assert_allclose(found.value, np.linalg.solve(K[:n, :n] + 0.01 * np.eye(n), Y[:n]), atol=1e-8)
    Z = RANDOM.normal(size=(60, 3))
    known = ridge_systems._iterate(task(0.1, matrix=Z @ Z.T, features=Z))
    assert known.iterations <= 3
    assert_allclose(known.value, np.linalg.solve(Z @ Z.T + 0.1 * np.eye(60), Y), atol=1e-8)


def test_constants_by_the_closed_form():
    weights = RANDOM.uniform(0.5, 2, 60)
    problem = RidgeProblem(Y, np.array([0.3, 1.0]), weights, True)
    found = RidgeSolver("cholesky").solve(problem, GivenGram(K, Definite.POSITIVE), Budget())
    for j, alpha in enumerate(problem.alphas):
        bordered = np.block(
            [
                [K + alpha * np.diag(1 / weights), np.ones((60, 1))],
                [np.ones((1, 60)), np.zeros((1, 1))],
            ]
        )
        *c, b = np.linalg.solve(bordered, [*Y[:, j], 0.0])
        assert_allclose(found.value.coef[:, j], c, atol=1e-9)
        assert found.value.intercepts[j] == pytest.approx(b, abs=1e-9)
    assert found.statistics.iterations == 2
    assert math.isfinite(found.certificate.gap)


def test_room_for_float32_alone(monkeypatch):
    there = {"bytes": 1.1 * 4 * 2500**2 + 1}
    monkeypatch.setattr(ridge_systems._memory, "available_bytes", lambda: there["bytes"])
    assert choose(2500, 0.5, True, False) == "mixed"
    assert choose(2500, 0.5, False, False) == "cg"


def test_steps_end_at_the_tolerance_that_is_asked_for():
    counts = []
    for tol in (1e-1, 1e-3, 1e-6, 1e-9):
        found = ridge_systems._refined(task(1e-2, Budget(tol=tol)), lambda R: R, -1, "cg")
        residual = Y - K @ found.value - 1e-2 * found.value
        shares = np.linalg.norm(residual, axis=0) / np.linalg.norm(Y, axis=0)
        assert shares.max() <= 2 * tol
        counts.append(found.iterations)
    assert counts == sorted(set(counts))
    # From the rough answer on the next round needs a share of the rest, not all of it again.
    assert counts[-1] < 4 * counts[1]
