"""The least sum of penalties of residuals, and the least largest residual."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import Bounded, DesignProducts, sum_bound
from mercer.problems.penalties import Penalty


class PenaltyAnswer(NamedTuple):
    """Weights, and the dual point where the method has one."""

    x: Array
    nu: Array | None = None


class VertexAnswer(NamedTuple):
    """A vertex: weights, dual point, and the rows it interpolates."""

    x: Array
    nu: Array
    rows: IntArray


@dataclass(frozen=True, eq=False)
class PenaltyProblem:
    r"""The least sum of penalties.

    primal: min Σ φ(bᵢ − aᵢ·x)

    dual:   max bᵀν − Σ φ*(νᵢ)  subject to  Aᵀν = 0

    A is the design matrix. ``known_as`` is a name that is better known.
    """

    b: Array
    penalty: Penalty
    known_as: str = ""

    @property
    def name(self) -> str:
        """What the problem is called."""
        if self.known_as:
            return self.known_as
        kind = f"regression with {self.penalty!r}"
        return kind if self.penalty.convex else f"{kind}, not convex"

    def value(self, residual: Array) -> float:
        """Return the sum of the penalties."""
        return float(self.penalty.value(residual).sum())

    def multipliers(self, A: Array, residual: Array) -> Array:
        """Return a dual point: the slopes, made orthogonal to A, and shrunk into the box."""
        nu = self.penalty.slope(residual)
        U, s, _ = np.linalg.svd(A, full_matrices=False)
        U = U[:, s > max(A.shape) * np.finfo(float).eps * s.max(initial=0.0)]
        for _ in range(2):  # twice is enough for rounding
            nu = nu - U @ (U.T @ nu)
        low, high = self.penalty.box
        over = 1.0
        if 0 < high < np.inf:
            over = max(over, float(nu.max(initial=0.0)) / high)
        if -np.inf < low < 0:
            over = max(over, float(nu.min(initial=0.0)) / low)
        return nu / over

    def certify(
        self, value: PenaltyAnswer | VertexAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge x, and ν if there is one, from the data alone; ``product`` is Ax.

        Without convexity there is no dual problem: the bound from below is that of no residuals, 0.
        """
        A = gram.features()
        r = self.b - (A @ value.x if product is None else product)
        if not self.penalty.convex:
            slopes = A.T @ self.penalty.slope(r)
            return Certificate(
                problem=self.name,
                primal=self.value(r),
                dual=0.0,
                stationarity=float(np.abs(slopes).max(initial=0.0)),
            )
        nu = self.multipliers(A, r) if value.nu is None else value.nu
        low, high = self.penalty.box
        conjugate = self.penalty.conjugate(nu)
        lost = self.penalty.value(r)
        mismatch = lost + conjugate - nu * r
        return Certificate(
            problem=self.name,
            primal=self.value(r),
            dual=float(self.b @ nu - conjugate.sum()),
            stationarity=float(np.abs(A.T @ nu).max(initial=0.0)),
            dual_feasibility=max(float((nu - high).max()), float((low - nu).max()), 0.0),
            complementarity=float(mismatch.max(initial=0.0)),
            rounding=sum_bound(lost)
            + sum_bound(np.abs(self.b * nu))
            + sum_bound(np.abs(conjugate)),
        )

    def prove(self, value: PenaltyAnswer | VertexAnswer, gram: GramMatrix) -> Certificate:
        """Judge x, and ν if there is one, so that the optimum is in the interval.

        A penalty grows with the size of a residual, so where one is not known exactly the penalty
        is greatest at an end. Aᵀν = 0 holds up to rounding only, whose price is that of weights
        twice as large.
        """
        rows = DesignProducts(gram.features())
        found = rows.dot(value.x)
        judged = self.certify(value, gram, found.values)
        with np.errstate(over="ignore", invalid="ignore"):
            r, off = _residual(self.b, found)
            least = self.penalty.value(r)
            most = np.maximum(self.penalty.value(r + off), self.penalty.value(r - off))
            above = float((most - least).sum()) + sum_bound(most)
            if not self.penalty.convex:
                return replace(judged, rounding=above)
            nu = self.multipliers(gram.features(), r) if value.nu is None else value.nu
            inside = np.clip(nu, *self.penalty.box)
            pull, conjugate = rows.combine(inside), self.penalty.conjugate(inside)
            below = sum_bound(np.abs(self.b * inside) + np.abs(conjugate))
            below += 2 * float((np.abs(pull.values) + pull.errors) @ np.abs(value.x))
            below = below if pull.vanishes() else math.inf
            dual = float(self.b @ inside - conjugate.sum())
            floor = -float(self.penalty.conjugate(np.zeros(len(r))).sum())  # ν = 0 lacks nothing
        return replace(replace(judged, dual=dual).paying(below, floor), rounding=above)


def _residual(b: Array, found: Bounded) -> tuple[Array, Array]:
    """Return b − Ax, and how far each of its numbers may be off."""
    return b - found.values, found.errors + 4 * EPSILON * (np.abs(b) + np.abs(found.values))


@dataclass(frozen=True, eq=False)
class ChebyshevProblem:
    r"""Least largest deviation.

    primal: min ‖b − Ax‖∞

    dual:   max bᵀν  subject to  Aᵀν = 0,  ‖ν‖₁ ≤ 1
    """

    b: Array
    name: str = field(default="L∞ regression", init=False)

    def certify(
        self, value: VertexAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge x and ν from the data alone; ``product`` is Ax."""
        A, nu = gram.features(), value.nu
        r = self.b - (A @ value.x if product is None else product)
        most = float(np.abs(r).max(initial=0.0))
        return Certificate(
            problem=self.name,
            primal=most,
            dual=float(self.b @ nu),
            stationarity=float(np.abs(A.T @ nu).max(initial=0.0)),
            dual_feasibility=max(float(np.abs(nu).sum()) - 1, 0.0),
            complementarity=float((np.abs(nu) * (most - np.sign(nu) * r)).max(initial=0.0)),
            rounding=sum_bound(np.abs(self.b * nu)),
        )

    def prove(self, value: VertexAnswer, gram: GramMatrix) -> Certificate:
        """Judge x and ν so that the optimum is in the interval, what rounding does included.

        A ν that is too long is shortened. Aᵀν = 0 holds up to rounding only, whose price is that of
        weights twice as large.
        """
        rows = DesignProducts(gram.features())
        found = rows.dot(value.x)
        judged = self.certify(value, gram, found.values)
        _, off = _residual(self.b, found)
        length = float(np.abs(value.nu).sum())
        length += sum_bound(np.abs(value.nu))
        nu = value.nu / max(length, 1.0)
        pull = rows.combine(nu)
        below = sum_bound(np.abs(self.b * nu))
        below += 2 * float((np.abs(pull.values) + pull.errors) @ np.abs(value.x))
        below = below if pull.vanishes() else math.inf
        above = float(off.max(initial=0.0))
        return replace(replace(judged, dual=float(self.b @ nu)).paying(below), rounding=above)
