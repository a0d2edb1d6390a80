"""The compiled loss of logistic regression in two classes, and descent on models of sparse ones."""

import math

import numpy as np

from mercer._fast.exponentials import double, logarithms
from mercer._fast.jit import jit, jit_formulas, jit_sums
from mercer._fast.piecewise import soft
from mercer._typing import Array, IntArray

_MOST_STEPS = 100
"""Of Newton's method for the bias; few need ten."""
_LONGEST_STEP = 5.0
"""Of the bias, in units of the log odds."""
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.01)
"""Of a step of the bias, tried in turn until the slope shrinks."""
_NEAR = 1_024
"""Exponentials that are taken at a time: few enough to stay near the core, many for vectors."""
_FARTHEST_ODDS = 708.0
"""Log odds whose exponential float64 still holds with all its digits."""
_FAR_ODDS = 300.0
"""Log odds up to which sums of exponentials are far from the ends of float64."""
_FEW_CLASSES = 5
"""Classes whose products take less time in plain loops than in BLAS."""
_DEPENDENT = 1e-12
"""Pivots, as a share of the largest entry, that are no more than rounding."""


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
def _sum(values: Array) -> float:
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
    size = min(z.size, _NEAR)
    powers, bends = np.empty(size), np.empty(size)
    for start in range(0, z.size, _NEAR):
        stop = min(start + _NEAR, z.size)
        near = slice(start, stop)
        losses, curved = powers[: stop - start], bends[: stop - start]
        _look_near(z[near], bias, signs[near], C[near], p[near], beta[near], losses, curved)
        loss += _sum(losses)
        slope += _sum(beta[near])
        curvature += _sum(curved)
    return loss, slope, curvature


@jit
def look_at_classes(
    F: Array, bias: Array, labels: IntArray, C: Array, P: Array, beta: Array, slopes: Array
) -> float:
    """Fill ``P`` with the shares of several classes at F + bias, and β = C(e_y − p).

    ``slopes`` become minus the slopes of the loss in the biases, Σ β. Returns the loss.
    """
    loss, (n, count) = 0.0, F.shape
    slopes[:] = 0.0
    step = max(1, min(n, _NEAR // count))
    biases = np.empty(step * count)
    for k in range(step * count):
        biases[k] = bias[k % count]
    losses, totals = np.empty(step), np.empty(step)
    for start in range(0, n, step):
        stop = min(start + step, n)
        near, size = slice(start, stop), stop - start
        flat = P[near].reshape(-1)
        if not _shift(F[near].reshape(-1), biases, flat) <= _FAR_ODDS**2:
            _lower_rows(P[near])
        for i in range(size):
            losses[i] = -P[start + i, labels[start + i]]
        double(flat)
        _share_classes(P[near], labels[near], C[near], beta[near], slopes, totals[:size])
        logarithms(totals[:size])
        for i in range(size):
            losses[i] = C[start + i] * (totals[i] + losses[i])
        loss += _sum(losses[:size])
    return loss


@jit_sums
def _shift(F: Array, biases: Array, out: Array) -> float:
    """Fill ``out`` with F + biases and return the sum of their squares."""
    squares = 0.0
    for k in range(F.size):
        out[k] = F[k] + biases[k]
        squares += out[k] * out[k]
    return squares


@jit
def _lower_rows(P: Array) -> None:
    """Take the largest number off each row, so that no exponential overflows."""
    for i in range(P.shape[0]):
        largest = P[i, 0]
        for c in range(P.shape[1]):
            largest = max(largest, P[i, c])
        for c in range(P.shape[1]):
            P[i, c] -= largest


@jit
def _share_classes(
    P: Array, labels: IntArray, C: Array, beta: Array, slopes: Array, totals: Array
) -> None:
    """Turn exponentials into shares, fill β, add it to the slopes, and fill the totals."""
    count = P.shape[1]
    for i in range(P.shape[0]):
        total = 0.0
        for c in range(count):
            total += P[i, c]
        totals[i] = total
        share, price = 1.0 / total, -C[i]
        for c in range(count):
            P[i, c] *= share
            beta[i, c] = price * P[i, c]
        own = labels[i]
        beta[i, own] = C[i] * (1.0 - P[i, own])
        for c in range(count):
            slopes[c] += beta[i, c]


@jit
def best_bias(
    z: Array, bias: float, signs: Array, C: Array, p: Array, beta: Array, accuracy: float
) -> tuple[float, float]:
    """Minimise the loss in the bias, from the given one; returns the bias and the loss.

    The slope that is left is at most ``accuracy`` times Σ C.

    Newton's method, in which each step has to shrink the slope: halved until it does.
    """
    loss, slope, curvature = look(z, bias, signs, C, p, beta)
    total = C.sum()
    for _ in range(_MOST_STEPS):
        if abs(slope) <= accuracy * total:
            break
        step = slope / curvature if curvature > 0.0 else slope / total
        step = min(max(step, -_LONGEST_STEP), _LONGEST_STEP)
        moved = False
        for share in _SHARES:
            trial = look(z, bias + share * step, signs, C, p, beta)
            if abs(trial[1]) < abs(slope):
                bias += share * step
                loss, slope, curvature = trial
                moved = True
                break
        if not moved:
            look(z, bias, signs, C, p, beta)
            break
    return bias, loss


@jit
def best_biases(
    F: Array,
    bias: Array,
    labels: IntArray,
    C: Array,
    P: Array,
    beta: Array,
    slopes: Array,
    accuracy: float,
) -> float:
    """Minimise the loss in the biases of several classes, in place; returns the loss.

    The same method with one slope for each class.
    """
    loss = look_at_classes(F, bias, labels, C, P, beta, slopes)
    total = C.sum()
    step, before = np.empty(bias.size), np.empty(bias.size)
    for _ in range(_MOST_STEPS):
        if np.abs(slopes).max() <= accuracy * total:
            break
        biases_along(P, C, slopes, step)
        longest = np.abs(step).max()
        if longest == 0.0:
            step[:] = slopes / total
        elif longest > _LONGEST_STEP:
            step *= _LONGEST_STEP / longest
        before[:] = slopes
        size = (slopes * slopes).sum()
        moved = False
        for share in _SHARES:
            loss = look_at_classes(F, bias + share * step, labels, C, P, beta, slopes)
            if (slopes * slopes).sum() < size:
                bias += share * step
                moved = True
                break
        if not moved:
            loss = look_at_classes(F, bias, labels, C, P, beta, slopes)
            break
    return loss


@jit_sums
def turn_of_slopes(P: Array, C: Array, U: Array, turns: Array) -> None:
    """Fill ``turns`` with how fast the slopes in the biases grow where functions grow by U."""
    turns[:] = 0.0
    for i in range(P.shape[0]):
        inner = 0.0
        for c in range(P.shape[1]):
            inner += P[i, c] * U[i, c]
        for c in range(P.shape[1]):
            turns[c] += C[i] * P[i, c] * (U[i, c] - inner)


@jit
def _products_of_shares(P: Array, C: Array) -> tuple[Array, Array]:
    """Return −PᵀCP and Pᵀ C."""
    count = P.shape[1]
    if count > _FEW_CLASSES:
        weighted = P * C.reshape(-1, 1)
        return -np.dot(P.T, weighted), weighted.sum(axis=0)
    H, totals = np.zeros((count, count)), np.zeros(count)
    for i in range(P.shape[0]):
        for a in range(count):
            weighted_share = C[i] * P[i, a]
            totals[a] += weighted_share
            for b in range(a + 1):
                H[a, b] -= weighted_share * P[i, b]
    for a in range(count):
        for b in range(a):
            H[b, a] = H[a, b]
    return H, totals


@jit
def biases_along(P: Array, C: Array, slopes: Array, step: Array) -> None:
    """Fill ``step`` with Newton's step of the biases of several classes for minus these slopes.

    All biases may grow together and nothing changes; this direction gets a curvature too. Classes
    that depend on the others, as those whose shares are all 0, stay where they are.
    """
    count = slopes.size
    H, totals = _products_of_shares(P, C)
    H += totals.sum() / count**2
    largest = 0.0
    for a in range(count):
        H[a, a] += totals[a]
        largest = max(largest, H[a, a])
    # The factor H = LLᵀ takes the place of the lower half.
    for a in range(count):
        for b in range(a + 1):
            left = H[a, b]
            for c in range(b):
                left -= H[a, c] * H[b, c]
            if a == b:
                H[a, a] = math.sqrt(left) if left > _DEPENDENT * largest else 0.0
            else:
                H[a, b] = left / H[b, b] if H[b, b] > 0.0 else 0.0
    for a in range(count):
        left = slopes[a]
        for c in range(a):
            left -= H[a, c] * step[c]
        step[a] = left / H[a, a] if H[a, a] > 0.0 else 0.0
    for a in range(count - 1, -1, -1):
        left = step[a]
        for c in range(a + 1, count):
            left -= H[c, a] * step[c]
        step[a] = left / H[a, a] if H[a, a] > 0.0 else 0.0


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
