"""Naive references of the kernels of series: tables filled cell by cell, one pair at a time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._typing import Object
from mercer.kernels.series.alignment import DTW, GlobalAlignment

Point = list[float]


def _series(row: Any, time: str) -> list[Point]:
    """Return a series as a list of points, each with all channels."""
    values = np.asarray(row, dtype=np.float64)
    if values.ndim == 1:
        values = values[None, :] if time == "last" else values[:, None]
    points = values.T if time == "last" else values
    return [point.tolist() for point in points if not all(math.isnan(v) for v in point)]


def _squared(x: Point, z: Point) -> float:
    return math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))


def naive_dtw(x: Object, z: Object, band: float | None = None, time: str = "last") -> float:
    """Return the warping distance D of two series."""
    left, right = _series(x, time), _series(z, time)
    n, m = len(left), len(right)
    radius = math.inf
    if band is not None:
        radius = band if band >= 1 else math.ceil(band * max(n, m))
    table = [[math.inf] * (m + 1) for _ in range(n + 1)]
    table[0][0] = 0.0
    for i in range(n):
        for j in range(m):
            # The band lies around the diagonals through both corners.
            if min(0, m - n) - radius <= j - i <= max(0, m - n) + radius:
                before = min(table[i][j], table[i][j + 1], table[i + 1][j])
                table[i + 1][j + 1] = before + _squared(left[i], right[j])
    return table[n][m]


def naive_alignment(
    x: Object, z: Object, sigma: float, band: float | None = None, time: str = "last"
) -> float:
    """Return log K, the logarithm of the sum over all alignments of two series."""
    left, right = _series(x, time), _series(z, time)
    table = [[-math.inf] * (len(right) + 1) for _ in range(len(left) + 1)]
    table[0][0] = 0.0
    for i, p in enumerate(left):
        for j, q in enumerate(right):
            weight = 1.0 if band is None else max(0.0, 1 - abs(i - j) / band)
            before = [table[i][j], table[i][j + 1], table[i + 1][j]]
            most = max(before)
            if weight > 0 and most > -math.inf:
                log_k = math.log(weight) - _squared(p, q) / (2 * sigma**2)
                log_k -= math.log(2 - math.exp(log_k))
                total = math.fsum(math.exp(value - most) for value in before)
                table[i + 1][j + 1] = log_k + most + math.log(total)
    return table[-1][-1]


def _dtw(kernel: DTW, x: Object, z: Object, same: bool, training: Sequence[Any] | None) -> float:
    gamma = _settled(kernel, kernel.gamma, training, _dtw_rate)
    return math.exp(-gamma * naive_dtw(x, z, kernel.band, kernel.time))


def _dtw_rate(kernel: DTW, training: Sequence[Any]) -> float:
    if kernel.gamma != "median":
        return _rate(training, kernel.time)
    distances = [
        naive_dtw(a, b, kernel.band, kernel.time)
        for i, a in enumerate(training)
        for b in training[:i]
    ]
    positive = [distance for distance in distances if distance > 0]
    return 1 / (2 * statistics.median(positive)) if positive else 0.5


def _rate(training: Sequence[Any], time: str) -> float:
    """Return 1/(T·c·Var): mean length, channels, and the mean of the channels' variances."""
    rows = [_series(row, time) for row in training]
    channels = list(zip(*[point for row in rows for point in row], strict=True))
    variance = statistics.mean([statistics.pvariance(channel) for channel in channels])
    size = statistics.mean([len(row) for row in rows]) * len(channels)
    return 1 / (size * variance) if variance else 1.0


def _alignment(
    kernel: GlobalAlignment, x: Object, z: Object, same: bool, training: Sequence[Any] | None
) -> float:
    sigma = _settled(kernel, kernel.sigma, training, _alignment_width)
    logs = [
        naive_alignment(a, b, sigma, kernel.band, kernel.time) for a, b in ((x, z), (x, x), (z, z))
    ]
    return math.exp(logs[0] - (logs[1] + logs[2]) / 2)


def _alignment_width(kernel: GlobalAlignment, training: Sequence[Any]) -> float:
    if kernel.sigma != "median":
        return math.sqrt(0.5 / _rate(training, kernel.time))
    rows = [_series(row, kernel.time) for row in training]
    points = [point for row in rows for point in row]
    distances = [math.dist(p, q) for i, p in enumerate(points) for q in points[:i]]
    positive = [distance for distance in distances if distance > 0]
    middle = statistics.median(positive) if positive else 1.0
    return middle * math.sqrt(statistics.median([len(row) for row in rows]))


_last: list[Any] = [None, None, 0.0]
"""The kernel and the training data that were settled last, and the width."""


def _settled(
    kernel: Any, width: Any, training: Sequence[Any] | None, rule: Callable[..., float]
) -> float:
    """Return the width as a number; a rule is followed once for all pairs of one matrix."""
    if not isinstance(width, str):
        return float(width)
    assert training is not None
    if _last[0] is not kernel or _last[1] is not training:
        _last[:] = kernel, training, rule(kernel, training)
    return float(_last[2])


FORMULAS: dict[type, Callable[[Any, Any, Any, bool, Sequence[Any] | None], float]] = {
    DTW: _dtw,
    GlobalAlignment: _alignment,
}
