"""Pictures of norms."""

from __future__ import annotations

from typing import Any, Protocol

from mercer import _plot
from mercer._typing import Array, Axes


class HasUnitBall(Protocol):
    """A norm as far as a picture goes."""

    def unit_ball(self, points: int = 400) -> Array:
        """Return the boundary of the unit ball in the plane, as rows."""
        ...


def draw_ball(norm: HasUnitBall, axes: Axes = None, **style: Any) -> Any:
    """Draw the unit ball in the plane; return the axes."""
    axes = _plot.axes(1)[0] if axes is None else axes
    style = {"color": _plot.ink(axes), "label": repr(norm), **style}
    axes.plot(*norm.unit_ball().T, **style)
    axes.set_aspect("equal")
    return axes
