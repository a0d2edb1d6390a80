"""Coordinate ascent on a concave quadratic with a box."""

from mercer._fast.jit import jit
from mercer._typing import Array


@jit
def climb(
    K: Array, F: Array, beta: Array, lo: Array, hi: Array, tol: float, most: int
) -> tuple[int, bool]:
    """Move one multiplier at a time, each to its best value, until no open slope exceeds ``tol``.

    F = p − Kβ and β change in place. The next one is always that which gains most,
    δ(F − ½Kₜₜδ). Returns the number of steps and whether negative curvature was met.
    """
    n, curved = F.size, False
    for taken in range(most):
        best, gained, step = -1, 0.0, 0.0
        for t in range(n):
            slope = F[t]
            if abs(slope) <= tol:
                continue
            bound = hi[t] if slope > 0.0 else lo[t]
            room, curvature = bound - beta[t], K[t, t]
            if room == 0.0:
                continue
            delta = room
            if curvature > 0.0 and abs(slope) < curvature * abs(room):
                delta = slope / curvature
            gain = delta * (slope - 0.5 * curvature * delta)
            if gain > gained:
                best, gained, step = t, gain, delta
        if best < 0:
            return taken, curved
        curved = curved or K[best, best] < 0.0
        old = beta[best]
        # A step that ends at a bound ends exactly there.
        if step == (hi[best] if step > 0.0 else lo[best]) - old:
            beta[best] = hi[best] if step > 0.0 else lo[best]
        else:
            beta[best] = old + step
        moved = beta[best] - old
        if moved == 0.0:
            return taken, curved
        row = K[best]
        for t in range(n):
            F[t] -= moved * row[t]
    return most, curved
