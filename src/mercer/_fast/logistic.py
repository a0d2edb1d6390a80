"""The compiled loss of logistic regression in two classes, and descent on models of sparse ones."""

import numpy as np

from mercer._fast.exponentials import double
from mercer._fast.jit import jit, jit_formulas, jit_sums
from mercer._fast.piecewise import soft
from mercer._typing import Array, IntArray

MOST_STEPS = 100
"""Of Newton's method for the bias; few need ten."""
LONGEST_STEP = 5.0
"""Of the bias, in units of the log odds."""
SHARES = (1.0, 0.5, 0.25, 0.1, 0.01)
"""Of a step of the bias, tried in turn until the slope shrinks."""
NEAR = 1_024
"""Exponentials that are taken at a time: few enough to stay near the core, many for vectors."""
_FARTHEST_ODDS = 708.0
"""Log odds whose exponential float64 still holds with all its digits."""


@jit_formulas
def _log_of_one_and(e: float) -> float:
    """Return log(1 + e) for 0 ≤ e ≤ 1, in a form that loops over rows can take in vectors.

    With s = e/(2 + e) it is 2(s + s³/3 + s⁵/5 + …), and s ≤ 1/3: the first term left away is below
    2·10⁻¹⁷ of the sum.
    """
    s = e / (2.0 + e)
    t = s * s
    series = 1 / 33.0
    series = series * t + 1 / 31.0
    series = series * t + 1 / 29.0
    series = series * t + 1 / 27.0
    series = series * t + 1 / 25.0
    series = series * t + 1 / 23.0
    series = series * t + 1 / 21.0
    series = series * t + 1 / 19.0
    series = series * t + 1 / 17.0
    series = series * t + 1 / 15.0
    series = series * t + 1 / 13.0
    series = series * t + 1 / 11.0
    series = series * t + 1 / 9.0
    series = series * t + 1 / 7.0
    series = series * t + 1 / 5.0
    series = series * t + 1 / 3.0
    series = series * t + 1.0
    return 2.0 * s * series


@jit_sums
def sum_of(values: Array) -> float:
    """Return the sum of numbers in a loop that writes to no array.

    A loop that does is compiled twice, and where arrays lie in memory says which of the two runs:
    sums in vectors or one after the other, with other last digits.
    """
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@jit_formulas
def _look_near(
    z: Array,
    bias: float,
    signs: Array,
    C: Array,
    p: Array,
    beta: Array,
    powers: Array,
    bends: Array,
) -> None:
    """Fill p and β for a few rows, ``powers`` with their losses and ``bends`` with curvatures."""
    for i in range(z.size):
        powers[i] = -abs(z[i] + bias)
    double(powers)
    for i in range(z.size):
        odds = signs[i] * (z[i] + bias)
        e = powers[i] if abs(odds) < _FARTHEST_ODDS else 0.0
        share = 1.0 / (1.0 + e)
        wrong = e * share if odds > 0 else share
        right = share if odds > 0 else e * share
        pull = C[i] * wrong
        # The largest of −odds and 0, which is not a number where the odds are none.
        powers[i] = C[i] * (_log_of_one_and(e) + 0.5 * (abs(odds) - odds))
        bends[i] = pull * right
        p[i] = wrong if signs[i] < 0 else right
        beta[i] = signs[i] * pull


@jit
def look(
    z: Array, bias: float, signs: Array, C: Array, p: Array, beta: Array
) -> tuple[float, float, float]:
    """Fill ``p`` with the shares of the class +1 at the log odds z + bias, and β with C([+1] − p).

    Returns the loss Σ C log(1 + exp(−s(z + bias))), minus its slope in the bias, and its curvature.
    """
    loss, slope, curvature = 0.0, 0.0, 0.0
    size = min(z.size, NEAR)
    powers, bends = np.empty(size), np.empty(size)
    for start in range(0, z.size, NEAR):
        stop = min(start + NEAR, z.size)
        near = slice(start, stop)
        losses, curved = powers[: stop - start], bends[: stop - start]
        _look_near(z[near], bias, signs[near], C[near], p[near], beta[near], losses, curved)
        loss += sum_of(losses)
        slope += sum_of(beta[near])
        curvature += sum_of(curved)
    return loss, slope, curvature


@jit
def best_bias(
    z: Array, bias: float, signs: Array, C: Array, p: Array, beta: Array, accuracy: float
) -> tuple[float, float, float]:
    """Minimise the loss in the bias, from the given one; returns the bias, the loss and Σ β.

    That is minus the slope that is left, at most ``accuracy`` times Σ C.

    Newton's method, in which each step has to shrink the slope: halved until it does.
    """
    loss, slope, curvature = look(z, bias, signs, C, p, beta)
    total = C.sum()
    for _ in range(MOST_STEPS):
        if abs(slope) <= accuracy * total:
            break
        step = slope / curvature if curvature > 0.0 else slope / total
        step = min(max(step, -LONGEST_STEP), LONGEST_STEP)
        moved = False
        for share in SHARES:
            trial = look(z, bias + share * step, signs, C, p, beta)
            if abs(trial[1]) < abs(slope):
                bias += share * step
                loss, slope, curvature = trial
                moved = True
                break
        if not moved:
            look(z, bias, signs, C, p, beta)
            break
    return bias, loss, slope


@jit_sums
def bias_along(p: Array, C: Array, u: Array) -> float:
    """Return how fast the best bias moves where the log odds z move by u."""
    moved, total = 0.0, 0.0
    for i in range(u.size):
        weight = C[i] * p[i] * (1.0 - p[i])
        moved += weight * u[i]
        total += weight
    return -moved / total if total > 0.0 else 0.0


@jit
def centre_and_weigh(X: Array, means: Array, factors: Array) -> Array:
    """Return the rows of X less the means, each times its factor, in one pass."""
    Z = np.empty(X.shape)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            Z[i, j] = (X[i, j] - means[j]) * factors[i]
    return Z


@jit
def centre_and_share(X: Array, means: Array, roots: Array, P: Array) -> tuple[Array, Array]:
    """Return rows √C p ⊗ (x, 1) and √C (x, 1), x less the means, where ``roots`` are √C."""
    n, d = X.shape
    count, sized = P.shape[1], d + 1
    A, Z = np.empty((n, sized)), np.empty((n, count * sized))
    for i in range(n):
        for j in range(d):
            A[i, j] = (X[i, j] - means[j]) * roots[i]
        A[i, d] = roots[i]
        for c in range(count):
            for j in range(sized):
                Z[i, c * sized + j] = P[i, c] * A[i, j]
    return Z, A


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


@jit
def column_squares(X: Array) -> Array:
    """Return Σ xᵢⱼ² of each column, row after row as they lie in memory."""
    squares = np.zeros(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            squares[j] += X[i, j] * X[i, j]
    return squares
