"""The compiled loss of logistic regression in two classes, with its derivatives and best bias."""

import math

from mercer._fast.jit import jit
from mercer._typing import Array

_MOST_STEPS = 100
"""Of Newton's method for the bias; few need ten."""
_LONGEST_STEP = 5.0
"""Of the bias, in units of the log odds."""
_ROUNDING = 1e-15
"""Of float64: the slope that is left, as a share of Σ C."""


@jit
def look(z: Array, bias: float, signs: Array, C: Array, p: Array) -> tuple[float, float, float]:
    """Fill ``p`` with the shares of the class +1 at the log odds z + bias.

    Returns the loss Σ C log(1 + exp(−s(z + bias))), minus its slope in the bias, and its curvature.
    """
    loss, slope, curvature = 0.0, 0.0, 0.0
    for i in range(z.size):
        odds = signs[i] * (z[i] + bias)
        e = math.exp(-abs(odds))
        wrong = (e if odds > 0 else 1.0) / (1.0 + e)
        loss += C[i] * (math.log1p(e) - min(odds, 0.0))
        slope += C[i] * signs[i] * wrong
        curvature += C[i] * e / ((1.0 + e) * (1.0 + e))
        p[i] = wrong if signs[i] < 0 else (1.0 if odds > 0 else e) / (1.0 + e)
    return loss, slope, curvature


@jit
def best_bias(z: Array, bias: float, signs: Array, C: Array, p: Array) -> tuple[float, float]:
    """Minimise the loss in the bias, from the given one; returns the bias and the loss.

    Newton's method, in which each step has to shrink the slope: halved until it does.
    """
    loss, slope, curvature = look(z, bias, signs, C, p)
    total = C.sum()
    for _ in range(_MOST_STEPS):
        if abs(slope) <= _ROUNDING * total:
            break
        step = slope / curvature if curvature > 0.0 else slope / total
        step = min(max(step, -_LONGEST_STEP), _LONGEST_STEP)
        moved = False
        for share in (1.0, 0.5, 0.25, 0.1, 0.01):
            trial = look(z, bias + share * step, signs, C, p)
            if abs(trial[1]) < abs(slope):
                bias += share * step
                loss, slope, curvature = trial
                moved = True
                break
        if not moved:
            look(z, bias, signs, C, p)
            break
    return bias, loss
