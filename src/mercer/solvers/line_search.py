"""How far to go along a direction."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.functions import (
    Function,
    GivenDerivative,
    GivenFunction,
    as_function,
    as_point,
)

_SMALLEST = 1e-14
"""Steps below this share of the first one move nothing but the last digits of float64."""
_FARTHEST = 1e20
"""Steps that many times the first one, with a slope that still falls, show that f has no end."""


@dataclass(frozen=True)
class Step:
    """A step t along a direction.

    Attributes
    ----------
    size : float
        t; 0 where no step lowers the value any more, inf where it falls for ever.
    value : float
        f(x + t d).
    evaluations : int
        How often f was evaluated.

    Examples
    --------
    >>> from mercer import optimize
    >>> bowl = optimize.QuadraticFunction([[10.0]])
    >>> optimize.line_search(bowl, [1.0], [-10.0])  # the gradient is 10; halved three times
    Step(size=0.125, value=0.3125, evaluations=4)
    """

    size: float
    value: float
    evaluations: int


def backtrack(
    along: Callable[[float], float],
    value: float,
    slope: float,
    share: float = 1e-4,
    shrink: float = 0.5,
    first: float = 1.0,
    slope_along: Callable[[float], float] | None = None,
    hidden: float = 0.0,
    smallest: float = _SMALLEST,
) -> Step:
    """Return the first of the steps t = first, first·shrink, … with a fall of −share·t·slope.

    ``along`` gives the value for a step, ``value`` and ``slope`` < 0 are those at 0. Where values
    differ by no more than rounding, ``slope_along`` is asked whether the step goes too far; without
    it, rises below ``hidden`` times the value are forgiven, which rounding may have made. Steps
    end at ``smallest`` times the first one.
    """
    size, count = first, 0
    rounding = 2 * sys.float_info.epsilon * abs(value)
    while size >= smallest * first:
        reached, count = along(size), count + 1
        if slope_along is not None and abs(reached - value) <= rounding:
            enough = slope_along(size) <= -slope / 2
        else:
            enough = reached <= value + share * size * slope + hidden * abs(value)
        if enough:
            return Step(size, reached, count)
        size *= shrink
    return Step(0.0, value, count)


def exact(
    along: Callable[[float], float],
    slope_along: Callable[[float], float],
    value: float,
    first: float = 1.0,
) -> Step:
    """Return the step at which the slope is zero: the lowest point, where f is convex."""
    count = 0

    def slope(t: float) -> float:
        nonlocal count
        count += 1
        if not math.isfinite(along(t)):
            return start
        found = slope_along(t)
        return found if math.isfinite(found) else start

    # Beyond the domain of f a slope of +1 (in the right units) leads back.
    start = abs(slope_along(0.0)) or 1.0
    low, high = 0.0, first
    while slope(high) < 0:
        low, high = high, 2 * high
        if high > _FARTHEST * first:
            return Step(math.inf, -math.inf, count)
    size = float(
        optimize.brentq(
            lambda t: slope(t) if t > 0 else -start, low, high, xtol=1e-15 * high, maxiter=200
        )
    )
    reached = along(size)
    return Step(size, reached, count) if reached <= value else Step(0.0, value, count)


def line_search(
    f: Function | GivenFunction,
    x: ArrayLike,
    direction: ArrayLike,
    gradient: GivenDerivative = None,
    *,
    method: str = "backtracking",
    share: float = 1e-4,
    shrink: float = 0.5,
    first: float = 1.0,
) -> Step:
    """Return how far to go from x along a direction in which f falls.

    Parameters
    ----------
    f, gradient : functions
        The function and its gradient, which differences replace where it is not given.
    x, direction : arrays
        Where to start, and where to.
    method : {"backtracking", "exact"}
        Backtracking halves the step until f falls by a fair share of what the slope promises
        (Armijo and Goldstein): f(x + td) ≤ f(x) + share·t·∇f(x)ᵀd. The exact search finds where the
        slope is zero.
    share, shrink, first : float
        The fair share (below ½ lets Newton's method take full steps), the factor of each cut, and
        the first step that is tried.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), section 9.2.

    Examples
    --------
    >>> from mercer import optimize
    >>> step = optimize.line_search(lambda x: x[0] ** 2, [1.0], [-1.0], method="exact")
    >>> round(step.size, 6), round(step.value, 6)
    (1.0, 0.0)
    """
    function, x, d = as_function(f, gradient), as_point(x), as_point(direction)
    if x.shape != d.shape:
        raise InvalidInput(f"x has {len(x)} entries and the direction {len(d)}; they must match.")
    search = Search(method, share, shrink, first)
    slope = float(function.gradient(x) @ d)
    if slope >= 0:
        raise InvalidInput(
            f"f does not fall along the direction: its slope is {slope:.3g} and has to be below 0."
        )
    return search(function, x, d, function(x), slope)


class StepRule(Protocol):
    """Says how far to go from x along d, given the value and the slope there."""

    def __call__(
        self, f: Function, x: Array, d: Array, value: float, slope: float, first: float = 1.0
    ) -> Step:
        """Return the step; ``first`` is a good first guess."""
        ...


@dataclass(frozen=True)
class FixedStep:
    """The same step every time, whatever comes of it."""

    size: float

    def __post_init__(self) -> None:
        if not 0 < self.size < math.inf:
            raise InvalidParameter(f"line_search={self.size!r}: a fixed step has to be above 0.")

    def __call__(
        self, f: Function, x: Array, d: Array, value: float, slope: float, first: float = 1.0
    ) -> Step:
        """Return the step from x along d; its value may be larger than before."""
        with np.errstate(all="ignore"):
            return Step(self.size, f(x + self.size * d), 1)


def step_rule(line_search: str | float, share: float, shrink: float) -> StepRule:
    """Return a line search by its name, or a fixed step by its size."""
    if isinstance(line_search, Real) and not isinstance(line_search, bool):
        return FixedStep(float(line_search))
    return Search(str(line_search), share, shrink)


@dataclass(frozen=True)
class Search:
    """A kind of line search with its parameters."""

    method: str = "backtracking"
    share: float = 1e-4
    shrink: float = 0.5
    first: float = 1.0

    def __post_init__(self) -> None:
        if self.method not in ("backtracking", "exact"):
            raise InvalidParameter(
                f"line_search={self.method!r} has to be 'backtracking', 'exact', or a fixed step "
                "above 0."
            )
        if not (0 < self.share < 1 and 0 < self.shrink < 1 and self.first > 0):
            raise InvalidParameter(
                "share and shrink have to lie between 0 and 1, and the first step above 0."
            )

    def __call__(
        self, f: Function, x: Array, d: Array, value: float, slope: float, first: float = 1.0
    ) -> Step:
        """Return the step from x along d."""

        def along(t: float) -> float:
            with np.errstate(all="ignore"):
                reached = f(x + t * d)
            return reached if not math.isnan(reached) else math.inf

        def slope_along(t: float) -> float:
            with np.errstate(all="ignore"):
                return float(f.gradient(x + t * d) @ d)

        first *= self.first
        if self.method == "exact":
            return exact(along, slope_along, value, first)
        return backtrack(along, value, slope, self.share, self.shrink, first, slope_along)
