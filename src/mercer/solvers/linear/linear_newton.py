"""Newton's method for linear machines: exact, with multipliers, for many rows and few columns.

A proximal-point method in the dual,

    β ← argmax over lo ≤ β ≤ hi of  dual(β) − ½ Σ τᵢ(βᵢ − bᵢ)²,   then b ← β and τ falls,

whose every stage is a smooth primal problem in w: min ½‖w‖² + Σ loss(pᵢ + τᵢbᵢ − w·x̃ᵢ). The loss
is piecewise quadratic, so Newton's method with an exact line search ends after a few steps, each a
system of the size of w made of the rows that lie inside the window τ. Rows far from it cannot
change their multiplier: a stage works on the others and looks at all rows only to confirm.

X. Li, D. Sun and K.-C. Toh, A highly efficient semismooth Newton augmented Lagrangian method,
SIAM Journal on Optimization 28 (2018).
"""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.linalg.pcg import ConjugateSteps, conjugate_gradients, residual_above
from mercer.problems.linear import DesignRows, LinearAnswer, LinearProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status

Mask = np.ndarray[Any, np.dtype[np.bool_]]

FIRST_WINDOW, WINDOW_FACTOR, NARROWEST = 0.1, 0.1, 5
"""The first window in units of the residuals, how it falls, and how often."""

LEAST_CURVATURE, WIDE_CURVATURE = 1e-9, 1e-5
"""The least first τ, as a share of Σ‖x̃ᵢ‖²: it keeps the systems solvable when C is huge. With more
columns than rows most multipliers end far inside a box that C makes wide, whatever C is."""

MOST_STAGES, PATIENCE = 40, 3
"""Most stages, and how many in a row may bring nothing."""

MOST_ROUNDS, MOST_WAITED, POLISHING_STEPS, ROUNDING = 12, 100, 50, 1e-13
"""Limits of a stage: looks at all rows, steps without progress, steps of the last one, rounding."""

SMALL_SYSTEM = 100
"""Columns or rows up to which one more step costs next to nothing: a factor takes 50 µs."""

WEIGHT_DIGITS = 1e-4
"""The error of the weights that a stage may leave, as a share of them: the default of ``tol``."""

SAMPLE_SHARE, SAMPLE_TOLERANCE = 16, 0.02
"""The start comes from every 16th row, if those are many, solved roughly."""

CONJUGATE_STEPS = 200
"""Most steps of conjugate gradients on a system that is too large to be factored."""

FEW_CONJUGATE_STEPS, STEP_COST = 25, 40_000
"""Steps of conjugate gradients after which sparse systems are factored after all, and what one of
them costs beside its products, in products of numbers: 20 µs."""

_ROUGH_SYSTEM = 1e-2
"""How far down conjugate gradients bring the residual: Newton's line search forgives the rest."""

_BLOCK_BYTES = 1 << 20
"""Rows that are multiplied at a time: about the size of an L2 cache."""

SHORT_WORK = 1 << 33
"""Products of numbers in a system up to which two threads of BLAS wait for each other longer than
they work: 865 × 168 to 6,800 × 740 numbers took two to six times as long with both."""


Found = Outcome[LinearAnswer]
"""Where a stage stands, and how many steps led there."""


@dataclass(frozen=True)
class LinearNewton(FeatureSolver[LinearProblem, LinearAnswer]):
    """Bring the violation of the optimality conditions and the relative gap below ``tol``.

    Parameters
    ----------
    seed : int
        Draws the rows of a first sample.
    least_sample : int
        The fewest rows of a sample that are worth it.
    largest_system : int
        Rows or columns of the largest system that is factored.
    """

    seed: int
    least_sample: int = 4_000
    largest_system: int = 2_000

    def run(
        self, problem: LinearProblem, gram: GramMatrix, budget: Budget, start: LinearAnswer | None
    ) -> Outcome[LinearAnswer]:
        rows = problem.rows(gram)
        short = rows.entries * rows.columns <= SHORT_WORK
        with _parallel.one_blas_thread() if short else nullcontext():
            if start is None:
                first = self._from_sample(rows, problem, budget)
            else:
                first = Outcome(start, Status.MAX_ITER)
            # The last stage gains digits at little cost.
            return _WindowStages(rows, problem, budget, first, True, self.largest_system).solve()

    def _from_sample(self, rows: DesignRows, problem: LinearProblem, budget: Budget) -> Found:
        """Start from the answer on a sample of rows, whose losses weigh more to make up for it."""
        n = len(rows)
        m = n // SAMPLE_SHARE
        if m < max(self.least_sample, 10 * rows.columns):
            return Outcome(LinearAnswer(np.zeros(rows.columns), np.zeros(n)), Status.MAX_ITER)
        some = np.sort(np.random.RandomState(self.seed).permutation(n)[:m])
        share = n / m
        lo, hi, D = problem.lo[some] * share, problem.hi[some] * share, problem.D[some] / share
        sample = replace(problem, p=problem.p[some], lo=lo, hi=hi, D=D)
        part = rows.take(some)
        rough = budget.but(tol=SAMPLE_TOLERANCE * float(np.abs(sample.p).mean()))
        first = self._from_sample(part, sample, rough)
        found = _WindowStages(part, sample, rough, first, False, self.largest_system).solve()
        return replace(found, value=LinearAnswer(found.value.w, np.zeros(n)))


class _WindowStages:
    """One solve: stages of falling windows, each brought to its optimum."""

    def __init__(
        self,
        rows: DesignRows,
        problem: LinearProblem,
        budget: Budget,
        start: Found,
        polish: bool,
        largest_system: int,
    ) -> None:
        self.rows, self.problem, self.budget, self.tol = rows, problem, budget, budget.tol
        self.max_iter = budget.max_iter if budget.max_iter >= 0 else sys.maxsize
        (self.w, self.centre), self.steps = start.value, start.iterations
        norms = rows.squared_norms()
        self.longest = float(np.sqrt(norms.max())) or 1.0
        self.total_norm = float(norms.sum())
        self.polish, self.largest_system = polish, largest_system
        # Only squared losses have systems whose condition does not grow from stage to stage.
        self.iterative = sparse.issparse(rows.X) and bool(problem.D.all())
        finite = np.isfinite(problem.hi - problem.lo)
        self.width = np.where(finite, problem.hi, 1.0) - np.where(finite, problem.lo, 0.0)
        self.beta = np.empty(len(rows))
        self.residual = problem.p - rows.dot(self.w)
        self.scale = float(np.abs(self.residual).mean()) or 1.0
        self.narrowed = 0
        # How far residuals may still move; unknown before the first answer.
        self.reach = 2 * FIRST_WINDOW * self.scale if start.iterations else np.inf

    def solve(self) -> Found:
        best, status = LinearAnswer(self.w, self.centre), Status.STALLED
        least, waited = np.inf, 0
        for _ in range(MOST_STAGES):
            self._stage()
            violation = self.problem.violation(self.residual, self.beta)
            share = self._gap()
            if violation <= self.tol and share <= self.tol:
                return self._polished(violation, share)
            waited += 1
            if violation + share < least:
                least, waited = violation + share, 0
                best = LinearAnswer(self.w, self.beta.copy())
            stopped = self.budget.stop(violation, self.steps)
            if stopped is not None:
                status = stopped
                break
            if waited >= PATIENCE and self._settled():
                break
            self._narrow(violation)
        return Outcome(best, status, self.steps)

    def _narrow(self, violation: float) -> None:
        """Centre the next stage on these multipliers, with a smaller window."""
        self.centre = self.beta.copy()
        self.reach = 2 * violation
        self.narrowed += 1

    def _polished(self, violation: float, share: float) -> Found:
        """Add one stage, which costs little once the free rows are known and gains many digits."""
        found, steps = LinearAnswer(self.w, self.beta.copy()), self.steps
        squared = self.problem.D.max() > 0
        if violation > 0 and self.polish and (not squared or self._is_small()):
            if squared:
                self._last_step()
            else:
                self.max_iter = self.steps + POLISHING_STEPS
                self._narrow(violation)
                self._stage()
            after = self.problem.violation(self.residual, self.beta)
            if after < violation and self._gap() <= share:
                found = LinearAnswer(self.w, self.beta)
        seen = share <= self.budget.gap < math.inf
        return Outcome(found, Status.OPTIMAL, steps, gap_seen=seen)

    def _is_small(self) -> bool:
        return min(len(self.rows), self.rows.columns) <= SMALL_SYSTEM

    def _last_step(self) -> None:
        """Take one more step on the squares of rows that have a loss, which ends at rounding."""
        problem, self.max_iter = self.problem, self.steps + 1
        gain = 1 / problem.D
        self._minimise(self.residual, gain, self.rows.combine(self.beta), np.inf, 0.0)
        self.residual = problem.p - self.rows.dot(self.w)
        _fast.piecewise.respond(
            self.residual, gain, problem.lo, problem.hi, problem.epsilon, self.beta
        )

    def _smoothing(self) -> tuple[float, float]:
        """Return the window in units of the residual, and the least τ that keeps systems solvable.

        The second governs while C is so large that a window would hardly smooth at all.
        """
        window = FIRST_WINDOW * self.scale * WINDOW_FACTOR ** min(self.narrowed, NARROWEST)
        wide = self.rows.columns > len(self.rows) and not self.problem.D.any()
        least = WIDE_CURVATURE if wide else LEAST_CURVATURE
        return window, least * self.total_norm * WINDOW_FACTOR**self.narrowed

    def _settled(self) -> bool:
        """Tell whether the next stages are no sharper than the last one."""
        window, least = self._smoothing()
        sharp = np.where(self.problem.D > 0, self.problem.D, window / self.width)
        return self.narrowed > NARROWEST and bool(least < sharp.min())

    def _stage(self) -> None:
        """Minimise the smooth problem of this window."""
        problem = self.problem
        window, least = self._smoothing()
        tau = np.where(
            problem.D > 0,
            np.where(least > problem.D, least, 0.0),
            np.maximum(window / self.width, least),
        )
        shift, gain = tau * self.centre, 1 / (problem.D + tau)
        reach, reached = self.reach, True
        for _ in range(MOST_ROUNDS + 1):
            x = self.residual + shift
            _fast.piecewise.respond(x, gain, problem.lo, problem.hi, problem.epsilon, self.beta)
            total = self.rows.combine(self.beta)
            accuracy = 0.1 * max(self.tol, 0.1 * window) / self.longest
            # Weights that are small, as with a tiny C, need as many digits as large ones.
            accuracy = min(accuracy, WEIGHT_DIGITS * float(np.linalg.norm(total)))
            error = float(np.linalg.norm(self.w - total))
            if error <= accuracy or not reached or self.steps >= self.max_iter:
                break
            _parallel.check_stopped()
            taken = self.steps
            reached = self._minimise(x, gain, total, reach, 0.3 * accuracy)
            self.residual = problem.p - self.rows.dot(self.w)
            reached = reached and self.steps > taken
            reach = 4 * reach

    def _minimise(self, x: Array, gain: Array, total: Array, reach: float, accuracy: float) -> bool:
        """Take Newton steps on the rows that can change while residuals move by ``reach``.

        Returns whether the gradient came down to ``accuracy``, or else to rounding.
        """
        problem, rows, beta = self.problem, self.rows, self.beta
        lo, hi, epsilon = problem.lo, problem.hi, problem.epsilon
        fixed = np.zeros_like(self.w)
        some = np.flatnonzero(_changeable(x, gain, lo, hi, epsilon, reach))
        if len(some) < 0.7 * len(x):
            rows, x, gain, lo, hi = rows.take(some), x[some], gain[some], lo[some], hi[some]
            beta = beta[some]
            fixed = total - rows.combine(beta)
        w = self.w
        least, waited, reached = np.inf, 0, False
        while self.steps < self.max_iter and waited < MOST_WAITED:
            _fast.piecewise.respond(x, gain, lo, hi, epsilon, beta)
            gradient = w - fixed - rows.combine(beta)
            inside = (beta > lo) & (beta < hi)
            if epsilon > 0:
                inside &= beta != 0
            active = np.flatnonzero(inside)
            reached = float(np.linalg.norm(gradient)) <= accuracy
            if reached:
                break
            s = -self._direction(rows, active, gain[active], gradient)
            u = rows.dot(s)
            linear, quadratic = float((w - fixed) @ s), float(s @ s)
            t = _fast.piecewise.line_search(x, u, gain, lo, hi, epsilon, linear, quadratic)
            w = w + t * s
            x = x - t * u
            self.steps += 1
            still = t * float(np.abs(u).max(initial=0.0)) <= ROUNDING * self.scale
            if still and t * quadratic**0.5 <= ROUNDING * float(np.linalg.norm(w)):
                break
            decrement = -float(gradient @ s)
            waited = 0 if decrement < 0.9 * least else waited + 1
            least = min(least, decrement)
        self.w = w
        return reached

    def _direction(self, rows: DesignRows, active: IntArray, gain: Array, gradient: Array) -> Array:
        """Return the Newton step, of sparse rows by conjugate gradients while these are quick."""
        if self.iterative and len(active):
            share = rows.entries * len(active) // len(rows)
            factoring = min(len(active), rows.columns) ** 3 // 3
            if FEW_CONJUGATE_STEPS * (4 * share + STEP_COST) < factoring:
                part = rows.take(active)
                steps = _conjugate_step(part, gain, gradient, FEW_CONJUGATE_STEPS)
                if steps.status == "optimal":
                    return steps.x
                self.iterative = False  # the next systems are no better than this one
        return _newton_step(rows, active, gain, gradient, self.largest_system)

    def _gap(self) -> float:
        """Return primal minus dual value as a share of the primal."""
        problem = self.problem
        total = self.rows.combine(self.beta)
        primal = float(self.w @ self.w) / 2 + float(problem.losses(self.residual).sum())
        gap = primal - problem.gain(self.beta) + float(total @ total) / 2
        return gap / primal if primal > 0 else gap


def _changeable(x: Array, gain: Array, lo: Array, hi: Array, epsilon: float, reach: float) -> Mask:
    """Tell which residuals come, within ``reach``, to where their multiplier is not constant."""
    if not np.isfinite(reach):
        return np.ones(len(x), bool)
    near = (x + reach > lo / gain - epsilon) & (x - reach < hi / gain + epsilon)
    if epsilon > 0:
        near &= np.abs(x) > epsilon - reach
    return near


def _newton_step(
    rows: DesignRows, active: IntArray, gain: Array, gradient: Array, largest: int
) -> Array:
    """Solve (I + BᵀB) s = g, where B holds the active rows times the roots of their gains."""
    m, d = len(active), rows.columns
    if m == 0:
        return gradient
    if d <= min(m, largest):
        factor = _factor(_weighted_gram(rows, active, gain))
        return _solve(factor, gradient)
    part, root = rows.take(active), np.sqrt(gain)
    if m > largest:
        return _conjugate_step(part, gain, gradient, CONJUGATE_STEPS).x
    thin = sparse.issparse(part.X)
    scaled = part.X.multiply(root[:, None]).tocsr() if thin else part.X * root[:, None]
    outer = scaled @ scaled.T
    K = outer.toarray() if thin else outer
    K += part.constant**2 * np.outer(root, root)
    factor = _factor(K)

    def inverse(g: Array) -> Array:
        inner = _solve(factor, root * part.dot(g))
        return np.asarray(g - part.combine(root * inner))

    s = inverse(gradient)
    return s + inverse(gradient - s - part.combine(gain * part.dot(s)))


def _conjugate_step(part: DesignRows, gain: Array, gradient: Array, most: int) -> ConjugateSteps:
    """Solve the same system without forming it, to a hundredth: that will do for a direction."""
    return conjugate_gradients(
        lambda p: p + part.combine(gain * part.dot(p)),
        gradient,
        going=residual_above(_ROUGH_SYSTEM, gradient),
        max_iter=most,
    )


def _weighted_gram(rows: DesignRows, active: IntArray, gain: Array) -> Array:
    """Return Σ gainᵢ x̃ᵢx̃ᵢᵀ over the active rows, a cache-sized block at a time."""
    X, d = rows.X, rows.X.shape[1]
    H = np.zeros((rows.columns, rows.columns))
    if sparse.issparse(X):
        part = X[active]
        H[:d, :d] = (part.T @ part.multiply(gain[:, None])).toarray()
        H[:d, d:] = rows.constant * (part.T @ gain)[:, None]
        H[d:, :d] = H[:d, d:].T
        H[d:, d:] = rows.constant**2 * gain.sum()
        return H
    block = max(64, _BLOCK_BYTES // (8 * rows.columns))
    root = np.sqrt(gain)[:, None]
    B = np.empty((min(block, len(active)), rows.columns))
    for start in range(0, len(active), block):
        some = active[start : start + block]
        part = B[: len(some)]
        np.multiply(X[some], root[start : start + block], out=part[:, :d])
        part[:, d:] = rows.constant * root[start : start + block]
        H += part.T @ part
    return H


def _factor(H: Array) -> Array:
    """Factor I + H, adding as little to the diagonal as rounding needs."""
    more = 0.0
    while True:
        M = H.copy()
        diagonal = np.einsum("ii->i", M)
        diagonal += 1 + more * diagonal
        factor, failed = dpotrf(M.T, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
        more = max(10 * more, 1e-15)


def _solve(factor: Array, b: Array) -> Array:
    """Solve the system of a factor."""
    return np.asarray(dpotrs(factor, b)[0])
