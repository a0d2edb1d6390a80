"""Pictures of margins: support vectors by kind, and slacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array

_SLACK = 1e-2
"""Slacks below this cannot be seen; the tolerance of a fit leaves some of 10⁻³."""


def draw_support(ax: Any, free: Array, bound: Array, name: str) -> None:
    """Draw a full ring around points of a kind with a name, a dotted one where α = C."""
    ink = _plot.ink(ax)
    style = {"facecolors": "none", "edgecolors": ink, "s": 80, "zorder": 4}
    if len(free):
        ax.scatter(*free.T, linewidths=1.4, label=name, **style)
    if len(bound):
        ax.scatter(*bound.T, linewidths=1.0, linestyles=":", label="α = C", **style)


def draw_slacks(ax: Any, lines: Any, rows: Array, signs: Array, slack: Array) -> None:
    """Draw a line from each point with slack to the nearest place of its margin, f = ±1.

    ``lines`` are contours, the margin of the first class first and that of the second last.
    """
    from matplotlib.collections import LineCollection

    margins = {-1.0: lines.allsegs[0], 1.0: lines.allsegs[-1]}
    drawn = [
        np.stack([row, _nearest(row, [s for s in margins[float(sign)] if len(s) > 1])])
        for row, sign, size in zip(rows, signs, slack, strict=True)
        if size > _SLACK and any(len(s) > 1 for s in margins[float(sign)])
    ]
    if drawn:
        # Ends at the border of the picture would show a slack that is too long.
        ax.add_collection(
            LineCollection(drawn, colors=_plot.SOFT, linewidths=0.9, zorder=1.5, label="slack ξ"),
            autolim=False,
        )


def name_kinds(ax: Any) -> None:
    """Say what rings, crosses and thin lines are, where there are any."""
    handles, names = ax.get_legend_handles_labels()
    if names:
        ax.legend(handles, names, fontsize=8, frameon=True, framealpha=0.75, edgecolor="none")


def _nearest(point: Array, segments: list[Array]) -> Array:
    """Return the place on some lines that is nearest to a point."""
    starts = np.concatenate([segment[:-1] for segment in segments])
    steps = np.concatenate([np.diff(segment, axis=0) for segment in segments])
    squares = np.maximum((steps**2).sum(axis=1), np.finfo(float).tiny)
    share = np.clip(((point - starts) * steps).sum(axis=1) / squares, 0.0, 1.0)
    places = starts + share[:, None] * steps
    return np.asarray(places[np.argmin(((places - point) ** 2).sum(axis=1))])
