"""Exponentials of matrix products, used while they are still near the core."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

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
def single(row: Array) -> None:
    """Replace x ≤ 88 by eˣ in float32, to one or two units in the last place; below −87 by e⁻⁸⁷."""
    for c in range(row.size):
        x = max(row[c], _LOWEST)
        whole = np.floor(x * _LOG2_E + _HALF)
        r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
        power = (((((_C6 * r + _C5) * r + _C4) * r + _C3) * r + _C2) * r + _C1) * r + _C0
        bits = (np.int32(whole) + np.int32(127)) << np.int32(23)
        row[c] = power * np.int32(bits).view(np.float32)


@jit_formulas
def double(row: Array) -> None:
    """Replace x ≤ 709 by eˣ in float64, to one or two units in the last place; from −708 on."""
    for c in range(row.size):
        x = max(row[c], -708.0)
        whole = np.floor(x * 1.4426950408889634 + 0.5)
        r = (x - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10
        # Taylor's series: |r| ≤ ½ ln 2, so that the first term left away is below 5·10⁻¹⁸.
        power = 1 / 6227020800.0
        power = power * r + 1 / 479001600.0
        power = power * r + 1 / 39916800.0
        power = power * r + 1 / 3628800.0
        power = power * r + 1 / 362880.0
        power = power * r + 1 / 40320.0
        power = power * r + 1 / 5040.0
        power = power * r + 1 / 720.0
        power = power * r + 1 / 120.0
        power = power * r + 1 / 24.0
        power = power * r + 1 / 6.0
        power = power * r + 0.5
        power = power * r + 1.0
        power = power * r + 1.0
        bits = (np.int64(whole) + np.int64(1023)) << np.int64(52)
        row[c] = power * np.int64(bits).view(np.float64)


_ROOT_2, _MANTISSA, _ONE_BITS = 1.4142135623730951, (1 << 52) - 1, 1023 << 52


@jit_formulas
def logarithms(row: Array) -> None:
    """Replace x by log x in float64, to two units in the last place, for 1e-300 ≤ x ≤ 1e300.

    x = 2ᵏm with m from 1/√2 to √2, and log m = 2(s + s³/3 + s⁵/5 + …) with s = (m − 1)/(m + 1):
    s² is below 0.03, and the first term left away below 10⁻¹⁷.
    """
    for c in range(row.size):
        x = row[c]
        bits = np.float64(x).view(np.int64)
        whole = np.float64((bits >> 52) - 1023)
        m = np.int64((bits & _MANTISSA) | _ONE_BITS).view(np.float64)
        above = m > _ROOT_2
        m = 0.5 * m if above else m
        whole = whole + 1.0 if above else whole
        s = (m - 1.0) / (m + 1.0)
        t = s * s
        series = 1 / 21.0
        series = series * t + 1 / 19.0
        series = series * t + 1 / 17.0
        series = series * t + 1 / 15.0
        series = series * t + 1 / 13.0
        series = series * t + 1 / 11.0
        series = series * t + 1 / 9.0
        series = series * t + 1 / 7.0
        series = series * t + 1 / 5.0
        series = series * t + 1 / 3.0
        rest = 2.0 * s + 2.0 * s * t * series
        # What is not a number stays none.
        row[c] = whole * 0.6931471805599453 + rest + (x - x)


def exponentials(row: Array) -> None:
    """Replace each number x by eˣ, in the precision of the row; compiled code has its own way."""
    np.exp(row, out=row)


@overload(exponentials, strict=False)
def _exponentials(row: Any) -> Any:
    if row.dtype == types.float32:
        return lambda row: single(row)
    return lambda row: double(row)


@jit_sums
def affine(
    A: Array,
    B: Array,
    W: Array,
    constants: Array,
    offsets: Array,
    factors: Array,
    U: Array,
    sums: Array,
) -> None:
    """Write Φ Wᵀ and constants to U, and add Φᵀ(O + D[U, 0]) to the rows of ``sums``; Φ = exp(AB).

    O are ``offsets`` and D the diagonal matrix of ``factors``. W has a row for each column of U,
    and ``sums`` one for each column of O, which may have more than U.
    """
    count, columns = W.shape
    block = np.empty((_ROWS, columns), dtype=A.dtype)
    near = np.zeros((offsets.shape[1], columns), dtype=A.dtype)
    for start in range(0, A.shape[0], _ROWS):
        stop = min(start + _ROWS, A.shape[0])
        here = block[: stop - start]
        np.dot(A[start:stop], B, here)
        for i in range(start, stop):
            row = here[i - start]
            exponentials(row)
            for j in range(offsets.shape[1]):
                pull = offsets[i, j]
                if j < count:
                    weights = W[j]
                    u = A.dtype.type(0)
                    for c in range(columns):
                        u += row[c] * weights[c]
                    U[i, j] = u + constants[j]
                    pull += factors[i] * U[i, j]
                light, pulls = A.dtype.type(pull), near[j]
                for c in range(columns):
                    pulls[c] += light * row[c]
        if stop % _FLUSH == 0 or stop == A.shape[0]:
            sums += near
            near[:] = 0
