"""Exponentials of matrix products in float32, used while they are still near the core."""

import numpy as np

from mercer._fast.jit import jit_formulas, jit_sums
from mercer._typing import Array

_ROWS = 128
"""Rows whose exponents are computed at once: few enough to stay near, enough for BLAS."""
_FLUSH = 512
"""Rows after which sums in float32 are added to those in float64."""

_LOG2_E, _HALF = np.float32(1.4426950408889634), np.float32(0.5)
_LOWEST = np.float32(-87.0)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440054690583e-4)
"""Their sum is ln 2; the first has so few digits that its multiples are exact."""
_C0 = np.float32(0.9999999999595487)
_C1 = np.float32(1.0000000377274496)
_C2 = np.float32(0.5000000107749126)
_C3 = np.float32(0.16666415477237176)
_C4 = np.float32(0.041666218274850966)
_C5 = np.float32(0.008375128890233275)
_C6 = np.float32(0.0013948580795629239)
"""eʳ for |r| ≤ ½ ln 2 by Chebyshev's polynomial of degree 6, relative error 3·10⁻⁹."""


@jit_formulas
def exponentials(row: Array) -> None:
    """Replace x ≤ 88 by eˣ, to one or two units in the last place; below −87 by e⁻⁸⁷."""
    for c in range(row.size):
        x = max(row[c], _LOWEST)
        whole = np.floor(x * _LOG2_E + _HALF)
        r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
        power = (((((_C6 * r + _C5) * r + _C4) * r + _C3) * r + _C2) * r + _C1) * r + _C0
        bits = (np.int32(whole) + np.int32(127)) << np.int32(23)
        row[c] = power * np.int32(bits).view(np.float32)


@jit_sums
def curve(
    A: Array, B: Array, W: Array, constants: Array, factors: Array, sums: Array, totals: Array
) -> None:
    """Add ΦᵀDΦWᵀ for Φ = exp(AB) to ``sums``, of shape (columns of W, columns of B).

    The rows of ΦWᵀ get ``constants``, D holds ``factors``, and ``totals`` get the sums of DΦWᵀ.
    """
    count, columns = W.shape
    block = np.empty((_ROWS, columns), dtype=A.dtype)
    near = np.zeros((count, columns), dtype=A.dtype)
    for start in range(0, A.shape[0], _ROWS):
        stop = min(start + _ROWS, A.shape[0])
        here = block[: stop - start]
        np.dot(A[start:stop], B, here)
        for r in range(stop - start):
            row = here[r]
            exponentials(row)
            for j in range(count):
                weights, pulls = W[j], near[j]
                u = A.dtype.type(0)
                for c in range(columns):
                    u += row[c] * weights[c]
                pull = factors[start + r] * (u + constants[j])
                totals[j] += pull
                light = A.dtype.type(pull)
                for c in range(columns):
                    pulls[c] += light * row[c]
        if stop % _FLUSH == 0 or stop == A.shape[0]:
            for j in range(count):
                for c in range(columns):
                    sums[j, c] += near[j, c]
                    near[j, c] = 0
