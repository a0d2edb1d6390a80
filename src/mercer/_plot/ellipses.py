"""Pictures of Gaussians: ellipses, axes, marginals and conditionals."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes

_SHARES = (0.5, 0.95)
"""The shares of the probability inside of the ellipses: half, and nearly all."""
_REACH = 3.2
"""Deviations to both sides of the mean that a density is drawn for."""
_HEIGHT = 0.22
"""The part of a picture that a density at its edge takes."""


class HasDensity(Protocol):
    """A Gaussian as far as a picture goes."""

    mean: Array
    covariance: Array

    def __len__(self) -> int: ...

    def density(self, X: Any) -> Array:
        """Return the density at rows."""
        ...

    def contour(self, probability: float = 0.95, points: int = 181) -> Array:
        """Return the ellipse that holds a share of the probability."""
        ...


def draw_density(gaussian: HasDensity, rows: Array | None, ax: Axes = None) -> Any:
    """Draw the density of one number, the middle 95 % filled; return the axes."""
    ax = _plot.one(ax)
    mean, deviation = float(gaussian.mean[0]), float(np.sqrt(gaussian.covariance[0, 0]))
    x = mean + deviation * np.linspace(-_REACH, _REACH, 281)
    curve = gaussian.density(x[:, None])
    colour = _plot.colour_of(0)
    ax.plot(x, curve, color=colour, lw=1.8, label="_density")
    inside = np.abs(x - mean) <= 1.96 * deviation
    ax.fill_between(x, curve, where=inside, color=colour, alpha=0.18, lw=0)
    _plot.write(ax, "95 %", (mean, float(curve.max()) / 2), colour)
    if rows is not None:
        ax.plot(rows[:, 0], np.zeros(len(rows)), "|", color=_plot.ink(ax), ms=10, clip_on=False)
    ax.set(xlabel="x", ylabel="density", ylim=(0, None))
    return _plot.bare(ax)


def draw_ellipses(
    gaussian: HasDensity, variances: Array, directions: Array, rows: Array | None, ax: Axes = None
) -> Any:
    """Draw the ellipses of 50 and 95 %, the principal axes and the points; return the axes."""
    ax = _plot.one(ax)
    colour = _plot.colour_of(0)
    if rows is not None:
        ax.plot(*rows.T, ".", color=_plot.SOFT, ms=4, mew=0, alpha=0.7, zorder=1, label="_data")
    for share in _SHARES:
        ellipse = gaussian.contour(share)
        ax.plot(*ellipse.T, color=colour, lw=1.6, zorder=3, label=f"_{share:.0%}")
        top = ellipse[np.argmax(ellipse[:, 1])]
        plate = {"boxstyle": "square,pad=0.1", "fc": ax.get_facecolor(), "ec": "none"}
        _plot.write(ax, f"{share * 100:g} %", top, colour, zorder=5, bbox=plate)
    for variance, way in zip(variances, directions.T, strict=True):
        ends = gaussian.mean + np.outer([-1, 1], np.sqrt(variance) * way)
        ax.plot(*ends.T, color=_plot.ink(ax), lw=1.2, zorder=4, label="_axis")
    reach = _REACH * np.sqrt(np.diagonal(gaussian.covariance))
    low, high = gaussian.mean - reach, gaussian.mean + reach
    if rows is not None:
        low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
    ax.set(xlabel="x₁", ylabel="x₂", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal")
    return _plot.bare(ax)


def draw_marginal(ax: Any, marginal: HasDensity, coordinate: int) -> None:
    """Draw the density of one coordinate along its edge of the picture."""
    _draw_along(ax, marginal, coordinate, None, _plot.SOFT, "marginal")


def draw_conditional(ax: Any, conditional: HasDensity, given: int, value: float) -> None:
    """Draw the line of a coordinate that is given, and the density of the other one along it."""
    (ax.axvline if given == 0 else ax.axhline)(value, color=_plot.ink(ax), lw=1, ls="--")
    name = f"given x{'₁₂'[given]} = {value:g}"
    _draw_along(ax, conditional, 1 - given, value, _plot.colour_of(1), name)


def _draw_along(
    ax: Any, gaussian: HasDensity, coordinate: int, base: float | None, colour: str, name: str
) -> None:
    """Draw a density over a coordinate, from a line of the other coordinate or the edge."""
    mean, deviation = float(gaussian.mean[0]), float(np.sqrt(gaussian.covariance[0, 0]))
    x = mean + deviation * np.linspace(-_REACH, _REACH, 281)
    height = gaussian.density(x[:, None])
    other = ax.get_ylim() if coordinate == 0 else ax.get_xlim()
    span = (other[1] - other[0]) * _HEIGHT
    floor = other[0] if base is None else base
    y = floor + span * height / height.max()
    line = (x, y) if coordinate == 0 else (y, x)
    ax.plot(*line, color=colour, lw=1.4, zorder=4, label=f"_{name}")
    peak = int(np.argmax(height))
    at = (x[peak], y[peak]) if coordinate == 0 else (y[peak], x[peak])
    _plot.write(ax, name, at, colour, fontsize=8, zorder=6,
                xytext=(0, 7) if coordinate == 0 else (5, 0),
                ha="center" if coordinate == 0 else "left")  # fmt: skip
