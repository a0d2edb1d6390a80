"""Compiled parts of the support-vector solver.

The problem, in signed multipliers β (no labels are left in any loop):

    max pᵀβ − ½ βᵀKβ  subject to  lo ≤ β ≤ hi  and a fixed sum of β in each group

F = p − Kβ is the ascent direction. A variable can go up while β < hi and down while β > lo; β is
optimal when the greatest F that can go up is at most the least F that can go down, in each group.
"""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, Flags, Groups, IntArray, Offsets, Real, Whole

NEVER = np.float32(1e30)  # stands for infinity in float32: adding a step to it changes nothing
TAU = 1e-12  # least curvature of a pair: clamps zero and negative curvature
_LOW31 = np.int32(0x7FFFFFFF)
_SIGN = np.int32(31)
_LEAST = np.int32(-0x80000000)


@jit
def _ordered(value: Real) -> Any:
    """Return the bits of a float32 as an int32 in the same order.

    LLVM vectorises an integer maximum, but not one of floats. Numba widens int32 arithmetic to
    int64; the casts keep it, and so the vectors, narrow.
    """
    single = np.float32(value)
    bits = single.view(np.int32)
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN) & _LOW31))


@jit
def _value(key: Whole) -> Any:
    """Return the float32 that has such ordered bits."""
    bits = np.int32(key ^ np.int32(np.int32(key >> _SIGN) & _LOW31))
    return bits.view(np.float32)


@jit
def packed(key: Whole, rest: Whole, t: Whole) -> Any:
    """Return an ordered key whose low bits are given up to carry the index t."""
    return np.int32(np.int32(key & rest) | np.int32(t))


@jit
def top_index(up: Array, mask: Whole) -> int:
    """Return the index of the greatest value, up to rounding in the bits of ``mask``."""
    rest = np.int32(~mask)
    best = _LEAST
    for t in range(up.size):
        best = max(best, packed(_ordered(up[t]), rest, t))
    return int(best & mask)


@jit
def disagreement(up: Array, down: Array) -> Any:
    """Return the greatest of ``up`` minus the least of ``down``, exactly."""
    top, bottom = _LEAST, _LOW31
    for t in range(up.size):
        top = max(top, _ordered(up[t]))
        bottom = min(bottom, _ordered(down[t]))
    return _value(top) - _value(bottom)


@jit
def _inverse_curvature(row: Array, diag: Array, k: Real, out: Array) -> None:
    for t in range(row.size):
        out[t] = np.float32(1.0) / max(k + diag[t] - row[t] - row[t], np.float32(TAU))


@jit
def _partner(down: Array, inverse: Array, top: Real, mask: Whole) -> int:
    """Return the second-order choice: the greatest (top − F_t)²/curvature."""
    rest = np.int32(~mask)
    best = np.int32(0)
    for t in range(down.size):
        b = max(top - down[t], np.float32(0.0))
        gain = np.float32(b * b * inverse[t])
        best = max(best, packed(gain.view(np.int32), rest, t))
    return int(best & mask)


@jit
def move(up: Array, down: Array, row_i: Array, row_j: Array, step: Real, mask: Whole) -> int:
    """Take the step in both copies of F and return the next top, in one pass."""
    rest = np.int32(~mask)
    best = _LEAST
    for t in range(up.size):
        change = step * (row_i[t] - row_j[t])
        u = np.float32(up[t] - change)
        up[t] = u
        down[t] -= change
        best = max(best, packed(_ordered(u), rest, t))
    return int(best & mask)


@jit
def _move_precise(
    F: Array, up: Array, down: Array, row_i: Array, row_j: Array, step: Real, mask: Whole
) -> int:
    """Take the step with F kept in float64; ``up`` and ``down`` only guide the choice."""
    rest = np.int32(~mask)
    best = _LEAST
    for t in range(up.size):
        value = F[t] - step * (row_i[t] - row_j[t])
        F[t] = value
        single = np.float32(value)
        u = single if up[t] > -NEVER else -NEVER
        up[t] = u
        down[t] = single if down[t] < NEVER else NEVER
        best = max(best, packed(_ordered(u), rest, t))
    return int(best & mask)


@jit
def _fetch(row: Array, store: Array, start: int, offset: Offsets) -> None:
    """Fill one row of a block; unsigned indices spare the check for negative ones."""
    for t in range(row.size):
        row[t] = store[start + offset[t]]


@jit
def index_mask(count: int) -> Any:
    """Return the low bits that hold any index below ``count``."""
    mask = np.int32(1)
    while mask < count:
        mask *= np.int32(2)
    return np.int32(mask - np.int32(1))


@jit
def difference(p: Array, f: Array) -> Array:
    """Return F = p − f; a loop compiles in a tenth of the time of an array expression."""
    F = np.empty(p.size)
    for t in range(p.size):
        F[t] = p[t] - f[t]
    return F


@jit
def group_range(
    F: Array, beta: Array, lo: Array, hi: Array, group: Groups, g: int
) -> tuple[float, float]:
    """Return the greatest F of a group that can go up, and the least that can go down."""
    top, bottom = -np.inf, np.inf
    for t in range(F.size):
        if group[t] == g:
            if beta[t] < hi[t] and top < F[t]:
                top = F[t]
            if beta[t] > lo[t] and bottom > F[t]:
                bottom = F[t]
    return top, bottom


@jit
def ascents(
    F: Array, beta: Array, lo: Array, hi: Array, group: Groups, groups: int
) -> tuple[Array, Array]:
    """Return in float32, for each group, F where it can go up (else −NEVER), and down (NEVER).

    F is shifted by the middle of the violating range: float32 is fine-grained where it matters.
    """
    up = np.empty((groups, F.size), np.float32)
    down = np.empty((groups, F.size), np.float32)
    for g in range(groups):
        top, bottom = group_range(F, beta, lo, hi, group, g)
        shift = 0.5 * (top + bottom) if top > -np.inf and bottom < np.inf else 0.0
        for t in range(F.size):
            up[g, t], down[g, t] = -NEVER, NEVER
            if group[t] == g:
                F[t] -= shift
                if beta[t] < hi[t]:
                    up[g, t] = np.float32(F[t])
                if beta[t] > lo[t]:
                    down[g, t] = np.float32(F[t])
    return up, down


@jit
def pair_step(
    up: Array, down: Array, beta: Array, lo: Array, hi: Array, i: int, j: int, wanted: float
) -> float:
    """Raise βᵢ and lower βⱼ by what is wanted, or as far as they go; 0 where they cannot.

    Who can go where changes before F does: NEVER swallows the step.
    """
    top, bottom = up[i], down[j]
    room_i, room_j = hi[i] - beta[i], beta[j] - lo[j]
    step = min(wanted, room_i, room_j)
    if not step > 0.0:
        return 0.0
    beta[i] = hi[i] if step == room_i else beta[i] + step
    beta[j] = lo[j] if step == room_j else beta[j] - step
    up[i] = top if beta[i] < hi[i] else -NEVER
    down[i] = top if beta[i] > lo[i] else NEVER
    up[j] = bottom if beta[j] < hi[j] else -NEVER
    down[j] = bottom if beta[j] > lo[j] else NEVER
    return float(step)


@jit
def solve_block(
    K: Array,
    there: Flags,
    store: Array,
    start: Offsets,
    offset: Offsets,
    diag: Array,
    inverse: Array,
    F: Array,
    beta: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    precise: bool,
    tol: float,
    max_iter: int,
) -> tuple[int, bool]:
    """Solve a dense block by SMO with second-order pairs; changes ``beta`` and ``F`` in place.

    K is (m, m), float32, or float64 if ``precise``. Where a row is not ``there``, K[i, t] is
    store[start[i] + offset[t]] (uint64) and fetched when the row is first needed. ``inverse``
    (m, m) float32 is scratch. Returns the number of steps and whether negative curvature was met.
    """
    mask = index_mask(beta.size)
    up, down = ascents(F, beta, lo, hi, group, groups)
    known = np.zeros(beta.size, np.bool_)  # rows of inverse filled so far
    limit = np.float32(tol)
    nonconvex = False
    steps = 0
    i = top_index(up[0], mask)
    while steps < max_iter:
        g = 0
        if groups == 2 or steps % 8 == 0:
            worst = -NEVER
            for c in range(groups):
                violation = disagreement(up[c], down[c])
                if violation > worst:
                    worst, g = violation, c
            if worst <= limit:
                break
            if groups == 2:
                i = top_index(up[g], mask)
        top = up[g, i]
        if not there[i]:
            _fetch(K[i], store, start[i], offset)
            there[i] = True
        if not known[i]:
            _inverse_curvature(K[i], diag, diag[i], inverse[i])
            known[i] = True
        j = _partner(down[g], inverse[i], top, mask)
        bottom = down[g, j]
        slope = np.float64(top) - np.float64(bottom)
        if not 0.0 < slope < NEVER:
            break
        if precise:
            slope = F[i] - F[j]
        if not there[j]:
            _fetch(K[j], store, start[j], offset)
            there[j] = True
        curvature = np.float64(diag[i]) + np.float64(diag[j]) - 2.0 * np.float64(K[i, j])
        if curvature < -1e-5 * (abs(diag[i]) + abs(diag[j])):
            nonconvex = True
        step = pair_step(up[g], down[g], beta, lo, hi, i, j, slope / max(curvature, TAU))
        if step == 0.0:
            break
        if precise:
            i_next = _move_precise(F, up[g], down[g], K[i], K[j], step, mask)
            if groups == 2:
                _move_precise(F, up[1 - g], down[1 - g], K[i], K[j], 0.0, mask)
        else:
            i_next = move(up[g], down[g], K[i], K[j], np.float32(step), mask)
            if groups == 2:
                move(up[1 - g], down[1 - g], K[i], K[j], np.float32(step), mask)
        i = i_next
        steps += 1
    return steps, nonconvex


@jit
def ascent(
    p: Array,
    f: Array,
    position: IntArray,
    beta: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    F: Array,
) -> Array:
    """Fill F = p − f[position]; return its extremes over those that can go up and down."""
    out = np.empty((groups, 2))
    out[:, 0] = -np.inf
    out[:, 1] = np.inf
    for t in range(p.size):
        value = p[t] - f[position[t]]
        F[t] = value
        g = group[t] if groups == 2 else 0
        if beta[t] < hi[t] and value > out[g, 0]:
            out[g, 0] = value
        if beta[t] > lo[t] and value < out[g, 1]:
            out[g, 1] = value
    return out


@jit
def _take_most(
    F: Array,
    sign: float,
    bound: Array,
    limit: Array,
    group: Groups,
    g: int,
    base: float,
    scale: float,
    count: int,
    chosen: Flags,
    out: IntArray,
    size: int,
) -> int:
    """Mark about ``count`` variables of group g with the greatest sign * F, by a histogram."""
    bins = 2048
    n = F.size
    histogram = np.zeros(bins + 1, np.int64)
    for t in range(n):
        if group[t] == g and not chosen[t] and limit[t] != bound[t]:
            level = sign * F[t] - base
            if level > 0.0:
                histogram[min(bins, int(level * scale))] += 1
    cut = bins
    total = histogram[cut]
    while cut > 0 and total + histogram[cut - 1] <= count:
        cut -= 1
        total += histogram[cut]
    # everything in bins >= cut, then an even sample of the next bin
    rest = max(0, count - total)
    pool = histogram[cut - 1] if cut > 0 else 0
    if total > count:  # only the last bin can do that
        rest, pool, cut = count, total, bins + 1
    credit = 0
    for t in range(n):
        if group[t] == g and not chosen[t] and limit[t] != bound[t]:
            level = sign * F[t] - base
            if level > 0.0:
                b = min(bins, int(level * scale))
                take = b >= cut
                if b == cut - 1 and pool > 0:
                    credit += rest
                    if credit >= pool:
                        credit -= pool
                        take = True
                if take and size < out.size:
                    chosen[t] = True
                    out[size] = t
                    size += 1
    return size


@jit
def select(
    F: Array,
    beta: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    extremes: Array,
    fresh: int,
    previous: IntArray,
    out: IntArray,
) -> int:
    """Choose a working set: the worst variables both ways, then the previous ones, free first."""
    n = F.size
    chosen = np.zeros(n, np.bool_)
    size = 0
    for g in range(groups):
        top, bottom = extremes[g, 0], extremes[g, 1]
        span = top - bottom
        if not (span > 0.0 and span < np.inf):
            continue
        a, b = -1, -1
        for t in range(n):
            if group[t] == g:
                if a < 0 and F[t] == top and beta[t] < hi[t]:
                    a = t
                elif b < 0 and F[t] == bottom and beta[t] > lo[t]:
                    b = t
        for t in (a, b):
            if t >= 0 and not chosen[t]:
                chosen[t] = True
                out[size] = t
                size += 1
        each = max(1, fresh // (2 * groups))
        size = _take_most(
            F, 1.0, hi, beta, group, g, bottom, 2048.0 / span, each, chosen, out, size
        )
        size = _take_most(F, -1.0, lo, beta, group, g, -top, 2048.0 / span, each, chosen, out, size)
    for free in (True, False):
        for t in previous:
            if size == out.size:
                return size
            if not chosen[t] and (lo[t] < beta[t] < hi[t]) == free:
                chosen[t] = True
                out[size] = t
                size += 1
    return size


@jit
def needed(
    F: Array,
    beta: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    position: IntArray,
    extremes: Array,
    margin: float,
    out: Flags,
) -> int:
    """Mark columns with a variable that is free or nearly violating; return how many."""
    out[:] = False
    for t in range(F.size):
        g = group[t]
        can_up, can_down = beta[t] < hi[t], beta[t] > lo[t]
        if (
            (can_up and can_down)
            or (can_up and F[t] > extremes[g, 1] - margin)
            or (can_down and F[t] < extremes[g, 0] + margin)
        ):
            out[position[t]] = True
    count = 0
    for c in range(out.size):
        count += out[c]
    return count
