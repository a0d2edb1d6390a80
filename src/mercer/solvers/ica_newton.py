"""Independent component analysis by a quasi-Newton method on the rotations of white data."""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy import linalg

from mercer._typing import Array
from mercer.problems.contrasts import Contrast, State, means, moments
from mercer.solvers.fixed_point import Unmixing, decorrelate, gradient

_MEMORY = 7
_LEAST_CURVATURE = 1e-2
_CLEAR = 0.5
"""A step that brings the gradient below this share needs no look at the objective."""
_HALVINGS = 12
_SAMPLE = 100
"""Columns for each source in the sample on which the search begins."""


def solve(
    contrast: Contrast,
    X: Array,
    W: Array,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
) -> Unmixing:
    """Return the rotation W at which the contrast of WX is stationary.

    The objective Σ wᵢ E G(yᵢ) is lowered along W ← exp(D) W with D antisymmetric. For independent
    sources its second derivative along (i, j) is (κᵢ + κⱼ)/2 with κᵢ = wᵢ(E ψ′ − E[ψ(yᵢ)yᵢ]); this
    diagonal is the first guess that the memory of the last steps (L-BFGS) corrects where the
    sources are not independent. A sample of the columns gives the start.

    References
    ----------
    P. Ablin, J.-F. Cardoso, A. Gramfort, Faster ICA under orthogonal constraint, ICASSP 2018.
    """
    W = decorrelate(W)
    d, n = X.shape
    size = max(_SAMPLE * d, 2000)
    before = 0
    if n >= 4 * size:
        sample = np.ascontiguousarray(X[:, np.sort(random.choice(n, size, replace=False))])
        first = _descend(contrast, sample, W, 0.1 / np.sqrt(size), min(max_iter, 50))
        W, before = first.W, first.n_iter
    found = _descend(contrast, X, W, tol, max_iter)
    return Unmixing(found.W, before + found.n_iter, found.gradient, found.converged)


def _descend(contrast: Contrast, X: Array, W: Array, tol: float, max_iter: int) -> Unmixing:
    state = moments(contrast, W, X)
    G = gradient(contrast, state)
    memory: deque[tuple[Array, Array]] = deque(maxlen=_MEMORY)
    steps, size = 0, float(np.abs(G).max(initial=0.0))
    while size > tol and steps < max_iter:
        D = _direction(G, memory, _curvature(contrast, state))
        if np.sum(D * G) >= 0:
            memory.clear()
            D = _direction(G, memory, _curvature(contrast, state))
        moved = _step(contrast, X, W, state, G, D)
        steps += 1
        if moved is None:
            if not memory:
                break  # rounding errors hide any further descent
            memory.clear()
            continue
        D, W, new = moved
        same_signs = np.array_equal(
            np.sign(contrast.weights(new)), np.sign(contrast.weights(state))
        )
        change = gradient(contrast, new) - G
        if not same_signs:
            memory.clear()
        elif np.sum(change * D) > 0:
            memory.append((D, change))
        state, G = new, gradient(contrast, new)
        size = float(np.abs(G).max())
    return Unmixing(decorrelate(W), steps, size, size <= tol)


def _curvature(contrast: Contrast, state: State) -> Array:
    kappa = contrast.weights(state) * (state.slope - state.power)
    return np.maximum((kappa[:, None] + kappa) / 2, _LEAST_CURVATURE)


def _direction(G: Array, memory: deque[tuple[Array, Array]], H: Array) -> Array:
    """Return −B⁻¹G by the two loops of L-BFGS, with the diagonal H as the first guess of B."""
    q = G.copy()
    factors = []
    for s, y in reversed(memory):
        a = np.sum(s * q) / np.sum(s * y)
        q -= a * y
        factors.append(a)
    q /= H
    for (s, y), a in zip(memory, reversed(factors), strict=True):
        q += (a - np.sum(y * q) / np.sum(s * y)) * s
    return np.asarray(-q)


def _step(
    contrast: Contrast, X: Array, W: Array, state: State, G: Array, D: Array
) -> tuple[Array, Array, State] | None:
    """Return the first of the steps D, D/2, D/4 … that makes progress, None where none does."""
    longest = float(np.abs(D).max())
    if longest > 1.0:  # more than a radian is no small rotation
        D = D / longest
    size = np.linalg.norm(G)
    weights = contrast.weights(state)
    here: float | None = None
    for _ in range(_HALVINGS):
        rotated = linalg.expm(D) @ W
        new = moments(contrast, rotated, X)
        if np.linalg.norm(gradient(contrast, new)) <= _CLEAR * size:
            return D, rotated, new
        if here is None:
            here = contrast.objective(means(contrast, W, X), weights)
        there = contrast.objective(means(contrast, rotated, X), weights)
        slack = 1e-14 * max(abs(here), 1.0)
        if there <= here + 1e-4 * np.sum(G * D) + slack:
            return D, rotated, new
        D = D / 2
    return None
