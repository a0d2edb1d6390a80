"""The solver of joint multi-class problems: working sets of points, all classes of each at once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _parallel
from mercer._fast import multiclass as fast
from mercer._typing import Array, IntArray
from mercer.exceptions import NumericalOverflow
from mercer.gram.cache import RowCache
from mercer.gram.operator import Gram, GramMatrix
from mercer.problems.multiclass import JointMulticlass
from mercer.solvers.solution import ADVICE

WORKING_SET = 512
_MOST_VALUES = 1 << 25  # kernel values of one working set: fewer points where there are many rows
_BLOCK_STEPS = 1000  # most steps a point in one compiled call, so that limits and Ctrl-C are heard
_INNER = 0.1  # a working set is solved to this share of the worst violation
_IDLE_ROUNDS = 3  # float64 checks without progress before the solver gives up


@dataclass(frozen=True, eq=False)
class MulticlassSolution:
    """An answer to a joint multi-class problem.

    Attributes
    ----------
    alpha : array of shape (n, classes)
        The coefficients: f_c(x) = Σᵢ alpha[i, c] k(xᵢ, x).
    bias : array of shape (classes,)
        Zero: the problems have none.
    f : array of shape (n, classes)
        K alpha, in float64.
    violation, relative_gap : float
        The largest violation of the optimality conditions, and the gap as the solver saw it.
    status : str
        ``optimal``, ``max_iter``, ``time_limit``, ``interrupted`` or ``stalled``.
    nonconvex : bool
        Whether negative curvature was met, so that the certificate proves nothing.
    iterations : int
        The number of times that a point's problem was solved.
    """

    alpha: Array
    bias: Array
    f: Array
    violation: float
    relative_gap: float
    status: str
    nonconvex: bool
    iterations: int
    seconds: float
    kernel_evaluations: int

    @property
    def advice(self) -> str:
        """What to do about the status."""
        return ADVICE[self.status]


def solve_multiclass(
    problem: JointMulticlass,
    gram: GramMatrix,
    start: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float = np.inf,
    cache_bytes: int = 1 << 30,
) -> MulticlassSolution:
    """Solve a joint multi-class problem with any positive semi-definite kernel.

    Two levels, as for binary machines: the points that violate the optimality conditions most make
    a working set, whose block of K is solved in one compiled call, point after point, each over all
    its classes exactly. It stops when neither the largest violation nor the relative duality gap
    exceeds ``tol``, both of them in float64.

    Parameters
    ----------
    start : array of shape (n, classes), optional
        Coefficients to start from; they are made feasible.
    max_iter : int
        The most steps, each of which solves the problem of one point (a product with the block of
        m points counts as m steps); −1 stands for max(5·10⁷, 1000 n).
    time_limit : float
        Seconds after which the best answer so far is returned (so it is on Ctrl-C); the check in
        float64 comes on top.
    cache_bytes : int
        Budget for rows of K in float32.
    """
    run = _Run(problem, gram, start, tol, max_iter, time_limit, cache_bytes)
    with _parallel.one_blas_thread():
        status = run.climb()
    return run.solution(status)


class _Run:
    """One solve: the iterate, and the best one that float64 has seen."""

    def __init__(
        self,
        problem: JointMulticlass,
        gram: GramMatrix,
        start: Array | None,
        tol: float,
        max_iter: int,
        time_limit: float,
        cache_bytes: int,
    ) -> None:
        n = len(problem)
        self.began = time.perf_counter()
        self.problem, self.tol, self.time_limit = problem, tol, time_limit
        self.max_iter = max_iter if max_iter >= 0 else max(5 * 10**7, 1000 * n)
        self.limit = fast.TOTAL if problem.bound_on_total else fast.EACH
        self.labels = np.ascontiguousarray(problem.labels, dtype=np.intp)
        self.C = np.ascontiguousarray(problem.C, dtype=np.float64)
        self.size = min(n, WORKING_SET, max(32, _MOST_VALUES // n))
        # Equal violations (all of them at the start) are told apart by chance, not by order.
        self.order = np.random.default_rng(0).permutation(n)
        self.working: IntArray = np.empty(0, np.intp)
        self.exact = _in_precision(gram, np.float64)
        self.rows = _Rows(self.exact, np.float32, cache_bytes)
        self.lengths = np.sqrt(np.abs(self.exact.diag()))
        self.products = self.steps = 0
        self.nonconvex = False
        self.alpha = np.zeros((n, problem.classes)) if start is None else problem.feasible(start)
        self.wrong = np.empty(n)
        self.best_gap = self.least_violation = np.inf
        self.best_dual = 0.0
        self._refresh()

    def climb(self) -> str:
        """Improve the iterate until it is optimal; return the status."""
        goal, lowest, waiting, idle = 0.9 * self.tol, np.inf, 0, 0
        patience = 6 + 4 * len(self.alpha) // self.size
        status, checked = "", True
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
                        return "optimal"
                    if status:
                        return status
                    double = self.rows.dtype == np.float64
                    if worst <= self._rounding() or (double and idle >= _IDLE_ROUNDS):
                        return "stalled"
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
                if self.steps >= self.max_iter:
                    status = "max_iter"
                elif time.perf_counter() - self.began > self.time_limit:
                    status = "time_limit"
            except NumericalOverflow:
                if self.rows.dtype == np.float64:
                    raise
                self._use_double()
            except KeyboardInterrupt:
                if status == "interrupted":
                    return status  # asked twice: not even the check in float64
                status, checked = "interrupted", False

    def solution(self, status: str) -> MulticlassSolution:
        """Return the best iterate that float64 has seen."""
        n, alpha, f = len(self.best_alpha), self.best_alpha, self.best_f
        fast.violations(f, alpha, self.labels, self.C, self.limit, self.wrong)
        negative = np.vdot(alpha, f) < -1e-9 * np.vdot(np.abs(alpha), np.abs(f))
        return MulticlassSolution(
            alpha=alpha,
            bias=np.zeros(self.problem.classes),
            f=f,
            violation=float(self.wrong.max()),
            relative_gap=self.best_gap,
            status=status,
            nonconvex=bool(self.nonconvex or negative),
            iterations=self.steps,
            seconds=time.perf_counter() - self.began,
            kernel_evaluations=(self.rows.computed + self.products * n) * n,
        )

    def _refresh(self) -> bool:
        """Compute f = Kα anew in float64, keep the best iterate; say whether there was progress."""
        f = np.zeros_like(self.alpha)
        if self.alpha.any():
            self.products += 1
            f = np.ascontiguousarray(self.exact @ self.alpha, dtype=np.float64)
        self.f = f
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
        half_norm = float(np.vdot(self.alpha, self.f)) / 2
        primal = half_norm + fast.loss(self.f, self.labels, self.C, self.limit)
        scale = max(abs(primal), abs(dual))
        return (primal - dual) / scale if scale > 0 else 0.0

    def _dual(self) -> float:
        total = self.alpha[np.arange(len(self.alpha)), self.labels].sum()
        return float(total - np.vdot(self.alpha, self.f) / 2)

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
        self.rows = _Rows(self.exact, np.float64, self.rows.budget, self.rows.computed)


class _Rows:
    """Rows of K in one precision, cached."""

    def __init__(self, gram: GramMatrix, dtype: Any, budget: int, computed: int = 0) -> None:
        self.dtype, self.budget = np.dtype(dtype), budget
        self._gram = _in_precision(gram, dtype)
        self._cache = RowCache(gram.shape, self.dtype, budget)
        self._before = computed

    def fetch(self, index: IntArray) -> Array:
        return self._cache.fetch(index, self._compute)

    @property
    def computed(self) -> int:
        """The number of rows computed so far."""
        return self._before + self._cache.misses

    def _compute(self, index: IntArray) -> Array:
        values = self._gram.rows(index)
        if values.dtype == self.dtype:
            return values
        with np.errstate(over="ignore"):
            rounded = values.astype(self.dtype)
        if not np.isfinite(rounded).all():
            raise NumericalOverflow(f"Kernel values leave the range of {self.dtype}.")
        return rounded


def _in_precision(gram: GramMatrix, dtype: Any) -> GramMatrix:
    """Return the same matrix in another precision, if it can be computed in it."""
    kernel, points = getattr(gram, "kernel", None), getattr(gram, "points", None)
    if gram.dtype == dtype or kernel is None or points is None:
        return gram
    return Gram(kernel, points, threads=getattr(gram, "_threads", None), dtype=dtype)
