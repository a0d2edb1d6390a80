"""The widest margin of a separator through the origin, and the mistakes it allows a perceptron."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from mercer._typing import Array, IntArray

_ADDED = 30
_ROUNDS = 60
_MOST_ROWS = 400
_MOST_CELLS = 20_000_000


@dataclass(frozen=True)
class MistakeBound:
    """Novikoff's bound: a perceptron that starts at zero makes at most (R/γ)² mistakes.

    Attributes
    ----------
    radius : float
        R, the largest ‖x̃ᵢ‖; x̃ is x with a 1 for the bias.
    margin : float
        γ: a unit vector w with yᵢ w·x̃ᵢ ≥ γ for all rows was found.
    widest : float
        No separator has a wider margin than this.
    """

    radius: float
    margin: float
    widest: float

    @property
    def mistakes(self) -> float:
        """(R/γ)², inf where no separator was found."""
        return (self.radius / self.margin) ** 2 if self.margin > 0 else math.inf


def mistake_bound(
    rows: Callable[[IntArray], Array], squares: Array, start: IntArray, tol: float = 1e-6
) -> MistakeBound:
    """Find the separator through the origin with the widest margin.

    It is the point of least norm in the convex hull of the vectors zᵢ = yᵢx̃ᵢ (A. Novikoff, On
    convergence proofs on perceptrons, 1962). The hull of a few rows is solved, the rows that its
    separator serves worst are added, until there are none: the margin over all rows is a lower
    bound of γ, the norm for the few rows an upper one.

    Parameters
    ----------
    rows : function
        Takes row numbers, returns zᵢ·zⱼ for these rows and all j.
    squares : array
        ‖zᵢ‖² of all rows.
    start : array
        The first rows.
    """
    n = len(squares)
    radius = math.sqrt(max(float(squares.max()), 0.0))
    inside = np.unique(start)
    products = rows(inside)
    margin, widest = 0.0, radius
    most = max(2, min(_MOST_ROWS, _MOST_CELLS // n))
    for _ in range(_ROUNDS):
        beta = _least_point(products[:, inside])
        values = beta @ products
        norm = math.sqrt(max(float(beta @ values[inside]), 0.0))
        if norm <= 1e-12 * radius:
            return MistakeBound(radius, 0.0, 0.0)
        margin = max(margin, float(values.min()) / norm)
        widest = min(widest, norm)
        worst = np.argsort(values, kind="stable")[:_ADDED]
        worst = np.setdiff1d(worst[values[worst] < norm * norm * (1 - tol)], inside)
        if not worst.size or len(inside) + len(worst) > most:
            break
        inside = np.concatenate([inside, worst])
        products = np.concatenate([products, rows(worst)])
    return MistakeBound(radius, margin, max(widest, margin))


def _least_point(G: Array) -> Array:
    """Return the weights ≥ 0, of sum 1, with the least βᵀGβ.

    As a problem of least squares: min ‖Fβ‖² + (1 − Σβ)² over β ≥ 0, G = FᵀF, has the same
    direction (C. Lawson and R. Hanson, Solving Least Squares Problems, 1974, chapter 23).
    """
    values, vectors = linalg.eigh(G)
    scale = float(values[-1]) if values[-1] > 0 else 1.0
    F = (vectors * np.sqrt(np.maximum(values, 0.0) / scale)).T
    E = np.vstack([F, np.ones(len(G))])
    target = np.zeros(len(E))
    target[-1] = 1.0
    beta, _ = optimize.nnls(E, target, maxiter=50 * len(G))
    total = float(beta.sum())
    return np.asarray(beta / total) if total > 0 else np.full(len(G), 1.0 / len(G))
