"""Compiled parts of Newton's method for losses that are piecewise quadratic.

A residual x is answered by the multiplier β(x) = clip(gain · soft(x, ε), lo, hi), where
soft(x, ε) = sign(x) max(0, |x| − ε); β is the derivative of the loss.
"""

from __future__ import annotations

from mercer._fast.jit import jit
from mercer._typing import Array

_MOST_TRIES = 60
"""Of a line search; halvings alone would use up the digits of float64 by then."""
_ROUNDING = 2e-15
"""What rounding leaves of a slope, as a share of the sizes of its terms: ten units in the last
place."""
_SLOPE_LEFT = 0.05
"""The share of the first slope at which a line search is exact enough for Newton's method."""


@jit
def soft(x: float, epsilon: float) -> float:
    """Pull x towards zero by ε."""
    if x > epsilon:
        return x - epsilon
    if x < -epsilon:
        return x + epsilon
    return 0.0


@jit
def respond(x: Array, gain: Array, lo: Array, hi: Array, epsilon: float, beta: Array) -> None:
    """Fill ``beta`` with the answers to the residuals x."""
    for i in range(x.size):
        beta[i] = min(max(gain[i] * soft(x[i], epsilon), lo[i]), hi[i])


@jit
def slope(
    x: Array, u: Array, t: float, gain: Array, lo: Array, hi: Array, epsilon: float
) -> tuple[float, float, float]:
    """Return the first and second derivative of Σ loss(x − t u) in t, and Σ∣β u∣."""
    first, second, size = 0.0, 0.0, 0.0
    for i in range(x.size):
        pulled = soft(x[i] - t * u[i], epsilon)
        beta = gain[i] * pulled
        if beta <= lo[i]:
            beta = lo[i]
        elif beta >= hi[i]:
            beta = hi[i]
        elif epsilon == 0 or pulled != 0:
            second += gain[i] * u[i] * u[i]
        first -= u[i] * beta
        size += abs(u[i] * beta)
    return first, second, size


@jit
def line_search(
    x: Array,
    u: Array,
    gain: Array,
    lo: Array,
    hi: Array,
    epsilon: float,
    linear: float,
    quadratic: float,
) -> float:
    """Return t > 0 near the minimum of t·linear + ½t²·quadratic + Σ loss(x − t u).

    The function is convex with a continuous slope: Newton's step, bisection where it leaves the
    bracket, until the slope has fallen to a twentieth, or to what rounding leaves of its sum.
    """
    first, _, size = slope(x, u, 0.0, gain, lo, hi, epsilon)
    enough = max(_SLOPE_LEFT * abs(linear + first), _ROUNDING * size)
    low, high, t = 0.0, -1.0, 1.0
    for _ in range(_MOST_TRIES):
        first, second, _ = slope(x, u, t, gain, lo, hi, epsilon)
        here = linear + t * quadratic + first
        if abs(here) <= enough:
            break
        if here > 0:
            high = t
        else:
            low = t
        step = t - here / (quadratic + second)
        if step > low and (high < 0 or step < high):
            t = step
        else:
            t = (low + high) / 2 if high > 0 else 2 * t
    return t
