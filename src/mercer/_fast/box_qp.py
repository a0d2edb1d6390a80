"""One pass over the variables of a box QP, for its certificate; no solver calls this."""

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, Groups, IntArray


@jit
def ends(
    p: Array, f: Array, row: IntArray, lo: Array, hi: Array, beta: Array, group: Groups, groups: int
) -> Array:
    """Return for each group the greatest F that can go up, the least that can go down, a mean.

    F = p − f. The mean is that of the free variables, NaN where there are none.
    """
    result = np.empty((groups, 3))
    result[:, 0] = -np.inf
    result[:, 1] = np.inf
    result[:, 2] = 0.0
    free = np.zeros(groups)
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
    drift = -sums
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
