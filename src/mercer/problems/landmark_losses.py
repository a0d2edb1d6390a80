"""Classification on landmarks: what losses do at each row, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit

from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.landmarks.chunks import Chunk
from mercer.landmarks.landmark_gram import landmark_cost
from mercer.landmarks.passes import PassSums, RowTerms, Rule
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import SPARE_TERMS
from mercer.problems.landmark_bounds import LandmarkRounding
from mercer.problems.landmark_squares import LandmarkFunctions, landmarks_of, row_weights


@dataclass(frozen=True)
class Loss:
    """A convex loss of the values u of one or more functions at a row of class y.

    ``classes`` is their number; two classes share one function, which is high for the second.
    """

    classes: int
    name: ClassVar[str]
    joint: ClassVar[bool] = False
    """Whether the functions of several classes share one loss, or each has one of its own."""

    @property
    def functions(self) -> int:
        """How many functions there are."""
        return 1 if self.classes == 2 else self.classes

    def values(self, U: Array, labels: IntArray) -> Array:
        """Return the losses of each row: one where they are joint, else one for each function."""
        raise NotImplementedError

    def negative_gradient(self, U: Array, labels: IntArray) -> Array:
        """Return minus the derivative of the loss, one column for each function."""
        raise NotImplementedError

    def dual_value(self, multipliers: Array, labels: IntArray) -> Array:
        """Return what multipliers add to the dual: minus the conjugate of the loss there."""
        raise NotImplementedError

    def hessian_product(self, U: Array, direction: Array, labels: IntArray) -> Array:
        """Return the second derivative of the loss, times a direction."""
        raise NotImplementedError

    def hessian_diagonal(self, U: Array, labels: IntArray) -> Array:
        """Return the diagonal of the second derivative."""
        raise NotImplementedError

    def _signs(self, labels: IntArray) -> Array:
        if self.classes == 2:
            return np.where(labels > 0, 1.0, -1.0)[:, None]
        return np.where(labels[:, None] == np.arange(self.classes), 1.0, -1.0)


class SquaredHinge(Loss):
    """max(0, 1 − tu)², t = ±1; one class against the rest where there are several."""

    name = "squared hinge"

    def values(self, U: Array, labels: IntArray) -> Array:
        return np.asarray(self._slack(U, labels) ** 2)

    def negative_gradient(self, U: Array, labels: IntArray) -> Array:
        return np.asarray(2 * self._signs(labels) * self._slack(U, labels))

    def dual_value(self, multipliers: Array, labels: IntArray) -> Array:
        return np.asarray((self._signs(labels) * multipliers - multipliers**2 / 4).sum(axis=1))

    def hessian_product(self, U: Array, direction: Array, labels: IntArray) -> Array:
        return np.asarray(self.hessian_diagonal(U, labels) * direction)

    def hessian_diagonal(self, U: Array, labels: IntArray) -> Array:
        return np.asarray(2.0 * (self._slack(U, labels) > 0))

    def _slack(self, U: Array, labels: IntArray) -> Array:
        return np.maximum(0.0, 1.0 - self._signs(labels) * U)


class Logistic(Loss):
    """log Σ_c exp(u_c) − u_y; with one function u = 0 for the first class."""

    name = "logistic"
    joint = True

    def values(self, U: Array, labels: IntArray) -> Array:
        if self.classes == 2:
            return np.logaddexp(0.0, -self._signs(labels) * U)
        top = U.max(axis=1, keepdims=True)
        own = np.take_along_axis(U, labels[:, None], axis=1)
        return np.asarray(np.log(np.exp(U - top).sum(axis=1, keepdims=True)) + top - own)

    def negative_gradient(self, U: Array, labels: IntArray) -> Array:
        if self.classes == 2:
            signs = self._signs(labels)
            return np.asarray(signs * expit(-signs * U))
        return np.asarray((self._signs(labels) > 0) - self._probabilities(U))

    def dual_value(self, multipliers: Array, labels: IntArray) -> Array:
        if self.classes == 2:
            p = np.abs(multipliers[:, 0])
            return np.asarray(entr(p) + entr(1 - p))
        return np.asarray(
            entr(np.maximum((self._signs(labels) > 0) - multipliers, 0.0)).sum(axis=1)
        )

    def hessian_product(self, U: Array, direction: Array, labels: IntArray) -> Array:
        if self.classes == 2:
            return np.asarray(self.hessian_diagonal(U, labels) * direction)
        P = self._probabilities(U)
        inner = np.einsum("ij,ij->i", P, direction)
        return np.asarray(P * (direction - inner[:, None]))

    def hessian_diagonal(self, U: Array, labels: IntArray) -> Array:
        P = expit(U) if self.classes == 2 else self._probabilities(U)
        return np.asarray(P * (1 - P))

    def _probabilities(self, U: Array) -> Array:
        P = np.exp(U - U.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        return np.asarray(P)


LOSSES: dict[str, type[Loss]] = {"squared_hinge": SquaredHinge, "logistic": Logistic}


@dataclass(frozen=True)
class Slope(Rule):
    """The multipliers β = −C s ∂ℓ of all rows.

    The totals are the loss, what β adds to the dual, and how many rows have some β: a mean over
    the functions.
    """

    loss: Loss
    C: float

    def __call__(self, U: Array, chunk: Chunk) -> RowTerms:
        w = self.C * row_weights(chunk)
        slopes = self.loss.negative_gradient(U, chunk.y)
        value, dual = self.loss.values(U, chunk.y), self.loss.dual_value(slopes, chunk.y)
        R = w[:, None] * slopes
        active = np.count_nonzero(R) / R.shape[1]
        return RowTerms(R, np.array([(w @ value).sum(), w @ dual, active]))


@dataclass(frozen=True)
class Curve(Rule):
    """The second derivative at the first columns of U, times the last ones."""

    loss: Loss
    C: float

    def __call__(self, U: Array, chunk: Chunk) -> RowTerms:
        q = self.loss.functions
        w = self.C * row_weights(chunk)
        return RowTerms(
            w[:, None] * self.loss.hessian_product(U[:, :q], U[:, q:], chunk.y), np.zeros(0)
        )


@dataclass(frozen=True)
class Line(Rule):
    """The losses at several steps from the first columns of U along the last ones."""

    loss: Loss
    C: float
    sizes: tuple[float, ...]

    def __call__(self, U: Array, chunk: Chunk) -> RowTerms:
        q = self.loss.functions
        w = self.C * row_weights(chunk)
        values = [w @ self.loss.values(U[:, :q] + t * U[:, q:], chunk.y) for t in self.sizes]
        return RowTerms(np.zeros((len(U), 0)), np.array(values))


@dataclass(frozen=True)
class Curvatures:
    """The diagonal of the second derivative, for each function or their mean."""

    loss: Loss
    C: float
    shared: bool

    def __call__(self, U: Array, chunk: Chunk) -> Array:
        D = self.C * row_weights(chunk)[:, None] * self.loss.hessian_diagonal(U, chunk.y)
        return D.mean(axis=1, keepdims=True) if self.shared else D


@dataclass(frozen=True)
class LandmarkClasses:
    """Classification by functions of the span of landmarks.

    min ½ Σ_c ‖f_c‖² + C Σ sᵢ ℓ(yᵢ, f(xᵢ) + b),  f_c = Σⱼ aⱼ_c k(zⱼ, ·) over M landmarks zⱼ

    The multipliers βᵢ = −C sᵢ ∂ℓ are a point of the dual, max Σ C sᵢ ω(βᵢ/C sᵢ) − ½‖Σ βᵢ φ(xᵢ)‖²,
    with Σ βᵢ = 0 where b is free; ω is minus the conjugate of ℓ. The gap is ½‖f − Σ βᵢ φ(xᵢ)‖².
    What is left of Σ βᵢ lowers the dual by the most that a constant of twice the size found could
    gain by it: the bound holds among machines with such constants.
    """

    loss: Loss
    C: float
    constant: bool

    @property
    def name(self) -> str:
        """What it is called in certificates."""
        return f"{self.loss.name} classification"

    def dual_loss(self, sums: PassSums, constants: Array) -> float:
        """Return what the dual loses because multipliers do not add up to zero."""
        if not self.constant:
            return 0.0
        return float((np.abs(sums.products[-1]) * (2 * np.abs(constants) + 1)).sum())

    def certify(
        self, value: LandmarkFunctions, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge functions by one pass of :class:`Slope` in float64, if it was not made yet."""
        low = landmarks_of(gram, self.name)
        found = value.sums_of(Slope(self.loss, self.C), low)
        loss, gained, _ = found.totals
        M = len(found.products) - self.constant
        G = low.basis.coordinates(found.products[:M])
        W = value.coordinates
        square = float((G**2).sum())
        dual = float(gained - 0.5 * square - self.dual_loss(found, value.constants))
        assert found.unseen is not None
        cost = landmark_cost(dual, square, float((found.unseen**2).sum()))
        return Certificate(
            problem=self.name,
            primal=float(loss + 0.5 * (W**2).sum()),
            dual=dual,
            stationarity=float(np.abs(G - W).max(initial=0.0)),
            dual_feasibility=float(np.abs(found.products[M:]).max(initial=0.0)),
        ).on_landmarks(M, cost)

    def prove(
        self, value: LandmarkFunctions, gram: GramMatrix, rounding: LandmarkRounding
    ) -> Certificate:
        """Judge functions so that the optimum is in the interval, what rounding does included.

        The slopes of the logistic loss are 2 at most, those of the squared hinge twice the root of
        the loss.
        """
        low = landmarks_of(gram, self.name)
        found = value.sums_of(Slope(self.loss, self.C), low)
        judged = self.certify(replace(value, sums=found), gram)
        mass, W = self.C * rounding.mass, value.coordinates
        loss, gained = float(found.totals[0]), abs(float(found.totals[1]))
        off = float(rounding.of_values(W, value.constants).sum())
        slopes = 2 * mass
        above = float(rounding.of_norms(W).sum())
        if not self.loss.joint:
            slopes += 2 * float(np.sqrt(mass * loss))
            above += mass * off * off
        above += slopes * off
        sizes = float((rounding.root * rounding.sizes(W) + np.abs(value.constants)).max())
        above += rounding.of_sum * (loss + mass) + SPARE_TERMS * EPSILON * mass * (1 + sizes)
        M = len(found.products) - self.constant
        G = low.basis.coordinates(found.products[:M])
        reach = np.full(G.shape[1], slopes)
        below = float(rounding.of_combined(G, reach).sum()) / 2
        below += rounding.of_sum * (gained + self.loss.classes * mass)
        if self.constant:
            below += rounding.of_sum * slopes * float((2 * np.abs(value.constants) + 1).sum())
        return replace(judged, rounding=max(above, below))
