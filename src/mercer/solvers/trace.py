"""The way of a descent: every point, and pictures of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array
from mercer.problems.functions import Function

_GRID = 160
_LEVELS = 18


@dataclass(frozen=True, eq=False)
class Trace:
    """What a descent passed through.

    Attributes
    ----------
    points : array of shape (steps + 1, n)
        The points, from the start to the answer.
    values : array of shape (steps + 1,)
        The values of f there.
    slopes : array of shape (steps + 1,)
        The size of the gradient there, in the measure by which the method stops.
    sizes : array of shape (steps,)
        The steps t of the line searches.
    """

    points: Array
    values: Array
    slopes: Array
    sizes: Array
    function: Function = field(repr=False)

    def __len__(self) -> int:
        return len(self.sizes)

    def plot(self, axes: Any = None, *, contours: bool = True, **style: Any) -> Any:
        """Draw the path on contours of f in the plane, or the values in other dimensions."""
        axes = _plot.axes(1)[0] if axes is None else axes
        if self.points.shape[1] != 2:
            return self.plot_values(axes, **style)
        if contours:
            self.plot_contours(axes)
        style = {"color": _plot.BAD, "marker": "o", "markersize": 3, "linewidth": 1.2, **style}
        axes.plot(*self.points.T, **style)
        axes.plot(*self.points[-1], marker="*", markersize=11, color=style["color"])
        return axes

    def plot_contours(self, axes: Any, limits: Any = None) -> Any:
        """Draw contours of f around the path, or within limits (x from, to, y from, to)."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        room = 0.25 * np.maximum(high - low, 0.5 * float((high - low).max()) + 1e-12)
        ends = np.column_stack([low - room, high + room]).ravel() if limits is None else limits
        u = np.linspace(ends[0], ends[1], _GRID)
        v = np.linspace(ends[2], ends[3], _GRID)
        with np.errstate(all="ignore"):
            grid = np.array([[self.function(np.array([a, b])) for a in u] for b in v])
        finite = grid[np.isfinite(grid)]
        # Levels close together near the extreme value, where the path ends.
        shares = np.linspace(0, 1, _LEVELS) ** 2
        down = self.values[-1] <= self.values[0]
        ends_at = finite.min() if down else finite.max()
        span = (finite.max() - finite.min()) * (1 if down else -1)
        levels = np.unique(ends_at + span * shares)
        grid = np.where(np.isfinite(grid), grid, np.nan)
        axes.contour(u, v, grid, levels=levels, colors=_plot.SOFT, linewidths=0.7)
        return axes

    def plot_values(self, axes: Any = None, **style: Any) -> Any:
        """Draw how far each value is from the last one, on a logarithmic scale."""
        axes = _plot.axes(1)[0] if axes is None else axes
        away = np.abs(self.values - self.values[-1])[:-1]
        axes.semilogy(np.where(away > 0, away, np.nan), **{"color": _plot.INK, **style})
        axes.set_xlabel("step")
        axes.set_ylabel("distance from the last value")
        return axes
