"""Shapley values of games that columns play: products of factors, powers of sums."""

import numpy as np

from mercer._fast.jit import jit_formulas, jit_sums
from mercer._typing import Array

LANES = 16
"""Points that go through the loops together: a few vectors of a processor."""


@jit_formulas
def product_values(present: Array, absent: Array, nodes: Array, weights: Array, out: Array) -> None:
    """Set out[i, j] = (a_j − c_j) ∫₀¹ Π_{l≠j} (c_l + q (a_l − c_l)) dq for each point i.

    ``present`` has the factors a of known columns, ``absent`` those c of unknown ones, one row for
    all or one for each point. The integrand is a polynomial in q: nodes and weights are Gauss's.
    """
    n, d = present.shape
    slopes = np.empty((d, LANES))
    floors = np.empty((d, LANES))
    factors = np.empty((d, LANES))
    before = np.empty((d, LANES))
    totals = np.empty((d, LANES))
    after = np.empty(LANES)
    for begin in range(0, n, LANES):
        for lane in range(LANES):
            i = min(begin + lane, n - 1)
            own = i if len(absent) > 1 else 0
            for j in range(d):
                floors[j, lane] = absent[own, j]
                slopes[j, lane] = present[i, j] - absent[own, j]
                totals[j, lane] = 0.0
        for q in range(len(nodes)):
            for lane in range(LANES):
                after[lane] = weights[q]
            for j in range(d):
                for lane in range(LANES):
                    before[j, lane] = after[lane]
                    factors[j, lane] = floors[j, lane] + nodes[q] * slopes[j, lane]
                    after[lane] *= factors[j, lane]
            for lane in range(LANES):
                after[lane] = 1.0
            for j in range(d - 1, -1, -1):
                for lane in range(LANES):
                    totals[j, lane] += before[j, lane] * after[lane]
                    after[lane] *= factors[j, lane]
        for lane in range(min(LANES, n - begin)):
            for j in range(d):
                out[begin + lane, j] = slopes[j, lane] * totals[j, lane]


@jit_formulas
def spread(present: Array, absent: Array) -> tuple[float, float]:
    """Return the largest ∣a∣ or ∣c∣, and the largest sum of ∣a − c∣ over the columns of a point."""
    largest, farthest = 0.0, 0.0
    for i in range(len(present)):
        own = i if len(absent) > 1 else 0
        total = 0.0
        for j in range(present.shape[1]):
            a, c = present[i, j], absent[own, j]
            largest = max(largest, abs(a), abs(c))
            total += abs(a - c)
        farthest = max(farthest, total)
    return largest, farthest


@jit_sums
def power_values(
    terms: Array, constants: Array, degree: int, nodes: Array, weights: Array, out: Array
) -> None:
    """Set out[i, j] to the Shapley value of column j in (c + Σ_{l∈S} t_l)^degree, for each row i.

    Each other column is there with probability q, so the expected power is ``degree``! times a
    coefficient of the power series e^{cs} (e^{t_j s} − 1) Π_{l≠j} (1 + q (e^{t_l s} − 1)) in s.
    """
    n, d = terms.shape
    size = degree + 1
    inverse = np.ones(size)  # 1/m!
    for m in range(1, size):
        inverse[m] = inverse[m - 1] / m
    before = np.empty((d, size))
    after = np.empty(size)
    row = np.empty(size)
    for i in range(n):
        t = terms[i]
        for j in range(d):
            out[i, j] = 0.0
        for q in range(len(nodes)):
            power = 1.0
            for m in range(size):
                before[0, m] = power * inverse[m]
                power *= constants[i]
                after[m] = 0.0
            after[0] = 1.0
            for j in range(d - 1):
                _exponential(t[j], nodes[q], inverse, row)
                for m in range(size):
                    total = 0.0
                    for k in range(m + 1):
                        total += before[j, k] * row[m - k]
                    before[j + 1, m] = total
            for j in range(d - 1, -1, -1):
                total = 0.0
                power = 1.0
                for m in range(1, size):
                    power *= t[j]
                    others = 0.0
                    for k in range(size - m):
                        others += before[j, k] * after[degree - m - k]
                    total += power * inverse[m] * others
                out[i, j] += weights[q] * total / inverse[degree]
                _exponential(t[j], nodes[q], inverse, row)
                for m in range(size - 1, -1, -1):
                    total = 0.0
                    for k in range(m + 1):
                        total += after[k] * row[m - k]
                    after[m] = total


@jit_sums
def _exponential(t: float, q: float, inverse: Array, out: Array) -> None:
    """Set out to the coefficients of 1 + q (e^{ts} − 1) in s."""
    out[0] = 1.0
    power = q
    for m in range(1, len(out)):
        power *= t
        out[m] = power * inverse[m]
