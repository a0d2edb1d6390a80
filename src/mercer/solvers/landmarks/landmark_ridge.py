"""Kernel ridge regression on landmarks by preconditioned conjugate gradients.

The system is (ΦᵀWΦ + λP)v = ΦᵀWy, where Φ is known only by passes over its rows. The preconditioner
is the same matrix, estimated from a part of the rows: where landmarks are rows drawn blindly and
the part is the landmarks themselves, this is Falkon. A small system is formed from all rows in
float64; then the first step is the answer, and the rest makes sure of it. Products are taken in
float32 until they gain nothing any more; residuals in float64 correct what they miss.

References
----------
Rudi, Carratino and Rosasco, Falkon: an optimal large scale kernel method, NIPS 2017.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.landmarks.passes import PassSums
from mercer.linalg.pcg import ConjugateSteps, Mask, column_products, conjugate_gradients
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_squares import (
    LandmarkFunctions,
    LandmarkRidge,
    RidgeCurve,
    RidgeErrors,
    RidgeWeights,
    landmarks_of,
)
from mercer.solvers.base import Budget, Outcome, Solution, Solver, Statistics, Status
from mercer.solvers.landmarks.landmark_preconditioner import (
    LandmarkPreconditioner,
    penalty_diagonal,
    small_algebra,
    worthwhile_share,
)

_DIRECT = 1 << 29
"""Multiplications of ΦᵀWΦ, n·M², up to which all of it in float64 took less time than
the passes of conjugate gradients when measured; at twice as many there was no difference."""
_INNER = 1e-3
"""How far one series of steps in float32 brings the error down before the residual is refreshed."""
_MOST_ROUNDS = 30
"""Refreshes of the residual; a few are enough, so that more of them mean that nothing converges."""
_ARRIVED = 1e-6
"""Relative error at which stagnation is success: the relative gap is about its square."""
_PATIENCE = 8
"""Steps in float32 within which an error has to fall by a third; else float64 takes over."""


@dataclass(frozen=True, eq=False)
class LandmarkConjugateGradients(Solver[LandmarkRidge, LandmarkFunctions]):
    """Solves for all targets side by side, until the error in the norm of the system is below tol.

    The error is relative to the answer's own size, and the gap is about its square. ``max_iter``
    counts passes. A start is not used: the size of the answer is seen from 0 alone.

    Parameters
    ----------
    normal_matrix : array, optional
        What :func:`normal_matrix` gave for this λ or a smaller one.
    """

    normal_matrix: Array | None = None

    needs_landmarks: ClassVar[bool] = True

    def run(
        self,
        problem: LandmarkRidge,
        gram: GramMatrix,
        budget: Budget,
        start: LandmarkFunctions | None,
    ) -> Outcome[LandmarkFunctions]:
        low = landmarks_of(gram, problem.name)
        square = self.normal_matrix
        direct = square is None and is_direct(low, budget)
        if square is None:
            square = normal_matrix(low, problem.alpha, budget.tol, direct)
        with small_algebra(low.passes.columns):
            descent = _RidgeDescent(problem, low, budget, square, direct)
            W, sums = descent.run()
        if sums.unseen is None:
            # It has converged sooner than was foreseen.
            sums = descent.errors(W, True, descent.whitener)
        value = LandmarkFunctions.of(low, W, sums)
        value = replace(value, constants=value.constants + problem.best_constants(sums))
        return Outcome(value, descent.status, descent.steps)


def normal_matrix(gram: LandmarkGram, alpha: float, tol: float, direct: bool = False) -> Array:
    """Return ΦᵀWΦ in the basis, from as many rows as is worth their time; good for larger λ too.

    ``direct`` asks for all rows in float64, and so do features that are in memory.
    """
    passes, basis = gram.passes, gram.basis
    direct = direct or passes.holds_features
    share = 1.0 if direct else worthwhile_share(passes.rows, passes.columns, tol)
    precise = direct or basis.needs_float64(passes.rows, alpha)
    zero = np.zeros((passes.columns, 1))
    return np.asarray(passes.square(zero, RidgeWeights(), basis.R, share, precise)[0])


def is_direct(gram: LandmarkGram, budget: Budget) -> bool:
    """Whether the system is formed in float64 and solved by its factor, which takes two passes.

    It is not where somebody watches the steps.
    """
    passes = gram.passes
    small = passes.holds_features or passes.rows * passes.columns**2 <= _DIRECT
    return small and budget.monitor is None and budget.stop(math.inf, 1) is None


def solve_targets(
    gram: LandmarkGram, Y: Array, weights: Array, constant: bool, alphas: Array, budget: Budget
) -> Solution[LandmarkFunctions]:
    """Solve for targets with a λ each, in one go for those that share one."""
    whole = gram.with_targets(Y, weights, constant)
    method = LandmarkConjugateGradients(
        normal_matrix(whole, float(alphas.min()), budget.tol) if len(set(alphas)) > 1 else None
    )
    value = LandmarkFunctions(np.empty((len(gram.basis), Y.shape[1])), np.zeros(Y.shape[1]))
    parts = []
    for alpha in np.unique(alphas):
        mine = np.flatnonzero(alphas == alpha)
        some = (
            whole if len(mine) == Y.shape[1] else gram.with_targets(Y[:, mine], weights, constant)
        )
        part = method.solve(LandmarkRidge(float(alpha), constant, len(mine)), some, budget)
        value.coordinates[:, mine] = part.value.coordinates
        value.constants[mine] = part.value.constants
        parts.append(part)
    proof = Certificate.total([part.certificate for part in parts])
    statistics = Statistics(proof.iterations, proof.seconds, proof.kernel_evaluations)
    early = [part.status for part in parts if part.status is not Status.OPTIMAL]
    return Solution(value, early[0] if early else Status.OPTIMAL, proof, statistics)


class _RidgeDescent:
    """Conjugate gradients from 0, with residuals refreshed in float64."""

    def __init__(
        self,
        problem: LandmarkRidge,
        gram: LandmarkGram,
        budget: Budget,
        square: Array,
        direct: bool,
    ) -> None:
        self.problem, self.budget = problem, budget
        self.basis, self.passes = gram.basis, gram.passes
        penalty = problem.alpha * penalty_diagonal(self.passes.columns, problem.constant)
        self.precondition = LandmarkPreconditioner(square, penalty)
        self.ridge = penalty[:, None]
        self.whitener = self.basis.whitener(self.passes.rows)
        self.direct = direct
        """Whether the preconditioner is the inverse of the system, but for rounding."""
        self.precise = direct or self.basis.needs_float64(self.passes.rows, problem.alpha)
        """Whether steps are in float64."""
        self.steps = 0
        self.status = Status.OPTIMAL

    def errors(self, W: Array, precise: bool, whitener: Array | None = None) -> PassSums:
        return self.passes.sums(self.basis.coefficients(W), RidgeErrors(), precise, whitener)

    def run(self) -> tuple[Array, PassSums]:
        """Return coordinates and the sums of the errors there, in float64.

        Only passes that are likely to be the last one ask for what the landmarks do not see.
        """
        tol = self.budget.tol
        W: Array = np.zeros((self.passes.columns, self.problem.targets))
        best = W
        before: tuple[Array, Array] = W, W
        first: Array = np.zeros(0)
        last = math.inf
        near = False
        for number in range(_MOST_ROUNDS):
            final = number > 0 and (near or self.precise or self.status is not Status.OPTIMAL)
            try:
                sums = self.errors(W, self.precise or number > 0, self.whitener if final else None)
            except KeyboardInterrupt:
                self.status = Status.INTERRUPTED
                break
            residual: Array = self.basis.coordinates(sums.products[:, :-1]) - self.ridge * W
            rho = column_products(residual, self.precondition(residual))
            if not number:
                first = np.maximum(rho, 1e-300)
            worst = float(np.sqrt((rho / first).max()))
            if number:
                if self.status is not Status.OPTIMAL or worst <= tol:
                    return W, sums
                if self.direct:
                    # The factor was not good enough: conjugate gradients take over.
                    self.direct = False
                    self.precise = self.basis.needs_float64(self.passes.rows, self.problem.alpha)
                    if worst > 0.25 * last:
                        W, residual, rho, worst = best, *before, last
                elif worst > 0.25 * last:
                    if self.precise:
                        # Rounding stops it; where the gap is nothing, it has converged.
                        self.status = Status.STALLED if worst > _ARRIVED else Status.OPTIMAL
                        return W, sums
                    # float32 has given what it can.
                    self.precise = True
                    if worst >= last:
                        W, last = best, math.inf
                        continue
            best, last = W, worst
            if self.direct:
                self.steps += 1
                before = residual, rho
                W = self.precondition(residual)
                continue
            goal = np.maximum(tol * first**0.5, _INNER * rho**0.5) * 0.5
            near = bool((goal <= tol * first**0.5).all())
            W = W + self.correction(residual, goal, first)
        if self.status is Status.OPTIMAL:
            self.status = Status.MAX_ITER
        return W, self.errors(W, True, self.whitener)

    def correction(self, residual: Array, goal: Array, first: Array) -> Array:
        """Return a correction by conjugate gradients that brings √(rᵀG⁻¹r) below ``goal``."""
        heights = [math.inf]

        def going(at: ConjugateSteps) -> Mask:
            wanted = at.rho > goal**2
            if not wanted.any():
                return wanted
            heights.append(float((at.rho / first).max()))
            recent, before = heights[-_PATIENCE:], heights[:-_PATIENCE]
            if not self.precise and min(recent) > 0.5 * min(before, default=9e99):
                return np.False_
            reason = self.budget.stop(math.sqrt(heights[-1]), self.steps)
            if reason is not None:
                self.status = reason
                return np.False_
            return wanted

        def multiply(direction: Array) -> Array:
            try:
                V = self.basis.coefficients(direction)
                sums = self.passes.sums(V, RidgeCurve(), self.precise)
            except KeyboardInterrupt:
                self.status = Status.INTERRUPTED
                return np.zeros_like(direction)  # no curvature: no step
            self.steps += 1
            return np.asarray(self.basis.coordinates(sums.products) + self.ridge * direction)

        return conjugate_gradients(
            multiply, residual, going=going, precondition=self.precondition, max_iter=sys.maxsize
        ).x
