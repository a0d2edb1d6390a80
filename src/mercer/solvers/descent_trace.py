"""What a descent found, and the way that it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer._deprecated import renamed
from mercer._typing import Array
from mercer.problems.functions import Function
from mercer.solvers.base import Status


@dataclass(frozen=True, eq=False)
class Trace:
    """What a descent passed through.

    Attributes
    ----------
    points : array of shape (steps + 1, n)
        The points, from the start to the answer.
    values : array of shape (steps + 1,)
        The values of f there.
    slopes : array of shape (steps + 1,)
        The size of the gradient there, in the measure by which the method stops.
    sizes : array of shape (steps,)
        The steps t of the line searches.
    function : Function
        f.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optimize import QuadraticFunction, gradient_descent
    >>> trace = gradient_descent(QuadraticFunction(np.diag([1.0, 4.0])), [2.0, 1.0]).trace
    >>> len(trace) + 1 == len(trace.points) == len(trace.values)
    True
    >>> bool((np.diff(trace.values) <= 0).all())  # downhill all the way
    True
    """

    points: Array
    values: Array
    slopes: Array
    sizes: Array
    function: Function = field(repr=False)

    def __len__(self) -> int:
        return len(self.sizes)

    @renamed(axes="ax")
    def plot(self, ax: Any = None, *, contours: bool = True, **style: Any) -> Any:
        """Draw the path on contours of f in the plane, or the values in other dimensions."""
        from mercer._plot.descents import draw_path

        return draw_path(self, ax, contours=contours, **style)

    @renamed(axes="ax")
    def plot_contours(self, ax: Any, limits: Sequence[float] | None = None) -> Any:
        """Draw contours of f around the path, or within limits (x from, to, y from, to)."""
        from mercer._plot.descents import draw_contours

        return draw_contours(self, ax, limits)

    @renamed(axes="ax")
    def plot_values(self, ax: Any = None, **style: Any) -> Any:
        """Draw how far each value is from the last one, on a logarithmic scale."""
        from mercer._plot.descents import draw_values

        return draw_values(self, ax, **style)


@dataclass(frozen=True, eq=False)
class Descent:
    """The answer of a descent, with its way.

    Attributes
    ----------
    x : array
        The point that was reached.
    value : float
        f(x).
    status : str
        ``optimal``, ``max_iter``, ``stalled``, ``unbounded``, or ``diverged`` with fixed steps that
        are too long.
    slope : float
        The size of the gradient at x, by which the method stops: its dual norm; for Newton's method
        the decrement λ, for coordinate ascent the largest slope that a bound does not stop.
    iterations, evaluations : int
        Steps, and evaluations of f in line searches.
    trace : Trace
        All points, values, slopes and steps; ``trace.plot()`` draws them.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optimize import QuadraticFunction, newton
    >>> found = newton(QuadraticFunction(np.diag([1.0, 4.0]), [-1.0, -4.0]), [5.0, 5.0])
    >>> found.status, found.x.round(6), found.iterations  # a quadratic takes one step
    ('optimal', array([1., 1.]), 1)
    """

    x: Array
    value: float
    status: str
    slope: float
    iterations: int
    evaluations: int
    seconds: float
    trace: Trace

    @property
    def advice(self) -> str:
        """What to do about the status."""
        advice = Status(self.status).advice
        # A gradient that is not that of f looks the same.
        return f"{advice} Check the gradient." if self.status == Status.STALLED else advice

    @renamed(axes="ax")
    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the path; see :meth:`Trace.plot`."""
        return self.trace.plot(ax, **style)

    def __repr__(self) -> str:
        return (
            f"Descent({self.status}: value {self.value:.8g}, slope {self.slope:.2g} after "
            f"{self.iterations} steps, {self.evaluations} evaluations)"
        )
