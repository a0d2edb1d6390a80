"""Pictures of searches: the curve of one parameter, the grid of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes

_WRITTEN = 80
"""Cells of a grid that numbers still fit into."""


def draw_search(
    params: Sequence[Mapping[str, Any]], scores: Array, spread: Array, ax: Axes = None
) -> Any:
    """Draw the scores of the candidates of a search, as a curve or as a grid."""
    values: dict[str, list[Any]] = {}
    for candidate in params:
        for name, value in candidate.items():
            known = values.setdefault(name, [])
            if value not in known:
                known.append(value)
    for known in values.values():
        with suppress(TypeError):  # values without an order stay in that of the search
            known.sort()
    wide = sorted(values, key=lambda name: -len(values[name]))
    if len(wide) < 2 or len(values[wide[1]]) == 1:
        first = wide[0]
        at = [[i for i, c in enumerate(params) if c.get(first) == v] for v in values[first]]
        best = [
            max(rows, key=lambda i: -np.inf if np.isnan(scores[i]) else scores[i]) for rows in at
        ]
        return draw_search_curve(first, values[first], scores[best], spread[best], ax)
    across, up = wide[0], wide[1]
    grid = np.full((len(values[up]), len(values[across])), np.nan)
    for candidate, score in zip(params, scores, strict=True):
        if across in candidate and up in candidate and not np.isnan(score):
            i, j = values[up].index(candidate[up]), values[across].index(candidate[across])
            grid[i, j] = np.nanmax([grid[i, j], score]) if np.isfinite(grid[i, j]) else score
    return draw_search_grid((across, up), (values[across], values[up]), grid, ax)


def draw_search_curve(
    name: str, values: Sequence[Any], scores: Array, spread: Array, ax: Axes = None
) -> Any:
    """Draw the mean scores of the values of a parameter, with the deviation over folds."""
    ax = _plot.one(ax)
    places = _places(ax.set_xscale, values)
    if places is None:
        places = np.arange(len(values), dtype=float)
        ax.set_xticks(places, [_word(value) for value in values])
    colour = _plot.colour_of(0)
    ax.fill_between(places, scores - spread, scores + spread, color=colour, alpha=0.18, lw=0)
    ax.plot(places, scores, color=colour, marker="o", ms=4, label="_scores")
    best = int(np.nanargmax(scores))
    ax.plot(places[best], scores[best], "*", color=_plot.colour_of(1), ms=13, label="_best")
    _plot.write(ax, f"{scores[best]:.3g}", (places[best], scores[best]), xytext=(0, 12))
    ax.set(xlabel=name, ylabel="score, mean over folds")
    return _plot.bare(ax)


def draw_search_grid(
    names: tuple[str, str], values: tuple[Sequence[Any], Sequence[Any]], scores: Array,
    ax: Axes = None,
) -> Any:  # fmt: skip
    """Draw mean scores as a grid, ``scores[i, j]`` for the i-th value of the second parameter."""
    ax = _plot.one(ax)
    image = ax.imshow(scores, origin="lower", aspect="auto", cmap="cividis")
    ax.figure.colorbar(image, ax=ax, label="score, mean over folds")
    for set_ticks, given in ((ax.set_xticks, values[0]), (ax.set_yticks, values[1])):
        set_ticks(np.arange(len(given)), [_word(value) for value in given])
    ax.tick_params(axis="x", rotation=45 if len(values[0]) > 5 else 0)
    middle = np.nanmean([np.nanmin(scores), np.nanmax(scores)])
    if scores.size <= _WRITTEN:
        for (i, j), score in np.ndenumerate(scores):
            if np.isfinite(score):
                colour = "white" if score < middle else "black"
                shown = f"{score:.2f}"
                ax.text(j, i, shown, ha="center", va="center", fontsize=7, color=colour)
    i, j = np.unravel_index(int(np.nanargmax(scores)), scores.shape)
    from matplotlib.patches import Rectangle

    frame = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=_plot.colour_of(1), lw=2.5)
    frame.set_label("_best")
    ax.add_patch(frame)
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def _places(set_scale: Any, values: Sequence[Any]) -> Array | None:
    """Return numbers as places on a linear or logarithmic scale; None where there are others."""
    try:
        places = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return None
    if not np.isfinite(places).all():
        return None
    if (places > 0).all() and places.max() > 20 * places.min():
        set_scale("log")
    return places


def _word(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)[:24]
