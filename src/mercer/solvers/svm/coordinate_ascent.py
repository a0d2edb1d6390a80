"""Coordinate ascent for support vector machines without a bias."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.problems.qp import rounding_of_sums
from mercer.problems.unbiased import UnbiasedQP
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.svm.smo import step_limit

WORKING_SET = 1024
"""Multipliers that move together where the whole matrix does not fit: their block has 8 MiB."""
_STEPS = 20_000
"""Steps in one compiled call, so that time limits and Ctrl-C are heard."""
_INNER = 0.1
"""A working set is solved to this share of the violation of all: more would be undone by others."""


@dataclass(frozen=True)
class KernelCoordinateAscent(Solver[UnbiasedQP, Array]):
    """One multiplier at a time, each to its best value between its bounds.

    βₜ ← clip(βₜ + (pₜ − (Kβ)ₜ)/Kₜₜ, loₜ, hiₜ), always the one that gains most. Where the matrix is
    too large to hold, those with the steepest slopes move together.

    References
    ----------
    T.-T. Frieß, N. Cristianini and C. Campbell, The kernel-adatron algorithm, ICML 1998.
    """

    def run(
        self, problem: UnbiasedQP, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        gram, n = gram.in_precision(np.float64), len(problem)
        budget = budget.but(max_iter=step_limit(budget.max_iter, n))
        whole = gram.dense(np.float64) if 8 * n * n <= budget.cache_bytes else None
        size = min(n, WORKING_SET, max(2, math.isqrt(budget.cache_bytes // 8)))
        greatest = float(np.abs(gram.diag()).max(initial=0.0))
        beta = problem.start.copy() if start is None else problem.feasible(start)
        f, exact = _product(gram, beta), True
        steps, tol, nonconvex, status = 0, budget.tol, False, None
        while True:
            try:
                violation = problem.violation(beta, f)
                if violation <= tol and not exact:
                    f, exact = _product(gram, beta), True
                    continue
                floor = rounding_of_sums(beta, greatest)
                if violation <= tol:
                    if nonconvex or math.isinf(budget.gap):
                        break
                    gap = problem.gap(beta, f).relative(floor * problem.room)
                    tol = budget.sharper(violation, gap, floor)
                    if not tol:
                        status = None if budget.met(violation, gap) else Status.STALLED
                        break
                status = budget.stop(violation, steps)
                if status is not None:
                    break
                F = problem.p - f
                chosen, inner = np.arange(n), 0.5 * tol
                if whole is None:
                    slopes = np.where(np.where(F > 0, beta < problem.hi, beta > problem.lo), F, 0.0)
                    chosen = np.argpartition(-np.abs(slopes), size - 1)[:size]
                    inner = max(inner, _INNER * violation)
                K = gram.square(chosen) if whole is None else whole
                old, new = beta[chosen].copy(), beta[chosen].copy()
                part = (problem.lo[chosen], problem.hi[chosen])
                most = min(_STEPS, budget.max_iter - steps)
                taken, curved = _fast.box_ascent.climb(K, F[chosen], new, *part, inner, most)
                steps, nonconvex = steps + taken, nonconvex or curved
                if not taken:
                    status = Status.STALLED
                    break
                beta[chosen], exact = new, False
                f = f + self._change(gram, whole, chosen, new - old)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
                break
        if not exact:
            f = _product(gram, beta)
        return Outcome(
            beta,
            status or Status.OPTIMAL,
            steps,
            product=f,
            details={"violation": problem.violation(beta, f), "nonconvex": nonconvex},
            gap_seen=budget.gap < math.inf,
        )

    def _change(
        self, gram: GramMatrix, whole: Array | None, chosen: IntArray, change: Array
    ) -> Array:
        """Return K times what a working set moved by."""
        moved = np.flatnonzero(change)
        if whole is not None:
            return np.asarray(change[moved] @ whole[moved])
        return gram.multiply_columns(chosen[moved], change[moved][:, None])[:, 0]


def _product(gram: GramMatrix, beta: Array) -> Array:
    return gram.multiply(beta[:, None])[:, 0] if beta.any() else np.zeros(len(beta))
