"""Logistic regression with penalties that set weights to zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import DesignProducts, sum_bound
from mercer.problems.logistic import LinearLogisticProblem, LogisticAnswer, View


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
        return max(self._dual_parts(beta, V, share)[0] for share in self._shares(np.abs(slopes)))

    def _shares(self, slopes: Array) -> set[float]:
        worst = float(slopes.max(initial=0.0))
        inside = 1.0 if worst <= self.l1 else self.l1 / worst
        return {inside, 1.0} if self.l2 else {inside}

    def _dual_parts(self, beta: Array, V: Array, share: float) -> tuple[float, float]:
        """Return the dual value at a share of β, and the price of V in it."""
        price = 0.0
        if self.l2:
            excess = np.maximum(share * np.abs(V) - self.l1, 0.0)
            price = float(np.vdot(excess, excess)) / (2 * self.l2)
        return self.entropy(share * beta) - price, price

    def certify(
        self, value: LogisticAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge weights of columns; ``product`` is X̃ times the weights."""
        rows, W = self.rows(gram), value.coef
        F = rows.dot(W) if product is None else product
        best = self.with_best_bias(F, value.bias)
        V = rows.combine(best.beta)
        dual = self.dual_value(best.beta, V, self.slopes(W, V))
        return self._judged(value, F, best, V, dual)

    def prove(self, value: LogisticAnswer, gram: GramMatrix) -> Certificate:
        """Judge weights so that the optimum is in the interval, what rounding does included.

        The share of β keeps ∣V∣ ≤ ρ whatever rounding did to V.
        """
        rows, W = DesignProducts(gram.features(), constant=self.constant), value.coef
        found = rows.dot(W)
        best = self.with_best_bias(found.values, value.bias)
        pull = rows.combine(best.beta)
        V = pull.values
        below, drift = self._entropy_bound(found, best)
        reach = pull.errors + drift * pull.sizes + 4 * EPSILON * self.l1
        bounds = []
        for share in self._shares(np.abs(self.slopes(W, V)) + reach):
            dual, price = self._dual_parts(best.beta, V, share)
            most = self._dual_parts(best.beta, np.abs(V) + reach, share)[1]
            rounded = (W.size + 16) * EPSILON * (most + price)
            bounds.append((dual, below + max(most - price, 0.0) + rounded))
        dual, below = max(bounds, key=lambda pair: pair[0] - pair[1])
        above = self._loss_bound(found, value.bias)
        above += sum_bound(self.l1 * np.abs(W) + self.l2 * W * W / 2)
        judged = self._judged(value, found.values, best, V, dual)
        return replace(judged.paying(below), rounding=above)

    def _judged(
        self, value: LogisticAnswer, F: Array, best: View, V: Array, dual: float
    ) -> Certificate:
        W = value.coef
        slopes = self.slopes(W, V)
        slack = np.abs(self.l1 - np.abs(slopes)) * np.abs(W)
        drift = float(np.abs(best.beta.sum(axis=0)).max()) if self.intercept else 0.0
        return Certificate(
            problem=self.name,
            primal=self.view(F, value.bias).loss + self.penalty(W),
            dual=dual,
            stationarity=float(self.violations(W, slopes).max(initial=0.0)),
            dual_feasibility=drift,
            complementarity=float(slack.max(initial=0.0)),
        )
