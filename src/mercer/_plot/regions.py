"""Pictures of classifiers: regions, boundaries and points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer import _plot
from mercer._plot import Cloud
from mercer._typing import Array, Axes, BoolArray, IntArray

_GRID = 160
"""Points along each axis of a picture: boundaries look smooth on a screen."""
_ROOM = 0.08
"""The part of the range of a column that is left free around the points."""
_PALE = 0.16
"""How strongly regions are tinted: points on them stay the loudest."""


def limits(rows: Array) -> Array:
    """Return the ends of each column with some room around them, as rows (from, to)."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    room = _ROOM * np.where(high > low, high - low, 1.0)
    return np.column_stack([low - room, high + room])


def grid_of(rows: Array) -> tuple[Array, Array, Array]:
    """Return the places along both axes of a picture of these points, and all pairs of them."""
    ends = limits(rows)
    u, v = (np.linspace(low, high, _GRID) for low, high in ends)
    return u, v, np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)


def draw_two_classes(
    decide: Callable[[Array], Array], cloud: Cloud, levels: Mapping[float, str], ax: Axes = None
) -> Any:
    """Draw both regions and the lines where the function has given values; return the contours.

    The middle level is the boundary.
    """
    ax = _plot.one(ax)
    u, v, places = grid_of(cloud.rows)
    values = np.asarray(decide(places)).reshape(_GRID, _GRID)
    heights = sorted(levels)
    boundary = heights[len(heights) // 2]
    low, high = min(values.min(), boundary) - 1, max(values.max(), boundary) + 1
    colours = [_plot.colour_of(0), _plot.colour_of(1)]
    ax.contourf(u, v, values, [low, boundary, high], colors=colours, alpha=_PALE)
    lines = ax.contour(
        u, v, values, heights, colors=_plot.ink(ax),
        linestyles=["-" if height == boundary else "--" for height in heights],
        linewidths=[1.6 if height == boundary else 0.9 for height in heights],
    )  # fmt: skip
    return lines


def name_lines(lines: Any, levels: Mapping[float, str], cloud: Cloud) -> None:
    """Write the names of lines into them, each where it is farthest from points and other names.

    A name cuts its line in two: what needs the whole line has to be drawn before.
    """
    ends = limits(cloud.rows)
    taken = (cloud.rows - ends[:, 0]) / np.ptp(ends, axis=1)
    for height, segments in zip(lines.levels, lines.allsegs, strict=True):
        found = [segment for segment in segments if len(segment) > 1]
        if not levels.get(float(height)) or not found:
            continue
        places = (np.concatenate(found) - ends[:, 0]) / np.ptp(ends, axis=1)
        inside = np.minimum(places, 1 - places).min(axis=1)
        away = np.sqrt(((places[:, None] - taken) ** 2).sum(axis=2)).min(axis=1)
        best = int(np.argmax(np.minimum(away, inside)))
        lines.axes.clabel(
            lines, [height], fmt=dict(levels), fontsize=8,
            manual=[tuple(np.concatenate(found)[best])],
        )  # fmt: skip
        taken = np.vstack([taken, places[best]])


def draw_several_classes(decide: Callable[[Array], IntArray], cloud: Cloud, ax: Axes = None) -> Any:
    """Draw the region of each class and the lines between them; return the axes."""
    ax = _plot.one(ax)
    u, v, places = grid_of(cloud.rows)
    codes = np.asarray(decide(places)).reshape(_GRID, _GRID)
    for code in np.unique(codes):
        mine = (codes == code).astype(float)
        colour = _plot.colour_of(int(code))
        ax.contourf(u, v, mine, [0.5, 1.5], colors=[colour], alpha=_PALE)
        if mine.min() < 1:
            ax.contour(u, v, mine, [0.5], colors=_plot.ink(ax), linewidths=1.0)
    return ax


def draw_points(ax: Any, cloud: Cloud, wrong: BoolArray | None = None) -> None:
    """Draw points with a mark for each class, the names of the classes, and crosses on the wrong.

    Points of no class are small dots.
    """
    codes = np.full(len(cloud.rows), -1) if cloud.codes is None else cloud.codes
    ink, paper = _plot.ink(ax), ax.get_facecolor()
    size = 9.0 if cloud.codes is not None and (codes < 0).any() else 5.5  # few among many
    bare = cloud.rows[codes < 0]
    ax.plot(*bare.T, ".", color=_plot.SOFT, ms=5, mew=0, zorder=2, label="_no class")
    for code, name in enumerate(cloud.names):
        mine = cloud.rows[codes == code]
        if not len(mine):
            continue
        ax.plot(
            *mine.T, _plot.marker_of(code), color=_plot.colour_of(code), ms=size, mec=paper,
            mew=0.5, zorder=3, label=f"_{name}",
        )  # fmt: skip
    if wrong is not None and wrong.any():
        ax.plot(*cloud.rows[wrong].T, "x", color=ink, ms=4.5, mew=1.3, zorder=5, label="wrong")
    for code, name in enumerate(cloud.names):
        if (codes == code).any():
            at = cloud.rows[_outermost(cloud.rows, codes, code)]
            shown = f"−{name[1:]}" if name[:1] == "-" and name[1:2].isdigit() else name
            _plot.write(
                ax, shown, at, _plot.colour_of(code), weight="bold", xytext=(0, 9), zorder=6
            )


def frame(ax: Any, cloud: Cloud) -> Any:
    """Set the limits and the names of the columns; return the axes."""
    ends = limits(cloud.rows)
    ax.set_xlim(*ends[0])
    if len(ends) > 1:
        ax.set_ylim(*ends[1])
    ax.set_xlabel(cloud.columns[0])
    if len(cloud.columns) > 1:
        ax.set_ylabel(cloud.columns[1])
    return _plot.bare(ax)


def draw_curve(
    decide: Callable[[Array], Array],
    cloud: Cloud,
    levels: Mapping[float, str],
    heights: tuple[float, float],
    name: str,
    ax: Axes = None,
) -> Any:
    """Draw the function of a classifier over one column; return the axes.

    Points of the first class lie at the first height, those of the second at the other.
    """
    ax = _plot.one(ax)
    low, high = limits(cloud.rows)[0]
    x = np.linspace(low, high, 4 * _GRID)
    ax.plot(x, np.asarray(decide(x[:, None])), color=_plot.ink(ax), lw=1.8, zorder=3)
    for place, level in enumerate(sorted(levels)):
        middle = place == len(levels) // 2
        ax.axhline(level, color=_plot.SOFT, lw=1.2 if middle else 0.8, ls="-" if middle else "--")
    if cloud.codes is not None:
        floor = np.where(cloud.codes > 0, heights[1], heights[0])
        placed = Cloud(np.column_stack([cloud.rows[:, 0], floor]), cloud.codes, cloud.names)
        draw_points(ax, placed)
    ax.set_ylabel(name)
    return frame(ax, Cloud(cloud.rows, columns=cloud.columns))


def _outermost(rows: Array, codes: IntArray, code: int) -> int:
    """Return the point of a class that is farthest from all other classes, where its name fits."""
    mine, others = np.flatnonzero(codes == code), rows[(codes != code) & (codes >= 0)]
    spread = np.ptp(rows, axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    if not len(others):
        return int(mine[np.argmax(rows[mine, 1] if rows.shape[1] > 1 else rows[mine, 0])])
    away = ((rows[mine, None] - others[None]) / scale) ** 2
    return int(mine[np.argmax(away.sum(axis=2).min(axis=1))])
