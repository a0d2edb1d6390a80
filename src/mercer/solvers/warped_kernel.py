"""Laplacian support vector machines with the plain hinge, by their dual problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import linalg

from mercer import _memory
from mercer._typing import Array
from mercer.gram.base import Definite, GramMatrix
from mercer.gram.given import GivenGram
from mercer.problems.manifold import ManifoldFunctions, ManifoldProblems
from mercer.problems.manifold_hinge import HingeManifoldProblem
from mercer.problems.qp import BoxQP
from mercer.problems.unbiased import UnbiasedQP
from mercer.solvers.base import Budget, Outcome, Solution, Solver, Status
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.coordinate_ascent import KernelCoordinateAscent

_VIOLATION = 1e-3
"""Where the steps on the multipliers begin to look at the gap, which has the last word."""


@dataclass(frozen=True)
class WarpedKernelSolver(Solver[ManifoldProblems, ManifoldFunctions]):
    """Solves for the multipliers of the labelled points in the kernel K̃ = K(a + RK)⁻¹.

    A factorisation of the matrix of all n points gives K̃ at the labelled ones, on which the problem
    is that of a support vector machine; its multipliers β give all coefficients c = (a + RK)⁻¹β.
    The ``tol`` of the budget is the relative gap.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, Manifold regularization, JMLR 7 (2006), section 4.3.
    """

    def run(
        self,
        problem: ManifoldProblems,
        gram: GramMatrix,
        budget: Budget,
        start: ManifoldFunctions | None,
    ) -> Outcome[ManifoldFunctions]:
        n = gram.shape[0]
        _memory.require(
            24 * n * n,
            f"The plain hinge on {n:,} points",
            "loss='squared_hinge' needs no matrix of all points, an approximation fewer of them.",
        )
        K = gram.in_precision(np.float64).dense(np.float64)
        parts = [cast(HingeManifoldProblem, part) for part in problem.parts]
        first = parts[0]
        H = first.roughness(K)
        H[np.diag_indices_from(H)] += first.penalty
        # All parts are about the same labelled points.
        unit = np.zeros((n, len(first.rows)))
        unit[first.rows, np.arange(len(first.rows))] = 1.0
        spread: Array = linalg.solve(H, unit, overwrite_a=True, check_finite=False)
        warped = K[first.rows] @ spread
        matrix = GivenGram((warped + warped.T) / 2, Definite.POSITIVE)
        inner = budget.but(tol=_VIOLATION, gap=0.5 * budget.tol, max_iter=-1)
        coef, bias = np.empty((n, len(parts))), np.zeros(len(parts))
        status, steps = Status.OPTIMAL, 0
        for j, part in enumerate(parts):
            box = part.box()
            found = self._solve(box, matrix, inner)
            coef[:, j] = spread @ found.value
            if part.intercept:
                bias[j] = box.biases(found.value, found.f)[0]
            status = found.status if status is Status.OPTIMAL else status
            steps += found.statistics.iterations
        F = K @ coef
        points = problem.dual_points(coef, F)
        images = K @ np.stack([point.coef for point in points], axis=1)
        product = np.hstack([F, images])
        return Outcome(ManifoldFunctions(coef, bias, points), status, steps, product=product)

    def _solve(self, box: BoxQP, matrix: GramMatrix, budget: Budget) -> Solution[Array]:
        if box.has_bias:
            return BoxQPSolver().solve(box, matrix, budget)
        return KernelCoordinateAscent().solve(cast(UnbiasedQP, box), matrix, budget)
