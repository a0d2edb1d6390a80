"""All λ at once: what few features give against the whole matrix and against left-out rows."""

import numpy as np
import pytest

from mercer.exceptions import InvalidParameter
from mercer.solvers.ridge_path import (
    FeatureSpectrum,
    MatrixSpectrum,
    ridge_path,
    rows_of_groups,
    usual_alphas,
)


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(5)
    Z = random.standard_normal((40, 6)) * np.array([3, 1, 1, 0.3, 0.01, 0.0])
    return Z, random.standard_normal((40, 2)), 0.2 + random.random(40)


@pytest.mark.parametrize("intercept", [False, True])
def test_features_give_the_path_of_the_whole_matrix(problem, intercept):
    Z, Y, weights = problem
    scaled = np.sqrt(weights)[:, None] * Z
    alphas = np.geomspace(1e-5, 1e3, 9)
    few = ridge_path(FeatureSpectrum(scaled), Y, alphas, weights, intercept)
    whole = ridge_path(MatrixSpectrum(scaled @ scaled.T), Y, alphas, weights, intercept)
    for name in ("residuals", "errors", "freedoms", "intercepts"):
        np.testing.assert_allclose(getattr(few, name), getattr(whole, name), rtol=1e-6, atol=1e-8)
    # The coefficients are like 1/λ.
    np.testing.assert_allclose(
        few.coefficients * alphas[:, None, None],
        whole.coefficients * alphas[:, None, None],
        atol=1e-8,
    )


@pytest.mark.parametrize("intercept", [False, True])
def test_residuals_are_those_of_fits_without_the_row(problem, intercept):
    Z, Y, weights = problem
    alpha = 0.3
    scaled = np.sqrt(weights)[:, None] * Z
    found = ridge_path(FeatureSpectrum(scaled), Y, np.array([alpha]), weights, intercept)
    A = np.column_stack([Z, np.ones(len(Z))]) if intercept else Z
    P = alpha * np.diag([*np.ones(6), *([0.0] if intercept else [])])
    for i in range(len(Z)):
        rest = np.arange(len(Z)) != i
        W = weights[rest, None]
        solved = np.linalg.solve(A[rest].T @ (W * A[rest]) + P, A[rest].T @ (W * Y[rest]))
        np.testing.assert_allclose(found.residuals[0, i], Y[i] - A[i] @ solved, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("of_features", [False, True])
def test_residuals_of_groups_are_those_of_fits_without_the_group(problem, intercept, of_features):
    Z, Y, weights = problem
    alphas = np.array([0.3, 20.0])
    scaled = np.sqrt(weights)[:, None] * Z
    spectrum = FeatureSpectrum(scaled) if of_features else MatrixSpectrum(scaled @ scaled.T)
    groups = np.random.default_rng(0).integers(0, 7, len(Z))
    found = ridge_path(spectrum, Y, alphas, weights, intercept, groups)
    A = np.column_stack([Z, np.ones(len(Z))]) if intercept else Z
    for k, alpha in enumerate(alphas):
        P = alpha * np.diag([*np.ones(6), *([0.0] if intercept else [])])
        for g in range(7):
            rest, own = groups != g, groups == g
            W = weights[rest, None]
            solved = np.linalg.solve(A[rest].T @ (W * A[rest]) + P, A[rest].T @ (W * Y[rest]))
            np.testing.assert_allclose(found.residuals[k, own], Y[own] - A[own] @ solved, atol=1e-9)


def test_groups_of_one_row_are_rows(problem):
    Z, Y, _ = problem
    alphas, each = np.geomspace(0.01, 10, 4), np.random.default_rng(1).permutation(len(Z))
    spectrum = MatrixSpectrum(Z @ Z.T)
    rows = ridge_path(spectrum, Y, alphas, np.ones(len(Z)), True)
    alone = ridge_path(spectrum, Y, alphas, np.ones(len(Z)), True, each)
    np.testing.assert_allclose(alone.residuals, rows.residuals, atol=1e-11)


def test_the_usual_grid_stays_above_rounding(problem):
    Z, Y, _ = problem
    many = np.ones((6000, 1))
    spectrum = FeatureSpectrum(many)
    grid = usual_alphas(spectrum)
    assert grid[0] > spectrum.rounding
    assert np.isfinite(ridge_path(spectrum, many, grid, many[:, 0]).errors).all()
    whole = MatrixSpectrum(Z @ Z.T)
    whole.rounding = 1e-11 * whole.values[-1]  # as large as that of a matrix of 50,000 rows
    assert np.isfinite(ridge_path(whole, Y, usual_alphas(whole), np.ones(40)).errors).all()


def test_a_penalty_that_is_next_to_nothing_is_refused(problem):
    spectrum = FeatureSpectrum(problem[0])
    for alpha in (0.0, 1e-16):
        with pytest.raises(InvalidParameter, match="next to nothing beside"):
            spectrum.path(problem[1], np.array([alpha]))


def test_a_singular_matrix_has_no_rows_left_out():
    # Eigenvalues −½, 0 and 2: K + λ is singular for ½ and 0, not for −½ or 2.
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    spectrum = MatrixSpectrum((turn * [-0.5, 0.0, 2.0]) @ turn.T)
    for alphas in ([0.5], [0.0], [1.0, 0.5]):
        with pytest.raises(InvalidParameter, match="singular"):
            spectrum.inverse_diagonals(np.array(alphas))
    alphas = np.array([2.0, 0.25])
    found = spectrum.inverse_diagonals(alphas)
    for diagonal, alpha in zip(found, alphas, strict=True):
        K = (turn * [-0.5, 0.0, 2.0]) @ turn.T
        np.testing.assert_allclose(diagonal, np.diagonal(np.linalg.inv(K + alpha * np.eye(3))))


def test_a_path_of_one_target(problem):
    Z, Y, weights = problem
    alphas = np.array([0.1, 2.0])
    spectrum = MatrixSpectrum(Z @ Z.T)
    both = ridge_path(spectrum, Y, alphas, weights, True)
    one = ridge_path(spectrum, Y[:, :1], alphas, weights, True).of_one()
    for name, shape in (("coefficients", (2, 40)), ("residuals", (2, 40)), ("errors", (2,)), ("intercepts", (2,)), ("freedoms", (2,))):  # fmt: skip  # noqa: E501
        assert getattr(one, name).shape == shape
    np.testing.assert_allclose(one.coefficients, both.coefficients[:, :, 0])
    np.testing.assert_allclose(one.residuals, both.residuals[:, :, 0])
    np.testing.assert_allclose(one.errors, both.errors[:, 0])
    np.testing.assert_allclose(one.intercepts, both.intercepts[:, 0])


def test_rows_of_groups_in_order():
    found = rows_of_groups(np.array([2, 0, 2, 5, 0, 2]))
    assert [rows.tolist() for rows in found] == [[1, 4], [0, 2, 5], [3]]
    assert [rows.tolist() for rows in rows_of_groups(np.zeros(3, int))] == [[0, 1, 2]]


def test_the_usual_grid():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    spectrum = MatrixSpectrum((turn * [1.0, 2.0, 5.0]) @ turn.T)
    grid = usual_alphas(spectrum)
    assert len(grid) == 57
    assert grid[-1] == pytest.approx(500.0)
    assert grid[0] == pytest.approx(max(5e-12, 10 * spectrum.rounding), rel=1e-9, abs=0)
    np.testing.assert_allclose(grid[1:] / grid[:-1], grid[1] / grid[0])
    assert len(usual_alphas(spectrum, 3)) == 3
