"""The quadratic problem behind the whole support-vector family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer import _fast
from mercer._typing import Array, Flags, Groups, IntArray
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import ROUNDING, Certificate


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

    @cached_property
    def sums(self) -> Array:
        """The fixed sum s_g of each group; not to be changed."""
        return np.bincount(self.group, self.start, self.groups).astype(np.float64)

    def coefficients(self, beta: Array, count: int) -> Array:
        """Return the coefficient of each of the ``count`` rows of K: the sum of its variables."""
        return np.bincount(self.row, beta, count).astype(np.float64, copy=False)

    def sums_error(self, beta: Array) -> float:
        """Return how far the sums of the groups are off, as a share of what they add up."""
        return _fast.box_parts.sums_error(beta, self.group, self.sums)

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

    def violation(self, beta: Array, f: Array) -> float:
        """Return by how much two variables of a group disagree at most; 0 where none can move."""
        gaps = [top - bottom for top, bottom, _ in self._ends(beta, f)]
        return max([0.0, *(float(gap) for gap in gaps if math.isfinite(gap))])

    def biases(self, beta: Array, f: Array) -> Array:
        """Return b for each group: the mean of F over free variables, else the middle of its range.

        A variable is free strictly between its bounds.
        """
        return _middles(self._ends(beta, f))

    def certify(
        self,
        value: Array,
        gram: GramMatrix,
        product: Array | None = None,
        biases: Array | None = None,
    ) -> Certificate:
        """Judge multipliers β on the rows of a matrix.

        ``product`` is K times their coefficients, in float64 at every row, where it is known.
        """
        if product is None:
            product = gram @ self.coefficients(value, gram.shape[0])
        return self.judge(value, product, biases)

    def judge(self, beta: Array, f: Array, biases: Array | None = None, **cost: Any) -> Certificate:
        """Judge β, given f = Kβ in float64, and the biases of the model where it has its own."""
        sums, parts = self.sums, (self.p, f, self.row, self.lo, self.hi, beta, self.group)
        middles, violation, numbers = _fast.box_qp.verdict(*parts, sums)
        if biases is None:
            biases = middles
        else:
            numbers = _fast.box_qp.judge(*parts, biases, sums)
        price, fault, outside, linear, quadratic, products = numbers
        # The dual value of multipliers that break a constraint bounds nothing.
        holds = outside <= ROUNDING or outside <= ROUNDING * float(np.abs(beta).sum())
        return Certificate(
            problem=self.name,
            primal=quadratic / 2 + price + float(biases @ sums),
            dual=linear - quadratic / 2 if holds else -math.inf,
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


def _middles(ends: Array) -> Array:
    return _fast.box_qp.middles(ends)


def classifier(signs: Array, C: Array) -> BoxQP:
    """C-SVC: min ½‖w‖² + Σ Cᵢ ξᵢ, yᵢ(f(xᵢ) + b) ≥ 1 − ξᵢ, ξ ≥ 0; ``signs`` are ±1."""
    signed = signs * C
    low, high = np.minimum(0.0, signed), np.maximum(0.0, signed)
    return _box("C-SVC", len(C), signs.astype(np.float64), low, high)


def regressor(targets: Array, C: Array, epsilon: float) -> BoxQP:
    """ε-SVR: min ½‖w‖² + Σ Cᵢ max(0, ∣yᵢ − f(xᵢ) − b∣ − ε)."""
    p, zeros = np.concatenate([targets - epsilon, targets + epsilon]), np.zeros(len(C))
    return _box("ε-SVR", len(C), p, np.concatenate([zeros, -C]), np.concatenate([C, zeros]))


def one_class(weights: Array, nu: float) -> BoxQP:
    """One-class SVM: min ½‖w‖² + Σ wᵢ ξᵢ − ρ ν Σ wᵢ, f(xᵢ) ≥ ρ − ξᵢ, ξ ≥ 0."""
    n, high = len(weights), weights.astype(np.float64)
    start = _fill(weights, nu * float(weights.sum()))
    return _box("one-class SVM", n, np.zeros(n), np.zeros(n), high, start)


def nu_classifier(signs: Array, C: Array, nu: float) -> BoxQP:
    """ν-SVC: min ½‖w‖² − νρ ΣCᵢ/2 …, both classes carry the sum ν ΣCᵢ/2 of multipliers."""
    n, total, positive = len(signs), nu * float(C.sum()) / 2, signs > 0
    start = np.zeros(n)
    start[positive] = _fill(C[positive], total)
    start[~positive] = -_fill(C[~positive], total)
    signed = signs * C
    low, high = np.minimum(0.0, signed), np.maximum(0.0, signed)
    return _box("ν-SVC", n, np.zeros(n), low, high, start, ~positive)


def hulls(signs: Array) -> BoxQP:
    """Hard margin: the nearest points of the convex hulls of two classes; their distance is 2/‖w‖.

    The weights of each class add up to 1. Where the hulls meet no hyperplane separates them, and
    the weights of the common point are the proof.
    """
    n, positive = len(signs), signs > 0
    start = np.zeros(n)
    start[np.argmax(positive)] = 1.0
    start[np.argmax(~positive)] = -1.0
    low, high = np.where(positive, 0.0, -1.0), np.where(positive, 1.0, 0.0)
    return _box("hard-margin SVM", n, np.zeros(n), low, high, start, ~positive)


def nu_regressor(targets: Array, C: Array, nu: float) -> BoxQP:
    """ν-SVR: the tube is as wide as it takes to have at most a share ν of the points outside."""
    n, zeros = len(targets), np.zeros(len(targets))
    half = _fill(C, nu * float(C.sum()) / 2)
    low, high = np.concatenate([zeros, -C]), np.concatenate([C, zeros])
    start, second = np.concatenate([half, -half]), np.repeat([False, True], n)
    return _box("ν-SVR", n, np.concatenate([targets, targets]), low, high, start, second)


def _box(
    name: str,
    rows: int,
    p: Array,
    lo: Array,
    hi: Array,
    start: Array | None = None,
    second: Flags | None = None,
) -> BoxQP:
    """Put variables on the rows in turn; those marked ``second`` are a group of their own."""
    m = len(p)
    start = np.zeros(m) if start is None else start
    group = np.zeros(m, np.uint8) if second is None else second.astype(np.uint8)
    row = np.arange(rows) if m == rows else np.tile(np.arange(rows), m // rows)
    return BoxQP(name, p, lo, hi, start, row, group, 1 if second is None else 2)


def _fill(room: Array, total: float) -> Array:
    """Fill the first variables up to their bounds until they hold ``total``."""
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return np.clip(total - before, 0.0, room)
