"""Independent component analysis by Newton-like methods on the rotations of white data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer._typing import Array
from mercer.problems.contrasts import Contrast, State, bends, moments
from mercer.solvers.fixed_point import Unmixing, decorrelate, gradient, symmetric

_MEMORY = 7
_LEAST_CURVATURE = 1e-2
_CLEAR = 0.5
"""A step that brings the gradient below this share of its size needs no look at the objective."""
_HALVINGS = 12
_SAMPLE = 250
"""Columns for each source in the sample on which the search begins."""
_FIRST_STEPS = 15
_NEAR = 3e-3
"""Where the gradient is below this, second derivatives are worth their cost."""
_NEWTON_STEPS = 3
_MOST_SOURCES = 200
"""Beyond, d matrices of second derivatives are too many."""


def solve(
    contrast: Contrast,
    X: Array,
    W: Array,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
) -> Unmixing:
    """Return the rotation W at which the contrast of WX is stationary.

    The objective Σ wᵢ E G(yᵢ), the negative logarithm of a likelihood, is lowered along
    W ← exp(D) W with D antisymmetric. For independent sources its second derivative along (i, j)
    is (κᵢ + κⱼ)/2 with κᵢ = wᵢ(E ψ′ − E[ψ(yᵢ)yᵢ]); this diagonal is the first guess that the memory
    of the last steps (L-BFGS) corrects where the sources are not independent. Where that is slow,
    Newton's method with all second derivatives finishes. A few steps of the fixed point on a sample
    of the columns give the start.

    References
    ----------
    P. Ablin, J.-F. Cardoso, A. Gramfort, Faster ICA under orthogonal constraint, ICASSP 2018.
    """
    d, n = X.shape
    before = 0
    if n >= 4 * _SAMPLE * d:
        sample = X[:, np.sort(random.randint(n, size=_SAMPLE * d))]
        first = symmetric(contrast, sample, W, _NEAR, _FIRST_STEPS)
        W, before = first.W, first.n_iter
    found = _Descent(contrast, X, decorrelate(W)).run(tol, max_iter)
    return replace(found, n_iter=before + found.n_iter)


class _Descent:
    """A point of the search, its moments and gradient, and what the last steps have taught."""

    def __init__(self, contrast: Contrast, X: Array, W: Array) -> None:
        self.contrast, self.X, self.W = contrast, X, W
        self.memory: deque[tuple[Array, Array]] = deque(maxlen=_MEMORY)
        self._stand(moments(contrast, W, X))

    def run(self, tol: float, max_iter: int) -> Unmixing:
        sizes = [self.size]
        newton = False
        while self.size > tol and len(sizes) <= max_iter:
            newton = newton or self._is_slow(sizes, tol)
            moved = self._move(self._newton_direction() if newton else self._direction())
            if not moved:
                if not (newton or self.memory):
                    break  # rounding errors hide any further descent
                newton = False
                self.memory.clear()
            sizes.append(self.size)
        steps = len(sizes) - 1
        return Unmixing(decorrelate(self.W), steps, self.size, self.size <= tol, self.state)

    def _stand(self, state: State) -> None:
        self.state, self.G = state, gradient(self.contrast, state)
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
        kappa = self.contrast.weights(self.state) * (self.state.slope - self.state.power)
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
        bend = second_derivatives(self.contrast, self.W, self.X, self.state)
        diagonal = self._curvature()
        D, rest = np.zeros_like(self.G), -self.G
        z = rest / diagonal
        direction, product = z, np.vdot(rest, z)
        enough = np.sqrt(self.size) * np.linalg.norm(rest)
        for _ in range(2 * len(D) + 20):
            bent = bend(direction)
            curvature = np.vdot(direction, bent)
            if curvature <= 0:
                return D if D.any() else direction
            length = product / curvature
            D = D + length * direction
            rest = rest - length * bent
            if np.linalg.norm(rest) <= enough:
                break
            z = rest / diagonal
            product, before = np.vdot(rest, z), product
            direction = z + (product / before) * direction
        return D

    def _move(self, D: Array) -> bool:
        """Take the first of the steps D, D/2, D/4 … that makes progress; False where none does."""
        longest = float(np.abs(D).max())
        if longest > 1.0:  # more than a radian is no small rotation
            D = D / longest
        weights = self.contrast.weights(self.state)
        here, size = self.contrast.objective(self.state, weights), np.linalg.norm(self.G)
        slack = 1e-14 * max(abs(here), 1.0)
        expected = 1e-4 * np.vdot(self.G, D)
        if expected >= 0:
            return False
        for _ in range(_HALVINGS):
            W = _turn(D) @ self.W
            state = moments(self.contrast, W, self.X)
            there = self.contrast.objective(state, weights)
            close = np.linalg.norm(gradient(self.contrast, state)) <= _CLEAR * size
            if close or there <= here + expected + slack:
                self._learn(D, W, state)
                return True
            D, expected = D / 2, expected / 2
        return False

    def _learn(self, D: Array, W: Array, state: State) -> None:
        signs = np.sign(self.contrast.weights(self.state))
        G = self.G
        self.W = W
        self._stand(state)
        change = self.G - G
        if not np.array_equal(signs, np.sign(self.contrast.weights(state))):
            self.memory.clear()
        elif np.vdot(change, D) > 0:
            self.memory.append((D, change))


def second_derivatives(
    contrast: Contrast, W: Array, X: Array, state: State | None = None
) -> Callable[[Array], Array]:
    """Return D ↦ HD, the second derivatives of the objective for fixed weights.

    ⟨D, HD⟩ = Σ wᵢ Dᵢ E[ψ′(yᵢ)yyᵀ] Dᵢᵀ + ⟨D², M⟩ with Mᵢⱼ = wᵢ E[ψ(yᵢ)yⱼ], for Y = exp(D)WX.
    """
    state = state or moments(contrast, W, X)
    weights = contrast.weights(state)
    T = bends(contrast, W, X) * weights[:, None, None]
    M = weights[:, None] * state.cross

    def bend(D: Array) -> Array:
        found = (T @ D[:, :, None])[:, :, 0] - (D @ M + M @ D) / 2
        return np.asarray((found - found.T) / 2)

    return bend


def _turn(D: Array) -> Array:
    """Return a rotation that is exp(D) up to terms of third order (Cayley)."""
    unit = np.eye(len(D))
    return np.linalg.solve(unit - D / 2, unit + D / 2)
