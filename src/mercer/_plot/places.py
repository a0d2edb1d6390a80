"""Pictures of the shares of letters, time steps and nodes in one answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from mercer import _plot
from mercer._typing import Array, Axes, IntArray

_LINE = 40
"""Letters on a line, as many as can be read."""
_ROUNDS = 200
"""Steps of the layout of a graph; molecules of 50 atoms stand still after about 100."""
_DARKEST = 0.7
"""How strongly the largest share is tinted: letters on it stay readable."""


def draw_letters(text: str, shares: Array, axes: Axes = None) -> Any:
    """Draw the letters of a string, each on a colour by its share."""
    lines = max(1, -(-len(text) // _LINE))
    axes = _plot.axes(1, size=(9.0, 0.7 + 0.45 * lines))[0] if axes is None else axes
    reach = float(np.abs(shares).max(initial=0.0)) or 1.0
    for at, (letter, share) in enumerate(zip(text, shares, strict=False)):
        x, y = at % _LINE, -(at // _LINE)
        axes.add_patch(_square(x, y, _colour(share), _DARKEST * abs(float(share)) / reach))
        if share < 0:
            width = 2.5 * abs(float(share)) / reach
            axes.plot([x - 0.42, x + 0.42], [y - 0.4, y - 0.4], color=_plot.DOWN, lw=width)
        shown = letter if letter.isprintable() else " "
        axes.text(x, y, shown, ha="center", va="center", family="monospace", color=_plot.ink(axes))
    axes.set_xlim(-0.7, min(len(text), _LINE) - 0.3)
    axes.set_ylim(-lines + 0.3, 0.7)
    axes.set_axis_off()
    _name_colours(axes, f"up to {reach:.2g} a letter", "underlined")
    return axes


def draw_nodes(shares: Array, axes: Axes = None) -> Any:
    """Draw a bar for each node."""
    axes = _plot.axes(1)[0] if axes is None else axes
    colours = np.where(shares >= 0, _plot.UP, _plot.DOWN)
    axes.bar(np.arange(len(shares)), shares, color=colours)
    axes.axhline(0, color=_plot.SOFT, lw=1)
    axes.set_xlabel("node")
    axes.set_ylabel("share of the answer")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def draw_graph(edges: IntArray, labels: list[str] | None, shares: Array, axes: Axes = None) -> Any:
    """Draw a graph, each node on a colour by its share."""
    axes = _plot.axes(1, size=(5.0, 4.4))[0] if axes is None else axes
    places = graph_layout(len(shares), edges)
    for u, v in edges:
        axes.plot(*places[[u, v]].T, color=_plot.SOFT, lw=1.5, zorder=1)
    reach = float(np.abs(shares).max(initial=0.0)) or 1.0
    for node, (place, share) in enumerate(zip(places, shares, strict=True)):
        tint = _DARKEST * abs(float(share)) / reach
        axes.plot(*place, "o", ms=17, color="white", mec=_plot.SOFT, zorder=2)
        axes.plot(*place, "o", ms=17, color=_colour(share), alpha=tint, mew=0)
        if share < 0:
            width = 2.5 * abs(float(share)) / reach
            axes.plot(*place, "o", ms=18, mfc="none", mec=_plot.DOWN, mew=width)
        # Discs are white on any paper.
        axes.annotate(
            str(node) if labels is None else labels[node], place, ha="center", va="center",
            fontsize=9, color=_plot.INK,
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.set_axis_off()
    _name_colours(axes, f"up to {reach:.2g} a node", "with a rim")
    return axes


def draw_series(values: Array, shares: Array, axes: Axes = None) -> Any:
    """Draw a series, each step on a colour by its share."""
    axes = _plot.axes(1, size=(7.0, 3.2))[0] if axes is None else axes
    steps = np.arange(len(values))
    reach = float(np.abs(shares).max(initial=0.0)) or 1.0
    for step, share in zip(steps, shares, strict=True):
        part = (0.5, 1.0) if share >= 0 else (0.0, 0.5)
        alpha = _DARKEST * abs(float(share)) / reach
        axes.axvspan(step - 0.5, step + 0.5, *part, color=_colour(share), alpha=alpha, lw=0)
    axes.plot(steps, values, color=_plot.ink(axes), lw=1.8)
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_xlabel("time step")
    _name_colours(axes, f"up to {reach:.2g} a step", "in the lower half")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def graph_layout(size: int, edges: IntArray) -> Array:
    """Return a place in the plane for each node, apart as far as paths between them are long.

    Stress majorisation: Σ (‖pᵤ − pᵥ‖ − dᵤᵥ)²/dᵤᵥ² falls in each step, from classical scaling.
    """
    ends = np.asarray(edges, dtype=np.intp).reshape(-1, 2)
    links = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
    D = np.asarray(csgraph.shortest_path(links.tocsr(), directed=False, unweighted=True))
    far = D[np.isfinite(D)].max(initial=0.0) + 1.0
    D = np.where(np.isfinite(D), D, far)  # parts that nothing connects stand beside each other
    if size < 2:
        return np.zeros((size, 2))
    middle = np.eye(size) - 1.0 / size
    values, vectors = np.linalg.eigh(-0.5 * middle @ D**2 @ middle)
    places = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    places += 1e-3 * np.column_stack([np.cos(np.arange(size)), np.sin(np.arange(size))])
    W = 1.0 / np.maximum(D, 1.0) ** 2
    np.fill_diagonal(W, 0.0)
    inverse = np.linalg.pinv(np.diag(W.sum(axis=1)) - W)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(places[:, None] - places[None, :], axis=2)
        B = -W * D / np.maximum(apart, 1e-9)
        np.fill_diagonal(B, 0.0)
        np.fill_diagonal(B, -B.sum(axis=1))
        places = inverse @ (B @ places)
    return np.asarray(places)


def _colour(share: float) -> str:
    return _plot.UP if share >= 0 else _plot.DOWN


def _name_colours(axes: Any, most: str, sign: str) -> None:
    """Say what the colours are; the sign of a share can be seen in grey, too."""
    words = f"share of the answer, {most}\norange: up; blue, {sign}: down"
    axes.set_title(words, fontsize=9, loc="left")


def _square(x: float, y: float, colour: str, alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.45), 1.0, 0.9, color=colour, alpha=alpha, lw=0)
