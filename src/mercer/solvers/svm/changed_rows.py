"""How many rows of a support vector machine may change before an answer does: a proven number.

Let (f, b) belong to multipliers β of the box [lo, hi] with Σ β = 0, let r = y − f − b be its
residuals, and let (g, c), with multipliers γ, be an optimum after the rows M were removed or
relabelled. Write δ = β − γ, d = f − g = Σ δᵢ φᵢ and Δ = d + b − c, φᵢ = k(xᵢ, ·).

1. Both sums are 0, so ‖d‖² = Σ δᵢ Δᵢ over all rows.
2. At a row j that did not change, γⱼ maximises z (rⱼ + Δⱼ) over its box. Compared with any
   z = βⱼ + ηⱼ of that box: −δⱼΔⱼ ≥ ηⱼΔⱼ − gapⱼ(βⱼ + ηⱼ), where gapⱼ(z) = max (z′ − z) rⱼ is no
   more than gapⱼ(βⱼ) + ∣ηⱼrⱼ∣.
3. Together ‖d‖² ≤ Σ_M δᵢΔᵢ − Σ ηⱼΔⱼ + cost. Let x be a row whose value is positive. For μ > 0 and
   any η with Σ ηⱼ = μ + Σ_M δᵢ, the biases cancel and

       μ Δ(x) ≤ ⟨d, v⟩ − ‖d‖² + cost ≤ ¼‖v‖² + cost,  v = μφ(x) + Σ_M δᵢφᵢ − Σ ηⱼφⱼ.

So every η gives a bound of how far the value at x can fall. Here η follows from weights ν of a few
anchors, rows whose multipliers have room on both sides: φ(x) and each φᵢ are approximated by
Σ νⱼφⱼ with Σ νⱼ = 1, which leaves small remainders ρ(x) and ρᵢ, and v = μρ(x) + Σ_M δᵢρᵢ. A row of
M that is an anchor itself takes ηᵢ to its δᵢ: that stays within twice its box (by Brouwer's theorem
there is such a δ). The worst M of m rows is bounded by sums of the m greatest terms.

β need not be the answer itself. Where multipliers are pulled a little to the middle of their box,
more rows have room, for a small gap: the bounds of several such β are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer import _fast
from mercer._typing import Array, BoolArray, IntArray
from mercer.problems.qp import BoxQP

_PULLS = (0.0, 0.03, 0.1)
"""Residuals at which a multiplier is pulled from its bound, in units of the margin. 0.3 was best
for 1 row in 100 of two tables."""
_SPREADS = (0.3, 3.0)
"""How much the weights of anchors cost beside the remainder: few anchors that are near, or many."""
_LEAST_ROOM = 0.02
"""The least room of an anchor as a share of its box; those with less would limit all."""
_TOL = 1e-4
"""Violation at which pulled multipliers are good enough: any feasible ones are sound."""
_STEPS_EACH = 50
"""Pair steps for each variable after which pulled multipliers are taken as they are."""
_FIRST_COUNT = 12
"""Changes that are looked at first; four times as many where all of them are proven harmless."""
_ROUNDING = 1e-10
"""Share of the sums behind a value that is left to rounding, some thousand times what it takes."""


def harmless_changes(
    problem: BoxQP,
    K: Array,
    cross: Array,
    own: Array,
    start: Array,
    values: Array,
    removed_only: bool,
) -> IntArray:
    """Return for each new row how many training rows may change, proven; −1 where not even none.

    ``cross`` has the kernel values of new rows (m × n), ``own`` their k(x, x), ``values`` the
    published decisions, whose signs are to stay. The matrix has to be positive semi-definite.
    """
    found = np.full(len(cross), -1, dtype=np.intp)
    for pull in _PULLS:
        base = _Base.near(problem, K, start, pull)
        if len(base.anchors) == 0:
            continue
        for spread in _SPREADS:
            bounds = _Remainders(base, K, cross, own, spread)
            found = np.maximum(found, bounds.harmless(values, removed_only))
    return found


@dataclass(frozen=True, eq=False)
class _Base:
    """Feasible multipliers with their residuals, their gap, and the rows that have room."""

    labels: Array
    beta: Array
    width: Array
    bias: float
    residuals: Array
    gap: float
    anchors: IntArray
    room: Array

    @classmethod
    def near(cls, problem: BoxQP, K: Array, start: Array, pull: float) -> _Base:
        """Return multipliers near the start, pulled to the middle of their boxes."""
        lo, hi = problem.lo, problem.hi
        beta, width = problem.feasible(start), hi - lo
        if pull > 0:
            stiffness = np.divide(2 * pull, width, out=np.zeros_like(width), where=width > 0)
            pulled = K + np.diag(stiffness)
            F = problem.p + stiffness * (lo + hi) / 2 - pulled @ beta
            _fast.without_rows.climb(pulled, F, lo, hi, beta, _TOL, _STEPS_EACH * len(beta))
            beta = problem.feasible(beta)
        F = problem.p - K @ beta
        up, down = hi - beta, beta - lo
        bias = _best_bias(F, up, down)
        r = F - bias
        gap = float(up @ np.maximum(r, 0.0) + down @ np.maximum(-r, 0.0))
        room = np.minimum(up, down)
        anchors = np.flatnonzero(room > _LEAST_ROOM * width)
        return cls(problem.p, beta, width, bias, r, gap, anchors, room[anchors])


def _best_bias(F: Array, up: Array, down: Array) -> float:
    """Return the b with the least gap Σ up (F − b)⁺ + down (b − F)⁺, a weighted quantile."""
    order = np.argsort(F)
    slope = np.cumsum((up + down)[order]) - up.sum()
    at = min(int(np.searchsorted(slope, 0.0)), len(F) - 1)
    return float(F[order[at]])


class _Remainders:
    """What anchors leave of each row, and the bounds that follow from it."""

    def __init__(self, base: _Base, K: Array, cross: Array, own: Array, spread: float) -> None:
        self.base = base
        Z = base.anchors
        among = K[np.ix_(Z, Z)]
        price = spread * float(np.mean(np.diagonal(K))) * (base.width[Z].max() / base.room) ** 2
        inverse = np.linalg.inv(among + np.diag(price))
        ones = inverse.sum(axis=1)

        def weights(k: Array) -> Array:
            nu: Array = k @ inverse
            return nu + np.outer((1.0 - nu.sum(axis=1)) / ones.sum(), ones)

        self.weights, self.new_weights = weights(K[:, Z]), weights(cross[:, Z])
        self.values = cross @ base.beta + base.bias
        self.noise = _ROUNDING * (
            np.abs(self.values)
            + np.sqrt(np.maximum(own, 0.0) * np.abs(np.diagonal(K)).max()) * np.abs(base.beta).sum()
        )
        side = K[:, Z] - self.weights @ among
        new_side = cross[:, Z] - self.new_weights @ among
        # ⟨ρᵢ, ρⱼ⟩ = k(xᵢ, xⱼ) − Σ νᵢk(·, xⱼ) − …, by the part that is left of each row of K.
        self._matrix, self._side = K, side
        self.new_products = cross - self.new_weights @ K[Z] - new_side @ self.weights.T
        squares = own - (self.new_weights * (cross[:, Z] + new_side)).sum(axis=1)
        # What rounding may hide counts as remainder, so that nothing is divided by 0.
        self.squares = np.maximum(squares, _ROUNDING * own + np.finfo(float).tiny)

    @cached_property
    def products(self) -> Array:
        """The ⟨ρᵢ, ρⱼ⟩ of training rows."""
        part: Array = self.weights @ self._matrix[self.base.anchors]
        part += self._side @ self.weights.T
        return np.subtract(self._matrix, part, out=part)

    def harmless(self, values: Array, removed_only: bool) -> IntArray:
        """Return how many changes leave the sign of each value, −1 where nothing is proven."""
        n = len(self.base.beta)
        most = min(_FIRST_COUNT, n)
        while True:
            found = self._harmless(values, removed_only, most)
            if most == n or found.max(initial=0) < most:
                return found
            most = min(4 * most, n)

    def _harmless(self, values: Array, removed_only: bool, most: int) -> IntArray:
        base = self.base
        sizes = self._largest_changes(removed_only)
        uses = _greatest_sums((sizes[:, None] * np.abs(self.weights)).T, most).T
        possible = int((uses < base.room).all(axis=1).sum())  # they grow from one m to the next
        most = possible - 1
        signs = np.sign(self.values)
        signed = base.labels * sizes
        alike: BoolArray = signs == np.sign(values)
        # The sums of the most harmful terms, for 0, 1, … changed rows.
        pushes = _greatest_sums(np.maximum(signs[:, None] * signed * self.new_products, 0.0), most)
        squares: Array = np.zeros(1)
        if most > 0:
            terms = np.outer(signed, signed) * self.products
            squares = _greatest_squares(np.maximum(terms, 0.0, out=terms), most)
        faults = np.abs(base.residuals[base.anchors])
        own_use = np.abs(self.new_weights)
        own_fault = own_use @ faults
        found = np.full(len(values), -1, dtype=np.intp)
        for m in range(most + 1):
            left = base.room - uses[m]
            cost = base.gap + float(uses[m] @ faults)
            far = squares[m] / 4 + cost
            with np.errstate(divide="ignore"):
                best = 2 * np.sqrt(far / self.squares)
                room = (left / own_use).min(axis=1)
            mu = np.maximum(np.minimum(best, room), np.finfo(float).tiny)
            falls = mu * self.squares / 4 + pushes[:, m] / 2 + far / mu + own_fault
            proven = alike & (falls + self.noise < np.abs(self.values))
            found[proven] = m
        return found

    def _largest_changes(self, removed_only: bool) -> Array:
        """Return the largest ∣δᵢ + ηᵢ∣ of each row: its multiplier leaves, or turns its sign."""
        base = self.base
        sizes = np.abs(base.beta)
        sizes[base.anchors] = base.width[base.anchors]
        return sizes if removed_only else sizes + base.width


def _greatest_sums(values: Array, most: int) -> Array:
    """Return for each row the sums of its 0, 1, … ``most`` greatest values."""
    if most == 0:
        return np.zeros((len(values), 1))
    count = values.shape[1]
    part = values if most >= count else np.partition(values, count - most, axis=1)[:, -most:]
    ordered = -np.sort(-part, axis=1)
    return np.hstack([np.zeros((len(values), 1)), np.cumsum(ordered, axis=1)])


def _greatest_squares(terms: Array, most: int) -> Array:
    """Return bounds of the sum of all terms among m rows, for m = 0, 1, … ``most``."""
    own = np.diagonal(terms).copy()
    np.fill_diagonal(terms, 0.0)
    others = _greatest_sums(terms, most)
    sums = [0.0]
    for m in range(1, most + 1):
        each = own + others[:, m - 1]
        sums.append(float(np.sort(each)[-m:].sum()))
    return np.array(sums)
