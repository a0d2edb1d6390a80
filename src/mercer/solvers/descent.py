"""Descent: along the gradient, in any norm, by Newton's method, one coordinate at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.problems.functions import (
    Function,
    GivenDerivative,
    GivenFunction,
    as_function,
    as_point,
)
from mercer.problems.vector_norms import as_norm
from mercer.solvers.base import Budget, Status
from mercer.solvers.descent_trace import Descent, Trace
from mercer.solvers.line_search import Search, StepRule, step_rule

_DIVERGED = 1e16
"""A value so many times that of the start is as good as infinite."""


class _DescentPath:
    """Collects the trace of a descent."""

    def __init__(self, function: Function, x: Array, value: float) -> None:
        self.function, self.began = function, time.perf_counter()
        self.points, self.values = [x.copy()], [value]
        self.slopes: list[float] = []
        self.sizes: list[float] = []
        self.evaluations = 0

    def add(self, x: Array, value: float, size: float) -> None:
        self.points.append(x.copy())
        self.values.append(value)
        self.sizes.append(size)

    def end(self, status: str, slope: float) -> Descent:
        slopes = np.full(len(self.points), np.nan)
        slopes[: len(self.slopes)] = self.slopes[: len(slopes)]
        slopes[-1] = slope
        trace = Trace(
            np.array(self.points),
            np.array(self.values),
            slopes,
            np.array(self.sizes),
            self.function,
        )
        seconds = time.perf_counter() - self.began
        x, value = self.points[-1], self.values[-1]
        steps = len(self.sizes)
        return Descent(x, value, status, slope, steps, self.evaluations, seconds, trace)


def gradient_descent(
    f: Function | GivenFunction,
    x0: ArrayLike,
    gradient: GivenDerivative = None,
    *,
    line_search: str | float = "backtracking",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    share: float = 1e-4,
    shrink: float = 0.5,
) -> Descent:
    """Minimise f along its gradient: x ← x − t∇f(x).

    Parameters
    ----------
    f, gradient : functions
        The function and its gradient, which differences replace where it is not given; or a
        :class:`Function`.
    x0 : array
        Where to start.
    line_search : {"backtracking", "exact"} or float
        How steps are found, see :func:`line_search`; a number is a fixed step t. On a quadratic
        with the largest curvature L a fixed step converges for t < 2/L and is best near 1/L; longer
        ones diverge, and far shorter ones take for ever. A search starts at t = 1, later at four
        times the last step, so that a poor scale of f costs once; Newton's method never tries more
        than 1.
    tol : float
        It ends when ‖∇f(x)‖ ≤ tol.
    max_iter : int
        The most steps.
    share, shrink : float
        Parameters of backtracking.

    Examples
    --------
    >>> from mercer import optimize
    >>> bowl = optimize.QuadraticFunction([[1.0, 0.0], [0.0, 10.0]])
    >>> for t in (0.001, 0.15, 0.21):
    ...     down = optimize.gradient_descent(bowl, [1.0, 1.0], line_search=t, max_iter=1000)
    ...     print(t, down.status, down.iterations)
    0.001 max_iter 1000
    0.15 optimal 86
    0.21 diverged 193
    """
    return steepest_descent(
        f,
        x0,
        gradient,
        norm=2,
        line_search=line_search,
        tol=tol,
        max_iter=max_iter,
        share=share,
        shrink=shrink,
    )


def steepest_descent(
    f: Function | GivenFunction,
    x0: ArrayLike,
    gradient: GivenDerivative = None,
    *,
    norm: Any = 2,
    line_search: str | float = "backtracking",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    share: float = 1e-4,
    shrink: float = 0.5,
) -> Descent:
    """Minimise f along the steepest direction of a norm.

    d = ‖∇f(x)‖* · argmin {∇f(x)ᵀv : ‖v‖ ≤ 1}

    In L2 this is gradient descent, in L1 it moves one coordinate at a time, in L∞ all by the same
    amount, and in the norm of the Hessian it is Newton's method.

    Parameters
    ----------
    f, x0, gradient, line_search, tol, max_iter, share, shrink
        As in :func:`gradient_descent`; it ends when the dual norm of the gradient is at most tol.
    norm : Norm, 1, 2, inf, array or function
        A norm of ``mercer.norms``, the p of an Lp norm, the matrix P of a quadratic norm, or a
        function that gives one of these for each x.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), section 9.4.

    Examples
    --------
    >>> from mercer import optimize
    >>> bowl = optimize.QuadraticFunction([[1.0, 0.0], [0.0, 10.0]])
    >>> down = optimize.steepest_descent(bowl, [1.0, 1.0], norm=1, line_search="exact")
    >>> down.trace.points[:2]  # one coordinate at a time
    array([[1., 1.],
           [1., 0.]])
    """
    norm_at = norm if callable(norm) and not hasattr(norm, "steepest") else None
    fixed = None if norm_at is not None else as_norm(norm)

    def direction(x: Array, g: Array) -> tuple[Array, float]:
        measure = as_norm(norm_at(x)) if norm_at is not None else fixed
        assert measure is not None
        size = float(measure.dual()(g))
        return size * measure.steepest(g), size

    search = step_rule(line_search, share, shrink)
    # In a norm of its own at each x, the step 1 is the right one, as in Newton's method.
    longest = math.inf if norm_at is None else 1.0
    budget = Budget(tol=tol, max_iter=max_iter)
    return descend(as_function(f, gradient), x0, direction, search, budget, longest)


def newton(
    f: Function | GivenFunction,
    x0: ArrayLike,
    gradient: GivenDerivative = None,
    hessian: GivenDerivative = None,
    *,
    line_search: str | float = "backtracking",
    tol: float = 1e-6,
    max_iter: int = 200,
    share: float = 1e-4,
    shrink: float = 0.5,
) -> Descent:
    """Minimise f by Newton's method: x ← x − t (∇²f)⁻¹∇f.

    It is steepest descent in the norm of the Hessian. Where the Hessian is not positive definite, a
    multiple of the identity is added until it is, so that the direction still leads down.

    Parameters
    ----------
    f, x0, gradient, line_search, max_iter, share, shrink
        As in :func:`gradient_descent`.
    hessian : function, optional
        The second derivatives; by differences where they are not given.
    tol : float
        It ends when the decrement λ = √(∇fᵀ(∇²f)⁻¹∇f) is at most tol; λ²/2 estimates f(x) − min f.

    Examples
    --------
    >>> from mercer import optimize
    >>> down = optimize.newton(lambda x: x[0] - 2 * x[0] ** 0.5, [2.0])
    >>> down.x.round(4), down.status
    (array([1.]), 'optimal')
    """
    function = as_function(f, gradient, hessian)

    def direction(x: Array, g: Array) -> tuple[Array, float]:
        step = -linalg.cho_solve(_definite_factor(function.hessian(x)), g)
        return step, math.sqrt(max(-float(g @ step), 0.0))

    search = step_rule(line_search, share, shrink)
    return descend(function, x0, direction, search, Budget(tol=tol, max_iter=max_iter), longest=1.0)


def coordinate_ascent(
    f: Function | GivenFunction,
    x0: ArrayLike,
    gradient: GivenDerivative = None,
    *,
    lower: ArrayLike = -math.inf,
    upper: ArrayLike = math.inf,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> Descent:
    """Maximise f one coordinate at a time, each to its best value between its bounds.

    Parameters
    ----------
    f, x0, gradient
        As in :func:`gradient_descent`; f is to be concave in each coordinate.
    lower, upper : float or array
        Bounds of the coordinates.
    tol : float
        It ends when no slope exceeds tol but those that a bound stops.
    max_iter : int
        The most rounds over all coordinates; the trace has a point for each step.

    Examples
    --------
    >>> from mercer import optimize
    >>> hill = optimize.QuadraticFunction([[-2.0, 1.0], [1.0, -2.0]], [3.0, 0.0])
    >>> optimize.coordinate_ascent(hill, [0.0, 0.0], upper=1.5).x.round(4)
    array([1.5 , 0.75])
    """
    function, x = as_function(f, gradient), as_point(x0)
    low = np.broadcast_to(np.asarray(lower, np.float64), x.shape)
    high = np.broadcast_to(np.asarray(upper, np.float64), x.shape)
    if (low > high).any():
        j = int(np.argmax(low > high))
        raise InvalidInput(f"Coordinate {j} has no room: its bounds are {low[j]} and {high[j]}.")
    x = np.clip(x, low, high)
    value = _finite_value(function, x)
    path, search, slope = _DescentPath(function, x, value), Search("exact"), math.inf
    down = Function(lambda z: -function(z), lambda z: -function.jacobian(z))
    for _ in range(max_iter):
        before = x.copy()
        for j in range(len(x)):
            g = float(function.gradient(x)[j])
            room = high[j] - x[j] if g > 0 else x[j] - low[j]
            if abs(g) <= tol / 2 or room <= 0:
                continue
            axis = np.zeros(len(x))
            axis[j] = math.copysign(min(1.0, room) if math.isfinite(room) else 1.0, g)
            step = search(down, x, axis, -value, -abs(g))
            path.evaluations += step.evaluations
            size = min(step.size, room / abs(axis[j]))
            if math.isinf(size):
                return path.end("unbounded", math.inf)
            if size > 0:
                x = np.clip(x + size * axis, low, high)
                value = function(x)
                path.add(x, value, size * abs(axis[j]))
        slopes = function.gradient(x)
        free = np.where(slopes > 0, x < high, x > low)
        slope = float(np.abs(slopes[free]).max(initial=0.0))
        if slope <= tol:
            return path.end("optimal", slope)
        if (x == before).all():
            return path.end("stalled", slope)
    return path.end("max_iter", slope)


def descend(
    function: Function,
    x0: ArrayLike,
    direction: Callable[[Array, Array], tuple[Array, float]],
    search: StepRule,
    budget: Budget,
    longest: float,
) -> Descent:
    """Go down along directions that come with the measure by which to stop."""
    x = as_point(x0)
    value = _finite_value(function, x)
    path, first = _DescentPath(function, x, value), 1.0
    most = value + _DIVERGED * max(abs(value), 1.0)
    while True:
        g = function.gradient(x)
        if not np.isfinite(g).all():
            raise InvalidInput(f"The gradient is not finite at step {len(path.sizes)}.")
        d, slope = direction(x, g)
        path.slopes.append(slope)
        status = Status.OPTIMAL if slope <= budget.tol else budget.stop(slope, len(path.sizes))
        if status is not None:
            return path.end(str(status), slope)
        step = search(function, x, d, value, float(g @ d), first)
        path.evaluations += step.evaluations
        if step.size == 0.0:
            return path.end("stalled", slope)
        if math.isinf(step.size) or step.value == -math.inf:
            return path.end("unbounded", slope)
        if not step.value <= most:  # no search goes up, but a fixed step may
            return path.end("diverged", slope)
        # The next search starts near the last step, so that a poor scale costs once.
        first = min(longest, 4 * step.size)
        x, value = x + step.size * d, step.value
        path.add(x, value, step.size)


def _finite_value(function: Function, x: Array) -> float:
    value = function(x)
    if not math.isfinite(value):
        raise InvalidInput(f"The value at the start is {value}; start where it is finite.")
    return value


def _definite_factor(H: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor of H, lifted by a multiple of the identity where it must be."""
    size = float(np.abs(H).max()) or 1.0
    lift = 0.0
    while True:
        try:
            factor: tuple[Array, bool] = linalg.cho_factor(H + lift * np.eye(len(H)))
            return factor
        except linalg.LinAlgError:
            lift = max(4 * lift, 1e-10 * size)
