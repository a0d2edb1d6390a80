"""Directions of descent from the last few steps and gradients: the limited-memory BFGS method."""

from __future__ import annotations

from collections import deque

import numpy as np

from mercer._typing import Array

_PAIRS = 10
"""Steps that are remembered: the usual number."""


class SecantMemory:
    """The inverse of a second derivative, as the last steps tell it, on top of a diagonal guess.

    J. Nocedal, Updating quasi-Newton matrices with limited storage, Mathematics of Computation 35
    (1980).

    Parameters
    ----------
    diagonal : array
        A guess of the diagonal of the second derivative, positive.
    """

    def __init__(self, diagonal: Array) -> None:
        self.diagonal = diagonal
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=_PAIRS)
        self.scale = 1.0
        self.last: tuple[Array, Array] | None = None

    def see(self, x: Array, gradient: Array) -> None:
        """Note a point and its gradient."""
        if self.last is not None:
            step, turn = x - self.last[0], gradient - self.last[1]
            product = float(np.vdot(step, turn))
            if product > 0:
                self.pairs.append((step, turn, product))
                self.scale = product / float(np.vdot(turn, turn / self.diagonal))
        self.last = x, gradient

    def direction(self) -> Array:
        """Return minus the inverse times the last gradient."""
        assert self.last is not None, "see a point first"
        v = -self.last[1]
        shares = []
        for step, turn, product in reversed(self.pairs):
            share = float(np.vdot(step, v)) / product
            shares.append(share)
            v = v - share * turn
        v = v * (self.scale / self.diagonal)
        for (step, turn, product), share in zip(self.pairs, reversed(shares), strict=True):
            v = v + (share - float(np.vdot(turn, v)) / product) * step
        return v
