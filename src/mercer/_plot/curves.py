"""Pictures of regressions: curves with tubes and bands, surfaces, predictions against targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import _plot
from mercer._plot import Cloud
from mercer._plot.regions import frame, grid_of, limits
from mercer._typing import Array, Axes

_PLACES = 400
"""Places at which a curve is drawn: more than a picture has pixels between two bends."""
_LEVELS = 9
"""Contours of a surface, as many as can be labelled."""


def places_of(cloud: Cloud) -> Array:
    """Return places along the one column of these points, for a curve."""
    low, high = limits(cloud.rows)[0]
    return np.linspace(low, high, _PLACES)


def draw_curve(
    predict: Callable[[Array], Array],
    cloud: Cloud,
    targets: Array | None,
    width: float | None,
    ax: Axes = None,
) -> Any:
    """Draw a function of one column, its tube f ± width, and the points; return the axes.

    Points on or outside of the tube are ringed.
    """
    ax = _plot.one(ax)
    x = places_of(cloud)
    values = np.asarray(predict(x[:, None])).reshape(_PLACES, -1)
    for code, column in enumerate(values.T):
        ax.plot(x, column, color=_plot.colour_of(code), lw=2, zorder=3, label="_f")
    if width is not None and values.shape[1] == 1:
        f = values[:, 0]
        ax.fill_between(x, f - width, f + width, color=_plot.colour_of(0), alpha=0.15, lw=0)
        for sign in (-1, 1):
            ax.plot(x, f + sign * width, color=_plot.colour_of(0), lw=0.8, ls="--", label="_tube")
        _plot.write(
            ax, f"f ± {width:.3g}", (x[-1], f[-1] + width), _plot.colour_of(0), ha="right",
            va="bottom", xytext=(0, 3),
        )  # fmt: skip
    if targets is not None:
        given = targets.reshape(len(targets), -1)
        for code, column in enumerate(given.T):
            ax.plot(
                cloud.rows[:, 0], column, "o", color=_plot.colour_of(code + 1), ms=4.5,
                mec=ax.get_facecolor(), mew=0.4, zorder=4, label="_data",
            )  # fmt: skip
        if width is not None and given.shape[1] == 1:
            away = np.abs(given[:, 0] - np.asarray(predict(cloud.rows)).ravel())
            outside = away >= width * (1 - 1e-3)
            ax.scatter(
                cloud.rows[outside, 0], given[outside, 0], s=70, facecolors="none",
                edgecolors=_plot.ink(ax), linewidths=1.1, zorder=5, label="_support",
            )  # fmt: skip
    return frame(ax, cloud)


def draw_rug(ax: Any, places: Array) -> None:
    """Draw a short line at the bottom for each of some places."""
    ax.plot(
        places, np.zeros_like(places), "|", transform=ax.get_xaxis_transform(),
        color=_plot.ink(ax), ms=12, label="_support vectors", clip_on=False,
    )  # fmt: skip


def draw_surface(
    predict: Callable[[Array], Array], cloud: Cloud, targets: Array | None, ax: Axes = None
) -> Any:
    """Draw a function of two columns as labelled contours, the points filled by target."""
    ax = _plot.one(ax)
    u, v, places = grid_of(cloud.rows)
    values = np.asarray(predict(places)).reshape(len(v), len(u))
    seen = values if targets is None else np.append(values, targets)
    span = {"vmin": float(seen.min()), "vmax": float(seen.max())}
    ax.contourf(u, v, values, _LEVELS, cmap="cividis", alpha=0.55, **span)
    style = {"colors": _plot.ink(ax), "linewidths": 0.7, "linestyles": "-"}
    lines = ax.contour(u, v, values, _LEVELS, **style)
    ax.clabel(lines, fontsize=8)
    colours = _plot.SOFT if targets is None else targets
    ax.scatter(
        *cloud.rows.T, c=colours, cmap=None if targets is None else "cividis", s=26,
        edgecolors=ax.get_facecolor(), linewidths=0.6, zorder=3,
        **({} if targets is None else span),
    )  # fmt: skip
    return frame(ax, cloud)


def draw_against(predictions: Array, targets: Array, ax: Axes = None) -> Any:
    """Draw predictions against targets, with the line on which they agree; return the axes."""
    ax = _plot.one(ax)
    ends = [
        float(min(predictions.min(), targets.min())),
        float(max(predictions.max(), targets.max())),
    ]
    ax.plot(ends, ends, color=_plot.SOFT, lw=1.2)
    _plot.write(ax, "agree", (ends[1], ends[1]), _plot.SOFT, ha="right", xytext=(-4, 6))
    ax.plot(targets, predictions, "o", color=_plot.colour_of(0), ms=4, alpha=0.6, mew=0)
    ax.set(xlabel="target", ylabel="prediction")
    return _plot.bare(ax)


def draw_band(
    x: Array,
    mean: Array,
    deviation: Array,
    samples: Array,
    cloud: Cloud,
    targets: Array | None,
    ax: Axes = None,
) -> Any:
    """Draw a process over one column: its mean, where 95 % lie, some samples, and the data."""
    ax = _plot.one(ax)
    colour, reach = _plot.colour_of(0), _REACH * deviation
    ax.fill_between(x, mean - reach, mean + reach, color=colour, alpha=0.18, lw=0, label="_band")
    for sample in samples.T:
        ax.plot(x, sample, color=_plot.SOFT, lw=0.8, zorder=2, label="_sample")
    ax.plot(x, mean, color=colour, lw=2, zorder=3, label="_mean")
    at = int(np.argmax(deviation))
    # Where the band is widest, which is often at an end.
    side = "left" if at < len(x) // 4 else "right" if at > 3 * len(x) // 4 else "center"
    top = (x[at], (mean + reach)[at])
    _plot.write(ax, "95 %", top, colour, ha=side, va="bottom", xytext=(0, 2))
    if targets is not None:
        ax.plot(
            cloud.rows[:, 0], targets, "o", color=_plot.colour_of(1), ms=4.5,
            mec=ax.get_facecolor(), mew=0.4, zorder=4, label="_data",
        )  # fmt: skip
    return frame(ax, cloud)


_REACH = 1.959963984540054
"""Deviations from the mean that 95 % of a Gaussian stay within."""
