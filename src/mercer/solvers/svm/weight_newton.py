"""Newton's method for the weights of kernels, around the solver of support vector machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._typing import Array, IntArray
from mercer.gram.base import Definite, GramMatrix
from mercer.gram.given import GivenGram
from mercer.gram.sums import factor_of, weighted_terms
from mercer.problems.multiple_kernels import MultipleKernelProblem, WeightedMultipliers
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.weight_model import least_weights

_FIRST_GAP = 1e-3
"""The relative gap of the first machine: enough to see which kernels matter."""
_SHARE_OF_GAP = 0.1
"""The relative gap of a machine as a share of the square of that of the joint problem: an answer
that is off by ε in its value is off by √ε in its multipliers, and so are the q."""
_NEAR = 0.1
"""The joint gap from which on machines are solved more exactly where it does not fall."""
_LEAST_GAP = 1e-13
"""The least gap that is asked of a machine: rounding of its sums."""
_TOL = 1e-3
"""The violation at which a machine is looked at first, at most; its gap says whether it goes on."""
_SHORTEST, _SHORTER = 0.02, 0.3
"""Newton's step is cut by the second number until the first, then another kind is taken."""
_DECREASE = 1e-4
"""The share of the promised decrease that a step has to bring, as is usual (Armijo)."""
_AT_FLOOR = 1.5
"""Weights up to so many times the floor of the last step were kept for the multipliers alone."""
_PATIENCE = 12
"""Steps without progress after which no step will bring any: 2 to 12 are usual for all."""
_PROGRESS = 0.1
"""Progress is a gap of half the size, or a fall of J by this share of the gap that is wanted."""
_FREE = 1e-9
"""How far from its bounds a multiplier is free, as a share of its interval."""
_JITTERS = (1e-12, 1e-9, 1e-6)
"""What is added to a singular matrix of free rows until it has a factor, as shares of its mean
diagonal."""
_FLOOR = 0.05
"""The least weight of a kernel that was missed, as a share of an equal weight and of the least gap
so far: the best answer with such weights has at most this share of that gap."""


@dataclass(frozen=True, eq=False)
class _WeightPoint:
    """Weights, the machines for them, and what both come to."""

    weights: Array
    multipliers: Sequence[Array]
    K: Array
    F: Array
    """K_mβ_j, an array of shape (kernels, rows, parts)."""
    q: Array
    primal: float
    dual: float
    value: float
    bound: float
    """A lower and an upper bound of the optimum with these weights: the machines' own values."""
    status: Status = Status.OPTIMAL
    nonconvex: bool = False

    @property
    def gap(self) -> float:
        """The relative gap of the joint problem."""
        scale = max(abs(self.primal), abs(self.dual))
        gap = self.primal - self.dual
        return gap / scale if scale > 0 and math.isfinite(gap) else abs(gap)


@dataclass(frozen=True)
class WeightNewton(Solver[MultipleKernelProblem, WeightedMultipliers]):
    r"""Newton's steps on J(d), the optimum of the machines with the kernel Σ d_m K_m.

    J is convex, ∂J/∂d_m = −½q_m, and as long as the same multipliers F are free its second
    derivatives are ∂²J/∂d_l∂d_m = (K_lβ)_Fᵀ P (K_mβ)_F, where P is the inverse of K_FF on vectors
    whose sums are 0. Each step is the minimum of this model on the ball of the weights, cut where J
    falls too little. Where even short steps fail, d_m ∝ (d_m²q_m)^{1/(p+1)} is taken, which never
    makes the joint objective worse.

    Where the kernels that are left have few features the multipliers are not unique, and those that
    are found may say nothing true of the others: a kernel that was left out and has q_m > Σ d_l q_l
    keeps a small weight from then on, which shrinks with the gap, and is tried without in the end.
    Machines start from the last
    multipliers and are solved only as exactly as the joint gap asks for; steps end by that gap.

    Terms are held in the precision that they have, as matrices or as factors, their sum in float64.
    With float32 gaps below some 10⁻⁵ are out of reach.

    References
    ----------
    O. Chapelle and A. Rakotomamonjy, Second order optimization of kernel parameters, NIPS workshop
    on kernel learning (2008); M. Kloft et al., ℓp-norm multiple kernel learning, JMLR 12 (2011).
    """

    shrinking: bool = True

    def run(
        self,
        problem: MultipleKernelProblem,
        gram: GramMatrix,
        budget: Budget,
        start: WeightedMultipliers | None,
    ) -> Outcome[WeightedMultipliers]:
        terms = [
            term if factor_of(term) is not None else GivenGram(term.dense(), term.definite)
            for term in gram.terms()
        ]
        return _WeightSearch(self, problem, terms, gram.definite, budget).run(start)


class _WeightSearch:
    """One run: the problem, its matrices and the limits."""

    def __init__(
        self,
        solver: WeightNewton,
        problem: MultipleKernelProblem,
        terms: Sequence[GramMatrix],
        definite: Definite,
        budget: Budget,
    ) -> None:
        self.problem, self.terms, self.budget = problem, terms, budget
        self.definite = definite
        self.solver = BoxQPSolver(solver.shrinking)
        self.n = terms[0].shape[0]
        self.inner = _FIRST_GAP
        self.least = math.inf
        """The least joint gap so far."""
        self.missed = np.zeros(len(terms), np.bool_)
        """The kernels that were left out and are wanted back."""
        self.floor: Array = np.zeros(len(terms))
        """The least weights of the last step."""
        self._summed: tuple[Array, Array] | None = None
        """The last weights and their sum."""

    def run(self, start: WeightedMultipliers | None) -> Outcome[WeightedMultipliers]:
        begin = start or WeightedMultipliers(
            self.problem.equal_weights(len(self.terms)),
            [part.start for _, part in self.problem.parts],
        )
        point = self._at(begin.weights, begin.multipliers, self._sum(begin.weights))
        best, steps, idle, wanted = point, 0, 0, min(self.budget.tol, self.budget.gap)
        lowest = math.inf
        while True:
            if point.gap <= wanted:
                return self._outcome(self._pruned(point, wanted), Status.OPTIMAL, steps)
            stop = self.budget.stop(point.gap, steps)
            if point.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
                stop = stop or point.status
            if stop is not None:
                return self._outcome(best, stop, steps)
            if idle > _PATIENCE:
                return self._outcome(best, Status.STALLED, steps)
            point = (
                self._machines(begin.weights, begin.multipliers) if not steps else self._next(point)
            )
            steps += 1
            self.missed |= (point.weights == 0) & (point.q > float(point.weights @ point.q))
            better = point.gap < best.gap / 2
            if not better and point.gap < _NEAR:
                self.inner /= 10  # errors of the machines may be what is left of the gap
            falls = point.value < lowest - _PROGRESS * wanted * abs(point.value)
            idle, lowest = 0 if better or falls else idle + 1, min(lowest, point.value)
            best = point if point.gap < best.gap else best
            self.least = best.gap
            self.inner = max(min(self.inner, _SHARE_OF_GAP * point.gap**2), _LEAST_GAP)

    def _next(self, point: _WeightPoint) -> _WeightPoint:
        """Return a point with a smaller optimum of the machines."""
        d, gradient, problem = point.weights, -point.q / 2, self.problem
        floor = self.floor = self._floor()
        # Weights above the floor: d = floor + rest·x with x on the ball.
        rest = 1 - float(np.linalg.norm(floor, problem.p))
        if (d < floor).any():
            return self._machines(problem.on_sphere(floor + rest * d), point.multipliers)
        x = least_weights(
            rest * gradient, rest**2 * self._hessian(point), (d - floor) / rest, problem.p
        )
        aim = problem.on_sphere(floor + rest * x)
        promised, t = float(gradient @ (aim - d)), 1.0
        while t > _SHORTEST:
            found = self._machines(problem.on_sphere(d + t * (aim - d)), point.multipliers)
            stopped = found.status in (Status.INTERRUPTED, Status.TIME_LIMIT)
            if stopped or found.value <= point.bound + _DECREASE * t * promised:
                return found
            t *= _SHORTER
        sizes = np.maximum((d**2 * point.q) ** (1 / (problem.p + 1)), floor)
        return self._machines(problem.on_sphere(sizes), point.multipliers) if sizes.any() else point

    def _floor(self) -> Array:
        """Return the least weight of each kernel: above 0 for those that were missed."""
        equal = self.problem.equal_weights(len(self.terms))
        return np.where(self.missed, _FLOOR * min(self.least, 1.0) * equal, 0.0)

    def _pruned(self, point: _WeightPoint, wanted: float) -> _WeightPoint:
        """Return the answer without small weights that were kept, where it is as good."""
        small = (point.weights > 0) & (point.weights <= _AT_FLOOR * self.floor)
        if not small.any():
            return point
        weights = self.problem.on_sphere(np.where(small, 0.0, point.weights))
        found = self._machines(weights, point.multipliers)
        return found if found.gap <= wanted else point

    def _machines(self, weights: Array, start: Sequence[Array]) -> _WeightPoint:
        """Solve the machines for some weights."""
        K = self._sum(weights)
        budget = self.budget.but(tol=min(_TOL, self.budget.tol), gap=self.inner, max_iter=-1)
        begins = [part.feasible(b) for (_, part), b in zip(self.problem.parts, start, strict=True)]
        found = self.solver.solve_all(
            self.problem.parts, GivenGram(K, self.definite), budget, begins
        )
        early = [each.status for each in found if each.status is not Status.OPTIMAL]
        return self._at(
            weights,
            [each.value for each in found],
            K,
            early[0] if early else Status.OPTIMAL,
            any(each.statistics.details.get("nonconvex") for each in found),
        )

    def _at(
        self,
        weights: Array,
        multipliers: Sequence[Array],
        K: Array,
        status: Status = Status.OPTIMAL,
        nonconvex: bool = False,
    ) -> _WeightPoint:
        """Return what weights and multipliers come to."""
        problem = self.problem
        B = problem.columns(multipliers, self.n)
        F = self._products(B)
        q = np.maximum(np.einsum("nj,mnj->m", B, F), 0.0)
        f = np.tensordot(weights, F, 1)
        judged = [
            part.judge(beta, f[rows, j])
            for j, ((rows, part), beta) in enumerate(zip(problem.parts, multipliers, strict=True))
        ]
        bound, value = sum(each.primal for each in judged), sum(each.dual for each in judged)
        at_weights = float(weights @ q)
        primal = bound + (problem.block_norm(weights, q) - at_weights) / 2
        dual = value + (at_weights - problem.dual_norm(q)) / 2
        return _WeightPoint(
            weights, multipliers, K, F, q, primal, dual, value, bound, status, nonconvex
        )

    def _products(self, B: Array) -> Array:
        """Return K_m B, in the precision of the matrices."""
        if not B.any():
            return np.zeros((len(self.terms), *B.shape))
        return np.array(
            [term.multiply(B.astype(term.dtype, copy=False)) for term in self.terms],
            dtype=np.float64,
        )

    def _sum(self, weights: Array) -> Array:
        """Return Σ d_m K_m."""
        if self._summed is not None and self._summed[0] is weights:
            return self._summed[1]
        total = weighted_terms(self.terms, weights)
        self._summed = weights, total
        return total

    def _hessian(self, point: _WeightPoint) -> Array:
        """Return the second derivatives of J, positive semi-definite."""
        count = len(self.terms)
        H = np.zeros((count, count))
        for j, (rows, part) in enumerate(self.problem.parts):
            H += _bend(part, point.multipliers[j], rows, point.K, point.F[:, :, j])
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        least = np.finfo(np.float64).eps * max(float(values[-1]), np.finfo(np.float64).tiny)
        return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)

    def _outcome(
        self, point: _WeightPoint, status: Status, steps: int
    ) -> Outcome[WeightedMultipliers]:
        return Outcome(
            WeightedMultipliers(point.weights, point.multipliers),
            status,
            steps,
            np.tensordot(point.weights, point.F, 1),
            {"nonconvex": point.nonconvex},
            gap_seen=self.budget.gap < math.inf,
        )


def _bend(part: BoxQP, beta: Array, rows: IntArray, K: Array, F: Array) -> Array:
    """Return (K_lβ)_Fᵀ P (K_mβ)_F of one part; F are the products at all rows."""
    count, width = len(F), part.hi - part.lo
    free = np.minimum(part.hi - beta, beta - part.lo) > _FREE * width
    places, first = np.unique(part.row[free], return_index=True)
    if not len(places):
        return np.zeros((count, count))
    at = rows[places]
    groups = part.group[free][first]
    members = (groups[:, None] == np.unique(groups)).astype(np.float64)
    A = K[np.ix_(at, at)]
    G = F[:, at]
    right = np.column_stack([G.T, members])
    size = float(np.abs(np.diagonal(A)).mean())
    for jitter in _JITTERS:
        try:
            factor = cho_factor(A + jitter * size * np.eye(len(at)), overwrite_a=True)
        except np.linalg.LinAlgError:
            continue
        break
    else:
        return np.zeros((count, count))  # the step is that of the gradient
    solved = cho_solve(factor, right)
    # What the multipliers of the sums take away: the Schur complement of the bordered system.
    T = right.T @ solved
    across = T[:count, count:]
    return np.asarray(T[:count, :count] - across @ np.linalg.pinv(T[count:, count:]) @ across.T)
