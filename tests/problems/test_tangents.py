"""Conjugates, curvatures and convexity from values and slopes alone, against closed forms."""

import math

import numpy as np
import pytest

from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.tangents import (
    check_convex,
    conjugate_bound,
    farthest_slopes,
    slope_differences,
    tangents,
)


class Of:
    """A function by two formulas."""

    def __init__(self, value, slope):
        self.value, self.slope = value, slope


def entropy(nu):
    return sum(0.0 if s == 0 else s * math.log(s) for s in (1 + nu, 1 - nu)) / 2


LOG_COSH = Of(lambda r: np.logaddexp(r, -r) - math.log(2), np.tanh)
SQUARE = Of(lambda r: r * r, lambda r: 2 * r)
ABSOLUTE = Of(np.abs, np.sign)
TILTED = Of(lambda r: np.maximum(3 * r, -0.5 * r) + 2, lambda r: np.where(r > 0, 3.0, -0.5))
WALL_LEFT = Of(lambda r: np.where(r >= -1, r * r, np.inf), lambda r: 2 * r)
WALL_RIGHT = Of(lambda r: np.where(r <= 3, (r - 1) ** 2, np.inf), lambda r: 2 * (r - 1))
STEEP = Of(lambda r: 1e8 * r * r, lambda r: 2e8 * r)
SHALLOW = Of(lambda r: 1e-8 * r * r, lambda r: 2e-8 * r)


@pytest.mark.parametrize(
    ("function", "conjugate", "slopes"),
    [
        (LOG_COSH, entropy, [-0.999, -0.5, 0.0, 0.3, 0.9]),
        (SQUARE, lambda nu: nu * nu / 4, [-1e6, -3.0, 0.0, 1e-3, 2.0, 2e4]),
        (ABSOLUTE, lambda nu: 0.0, [-1.0, -0.5, 0.0, 0.75, 1.0]),
        (TILTED, lambda nu: -2.0, [-0.5, 0.0, 2.0, 3.0]),
        (WALL_LEFT, lambda nu: nu * nu / 4 if nu >= -2 else -nu - 1, [-50.0, -2.0, -1.0, 0.5, 9.0]),
        (
            WALL_RIGHT,
            lambda nu: nu + nu * nu / 4 if nu <= 4 else 3 * nu - 4,
            [-8.0, 1.0, 4.0, 70.0],
        ),
        (STEEP, lambda nu: nu * nu / 4e8, [-5.0, 1e9]),
        (SHALLOW, lambda nu: nu * nu / 4e-8, [-1.0, 1e-6]),
    ],
    ids=["log cosh", "square", "absolute", "tilted", "left wall", "right wall", "steep", "shallow"],
)
def test_conjugates_from_above(function, conjugate, slopes):
    found = conjugate_bound(function, np.array(slopes))
    for value, nu in zip(found, slopes, strict=True):
        truth = conjugate(nu)
        assert truth - 1e-12 * abs(truth) <= value <= truth + 1e-9 * max(1.0, abs(truth))


def test_slopes_that_are_never_reached_have_no_conjugate():
    assert np.isinf(conjugate_bound(ABSOLUTE, np.array([-1.5, 2.0]))).all()
    assert np.isinf(conjugate_bound(LOG_COSH, np.array([1.5, -1.01]))).all()
    assert farthest_slopes(ABSOLUTE) == (-1.0, 1.0)
    assert farthest_slopes(TILTED) == (-0.5, 3.0)
    assert farthest_slopes(WALL_LEFT)[0] == -math.inf
    assert farthest_slopes(WALL_RIGHT)[1] == math.inf


def test_walls_have_infinite_values_and_slopes():
    found = tangents(WALL_LEFT, np.array([-2.0, 0.5]))
    assert found.values.tolist() == [math.inf, 0.25]
    assert found.slopes.tolist() == [-math.inf, 1.0]
    assert tangents(WALL_RIGHT, np.array([4.0])).slopes.tolist() == [math.inf]
    assert found.at.tolist() == [-2.0, 0.5]
    with pytest.raises(InvalidParameter, match=r"Of\.slope returned an array of shape \(\)"):
        tangents(Of(lambda r: r, lambda r: 1.0), np.zeros(3))
    with pytest.raises(InvalidParameter, match=r"Of\.value returned an array of shape \(2,\)"):
        tangents(Of(lambda r: r[:2], lambda r: r), np.zeros(3))


def test_curvatures_by_differences():
    r = np.array([-2.0, -0.5, 0.1, 1.0, 3.0])
    np.testing.assert_allclose(slope_differences(SQUARE, r), 2.0, rtol=1e-6)
    np.testing.assert_allclose(slope_differences(LOG_COSH, r), 1 / np.cosh(r) ** 2, rtol=1e-3)
    # Straight parts have a curvature of a thousandth of φ′(r)/r, so that steps end.
    np.testing.assert_allclose(slope_differences(ABSOLUTE, r), 1e-3 / np.abs(r), rtol=1e-9)
    at_wall = slope_differences(WALL_LEFT, np.array([-1.0, 4.0]))
    assert np.isfinite(at_wall).all()
    assert at_wall[1] == pytest.approx(2.0)
    assert slope_differences(SQUARE, np.zeros(2)).tolist() == pytest.approx([2.0, 2.0])


def test_walls_that_are_not_at_one():
    """r² from −2 on: beyond a slope of −4 the line through the wall is what counts."""
    wall = Of(lambda r: np.where(r >= -2, r * r, np.inf), lambda r: 2 * r)
    nu = np.array([-10.0, -5.0, -2.0, 3.0])
    exact = np.array([20.0 - 4, 10.0 - 4, 1.0, 2.25])
    np.testing.assert_allclose(conjugate_bound(wall, nu), exact, rtol=1e-9)
    other = Of(lambda r: np.where(r <= 2, r * r, np.inf), lambda r: 2 * r)
    np.testing.assert_allclose(conjugate_bound(other, -nu), exact, rtol=1e-9)


def test_the_first_middle_is_between_minus_one_and_one():
    seen = []
    conjugate_bound(Of(lambda r: seen.append(r.tolist()) or r * r, lambda r: 2 * r), np.zeros(1))
    assert seen[:3] == [[1.0], [-1.0], [0.0]]
    seen.clear()
    wide = Of(lambda r: seen.append(r.tolist()) or r * r, lambda r: 2 * r)
    conjugate_bound(wide, np.array([-100.0, 100.0]))  # slopes of ends four times as far each time
    assert seen[:8:2] == [[1.0, 1.0], [1.0, 4.0], [1.0, 16.0], [1.0, 64.0]]
    assert seen[1:8:2] == [[-1.0, -1.0], [-4.0, -1.0], [-16.0, -1.0], [-64.0, -1.0]]
    assert seen[8] == [-31.5, 31.5]


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_convexity_is_a_matter_of_shares(size):
    r = np.array([-1.0, 2.0])
    check_convex(Of(lambda r: size * r * r, lambda r: 2 * size * r), r)
    with pytest.raises(InvalidInput, match="not convex"):
        check_convex(Of(lambda r: -size * r * r, lambda r: -2 * size * r), r)
    for fall, allowed in ((0.5e-9, True), (2e-9, False)):
        step = Of(np.abs, lambda r, fall=fall: size * np.where(r > 0.5, 1.0 - fall, 1.0))
        if allowed:
            check_convex(step, r)
        else:
            with pytest.raises(InvalidInput, match="not convex"):
                check_convex(step, r)


def test_what_is_not_convex_is_said():
    for function in (LOG_COSH, SQUARE, ABSOLUTE, TILTED, WALL_LEFT, WALL_RIGHT):
        check_convex(function, np.array([-0.9, 0.3, 2.5]))
    bump = Of(lambda r: np.minimum(r * r, 1.0), lambda r: np.where(np.abs(r) <= 1, 2 * r, 0.0))
    check_convex(bump, np.array([-0.5, 0.5]))  # convex where the residuals are
    with pytest.raises(InvalidInput, match="not convex: its slope falls from"):
        check_convex(bump, np.array([-0.5, 3.0]))
    nearly = Of(lambda r: 0 * r, lambda r: np.where(r > 0, 1.0 - 1e-12, 1.0))
    check_convex(nearly, np.array([-1.0, 1.0]))  # rounding
