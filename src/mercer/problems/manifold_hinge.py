"""Manifold regularisation with the plain hinge: objective, dual, certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array, BoolArray
from mercer.problems import qp
from mercer.problems.certificate import ROUNDING, Certificate
from mercer.problems.manifold import DualPoint, ManifoldProblem
from mercer.problems.qp import BoxQP
from mercer.problems.unbiased import unbiased_classifier


@dataclass(frozen=True, eq=False)
class HingeManifoldProblem(ManifoldProblem):
    """Manifold regularisation with the plain hinge, of one target yᵢ = ±1.

    primal: min Σ wᵢ max(0, 1 − yᵢ(f(xᵢ) + b)) + ½a‖f‖² + ½ fᵀRf

    dual:   max Σ βᵢyᵢ − ½ sᵀRs − ½a‖Σ γⱼ k(xⱼ, ·)‖²,  aγ = β − Rs,  0 ≤ yᵢβᵢ ≤ wᵢ

    over β at the labelled points (0 elsewhere) and values s at all points. A free constant b asks
    Σβ = 0. At the optimum β = ac + Rf, which the coefficients c of f reveal.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, Manifold regularization, JMLR 7 (2006), section 4.3.
    """

    @property
    def name(self) -> str:
        """What the problem is called in certificates and messages."""
        return "manifold regularisation with the hinge"

    def box(self) -> BoxQP:
        """Return the problem of β on the labelled points alone, in the kernel K(a + RK)⁻¹."""
        make = qp.classifier if self.intercept else unbiased_classifier
        return make(self.y, self.weights)

    def losses(self, u: Array, bias: float) -> Array:
        losses: Array = self.weights * np.maximum(0.0, 1 - self.y * (u + bias))
        return losses

    def loss_change(self, u: Array, bias: float, off: Array) -> Array:
        del u, bias
        return self.weights * off

    def gains(self, beta: Array) -> Array:
        return beta * self.y

    def gain_slopes(self, beta: Array) -> tuple[Array, Array]:
        return self.y, np.zeros_like(beta)

    def allows(self, beta: Array) -> BoolArray:
        return (self.y * beta >= 0) & (self.y * beta <= self.weights)

    def dual_point(self, coef: Array, f: Array) -> DualPoint:
        rough = self.roughness(f)
        beta = self.box().feasible(self.penalty * coef[self.rows] + rough[self.rows])
        implied = -rough
        implied[self.rows] += beta
        return DualPoint(beta, f, implied / self.penalty)

    def judge(
        self, coef: Array, f: Array, bias: float, point: DualPoint, image: Array
    ) -> Certificate:
        beta, s, gamma = point.beta, point.values, point.coef
        rough = float(s @ self.roughness(s))
        dual = float(beta @ self.y) - (rough + self.penalty * float(gamma @ image)) / 2
        signed = self.y * beta
        broken = float(np.maximum(-signed, signed - self.weights).max(initial=0.0))
        if self.intercept:
            broken = max(broken, abs(float(beta.sum())))
        holds = broken <= ROUNDING * max(1.0, float(np.abs(beta).sum()))
        return Certificate(
            problem=self.name,
            primal=self.value(coef, f, bias),
            dual=dual if holds else -np.inf,
            stationarity=self.penalty * float(np.abs(image - f).max(initial=0.0)),
            dual_feasibility=broken,
        )
