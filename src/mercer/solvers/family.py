"""Several box QPs on the same points: one for each pair of classes, or just one."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from threading import local

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.problems.qp import BoxQP
from mercer.solvers.feature_rows import FeatureRows
from mercer.solvers.finish import solve
from mercer.solvers.rows import DenseRows, KernelRows
from mercer.solvers.smo import BLOCK_STEPS, Settings, step_limit, violation_of
from mercer.solvers.solution import Solution

SMALL = 200
"""Problems up to this size are solved in float64 throughout: there is nothing to save."""
SMALL_STEPS = 1_000_000

Problems = Sequence[tuple[IntArray, BoxQP]]


def solve_all(
    kernel: Kernel,
    points: Points,
    problems: Problems,
    settings: Settings,
    starts: Sequence[Array] | None = None,
) -> list[Solution]:
    """Solve several problems, each on some rows of the same points.

    Where the whole Gram matrix fits the budget and is small, all share it; otherwise each computes
    the rows that it needs. The time limit is for all of them together.
    """
    ends = time.perf_counter() + settings.time_limit
    if _shares_matrix(len(points), problems, settings.cache_bytes):
        small = KernelRows.of(kernel, points, settings.threads)
        begin = [problem.start for _, problem in problems] if starts is None else list(starts)
        return _OnMatrix(small, problems, settings, begin, ends).solve()
    begins: list[Array | None] = [None] * len(problems) if starts is None else list(starts)
    whole = FeatureRows.if_cheaper(
        kernel, points, settings.cache_bytes, settings.threads
    ) or KernelRows.of(kernel, points, settings.threads)
    solutions = []
    for (rows, problem), start in zip(problems, begins, strict=True):
        part = whole if len(rows) == whole.shape[0] else whole.take(rows)
        solutions.append(solve(problem, part, _until(ends, settings), start))
        if solutions[-1].status == "interrupted":
            settings = replace(settings, monitor=lambda violation: True)
    return solutions


def _shares_matrix(n: int, problems: Problems, budget: int) -> bool:
    """Tell whether the whole matrix pays: it does sooner where several problems share it."""
    largest = max(len(rows) for rows, _ in problems)
    small = n <= 2000 or (len(problems) > 1 and n <= 5000 and largest <= 3500)
    return small and 24 * n * n <= budget


def _until(ends: float, settings: Settings) -> Settings:
    if math.isinf(ends):
        return settings
    return replace(settings, time_limit=max(ends - time.perf_counter(), 1e-3))


class _OnMatrix:
    """All problems on one dense matrix, each one compiled call; float64 judges the answers."""

    def __init__(
        self,
        whole: KernelRows,
        problems: Problems,
        settings: Settings,
        starts: list[Array],
        ends: float,
    ) -> None:
        self.problems, self.settings, self.ends = problems, settings, ends
        self.threads = whole.threads
        self.began = time.perf_counter()
        self.K = whole.dense()
        self.beta = [start.astype(np.float64) for start in starts]
        self.values: list[Array | None] = [None] * len(problems)
        self.steps = np.zeros(len(problems), dtype=np.int64)
        self.curved = np.zeros(len(problems), dtype=bool)
        self.seconds = np.zeros(len(problems))
        self.largest = max(len(problem) for _, problem in problems)
        self.memory = local()

    def solve(self) -> list[Solution]:
        stopped = ""
        try:
            _parallel.run(self._climb, range(len(self.problems)), self.threads)
        except KeyboardInterrupt:
            stopped = "interrupted"
        spent = time.perf_counter() - self.began - float(self.seconds.sum())
        shared = max(0.0, spent) / len(self.problems)
        solutions = []
        for at in range(len(self.problems)):
            solutions.append(self._solution(at, stopped, shared))
            if solutions[-1].status == "interrupted":
                stopped = "interrupted"  # and so are all that are left
        return solutions

    def _climb(self, at: int) -> None:
        """Solve one problem in one call, which ends after a while; what is harder goes on later."""
        rows, problem = self.problems[at]
        settings = self.settings
        small = len(problem) <= SMALL
        most = min(
            step_limit(settings.max_iter, len(problem)), SMALL_STEPS if small else BLOCK_STEPS
        )
        begin = time.perf_counter()
        if begin > self.ends:
            return
        values = np.empty(len(problem))
        self.steps[at], self.curved[at] = (
            _fast.smo.solve_small if small else _fast.smo.solve_subset
        )(
            self.K,
            rows[problem.row],
            problem.p,
            self.beta[at],
            problem.lo,
            problem.hi,
            problem.group,
            problem.groups,
            settings.tol if small else 0.9 * settings.tol,
            most,
            values,
            self._scratch(),
        )
        self.values[at] = values
        self.seconds[at] = time.perf_counter() - begin

    def _solution(self, at: int, stopped: str, shared: float) -> Solution:
        rows, problem = self.problems[at]
        f = np.empty(len(rows))
        f[problem.row] = self._values(at)
        violation = violation_of(problem.extremes(self.beta[at], f))
        status = "optimal"
        if violation > self.settings.tol:
            status = stopped or self._reason(at)
        if status == "unfinished":
            # Go on from there, with float64 at hand.
            part = DenseRows(self.K[np.ix_(rows, rows)] if len(rows) < len(self.K) else self.K)
            rest = solve(problem, part, _until(self.ends, self.settings), self.beta[at])
            return replace(rest, iterations=rest.iterations + int(self.steps[at]))
        return Solution(
            beta=self.beta[at],
            f=f,
            violation=violation,
            status=status,
            nonconvex=bool(self.curved[at]),
            iterations=int(self.steps[at]),
            seconds=float(self.seconds[at]) + shared,
            kernel_evaluations=len(rows) ** 2,
        )

    def _reason(self, at: int) -> str:
        if 0 <= self.settings.max_iter <= self.steps[at]:
            return "max_iter"
        return "time_limit" if time.perf_counter() > self.ends else "unfinished"

    def _values(self, at: int) -> Array:
        """Return Kβ at the variables of a problem."""
        known = self.values[at]
        if known is not None:
            return known
        rows, problem = self.problems[at]
        index = rows[problem.row]
        product: Array = self.K[np.ix_(index, index)] @ self.beta[at]
        return product

    def _scratch(self) -> Array:
        if not hasattr(self.memory, "scratch"):
            self.memory.scratch = np.empty((2, self.largest**2), np.float32)
        scratch: Array = self.memory.scratch
        return scratch
