"""Independent component analysis by Newton-like methods on the rotations of white data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.linalg.pcg import conjugate_gradients, whole_product
from mercer.problems.contrasts import Contrast, Moments, curvatures, moments
from mercer.solvers.base import Budget, Outcome, Status
from mercer.solvers.line_search import backtrack
from mercer.solvers.sources.fixed_point import (
    SourceSolver,
    SymmetricFixedPoint,
    Unmixing,
    decorrelate,
    gradient,
    start_of,
    white_columns,
)

_MEMORY = 7
"""Steps that L-BFGS remembers: a few, as is usual; each holds two matrices of the size of W."""
_LEAST_CURVATURE = 1e-2
"""Smaller curvatures of a pair would make steps of many radians; two Gaussians have 0."""
_CLEAR = 0.5
"""A step that brings the gradient below this share of its size needs no test of the objective."""
_SHORTEST = 2.0**-11
"""Steps below this share of the first are lost in what the samples tell of the objective."""
_SAMPLE = 250
"""Columns for each source in the sample on which the search begins."""
_FIRST_STEPS = 15
"""Steps on the sample: the fixed point is near its end by then, or will not get there."""
_NEAR = 3e-3
"""Where the gradient is below this, second derivatives are worth their cost."""
_NEWTON_STEPS = 3
"""Steps that Newton's method needs from there, since it squares the distance in each."""
_MOST_SOURCES = 200
"""Beyond, d matrices of second derivatives are too many."""


@dataclass(frozen=True, eq=False)
class QuasiNewtonICA(SourceSolver[Contrast]):
    """The rotation W at which the contrast of WX is stationary.

    The objective Σ wᵢ E G(yᵢ), the negative logarithm of a likelihood, is lowered along
    W ← exp(D) W with D antisymmetric. For independent sources its second derivative along (i, j)
    is (κᵢ + κⱼ)/2 with κᵢ = wᵢ(E ψ′ − E[ψ(yᵢ)yᵢ]); this diagonal is the first guess that the memory
    of the last steps (L-BFGS) corrects where the sources are not independent. Where that is slow,
    Newton's method with all second derivatives finishes. A few steps of the fixed point on a sample
    of the columns, which ``random`` draws, give the start.

    References
    ----------
    P. Ablin, J.-F. Cardoso, A. Gramfort, Faster ICA under orthogonal constraint, ICASSP 2018.
    """

    random: np.random.RandomState

    def run(
        self, problem: Contrast, gram: GramMatrix, budget: Budget, start: Unmixing | None
    ) -> Outcome[Unmixing]:
        X = white_columns(gram)
        d, n = X.shape
        W, before = start_of(start, X), 0
        if n >= 4 * _SAMPLE * d:
            sample = gram.take(np.sort(self.random.randint(n, size=_SAMPLE * d)))
            coarse = budget.but(tol=_NEAR, max_iter=_FIRST_STEPS)
            first = SymmetricFixedPoint().run(problem, sample, coarse, Unmixing(W, np.inf))
            W, before = first.value.W, first.iterations
        found = _Descent(problem, X, decorrelate(W)).run(budget)
        return replace(found, iterations=before + found.iterations)


class _Descent:
    """A point of the search, its moments and gradient, and the memory of the last steps."""

    def __init__(self, contrast: Contrast, X: Array, W: Array) -> None:
        self.contrast, self.X, self.W = contrast, X, W
        self.memory: deque[tuple[Array, Array]] = deque(maxlen=_MEMORY)
        self._update(moments(contrast, W, X))

    def run(self, budget: Budget) -> Outcome[Unmixing]:
        sizes = [self.size]
        newton = False
        status = self._status(budget, 0)
        while status is None:
            newton = newton or self._is_slow(sizes, budget.tol)
            moved = self._move(self._newton_direction() if newton else self._direction())
            if not moved:
                if not (newton or self.memory):
                    status = Status.STALLED  # rounding errors hide any further descent
                    break
                newton = False
                self.memory.clear()
            sizes.append(self.size)
            status = self._status(budget, len(sizes) - 1)
        found = Unmixing(decorrelate(self.W), self.size, self.moments)
        return Outcome(found, status, len(sizes) - 1)

    def _status(self, budget: Budget, steps: int) -> Status | None:
        return Status.OPTIMAL if self.size <= budget.tol else budget.stop(self.size, steps)

    def _update(self, at: Moments) -> None:
        self.moments, self.G = at, gradient(self.contrast, at)
        self.size = float(np.abs(self.G).max(initial=0.0))

    def _is_slow(self, sizes: list[float], tol: float) -> bool:
        """Tell whether the memory will need more than Newton's method, by the last three steps."""
        d = len(self.W)
        if len(sizes) < 4 or self.size > _NEAR or d > _MOST_SOURCES:
            return False
        gained = np.log(sizes[-4] / sizes[-1]) / 3
        # One product of d x d for each source costs about d/3 times what a gradient costs.
        return bool(np.log(sizes[-1] / tol) > gained * _NEWTON_STEPS * (1 + d / 3))

    def _curvature(self) -> Array:
        kappa = self.contrast.weights(self.moments) * (self.moments.slope - self.moments.power)
        return np.maximum((kappa[:, None] + kappa) / 2, _LEAST_CURVATURE)

    def _direction(self) -> Array:
        """Return −B⁻¹G by the two loops of L-BFGS, the diagonal being the first guess of B."""
        q = self.G.copy()
        factors = []
        for s, y in reversed(self.memory):
            a = np.vdot(s, q) / np.vdot(s, y)
            q -= a * y
            factors.append(a)
        q /= self._curvature()
        for (s, y), a in zip(self.memory, reversed(factors), strict=True):
            q += (a - np.vdot(y, q) / np.vdot(s, y)) * s
        return -q

    def _newton_direction(self) -> Array:
        """Return −H⁻¹G by conjugate gradients, which end early where H is not positive."""
        hessian = second_derivatives(self.contrast, self.W, self.X, self.moments)
        diagonal = self._curvature()
        enough = np.sqrt(self.size) * np.linalg.norm(self.G)
        found = conjugate_gradients(
            hessian,
            -self.G,
            going=lambda at: np.asarray(np.linalg.norm(at.residual) > enough),
            precondition=lambda residual: residual / diagonal,
            pair=whole_product,
            max_iter=2 * len(self.G) + 20,
        )
        return found.x if found.steps else -self.G / diagonal

    def _move(self, D: Array) -> bool:
        """Take the first of the steps D, D/2, D/4 … that makes progress; False where none does."""
        longest = float(np.abs(D).max())
        if longest > 1.0:  # more than a radian is no small rotation
            D = D / longest
        weights = self.contrast.weights(self.moments)
        here, size = self.contrast.objective(self.moments, weights), np.linalg.norm(self.G)
        slack = 1e-14 * max(abs(here), 1.0)
        slope = float(np.vdot(self.G, D))
        W, at = self.W, self.moments

        def along(t: float) -> float:
            nonlocal W, at
            W = _cayley(t * D) @ self.W
            at = moments(self.contrast, W, self.X)
            if np.linalg.norm(gradient(self.contrast, at)) <= _CLEAR * size:
                return -np.inf
            return float(self.contrast.objective(at, weights)) - slack

        step = backtrack(along, here, slope, smallest=_SHORTEST) if slope < 0 else None
        if step is None or not step.size:
            return False
        D, G, self.W = step.size * D, self.G, W
        self._update(at)
        change = self.G - G
        if not np.array_equal(np.sign(weights), np.sign(self.contrast.weights(at))):
            self.memory.clear()
        elif np.vdot(change, D) > 0:
            self.memory.append((D, change))
        return True


def second_derivatives(
    contrast: Contrast, W: Array, X: Array, at: Moments | None = None
) -> Callable[[Array], Array]:
    """Return D ↦ HD, the second derivatives of the objective for fixed weights.

    ⟨D, HD⟩ = Σ wᵢ Dᵢ E[ψ′(yᵢ)yyᵀ] Dᵢᵀ + ⟨D², M⟩ with Mᵢⱼ = wᵢ E[ψ(yᵢ)yⱼ], for Y = exp(D)WX.
    """
    at = at or moments(contrast, W, X)
    weights = contrast.weights(at)
    T = curvatures(contrast, W, X) * weights[:, None, None]
    M = weights[:, None] * at.cross

    def product(D: Array) -> Array:
        found = (T @ D[:, :, None])[:, :, 0] - (D @ M + M @ D) / 2
        return np.asarray((found - found.T) / 2)

    return product


def _cayley(D: Array) -> Array:
    """Return a rotation that is exp(D) up to terms of third order (Cayley)."""
    unit = np.eye(len(D))
    return np.linalg.solve(unit - D / 2, unit + D / 2)
