"""Krylov spaces of several parts of one matrix: against plain solves of each."""

import numpy as np
import pytest

from mercer import RBF
from mercer.linalg.krylov import KrylovSpaces, ShiftedPart
from mercer.linalg.shifted import solve_shifts

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((103, 3))
K = RBF(gamma=3.0)(ROWS)
ALPHAS = np.geomspace(1e-3, 10, 7)
TOL = 1e-13
ORDER = RNG.permutation(103)
SPLITS = {
    "one": [np.arange(103)],
    "some rows": [np.arange(3, 90, 2)],
    "five folds": [np.delete(np.arange(103), part) for part in np.array_split(np.arange(103), 5)],
    "shuffled folds": [np.setdiff1d(ORDER, part) for part in np.array_split(ORDER, 4)],
    "two halves": [ORDER[:50], ORDER[50:]],
    "one row": [np.array([7]), np.arange(20, 23)],
    "random parts": [RNG.permutation(103)[: 30 + 5 * k] for k in range(6)],
    "thirty folds": [np.setdiff1d(ORDER, part) for part in np.array_split(ORDER, 30)],
    "ten folds": [np.setdiff1d(ORDER, part) for part in np.array_split(ORDER, 10)],
}
K.flags.writeable = False


def room(n):
    return np.full((n, n), np.nan)


def parts_of(rows, columns, weighted):
    scales = [RNG.uniform(0.5, 2, len(r)) if weighted else np.ones(len(r)) for r in rows]
    return [
        ShiftedPart(r, s, RNG.standard_normal((len(r), columns)), ALPHAS[k % 3 :])
        for k, (r, s) in enumerate(zip(rows, scales, strict=True))
    ]


def check(parts, found, rtol):
    for part, X in zip(parts, found, strict=True):
        A = part.scale[:, None] * K[np.ix_(part.rows, part.rows)] * part.scale
        assert X.shape == (len(part.alphas), *part.B.shape)
        for alpha, x in zip(part.alphas, X, strict=True):
            residual = part.B - A @ x - alpha * x
            assert np.linalg.norm(residual, axis=0).max() < rtol * np.linalg.norm(part.B)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("rows", SPLITS.values(), ids=SPLITS)
def test_all_parts_are_solved(rows, columns, weighted):
    parts = parts_of(rows, columns, weighted)
    spaces = KrylovSpaces(K, parts, TOL, 103, room)
    spaces.is_worth_while = lambda taken: True
    assert spaces.reach()
    check(parts, spaces.solve(), 20 * TOL)
    check(parts, solve_shifts(K, parts, TOL, room), 20 * TOL)


def test_bases_are_orthonormal_where_eigenvalues_spread_far():
    wide = RBF(gamma=0.01)(ROWS)
    part = ShiftedPart(
        np.arange(103), np.ones(103), RNG.standard_normal((103, 1)), np.array([1e-8])
    )
    spaces = KrylovSpaces(wide, [part], TOL, 80, room)
    spaces.is_worth_while = lambda taken: True
    spaces.reach()
    basis = spaces.basis(0)
    assert len(basis) > 40
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-14)


def test_a_zero_needs_no_steps_and_an_indefinite_matrix_is_told():
    zeros, ones = np.zeros((103, 1)), np.ones((103, 1))
    everywhere = np.arange(103)
    parts = [ShiftedPart(everywhere, np.ones(103), B, ALPHAS) for B in (zeros, ones)]
    spaces = KrylovSpaces(K, parts, TOL, 103, room)
    assert spaces.reach()
    assert spaces.lengths[0] == 0
    assert not spaces.solve()[0].any()
    negative = KrylovSpaces(-np.eye(103), parts, TOL, 103, room)
    assert not negative.reach()
    assert np.isnan(solve_shifts(-np.eye(103), parts, TOL, room)[1][0]).all()


def test_parts_whose_spaces_are_long_are_solved_by_tridiagonal_forms():
    scales = np.geomspace(1, 1e6, 103)
    parts = parts_of(SPLITS["shuffled folds"], 1, weighted=True)
    diagonal = np.diag(scales)
    assert not KrylovSpaces(diagonal, parts, TOL, 80, room).reach()
    for part, X in zip(parts, solve_shifts(diagonal, parts, TOL, room), strict=True):
        for alpha, x in zip(part.alphas, X, strict=True):
            exact = part.B[:, 0] / (part.scale**2 * scales[part.rows] + alpha)
            np.testing.assert_allclose(x[:, 0], exact, rtol=1e-9)
