"""Compiled parts of the solver of joint multi-class support vector machines.

Point i has one multiplier a_c ≥ 0 for each class c other than its own, y: its coefficient is −a_c
in class c and S = Σ a_c in class y. Its margins are g_c = 1 − f_y + f_c, the slopes of the dual:

    max Σ_i S_i − ½ Σ_c αᵀKα   with a_c ≤ C (``EACH``, Weston–Watkins) or S ≤ C (``TOTAL``,
    Crammer–Singer)

Margins and multipliers of one point are scratch vectors of length k, whose place y is not used.
"""

from __future__ import annotations

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, Flags, IntArray

EACH, TOTAL = 0, 1

_LEAST_CURVATURE = 1e-12  # of a point's own value: zero and negative ones are clamped to it
_MOST_TRIES = 100  # bounds loops that end after a few turns, whatever rounding does
_EAGER = 0.3  # a pass takes the points whose violation is at least this share of the worst
_PATIENCE = 20  # passes over the points before conjugate gradients are tried
_CLIMB = 100  # most conjugate directions in one go
_PATIENCE_AFTER_CLIMB = 2  # passes until the next go


@jit
def violation(g: Array, a: Array, y: int, C: float, total: float, limit: int) -> float:
    """Return how far one point is from its optimality conditions."""
    worst = 0.0
    if limit == EACH:
        for c in range(g.size):
            if c != y:
                if a[c] < C:
                    worst = max(worst, g[c])
                if a[c] > 0:
                    worst = max(worst, -g[c])
        return worst
    top, bottom = 0.0, 0.0 if total < C else np.inf
    for c in range(g.size):
        if c != y:
            top = max(top, g[c])
            if a[c] > 0:
                bottom = min(bottom, g[c])
    return max(top - bottom, 0.0)


@jit
def violations(f: Array, alpha: Array, labels: IntArray, C: Array, limit: int, out: Array) -> None:
    """Fill ``out`` with the violation of every point; f and alpha are n × k."""
    n, k = f.shape
    g, a = np.empty(k), np.empty(k)
    for i in range(n):
        y = labels[i]
        for c in range(k):
            g[c] = 1 - f[i, y] + f[i, c]
            a[c] = -alpha[i, c]
        out[i] = violation(g, a, y, C[i], alpha[i, y], limit)


@jit
def loss(f: Array, labels: IntArray, C: Array, limit: int) -> float:
    """Return Σ Cᵢ ξᵢ: the sum of a point's positive margins, or the largest one."""
    n, k = f.shape
    result = 0.0
    for i in range(n):
        total = top = 0.0
        for c in range(k):
            if c != labels[i]:
                margin = max(1 - f[i, labels[i]] + f[i, c], 0.0)
                total += margin
                top = max(top, margin)
        result += C[i] * (total if limit == EACH else top)
    return result


@jit
def solve_point(b: Array, y: int, C: float, limit: int, a: Array) -> float:
    """Maximise Σ b_c a_c − ½ (Σ a_c² + S²) over the multipliers of one point; return S = Σ a_c.

    The answer is a_c = b_c − S held between its bounds; S is the root of a falling, piecewise
    linear function. Newton's steps on it end at the exact root after a few pieces.
    """
    k = b.size
    top = 0.0
    for c in range(k):
        if c != y:
            top = max(top, b[c])
            a[c] = 0
    if top <= 0 or C <= 0:
        return 0.0
    if limit == EACH:
        return _solve_each(b, y, C, top, a)
    # A convex function: Newton's steps from the left never pass the root.
    S = top / 2
    for _ in range(_MOST_TRIES):
        count, total = 1, 0.0
        for c in range(k):
            if c != y and b[c] > S:
                count += 1
                total += b[c]
        if not total / count > S:
            break
        S = total / count
    shift, bound = S, S >= C
    if bound:
        shift = top - C
        for _ in range(_MOST_TRIES):
            count, total = 0, -C
            for c in range(k):
                if c != y and b[c] > shift:
                    count += 1
                    total += b[c]
            if count == 0 or not total / count > shift:
                break
            shift = total / count
    S = 0.0
    for c in range(k):
        if c != y:
            a[c] = max(b[c] - shift, 0.0)
            S += a[c]
    if bound or S > C:
        for c in range(k):
            a[c] *= C / S
        S = C
    return S


@jit
def _solve_each(b: Array, y: int, C: float, top: float, a: Array) -> float:
    k = b.size
    low, high = 0.0, top
    S = min(top / 2, C)
    for _ in range(_MOST_TRIES):
        count, total, excess = 1, 0.0, -S
        for c in range(k):
            if c != y and b[c] > S:
                if b[c] - S < C:
                    count += 1
                    total += b[c]
                    excess += b[c] - S
                else:
                    total += C
                    excess += C
        if excess > 0:
            low = S
        else:
            high = S
        step = total / count
        if step == S or not low < high:
            break
        S = step if low < step < high else 0.5 * (low + high)
    total = 0.0
    for c in range(k):
        if c != y:
            a[c] = min(max(b[c] - S, 0.0), C)
            total += a[c]
    return total


@jit
def solve_block(
    K: Array,
    f: Array,
    alpha: Array,
    labels: IntArray,
    C: Array,
    limit: int,
    tol: float,
    max_steps: int,
) -> tuple[int, bool]:
    """Solve the problem of m points while all others stand still; change alpha and f in place.

    K is m × m; f (k × m, or wider, in float64) holds the values at the points; alpha is m × k. Each
    pass visits the points and solves the problems over the classes of those whose violation is not
    far below the worst of the last pass. Where that takes long, conjugate gradients help. Returns
    the number of steps and whether negative curvature was met.
    """
    m, k = alpha.shape
    g, a, new = np.empty(k), np.empty(k), np.empty(k)
    worst, threshold, nonconvex = np.inf, tol, False
    steps, patience = 0, _PATIENCE * m
    while worst > tol and steps < max_steps:
        worst = 0.0
        for i in range(m):
            y = labels[i]
            for c in range(k):
                g[c] = 1 - f[y, i] + f[c, i]
                a[c] = -alpha[i, c]
            wrong = violation(g, a, y, C[i], alpha[i, y], limit)
            worst = max(worst, wrong)
            if wrong <= threshold:
                continue
            curvature = max(np.float64(K[i, i]), _LEAST_CURVATURE)
            for c in range(k):
                g[c] = g[c] / curvature + a[c] + alpha[i, y]
            total = solve_point(g, y, C[i], limit, new)
            _add_row(f[y], K[i], total - alpha[i, y])
            alpha[i, y] = total
            for c in range(k):
                if c != y and new[c] != a[c]:
                    _add_row(f[c], K[i], a[c] - new[c])
                    alpha[i, c] = -new[c]
            steps += 1
        threshold = max(tol, _EAGER * worst)
        if worst > tol and steps > patience:
            moves, negative = climb_face(K, f, alpha, labels, C, limit, tol, _CLIMB)
            steps += moves * m
            nonconvex |= negative
            patience = steps + _PATIENCE_AFTER_CLIMB * m
    return steps, nonconvex


@jit
def climb_face(
    K: Array,
    f: Array,
    alpha: Array,
    labels: IntArray,
    C: Array,
    limit: int,
    tol: float,
    most: int,
) -> tuple[int, bool]:
    """Maximise over the multipliers between their bounds, by conjugate gradients.

    A multiplier that meets a bound stays there. The other arguments are those of ``solve_block``;
    ``most`` bounds the number of products with K, which is returned, and whether negative
    curvature was met.
    """
    m, k = alpha.shape
    residual, direction = np.zeros((m, k)), np.zeros((m, k))
    product = np.empty((k, m))
    inverse = np.empty(m)
    for i in range(m):
        inverse[i] = 1 / max(np.float64(K[i, i]), _LEAST_CURVATURE)
    face = np.empty(k, np.bool_)
    fresh, nonconvex = True, False
    before, count = 0.0, 0
    while count < most:
        worst = power = 0.0
        for i in range(m):
            size = _free(alpha[i], labels[i], C[i], limit, face)
            mean = 0.0
            for c in range(k):
                if face[c]:
                    residual[i, c] = (c == labels[i]) - 1 - f[c, i]
                    mean += residual[i, c] / size
            for c in range(k):
                residual[i, c] = residual[i, c] - mean if face[c] else 0.0
                worst = max(worst, abs(residual[i, c]))
                power += residual[i, c] * residual[i, c] * inverse[i]
        if worst <= tol / 4:
            break
        ratio = 0.0 if fresh else power / before
        before = power
        slope = 0.0
        product[:] = 0
        for i in range(m):
            for c in range(k):
                step = residual[i, c] * inverse[i] + ratio * direction[i, c]
                direction[i, c] = step
                slope += step * residual[i, c]
                if step != 0:
                    _add_row(product[c], K[i], step)
        count += 1
        curvature = size_of_diagonal = 0.0
        for i in range(m):
            for c in range(k):
                curvature += direction[i, c] * product[c, i]
                size_of_diagonal += direction[i, c] * direction[i, c] / inverse[i]
        nonconvex |= curvature < -1e-5 * size_of_diagonal
        room = _room(direction, alpha, labels, C, limit)
        step = room if curvature * room <= slope else slope / curvature
        if not (slope > 0 and 0 < step < np.inf):
            break
        fresh = step == room
        _move(alpha, direction, step, labels, C, limit)
        for c in range(k):
            for i in range(m):
                f[c, i] += step * product[c, i]
    return count, nonconvex


@jit
def _free(alpha: Array, y: int, C: float, limit: int, face: Flags) -> int:
    """Mark the classes whose coefficients may move up and down, with a sum of zero; count them."""
    size = 0
    for c in range(alpha.size):
        face[c] = c != y and alpha[c] < 0 and (limit == TOTAL or alpha[c] > -C)
        if face[c]:
            size += 1
    face[y] = size > 0 and (limit == EACH or alpha[y] < C)
    return size + 1 if face[y] else size


@jit
def _room(direction: Array, alpha: Array, labels: IntArray, C: Array, limit: int) -> float:
    """Return the longest step that keeps all bounds."""
    room = np.inf
    m, k = alpha.shape
    for i in range(m):
        for c in range(k):
            step = direction[i, c]
            if c == labels[i]:
                if limit == TOTAL and step > 0:
                    room = min(room, (C[i] - alpha[i, c]) / step)
            elif step > 0:
                room = min(room, -alpha[i, c] / step)
            elif step < 0 and limit == EACH:
                room = min(room, -(C[i] + alpha[i, c]) / step)
    return room


@jit
def _move(
    alpha: Array, direction: Array, step: float, labels: IntArray, C: Array, limit: int
) -> None:
    """Go a step along a direction; what comes within rounding of a bound is put on it."""
    m, k = alpha.shape
    for i in range(m):
        y, close = labels[i], 1e-14 * C[i]
        moved = False
        for c in range(k):
            if c != y and direction[i, c] != 0:
                moved = True
                value = alpha[i, c] + step * direction[i, c]
                if value > -close:
                    value = 0.0
                elif limit == EACH and value < close - C[i]:
                    value = -C[i]
                alpha[i, c] = value
        if not moved:
            continue
        total = 0.0
        for c in range(k):
            if c != y:
                total -= alpha[i, c]
        if limit == TOTAL and (alpha[i, y] == C[i] or total > C[i] - close):
            # Rounding adds up over many steps: the sum is put back on its bound each time.
            for c in range(k):
                alpha[i, c] *= C[i] / total
            total = C[i]
        alpha[i, y] = total


@jit
def _add_row(out: Array, row: Array, step: float) -> None:
    for t in range(row.size):
        out[t] += step * row[t]
