"""Sums over the rows of a matrix: products of all pairs of columns, and of columns with residuals.

Rows are copied, a few at a time, to a place with a fixed distance between them and with zeros up to
whole vectors: so compilers see that nothing overlaps, and no numbers are left over. Indices without
a sign need no test whether they count from the end.
"""

import numpy as np

from mercer._fast.jit import jit_formulas, jit_sums
from mercer._typing import Array

STRIDE = 264
"""Numbers from a row to the next: 256 and one vector more, or all rows would share cache lines."""
ROWS = 64
"""Rows that are copied at once: they stay in the cache, next to the products."""
_VECTOR = np.uint64(8)
"""Numbers of float64 in the widest register."""
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_STRIDE = np.uint64(STRIDE)


@jit_formulas
def add_products(
    X: Array, Y: Array, shift: Array, start: int, stop: int, z: Array, g: Array
) -> None:
    """Add ZᵀZ of some rows to g, Z = [X − shift, Y − shift, 1], above the diagonal and on it.

    ``z`` has ``ROWS`` rows of ``STRIDE`` numbers, zeros at first, ``g`` rows of as many.
    """
    p, t = X.shape[1], Y.shape[1]
    width = (np.uint64(p + t + 1) + _VECTOR - _ONE) // _VECTOR * _VECTOR
    for begin in range(start, stop, ROWS):
        count = min(ROWS, stop - begin)
        for r in range(count):
            x, row = X[begin + r], z[r * STRIDE : (r + 1) * STRIDE]
            for j in range(p):
                row[j] = x[j] - shift[j]
            for j in range(t):
                row[p + j] = Y[begin + r, j] - shift[p + j]
            row[p + t] = 1.0
        while count % 4:
            z[count * STRIDE : (count + 1) * STRIDE] = 0.0
            count += 1
        _add_square(z, g, np.uint64(count), width)


@jit_formulas
def _add_square(z: Array, g: Array, count: np.uint64, width: np.uint64) -> None:
    """Add the products of the first columns of z, four rows at a time for two columns at a time."""
    for r in range(np.uint64(0), count, _FOUR):
        q = r * _STRIDE
        for i in range(np.uint64(0), width, _TWO):
            k = q + i
            a0, b0 = z[k], z[k + _ONE]
            a1, b1 = z[k + _STRIDE], z[k + _STRIDE + _ONE]
            a2, b2 = z[k + _TWO * _STRIDE], z[k + _TWO * _STRIDE + _ONE]
            a3, b3 = z[k + _THREE * _STRIDE], z[k + _THREE * _STRIDE + _ONE]
            u = i * _STRIDE
            for j in range(i // _VECTOR * _VECTOR, width):
                x0, x1 = z[q + j], z[q + j + _STRIDE]
                x2, x3 = z[q + j + _TWO * _STRIDE], z[q + j + _THREE * _STRIDE]
                g[u + j] = g[u + j] + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                v = u + _STRIDE + j
                g[v] = g[v] + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3


@jit_sums
def add_residual_products(
    X: Array, y: Array, means: Array, w: Array, start: int, stop: int, c: Array
) -> None:
    """Add Σ rᵢ(xᵢ − m) of some rows to c, where rᵢ = yᵢ − ⟨w, xᵢ − m⟩."""
    for i in range(start, stop):
        x = X[i]
        r = y[i]
        for j in range(len(w)):
            r -= w[j] * (x[j] - means[j])
        for j in range(len(w)):
            c[j] += r * (x[j] - means[j])
