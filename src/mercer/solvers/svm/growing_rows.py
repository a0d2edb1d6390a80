"""Box QPs on features: dense steps on the rows that may count, more where some are missed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.gram.given import GivenGram
from mercer.gram.sums import seen_features
from mercer.problems.qp import BoxQP, rounding_of_sums
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.svm.box_qp import BoxQPSolver

_FIRST = 8
"""One row in so many is looked at first."""
_GROWTH, _FEW = 0.5, 50
"""Rows that are added at once, as a share of those that are there, and how many may always be."""
_MOST = 0.8
"""The share of rows from which on all of them cost little more."""

_COARSE = 1e-5
"""Tolerances from which on float32 is enough to find the rows: its sums are right to 10⁻⁶, and in
the end they are taken in float64."""


@dataclass(frozen=True)
class GrowingRows(Solver[BoxQP, Array]):
    """Solve on some rows, look at all of them, add those that disagree.

    The matrix of a few hundred rows costs little, and f = ΦΦᵀβ at all rows next to nothing: where
    few rows are support vectors, most of the matrix is never computed. All of it is where many are,
    or where there are no features.

    Parameters
    ----------
    shrinking : bool
        As in :class:`BoxQPSolver`.
    """

    shrinking: bool = True

    def run(
        self, problem: BoxQP, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        n, solver, steps = gram.shape[0], BoxQPSolver(self.shrinking), 0
        phi = gram.in_precision(np.float64).features()
        if phi is None:
            return solver.run(problem, gram, budget, start)
        greatest = float(gram.diag().max(initial=0.0))
        beta = (problem.start if start is None else start).astype(np.float64)
        rough = min(budget.tol, budget.gap) >= _COARSE
        features = gram.features().astype(np.float32 if rough else np.float64, order="C")
        matrix = _GrowingMatrix(seen_features(features))
        first = np.zeros(n, np.bool_)
        first[::_FIRST] = True
        first[problem.row[beta != 0]] = True
        first[problem.row[(problem.lo > 0) | (problem.hi < 0)]] = True  # these are never 0
        wanted = np.flatnonzero(first)
        while len(wanted) and len(matrix.rows) + len(wanted) <= _MOST * n and budget.max_iter < 0:
            matrix.add(wanted)
            here = np.flatnonzero(matrix.place[problem.row] >= 0)
            part = _part(problem, here, matrix.place, beta)
            found = solver.run(part, GivenGram(matrix.K, gram.definite), budget, None)
            beta = np.zeros(len(problem))
            beta[here] = found.value
            steps += found.iterations
            rows = matrix.rows
            coefficients = problem.coefficients(beta, n)
            f = matrix.multiply(coefficients)
            left = problem.violation(beta, f)
            done = left <= budget.tol
            if done or found.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
                at = np.flatnonzero(coefficients)
                f = phi @ (phi[at].T @ coefficients[at])
                left = problem.violation(beta, f)
                rounding = rounding_of_sums(beta, greatest)
                gap = problem.relative_gap(beta, f[problem.row], rounding)
                done = left <= budget.tol and gap <= budget.gap
            if done or found.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
                details = {"violation": left, "nonconvex": found.details["nonconvex"]}
                status = Status.OPTIMAL if done else found.status
                return Outcome(beta, status, steps, f, details, gap_seen=budget.gap < math.inf)
            missed = np.zeros(n)
            np.maximum.at(missed, problem.row, _wishes(problem, beta, f))
            missed[rows] = 0.0
            wanted = np.flatnonzero(missed > budget.tol)
            # The worst first: most of the others are content once these have their say.
            worst = np.argsort(-missed[wanted])[: max(_FEW, int(_GROWTH * len(rows)))]
            wanted = wanted[np.sort(worst)]
        last = solver.run(problem, gram, budget, problem.feasible(beta))
        return replace(last, iterations=last.iterations + steps)


class _GrowingMatrix:
    """ΦΦᵀ of some rows, computed in the precision of Φ and held in float64; others are added."""

    def __init__(self, phi: Array) -> None:
        self.phi = phi
        self.rows: IntArray = np.empty(0, np.intp)
        self.place: IntArray = np.full(len(phi), -1)
        """Where each row of Φ is, −1 for those that are not there."""
        self.K: Array = np.empty((0, 0))

    def multiply(self, coefficients: Array) -> Array:
        """Return f = ΦΦᵀc at all rows, in the precision of Φ."""
        at = np.flatnonzero(coefficients)
        found = self.phi @ (self.phi[at].T @ coefficients[at].astype(self.phi.dtype))
        return np.asarray(found, dtype=np.float64)

    def add(self, new: IntArray) -> None:
        """Add some rows, and compute their products alone."""
        old, K = len(self.rows), self.K
        self.place[new] = old + np.arange(len(new))
        self.rows = np.concatenate([self.rows, new])
        block = self.phi[new] @ self.phi[self.rows].T
        self.K = np.empty((len(self.rows), len(self.rows)))
        self.K[:old, :old] = K
        self.K[old:] = block
        self.K[:old, old:] = block[:, :old].T


def _part(problem: BoxQP, here: IntArray, place: IntArray, beta: Array) -> BoxQP:
    """Return the problem of some variables where all others are 0."""
    bounds = problem.lo[here], problem.hi[here], beta[here]
    rows, groups = place[problem.row[here]], problem.group[here]
    return BoxQP(problem.name, problem.p[here], *bounds, rows, groups, problem.groups)


def _wishes(problem: BoxQP, beta: Array, f: Array) -> Array:
    """Return how much each variable wants to leave a bound; 0 for those that do not."""
    residual = problem.p - f[problem.row] - problem.biases(beta, f)[problem.group]
    up = np.where(beta < problem.hi, residual, 0.0)
    return np.maximum(np.maximum(up, np.where(beta > problem.lo, -residual, 0.0)), 0.0)
