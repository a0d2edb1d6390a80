"""Coordinate descent for quadratic functions with a penalty that sets coordinates to zero."""

import numpy as np

from mercer._fast.active_set import solve_definite
from mercer._fast.jit import jit
from mercer._fast.piecewise import soft
from mercer._typing import Array, IntArray

LAST = 6
"""Rounds whose weights are extrapolated together."""
_RIDGE = 1e-12
"""What is added to the diagonal of the small system of an extrapolation, relative to its trace."""


@jit
def descend(
    G: Array,
    l1: float,
    l2: float,
    positive: bool,
    w: Array,
    g: Array,
    order: IntArray,
    epochs: int,
    smallest: float,
) -> int:
    """Minimise ½wᵀGw − qᵀw + l1‖w‖₁ + ½ l2‖w‖², one coordinate at a time, in place.

    ``g`` is q − Gw and is kept up to date. The first ``len(w)`` rows and columns of G count, so
    that G can be a buffer with room to grow. It ends after ``epochs`` rounds, or when no step of a
    round lowers the objective by more than ``smallest``; it returns the number of rounds.
    """
    size = len(w)
    for epoch in range(epochs):
        largest = 0.0
        for j in order:
            curvature = G[j, j] + l2
            if curvature <= 0.0:
                continue
            old = w[j]
            pull = g[j] + G[j, j] * old
            new = soft(pull, l1) / curvature if pull > 0.0 or not positive else 0.0
            step = new - old
            if step != 0.0:
                w[j] = new
                row = G[j]
                for i in range(size):
                    g[i] -= step * row[i]
                largest = max(largest, step * step * curvature)
        if largest <= 2.0 * smallest:
            return epoch + 1
    return epochs


@jit
def descend_to_gap(
    G: Array,
    q: Array,
    yy: float,
    l1: float,
    l2: float,
    positive: bool,
    w: Array,
    g: Array,
    proof: Array,
    goal: float,
    tol: float,
    epochs: int,
) -> tuple[int, float]:
    """Minimise as ``descend`` does, over all columns, until the duality gap is small.

    That is at most ``goal``, or ``tol`` times the objective.

    ``q`` is Xᵀy and ``yy`` is ‖y‖². Every few rounds the last weights are extrapolated. The
    residual of what comes out is a candidate for the dual point, which the rounds approach more
    slowly than the optimum; and the weights go on from there if the objective is lower. ``proof``
    becomes the weights of the best residual, scaled until it is feasible, that was met. It returns
    the rounds and the gap.
    """
    size = len(w)
    order = np.arange(size)
    W, S = np.empty((LAST, size)), np.empty((LAST, size))
    ahead, slopes = np.empty(size), np.empty(size)
    best, kept = -np.inf, 0
    for epoch in range(epochs + 1):
        primal, dual = bounds(q, yy, l1, l2, positive, w, g)
        if dual > best:
            best = dual
            proof[:] = w
        if kept == LAST:  # whatever the gap is: ``kept`` is an index, and the gap may be NaN
            kept = 0
            if primal - best > max(goal, tol * primal) and extrapolate(W, S, l2, ahead, slopes):
                lower, dual = bounds(q, yy, l1, l2, positive, ahead, slopes)
                if dual > best:
                    best = dual
                    proof[:] = ahead
                if lower < primal and not (positive and ahead.min() < 0.0):
                    primal = lower
                    w[:] = ahead
                    g[:] = slopes
        if not primal - best > max(goal, tol * primal) or epoch == epochs:
            break
        descend(G, l1, l2, positive, w, g, order, 1, 0.0)
        W[kept] = w
        S[kept] = g
        kept += 1
    return epoch, primal - best


@jit
def land(G: Array, l1: float, l2: float, w: Array, g: Array) -> bool:
    """Go to the minimum for the present signs, in place, if they stay; tell whether they did.

    It is where the slopes of the weights in use vanish, up to rounding. ``g`` is q − Gw.
    """
    used = np.flatnonzero(w)
    count = used.size
    A, step = np.empty((count, count)), np.empty((1, count))
    for a in range(count):
        j = used[a]
        for b in range(count):
            A[a, b] = G[j, used[b]]
        A[a, a] += l2
        step[0, a] = g[j] - l2 * w[j] - l1 * np.sign(w[j])
    if count == 0 or not solve_definite(A, step):
        return False
    for a in range(count):
        if not (w[used[a]] + step[0, a]) * w[used[a]] > 0.0:
            return False
    for a in range(count):
        j = used[a]
        w[j] += step[0, a]
        for i in range(len(w)):
            g[i] -= step[0, a] * G[j, i]
    return True


@jit
def bounds(
    q: Array, yy: float, l1: float, l2: float, positive: bool, w: Array, g: Array
) -> tuple[float, float]:
    """Return the objective, and the dual value of the residual as ``LassoProblem`` has it."""
    largest, total, square, wq, wg = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(len(w)):
        slope = g[j] - l2 * w[j]
        largest = max(largest, slope if positive else abs(slope))
        total += abs(w[j])
        square += w[j] * w[j]
        wq += w[j] * q[j]
        wg += w[j] * g[j]
    rr = max(yy - wq - wg, 0.0)
    inside = 1.0 if largest <= l1 else l1 / largest
    dual = inside * (yy - wq) - inside * inside * rr / 2
    if l2 > 0.0:  # every point is feasible, at a price: the residual itself may be better
        beyond, price = 0.0, 0.0
        for j in range(len(w)):
            pull = g[j] if positive else abs(g[j])
            beyond += max(inside * pull - l1, 0.0) ** 2
            price += max(pull - l1, 0.0) ** 2
        dual = max(dual - beyond / (2 * l2), yy - wq - rr / 2 - price / (2 * l2))
    return rr / 2 + l1 * total + l2 * square / 2, dual


@jit
def extrapolate(W: Array, S: Array, l2: float, w: Array, g: Array) -> bool:
    """Set w to the combination Σ cₖWₖ, Σ c = 1, that the rounds seem to lead to; tell if possible.

    It has the shortest combination Σ cₖ(rₖ − rₖ₋₁) of the steps of the residuals rₖ = y − XWₖ.
    Where signs stay, a round is an affine map, and few steps are nearly dependent: there the
    combination is close to its fixed point (Anderson). Sₖ = Xᵀrₖ gives the inner products of the
    steps, and the slopes g of the new weights. With l2 > 0, residuals are those of (X, √l2 I).
    """
    steps = len(W) - 1
    A, c = np.zeros((steps, steps)), np.ones((1, steps))
    moves, turns = np.empty(steps), np.empty(steps)
    for j in range(len(w)):
        for a in range(steps):
            moves[a] = W[a + 1, j] - W[a, j]
            turns[a] = S[a, j] - S[a + 1, j] + l2 * moves[a]
        for a in range(steps):
            if moves[a] != 0.0:
                for b in range(a, steps):
                    A[a, b] += moves[a] * turns[b]
    trace = np.trace(A)
    for a in range(steps):
        A[a, a] += _RIDGE * trace
    if not trace > 0.0 or not solve_definite(A, c):
        return False
    c /= c.sum()
    w[:] = 0.0
    g[:] = 0.0
    for a in range(steps):
        w += c[0, a] * W[a + 1]
        g += c[0, a] * S[a + 1]
    return bool(np.isfinite(c).all())


@jit
def descend_blocks(G: Array, l1: float, l2: float, W: Array, S: Array) -> None:
    """Minimise ½⟨W, GW⟩ − ⟨Q, W⟩ + l1 Σⱼ‖Wⱼ‖ + ½ l2‖W‖² in each row of W once, in place.

    ``S`` is Q − GW and is kept up to date.
    """
    size, targets = W.shape
    pull = np.empty(targets)
    for j in range(size):
        curvature = G[j, j] + l2
        if curvature <= 0.0:
            continue
        square = 0.0
        for t in range(targets):
            pull[t] = S[j, t] + G[j, j] * W[j, t]
            square += pull[t] * pull[t]
        length = np.sqrt(square)
        share = (1.0 - l1 / length) / curvature if length > l1 else 0.0
        moved = False
        for t in range(targets):
            step = share * pull[t] - W[j, t]
            W[j, t] += step
            pull[t] = step
            moved = moved or step != 0.0
        if moved:
            for i in range(size):
                for t in range(targets):
                    S[i, t] -= G[j, i] * pull[t]
