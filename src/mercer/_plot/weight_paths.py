"""Pictures of weights along a path of penalties."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes

_NAMED = 6
"""Weights that get a colour and a name: as many as there are loud colours."""
_LINE = 0.05
"""The height of a name, as a part of the picture's."""


def draw_weight_path(
    alphas: Array, coefs: Array, names: Sequence[str] | None, ax: Axes = None
) -> Any:
    """Draw each weight against α, the largest ones named where they end; return the axes."""
    ax = _plot.one(ax)
    ends = coefs[:, -1]
    loud = np.argsort(-np.abs(ends), kind="stable")[:_NAMED]
    ax.axhline(0, color=_plot.SOFT, lw=0.8)
    named = loud[ends[loud] != 0]
    span = float(np.ptp(coefs)) or 1.0
    heights = dict(zip(named.tolist(), _apart(ends[named], _LINE * span), strict=True))
    for j, weights in enumerate(coefs):
        rank = np.flatnonzero(loud == j)
        colour = _plot.colour_of(int(rank[0])) if rank.size else _plot.SOFT
        name = f"x{j + 1}" if names is None else str(names[j])
        ax.plot(alphas, weights, color=colour, lw=1.6 if rank.size else 0.8, label=f"_{name}")
        if j in heights:
            _plot.write(ax, name, (alphas[-1], heights[j]), colour, ha="left", xytext=(5, 0))
    ax.set_xscale("log")
    ax.set_xlim(alphas.max(), alphas.min())
    ax.set(xlabel="penalty α, falling", ylabel="weight")
    return _plot.bare(ax)


def _apart(values: Array, gap: float) -> Array:
    """Return values that were moved up until no two are nearer than a gap."""
    moved = np.array(values, dtype=float)
    order = np.argsort(moved, kind="stable")
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + gap)
    return moved
