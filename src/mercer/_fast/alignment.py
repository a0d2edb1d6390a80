"""Alignments of series: dynamic time warping and global alignment.

The recursions are serial along one pair and independent between pairs. So one series x is
compared with ``LANES`` series z at once, which lie side by side: ``lanes[c, j * LANES + l]`` is
channel c of series l at time j. Innermost loops run over lanes and vectorise. (They index ``k`` and
``k + LANES``: Numba tests whether ``k - LANES`` is negative, and then nothing vectorises.) Shorter
series of a group are padded with anything: a cell depends on earlier cells only, and the value of
a lane is read at its own end.

``a`` has the series x one after the other as rows (time, channel); series r begins at
``starts[r]`` and is ``lengths[r]`` long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

LANES = 16  # series side by side: two vectors of eight numbers each
TINY = 1e-100
"""Normalised alignments below it are not exact."""

# 2**f = (Q + fP)/(Q − fP) for |f| ≤ 1/2, P and Q polynomials of f², fP/Q = tanh(f·log(2)/2) at
# Chebyshev's points; good to 2e-14, and 1 at 0.
_P0, _P1 = 2524.7412887373503, 28.873152611950772
_Q0, _Q1 = 7284.863473578437, 374.9798591051726
_ROUND = 6755399441055743.0  # 1.5 · 2⁵² − 1: n added to it leaves n − 1 in the lowest bits
_FARTHEST = 430.0  # exp(−430) is below _NOTHING: a farther step counts as none
_NOTHING = 1e-150  # smaller values count as zero: denormal numbers are slow
_ROWS = 16  # rows of the table between two rescalings of its numbers


def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Emit a·b + c, rounded once: one instruction, which Numba has no name for."""
    signature = types.float64(types.float64, types.float64, types.float64)
    return signature, lambda context, builder, signature, values: builder.fma(*values)


def _shifted(context: Any, a: Any, b: Any) -> Any:
    """Emit a·2ⁿ, where n stands in the lowest bits of b."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        whole = ir.IntType(64)
        exponent = builder.shl(builder.bitcast(values[1], whole), ir.Constant(whole, 52))
        bits = builder.add(builder.bitcast(values[0], whole), exponent)
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64, types.float64), generate


_fma = cast(Callable[[float, float, float], float], intrinsic(_fused))
_times_power_of_two = cast(Callable[[float, float], float], intrinsic(_shifted))


@jit
def _local(distance: float) -> float:
    """Return κ/(2 − κ) for κ = 2**(−distance)."""
    distance = distance if distance < _FARTHEST else _FARTHEST
    shifted = _ROUND - distance
    f = (_ROUND - shifted) - distance
    g = f * f
    q = _fma(g, g + _Q1, _Q0)
    p = f * _fma(g, _P1, _P0)
    # κ/2 and 1, both times q − p: one division is enough.
    half = _times_power_of_two(q + p, shifted)
    return half / ((q - p) - half)


@jit
def _add_square(x: float, z: Array, out: Array) -> None:
    for k in range(len(z)):
        difference = x - z[k]
        out[k] += difference * difference


@jit
def _warp_row(x: float, z: Array, rest: Array, old: Array, new: Array) -> None:
    """Write the row of the recursion after ``old``; rows begin one column before the others."""
    new[:LANES] = np.inf
    for k in range(len(z)):
        difference = x - z[k]
        up, corner, left = old[k + LANES], old[k], new[k]
        best = up if up < corner else corner
        best = best if best < left else left
        new[k + LANES] = best + (difference * difference + rest[k])


@jit
def _align_row(x: float, z: Array, t: Array, rest: Array, old: Array, new: Array) -> None:
    """Write the row of the recursion after ``old``; rows begin one column before the others.

    Each value waits for that of its own lane one column before: while it does, the local kernels
    of the next columns are computed.
    """
    new[:LANES] = 0
    for k in range(len(z)):
        difference = x - z[k]
        local = _local(_fma(difference, difference, rest[k]))
        new[k + LANES] = local * _fma(t[k], old[k] + new[k], old[k + LANES])


@jit
def _rescale(row: Array, factor: float) -> None:
    for k in range(len(row)):
        value = row[k] * factor
        row[k] = value if value > _NOTHING else 0.0


@jit
def warp(
    a: Array,
    starts: IntArray,
    lengths: IntArray,
    lanes: Array,
    lane_lengths: IntArray,
    steps: int,
    share: float,
    out: Array,
) -> None:
    """Write the warping distances of the series x and one group of lanes to ``out[r, lane]``.

    The band reaches ``steps``, or a ``share`` of the longer series, beyond the two diagonals
    through the corners; ``steps < 0`` means that there is none. ``rest`` is what a cell costs
    besides the first channel: the other channels, and infinity outside the band of its own lane.
    """
    size = lanes.shape[1]
    rest = np.zeros(size, dtype=lanes.dtype)
    # Two rows of the recursion; they begin with a column before the first one.
    old = np.empty(size + LANES, dtype=lanes.dtype)
    new = np.empty(size + LANES, dtype=lanes.dtype)
    below, above = np.empty(LANES, dtype=np.int64), np.empty(LANES, dtype=np.int64)
    for r in range(len(starts)):
        n = lengths[r]
        low, high = n, size
        if steps >= 0:
            for lane in range(LANES):
                m = lane_lengths[lane]
                radius = max(steps, math.ceil(share * max(n, m)))
                below[lane] = radius + max(0, n - m)
                above[lane] = radius + max(0, m - n)
            low, high = below.max(), above.max()
        uneven = steps >= 0 and (below.min() < low or above.min() < high)
        old[:LANES] = 0
        old[LANES:] = np.inf
        new[:] = np.inf
        for i in range(n):
            first = max(0, i - low) * LANES
            last = min(size, (i + high + 1) * LANES)
            if steps >= 0 or len(lanes) > 1:
                rest[first:last] = 0
            if uneven:
                for j in range(first // LANES, last // LANES):
                    for lane in range(LANES):
                        if i - j > below[lane] or j - i > above[lane]:
                            rest[j * LANES + lane] = np.inf
            x = a[starts[r] + i]
            for c in range(1, len(x)):
                _add_square(x[c], lanes[c, first:last], rest[first:last])
            _warp_row(
                x[0],
                lanes[0, first:last],
                rest[first:last],
                old[first : last + LANES],
                new[first : last + LANES],
            )
            old, new = new, old
        for lane in range(LANES):
            out[r, lane] = old[lane_lengths[lane] * LANES + lane]


@jit
def align(
    a: Array,
    starts: IntArray,
    lengths: IntArray,
    lanes: Array,
    lane_lengths: IntArray,
    penalties: Array,
    out: Array,
) -> None:
    """Write normalised global alignments of the series x and one group of lanes.

    With M the sum over all alignments of the first i points of x and the first j points of z, and
    S the same of a series with itself, the recursion runs in N = M/√(S_x[i] S_z[j]). That is the
    normalised kernel of the two beginnings: it never exceeds 1, and what is lost below the range
    of numbers does not matter to the result. The last column of ``a``, and the last channel of
    ``lanes``, are the ratios √(S[i−1]/S[i]).

    A cell's local kernel is κ/(2 − κ), κ = 2**−(‖x − z‖² + penalties[|i − j|]). A band has as many
    penalties as it is wide; no penalties mean no band.
    """
    size = lanes.shape[1]
    channels, reach = lanes.shape[0] - 1, len(penalties)
    rest = np.zeros(size)
    old, new = np.empty(size + LANES), np.empty(size + LANES)
    for r in range(len(starts)):
        old[:LANES] = 1
        old[LANES:] = 0
        new[:] = 0
        due = 1.0  # the ratios of x by which the row has still to be multiplied
        for i in range(lengths[r]):
            first, last = 0, size
            if reach:
                first = min(size, max(0, i - reach + 1) * LANES)
                last = min(size, (i + reach) * LANES)
                for j in range(first // LANES, last // LANES):
                    rest[j * LANES : (j + 1) * LANES] = penalties[abs(i - j)]
            elif channels > 1:
                rest[:] = 0
            x = a[starts[r] + i]
            for c in range(1, channels):
                _add_square(x[c], lanes[c, first:last], rest[first:last])
            _align_row(
                x[0],
                lanes[0, first:last],
                lanes[channels, first:last],
                rest[first:last],
                old[first : last + LANES],
                new[first : last + LANES],
            )
            old, new = new, old
            due *= x[channels]
            if i % _ROWS == _ROWS - 1 or i == lengths[r] - 1:
                _rescale(old, due)
                due = 1.0
        for lane in range(LANES):
            out[r, lane] = old[lane_lengths[lane] * LANES + lane]
            # Outside the band there may be left what an earlier row wrote.
            if reach and abs(lengths[r] - lane_lengths[lane]) >= reach:
                out[r, lane] = 0


@jit
def self_ratios(
    at: Array, starts: IntArray, lengths: IntArray, penalties: Array, out: Array
) -> None:
    """Write √(S[i−1]/S[i]) of each series, S[i] the sum of all alignments of its beginning.

    Row i of the recursion has points 0 … i−1 as columns. Divided by √(S[i−1] S[j]) it gives
    S[i]/S[i−1] = 1 + 2·(its last value), since both neighbours of the diagonal are equal.
    ``at`` is ``a`` transposed, (channel, time).
    """
    longest = lengths.max()
    row, distances = np.empty(longest + 1), np.empty(longest)
    own, carry = np.empty(longest), np.empty(longest)
    reach = len(penalties)
    for r in range(len(starts)):
        x = at[:, starts[r] : starts[r] + lengths[r]]
        t = out[starts[r] : starts[r] + lengths[r]]
        t[0] = 1
        row[0], row[1] = 0, 1
        for i in range(1, lengths[r]):
            first = max(0, i - reach + 1) if reach else 0
            for j in range(first, i):
                distances[j] = penalties[i - j] if reach else 0.0
            for c in range(len(x)):
                _add_square(x[c, i], x[c, first:i], distances[first:i])
            _self_row(
                t[first:i], distances[first:i], own[first:i], carry[first:i], row[first : i + 1]
            )
            last = row[i] if first < i else 0.0
            t[i] = 1 / math.sqrt(1 + 2 * last)
            for j in range(first, i):
                row[j + 1] *= t[i]
            row[i + 1] = 1


@jit
def _self_row(t: Array, distances: Array, own: Array, carry: Array, row: Array) -> None:
    """Turn one row of a single pair into the next: what vectorises first, then the chain."""
    for j in range(len(t)):
        local = _local(distances[j])
        before = _fma(t[j], row[j], row[j + 1])
        own[j] = local * (before if before > _NOTHING else 0.0)
        carry[j] = local * t[j]
    left = 0.0
    row[0] = 0
    for j in range(len(t)):
        left = _fma(carry[j], left, own[j])
        row[j + 1] = left


@jit
def log_align(x: Array, z: Array, penalties: Array) -> float:
    """Return the logarithm of the sum over all alignments of two series, whatever its size."""
    n, m = len(x), len(z)
    reach = len(penalties)
    row = np.full(m + 1, -np.inf)
    row[0] = 0
    for i in range(n):
        corner = row[0]
        row[0] = -np.inf
        for j in range(m):
            up, left = row[j + 1], row[j]
            value = -np.inf
            if not reach or abs(i - j) < reach:
                distance = penalties[abs(i - j)] if reach else 0.0
                for c in range(x.shape[1]):
                    difference = x[i, c] - z[j, c]
                    distance += difference * difference
                t = -distance * math.log(2)
                most = max(max(up, left), corner)
                if most > -np.inf:
                    total = math.exp(up - most) + math.exp(left - most) + math.exp(corner - most)
                    value = most + math.log(total) + t - math.log(2 - math.exp(t))
            corner = up
            row[j + 1] = value
    result: float = row[m]
    return result
