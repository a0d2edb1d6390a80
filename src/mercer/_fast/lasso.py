"""Coordinate descent for quadratic functions with a penalty that sets coordinates to zero."""

from typing import Any

import numpy as np

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


@jit
def descend_to_gap(
    G: Any,
    q: Any,
    yy: float,
    l1: float,
    l2: float,
    positive: bool,
    w: Any,
    g: Any,
    goal: float,
    epochs: int,
) -> tuple[int, float]:
    """Minimise as ``descend`` does, over all columns, until the duality gap is at most ``goal``.

    ``q`` is Xᵀy and ``yy`` is ‖y‖²; the dual point is the residual, scaled until it is feasible.
    It returns the rounds and the last gap.
    """
    size = len(w)
    order = np.arange(size)
    gap = 0.0
    for epoch in range(epochs + 1):
        largest, total, square, wq, wg = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(size):
            slope = g[j] - l2 * w[j]
            largest = max(largest, slope if positive else abs(slope))
            total += abs(w[j])
            square += w[j] * w[j]
            wq += w[j] * q[j]
            wg += w[j] * g[j]
        rr = max(yy - wq - wg, 0.0)
        primal = rr / 2 + l1 * total + l2 * square / 2
        scale = 1.0 if largest <= l1 else l1 / largest
        dual = scale * (yy - wq) - scale * scale * rr / 2
        if l2 > 0.0:
            beyond = 0.0
            for j in range(size):
                pull = scale * (g[j] if positive else abs(g[j])) - l1
                if pull > 0.0:
                    beyond += pull * pull
            dual -= beyond / (2 * l2)
        gap = primal - dual
        if gap <= goal or epoch == epochs:
            return epoch, gap
        descend(G, l1, l2, positive, w, g, order, 1, 0.0)
    return epochs, gap
