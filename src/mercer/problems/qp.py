"""The quadratic problem behind the whole support-vector family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.problems.certificate import Certificate

Groups = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, eq=False)
class BoxQP:
    r"""A concave quadratic with a box and fixed sums.

    max pᵀβ − ½ βᵀKβ  subject to  lo ≤ β ≤ hi  and  Σ_{t in group g} β_t = s_g

    The variables are signed multipliers: β = yα for a classifier, α − α* for a regression. Variable
    t sits on row ``row[t]`` of K (a regression has two on each row). ``start`` is feasible and
    fixes the sums s_g.

    With F = p − Kβ and a bias b_g for each group, r = F − b is the residual of each variable, and
    ½ βᵀKβ + Σ (hi r⁺ − lo r⁻) + Σ_g b_g s_g bounds the maximum from above: it is the value of the
    primal problem, and the gap is Σ (hi − β) r⁺ + (β − lo) r⁻.
    """

    name: str
    p: Array
    lo: Array
    hi: Array
    start: Array
    row: IntArray
    group: Groups
    groups: int = 1

    def __len__(self) -> int:
        return len(self.p)

    @property
    def sums(self) -> Array:
        """The fixed sum s_g of each group."""
        return np.bincount(self.group, self.start, self.groups).astype(np.float64)

    def coefficients(self, beta: Array, count: int) -> Array:
        """Return the coefficient of each of the ``count`` rows of K: the sum of its variables."""
        return np.bincount(self.row, beta, count).astype(np.float64, copy=False)

    def feasible(self, start: Array) -> Array:
        """Return multipliers that keep all constraints, near some that may not.

        What is within rounding of a bound is on it; free variables take up what a sum lacks first.
        """
        beta = np.clip(start, self.lo, self.hi)
        width = np.where(np.isfinite(self.hi - self.lo), self.hi - self.lo, 0.0)
        beta = np.where(self.hi - beta < 1e-13 * width, self.hi, beta)
        beta = np.where(beta - self.lo < 1e-13 * width, self.lo, beta)
        for g, total in enumerate(self.sums):
            mine = np.flatnonzero(self.group == g)
            least = 1e-13 * float(np.abs(beta[mine]).sum() + abs(total))
            at_bound = (beta[mine] == self.lo[mine]) | (beta[mine] == self.hi[mine])
            for part in (mine[~at_bound], mine[at_bound]):
                lacks = float(total - beta[mine].sum())
                if abs(lacks) <= least:
                    break
                sign, bound = (1.0, self.hi) if lacks > 0 else (-1.0, self.lo)
                fill = _fill(sign * (bound[part] - beta[part]), abs(lacks))
                beta[part] = np.clip(beta[part] + sign * fill, self.lo[part], self.hi[part])
        return beta

    def extremes(self, beta: Array, f: Array) -> Array:
        """Return for each group the greatest F that can go up and the least that can go down."""
        return self._ends(beta, f)[:, :2]

    def biases(self, beta: Array, f: Array) -> Array:
        """Return b for each group: the mean of F over free variables, else the middle of its range.

        A variable is free strictly between its bounds.
        """
        result = np.empty(self.groups)
        for g, (low, high, mean) in enumerate(self._ends(beta, f)):
            known = [end for end in (low, high) if math.isfinite(end)]
            middle = sum(known) / len(known) if known else 0.0
            result[g] = middle if math.isnan(mean) else mean
        return result

    def certify(self, beta: Array, f: Array, biases: Array, **cost: Any) -> Certificate:
        """Judge β, given f = Kβ in float64 and the biases of the model."""
        sums = self.sums
        price, fault, outside, linear, quadratic, products = _fast.box_qp.judge(
            self.p, f, self.row, self.lo, self.hi, beta, self.group, biases, sums
        )
        violation = 0.0
        for top, bottom, _ in self._ends(beta, f):
            violation = max(violation, top - bottom)
        return Certificate(
            problem=self.name,
            primal=quadratic / 2 + price + float(biases @ sums),
            dual=linear - quadratic / 2,
            stationarity=violation,
            primal_feasibility=fault,
            dual_feasibility=outside,
            complementarity=products,
            **cost,
        )

    def _ends(self, beta: Array, f: Array) -> Array:
        return _fast.box_qp.ends(
            self.p, f, self.row, self.lo, self.hi, beta, self.group, self.groups
        )


def classifier(signs: Array, C: Array) -> BoxQP:
    """C-SVC: min ½‖w‖² + Σ Cᵢ ξᵢ, yᵢ(f(xᵢ) + b) ≥ 1 − ξᵢ, ξ ≥ 0; ``signs`` are ±1."""
    n = len(signs)
    signed = signs * C
    return BoxQP(
        "C-SVC",
        signs.astype(np.float64),
        np.minimum(0.0, signed),
        np.maximum(0.0, signed),
        np.zeros(n),
        np.arange(n),
        np.zeros(n, np.uint8),
    )


def regressor(targets: Array, C: Array, epsilon: float) -> BoxQP:
    """ε-SVR: min ½‖w‖² + Σ Cᵢ max(0, ∣yᵢ − f(xᵢ) − b∣ − ε)."""
    n = len(targets)
    zeros = np.zeros(n)
    return BoxQP(
        "ε-SVR",
        np.concatenate([targets - epsilon, targets + epsilon]),
        np.concatenate([zeros, -C]),
        np.concatenate([C, zeros]),
        np.zeros(2 * n),
        np.tile(np.arange(n), 2),
        np.zeros(2 * n, np.uint8),
    )


def one_class(weights: Array, nu: float) -> BoxQP:
    """One-class SVM: min ½‖w‖² + Σ wᵢ ξᵢ − ρ ν Σ wᵢ, f(xᵢ) ≥ ρ − ξᵢ, ξ ≥ 0."""
    n = len(weights)
    start = _fill(weights, nu * float(weights.sum()))
    return BoxQP(
        "one-class SVM",
        np.zeros(n),
        np.zeros(n),
        weights.astype(np.float64),
        start,
        np.arange(n),
        np.zeros(n, np.uint8),
    )


def nu_classifier(signs: Array, C: Array, nu: float) -> BoxQP:
    """ν-SVC: min ½‖w‖² − νρ ΣCᵢ/2 …, both classes carry the sum ν ΣCᵢ/2 of multipliers."""
    n = len(signs)
    total = nu * float(C.sum()) / 2
    positive = signs > 0
    start = np.zeros(n)
    start[positive] = _fill(C[positive], total)
    start[~positive] = -_fill(C[~positive], total)
    signed = signs * C
    return BoxQP(
        "ν-SVC",
        np.zeros(n),
        np.minimum(0.0, signed),
        np.maximum(0.0, signed),
        start,
        np.arange(n),
        np.where(positive, 0, 1).astype(np.uint8),
        2,
    )


def hulls(signs: Array) -> BoxQP:
    """Hard margin: the nearest points of the convex hulls of two classes; their distance is 2/‖w‖.

    The weights of each class add up to 1. Where the hulls meet no hyperplane separates them, and
    the weights of the common point are the proof.
    """
    n = len(signs)
    positive = signs > 0
    start = np.zeros(n)
    start[np.argmax(positive)] = 1.0
    start[np.argmax(~positive)] = -1.0
    return BoxQP(
        "hard-margin SVM",
        np.zeros(n),
        np.where(positive, 0.0, -1.0),
        np.where(positive, 1.0, 0.0),
        start,
        np.arange(n),
        np.where(positive, 0, 1).astype(np.uint8),
        2,
    )


def nu_regressor(targets: Array, C: Array, nu: float) -> BoxQP:
    """ν-SVR: the tube is as wide as it takes to have at most a share ν of the points outside."""
    n = len(targets)
    zeros = np.zeros(n)
    half = _fill(C, nu * float(C.sum()) / 2)
    return BoxQP(
        "ν-SVR",
        np.concatenate([targets, targets]),
        np.concatenate([zeros, -C]),
        np.concatenate([C, zeros]),
        np.concatenate([half, -half]),
        np.tile(np.arange(n), 2),
        np.repeat(np.array([0, 1], np.uint8), n),
        2,
    )


def _fill(room: Array, total: float) -> Array:
    """Fill the first variables up to their bounds until they hold ``total``."""
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return np.clip(total - before, 0.0, room)
