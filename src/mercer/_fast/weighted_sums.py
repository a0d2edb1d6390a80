"""Sums of symmetric matrices with weights, four at a time."""

from __future__ import annotations

from mercer._fast.jit import jit
from mercer._typing import Array


@jit
def add_four(
    total: Array, A: Array, B: Array, C: Array, D: Array, weights: Array, begin: int, end: int
) -> None:
    """Add w₀A + w₁B + w₂C + w₃D to ``total``, in some rows from the diagonal on."""
    for i in range(begin, end):
        # Slices, so that the inner loop counts from 0: it uses vectors then.
        row, a, b, c, d = total[i, i:], A[i, i:], B[i, i:], C[i, i:], D[i, i:]
        for j in range(row.shape[0]):
            row[j] += weights[0] * a[j] + weights[1] * b[j] + weights[2] * c[j] + weights[3] * d[j]
