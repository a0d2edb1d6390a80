"""The compiled loss of logistic regression in several classes."""

import math

import numpy as np

from mercer._fast.exponentials import double, logarithms
from mercer._fast.jit import jit, jit_sums
from mercer._fast.logistic import LONGEST_STEP, MOST_STEPS, NEAR, SHARES, sum_of
from mercer._typing import Array, IntArray

_FAR_ODDS = 300.0
"""Log odds up to which sums of exponentials are far from the ends of float64."""
_FEW_CLASSES = 5
"""Classes whose products take less time in plain loops than in BLAS."""
_DEPENDENT = 1e-12
"""Pivots, as a share of the largest entry, that are no more than rounding."""


@jit
def look_at_classes(
    F: Array, bias: Array, labels: IntArray, C: Array, P: Array, beta: Array, slopes: Array
) -> float:
    """Fill ``P`` with the shares of several classes at F + bias, and β = C(e_y − p).

    ``slopes`` become minus the slopes of the loss in the biases, Σ β. Returns the loss.
    """
    loss, (n, count) = 0.0, F.shape
    slopes[:] = 0.0
    step = max(1, min(n, NEAR // count))
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
        loss += sum_of(losses[:size])
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
    for _ in range(MOST_STEPS):
        if np.abs(slopes).max() <= accuracy * total:
            break
        biases_along(P, C, slopes, step)
        longest = np.abs(step).max()
        if longest == 0.0:
            step[:] = slopes / total
        elif longest > LONGEST_STEP:
            step *= LONGEST_STEP / longest
        before[:] = slopes
        size = (slopes * slopes).sum()
        moved = False
        for share in SHARES:
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
