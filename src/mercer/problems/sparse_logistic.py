"""Logistic regression with penalties that set weights to zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.logistic import LinearLogisticProblem, LogisticAnswer


@dataclass(frozen=True, eq=False)
class SparseLogisticProblem(LinearLogisticProblem):
    r"""Logistic regression with an ℓ₁ and a squared ℓ₂ penalty on the weights of columns.

    primal: min ρ Σ ∣W∣ + ½(1 − ρ) Σ W² + Σ Cᵢ (log Σ_c exp(w_c·x̃ᵢ + b_c) − w_y·x̃ᵢ − b_y),  y = yᵢ

    dual:   max Σ Cᵢ H(pᵢ) − Σ max(0, ∣V∣ − ρ)² / 2(1 − ρ),  V = Σᵢ x̃ᵢβᵢᵀ,  Σᵢ βᵢ = 0

    with β = C(e_y − p) of probabilities p, as in :class:`LogisticProblem`. With ρ = 1 the last sum
    is a constraint, ∣V∣ ≤ 1. A share θ ≤ 1 of a dual point β is one too, of the probabilities
    (1 − θ)e_y + θp: the weights of the best bias, scaled until they are feasible, prove an answer
    (E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon, Gap safe screening rules for sparsity
    enforcing penalties, JMLR 18, 2017).

    Parameters
    ----------
    l1 : float
        The share ρ of the ℓ₁ penalty, above 0.
    """

    l1: float = 1.0

    @property
    def l2(self) -> float:
        """The share of the squared penalty."""
        return 1.0 - self.l1

    @property
    def name(self) -> str:
        """What the problem is called."""
        return f"{super().name}, {'ℓ₁' if self.l1 == 1.0 else 'elastic-net'} penalty"

    def penalty(self, W: Array) -> float:
        """Return the price of the weights."""
        price = self.l1 * float(np.abs(W).sum())
        return price + self.l2 * float(np.vdot(W, W)) / 2 if self.l2 else price

    def slopes(self, W: Array, V: Array) -> Array:
        """Return minus the slopes of all but the ℓ₁ penalty; V is X̃ᵀβ."""
        return V - self.l2 * W if self.l2 else V

    def violations(self, W: Array, slopes: Array) -> Array:
        """Return by how much each weight breaks its optimality condition."""
        still = np.maximum(np.abs(slopes) - self.l1, 0.0)
        return np.where(W != 0, np.abs(slopes - self.l1 * np.sign(W)), still)

    def dual_value(self, beta: Array, V: Array, slopes: Array) -> float:
        """Return the best dual value of the shares of β that are worth a look."""
        worst = float(np.abs(slopes).max(initial=0.0))
        inside = 1.0 if worst <= self.l1 else self.l1 / worst
        values = []
        for share in {inside, 1.0} if self.l2 else {inside}:
            value = self.entropy(share * beta)
            if self.l2:
                excess = np.maximum(share * np.abs(V) - self.l1, 0.0)
                value -= float(np.vdot(excess, excess)) / (2 * self.l2)
            values.append(value)
        return max(values)

    def certify(
        self, value: LogisticAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge weights of columns; ``product`` is X̃ times the weights."""
        rows, W = self.rows(gram), value.coef
        F = rows.dot(W) if product is None else product
        best = self.with_best_bias(F, value.bias)
        V = rows.combine(best.beta)
        slopes = self.slopes(W, V)
        slack = np.abs(self.l1 - np.abs(slopes)) * np.abs(W)
        drift = float(np.abs(best.beta.sum(axis=0)).max()) if self.intercept else 0.0
        return Certificate(
            problem=self.name,
            primal=self.view(F, value.bias).loss + self.penalty(W),
            dual=self.dual_value(best.beta, V, slopes),
            stationarity=float(self.violations(W, slopes).max(initial=0.0)),
            dual_feasibility=drift,
            complementarity=float(slack.max(initial=0.0)),
        )
