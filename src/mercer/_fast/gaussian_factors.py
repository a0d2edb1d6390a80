"""Factors of Gaussian kernels of single columns: Cholesky's, the largest pivot first."""

import numpy as np

from mercer._fast.exponentials import double
from mercer._fast.jit import jit_formulas
from mercer._typing import Array, IntArray


@jit_formulas
def gaussian_factors(
    columns: Array, rates: Array, most: int, share: float, F: Array, ranks: IntArray
) -> None:
    """Write Fᵀ with FFᵀ = exp(−rate (xᵢ − xⱼ)²), but for a share of the trace, for each column x.

    The rows of one column follow those of the one before. ``ranks`` says how many each has, and is
    −1 where ``most`` are not enough.
    """
    done = 0
    for m in range(columns.shape[0]):
        ranks[m] = _factor(columns[m], rates[m], share, F[done : done + most])
        done += max(ranks[m], 0)


@jit_formulas
def _factor(x: Array, rate: float, share: float, F: Array) -> int:
    """Write the rows of one column and return their number."""
    n = x.size
    left = np.ones(n)
    for r in range(F.shape[0]):
        total, largest, pivot = 0.0, -1.0, 0
        for i in range(n):
            total += left[i]
            if left[i] > largest:
                largest, pivot = left[i], i
        if total <= share * n:
            return r
        row, here = F[r], x[pivot]
        for i in range(n):
            apart = x[i] - here
            row[i] = -rate * apart * apart
        double(row)
        # Four rows in one pass: the new one is read and written a quarter as often.
        j = 0
        while j + 4 <= r:
            a, b, c, d = F[j], F[j + 1], F[j + 2], F[j + 3]
            u, v, w, z = a[pivot], b[pivot], c[pivot], d[pivot]
            for i in range(n):
                row[i] -= (u * a[i] + v * b[i]) + (w * c[i] + z * d[i])
            j += 4
        while j < r:
            a, u = F[j], F[j, pivot]
            for i in range(n):
                row[i] -= u * a[i]
            j += 1
        scale = 1 / np.sqrt(largest)
        for i in range(n):
            row[i] *= scale
            left[i] = max(left[i] - row[i] * row[i], 0.0)
        left[pivot] = 0.0
    return -1
