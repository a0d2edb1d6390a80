"""Kernel ridge regression on landmarks: what it does at each row, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.landmarks.chunks import Chunk
from mercer.landmarks.landmark_gram import LandmarkGram, landmark_cost
from mercer.landmarks.passes import AffineTerms, PassSums, RowTerms, Rule
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_bounds import LandmarkRounding


@dataclass(frozen=True)
class RidgeErrors(Rule):
    """Weighted errors w(y − u) of each target, and the weights w in a last column.

    The sums are Σ w e², Σ w e y and Σ w y of each target, e = y − u.
    """

    def affine(self, chunk: Chunk, columns: int) -> AffineTerms:
        w = row_weights(chunk)
        return AffineTerms(np.hstack([w[:, None] * _targets(chunk), w[:, None]]), -w)

    def __call__(self, U: Array, chunk: Chunk) -> RowTerms:
        Y = _targets(chunk)
        w = row_weights(chunk)[:, None]
        errors = Y - U
        weighted = w * errors
        squares = np.einsum("ij,ij->j", weighted, errors)
        onto = np.einsum("ij,ij->j", weighted, Y)
        return RowTerms(np.hstack([weighted, w]), np.array([squares, onto, (w * Y).sum(axis=0)]))


@dataclass(frozen=True)
class RidgeCurve(Rule):
    """The second derivative, times u: w u."""

    def affine(self, chunk: Chunk, columns: int) -> AffineTerms:
        return AffineTerms(np.zeros((len(chunk), columns)), row_weights(chunk))

    def __call__(self, U: Array, chunk: Chunk) -> RowTerms:
        R = U if chunk.weights is None else chunk.weights[:, None] * U
        return RowTerms(R, np.zeros(0))


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


@dataclass(frozen=True, eq=False)
class LandmarkFunctions:
    """Functions f + b in the span of landmarks, one column each.

    Attributes
    ----------
    coordinates : array of shape (r, functions)
        The weights w of the features: f = w·z, ‖f‖ = ‖w‖.
    constants : array of shape (functions,)
        b, zeros where a machine has none.
    sums : PassSums, optional
        Those of a pass in float64 at these functions, where there was one; that spares the
        certificate another.
    """

    coordinates: Array
    constants: Array
    sums: PassSums | None = None

    @classmethod
    def of(cls, gram: LandmarkGram, V: Array, sums: PassSums | None = None) -> LandmarkFunctions:
        """Split coordinates, with the constants below them where there are some."""
        r = len(gram.basis)
        constants = V[-1].copy() if gram.passes.constant else np.zeros(V.shape[1])
        return cls(V[:r], constants, sums)

    def coefficients(self, gram: LandmarkGram) -> Array:
        """Return the coefficients of the functions on the landmarks."""
        return np.ascontiguousarray(gram.basis.coefficients(self.coordinates))

    def sums_of(self, rule: Rule, gram: LandmarkGram) -> PassSums:
        """Return the sums of a rule in float64, with what the landmarks do not see of the rows."""
        if self.sums is not None:
            return self.sums
        basis, passes = gram.basis, gram.passes
        V = np.vstack([self.coordinates, self.constants[None]])[: passes.columns]
        return passes.sums(basis.coefficients(V), rule, True, basis.whitener(passes.rows))


def landmarks_of(gram: GramMatrix, problem: str) -> LandmarkGram:
    """Return a matrix as one on landmarks, and refuse others."""
    found = gram.landmarks()
    if found is None:
        raise InvalidInput(f"{problem}: this matrix is not one on landmarks.")
    return found


@dataclass(frozen=True)
class LandmarkRidge:
    """Ridge regression of one or more targets by functions of the landmarks' span.

    min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖²,  f = Σⱼ aⱼ k(zⱼ, ·) over M landmarks zⱼ

    The errors e = y − f − b give a value of the dual, Σ we(y − b) − ½Σ we² − ‖g‖²/(2λ), where g has
    the coefficients K_MM⁻¹K_Mn(we); it asks Σ we = 0 where b is free. The gap is ½λ‖f − g/λ‖². The
    targets and weights are with the rows.
    """

    alpha: float
    constant: bool
    targets: int = 1
    """How many there are."""

    @property
    def name(self) -> str:
        """What it is called in certificates."""
        return "kernel ridge regression"

    def best_constants(self, sums: PassSums) -> Array:
        """Return by how much each b has to rise so that the weighted errors add up to zero."""
        if not self.constant:
            return np.zeros(sums.products.shape[1] - 1)
        return np.asarray(sums.products[-1, :-1] / sums.products[-1, -1])

    def certify(
        self, value: LandmarkFunctions, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge functions by one pass of :class:`RidgeErrors` in float64, if it was not made yet.

        Constants are judged as if they were the best ones for f.
        """
        low = landmarks_of(gram, self.name)
        found = value.sums_of(RidgeErrors(), low)
        total, onto, targets = found.totals
        products = found.products[:, :-1]
        shift = self.best_constants(found)
        M = len(products) - self.constant
        sums = products[:M] - shift * found.products[:M, -1:]
        best = total
        if self.constant:
            best = total - 2 * shift * products[-1] + shift**2 * found.products[-1, -1]
            onto = onto - shift * targets
        G = low.basis.coordinates(sums)
        W = value.coordinates
        square = (G**2).sum(axis=0) / self.alpha
        primal = 0.5 * total.sum() + 0.5 * self.alpha * float((W**2).sum())
        # With Σ we = 0 the constant in Σ we(y − b) is for nothing.
        dual = onto - 0.5 * best - 0.5 * square
        assert found.unseen is not None
        # ∣w(e − shift)∣ ≤ ∣we∣ + ∣shift∣w.
        unseen = found.unseen[:-1] + np.abs(shift) * found.unseen[-1]
        cost = landmark_cost(dual, square + best, unseen**2 / self.alpha)
        return Certificate(
            problem=self.name,
            primal=float(primal),
            dual=float(dual.sum()),
            stationarity=float(np.abs(G - self.alpha * W).max(initial=0.0)),
        ).on_landmarks(M, cost)

    def prove(
        self, value: LandmarkFunctions, gram: GramMatrix, rounding: LandmarkRounding, yy: Array
    ) -> Certificate:
        """Judge functions so that the optimum is in the interval, what rounding does included.

        ``yy`` are Σ wᵢyᵢ² of the targets, which bound sums of errors times targets.
        """
        low = landmarks_of(gram, self.name)
        found = value.sums_of(RidgeErrors(), low)
        judged = self.certify(replace(value, sums=found), gram)
        squares, shift, W = found.totals[0], self.best_constants(found), value.coordinates
        off = rounding.of_values(W, value.constants)
        errors = np.sqrt(rounding.mass * squares)  # at least Σ w∣e∣
        moved = squares + shift**2 * rounding.mass
        above = errors * off + rounding.mass * off**2 / 2 + rounding.of_sum * squares
        above = above + self.alpha * rounding.of_norms(W)
        M = len(found.products) - self.constant
        sums = found.products[:M, :-1] - shift * found.products[:M, -1:]
        # Passes may sum wy and wu apart, ∣u∣ ≤ ∣y∣ + ∣e∣.
        reach = 2 * errors + 2 * np.sqrt(rounding.mass * yy) + np.abs(shift) * rounding.mass
        below = rounding.of_combined(low.basis.coordinates(sums), reach) / (2 * self.alpha)
        below = below + rounding.of_sum * (np.sqrt(moved * yy) + moved)
        return replace(judged, rounding=max(float(above.sum()), float(below.sum())))
