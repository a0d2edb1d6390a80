"""Contrast functions of independent component analysis, and their relative gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _parallel
from mercer._typing import Array

_CELLS = 1 << 15
"""Values in a block of columns: the block and its images under ψ stay in the cache."""


@dataclass(frozen=True)
class Contrast:
    """A function G whose mean tells how far a source of unit variance is from a Gaussian.

    ``score(Y)`` gives ψ = G′ and the mean of ψ′ in each row, ``value(Y)`` the mean of G in each
    row. With ``squared`` the contrast is the sum of squares of the distances from a Gaussian, else
    the sum of their absolute values. ``blocked`` allows to call it on blocks of columns, on several
    threads.
    """

    name: str
    score: Callable[[Array], tuple[Array, Array]]
    value: Callable[[Array], Array]
    squared: bool = False
    blocked: bool = True

    def weights(self, state: State) -> Array:
        """Return the factors of E G(yᵢ) in the objective that is minimised, at this point."""
        if self.squared:
            return np.asarray(state.slope - state.power)
        return np.where(state.slope >= state.power, 1.0, -1.0)

    def objective(self, means: Array, weights: Array) -> float:
        """Return what is minimised, from E G(yᵢ); ``weights`` matter only for their signs."""
        if self.squared:
            return float(-np.sum((4 * means - 3) ** 2) / 8)
        return float(weights @ means)


def logcosh(alpha: float = 1.0) -> Contrast:
    """G(y) = log cosh(αy)/α: robust, for most sources."""

    def score(Y: Array) -> tuple[Array, Array]:
        P = Y * alpha if alpha != 1 else Y
        P = np.tanh(P)
        return P, alpha * (1 - np.einsum("ij,ij->i", P, P) / P.shape[1])

    def value(Y: Array) -> Array:
        size = np.abs(Y) * alpha
        return np.asarray((size + np.log1p(np.exp(-2 * size))).mean(axis=1) / alpha)

    return Contrast("logcosh", score, value)


def _exp(Y: Array) -> tuple[Array, Array]:
    squares = Y * Y
    bell = np.exp(squares * -0.5)
    return Y * bell, (bell.sum(axis=1) - np.einsum("ij,ij->i", squares, bell)) / Y.shape[1]


def _exp_value(Y: Array) -> Array:
    return np.asarray(-np.exp(Y * Y * -0.5).mean(axis=1))


def _cube(Y: Array) -> tuple[Array, Array]:
    squares = Y * Y
    return squares * Y, 3 * squares.mean(axis=1)


def _cube_value(Y: Array) -> Array:
    return np.asarray((Y**4).mean(axis=1) / 4)


CONTRASTS = {
    "logcosh": logcosh(),
    "exp": Contrast("exp", _exp, _exp_value),
    "cube": Contrast("cube", _cube, _cube_value),
    "kurtosis": Contrast("kurtosis", _cube, _cube_value, squared=True),
}


@dataclass(frozen=True)
class State:
    """Moments of the sources Y = WX: E[ψ(y)yᵀ], E ψ′ and E[ψ(yᵢ)yᵢ]."""

    cross: Array
    slope: Array

    @property
    def power(self) -> Array:
        """E[ψ(yᵢ)yᵢ] for each source; equal to E ψ′ for a Gaussian of unit variance."""
        return np.asarray(self.cross.diagonal())


def moments(contrast: Contrast, W: Array, X: Array) -> State:
    """Return the moments at W, in blocks of columns of X on all threads."""

    def part(block: Array) -> tuple[Array, Array]:
        Y = W @ block
        P, slope = contrast.score(Y)
        return P @ Y.T, slope * Y.shape[1]

    cross, slope = _mean(part, X, contrast.blocked)
    return State(cross, slope)


def projected(contrast: Contrast, w: Array, X: Array) -> tuple[Array, Array]:
    """Return E[ψ(w·x)x] and E ψ′(w·x) for the rows w of a matrix."""

    def part(block: Array) -> tuple[Array, Array]:
        P, slope = contrast.score(w @ block)
        return P @ block.T, slope * block.shape[1]

    found = _mean(part, X, contrast.blocked)
    return found[0], found[1]


def means(contrast: Contrast, W: Array, X: Array) -> Array:
    """Return E G(yᵢ) of Y = WX for each source."""
    return _mean(lambda block: (contrast.value(W @ block) * block.shape[1],), X)[0]


def _mean(
    part: Callable[[Array], tuple[Array, ...]], X: Array, blocked: bool = True
) -> tuple[Array, ...]:
    """Return the sums of ``part`` over blocks of columns, divided by the number of columns."""
    n = X.shape[1]
    width = max(_CELLS // len(X), 256) if blocked else n
    starts = range(0, n, width)
    parts: list[Any] = [None] * len(starts)

    def work(k: int) -> None:
        parts[k] = part(X[:, k * width : (k + 1) * width])

    threads = _parallel.thread_count() if X.size > 4 * _CELLS else 1
    _parallel.run(work, range(len(starts)), threads)
    # Summed in the order of the blocks, so that the answer does not depend on the threads.
    return tuple(np.sum(terms, axis=0) / n for terms in zip(*parts, strict=True))
