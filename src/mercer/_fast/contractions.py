"""Sums over all pairs of rows that derivatives of an evidence are made of.

Matrices are symmetric and given by their lower triangles.
"""

import numpy as np

from mercer._fast.jit import jit_sums
from mercer._typing import Array


@jit_sums
def dot_below(M: Array, K: Array) -> float:
    """Return Σᵢⱼ Mᵢⱼ Kᵢⱼ."""
    n = M.shape[0]
    below = 0.0
    diagonal = 0.0
    for i in range(n):
        for j in range(i):
            below += M[i, j] * K[i, j]
        diagonal += M[i, i] * K[i, i]
    return 2 * below + diagonal


@jit_sums
def contract_columns(xt: Array, G: Array, M: Array, Vt: Array, sums: Array, out: Array) -> None:
    """Contract the matrices Gᵢⱼ (xₖᵢ − xₖⱼ)² of all columns k, none of which is formed.

    ``sums[k]`` becomes Σᵢⱼ Mᵢⱼ Gᵢⱼ (xₖᵢ − xₖⱼ)², and ``out[k]``, which has to be zero, the product
    of the matrix and the rows of ``Vt``.
    """
    d, n = xt.shape
    row = np.empty(n)
    for k in range(d):
        x = xt[k]
        total = 0.0
        for i in range(1, n):
            here = x[i]
            for j in range(i):
                difference = here - x[j]
                row[j] = difference * difference * G[i, j]
            for j in range(i):
                total += row[j] * M[i, j]
            for t in range(Vt.shape[0]):
                v, products, mine = Vt[t], out[k, t], Vt[t, i]
                inner = 0.0
                for j in range(i):
                    products[j] += row[j] * mine
                    inner += row[j] * v[j]
                products[i] += inner
        sums[k] = 2 * total
