"""The solver of joint multi-class problems: working sets of points, all classes of each at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from mercer import _parallel
from mercer._fast import multiclass as fast
from mercer._typing import Array, IntArray
from mercer.exceptions import NumericalOverflow
from mercer.gram.base import GramMatrix
from mercer.gram.cache import RowCache
from mercer.problems.multiclass import JointMulticlass
from mercer.solvers.base import Budget, Outcome, Solver, Status

_MOST_VALUES = 1 << 25  # kernel values of one working set: fewer points where there are many rows
_BLOCK_STEPS = 1000  # most steps a point in one compiled call, so that limits and Ctrl-C are heard
_INNER = 0.1  # a working set is solved to this share of the worst violation
_IDLE_ROUNDS = 3  # float64 checks without progress before the solver gives up


@dataclass(frozen=True)
class JointMulticlassSolver(Solver[JointMulticlass, Array]):
    """Working sets of points, all classes of each at once; for positive semi-definite kernels.

    Two levels, as for binary machines: the points that violate the optimality conditions most make
    a working set, whose block of K is solved in one compiled call, point after point, each over all
    its classes exactly. It stops when neither the largest violation nor the relative duality gap
    exceeds ``tol``, both of them in float64. A step solves the problem of one point (a product with
    the block of m points counts as m steps); without a limit there are max(5·10⁷, 1000 n) at most.
    A start is made feasible.

    Parameters
    ----------
    working_set : int
        Most points in a working set.
    """

    working_set: int = 512

    def run(
        self, problem: JointMulticlass, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        run = _JointRun(problem, gram, budget, start, self.working_set)
        with _parallel.one_blas_thread():
            status = run.climb()
        return run.outcome(status)


class _JointRun:
    """One solve: the iterate, and the best one that float64 has seen."""

    def __init__(
        self,
        problem: JointMulticlass,
        gram: GramMatrix,
        budget: Budget,
        start: Array | None,
        working_set: int,
    ) -> None:
        n = len(problem)
        self.problem, self.tol = problem, budget.tol
        self.max_iter = budget.max_iter if budget.max_iter >= 0 else max(5 * 10**7, 1000 * n)
        self.budget = budget.but(max_iter=self.max_iter)
        self.limit = fast.TOTAL if problem.bound_on_total else fast.EACH
        self.labels = np.ascontiguousarray(problem.labels, dtype=np.intp)
        self.C = np.ascontiguousarray(problem.C, dtype=np.float64)
        self.size = min(n, working_set, max(32, _MOST_VALUES // n))
        # Equal violations (all of them at the start) are told apart by chance, not by order.
        self.order = np.random.default_rng(0).permutation(n)
        self.working: IntArray = np.empty(0, np.intp)
        self.exact = gram.in_precision(np.float64)
        self.rows = _Rows(self.exact, np.float32, budget.cache_bytes)
        self.lengths = np.sqrt(np.abs(self.exact.diag()))
        self.steps = 0
        self.nonconvex = False
        self.alpha = np.zeros((n, problem.classes)) if start is None else problem.feasible(start)
        self.biases = np.zeros(problem.classes) if problem.biases is None else problem.biases
        self.wrong = np.empty(n)
        self.best_gap = self.least_violation = np.inf
        self.best_dual = 0.0
        self._refresh()

    def climb(self) -> Status:
        """Improve the iterate until it is optimal; return the status."""
        goal, lowest, waiting, idle = 0.9 * self.tol, np.inf, 0, 0
        patience = 6 + 4 * len(self.alpha) // self.size
        status: Status | None = None
        checked = True
        while True:
            try:
                worst, floor = self._measure(), self._rounding()
                gap = self._relative_gap() if worst <= goal else np.inf
                if worst < 0.95 * lowest:
                    lowest, waiting = worst, 0
                if gap <= self.tol or worst <= floor or waiting > patience or status:
                    if not checked:
                        idle = 0 if self._refresh() else idle + 1
                        worst, gap, checked = self._measure(), self._relative_gap(), True
                    if worst <= self.tol and gap <= self.tol:
                        self._keep(gap)
                        return Status.OPTIMAL
                    if status:
                        return status
                    double = self.rows.dtype == np.float64
                    if worst <= self._rounding() or (double and idle >= _IDLE_ROUNDS):
                        return Status.STALLED
                    if idle and not double:
                        self._use_double()
                        idle = 0
                    lowest, waiting = worst, 0
                if worst <= goal:  # every violation is small, and their sum is not: go on
                    goal = worst * min(0.5, max(0.05, self.tol / gap))
                self._choose(goal)
                moved = self._improve(max(_INNER * worst, goal / 2, floor))
                waiting = waiting + 1 if moved else patience + 1
                idle = idle + (checked and not moved)
                checked = checked and not moved
                status = self.budget.stop(worst, self.steps)
            except NumericalOverflow:
                if self.rows.dtype == np.float64:
                    raise
                self._use_double()
            except KeyboardInterrupt:
                if status is Status.INTERRUPTED:
                    return status  # asked twice: not even the check in float64
                status, checked = Status.INTERRUPTED, False

    def outcome(self, status: Status) -> Outcome[Array]:
        """Return the best iterate that float64 has seen."""
        alpha, f = self.best_alpha, self.best_f
        fast.violations(f, alpha, self.labels, self.C, self.limit, self.wrong)
        f = f - self.biases
        negative = np.vdot(alpha, f) < -1e-9 * np.vdot(np.abs(alpha), np.abs(f))
        details = {
            "violation": float(self.wrong.max()),
            "relative_gap": self.best_gap,
            "nonconvex": bool(self.nonconvex or negative),
        }
        return Outcome(alpha, status, self.steps, f, details)

    def _refresh(self) -> bool:
        """Compute f = Kα anew in float64, keep the best iterate; say whether there was progress."""
        f = np.zeros_like(self.alpha)
        if self.alpha.any():
            f = np.ascontiguousarray(self.exact @ self.alpha, dtype=np.float64)
        # Values with their biases: all that margins are made of.
        self.f = f + self.biases
        gap, worst, dual = self._relative_gap(), self._measure(), self._dual()
        progress = (
            gap < 0.9 * self.best_gap
            or worst < 0.9 * self.least_violation
            or dual > self.best_dual + 1e-6 * abs(self.best_dual)
        )
        self.least_violation = min(worst, self.least_violation)
        self.best_dual = max(dual, self.best_dual)
        if gap <= self.best_gap:
            self._keep(gap)
        return progress

    def _keep(self, gap: float) -> None:
        """Take the iterate, whose f is exact, for the best one."""
        self.best_gap, self.best_f, self.best_alpha = gap, self.f.copy(), self.alpha.copy()

    def _measure(self) -> float:
        """Find how far each point is from its optimality conditions; return the worst."""
        fast.violations(self.f, self.alpha, self.labels, self.C, self.limit, self.wrong)
        return float(self.wrong.max())

    def _rounding(self) -> float:
        """Return what float64 may lose in f: |Σⱼ k(xᵢ, xⱼ) αⱼ| ≤ Σⱼ √k(xᵢ, xᵢ) √k(xⱼ, xⱼ) |αⱼ|."""
        largest = float((self.lengths @ np.abs(self.alpha)).max()) * float(self.lengths.max())
        return float(np.finfo(np.float64).eps) * max(1.0, 0.1 * largest)

    def _relative_gap(self) -> float:
        dual = self._dual()
        half_norm = float(np.vdot(self.alpha, self.f - self.biases)) / 2
        primal = half_norm + fast.loss(self.f, self.labels, self.C, self.limit)
        scale = max(abs(primal), abs(dual))
        return (primal - dual) / scale if scale > 0 else 0.0

    def _dual(self) -> float:
        total = self.alpha[np.arange(len(self.alpha)), self.labels].sum()
        return float(total - np.vdot(self.alpha, self.f + self.biases) / 2)

    def _choose(self, goal: float) -> None:
        """Choose the working set: half of it the worst points, the others from the last one."""
        fresh = -(-self.size // 2) if len(self.working) else self.size
        wrong = self.wrong[self.order]
        chosen = self.order
        if fresh < len(chosen):
            chosen = chosen[np.argpartition(-wrong, fresh)[:fresh]]
        chosen = chosen[self.wrong[chosen] > goal / 2]
        others = self.working[~np.isin(self.working, chosen)]
        others = others[np.argsort(-self.wrong[others], kind="stable")]
        self.working = np.concatenate([chosen, others])[: self.size]

    def _improve(self, tol: float) -> bool:
        """Solve the working set and update f everywhere; say whether anything moved."""
        w = self.working
        rows = self.rows.fetch(w)
        alpha = self.alpha[w]
        # Rows are padded: at a distance of a power of two they would share places in the CPU cache.
        f = np.zeros((self.problem.classes, len(w) + 8))
        f[:, : len(w)] = self.f[w].T
        block = np.ascontiguousarray(rows[:, w])
        most = max(1, min(_BLOCK_STEPS * len(w), self.max_iter - self.steps))
        steps, negative = fast.solve_block(
            block, f, alpha, self.labels[w], self.C[w], self.limit, tol, most
        )
        self.steps += steps
        self.nonconvex |= negative
        change = alpha - self.alpha[w]
        if not change.any():
            return False
        self.alpha[w] = alpha
        self.f += rows.T @ change.astype(rows.dtype)
        return True

    def _use_double(self) -> None:
        """Take rows of K in float64 from now on."""
        self.rows = _Rows(self.exact, np.float64, self.rows.budget)


class _Rows:
    """Rows of K in one precision, cached."""

    def __init__(self, gram: GramMatrix, dtype: DTypeLike, budget: int) -> None:
        self.dtype, self.budget = np.dtype(dtype), budget
        self._gram = gram.in_precision(dtype)
        self._cache = RowCache(gram.shape, self.dtype, budget)

    def fetch(self, index: IntArray) -> Array:
        return self._cache.fetch(index, self._compute)

    def _compute(self, index: IntArray) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._gram.rows(index)
            finite = np.isfinite(np.add.reduce(values, axis=None, dtype=np.float64))
        if not finite:
            raise NumericalOverflow(f"Kernel values leave the range of {self.dtype}.")
        return values
