"""Many λ at the price of a few: against plain solves."""

import numpy as np
import pytest

from mercer import RBF
from mercer.linalg import shifted
from mercer.linalg.krylov import KrylovSpaces, ShiftedPart
from mercer.linalg.tridiagonal import Tridiagonal

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
B = RNG.standard_normal((120, 3))
ALPHAS = np.array([1e-6, 1e-2, 3.0])


def room(n):
    return np.full((n, n), np.nan)


def whole(K, B, alphas):
    return ShiftedPart(np.arange(len(K)), np.ones(len(K)), B, alphas)


def solve_shifts(K, B, alphas, tol):
    return shifted.solve_shifts(K, [whole(K, B, alphas)], tol, room)[0]


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("gamma", [0.01, 0.5, 5.0, 200.0])
def test_all_shifts_are_solved(gamma, columns):
    K = RBF(gamma=gamma)(X)
    found = solve_shifts(K.copy(), B[:, :columns], ALPHAS, 1e-13)
    for alpha, part in zip(ALPHAS, found, strict=True):
        residual = B[:, :columns] - K @ part - alpha * part
        size = np.abs(K).sum(axis=0).max() * np.abs(part).max()
        assert np.abs(residual).max() < 1e-13 * max(size, 10.0)


def test_a_tridiagonal_form_has_the_eigenvalues():
    K = RBF(gamma=0.5)(X)
    form = Tridiagonal(K.copy())
    T = np.diag(form.diagonal) + np.diag(form.side, 1) + np.diag(form.side, -1)
    np.testing.assert_allclose(np.linalg.eigvalsh(T), np.linalg.eigvalsh(K), atol=1e-12)


def test_a_krylov_space_tells_its_residual_and_gives_up_early():
    K = RBF(gamma=5.0)(X)
    space = KrylovSpaces(K, [whole(K, B[:, :1], np.array([0.1]))], 1e-12, 120, room)
    assert space.reach()
    x = space.solve()[0][0, :, 0]
    residual = np.linalg.norm(B[:, 0] - K @ x - 0.1 * x) / np.linalg.norm(B[:, 0])
    assert residual < 2e-12
    assert space.lengths.max() < 80
    scales = np.geomspace(1, 1e9, 120)
    hard = KrylovSpaces(np.diag(scales), [whole(K, B[:, :1], np.array([1e-9]))], 1e-12, 90, room)
    assert not hard.reach()
    assert hard.lengths.max() < 30


def test_small_zero_and_singular():
    one = solve_shifts(np.array([[2.0]]), np.array([[6.0]]), np.array([1.0]), 1e-13)
    assert one.item() == 2.0
    assert not solve_shifts(RBF(gamma=1.0)(X), np.zeros((120, 1)), ALPHAS, 1e-13).any()
    ones = np.ones((50, 50))
    found = solve_shifts(ones, B[:50, :2], np.array([1e-20, 1.0]), 1e-13)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    negative = solve_shifts(-np.eye(5), B[:5, :1], np.array([0.5, 2.0]), 1e-13)
    assert np.isnan(negative[0]).all()
    np.testing.assert_allclose(negative[1], B[:5, :1])


def test_shifts_below_the_spectrum_leave_the_others_alone():
    K = np.diag([-2.0, 1.0, 3.0])
    found = solve_shifts(K.copy(), B[:3, :2], np.array([0.5, 1.0, 2.5]), 1e-13)
    assert np.isnan(found[:2]).all()
    np.testing.assert_allclose(found[2], B[:3, :2] / (np.diagonal(K)[:, None] + 2.5), rtol=1e-13)
