"""Pictures of the shares of letters and nodes in one answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes

_LINE = 40
"""Letters on a line, as many as can be read."""


def draw_letters(text: str, shares: Array, axes: Axes = None) -> Any:
    """Draw the letters of a string, each on a colour by its share."""
    lines = max(1, -(-len(text) // _LINE))
    axes = _plot.axes(1, size=(9.0, 0.5 + 0.45 * lines))[0] if axes is None else axes
    reach = float(np.abs(shares).max(initial=0.0)) or 1.0
    for at, (letter, share) in enumerate(zip(text, shares, strict=False)):
        x, y = at % _LINE, -(at // _LINE)
        colour = _plot.GOOD if share >= 0 else _plot.BAD
        axes.add_patch(_square(x, y, colour, 0.85 * abs(float(share)) / reach))
        shown = letter if letter.isprintable() else " "
        axes.text(x, y, shown, ha="center", va="center", family="monospace", color=_plot.INK)
    axes.set_xlim(-0.7, min(len(text), _LINE) - 0.3)
    axes.set_ylim(-lines + 0.3, 0.7)
    axes.set_axis_off()
    axes.set_title(f"share of the answer, up to {reach:.2g} a letter", fontsize=9, loc="left")
    return axes


def draw_nodes(shares: Array, axes: Axes = None) -> Any:
    """Draw a bar for each node."""
    axes = _plot.axes(1)[0] if axes is None else axes
    colours = np.where(shares >= 0, _plot.GOOD, _plot.BAD)
    axes.bar(np.arange(len(shares)), shares, color=colours)
    axes.axhline(0, color=_plot.SOFT, lw=1)
    axes.set_xlabel("node")
    axes.set_ylabel("share of the answer")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def _square(x: float, y: float, colour: str, alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.45), 1.0, 0.9, color=colour, alpha=alpha, lw=0)
