"""Steps of stochastic descent: momentum, Nesterov's momentum, and Adam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _fast
from mercer._typing import Array

_SMALLEST_RATE = 1e-6


@dataclass(eq=False)
class Momentum:
    """Descent with momentum: u ← μu − ηg, w ← w + u; Nesterov looks a step ahead.

    Y. Nesterov, A method of solving a convex programming problem with convergence rate O(1/k²),
    Soviet Mathematics Doklady 27 (1983).
    """

    velocity: Array
    learning_rate_init: float
    schedule: str
    momentum: float
    nesterov: bool
    power_t: float
    learning_rate: float = 0.0

    def __post_init__(self) -> None:
        self.learning_rate = self.learning_rate or self.learning_rate_init

    def step(self, w: Array, g: Array, decayed: int, shrink: float, rows: float) -> None:
        """Move the weights; ``g`` are sums of slopes over ``rows``, without penalties."""
        real = w.dtype.type
        _fast.network.momentum(
            w, g, self.velocity, decayed, real(shrink), real(1 / rows), real(self.learning_rate),
            real(self.momentum), self.nesterov,
        )  # fmt: skip

    def epoch_ends(self, t: int) -> None:
        """Lower the rate where the schedule says so; ``t`` rows were seen."""
        if self.schedule == "invscaling":
            self.learning_rate = self.learning_rate_init / (t + 1) ** self.power_t

    def stops(self) -> bool:
        """Whether to end when nothing improves; an adaptive rate is divided by 5 first."""
        if self.schedule != "adaptive" or self.learning_rate <= _SMALLEST_RATE:
            return True
        self.learning_rate /= 5.0
        return False


@dataclass(eq=False)
class Adam:
    """Adam: steps scaled by running means of slopes and of their squares.

    D. Kingma and J. Ba, Adam: a method for stochastic optimization, International Conference on
    Learning Representations (2015).
    """

    means: Array
    squares: Array
    learning_rate_init: float
    beta_1: float
    beta_2: float
    epsilon: float
    t: int = 0
    learning_rate: float = 0.0

    def step(self, w: Array, g: Array, decayed: int, shrink: float, rows: float) -> None:
        """Move the weights; ``g`` are sums of slopes over ``rows``, without penalties."""
        self.t += 1
        real: Any = w.dtype.type
        # Both means start at zero; this takes their bias away.
        correction = np.sqrt(1 - self.beta_2**self.t) / (1 - self.beta_1**self.t)
        self.learning_rate = float(self.learning_rate_init * correction)
        _fast.network.adam(
            w, g, self.means, self.squares, decayed, real(shrink), real(1 / rows),
            real(self.learning_rate), real(self.beta_1), real(self.beta_2), real(self.epsilon),
            real(1 - self.beta_1), real(1 - self.beta_2),
        )  # fmt: skip

    def epoch_ends(self, t: int) -> None:
        """Do nothing: the rate follows the steps."""

    def stops(self) -> bool:
        """Return True: there is no other rate to try."""
        return True
