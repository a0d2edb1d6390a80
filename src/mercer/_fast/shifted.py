"""Compiled parts of systems with one matrix and many shifts."""

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

__all__ = ["solve", "take"]


@jit
def take(K: Array, at: IntArray, out: Array) -> None:
    """Write K of some rows with themselves; NumPy takes twice as long."""
    for a in range(at.size):
        row, line = K[at[a]], out[a]
        for b in range(at.size):
            line[b] = row[at[b]]


@jit
def solve(diagonal: Array, side: Array, B: Array, alphas: Array, out: Array) -> None:
    """Write (T + λI)⁻¹b for every column b of B and every λ, by Cholesky without roots.

    ``out`` is of shape (columns, n, alphas), so that the loop over λ, the inner one, runs through
    memory. NaN stands where T + λI is not positive definite.
    """
    n, shifts = diagonal.size, alphas.size
    pivots, factors = np.empty((n, shifts)), np.empty((n, shifts))
    bad = np.zeros(shifts)
    for i in range(n):
        for s in range(shifts):
            pivot = diagonal[i] + alphas[s]
            if i > 0:
                pivot -= side[i - 1] * factors[i - 1, s]
            bad[s] = bad[s] if pivot > 0.0 else np.nan
            pivots[i, s] = pivot
            if i < n - 1:
                factors[i, s] = side[i] / pivot
    for c in range(B.shape[1]):
        x = out[c]
        for s in range(shifts):
            x[0, s] = B[0, c] + bad[s]
        for i in range(1, n):
            for s in range(shifts):
                x[i, s] = B[i, c] - factors[i - 1, s] * x[i - 1, s]
        for s in range(shifts):
            x[n - 1, s] /= pivots[n - 1, s]
        for i in range(n - 2, -1, -1):
            for s in range(shifts):
                x[i, s] = x[i, s] / pivots[i, s] - factors[i, s] * x[i + 1, s]
