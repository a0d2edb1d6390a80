"""Box QPs with one row left out, each solved from the answer with all rows, in float64 throughout.

The problem is that of ``smo`` with one fixed sum, 0. The variables are those of n rows, once or
several times over: variable t sits on row t mod n.
"""

import math

import numpy as np

from mercer._fast.active_set import advance, exchange, indices
from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

__all__ = ["climb", "judge", "without"]

_ROUNDS = 200
"""Most choices of active variables; each makes the violation about ten times smaller."""
_NARROWER = 0.1
"""Share of the violation that is left when the active variables are chosen anew."""
_TURN = 0.5
"""Pair steps for each active variable before active-set steps are tried; twice as many each time
that they do not find the optimum. With 0.1 and 0.5 all rows of 1,000 took as long, with 0 five
times as long."""
_WIDER = 0.5
"""Variables at a bound are active if less than this share of the violation keeps them there."""
_LEAST_CURVATURE = 1e-12
"""What stands for a curvature that is 0 or negative, as in libsvm."""
_ROUNDING = 1e-13
"""What rounding leaves of a sum of up to some thousand terms, as a share of their sizes: some 500
times the rounding of one of them."""


@jit
def without(
    K: Array,
    p: Array,
    lo: Array,
    hi: Array,
    starts: Array,
    slopes: Array,
    rows: IntArray,
    tol: float,
    most: int,
    out: Array,
) -> None:
    """Solve the problem without each of the given rows, each from a start β with F = p − Kβ.

    A start is in the box; its sum may be off, and is mended by those that gain most by it.
    ``out`` gets for each row the value at it, bounds of the exact value, the gap, pair steps.
    """
    n = K.shape[0]
    for a in range(rows.size):
        i = rows[a]
        least, greatest, part, F = lo.copy(), hi.copy(), starts[a], slopes[a]
        for t in range(i, p.size, n):
            least[t], greatest[t] = 0.0, 0.0
        missing = 0.0
        for t in range(p.size):
            missing -= part[t]
        if missing != 0.0:
            _repair(K, F, least, greatest, part, missing)
        steps = climb(K, F, least, greatest, part, tol, most)
        bias, low, high, gap, radius = judge(K, F, least, greatest, part)
        f = p[i] - F[i]
        apart = radius * math.sqrt(max(K[i, i], 0.0))
        out[a, 0], out[a, 1], out[a, 2] = f + bias, f - apart + low, f + apart + high
        out[a, 3], out[a, 4] = gap, steps


@jit
def _add(K: Array, F: Array, i: int, change: float) -> None:
    """Change F = p − Kβ where the coefficient of row i changes."""
    n, row = K.shape[0], K[i]
    for begin in range(0, F.size, n):
        for s in range(n):
            F[begin + s] -= change * row[s]


@jit
def _repair(K: Array, F: Array, lo: Array, hi: Array, beta: Array, missing: float) -> None:
    """Add what is missing of the sum, each time to the variable that gains most by it."""
    n = K.shape[0]
    sign = 1.0 if missing > 0.0 else -1.0
    left = abs(missing)
    while left > 0.0:
        best, chosen, step = -np.inf, -1, 0.0
        for t in range(F.size):
            room = hi[t] - beta[t] if sign > 0.0 else beta[t] - lo[t]
            if room > 0.0:
                d = min(room, left)
                gain = sign * F[t] - 0.5 * d * K[t % n, t % n]
                if gain > best:
                    best, chosen, step = gain, t, d
        if chosen < 0:
            break
        whole = step < left
        before = beta[chosen]
        if whole:
            beta[chosen] = hi[chosen] if sign > 0.0 else lo[chosen]
        else:
            beta[chosen] += sign * step
        left -= step
        _add(K, F, chosen % n, beta[chosen] - before)


@jit
def climb(K: Array, F: Array, lo: Array, hi: Array, beta: Array, tol: float, most: int) -> int:
    """Improve β until no two variables disagree by more than ``tol``; return the pair steps.

    β and F = p − Kβ change in place. Pair steps find out roughly which variables are at a bound,
    active-set steps find their optimum. Both touch the active variables alone, those that are free
    or may leave their bound soon; then all others hear of it at once.
    """
    n, steps, patience = K.shape[0], 0, _TURN
    mark = np.zeros(F.size, np.bool_)
    for _ in range(_ROUNDS):
        top, bottom = _range(F, lo, hi, beta)
        apart = top - bottom
        if not apart > tol or steps >= most:
            break
        for t in range(F.size):
            up, down = beta[t] < hi[t], beta[t] > lo[t]
            mark[t] = (
                (up and down)
                or (up and F[t] > bottom - _WIDER * apart)
                or (down and F[t] < top + _WIDER * apart)
            )
        active = indices(mark)
        before = beta[active]
        slopes, least, greatest, part = F[active], lo[active], hi[active], beta[active]
        limit = max(0.9 * tol, _NARROWER * apart)
        turn = min(most - steps, 1 + int(patience * active.size))
        steps += _pairs(K, active % n, slopes, least, greatest, part, limit, turn)
        if not _finish(K, active % n, slopes, least, greatest, part, tol):
            patience *= 2.0
        for s in range(active.size):
            if part[s] != before[s]:
                beta[active[s]] = part[s]
                _add(K, F, active[s] % n, part[s] - before[s])
    return steps


@jit
def _finish(
    K: Array, rows: IntArray, F: Array, lo: Array, hi: Array, beta: Array, tol: float
) -> bool:
    """Take active-set steps with some variables; tell whether their optimum was found."""
    m = rows.size
    f, zeros = np.empty(m), np.zeros(m)
    for s in range(m):
        f[s] = -F[s]
    # Nobody is there in float32: all steps are taken in float64.
    block, there = np.empty((1, 1), np.float32), np.zeros(m, np.bool_)
    group = np.zeros(m, np.uint8)
    groups = min(m, 1)  # the literal 1 would be a type of its own, for which all is compiled anew
    done, _, _ = exchange(K, rows, block, there, zeros, lo, hi, group, groups, beta, f, tol)
    if not done:
        advance(K, rows, block, there, zeros, lo, hi, group, groups, beta, f, tol)
    return done


@jit
def _pairs(
    K: Array,
    rows: IntArray,
    F: Array,
    lo: Array,
    hi: Array,
    beta: Array,
    limit: float,
    most: int,
) -> int:
    """Take pair steps by the second-order choice of the partner."""
    diagonal = np.empty(rows.size)
    for s in range(rows.size):
        diagonal[s] = K[rows[s], rows[s]]
    for step in range(most):
        i, top = -1, -np.inf
        for s in range(rows.size):
            if beta[s] < hi[s] and F[s] > top:
                i, top = s, F[s]
        if i < 0:
            return step
        row, k = K[rows[i]], diagonal[i]
        j, best, bottom, curvature = -1, 0.0, np.inf, 1.0
        for s in range(rows.size):
            if beta[s] > lo[s]:
                bottom = min(bottom, F[s])
                slope = top - F[s]
                if slope > 0.0:
                    bend = max(k + diagonal[s] - 2.0 * row[rows[s]], _LEAST_CURVATURE)
                    gain = slope * slope / bend
                    if gain > best:
                        j, best, curvature = s, gain, bend
        if j < 0 or top - bottom <= limit:
            return step
        d, to_top, to_bottom = (top - F[j]) / curvature, hi[i] - beta[i], beta[j] - lo[j]
        d = min(d, to_top, to_bottom)
        beta[i] = hi[i] if d >= to_top else beta[i] + d
        beta[j] = lo[j] if d >= to_bottom else beta[j] - d
        other = K[rows[j]]
        for s in range(rows.size):
            F[s] -= d * (row[rows[s]] - other[rows[s]])
    return most


@jit
def _range(F: Array, lo: Array, hi: Array, beta: Array) -> tuple[float, float]:
    """Return the greatest F that can go up and the least that can go down."""
    top, bottom = -np.inf, np.inf
    for t in range(F.size):
        if beta[t] < hi[t]:
            top = max(top, F[t])
        if beta[t] > lo[t]:
            bottom = min(bottom, F[t])
    return top, bottom


@jit
def judge(
    K: Array, F: Array, lo: Array, hi: Array, beta: Array
) -> tuple[float, float, float, float, float]:
    """Return the bias b, bounds of all optimal biases, the gap, and a bound of ‖f − f*‖.

    ‖f − f*‖² ≤ gap, so that F is off by √gap √k(x, x) at most. An optimal bias b is a minimum of
    Σ hi (F* − b)⁺ − lo (F* − b)⁻ over b, whose slope grows where any F* falls: it lies between the
    least minimum for the least F, and the greatest one for the greatest F.
    """
    n = K.shape[0]
    top, bottom = _range(F, lo, hi, beta)
    total, count, largest, sizes, most = 0.0, 0, 0.0, 0.0, 0.0
    for t in range(F.size):
        sizes += abs(beta[t])
        most = max(most, abs(F[t]))
        largest = max(largest, abs(K[t % n, t % n]))
        if lo[t] < beta[t] < hi[t]:
            total += F[t]
            count += 1
    bias = 0.0
    if count > 0:
        bias = total / count
    elif abs(top) < np.inf and abs(bottom) < np.inf:
        bias = 0.5 * (top + bottom)
    elif abs(top) < np.inf:
        bias = top
    elif abs(bottom) < np.inf:
        bias = bottom
    noise = _ROUNDING * (most + sizes * largest)
    gap = _gap(F, lo, hi, beta, bias, noise)
    for sign in (1.0, -1.0):
        end = _farthest(F, lo, hi, bias, sign)
        if abs(end) < np.inf:
            gap = min(gap, _gap(F, lo, hi, beta, end, noise))
    radius = math.sqrt(gap)
    ends = np.empty(2)
    moved = np.empty(F.size)
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        for t in range(F.size):
            moved[t] = F[t] + sign * (radius * math.sqrt(max(K[t % n, t % n], 0.0)) + noise)
        ends[side] = _farthest(moved, lo, hi, bias, sign)
    return bias, ends[1], ends[0], gap, radius


@jit
def _gap(F: Array, lo: Array, hi: Array, beta: Array, bias: float, noise: float) -> float:
    """Return the gap with a bias, for the worst F within rounding of this one."""
    gap = 0.0
    for t in range(F.size):
        r = F[t] - bias
        gap += (hi[t] - beta[t]) * max(r + noise, 0.0) + (beta[t] - lo[t]) * max(noise - r, 0.0)
    return gap


@jit
def _farthest(F: Array, lo: Array, hi: Array, begin: float, sign: float) -> float:
    """Return the farthest minimum of Σ hi (F − b)⁺ − lo (F − b)⁻ on one side of a point.

    The point itself where all minima are on its other side. The slope at b is the sum of hi over
    F > b and of lo over the others; it falls at each F, and the first F behind which it is negative
    is found as a median is: the part that holds it is split again and again.
    """
    ahead, falls = np.empty(F.size), np.empty(F.size)
    slope, sizes, count = 0.0, 0.0, 0
    for t in range(F.size):
        # Where sign is −1 the picture is mirrored: F → −F, hi → −lo, lo → −hi.
        if sign * F[t] > sign * begin:
            slope += hi[t] if sign > 0.0 else -lo[t]
            if hi[t] > lo[t]:
                ahead[count], falls[count] = sign * F[t], hi[t] - lo[t]
                count += 1
        else:
            slope += lo[t] if sign > 0.0 else -hi[t]
        sizes += hi[t] - lo[t]
    negative = -_ROUNDING * sizes
    if slope < negative:
        return begin
    first, last = 0, count
    while first < last:
        pivot = ahead[(first + last) // 2]
        less, equal, after = 0.0, 0.0, last
        below, s = first, first
        while s < after:
            value, fall = ahead[s], falls[s]
            if value < pivot:
                less += fall
                ahead[s], falls[s] = ahead[below], falls[below]
                ahead[below], falls[below] = value, fall
                below += 1
                s += 1
            elif value > pivot:
                after -= 1
                ahead[s], falls[s] = ahead[after], falls[after]
                ahead[after], falls[after] = value, fall
            else:
                equal += fall
                s += 1
        if slope - less < negative:
            last = below
        elif slope - less - equal < negative:
            return float(sign * pivot)
        else:
            slope -= less + equal
            first = after
    return sign * np.inf
