"""What value and slope alone say of a convex function: its conjugate, bounded by tangents."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter

_FARTHEST = 1e15
"""Residuals beyond this are not looked at: float64 tells no slopes apart there."""
_HALVINGS = 200
"""More halvings of an interval than float64 has digits, whatever its size."""
_DIFFERENCE = 1e-5
"""Half the distance of two slopes whose difference is a curvature, as a share of residuals."""
_LEAST_SHARE = 1e-3
"""Curvatures are no less than this share of φ′(r)/r, so that steps along straight parts end."""


class HasSlope(Protocol):
    """A function of a residual with a slope."""

    def value(self, r: Array) -> Array:
        """Return φ(r)."""
        ...

    def slope(self, r: Array) -> Array:
        """Return φ′(r)."""
        ...


class Tangents(NamedTuple):
    """Values and slopes at some residuals; a value of ∞ has the slope of a wall."""

    at: Array
    values: Array
    slopes: Array


def tangents(function: HasSlope, r: Array) -> Tangents:
    """Return values and slopes, or say what is wrong with them."""
    with np.errstate(all="ignore"):
        values = np.asarray(function.value(r), dtype=np.float64)
        slopes = np.asarray(function.slope(r), dtype=np.float64)
    name = type(function).__name__
    for what, found in (("value", values), ("slope", slopes)):
        if found.shape != r.shape:
            raise InvalidParameter(
                f"{name}.{what} returned an array of shape {found.shape} for {r.shape}; it has to "
                "take an array of residuals and return one number for each."
            )
    wall = ~np.isfinite(values) | ~np.isfinite(slopes)
    walls = np.where(r < 0, -np.inf, np.inf)
    return Tangents(r, np.where(wall, np.inf, values), np.where(wall, walls, slopes))


def conjugate_bound(function: HasSlope, nu: Array) -> Array:
    """Return a number above φ*(ν) = max over r of νr − φ(r), of a convex φ.

    Two tangents whose slopes have ν between them lie below φ, so that φ*(ν) ≤ νr̂ − t(r̂) where they
    meet. Where no slope reaches ν, φ* is infinite as far as anybody can see.
    """
    low, high = np.full(nu.shape, -1.0), np.ones(nu.shape)
    with np.errstate(all="ignore"):
        for _ in range(60):
            short = tangents(function, high).slopes < nu
            far = tangents(function, low).slopes > nu
            if not (short.any() or far.any()):
                break
            high = np.where(short, np.minimum(4 * high, _FARTHEST), high)
            low = np.where(far, np.maximum(4 * low, -_FARTHEST), low)
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2
            above = tangents(function, middle).slopes >= nu
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        left, right = tangents(function, low), tangents(function, high)
        inside = (left.slopes <= nu) & (right.slopes >= nu)
        # The tangent on the left up to where that on the right takes over, or to a wall.
        gap = right.slopes - left.slopes
        meet = (left.values - left.slopes * low - right.values + right.slopes * high) / gap
        meet = np.where(np.isfinite(meet) & (gap > 0), np.clip(meet, low, high), low)
        meet = np.where(np.isinf(right.slopes), high, meet)
        # Beyond a wall on the left there is nothing: the other tangent rules there.
        by_left = nu * meet - (left.values + left.slopes * (meet - low))
        by_right = nu * low - (right.values + right.slopes * (low - high))
        bound = np.where(np.isinf(left.slopes), by_right, by_left)
    bound = np.where(inside & np.isfinite(bound), bound, np.inf)
    return np.asarray(bound)


def farthest_slopes(function: HasSlope) -> tuple[float, float]:
    """Return the slopes far out on both sides, between which all others lie."""
    slopes = tangents(function, np.array([-_FARTHEST, _FARTHEST])).slopes
    return float(slopes[0]), float(slopes[1])


def slope_differences(function: HasSlope, r: Array) -> Array:
    """Return about the curvatures of φ at residuals."""
    step = _DIFFERENCE * (np.abs(r) + float(np.median(np.abs(r))) + 1e-300)
    with np.errstate(all="ignore"):
        found = (tangents(function, r + step).slopes - tangents(function, r - step).slopes) / (
            2 * step
        )
        least = _LEAST_SHARE * np.abs(tangents(function, r).slopes) / np.maximum(np.abs(r), step)
    return np.where(np.isfinite(found), np.maximum(found, least), least)


def check_convex(function: HasSlope, r: Array) -> None:
    """Raise where slopes fall between two residuals, as those of a convex function never do."""
    at = np.unique(np.concatenate([r, np.linspace(r.min(), r.max(), 201)]))
    found = tangents(function, at)
    finite = np.flatnonzero(np.isfinite(found.slopes))
    slopes = found.slopes[finite]
    falls = np.flatnonzero(np.diff(slopes) < -1e-9 * (np.abs(slopes).max(initial=0.0) + 1e-300))
    if falls.size:
        first, second = finite[falls[0]], finite[falls[0] + 1]
        name = type(function).__name__
        raise InvalidInput(
            f"{name} is not convex: its slope falls from {found.slopes[first]:.6g} at r = "
            f"{at[first]:.6g} to {found.slopes[second]:.6g} at r = {at[second]:.6g}. Set convex = "
            "False in the class, and the fit is without a proof; or check value and slope."
        )
