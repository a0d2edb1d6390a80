"""Pictures of the shares of columns in answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes


def draw_bars(names: Sequence[str], shares: Array, base: float, axes: Axes = None) -> Any:
    """Draw the shares of one answer as bars, the largest on top."""
    axes = _plot.axes(1)[0] if axes is None else axes
    places = np.arange(len(names))[::-1]
    colours = np.where(shares >= 0, _plot.UP, _plot.DOWN)
    axes.barh(places, shares, color=colours, height=0.62)
    reach = float(np.abs(shares).max(initial=0.0)) or 1.0
    for place, share in zip(places, shares, strict=True):
        right = share >= 0
        axes.annotate(
            f"{share:+.2g}".replace("-", "−"), (share, place), xytext=(4 if right else -4, 0),
            textcoords="offset points", va="center", ha="left" if right else "right", fontsize=9,
        )  # fmt: skip
    axes.axvline(0, color=_plot.SOFT, lw=1)
    axes.set_yticks(places, names)
    axes.set_xlim(-1.25 * reach if shares.min(initial=0) < 0 else -0.05 * reach, 1.25 * reach)
    axes.set_xlabel(f"share of the answer, from {base:.3g} without any column")
    _bare(axes)
    return axes


def draw_dots(
    names: Sequence[str], shares: Array, ranks: Sequence[Array | None], axes: Axes = None
) -> Any:
    """Draw the shares of many answers, a dot each, the most important column on top.

    ``ranks`` between 0 and 1 say how high a row is in a column; the dots of others are dark.
    """
    axes = _plot.axes(1)[0] if axes is None else axes
    for position, (values, heights) in enumerate(zip(shares.T, ranks, strict=True)):
        place = len(names) - 1 - position
        colours: Any = _plot.ink(axes) if heights is None else _plot.between(heights)
        axes.scatter(values, place + _spread(values), s=9, c=colours, alpha=0.8, lw=0)
    axes.axvline(0, color=_plot.SOFT, lw=1)
    axes.set_yticks(np.arange(len(names))[::-1], names)
    coloured = any(heights is not None for heights in ranks)
    words = "\n(blue: the column is low, orange: high)" if coloured else ""
    axes.set_xlabel(f"share of the answer, one dot a row{words}")
    _bare(axes)
    return axes


def draw_sizes(names: Sequence[str], sizes: Array, what: str, axes: Axes = None) -> Any:
    """Draw sizes as bars, the largest on top."""
    axes = _plot.axes(1)[0] if axes is None else axes
    places = np.arange(len(names))[::-1]
    axes.barh(places, sizes, color=_plot.ink(axes), height=0.62)
    for place, size in zip(places, sizes, strict=True):
        axes.annotate(f"{size:.2g}", (size, place), xytext=(4, 0), textcoords="offset points",
                      va="center", fontsize=9)  # fmt: skip
    axes.set_yticks(places, names)
    axes.margins(x=0.12)
    axes.set_xlabel(what)
    _bare(axes)
    return axes


def draw_dependence(name: str, places: Array, shares: Array, axes: Axes = None) -> Any:
    """Draw the shares of one column against its values, a dot a row."""
    axes = _plot.axes(1)[0] if axes is None else axes
    axes.plot(places, shares, ".", color=_plot.ink(axes), alpha=0.45, ms=6, mew=0)
    axes.axhline(0, color=_plot.SOFT, lw=1)
    axes.set_xlabel(name)
    axes.set_ylabel(f"share of {name}")
    _bare(axes)
    return axes


def draw_curves(
    grid: Array, values: Array, labels: Sequence[str] | None, name: str, axes: Axes = None
) -> Any:
    """Draw the mean answer over the values of a column, one curve for each label."""
    axes = _plot.axes(1)[0] if axes is None else axes
    columns = values.reshape(len(grid), -1).T
    for curve, label in zip(columns, labels or [""] * len(columns), strict=True):
        axes.plot(grid, curve, lw=2, label=label, color=None if labels else _plot.ink(axes))
    if labels:
        axes.legend(frameon=False)
    axes.set_xlabel(name)
    axes.set_ylabel("mean answer")
    _bare(axes)
    return axes


def draw_intervals(
    names: Sequence[str], values: Array, low: Array, high: Array, axes: Axes = None
) -> Any:
    """Draw values with their intervals, the first on top."""
    axes = _plot.axes(1)[0] if axes is None else axes
    places = np.arange(len(names))[::-1]
    axes.hlines(places, low, high, color=_plot.SOFT, lw=3)
    axes.plot(values, places, "o", color=_plot.ink(axes), ms=5)
    axes.axvline(0, color=_plot.SOFT, lw=1)
    axes.set_yticks(places, names)
    axes.set_xlabel("growth of the error when the column is shuffled")
    _bare(axes)
    return axes


def _spread(values: Array) -> Array:
    """Return small offsets that keep dots of a crowded place apart, the same in every run."""
    if np.ptp(values) == 0:
        return np.zeros(len(values))
    counts, edges = np.histogram(values, bins=min(40, max(len(values) // 4, 1)))
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(counts) - 1)
    offsets = np.zeros(len(values))
    for b in np.flatnonzero(counts > 1):
        inside = np.flatnonzero(bins == b)
        width = 0.35 * counts[b] / counts.max()
        offsets[inside] = np.linspace(-width, width, len(inside))
    return offsets


def _bare(axes: Any) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
