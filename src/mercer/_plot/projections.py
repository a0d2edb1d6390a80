"""Pictures of projections: principal components, discriminants, independent sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import _plot
from mercer._plot import Cloud
from mercer._plot.regions import draw_points
from mercer._typing import Array, Axes

_BINS = 24
"""Bars of a histogram, enough for a few hundred points."""
_INSIDE = 2.447746830680816
"""The radius that holds 95 % of a standard Gaussian in the plane, √(−2 log 0.05)."""


def draw_projection(cloud: Cloud, values: Array | None = None, ax: Axes = None) -> Any:
    """Draw the first two coordinates of points by class, or by a number; return the axes.

    One coordinate alone is drawn as histograms.
    """
    ax = _plot.one(ax)
    if cloud.rows.shape[1] == 1:
        _draw_histograms(ax, cloud)
        ax.set(xlabel=cloud.columns[0], ylabel="density")
        return _plot.bare(ax)
    flat = Cloud(cloud.rows[:, :2], cloud.codes, cloud.names)
    if values is None:
        draw_points(ax, flat)
    else:
        dots = ax.scatter(*flat.rows.T, c=values, cmap="cividis", s=20, linewidths=0)
        ax.figure.colorbar(dots, ax=ax, label="y")
    ax.set(xlabel=cloud.columns[0], ylabel=cloud.columns[1])
    return _plot.bare(ax)


def draw_unit_classes(ax: Any, means: Array, names: Sequence[str]) -> None:
    """Draw Gaussian classes of covariance I: circles that hold 95 %, or densities on a line."""
    if means.shape[1] == 1:
        reach = np.linspace(-4, 4, 161)
        for code, (mean, name) in enumerate(zip(means[:, 0], names, strict=True)):
            colour = _plot.colour_of(code)
            curve = np.exp(-(reach**2) / 2) / np.sqrt(2 * np.pi)
            ax.plot(mean + reach, curve, color=colour, lw=1.8, label=f"_{name}")
            _plot.write(ax, name, (mean, curve.max()), colour, weight="bold", xytext=(0, 7))
        ax.margins(y=0.12)
        return
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = _INSIDE * np.column_stack([np.cos(angle), np.sin(angle)])
    for code, mean in enumerate(means[:, :2]):
        colour = _plot.colour_of(code)
        ax.plot(*(mean + circle).T, color=colour, lw=1.4, zorder=2, label=f"_{names[code]} 95 %")
        ax.plot(*mean, "+", color=colour, ms=10, mew=2, zorder=5, label=f"_{names[code]} mean")
    ax.set_aspect("equal", adjustable="datalim")


def draw_shares(shares: Array, ax: Axes = None) -> Any:
    """Draw the share of each component, and of all up to it; return the axes."""
    ax = _plot.one(ax)
    number = np.arange(1, len(shares) + 1)
    ax.bar(number, shares, color=_plot.SOFT, width=0.7)
    total = np.cumsum(shares)
    ax.plot(number, total, color=_plot.colour_of(0), marker=".")
    _plot.write(ax, "all up to it", (number[-1], total[-1]), _plot.colour_of(0), ha="right",
                va="top", xytext=(0, -7))  # fmt: skip
    _plot.write(ax, "each", (number[-1], shares[-1]), ha="right", va="bottom", xytext=(0, 4))
    ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.05))
    return _plot.bare(ax)


def draw_mixtures(X: Array, S: Array, directions: Array | None, axes: Axes = None) -> Any:
    """Draw two columns of mixtures on the first axes and two sources on the second.

    ``directions`` has the columns along which single sources move the mixtures.
    """
    before, after = _plot.axes(2, axes)
    style = {"ms": 4, "mew": 0, "alpha": 0.6, "color": _plot.colour_of(0)}
    centre, spread = X.mean(axis=0), X.std(axis=0)
    before.plot(*X[:, :2].T, ".", **style)
    if directions is not None:
        for code, way in enumerate(directions[:2, :2].T):
            tip = centre[:2] + 2 * way / np.linalg.norm(way) * float(spread[:2].max())
            before.annotate(
                "", tip, centre[:2],
                arrowprops={"arrowstyle": "->", "color": _plot.ink(before), "lw": 1.6},
            )  # fmt: skip
            _plot.write(before, f"source {code + 1}", tip, xytext=(0, 8))
    after.plot(*S[:, :2].T, ".", **style)
    before.set(title="mixtures", xlabel="column 1", ylabel="column 2")
    after.set(title="sources", xlabel="source 1", ylabel="source 2")
    for ax in (before, after):
        _plot.bare(ax)
    return np.array([before, after], dtype=object)


def _draw_histograms(ax: Any, cloud: Cloud) -> None:
    x = cloud.rows[:, 0]
    edges = np.histogram_bin_edges(x, bins=_BINS)
    codes = np.zeros(len(x), dtype=np.intp) if cloud.codes is None else cloud.codes
    for code in np.unique(codes[codes >= 0]):
        colour = _plot.colour_of(int(code))
        mine = x[codes == code]
        ax.hist(mine, edges, density=True, histtype="stepfilled", color=colour, alpha=0.3)
