"""Shapley values of games that columns play: products of factors, powers of sums."""

import numpy as np

from mercer._fast.jit import jit, jit_formulas, jit_sums
from mercer._typing import Array

LANES = 48
"""Points that go through the loops together. With 24 to 64 of them and 5 to 200 columns the loops
take about as long; with 16, each vector of a processor waits for the one before it."""


@jit_formulas
def product_values(present: Array, absent: Array, nodes: Array, weights: Array, out: Array) -> None:
    """Set out[i, j] = (a_j − c_j) ∫₀¹ Π_{l≠j} (c_l + q (a_l − c_l)) dq for each point i.

    ``present`` has the factors a of known columns, a row for each point, ``absent`` those c of
    unknown ones, the same for all points. The integrand is a polynomial in q: nodes and weights
    are Gauss's. Two nodes and two columns go together: what they share is read once.
    """
    n, d = present.shape
    pairs = (d + 1) // 2
    # A column that fills the last pair has the factor 1 at every node.
    floors, slopes, totals = np.ones(2 * pairs), np.zeros((2 * pairs, LANES)), _lanes(2 * pairs)
    before, before_too = _lanes(pairs), _lanes(pairs)
    chain, chain_too = np.empty(LANES), np.empty(LANES)
    for j in range(d):
        floors[j] = absent[j]
    for begin in range(0, n, LANES):
        count = min(LANES, n - begin)
        for lane in range(count):
            for j in range(d):
                slopes[j, lane] = present[begin + lane, j] - floors[j]
        totals[:] = 0.0
        for first in range(0, len(nodes), 2):
            second = min(first + 1, len(nodes) - 1)
            q, q_too = nodes[first], nodes[second]
            chain[:] = weights[first]
            chain_too[:] = weights[second] if second > first else 0.0
            for p in range(pairs):
                c0, c1, s0, s1 = floors[2 * p], floors[2 * p + 1], slopes[2 * p], slopes[2 * p + 1]
                b, b_too = before[p], before_too[p]
                for lane in range(LANES):
                    b[lane], b_too[lane] = chain[lane], chain_too[lane]
                    chain[lane] *= (c0 + q * s0[lane]) * (c1 + q * s1[lane])
                    chain_too[lane] *= (c0 + q_too * s0[lane]) * (c1 + q_too * s1[lane])
            chain[:] = 1.0
            chain_too[:] = 1.0
            for p in range(pairs - 1, -1, -1):
                c0, c1, s0, s1 = floors[2 * p], floors[2 * p + 1], slopes[2 * p], slopes[2 * p + 1]
                b, b_too, t0, t1 = before[p], before_too[p], totals[2 * p], totals[2 * p + 1]
                for lane in range(LANES):
                    f0, f1 = c0 + q * s0[lane], c1 + q * s1[lane]
                    g0, g1 = c0 + q_too * s0[lane], c1 + q_too * s1[lane]
                    others, others_too = b[lane] * chain[lane], b_too[lane] * chain_too[lane]
                    t0[lane] += others * f1 + others_too * g1
                    t1[lane] += others * f0 + others_too * g0
                    chain[lane] *= f0 * f1
                    chain_too[lane] *= g0 * g1
        for lane in range(count):
            for j in range(d):
                out[begin + lane, j] = slopes[j, lane] * totals[j, lane]


@jit_formulas
def product_values_against(
    present: Array, absent: Array, nodes: Array, weights: Array, out: Array
) -> None:
    """Set out as ``product_values`` does, where each point has its own row of ``absent``."""
    n, d = present.shape
    floors, slopes, totals, before = _lanes(d), _lanes(d), _lanes(d), _lanes(d)
    chain = np.empty(LANES)
    for begin in range(0, n, LANES):
        for lane in range(LANES):
            i = min(begin + lane, n - 1)
            for j in range(d):
                floors[j, lane] = absent[i, j]
                slopes[j, lane] = present[i, j] - absent[i, j]
        totals[:] = 0.0
        for k in range(len(nodes)):
            q = nodes[k]
            chain[:] = weights[k]
            for j in range(d):
                c, s, b = floors[j], slopes[j], before[j]
                for lane in range(LANES):
                    b[lane] = chain[lane]
                    chain[lane] *= c[lane] + q * s[lane]
            chain[:] = 1.0
            for j in range(d - 1, -1, -1):
                c, s, b, t = floors[j], slopes[j], before[j], totals[j]
                for lane in range(LANES):
                    t[lane] += b[lane] * chain[lane]
                    chain[lane] *= c[lane] + q * s[lane]
        for lane in range(min(LANES, n - begin)):
            for j in range(d):
                out[begin + lane, j] = slopes[j, lane] * totals[j, lane]


@jit
def _lanes(rows: int) -> Array:
    """Return room for some numbers of each of the points that go together."""
    return np.empty((rows, LANES))


@jit_sums
def spread(present: Array, absent: Array) -> tuple[int, float]:
    """Return how many ∣a∣ and ∣c∣ are not at most 1, and the largest Σ ∣a − c∣ of a point.

    ``absent`` has one row for all points or one for each of them.
    """
    beyond, farthest = 0, 0.0
    for i in range(len(present)):
        a, c = present[i], absent[i if len(absent) > 1 else 0]
        total = 0.0
        for j in range(len(a)):
            beyond += not abs(a[j]) <= 1.0
            total += abs(a[j] - c[j])
        farthest = max(farthest, total)
    for i in range(len(absent)):
        for j in range(absent.shape[1]):
            beyond += not abs(absent[i, j]) <= 1.0
    return beyond, farthest


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
