"""Pictures of what happens over time: losses, scores, bounds of an optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes


def draw_course(
    losses: Sequence[float], name: str, ax: Axes = None, scores: Sequence[float] | None = None
) -> Any:
    """Draw the loss of each round, and the score of rows set aside; return the axes."""
    ax = _plot.one(ax)
    rounds = np.arange(1, len(losses) + 1)
    values = np.asarray(losses, dtype=float)
    ax.plot(rounds, values, color=_plot.colour_of(0), lw=1.8, label="_loss")
    if (values > 0).all() and values.max() > 20 * values.min():
        ax.set_yscale("log")
    _plot.write(ax, f"{values[-1]:.3g}", (rounds[-1], values[-1]), _plot.colour_of(0), ha="left",
                xytext=(5, 0))  # fmt: skip
    ax.set(xlabel="round", ylabel=name)
    _plot.bare(ax)
    if scores:
        other = ax.twinx()
        other.plot(np.arange(1, len(scores) + 1), scores, color=_plot.colour_of(1), ls="--")
        other.set_ylabel("score of the rows set aside", color=_plot.colour_of(1))
        other.spines["top"].set_visible(False)
    return ax


def draw_bounds(lower: Array, upper: Array, seconds: Array, ax: Axes = None) -> Any:
    """Draw the bounds of an optimum against time; one pair alone is a bar; return the axes."""
    ax = _plot.one(ax)
    order = np.argsort(seconds, kind="stable")
    lower, upper, seconds = lower[order], upper[order], seconds[order]
    below, above = _plot.colour_of(0), _plot.colour_of(1)
    ax.fill_between(seconds, lower, upper, color=_plot.SOFT, alpha=0.2, lw=0)
    ax.plot(seconds, upper, color=above, marker="v", ms=5, label="_upper")
    ax.plot(seconds, lower, color=below, marker="^", ms=5, label="_lower")
    if len(seconds) == 1:
        ax.vlines(seconds, lower, upper, color=_plot.ink(ax), lw=1)
        ax.set_xticks(seconds, [f"{seconds[0]:.2g}"])
    last = seconds[-1]
    _plot.write(ax, "primal: the answer", (last, upper[-1]), above, va="bottom", ha="right",
                xytext=(0, 5))  # fmt: skip
    _plot.write(ax, "dual: no answer is below", (last, lower[-1]), below, va="top", ha="right",
                xytext=(0, -5))  # fmt: skip
    ax.margins(y=0.25)
    ax.set(xlabel="seconds", ylabel="objective")
    return _plot.bare(ax)
