"""The last steps on box QPs, and several small problems in one compiled call."""

import numpy as np

from mercer._fast.box_qp import improve, product, settle, sums_error, verdict, violation
from mercer._fast.jit import jit
from mercer._typing import Array, Groups, IntArray

FINEST = 1e-12
"""Violation that float64 can reach on multipliers of size 1."""
FINE_ENOUGH = 1e-9
"""Violation at which one step was enough, and that others aim at where the matrix is nearly
singular: the last three digits took most of the time of such fits."""
FINE_ROUNDS, FINE_PAIRS = 8, 1000
"""Most rounds among the last ones, where a matrix is nearly singular, and pair steps in each: a few
for each variable."""
ATTEMPTS = 4
"""Times that a problem is solved to a smaller violation, because its gap is too large still."""
EPSILON = 2.0**-52
"""The precision of float64."""
GAP_ROUNDING = 1e-14
"""What rounding leaves of a difference of sums, as a share of what they add up; as in ``Gap``."""


@jit
def solve_parts(
    K: Array,
    idx: IntArray,
    ends: IntArray,
    p: Array,
    lo: Array,
    hi: Array,
    group: Groups,
    groups: int,
    beta: Array,
    f: Array,
    tol: float,
    most_gap: float,
    rounds: int,
    pairs: int,
    pairs_each: int,
    most_fine: int,
) -> Array:
    """Solve several problems on rows of one matrix, each to a violation of ``tol``.

    The variables of problem j stand from ``ends[j]`` on; β holds starts and then answers, and f the
    products Kβ. Where the relative gap is above ``most_gap`` then, the violation has to be smaller,
    as ``Budget.sharper`` has it. Problems of at most ``most_fine`` variables are made exact.
    Returns for each the pair steps, whether negative curvature was met, the violation, the error
    of the fixed sums and the relative gap: where these are too large, this was not enough.
    """
    numbers, largest = np.empty((ends.size - 1, 5)), 0.0
    for i in range(K.shape[0]):
        largest = max(largest, abs(K[i, i]))
    for j in range(ends.size - 1):
        a, b = ends[j], ends[j + 1]
        m, at, of = b - a, idx[a:b], group[a:b]
        x, fx, px, least, greatest = beta[a:b], f[a:b], p[a:b], lo[a:b], hi[a:b]
        block, there = np.empty((m, m), np.float32), np.zeros(m, np.bool_)
        diag, sums = np.empty(m, np.float32), np.zeros(groups)
        for t in range(m):
            diag[t] = K[at[t], at[t]]
            sums[of[t]] += x[t]
        steps, curved, drift, wanted = 0.0, False, 0.0, tol
        left, gap = np.inf, np.inf
        product(K, at, x, fx)
        for _ in range(ATTEMPTS):
            goal, turns, most = wanted, rounds, max(pairs, pairs_each * m)
            # The call stands in loops, and not three times: Numba compiles it for each place anew.
            for stage in range(3):
                taken, bent, drift, _ = improve(
                    K, at, block, there, diag, px, least, greatest, of, groups, x, fx,
                    goal, turns, most,
                )  # fmt: skip
                if stage == 0:
                    steps += taken
                    curved = curved or bent
                    # Where f is exact, active-set steps had the last word.
                    if drift == 0.0 or violation(px, fx, x, least, greatest, of, groups) > wanted:
                        break
                if stage < 2:
                    product(K, at, x, fx)
                    drift = 0.0
                if m > most_fine:
                    break
                # One active-set step makes β exact, more do where the matrix is nearly singular.
                goal, turns, most = FINEST, 1, 0
                if stage == 1:
                    if violation(px, fx, x, least, greatest, of, groups) <= FINE_ENOUGH:
                        break
                    goal, turns, most = FINE_ENOUGH, FINE_ROUNDS, FINE_PAIRS
            settle(least, greatest, x)
            if drift != 0.0:
                product(K, at, x, fx)
            left = violation(px, fx, x, least, greatest, of, groups)
            gap = relative_gap(px, fx, least, greatest, x, of, sums, largest)
            if gap <= most_gap or curved or not FINEST < left <= wanted:
                break
            wanted = left * min(0.3, max(0.03, most_gap / gap))
        numbers[j, 0], numbers[j, 1], numbers[j, 2] = steps, curved, left
        numbers[j, 3] = sums_error(x, of, sums)
        numbers[j, 4] = gap
    return numbers


@jit
def relative_gap(
    p: Array,
    f: Array,
    lo: Array,
    hi: Array,
    beta: Array,
    group: Groups,
    sums: Array,
    largest: float,
) -> float:
    """Return what ``BoxQP.relative_gap`` does, where no value of K is above ``largest``.

    The gap is a share of the larger of the primal and the dual value. It is 0 where rounding
    explains it: that of these sums, or that of Kβ, ε·max K·Σ|β|, times the widths of the box.
    """
    biases, _, judged = verdict(p, f, np.arange(p.size), lo, hi, beta, group, sums)
    price, fault, _, linear, quadratic, _ = judged
    if fault != 0.0:  # hard constraints have no price, and tolerances of their own
        return 0.0
    constant, size, room = 0.0, 0.0, 0.0
    for g in range(sums.size):
        constant += biases[g] * sums[g]
    for t in range(p.size):
        size += abs(beta[t])
        width = hi[t] - lo[t]
        room += width if width < np.inf else 0.0
    primal, dual = quadratic / 2 + price + constant, linear - quadratic / 2
    gap, terms = primal - dual, abs(price) + abs(linear) + abs(quadratic) + abs(constant)
    if not np.isfinite(gap):
        return np.inf
    if gap <= max(GAP_ROUNDING * terms, EPSILON * largest * size * room):
        return 0.0
    return gap / max(abs(primal), abs(dual))
