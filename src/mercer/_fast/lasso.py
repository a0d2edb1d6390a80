"""Coordinate descent for quadratic functions with a penalty that sets coordinates to zero."""

from typing import Any

from mercer._fast.jit import jit


@jit
def descend(
    G: Any,
    l1: float,
    l2: float,
    positive: bool,
    w: Any,
    g: Any,
    order: Any,
    epochs: int,
    smallest: float,
) -> int:
    """Minimise ½wᵀGw − qᵀw + l1‖w‖₁ + ½ l2‖w‖², one coordinate at a time, in place.

    ``g`` is q − Gw and is kept up to date. The first ``len(w)`` rows and columns of G count, so
    that G can be a buffer with room to grow. It ends after ``epochs`` rounds, or when no step of a
    round lowers the objective by more than ``smallest``; it returns the number of rounds.
    """
    size = len(w)
    for epoch in range(epochs):
        largest = 0.0
        for j in order:
            curvature = G[j, j] + l2
            if curvature <= 0.0:
                continue
            old = w[j]
            pull = g[j] + G[j, j] * old
            new = 0.0
            if pull > l1:
                new = (pull - l1) / curvature
            elif pull < -l1 and not positive:
                new = (pull + l1) / curvature
            step = new - old
            if step != 0.0:
                w[j] = new
                row = G[j]
                for i in range(size):
                    g[i] -= step * row[i]
                largest = max(largest, step * step * curvature)
        if largest <= 2.0 * smallest:
            return epoch + 1
    return epochs
