"""Passes of online rules over rows: the perceptron's and the one of Widrow and Hoff."""

import numpy as np

from mercer._fast.dot_products import dense_product
from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

PERCEPTRON, WIDROW_HOFF = 0, 1


@jit
def shuffle(order: IntArray, seed: int) -> None:
    """Shuffle row numbers in place, as scikit-learn does for the same seed (Fisher and Yates).

    Random numbers come from xorshift (G. Marsaglia, Journal of Statistical Software 8, 2003).
    """
    whole = np.int64(0xFFFFFFFF)
    state = np.int64(seed) if seed != 0 else np.int64(1)
    n = len(order)
    for i in range(n - 1):
        state ^= (state << 13) & whole
        state ^= state >> 17
        state ^= (state << 5) & whole
        j = i + (state & 0x7FFFFFFF) % (n - i)
        order[i], order[j] = order[j], order[i]


@jit
def step(rule: int, y: float, p: float) -> tuple[float, float]:
    """Return the loss of a value p for the sign y, and the step against its slope."""
    if rule == WIDROW_HOFF:
        return 0.5 * (y - p) * (y - p), y - p
    if y * p <= 0.0:
        return -y * p, y
    return 0.0, 0.0


@jit
def truncate(value: float, pull: float, pulled: float) -> float:
    """Return a weight after a pull to zero, at which it stops; ``pulled`` is what it had."""
    if value > 0.0:
        return max(0.0, value - (pull + pulled))
    if value < 0.0:
        return min(0.0, value + (pull - pulled))
    return value


@jit
def penalty(w: Array, l1: float, l2: float) -> float:
    """Return l1‖w‖₁ + ½ l2‖w‖²."""
    total = 0.0
    for value in w:
        total += l1 * abs(value) + 0.5 * l2 * value * value
    return total


@jit
def dense_pass(
    rule: int, X: Array, order: IntArray, y: Array, rates: Array, eta: float, w: Array, b: Array,
    intercept: bool, l1: float, l2: float, pulled: Array, pull: Array,
) -> tuple[float, int]:  # fmt: skip
    """Show each row once; return the sum of losses with penalties, and the number of updates.

    ``rates`` has a factor of eta for each row. ``pull`` and ``pulled`` are the sums of all pulls of
    the ℓ₁ penalty so far, to each weight and of each weight (Y. Tsuruoka, J. Tsujii and S.
    Ananiadou, Stochastic gradient descent training for L1-regularized log-linear models, 2009).
    """
    columns = X.shape[1]
    total, updates = 0.0, 0
    for i in order:
        p = b[0] + dense_product(w, X[i])
        loss, change = step(rule, y[i], p)
        total += loss
        if l1 + l2 > 0.0:
            total += penalty(w, l1, l2)
        if l2 > 0.0:
            keep = max(0.0, 1.0 - eta * l2)
            for j in range(columns):
                w[j] *= keep
        if change != 0.0 and rates[i] != 0.0:
            updates += 1
            change *= eta * rates[i]
            for j in range(columns):
                w[j] += change * X[i, j]
            if intercept:
                b[0] += change
        if l1 > 0.0:
            pull[0] += eta * l1
            for j in range(columns):
                before = w[j]
                w[j] = truncate(before, pull[0], pulled[j])
                pulled[j] += w[j] - before
    return total, updates


@jit
def sparse_pass(
    rule: int, data: Array, indices: IntArray, starts: IntArray, order: IntArray, y: Array,
    rates: Array, eta: float, w: Array, b: Array, intercept: bool, l1: float, l2: float,
    pulled: Array, pull: Array,
) -> tuple[float, int]:  # fmt: skip
    """Do the same as ``dense_pass`` for rows of a sparse matrix (CSR)."""
    total, updates = 0.0, 0
    for i in order:
        p = b[0]
        for k in range(starts[i], starts[i + 1]):
            p += w[indices[k]] * data[k]
        loss, change = step(rule, y[i], p)
        total += loss
        if l1 + l2 > 0.0:
            total += penalty(w, l1, l2)
        if l2 > 0.0:
            w *= max(0.0, 1.0 - eta * l2)
        if change != 0.0 and rates[i] != 0.0:
            updates += 1
            change *= eta * rates[i]
            for k in range(starts[i], starts[i + 1]):
                w[indices[k]] += change * data[k]
            if intercept:
                b[0] += change
        if l1 > 0.0:
            pull[0] += eta * l1
            for k in range(starts[i], starts[i + 1]):
                j = indices[k]
                before = w[j]
                w[j] = truncate(before, pull[0], pulled[j])
                pulled[j] += w[j] - before
    return total, updates


@jit
def kernel_pass(
    K: Array, order: IntArray, y: Array, rates: Array, offset: float, f: Array, counts: Array
) -> tuple[int, float]:
    """Show each row of a Gram matrix once to the kernel perceptron.

    ``f`` are the values of the function at all rows, with ``offset`` (1 or 0) for the bias, and
    ``counts`` its coefficients without signs. Returns the number of mistakes and the sum of losses.
    """
    mistakes, total = 0, 0.0
    for i in order:
        if y[i] * f[i] <= 0.0 and rates[i] > 0.0:
            mistakes += 1
            total -= y[i] * f[i]
            counts[i] += rates[i]
            change = y[i] * rates[i]
            for j in range(len(f)):
                f[j] += change * (K[i, j] + offset)
    return mistakes, total


@jit
def next_mistake(order: IntArray, start: int, y: Array, rates: Array, f: Array) -> int:
    """Return the place in ``order`` of the next row that is wrong, its length if there is none."""
    for at in range(start, len(order)):
        i = order[at]
        if y[i] * f[i] <= 0.0 and rates[i] > 0.0:
            return at
    return len(order)
