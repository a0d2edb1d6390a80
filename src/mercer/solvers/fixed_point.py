"""The fixed point of independent component analysis, all sources at once or one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.problems.contrasts import Contrast, State, moments, projected


@dataclass(frozen=True)
class Unmixing:
    """W with sources Y = WX, how it was found and how far the method came."""

    W: Array
    n_iter: int
    gradient: float
    converged: bool
    state: State | None = None


def decorrelate(W: Array) -> Array:
    """Return the orthogonal matrix nearest to W: (WWᵀ)^(−½) W."""
    values, U = np.linalg.eigh(W @ W.T)
    # Rounding may leave values that are not positive where W has not full rank.
    values = np.maximum(values, np.finfo(W.dtype).tiny)
    return np.asarray((U / np.sqrt(values)) @ U.T @ W)


def gradient(contrast: Contrast, state: State) -> Array:
    """Return the slope of the objective along rotations of the sources, an antisymmetric matrix."""
    G = contrast.weights(state)[:, None] * state.cross
    return np.asarray((G - G.T) / 2)


def symmetric(contrast: Contrast, X: Array, W: Array, tol: float, max_iter: int) -> Unmixing:
    """W ← decorrelate(E[ψ(WX)Xᵀ] − diag(E ψ′) W), until no slope is above ``tol``."""
    W = decorrelate(W)
    for steps in range(max_iter + 1):
        state = moments(contrast, W, X)
        slope = float(np.abs(gradient(contrast, state)).max(initial=0.0))
        if slope <= tol or steps == max_iter:
            break
        step = state.cross - np.diag(state.slope)
        if contrast.squared:
            step = (state.power - state.slope)[:, None] * step
        W = decorrelate(step @ W)
    return Unmixing(W, steps, slope, slope <= tol, state)


def deflation(contrast: Contrast, X: Array, W: Array, tol: float, max_iter: int) -> Unmixing:
    """The fixed point for one source after the other, each orthogonal to those before it."""
    found = np.zeros_like(W)
    most, worst = 0, 0.0
    for j, start in enumerate(W):
        w = _outside(start, found[:j])
        for steps in range(1, max_iter + 1):
            cross, slope = projected(contrast, w[None], X)
            new = _outside(cross[0] - slope[0] * w, found[:j])
            new *= np.sign(new @ w) or 1.0
            moved = float(np.abs(new - w).max())
            w, most = new, max(most, steps)
            if moved <= tol:
                break
        found[j] = w
        worst = max(worst, moved)
    return Unmixing(found, most, worst, worst <= tol)


def _outside(w: Array, found: Array) -> Array:
    for _ in range(2):  # once is not exact where w is nearly a sum of the others
        w = w - found.T @ (found @ w)
    length = float(np.linalg.norm(w))
    return np.asarray(w / length) if length else w
