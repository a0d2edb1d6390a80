"""The quadratic problem behind the whole support-vector family."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer import _fast
from mercer._typing import Array, Flags, Groups, IntArray
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import ROUNDING, Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.products import BoundedProduct, Products


class Gap(NamedTuple):
    """A duality gap, the larger of the two values, and the size of the sums behind them."""

    gap: float
    scale: float
    terms: float

    def relative(self, rounding: float = 0.0) -> float:
        """Return the gap as a share of the values; 0 where rounding of that size explains it."""
        if self.gap <= max(_SUMS_ROUNDING * self.terms, rounding):
            return 0.0
        return self.gap / self.scale if self.gap < math.inf else math.inf


_SUMS_ROUNDING = 1e-14
"""What rounding leaves of a difference of sums in float64, as a share of what they add up."""


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

    has_bias: ClassVar[bool] = True
    """Whether there are sums, whose multipliers are biases."""

    def __len__(self) -> int:
        return len(self.p)

    @cached_property
    def sums(self) -> Array:
        """The fixed sum s_g of each group; not to be changed."""
        return np.bincount(self.group, self.start, self.groups).astype(np.float64)

    @cached_property
    def room(self) -> float:
        """The widths of all finite intervals together: residuals times these are a gap at most."""
        widths = self.hi - self.lo
        total = float(widths.sum())
        return total if math.isfinite(total) else float(widths[np.isfinite(widths)].sum())

    def coefficients(self, beta: Array, count: int) -> Array:
        """Return the coefficient of each of the ``count`` rows of K: the sum of its variables."""
        return np.bincount(self.row, beta, count).astype(np.float64, copy=False)

    def sums_error(self, beta: Array) -> float:
        """Return how far the sums of the groups are off, as a share of what they add up."""
        return _fast.box_qp.sums_error(beta, self.group, self.sums)

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

    def gap(self, beta: Array, f: Array, row: IntArray | None = None) -> Gap:
        """Return the gap of β, given f = Kβ at each row, or at each variable by its own ``row``.

        This is for solvers, which stop by it; no certificate is made of it.
        """
        at = self.row if row is None else row
        biases, _, judged = _fast.box_qp.verdict(
            self.p, f, at, self.lo, self.hi, beta, self.group, self.sums
        )
        price, fault, _, linear, quadratic, _ = judged
        constant = float(biases @ self.sums)
        primal, dual = quadratic / 2 + price + constant, linear - quadratic / 2
        terms = abs(price) + abs(linear) + abs(quadratic) + abs(constant)
        # A constraint without a price is none of the gap's business: tolerances bound its fault.
        gap = primal - dual if math.isfinite(primal - dual) else math.inf
        return Gap(gap if fault == 0.0 else 0.0, max(abs(primal), abs(dual)), terms)

    def relative_gap(self, beta: Array, f: Array, rounding: float) -> float:
        """Return the gap of β as a share, given f at each variable and what rounding did to it."""
        return self.gap(beta, f, np.arange(len(beta))).relative(rounding * self.room)

    def certify(
        self,
        value: Array,
        gram: GramMatrix,
        product: Array | None = None,
        biases: Array | None = None,
    ) -> Certificate:
        """Judge multipliers β on the rows of a matrix.

        ``product`` is K times their coefficients, in float64 at every row, where it is known: then
        its rounding and the curvature of the matrix are not looked at.
        """
        if product is not None:
            return self.judge(value, product, biases)
        n = gram.shape[0]
        found = Products(gram, self.coefficients(value, n)[:, None])
        return self.prove(value, found.part(np.arange(n), 0, self.row_groups(n)), biases)

    def row_groups(self, count: int) -> IntArray:
        """Return for each row a group in which the coefficients of all answers have the same sum.

        Where groups share rows, as in ν-SVR, their sums are those of all rows together.
        """
        if self.groups == 1 or len(self) > count:
            return np.zeros(count, np.intp)
        result = np.empty(count, np.intp)
        result[self.row] = self.group
        return result

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

    def prove(
        self, beta: Array, product: BoundedProduct, biases: Array | None = None
    ) -> Certificate:
        """Judge β by a product with bounds of its errors, so that the optimum is in the interval.

        Multipliers that rounding took out of a constraint are moved by Δ into it, where
        D(β + Δ) = D(β) + FᵀΔ − ½ΔᵀKΔ and ΔᵀKΔ ≤ (Σ ∣Δ∣ roots)²; those that are farther out have no
        dual value. Where K ⪰ −σI the primal value is a bound but for ½σ‖β − β*‖², which the box
        bounds.
        """
        judged = self.judge(beta, product.f, biases)
        if biases is None:
            biases = self.biases(beta, product.f)
        m, count = len(self), len(product.f)
        with np.errstate(invalid="ignore", over="ignore"):
            value, error = product.f[self.row], product.errors[self.row]
            rows, slopes, bias = self.coefficients(beta, count), self.p - value, biases[self.group]
            residual = slopes - bias
            bound = np.where(residual > 0, self.hi, self.lo)
            steep = np.maximum(np.abs(self.lo), np.abs(self.hi))
            soft = np.isfinite(steep)
            off = error + 4 * EPSILON * (np.abs(self.p) + np.abs(value) + np.abs(bias))
            squares = float(np.abs(rows) @ product.errors)
            squares += (count + 4) * EPSILON * float(np.abs(rows * product.f).sum())
            price = np.abs(bound * residual)[soft]
            constant = float(np.abs(biases * self.sums).sum())
            above = squares / 2 + float(steep[soft] @ off[soft])
            above += (m + 4) * EPSILON * (float(price.sum()) + constant)
            above += self._bend(product.curvature.shift, rows)
            # What a function costs more that keeps hard constraints is no rounding.
            hard = self._hardness(residual, off, float(rows @ product.f))
            inside = self.feasible(beta) if judged.dual_feasibility != 0 else beta
            change = inside - beta
            moved = float(np.abs(self.coefficients(change, count)) @ product.roots)
            square = moved * moved  # where a power would raise an error for what overflows
            shift = float(slopes @ change) - square / 2
            below = squares / 2 + float(np.abs(change) @ off)
            terms = np.abs(self.p * beta).sum() + np.abs(slopes * change).sum()
            below += (m + 4) * EPSILON * (float(terms) + square)
            below += self._drift(inside, slopes)
            linear = float(self.p @ beta)
        quadratic = float(rows @ product.f)
        return replace(
            judged,
            primal=judged.primal + hard,
            dual=linear - quadratic / 2 + shift if math.isfinite(judged.dual) else -math.inf,
            rounding=max(above, below) if above == above and below == below else math.inf,
            curvature=product.curvature.verdict,
        )

    def _bend(self, shift: float, rows: Array) -> float:
        """Return ½σ‖β − β*‖² for any other point β* of the box."""
        if shift == 0.0:
            return 0.0
        least = self.coefficients(self.lo, len(rows))
        most = self.coefficients(self.hi, len(rows))
        return shift / 2 * float((np.maximum(rows - least, most - rows) ** 2).sum())

    def _hardness(self, residual: Array, off: Array, square: float) -> float:
        """Return what a function costs more that keeps the constraints without a price.

        Where all constraints are yᵢ(f(xᵢ) + b) ≥ 1 and the worst is off by t, f/(1 − t) keeps them.
        """
        broken = np.where(np.isinf(self.hi), residual + off, -np.inf)
        broken = np.maximum(broken, np.where(np.isinf(self.lo), off - residual, -np.inf))
        worst = float(broken.max(initial=-np.inf))
        if worst <= 0 or not (np.abs(self.p) == 1).all():
            return 0.0
        return abs(square) / 2 * ((1 - worst) ** -2 - 1) if worst < 1 else math.inf

    def _drift(self, beta: Array, slopes: Array) -> float:
        """Return what the value of β may change by where its sums are made exact."""
        if not np.isfinite(beta).all():
            return math.inf
        cost = 0.0
        for g, total in enumerate(self.sums):
            mine = self.group == g
            off = abs(math.fsum([*beta[mine].tolist(), -float(total)]))
            cost += off * float(np.abs(slopes[mine]).max(initial=0.0))
        return cost

    def _ends(self, beta: Array, f: Array) -> Array:
        return _fast.box_qp.ends(
            self.p, f, self.row, self.lo, self.hi, beta, self.group, self.groups
        )


def rounding_of_sums(beta: Array, greatest: float) -> float:
    """Return what rounding may do to Kβ where no value of K is above ``greatest``."""
    return 2.0**-52 * greatest * float(np.abs(beta).sum())


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
