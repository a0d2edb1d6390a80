"""Box QPs on one dense matrix: the steps of the solver, and the sums that judge an answer.

The problem is that of ``smo``. Steps of pairs (float32) find out roughly which multipliers are at a
bound; active-set steps (float64) then finish the job, with all free ones at once. No solver calls
``ends`` and ``judge``, which are for the certificate.
"""

import numpy as np

from mercer._fast.active_set import advance, exchange, follow, indices
from mercer._fast.jit import jit
from mercer._fast.smo import (
    NEVER,
    TAU,
    ascents,
    difference,
    disagreement,
    group_range,
    index_mask,
    move,
    packed,
    pair_step,
    top_index,
)
from mercer._typing import Array, Flags, Groups, IntArray, Real, Whole

__all__ = ["ends", "improve", "judge", "middles", "product", "verdict", "violation"]

_LEAST_NORMAL = 1e-30
"""Well above the least float32 of full precision, 1.2e-38."""
_SHRINK = 0.6
"""Share of active variables from which leaving the others out gains nothing."""

_AT_BOUND = 2.0**-50
"""Distance from a bound, as a share of the box, that rounding of a few sums in float64 leaves."""


@jit
def violation(
    p: Array, f: Array, beta: Array, lo: Array, hi: Array, group: Groups, groups: int
) -> float:
    """Return by how much two multipliers of a group that can still move disagree at most."""
    worst, F = 0.0, difference(p, f)
    for g in range(groups):
        top, bottom = group_range(F, beta, lo, hi, group, g)
        worst = max(worst, top - bottom)
    return worst


@jit
def product(K: Array, idx: IntArray, beta: Array, f: Array) -> None:
    """Fill f = Kβ at the variables' rows, in float64."""
    for b in range(idx.size):
        f[b] = 0.0
    for a in range(idx.size):
        if beta[a] != 0.0:
            row = K[idx[a]]
            for b in range(idx.size):
                f[b] += beta[a] * row[idx[b]]


@jit
def improve(
    K: Array,
    idx: IntArray,
    block: Array,
    there: Flags,
    diag: Array,
    p: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    beta: Array,
    f: Array,
    tol: float,
    rounds: int,
    pairs: int,
) -> tuple[int, bool, float, bool]:
    """Improve β by some rounds of pair steps and active-set steps; β and f = Kβ change in place.

    K is float64 and shared; variable t sits on its row ``idx[t]``. ``block`` (m, m) is float32
    scratch whose rows are fetched from K when first needed, and stay ``there`` for later calls.
    Pair steps that made the value worse are undone: below the rounding of float32 they only stir
    β, and the round with them is the last one. Returns the number of pair steps, whether negative
    curvature was met, about how far float32 has taken f from Kβ, and whether steps were undone.
    """
    steps, curved, spent, drift, undone = 0, False, 0.0, 0.0, False
    for _ in range(rounds):
        most = max(pairs, int(min(spent / idx.size, 30.0 * pairs)))
        before, f_before = beta.copy(), f.copy()
        F = difference(p, f)
        active = _active(F, lo, hi, group, groups, beta)
        if active.size > _SHRINK * idx.size:
            taken, bent = _climb(
                K, idx, block, there, diag, F, lo, hi, group, groups, beta, 0.9 * tol, most
            )
        else:
            # The others sit at bounds that they are far from leaving: steps need not touch them.
            k = active.size
            rows, diagonal, slopes, least, greatest, of, part = _part(
                active, idx, diag, F, lo, hi, group, beta
            )
            taken, bent = _climb(
                K,
                rows,
                np.empty((k, k), np.float32),
                np.zeros(k, np.bool_),
                diagonal,
                slopes,
                least,
                greatest,
                of,
                groups,
                part,
                0.9 * tol,
                most,
            )
            for s in range(k):
                beta[active[s]] = part[s]
        steps += taken
        curved = curved or bent
        error = follow(K, idx, block, there, before, beta, f, tol)
        if violation(p, f, beta, lo, hi, group, groups) <= tol:
            drift += error
            break
        undone = _gain(p, before, f_before, beta, f) < 0.0
        if undone:
            beta[:] = before
            f[:] = f_before
        else:
            drift += error
        if not curved:
            done, work, error = exchange(
                K, idx, block, there, p, lo, hi, group, groups, beta, f, tol
            )
            drift += error
            if done:
                break
            more, error = advance(K, idx, block, there, p, lo, hi, group, groups, beta, f, tol)
            drift += error
            spent = work + more
        if undone:
            break
    return steps, curved, drift, undone


@jit
def _gain(p: Array, before: Array, f_before: Array, beta: Array, f: Array) -> float:
    """Return by how much pᵀβ − ½ βᵀKβ has grown, from the change alone: no digits cancel."""
    gain = 0.0
    for t in range(p.size):
        gain += (beta[t] - before[t]) * (p[t] - 0.5 * (f_before[t] + f[t]))
    return gain


@jit
def _active(F: Array, lo: Array, hi: Array, group: Groups, groups: int, beta: Array) -> IntArray:
    """Return the variables that are free, or that pair steps may set free soon."""
    mark = np.zeros(F.size, np.bool_)
    for g in range(groups):
        top, bottom = group_range(F, beta, lo, hi, group, g)
        low, high = bottom - 0.5 * (top - bottom), top + 0.5 * (top - bottom)
        for t in range(F.size):
            if group[t] == g:
                up, down = beta[t] < hi[t], beta[t] > lo[t]
                mark[t] = (up and down) or (up and low < F[t]) or (down and high > F[t])
    return indices(mark)


@jit
def _part(
    at: IntArray,
    idx: IntArray,
    diag: Array,
    F: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    beta: Array,
) -> tuple[IntArray, Array, Array, Array, Array, Groups, Array]:
    """Return the given variables of all arrays, as fancy indexing would, in one loop."""
    k = at.size
    rows, diagonal, of = np.empty(k, np.intp), np.empty(k, np.float32), np.empty(k, np.uint8)
    slopes, least, greatest, part = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for s in range(k):
        t = at[s]
        rows[s], diagonal[s], of[s] = idx[t], diag[t], group[t]
        slopes[s], least[s], greatest[s], part[s] = F[t], lo[t], hi[t], beta[t]
    return rows, diagonal, slopes, least, greatest, of, part


@jit
def _fetch(K: Array, idx: IntArray, a: int, block: Array, there: Flags) -> None:
    if not there[a]:
        row, out = K[idx[a]], block[a]
        for t in range(out.size):
            value = row[idx[t]]
            # Numbers too small for float32's full precision would make every step slow.
            out[t] = value if abs(value) > _LEAST_NORMAL else 0.0
        there[a] = True


@jit
def _partner(down: Array, row: Array, diag: Array, k: Real, top: Real, mask: Whole) -> int:
    """Return the second-order choice: the greatest (top − F_t)²/curvature."""
    rest = np.int32(~mask)
    best = np.int32(0)
    for t in range(down.size):
        b = max(top - down[t], np.float32(0.0))
        gain = np.float32(b * b / max(k + diag[t] - row[t] - row[t], np.float32(TAU)))
        best = max(best, packed(gain.view(np.int32), rest, t))
    return int(best & mask)


@jit
def _climb(
    K: Array,
    idx: IntArray,
    block: Array,
    there: Flags,
    diag: Array,
    F: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    beta: Array,
    tol: float,
    most: int,
) -> tuple[int, bool]:
    """Take pair steps in float32 until no two multipliers disagree by more than ``tol``.

    F = p − f is scratch afterwards.
    """
    mask = index_mask(idx.size)
    up, down = ascents(F, beta, lo, hi, group, groups)
    limit = np.float32(tol)
    curved = False
    steps = 0
    i = top_index(up[0], mask)
    while steps < most:
        g = 0
        if groups == 2 or steps % 8 == 0:
            worst = -NEVER
            for c in range(groups):
                apart = disagreement(up[c], down[c])
                if apart > worst:
                    worst, g = apart, c
            if worst <= limit:
                break
            if groups == 2:
                i = top_index(up[g], mask)
        top = up[g, i]
        _fetch(K, idx, i, block, there)
        j = _partner(down[g], block[i], diag, diag[i], top, mask)
        bottom = down[g, j]
        slope = np.float64(top) - np.float64(bottom)
        if not 0.0 < slope < NEVER:
            break
        _fetch(K, idx, j, block, there)
        curvature = np.float64(diag[i]) + np.float64(diag[j]) - 2.0 * np.float64(block[i, j])
        if curvature < -1e-5 * (abs(diag[i]) + abs(diag[j])):
            curved = True
        step = pair_step(up[g], down[g], beta, lo, hi, i, j, slope / max(curvature, TAU))
        if step == 0.0:
            break
        if groups == 2:
            move(up[1 - g], down[1 - g], block[i], block[j], np.float32(step), mask)
        i = move(up[g], down[g], block[i], block[j], np.float32(step), mask)
        steps += 1
    return steps, curved


@jit
def ends(
    p: Array, f: Array, row: IntArray, lo: Array, hi: Array, beta: Array, group: Groups, groups: int
) -> Array:
    """Return for each group the greatest F that can go up, the least that can go down, a mean.

    F = p − f. The mean is that of the free variables, NaN where there are none.
    """
    result = np.empty((groups, 3))
    free = np.empty(groups)
    for g in range(groups):
        result[g, 0], result[g, 1], result[g, 2], free[g] = -np.inf, np.inf, 0.0, 0.0
    for t in range(p.size):
        slope = p[t] - f[row[t]]
        g = group[t]
        up, down = beta[t] < hi[t], beta[t] > lo[t]
        if up and slope > result[g, 0]:
            result[g, 0] = slope
        if down and slope < result[g, 1]:
            result[g, 1] = slope
        if up and down:
            result[g, 2] += slope
            free[g] += 1
    for g in range(groups):
        result[g, 2] = result[g, 2] / free[g] if free[g] > 0 else np.nan
    return result


@jit
def middles(ends: Array) -> Array:
    """Return the mean of each group over its free variables, else the middle of its range."""
    result = np.zeros(ends.shape[0])
    for g in range(result.size):
        low, high, mean = ends[g, 0], ends[g, 1], ends[g, 2]
        below, above = abs(low) < np.inf, abs(high) < np.inf
        if mean == mean:  # not NaN
            result[g] = mean
        elif below and above:
            result[g] = (low + high) / 2
        elif below or above:
            result[g] = low if below else high
    return result


@jit
def sums_error(beta: Array, group: Groups, sums: Array) -> float:
    """Return how far the sums of the groups are off, as a share of what they add up."""
    total, off = 0.0, np.zeros(sums.size)
    for t in range(beta.size):
        off[group[t]] += beta[t]
        total += abs(beta[t])
    worst = 0.0
    for g in range(sums.size):
        worst = max(worst, abs(off[g] - sums[g]))
    return worst / total if total > 0.0 else worst


@jit
def settle(lo: Array, hi: Array, beta: Array) -> None:
    """Put multipliers on a bound that only rounding keeps them from; one that is free fixes b."""
    largest = 0.0
    for t in range(beta.size):
        largest = max(largest, abs(beta[t]))
    for t in range(beta.size):
        least = _AT_BOUND * min(hi[t] - lo[t], largest)
        if beta[t] - lo[t] < least:
            beta[t] = lo[t]
        if hi[t] - beta[t] < least:
            beta[t] = hi[t]


@jit
def verdict(
    p: Array,
    f: Array,
    row: IntArray,
    lo: Array,
    hi: Array,
    beta: Array,
    group: Groups,
    sums: Array,
) -> tuple[Array, float, tuple[float, float, float, float, float, float]]:
    """Return the biases of an answer, the violation, and what ``judge`` says with these biases."""
    limits = ends(p, f, row, lo, hi, beta, group, sums.size)
    biases, worst = middles(limits), 0.0
    for g in range(sums.size):
        worst = max(worst, limits[g, 0] - limits[g, 1])
    return biases, worst, judge(p, f, row, lo, hi, beta, group, biases, sums)


@jit
def judge(
    p: Array,
    f: Array,
    row: IntArray,
    lo: Array,
    hi: Array,
    beta: Array,
    group: Groups,
    biases: Array,
    sums: Array,
) -> tuple[float, float, float, float, float, float]:
    """Return Σ (hi r⁺ − lo r⁻), the faults, pᵀβ, βᵀf and the largest product of room and residual.

    r = p − f − b. Where a bound is infinite the constraint is hard: a residual there is no price
    but a fault of the primal problem. The other fault is how far β lies outside of its box and
    the sums of its groups are off.
    """
    price, fault, outside, linear, quadratic, products = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    drift = np.empty(sums.size)
    for g in range(sums.size):
        drift[g] = -sums[g]
    for t in range(p.size):
        drift[group[t]] += beta[t]
        value = f[row[t]]
        r = p[t] - value - biases[group[t]]
        linear += p[t] * beta[t]
        quadratic += beta[t] * value
        outside = max(outside, lo[t] - beta[t], beta[t] - hi[t])
        bound = hi[t] if r > 0 else lo[t]
        if np.isinf(bound):
            fault = max(fault, abs(r))
        else:
            price += bound * r
            products = max(products, (bound - beta[t]) * r)
    for g in range(drift.size):
        outside = max(outside, abs(drift[g]))
    return price, fault, outside, linear, quadratic, products
