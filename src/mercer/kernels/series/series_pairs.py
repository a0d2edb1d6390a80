"""All pairs of two batches of series: one of them in groups side by side, for compiled code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.kernels.series.series_points import Series

Recursion = Callable[[Series, Array, IntArray, Array], None]
"""Writes the values of all series of the first and of a group side by side, of these lengths."""


def all_pairs(a: Series, b: Series, recursion: Recursion) -> Array:
    """Return the values of all pairs; a symmetric block is computed once above its diagonal."""
    width = _fast.alignment.LANES
    symmetric = a.same_as(b)
    # The side that leaves fewer lanes empty lies side by side.
    if not symmetric and len(a) * _padded(len(b), width) > len(b) * _padded(len(a), width):
        return np.ascontiguousarray(all_pairs(b, a, recursion).T)
    # Series of similar length go together, so that little is computed for padding.
    order = np.argsort(b.lengths, kind="stable")
    rows = a.take(order) if symmetric else a
    out = np.empty((len(a), len(b)), dtype=a.dtype)
    for start in range(0, len(b), width):
        group = order[start : start + width]
        stop = min(start + width, len(rows)) if symmetric else len(rows)
        part = np.empty((stop, width), dtype=a.dtype)
        recursion(rows.take(slice(0, stop)), *_side_by_side(b.take(group), width), part)
        part = part[:, : len(group)]
        if symmetric:
            out[np.ix_(order[:stop], group)] = part
            out[np.ix_(group, order[:stop])] = part.T
        else:
            out[:, group] = part
    return out


def _padded(count: int, width: int) -> int:
    return -(-count // width) * width


def _side_by_side(series: Series, width: int) -> tuple[Array, IntArray]:
    """Return up to ``width`` series as lanes (channel, time and lane), padded, and their lengths.

    Lanes that are left over repeat the last series.
    """
    lanes = np.zeros((series.channels, int(series.lengths.max()), width), dtype=series.dtype)
    lengths = np.empty(width, dtype=np.int64)
    for lane in range(width):
        number = min(lane, len(series) - 1)
        lengths[lane] = series.lengths[number]
        begin = series.starts[number]
        lanes[:, : lengths[lane], lane] = series.values[begin : begin + lengths[lane]].T
    return lanes.reshape(series.channels, -1), lengths
