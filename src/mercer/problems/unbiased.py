"""The quadratic problem of a support vector machine without a bias: a box and no fixed sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._typing import Array, IntArray
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.certificate import ROUNDING, Certificate
from mercer.problems.products import Products
from mercer.problems.qp import BoxQP, Gap


@dataclass(frozen=True, eq=False)
class UnbiasedQP(BoxQP):
    """A concave quadratic with a box alone.

    max pᵀβ − ½ βᵀKβ  subject to  lo ≤ β ≤ hi

    Without a bias there is no constraint on Σβ. With r = p − Kβ the value of the primal problem is
    ½ βᵀKβ + Σ (hi r⁺ − lo r⁻), and the gap is Σ (hi − β) r⁺ + (β − lo) r⁻, as in :class:`BoxQP`
    with b = 0.
    """

    has_bias: ClassVar[bool] = False

    def biases(self, beta: Array, f: Array) -> Array:
        """Return the bias, which is 0."""
        return np.zeros(1)

    def feasible(self, start: Array) -> Array:
        """Return the nearest multipliers in the box."""
        return np.clip(start, self.lo, self.hi)

    def violation(self, beta: Array, f: Array) -> float:
        """Return the steepest slope along which a multiplier can still move."""
        r = self.p - f[self.row]
        rising = r > 0
        open_slopes = np.where(rising, beta < self.hi, beta > self.lo)
        return float(np.abs(r[open_slopes]).max(initial=0.0))

    def gap(self, beta: Array, f: Array, row: IntArray | None = None) -> Gap:
        r = self.p - f[self.row if row is None else row]
        price = float(self.hi @ np.maximum(r, 0) - self.lo @ np.maximum(-r, 0))
        linear = float(self.p @ beta)
        quadratic = linear - float(r @ beta)
        primal, dual = quadratic / 2 + price, linear - quadratic / 2
        gap = primal - dual if math.isfinite(primal - dual) else math.inf
        terms = abs(price) + abs(linear) + abs(quadratic)
        return Gap(gap, max(abs(primal), abs(dual)), terms)

    def certify(
        self,
        value: Array,
        gram: GramMatrix,
        product: Array | None = None,
        biases: Array | None = None,
    ) -> Certificate:
        if product is not None:
            return self.judge(value, product)
        n = gram.shape[0]
        found = Products(gram, self.coefficients(value, n)[:, None])
        return self.prove(value, found.part(np.arange(n), 0, None, Definite.POSITIVE))

    def judge(self, beta: Array, f: Array, biases: Array | None = None, **cost: Any) -> Certificate:
        """Judge β, given f = Kβ in float64."""
        r = self.p - f[self.row]
        rise, fall = np.maximum(r, 0), np.maximum(-r, 0)
        outside = float(np.maximum(self.lo - beta, beta - self.hi).max(initial=0.0))
        holds = outside <= ROUNDING or outside <= ROUNDING * float(np.abs(beta).sum())
        quadratic = float(self.coefficients(beta, len(f)) @ f)
        room = (self.hi - beta) * rise + (beta - self.lo) * fall
        return Certificate(
            problem=self.name,
            primal=quadratic / 2 + float(self.hi @ rise - self.lo @ fall),
            dual=float(self.p @ beta) - quadratic / 2 if holds else -math.inf,
            stationarity=self.violation(beta, f),
            dual_feasibility=outside,
            complementarity=float(np.abs(room).max(initial=0.0)),
            **cost,
        )

    def _drift(self, beta: Array, slopes: Array) -> float:
        """Return 0: there are no sums to make exact."""
        return 0.0 if np.isfinite(beta).all() else math.inf


def unbiased_classifier(signs: Array, C: Array) -> UnbiasedQP:
    """C-SVC without a bias: min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢf(xᵢ)); ``signs`` are ±1."""
    n, signed = len(C), signs * C
    return UnbiasedQP(
        "C-SVC without bias",
        signs.astype(np.float64),
        np.minimum(0.0, signed),
        np.maximum(0.0, signed),
        np.zeros(n),
        np.arange(n),
        np.zeros(n, np.uint8),
    )
