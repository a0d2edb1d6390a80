"""Directions of descent from the last few steps and gradients: the limited-memory BFGS method."""

from __future__ import annotations

import numpy as np

from mercer import _fast
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
        self.steps, self.turns = np.empty((2, _PAIRS, diagonal.size))
        self.products = np.empty(_PAIRS)
        self.count = 0
        """Pairs that were seen; the last few of them are kept, in a ring."""
        self.scale = 1.0
        self.last: tuple[Array, Array] | None = None

    def see(self, x: Array, gradient: Array) -> None:
        """Note a point and its gradient."""
        if self.last is not None:
            step, turn = x - self.last[0], gradient - self.last[1]
            product = float(np.vdot(step, turn))
            if product > 0:
                at = self.count % _PAIRS
                self.steps[at], self.turns[at] = step.ravel(), turn.ravel()
                self.products[at] = product
                self.count += 1
                self.scale = product / float(np.vdot(turn, turn / self.diagonal))
        self.last = x, gradient

    def direction(self) -> Array:
        """Return minus the inverse times the last gradient."""
        assert self.last is not None, "see a point first"
        v, scales = -self.last[1], self.scale / self.diagonal
        kept = min(self.count, _PAIRS)
        _fast.secants.turn_by_secants(
            self.steps[:kept], self.turns[:kept], self.products[:kept],
            self.count % _PAIRS if kept == _PAIRS else 0, scales.ravel(), v.reshape(-1),
        )  # fmt: skip
        return v
