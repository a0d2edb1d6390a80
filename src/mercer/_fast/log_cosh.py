"""Sums over rows that the contrast log cosh needs beside tanh itself."""

import math

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

_LANES = 16
"""Sums side by side: two vectors of the widest registers, in float64."""
_FACTORS = 512
"""So many numbers from 1 to 2 can be multiplied before their product overflows."""


@jit
def sums(Y: Array, P: Array, alpha: float) -> tuple[Array, Array]:
    """Return Σ p² and Σ log cosh(αy) of each row, where p = tanh(αy).

    log cosh z = |z| − log(1 + |tanh z|) takes no exponential, and one logarithm for many numbers.
    Sums run in lanes side by side, so that they need not be reordered to be vectorised.
    """
    rows, columns = Y.shape
    squares, totals = np.zeros(rows), np.zeros(rows)
    lanes = np.empty((3, _LANES))
    for i in range(rows):
        y, p = Y[i], P[i]
        lanes[:2] = 0
        lanes[2] = 1
        for chunk in range(columns // _LANES):
            start = chunk * _LANES
            for lane in range(_LANES):
                value = p[start + lane]
                lanes[0, lane] += value * value
                lanes[1, lane] += abs(y[start + lane])
                lanes[2, lane] *= 1 + abs(value)
            if chunk % _FACTORS == _FACTORS - 1:
                for lane in range(_LANES):
                    totals[i] -= math.log(lanes[2, lane])
                    lanes[2, lane] = 1
        for j in range(columns // _LANES * _LANES, columns):
            squares[i] += p[j] * p[j]
            totals[i] += alpha * abs(y[j]) - math.log(1 + abs(p[j]))
        for lane in range(_LANES):
            squares[i] += lanes[0, lane]
            totals[i] += alpha * lanes[1, lane] - math.log(lanes[2, lane])
    return squares, totals
