"""Kernel ridge regression on landmarks: what it does at each row, and its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.gram.chunks import Chunk
from mercer.gram.passes import Affine, Reaction, Swept
from mercer.problems.certificate import Certificate, landmark_cost


@dataclass(frozen=True)
class RidgeErrors:
    """Weighted errors w(y − u) of each target, and the weights w in a last column.

    The sums are Σ w e², Σ w e y and Σ w y of each target, e = y − u.
    """

    def affine(self, chunk: Chunk, columns: int) -> Affine:
        """Return what the rule is as a function of U."""
        w = row_weights(chunk)
        return Affine(np.hstack([w[:, None] * _targets(chunk), w[:, None]]), -w)

    def __call__(self, U: Array, chunk: Chunk) -> Reaction:
        Y = _targets(chunk)
        w = row_weights(chunk)[:, None]
        errors = Y - U
        pull = w * errors
        squares = np.einsum("ij,ij->j", pull, errors)
        onto = np.einsum("ij,ij->j", pull, Y)
        return Reaction(np.hstack([pull, w]), np.array([squares, onto, (w * Y).sum(axis=0)]))


@dataclass(frozen=True)
class RidgeCurve:
    """The second derivative, times u: w u."""

    def affine(self, chunk: Chunk, columns: int) -> Affine:
        """Return what the rule is as a function of U."""
        return Affine(np.zeros((len(chunk), columns)), row_weights(chunk))

    def __call__(self, U: Array, chunk: Chunk) -> Reaction:
        R = U if chunk.weights is None else chunk.weights[:, None] * U
        return Reaction(R, np.zeros(0))


@dataclass(frozen=True)
class RidgeWeights:
    """The weights of the rows, as one column."""

    def __call__(self, U: Array, chunk: Chunk) -> Array:
        return row_weights(chunk)[:, None]


def _targets(chunk: Chunk) -> Array:
    return np.asarray(chunk.y, dtype=np.float64).reshape(len(chunk), -1)


def row_weights(chunk: Chunk) -> Array:
    """Return the weight of each row."""
    if chunk.weights is None:
        return np.ones(len(chunk))
    return np.asarray(chunk.weights, dtype=np.float64)


@dataclass(frozen=True)
class LandmarkRidge:
    """Ridge regression of one or more targets by functions of the landmarks' span.

    min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖²,  f = Σⱼ aⱼ k(zⱼ, ·) over M landmarks zⱼ

    The errors e = y − f − b give a value of the dual, Σ we(y − b) − ½Σ we² − ‖g‖²/(2λ), where g has
    the coefficients K_MM⁻¹K_Mn(we); it asks Σ we = 0 where b is free. The gap is ½λ‖f − g/λ‖².
    """

    alpha: float
    constant: bool

    def best_constants(self, swept: Swept) -> Array:
        """Return by how much each b has to rise so that the weighted errors add up to zero."""
        if not self.constant:
            return np.zeros(swept.sums.shape[1] - 1)
        return np.asarray(swept.sums[-1, :-1] / swept.sums[-1, -1])

    def certify(
        self,
        swept: Swept,
        coordinates: Array,
        pull: Callable[[Array], Array],
        **cost: Any,
    ) -> Certificate:
        """Judge functions from one precise sweep of :class:`RidgeErrors`, with a whitener, at them.

        ``coordinates`` are those of f in an orthonormal basis of the span, one column for each
        target, and ``pull`` gives the coordinates of Σ rᵢ k(xᵢ, ·) from its products K_Mn r.
        """
        total, onto, targets = swept.totals
        pulled = swept.sums[:, :-1]
        shift = self.best_constants(swept)
        M = len(pulled) - self.constant
        sums = pulled[:M] - shift * swept.sums[:M, -1:]
        best = total
        if self.constant:
            best = total - 2 * shift * pulled[-1] + shift**2 * swept.sums[-1, -1]
            onto = onto - shift * targets
        G = pull(sums)
        square = (G**2).sum(axis=0) / self.alpha
        primal = 0.5 * total.sum() + 0.5 * self.alpha * float((coordinates**2).sum())
        # With Σ we = 0 the constant in Σ we(y − b) is for nothing.
        dual = onto - 0.5 * best - 0.5 * square
        assert swept.unseen is not None
        # ∣w(e − shift)∣ ≤ ∣we∣ + ∣shift∣w.
        unseen = swept.unseen[:-1] + np.abs(shift) * swept.unseen[-1]
        cost_of_landmarks = landmark_cost(dual, square + best, unseen**2 / self.alpha)
        return Certificate(
            problem="kernel ridge regression",
            primal=float(primal),
            dual=float(dual.sum()),
            stationarity=float(np.abs(G - self.alpha * coordinates).max(initial=0.0)),
            primal_feasibility=0.0,
            dual_feasibility=0.0,
            complementarity=0.0,
            **cost,
        ).on_landmarks(M, cost_of_landmarks)
