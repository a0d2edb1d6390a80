"""Small linear machines whose losses have kinks, in one compiled call.

min ½‖w‖² + Σ φᵢ(pᵢ − w·x̃ᵢ), φ(r) = max over lo ≤ β ≤ hi of βr − ε|β|: hinge and ε-insensitive
losses. Passes of dual coordinate descent go on while they bring much. Stages of the proximal-point
method then end it, as ``solvers.linear.linear_newton`` has them: Newton's method on losses that a
window τ makes smooth, around multipliers b that the last stage has found.
"""

import numpy as np
from numpy.typing import NDArray

from mercer._fast.coordinate import descend_in_passes, inverse_curvatures
from mercer._fast.jit import jit
from mercer._fast.piecewise import line_search, respond, soft
from mercer._fast.squared_loss import newton_step
from mercer._typing import Array

_BATCH, _MOST_PASSES = 10, 100
"""Passes that are judged together, and passes at most."""
_FALL = 0.5
"""The share of the worst slope that a batch has to leave at most for another one to be worth it."""
_FIRST_WINDOW, _FACTOR, _NARROWEST = 0.1, 0.1, 1e-6
"""The widest window in units of the residuals, how windows fall, and the narrowest."""
_LEAST_CURVATURE = 1e-9
"""The least first τ, as a share of Σ‖x̃ᵢ‖²: it keeps systems solvable when C is huge."""
_MOST_STAGES, _MOST_WAITED = 40, 100
"""Limits: stages, steps without progress."""
_GAP, _MOST_ADDED, _LAST_STEPS = 1e-9, 3, 50
"""The relative gap up to which stages are added, how many, and their steps at most: they cost
little once the free rows are known, and gain many digits."""
_WEIGHT_DIGITS = 1e-4
"""The error that a stage may leave, as a share of the weights."""
_MANY_ROWS, _FARTHER, _PART = 0.7, 4.0, 0.3
"""The share of rows from which a stage works on all, by how much it looks farther for them each
time, and the share of its accuracy that the error on some rows may use up."""
_ROUNDING = 1e-13
"""A step as short as this, beside what it changes, is the last one."""

Found = tuple[int, float, float]
"""Passes and steps, the largest slope that is left, and the gap as a share of the objective."""


@jit
def minimise(
    X: Array, p: Array, lo: Array, hi: Array, epsilon: float, w: Array, beta: Array, tol: float,
    most: int, state: NDArray[np.uint64],
) -> Found:  # fmt: skip
    """Improve w and β = multipliers with w = Σ βᵢx̃ᵢ in place, until slopes and gap are below tol.

    ``state`` is that of the generator which shuffles rows.
    """
    norms = np.empty(len(p))
    for i in range(len(p)):
        norms[i] = np.dot(X[i], X[i])
    longest, least = np.sqrt(norms.max()), _LEAST_CURVATURE * norms.sum()
    steps = _descend(X, p, lo, hi, epsilon, w, beta, tol, most, state)
    residual = p - np.dot(X, w)
    violation, share = _judge(X, residual, p, lo, hi, epsilon, w, beta)
    scale = max(np.abs(residual).mean(), violation)
    narrowest = _NARROWEST * (scale if scale > 0.0 else 1.0)
    window = min(_FIRST_WINDOW * scale, violation)
    added = 0
    for _ in range(_MOST_STAGES):
        met = violation <= tol and share <= tol
        if steps >= most or (met and (share <= _GAP or added == _MOST_ADDED)):
            break
        window, added = max(window, narrowest), added + met
        accuracy = 0.1 * max(tol, 0.1 * window) / longest if longest > 0.0 else 0.0
        limit = min(most, steps + _LAST_STEPS) if met else most
        last_w, last_beta = w.copy(), beta.copy()
        steps += _stage(
            X,
            p,
            lo,
            hi,
            epsilon,
            w,
            beta,
            window,
            least,
            accuracy,
            limit - steps,
            2 * max(violation, window),
        )
        residual = p - np.dot(X, w)
        slope, gap = _judge(X, residual, p, lo, hi, epsilon, w, beta)
        if met and (slope > violation or gap > share):
            w[:], beta[:] = last_w, last_beta
            break
        violation, share = slope, gap
        window, least = _FACTOR * window, _FACTOR * least
    return steps, violation, share


@jit
def _descend(
    X: Array, p: Array, lo: Array, hi: Array, epsilon: float, w: Array, beta: Array, tol: float,
    most: int, state: NDArray[np.uint64],
) -> int:  # fmt: skip
    """Make passes of dual descent, with shrinking, while a few of them halve the worst slope."""
    n, d = X.shape
    data, none, zeros = X.reshape(-1), np.empty(0, np.int32), np.zeros(n)
    steps = inverse_curvatures(data, none, d, 0.0, zeros)  # type: ignore[arg-type]
    order, active, worst = np.arange(n), n, np.inf
    before, passes = np.inf, 0
    most = min(most, _MOST_PASSES)
    while passes < most:
        made, active, worst = descend_in_passes(
            data, none, none, d, 0.0, steps, p, lo, hi, zeros,  # type: ignore[arg-type]
            epsilon, w, beta, order, active, worst, state, tol, min(_BATCH, most - passes),
        )  # fmt: skip
        passes += made
        if worst <= tol or _FALL * before < worst < np.inf:  # infinity: rows that had left are back
            break
        before = min(before, worst)
    return passes


@jit
def _stage(
    X: Array, p: Array, lo: Array, hi: Array, epsilon: float, w: Array, beta: Array, window: float,
    least: float, accuracy: float, most: int, reach: float,
) -> int:  # fmt: skip
    """Minimise the smooth problem of a window around β by Newton's method; returns its steps.

    Multipliers of rows whose residual is farther than ``reach`` from where they change stay as they
    are, until a look at all rows shows that this was too near.
    """
    n = len(p)
    shifted, gain = np.empty(n), np.empty(n)
    for i in range(n):
        tau = max(window / (hi[i] - lo[i]), least)
        shifted[i] = p[i] + tau * beta[i]
        gain[i] = 1.0 / tau
    near = np.empty(n, np.bool_)
    steps, whole = 0, False
    while True:
        x = shifted - np.dot(X, w)
        respond(x, gain, lo, hi, epsilon, beta)
        total = np.dot(beta, X)
        g = w - total
        # Weights that are small, as with a tiny C, need as many digits as large ones.
        enough = min(accuracy, _WEIGHT_DIGITS * np.sqrt(np.dot(total, total)))
        if np.dot(g, g) <= enough * enough or steps >= most or whole:
            break
        count = 0
        for i in range(n):
            low, high = lo[i] / gain[i] - epsilon, hi[i] / gain[i] + epsilon
            near[i] = low - reach < x[i] < high + reach and abs(x[i]) > epsilon - reach
            count += near[i]
        whole = count == 0 or count > _MANY_ROWS * n
        if whole:
            steps += _newton_steps(
                X, shifted, gain, lo, hi, epsilon, total - total, w, beta, enough, most - steps
            )
        else:
            some = np.flatnonzero(near)
            part, there = X[some], beta[some]
            fixed = total - np.dot(there, part)
            steps += _newton_steps(
                part, shifted[some], gain[some], lo[some], hi[some], epsilon, fixed, w, there,
                _PART * enough, most - steps,
            )  # fmt: skip
        reach *= _FARTHER
    return steps


@jit
def _newton_steps(
    X: Array, shifted: Array, gain: Array, lo: Array, hi: Array, epsilon: float, fixed: Array,
    w: Array, beta: Array, enough: float, most: int,
) -> int:  # fmt: skip
    """Take steps until ‖w − Σ βᵢx̃ᵢ‖ is small enough; ``fixed`` is the sum over other rows."""
    n = len(shifted)
    x = shifted - np.dot(X, w)
    scale = np.abs(x).mean()
    inside = np.empty(n, np.bool_)
    steps, waited, lowest = 0, 0, np.inf
    while True:
        respond(x, gain, lo, hi, epsilon, beta)
        g = w - fixed - np.dot(beta, X)
        if np.dot(g, g) <= enough * enough or steps >= most or waited >= _MOST_WAITED:
            break
        count = 0
        for i in range(n):
            inside[i] = lo[i] < beta[i] < hi[i] and (epsilon == 0.0 or beta[i] != 0.0)
            count += inside[i]
        s = -newton_step(X, inside, count, gain, g)
        u = np.dot(X, s)
        square = np.dot(s, s)
        t = line_search(x, u, gain, lo, hi, epsilon, np.dot(w - fixed, s), square)
        w += t * s
        x = shifted - np.dot(X, w)
        steps += 1
        still = t * np.abs(u).max() <= _ROUNDING * scale
        if still and t * np.sqrt(square) <= _ROUNDING * np.sqrt(np.dot(w, w)):
            waited = _MOST_WAITED
        decrement = -np.dot(g, s)
        waited = 0 if decrement < 0.9 * lowest else waited + 1
        lowest = min(lowest, decrement)
    return steps


@jit
def _judge(
    X: Array, residual: Array, p: Array, lo: Array, hi: Array, epsilon: float, w: Array, beta: Array
) -> tuple[float, float]:
    """Return the largest slope of the dual, and the gap as a share of the objective."""
    violation, primal, dual = 0.0, 0.5 * np.dot(w, w), 0.0
    for i in range(len(p)):
        b, r = beta[i], residual[i]
        if b < hi[i]:
            violation = max(violation, r - (epsilon if b >= 0.0 else -epsilon))
        if b > lo[i]:
            violation = max(violation, -r + (epsilon if b > 0.0 else -epsilon))
        primal += soft(r, epsilon) * (hi[i] if r > 0.0 else lo[i])
        dual += p[i] * b - epsilon * abs(b)
    total = np.dot(beta, X)
    gap = primal - dual + 0.5 * np.dot(total, total)
    return violation, gap / primal if primal > 0.0 else gap
