"""Points that show whether Slater's condition holds, or that a function is not convex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array

ROUNDING = 1e-9
"""What rounding may leave of a residual or of a chord, relative to the values."""


@dataclass(frozen=True, eq=False)
class SlaterPoint:
    """A point that shows whether Slater's condition holds.

    Attributes
    ----------
    x : array
        The point with the most room that was found.
    slack : float
        The largest fᵢ(x) of the constraints that are not affine: below 0 where the condition holds
        (−inf where all are affine).
    affine : float
        The largest violation of affine constraints, which need not be strict.

    Examples
    --------
    >>> from mercer.optimize import ConstrainedProblem, QuadraticFunction
    >>> disc = QuadraticFunction([[2.0]], [0.0], -1.0)  # x² − 1 ≤ 0
    >>> point = ConstrainedProblem(QuadraticFunction([[2.0]]), disc).slater_point()
    >>> point.holds, bool(point.slack < 0)
    (True, True)
    """

    x: Array
    slack: float
    affine: float

    @property
    def holds(self) -> bool:
        """Whether x is strictly feasible, so that strong duality holds for a convex problem."""
        return self.slack < 0 and self.affine <= ROUNDING * (1 + float(np.abs(self.x).max()))


@dataclass(frozen=True, eq=False)
class Violation:
    """Two points between which a function lies above its chord: it is not convex.

    f(θx + (1 − θ)y) > θf(x) + (1 − θ)f(y), by ``excess``.

    Attributes
    ----------
    name : str
        Which function it is.
    x, y : array
        The ends of the chord.
    theta : float
        θ, where between them the function is too high.
    excess : float
        By how much.

    Examples
    --------
    >>> from mercer.optimize import ConstrainedProblem
    >>> found = ConstrainedProblem(lambda x: -float(x @ x), size=1).nonconvexity()
    >>> bool(found.excess > 0), 0 < found.theta < 1
    (True, True)
    """

    name: str
    x: Array
    y: Array
    theta: float
    excess: float
