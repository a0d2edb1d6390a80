"""How the sum over all alignments of two series changes with the width of their local kernel."""

import math

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

_LOG_2 = math.log(2)


@jit
def log_slopes(
    a: Array,
    a_starts: IntArray,
    a_lengths: IntArray,
    b: Array,
    b_starts: IntArray,
    b_lengths: IntArray,
    penalties: Array,
    same: bool,
    out: Array,
) -> None:
    """Write ∂ log K/∂ log σ of all pairs of series; 0 where no alignment is allowed.

    Series are rows of time, without the column of their own alignment; κ = 2**−‖x − z‖². Where both
    batches are the ``same``, each pair is computed once.
    """
    longest = 0
    for s in range(len(b_lengths)):
        longest = max(longest, b_lengths[s])
    logs, slopes = np.empty(longest + 1), np.empty(longest + 1)
    for r in range(len(a_lengths)):
        x = a[a_starts[r] : a_starts[r] + a_lengths[r]]
        for s in range(r if same else 0, len(b_lengths)):
            z = b[b_starts[s] : b_starts[s] + b_lengths[s]]
            out[r, s] = _log_slope(x, z, penalties, logs, slopes)
            if same:
                out[s, r] = out[r, s]


@jit
def _log_slope(x: Array, z: Array, penalties: Array, logs: Array, slopes: Array) -> float:
    """Return ∂ log K/∂ log σ of one pair.

    The logarithm of a cell is that of a sum, so its slope is the mean of the slopes of the three
    cells before it, weighted by their shares in the sum, and of the cell's own local kernel
    κ/(2 − κ), κ = exp(t): 2/(2 − κ) ∂t/∂log σ, ∂t/∂log σ = 2 log 2 ‖x − z‖².
    """
    m, reach = len(z), len(penalties)
    for j in range(m + 1):
        logs[j], slopes[j] = -np.inf, 0.0
    logs[0] = 0.0
    for i in range(len(x)):
        corner, corner_slope = logs[0], slopes[0]
        logs[0] = -np.inf
        for j in range(m):
            up, left = logs[j + 1], logs[j]
            up_slope, left_slope = slopes[j + 1], slopes[j]
            value, slope = -np.inf, 0.0
            most = max(max(up, left), corner)
            if most > -np.inf and (not reach or abs(i - j) < reach):
                distance = 0.0
                for c in range(x.shape[1]):
                    difference = x[i, c] - z[j, c]
                    distance += difference * difference
                t = -_LOG_2 * (distance + (penalties[abs(i - j)] if reach else 0.0))
                first, second = math.exp(up - most), math.exp(left - most)
                third = math.exp(corner - most)
                total = first + second + third
                rest = 2 - math.exp(t)
                value = most + math.log(total) + t - math.log(rest)
                slope = (first * up_slope + second * left_slope + third * corner_slope) / total
                slope += 4 * _LOG_2 * distance / rest
            corner, corner_slope = up, up_slope
            logs[j + 1], slopes[j + 1] = value, slope
    found: float = slopes[m] if logs[m] > -np.inf else 0.0
    return found
