"""Pictures of the way of a descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes

_GRID = 160
"""Points along each axis at which f is evaluated: contours look smooth on a screen."""
_LEVELS = 18
"""Contours, as many as can be told apart."""


class HasPath(Protocol):
    """A trace as far as a picture goes."""

    @property
    def points(self) -> Array:
        """The points, as rows."""
        ...

    @property
    def values(self) -> Array:
        """The values at the points."""
        ...

    @property
    def function(self) -> Callable[[Array], float]:
        """The function that was descended."""
        ...


def draw_path(trace: HasPath, axes: Axes = None, *, contours: bool = True, **style: Any) -> Any:
    """Draw the path on contours of f in the plane, or the values in other dimensions."""
    axes = _plot.axes(1)[0] if axes is None else axes
    if trace.points.shape[1] != 2:
        return draw_values(trace, axes, **style)
    if contours:
        draw_contours(trace, axes)
    style = {"color": _plot.BAD, "marker": "o", "markersize": 3, "linewidth": 1.2, **style}
    axes.plot(*trace.points.T, **style)
    axes.plot(*trace.points[-1], marker="*", markersize=11, color=style["color"])
    return axes


def draw_contours(trace: HasPath, axes: Axes, limits: Sequence[float] | None = None) -> Any:
    """Draw contours of f around the path, or within limits (x from, to, y from, to)."""
    low, high = trace.points.min(axis=0), trace.points.max(axis=0)
    room = 0.25 * np.maximum(high - low, 0.5 * float((high - low).max()) + 1e-12)
    ends = np.column_stack([low - room, high + room]).ravel() if limits is None else limits
    u = np.linspace(ends[0], ends[1], _GRID)
    v = np.linspace(ends[2], ends[3], _GRID)
    with np.errstate(all="ignore"):
        grid = np.array([[trace.function(np.array([a, b])) for a in u] for b in v])
    finite = grid[np.isfinite(grid)]
    # Levels close together near the extreme value, where the path ends.
    shares = np.linspace(0, 1, _LEVELS) ** 2
    down = trace.values[-1] <= trace.values[0]
    ends_at = finite.min() if down else finite.max()
    span = (finite.max() - finite.min()) * (1 if down else -1)
    levels = np.unique(ends_at + span * shares)
    grid = np.where(np.isfinite(grid), grid, np.nan)
    axes.contour(u, v, grid, levels=levels, colors=_plot.SOFT, linewidths=0.7)
    return axes


def draw_values(trace: HasPath, axes: Axes = None, **style: Any) -> Any:
    """Draw how far each value is from the last one, on a logarithmic scale."""
    axes = _plot.axes(1)[0] if axes is None else axes
    away = np.abs(trace.values - trace.values[-1])[:-1]
    axes.semilogy(np.where(away > 0, away, np.nan), **{"color": _plot.ink(axes), **style})
    axes.set_xlabel("step")
    axes.set_ylabel("distance from the last value")
    return axes
