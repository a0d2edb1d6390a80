"""Contrast functions of independent component analysis, and the moments they are computed from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array
from mercer.problems.base import WithoutDual
from mercer.problems.entropy import gaussian_variance

_CELLS = 1 << 15
"""Values in a block of columns: the block and its images under ψ stay in the cache."""
_MANY_CELLS = 1 << 19
"""Values from which a second thread gains more than the millisecond that it takes to wake it."""


@dataclass(frozen=True)
class ContrastScore:
    """ψ = G′ at the values of a matrix, and sums over its rows of ψ′ and of G."""

    values: Array
    slope: Array
    total: Array


@dataclass(frozen=True)
class Contrast(WithoutDual):
    """A function G whose mean tells how far a source of unit variance is from a Gaussian.

    ``score(Y, out)`` may put its values into ``out``; ``derivative(Y)`` gives ψ′ = G″ of each. With
    ``squared`` the contrast is the sum of squares of the distances from a Gaussian, else the sum of
    their absolute values. ``blocked`` allows to call it on blocks of columns, on several threads.
    """

    name: str
    score: Callable[[Array, Array | None], ContrastScore]
    derivative: Callable[[Array], Array]
    squared: bool = False
    blocked: bool = True

    def weights(self, at: Moments) -> Array:
        """Return the factors of E G(yᵢ) in the objective that is minimised, at this point."""
        if self.squared:
            return np.asarray(at.slope - at.power)
        return np.where(at.slope >= at.power, 1.0, -1.0)

    def objective(self, at: Moments, weights: Array) -> float:
        """Return what is minimised; ``weights`` matter only for their signs."""
        if self.squared:
            return float(-np.sum((4 * at.value - 3) ** 2) / 8)
        return float(weights @ at.value)


def logcosh(alpha: float = 1.0) -> Contrast:
    """G(y) = log cosh(αy)/α: robust, for most sources."""

    def score(Y: Array, out: Array | None = None) -> ContrastScore:
        P = np.tanh(Y * alpha if alpha != 1 else Y, out=out)
        squares, total = _fast.log_cosh.sums(Y, P, alpha)
        return ContrastScore(P, alpha * (P.shape[1] - squares), total / alpha)

    def derivative(Y: Array) -> Array:
        P = np.tanh(alpha * Y)
        return np.asarray(alpha * (1 - P * P))

    return Contrast("logcosh", score, derivative)


def _exp(Y: Array, out: Array | None = None) -> ContrastScore:
    squares = Y * Y
    bell = np.exp(squares * -0.5)
    mass = bell.sum(axis=1)
    return ContrastScore(
        np.multiply(Y, bell, out=out), mass - np.einsum("ij,ij->i", squares, bell), -mass
    )


def _exp_derivative(Y: Array) -> Array:
    squares = Y * Y
    return np.asarray((1 - squares) * np.exp(squares * -0.5))


def _cube(Y: Array, out: Array | None = None) -> ContrastScore:
    squares = Y * Y
    total = np.einsum("ij,ij->i", squares, squares) / 4
    return ContrastScore(np.multiply(squares, Y, out=out), 3 * squares.sum(axis=1), total)


def _cube_derivative(Y: Array) -> Array:
    return 3 * Y * Y


CONTRASTS = {
    "logcosh": logcosh(),
    "exp": Contrast("exp", _exp, _exp_derivative),
    "cube": Contrast("cube", _cube, _cube_derivative),
    "kurtosis": Contrast("kurtosis", _cube, _cube_derivative, squared=True),
}


@cache
def gaussian_spread(contrast: Contrast) -> float:
    """Return √n times the deviation of E ψ′ − E[ψ(y)y] over samples of n Gaussian numbers.

    The samples are standardised, which takes away what varies along 1, y and y² − 1.
    """

    def distance(y: Array) -> Array:
        values = contrast.score(y[None], None).values[0]
        return np.asarray(contrast.derivative(y[None])[0] - values * y)

    return math.sqrt(gaussian_variance(distance))


@dataclass(frozen=True)
class Moments:
    """Moments of the sources Y = WX: E[ψ(y)yᵀ], E ψ′ and E G."""

    cross: Array
    slope: Array
    value: Array

    @property
    def power(self) -> Array:
        """E[ψ(yᵢ)yᵢ] for each source; equal to E ψ′ for a Gaussian of unit variance."""
        return np.asarray(self.cross.diagonal())


def moments(contrast: Contrast, W: Array, X: Array) -> Moments:
    """Return the moments at W, in blocks of columns of X on all threads."""

    def part(block: Array, Y: Array, P: Array) -> tuple[Array, ...]:
        score = contrast.score(np.matmul(W, block, out=Y), P)
        # Unlike @, dot lets other threads run meanwhile.
        return np.dot(score.values, Y.T), score.slope, score.total

    return Moments(*_mean(part, W, X, contrast.blocked))


def projected(contrast: Contrast, w: Array, X: Array) -> tuple[Array, Array]:
    """Return E[ψ(w·x)x] and E ψ′(w·x) for the rows w of a matrix."""

    def part(block: Array, Y: Array, P: Array) -> tuple[Array, ...]:
        score = contrast.score(np.matmul(w, block, out=Y), P)
        return np.dot(score.values, block.T), score.slope

    cross, slope = _mean(part, w, X, contrast.blocked)
    return cross, slope


def curvatures(contrast: Contrast, W: Array, X: Array) -> Array:
    """Return the curvatures E[ψ′(yᵢ) yyᵀ] for each source yᵢ of Y = WX, an array of d matrices."""

    def part(block: Array, Y: Array, P: Array) -> tuple[Array]:
        np.matmul(W, block, out=Y)
        return (np.stack([np.dot(np.multiply(Y, b, out=P), Y.T) for b in contrast.derivative(Y)]),)

    return _mean(part, W, X)[0]


def _mean(
    part: Callable[[Array, Array, Array], tuple[Array, ...]],
    W: Array,
    X: Array,
    blocked: bool = True,
) -> tuple[Array, ...]:
    """Return the sums of ``part`` over blocks of columns, divided by the number of columns.

    ``part`` has room for two results of the shape of W times the block.
    """
    n = X.shape[1]
    width = min(max(_CELLS // len(X), 256), n) if blocked else n
    blocks = [X[:, start : start + width] for start in range(0, n, width)]
    parts: list[tuple[Array, ...]] = [()] * len(blocks)
    threads = min(_parallel.thread_count(), len(blocks)) if X.size > _MANY_CELLS else 1

    def work(first: int) -> None:
        room = np.empty((2, len(W) * width), dtype=X.dtype)
        for k in range(first, len(blocks), threads):
            shape = len(W), blocks[k].shape[1]
            Y, P = (row[: shape[0] * shape[1]].reshape(shape) for row in room)
            parts[k] = part(blocks[k], Y, P)

    _parallel.run(work, range(threads), threads)
    # Summed in the order of the blocks, so that the answer does not depend on the threads.
    return tuple(np.sum(terms, axis=0) / n for terms in zip(*parts, strict=True))
