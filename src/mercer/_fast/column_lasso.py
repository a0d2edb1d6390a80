"""Lasso and elastic net on the columns themselves: one call from the data to a small gap.

The columns come one after the other in ``data``. Of a sparse matrix, column j has the entries
``starts[j]`` to ``starts[j+1]``, in the rows ``indices``; of a dense one, whose ``starts`` are
empty, as many as there are rows. They count from ``means``, if there are any, and then so does the
residual: ``u`` is y − Xw with columns as they are stored, and r = u − mean(u).
"""

import numpy as np

from mercer._fast.active_set import solve_definite
from mercer._fast.dot_products import dense_product, sparse_product
from mercer._fast.jit import jit, jit_sums
from mercer._fast.piecewise import soft
from mercer._typing import Array, IntArray

_ONE, _TWO = np.uint64(1), np.uint64(2)
LAST = 5
"""Rounds whose weights are extrapolated together."""
_RIDGE = 1e-12
"""What is added to the diagonal of the small system of an extrapolation, relative to its trace."""
_NEAR = 0.5
"""The share of the largest slope from which a column joins: sets grow as on a path of penalties."""
_PART = 0.1
"""The gap of a set of columns at its end, as a share of the gap of all: more would be in vain."""
_SHARPER = 0.3
"""The same as a share of the gap that is asked for: a slope outside the set may cost the rest."""
_ROUNDS = 50
"""Rounds on a set at most; then columns outside are looked at again."""


@jit
def correlate(
    data: Array, indices: IntArray, starts: IntArray, u: Array, order: IntArray, c: Array
) -> None:
    """Set c of the columns ``order``, as they are stored, to their inner products with u."""
    n = u.size
    for j in order:
        if starts.size == 0:
            c[j] = dense_product(data[j * n : (j + 1) * n], u)
        else:
            c[j] = sparse_product(data, indices, starts[j], starts[j + 1], u)


@jit_sums
def squares(data: Array, starts: IntArray) -> Array:
    """Return the sum of squares of each sparse column, as it is stored."""
    found = np.zeros(starts.size - 1)
    for j in range(found.size):
        total = 0.0
        for k in range(starts[j], starts[j + 1]):
            total += data[k] * data[k]
        found[j] = total
    return found


@jit_sums
def _products(y: Array, u: Array, centre: float) -> tuple[float, float]:
    """Return ‖r‖² and yᵀr of r = u − centre."""
    rr, yr = 0.0, 0.0
    for i in range(u.size):
        r = u[i] - centre
        rr += r * r
        yr += y[i] * r
    return rr, yr


@jit
def bounds(
    data: Array, indices: IntArray, starts: IntArray, means: Array, y: Array,
    l1: float, l2: float, positive: bool, w: Array, u: Array, order: IntArray, c: Array,
) -> tuple[float, float]:  # fmt: skip
    """Return the objective and the dual value of r, with the columns ``order`` alone.

    ``c`` becomes their inner products with r. The formulas are those of ``LassoProblem``.
    """
    total = u.sum() if means.size else 0.0
    rr, yr = _products(y, u, total / u.size)
    largest, size, square = 0.0, 0.0, 0.0
    correlate(data, indices, starts, u, order, c)
    for j in order:
        if means.size:
            c[j] -= means[j] * total
        pull = c[j] - l2 * w[j]
        largest = max(largest, pull if positive else abs(pull))
        size += abs(w[j])
        square += w[j] * w[j]
    inside = 1.0 if largest <= l1 else l1 / largest
    dual = inside * yr - inside * inside * rr / 2
    if l2 > 0.0:  # every point is feasible, at a price: the residual itself may be better
        beyond, price = 0.0, 0.0
        for j in order:
            pull = c[j] if positive else abs(c[j])
            beyond += max(inside * pull - l1, 0.0) ** 2
            price += max(pull - l1, 0.0) ** 2
        dual = max(dual - beyond / (2 * l2), yr - rr / 2 - price / (2 * l2))
    return rr / 2 + l1 * size + l2 * square / 2, dual


@jit
def _round(
    data: Array, indices: IntArray, starts: IntArray, means: Array, curvatures: Array,
    l1: float, l2: float, positive: bool, w: Array, u: Array, order: IntArray,
) -> float:  # fmt: skip
    """Minimise in each weight of ``order`` once; return by how much the objective fell at most."""
    n, fall = u.size, 0.0
    total = u.sum() if means.size else 0.0
    begin, end = np.uint64(0), np.uint64(0)
    for j in order:
        curvature = curvatures[j] + l2
        if curvature <= 0.0:
            continue
        old = w[j]
        pull, more = curvatures[j] * old, 0.0
        # As in ``correlate``: a call for each column would take longer than its few entries.
        if starts.size == 0:
            pull += dense_product(data[j * n : (j + 1) * n], u)
        else:
            begin, end = np.uint64(starts[j]), np.uint64(starts[j + 1])
            k = begin
            while k + _ONE < end:
                pull += data[k] * u[np.uint64(indices[k])]
                more += data[k + _ONE] * u[np.uint64(indices[k + _ONE])]
                k += _TWO
            if k < end:
                pull += data[k] * u[np.uint64(indices[k])]
        pull += more
        if means.size:
            pull -= means[j] * total
        new = soft(pull, l1) / curvature if pull > 0.0 or not positive else 0.0
        step = new - old
        if step != 0.0:
            w[j] = new
            if starts.size == 0:
                column = data[j * n : (j + 1) * n]
                for i in range(n):
                    u[i] -= step * column[i]
            else:
                k = begin
                while k < end:
                    u[np.uint64(indices[k])] -= step * data[k]
                    k += _ONE
            if means.size:  # the entries of a column add up to n times its mean
                total -= step * means[j] * n
            fall += step * step * curvature
    return fall


@jit_sums
def _extrapolate(
    W: Array, U: Array, centred: bool, l2: float, order: IntArray, w: Array, u: Array
) -> bool:
    """Set w and u to the combination Σ cₖWₖ, Σ c = 1, with the shortest Σ cₖ(rₖ − rₖ₋₁)."""
    steps, n = len(W) - 1, u.size
    A, c = np.zeros((steps, steps)), np.ones((1, steps))
    sums = np.zeros(steps)
    for a in range(steps):
        for i in range(n):
            sums[a] += U[a + 1, i] - U[a, i]
    for a in range(steps):
        for b in range(a, steps):
            total = 0.0
            for i in range(n):
                total += (U[a + 1, i] - U[a, i]) * (U[b + 1, i] - U[b, i])
            if centred:
                total -= sums[a] * sums[b] / n
            if l2 > 0.0:
                for j in order:
                    total += l2 * (W[a + 1, j] - W[a, j]) * (W[b + 1, j] - W[b, j])
            A[a, b] = total
    trace = np.trace(A)
    for a in range(steps):
        A[a, a] += _RIDGE * trace
    if not trace > 0.0 or not solve_definite(A, c):
        return False
    c /= c.sum()
    for j in order:
        w[j] = 0.0
        for a in range(steps):
            w[j] += c[0, a] * W[a + 1, j]
    u[:] = 0.0
    for a in range(steps):
        u += c[0, a] * U[a + 1]
    return bool(np.isfinite(c).all())


@jit
def descend_to_gap(
    data: Array, indices: IntArray, starts: IntArray, means: Array, curvatures: Array, y: Array,
    l1: float, l2: float, positive: bool, w: Array, u: Array, proof: Array,
    goal: float, tol: float, enough: float, epochs: int,
) -> int:  # fmt: skip
    """Minimise ½‖r‖² + l1‖w‖₁ + ½ l2‖w‖², in place, until the gap is small; return the rounds.

    That is at most ``goal``, or ``tol`` times the objective; or ``enough`` times the objective, if
    the rounds on one more set do not lead as far as that. Rounds go over a set of columns, which
    grows by those of the largest slopes; every few of them the weights are extrapolated, which
    gives better ones, and a better dual point: ``proof`` becomes the weights of the best one met.
    """
    p, n = w.size, u.size
    c, everyone = np.empty(p), np.arange(p)
    inside, order = np.zeros(p, np.bool_), np.empty(p, np.int64)
    W, U = np.zeros((LAST, p)), np.empty((LAST, n))
    ahead, later, trial = np.zeros(p), np.empty(n), np.empty(p)
    spent, count, best = 0, 0, -np.inf
    proof[:] = w
    candidate, held, other = w.copy(), u.copy(), False
    last = False
    while True:
        primal, dual = bounds(data, indices, starts, means, y, l1, l2, positive, w, u, everyone, c)
        if dual > best:
            best = dual
            proof[:] = w
        target = max(goal, tol * primal)
        if other and primal - best > target:
            _, dual = bounds(
                data, indices, starts, means, y, l1, l2, positive, candidate, held, everyone, trial
            )
            if dual > best:
                best = dual
                proof[:] = candidate
        gap = primal - best
        if not gap > target or spent >= epochs or (last and not gap > enough * primal):
            break
        last = not gap > enough * primal
        # The columns whose slopes are largest join.
        largest = 0.0
        for j in range(p):
            if not inside[j]:
                largest = max(largest, c[j] if positive else abs(c[j]))
        least = max(l1, _NEAR * largest)
        before = count
        for j in range(p):
            if not inside[j] and (w[j] != 0.0 or (c[j] if positive else abs(c[j])) > least):
                inside[j] = True
                order[count] = j
                count += 1
        part = order[:count]
        aim = _SHARPER * target
        if count > before:
            aim = max(aim, _PART * gap)
        kept, lower = 0, -np.inf
        for _ in range(min(_ROUNDS, epochs - spent)):
            fall = _round(data, indices, starts, means, curvatures, l1, l2, positive, w, u, part)
            spent += 1
            for j in part:
                W[kept, j] = w[j]
            U[kept] = u
            kept += 1
            if kept < LAST and fall > aim:
                continue
            primal, dual = bounds(data, indices, starts, means, y, l1, l2, positive, w, u, part, c)
            other = True
            if dual > lower:
                lower, other = dual, False
                candidate[:] = w
                held[:] = u
            if not primal - lower > aim:
                break
            if kept == LAST:
                kept = 0
                if _extrapolate(W, U, means.size > 0, l2, part, ahead, later):
                    value, dual = bounds(
                        data, indices, starts, means, y, l1, l2, positive, ahead, later, part, trial
                    )
                    if dual > lower:
                        lower, other = dual, True
                        candidate[:] = ahead
                        held[:] = later
                    if value < primal and not (positive and ahead.min() < 0.0):
                        primal = value
                        w[:] = ahead
                        u[:] = later
                    if not primal - lower > aim:
                        break
    return spent
