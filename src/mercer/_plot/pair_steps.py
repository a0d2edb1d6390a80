"""Pictures of sequential minimal optimisation, step by step."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes


class HasPairSteps(Protocol):
    """A trace of steps as far as a picture goes."""

    @property
    def objectives(self) -> Array:
        """The objective before each step and at the end."""
        ...

    @property
    def intervals(self) -> Array:
        """L and H of each step."""
        ...

    @property
    def alphas(self) -> Array:
        """All multipliers before each step and at the end."""
        ...

    @property
    def pairs(self) -> Any:
        """The multipliers that moved."""
        ...


def draw_pair_steps(trace: HasPairSteps, axes: Axes = None) -> Any:
    """Draw the objective on the first axes, αⱼ between L and H on the second."""
    rise, intervals = _plot.axes(2, axes)
    rise.plot(trace.objectives, color=_plot.ink(rise), linewidth=1.4)
    rise.set_xlabel("step")
    rise.set_ylabel("objective W(α)")
    steps = np.arange(len(trace.pairs))
    low, high = trace.intervals.T
    moved = trace.pairs[:, 1]
    intervals.vlines(steps, low, high, color=_plot.SOFT, linewidth=2.5)
    intervals.scatter(
        steps,
        trace.alphas[steps, moved],
        s=14,
        facecolor="none",
        edgecolor=_plot.ink(intervals),
        zorder=3,
    )
    intervals.scatter(steps, trace.alphas[steps + 1, moved], s=14, color=_plot.BAD, zorder=3)
    intervals.set_xlabel("step")
    intervals.set_ylabel("αⱼ in [L, H]: before ○, after ●")
    for drawn in (rise, intervals):
        drawn.xaxis.get_major_locator().set_params(integer=True)
    return np.array([rise, intervals], dtype=object)
