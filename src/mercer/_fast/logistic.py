"""The compiled loss of logistic regression in two classes, and descent on models of sparse ones."""

import math

import numpy as np

from mercer._fast.jit import jit
from mercer._fast.piecewise import soft
from mercer._typing import Array, IntArray

_MOST_STEPS = 100
"""Of Newton's method for the bias; few need ten."""
_LONGEST_STEP = 5.0
"""Of the bias, in units of the log odds."""


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
def look_at_classes(
    F: Array, bias: Array, labels: IntArray, C: Array, P: Array, beta: Array, slopes: Array
) -> float:
    """Fill ``P`` with the shares of several classes at F + bias, and β = C(e_y − p).

    ``slopes`` become minus the slopes of the loss in the biases, Σ β. Returns the loss.
    """
    loss = 0.0
    slopes[:] = 0.0
    for i in range(F.shape[0]):
        largest = -np.inf
        for c in range(F.shape[1]):
            P[i, c] = F[i, c] + bias[c]
            largest = max(largest, P[i, c])
        own = P[i, labels[i]] - largest
        total = 0.0
        for c in range(F.shape[1]):
            P[i, c] = math.exp(P[i, c] - largest)
            total += P[i, c]
        loss += C[i] * (math.log(total) - own)
        for c in range(F.shape[1]):
            P[i, c] /= total
            beta[i, c] = -C[i] * P[i, c]
            if c == labels[i]:
                beta[i, c] = C[i] * (1.0 - P[i, c])
            slopes[c] += beta[i, c]
    return loss


@jit
def best_bias(
    z: Array, bias: float, signs: Array, C: Array, p: Array, accuracy: float
) -> tuple[float, float]:
    """Minimise the loss in the bias, from the given one; returns the bias and the loss.

    The slope that is left is at most ``accuracy`` times Σ C.

    Newton's method, in which each step has to shrink the slope: halved until it does.
    """
    loss, slope, curvature = look(z, bias, signs, C, p)
    total = C.sum()
    for _ in range(_MOST_STEPS):
        if abs(slope) <= accuracy * total:
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


@jit
def centre_and_weigh(X: Array, means: Array, factors: Array) -> Array:
    """Return the rows of X less the means, each times its factor, in one pass."""
    Z = np.empty(X.shape)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            Z[i, j] = (X[i, j] - means[j]) * factors[i]
    return Z


@jit
def descend_weights(
    data: Array,
    indices: IntArray,
    starts: IntArray,
    column: IntArray,
    function: IntArray,
    weights: Array,
    P: Array,
    l1: float,
    l2: float,
    curvature: Array,
    pull: Array,
    w: Array,
    U: Array,
    inner: Array,
    order: IntArray,
) -> float:
    """Minimise a quadratic model of the losses in each of the weights once; see ``_ColumnModel``.

    Weight m is that of a column and a function. The columns of a dense matrix follow each other in
    ``data``, with ``starts`` empty; else they are those of a CSC matrix. ``U`` are the changes of
    the functions at the rows and ``inner`` the means Σ_c P U of several functions, both kept; the
    second derivative of the losses times U is weights · (U − inner). ``pull`` is minus the slope of
    the losses at the first weights. Returns the worst violation that it met.
    """
    worst, n = 0.0, len(U)
    for m in order:
        j, c = column[m], function[m]
        slope = pull[m]
        if starts.size == 0:
            begin = j * n
            for i in range(n):
                slope -= data[begin + i] * weights[i, c] * (U[i, c] - inner[i])
        else:
            for at in range(starts[j], starts[j + 1]):
                i = indices[at]
                slope -= data[at] * weights[i, c] * (U[i, c] - inner[i])
        old = w[m]
        left = slope - l2 * old
        if old == 0.0:
            violation = abs(left) - l1
        else:
            violation = abs(left - l1) if old > 0.0 else abs(left + l1)
        bend = curvature[m] + l2
        if not violation > 0.0 or not bend > 0.0:
            continue
        worst = max(worst, violation)
        step = soft(slope + curvature[m] * old, l1) / bend - old
        w[m] = old + step
        if starts.size == 0:
            for i in range(n):
                move = step * data[begin + i]
                U[i, c] += move
                inner[i] += P[i, c] * move
        else:
            for at in range(starts[j], starts[j + 1]):
                i = indices[at]
                move = step * data[at]
                U[i, c] += move
                inner[i] += P[i, c] * move
    return worst


@jit
def move_biases(weights: Array, P: Array, own: Array, U: Array, inner: Array) -> None:
    """Minimise the same model in the bias of each function once; ``own`` are its curvatures."""
    for c in range(U.shape[1]):
        slope, bend = 0.0, 0.0
        for i in range(len(U)):
            slope -= weights[i, c] * (U[i, c] - inner[i])
            bend += own[i, c]
        if not bend > 0.0:
            continue
        step = slope / bend
        for i in range(len(U)):
            U[i, c] += step
            inner[i] += P[i, c] * step
