"""The direction of limited-memory BFGS: two loops over the steps that are remembered."""

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array


@jit
def turn_by_secants(
    steps: Array, turns: Array, products: Array, oldest: int, scales: Array, v: Array
) -> None:
    """Multiply v by the inverse that steps and turns of the gradient tell, in place.

    ``products`` are those of steps with their turns, ``scales`` the diagonal guess of the inverse.
    Rows are a ring whose oldest one is ``oldest``.
    """
    count = len(products)
    shares = np.empty(count)
    for k in range(count - 1, -1, -1):
        at = (oldest + k) % count
        shares[k] = np.dot(steps[at], v) / products[at]
        _add(v, -shares[k], turns[at])
    for j in range(len(v)):
        v[j] *= scales[j]
    for k in range(count):
        at = (oldest + k) % count
        _add(v, shares[k] - np.dot(turns[at], v) / products[at], steps[at])


@jit
def _add(v: Array, share: float, other: Array) -> None:
    for j in range(len(v)):
        v[j] += share * other[j]
