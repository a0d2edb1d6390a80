"""Two-level working-set SMO: kernel blocks by BLAS, compiled steps, float64 has the last word.

Each round picks several hundred variables that violate the optimality conditions most, solves the
dense problem on them in one compiled call, and moves the gradient of all others with one product.
Kernel values are float32 on the way; before the solver claims to be done it computes the gradient
anew in float64, and goes on from there if that disagrees.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.problems.qp import BoxQP
from mercer.solvers.rows import DenseRows, KernelRows, Rows, TiledCache
from mercer.solvers.solution import Solution

WORKING_SET = 1024
FRESH_SHARE = 0.5
INNER_TOLERANCE = 0.1
SMALL = 200
"""Problems up to this size are solved in float64 throughout: there is nothing to save."""
BLOCK_STEPS = 50_000
"""Most steps in one compiled call, so that time limits and Ctrl-C are heard."""


@dataclass(frozen=True)
class Settings:
    """When to stop, and how much memory to use."""

    tol: float = 1e-3
    max_iter: int = -1
    time_limit: float = math.inf
    cache_bytes: int = 200 << 20
    shrinking: bool = True
    monitor: Callable[[float], bool] | None = None
    threads: int | None = None


def solve_all(
    kernel: Kernel,
    points: Points,
    problems: Sequence[tuple[IntArray, BoxQP]],
    settings: Settings,
    starts: Sequence[Array] | None = None,
) -> list[Solution]:
    """Solve several problems, each on some rows of the same points.

    Where the whole Gram matrix fits the budget and is small, all share it and each is one compiled
    call; otherwise each computes the rows that it needs.
    """
    whole = KernelRows.of(kernel, points, settings.threads)
    begin = [problem.start for _, problem in problems] if starts is None else list(starts)
    if _shares_matrix(whole.shape[0], len(problems), settings.cache_bytes):
        return _solve_on_matrix(whole, problems, settings, begin)
    solutions = []
    for (rows, problem), start in zip(problems, begin, strict=True):
        part = whole if len(rows) == whole.shape[0] else whole.take(rows)
        solutions.append(solve(problem, part, settings, start))
    return solutions


def solve(problem: BoxQP, gram: Rows, settings: Settings, start: Array | None = None) -> Solution:
    """Solve one problem on the rows of a Gram matrix."""
    return _Run(problem, gram, settings, start).solve()


def _shares_matrix(n: int, problems: int, budget: int) -> bool:
    small = n <= 1000 or (problems > 1 and n <= 5000)
    return small and 20 * n * n <= budget


def _solve_on_matrix(
    whole: KernelRows,
    problems: Sequence[tuple[IntArray, BoxQP]],
    settings: Settings,
    starts: list[Array],
) -> list[Solution]:
    """Solve all problems on one dense matrix; what float64 does not confirm is solved again."""
    began = time.perf_counter()
    K = whole.dense()
    beta = [start.astype(np.float64) for start in starts]
    steps = np.zeros(len(problems), dtype=np.int64)
    curved = np.zeros(len(problems), dtype=bool)
    limit = _step_limit(settings.max_iter, max(len(problem) for _, problem in problems))
    seconds = np.zeros(len(problems))

    def task(at: int) -> None:
        rows, problem = problems[at]
        begin = time.perf_counter()
        small = len(problem) <= SMALL
        steps[at], curved[at] = (_fast.smo.solve_small if small else _fast.smo.solve_subset)(
            K,
            rows[problem.row],
            problem.p,
            beta[at],
            problem.lo,
            problem.hi,
            problem.group,
            problem.groups,
            settings.tol if small else 0.9 * settings.tol,
            limit,
        )
        seconds[at] = time.perf_counter() - begin

    threads = _parallel.thread_count(settings.threads)
    _parallel.run(task, range(len(problems)), threads)
    columns = np.zeros((len(K), len(problems)))
    for at, (rows, problem) in enumerate(problems):
        columns[rows, at] = problem.coefficients(beta[at], len(rows))
    values = K @ columns
    shared = (time.perf_counter() - began - float(seconds.sum())) / len(problems)
    solutions = []
    for at, (rows, problem) in enumerate(problems):
        f = values[rows, at]
        violation = _violation(problem.extremes(beta[at], f))
        status = "max_iter" if 0 <= settings.max_iter <= steps[at] else "optimal"
        if violation > settings.tol and status == "optimal":
            remaining = settings.time_limit - (time.perf_counter() - began)
            part = DenseRows(K[np.ix_(rows, rows)] if len(rows) < len(K) else K)
            again = solve(problem, part, _with_time(settings, remaining), beta[at])
            solutions.append(again)
            continue
        solutions.append(
            Solution(
                beta=beta[at],
                f=f,
                violation=violation,
                status=status,
                nonconvex=bool(curved[at]),
                iterations=int(steps[at]),
                seconds=float(seconds[at]) + max(shared, 0.0),
                kernel_evaluations=len(rows) ** 2,
            )
        )
    return solutions


class _Active:
    """The columns still in play and the variables on them, packed."""

    def __init__(self, problem: BoxQP, cache: TiledCache, beta: Array, f: Array) -> None:
        self.problem, self.cache = problem, cache
        self.f = f[cache.columns]
        self._pack(beta)

    def _pack(self, beta: Array) -> None:
        problem, columns = self.problem, self.cache.columns
        place = np.full(self.cache.count, -1, np.intp)
        place[columns] = np.arange(len(columns))
        v = self.variables = np.flatnonzero(place[problem.row] >= 0)
        self.p, self.lo, self.hi = problem.p[v], problem.lo[v], problem.hi[v]
        self.group, self.row = problem.group[v], problem.row[v]
        self.position = place[self.row]
        self.beta, self.F = beta[v], np.empty(len(v))
        self.working: IntArray = np.empty(0, np.intp)

    def reset(self, beta: Array, f: Array, columns: IntArray) -> None:
        """Start again from all of beta and f, on these columns."""
        if not np.array_equal(columns, self.cache.columns):
            self.cache.restart(columns)
            self._pack(beta)
        self.f = f[columns]

    def unpack(self, beta: Array) -> None:
        beta[self.variables] = self.beta

    def measure(self) -> Array:
        """Compute F and return its extremes."""
        return _fast.smo.ascent(
            self.p,
            self.f,
            self.position,
            self.beta,
            self.lo,
            self.hi,
            self.group,
            self.problem.groups,
            self.F,
        )

    def shrink(self, beta: Array, extremes: Array, margin: float) -> None:
        """Drop columns whose variables sit at bounds that they are far from leaving."""
        mark = np.empty(len(self.f), np.bool_)
        count = _fast.smo.needed(
            self.F, self.beta, self.lo, self.hi, self.group, self.position, extremes, margin, mark
        )
        if count > 0.75 * len(mark):
            return
        self.unpack(beta)
        working = self.variables[self.working]
        keep = np.flatnonzero(mark)
        self.f = self.f[keep]
        self.cache.restart(self.cache.columns[keep])
        self._pack(beta)
        place = np.full(len(beta), -1, np.intp)
        place[self.variables] = np.arange(len(self.variables))
        at = place[working]
        self.working = at[at >= 0]
        self.measure()


class _Run:
    """One run of the solver: its iterate, what is known of it in float64, and its counts."""

    def __init__(self, problem: BoxQP, gram: Rows, settings: Settings, start: Array | None) -> None:
        self.problem, self.gram, self.settings = problem, gram, settings
        self.began = time.perf_counter()
        self.n = gram.shape[0]
        self.beta = (problem.start if start is None else start).astype(np.float64)
        self.exact_rows: Array = np.zeros(self.n)
        self.exact_f: Array = np.zeros(self.n)
        self.F = np.empty(len(problem))
        self.full = np.empty((problem.groups, 2))
        self.steps = self.rounds = self.refreshes = 0
        self.nonconvex = False
        self.limit = _step_limit(settings.max_iter, len(problem))
        self.size = max(4, min(WORKING_SET, len(problem)))
        self.block = np.empty((self.size, self.size), np.float32)

    def solve(self) -> Solution:
        settings, tol = self.settings, self.settings.tol
        best_violation, best_objective = self.check()
        best_beta = self.beta.copy()
        cache = TiledCache(self.gram, settings.cache_bytes, settings.threads)
        active = self.active = _Active(self.problem, cache, self.beta, self.exact_f)
        extremes = active.measure()
        violation = last_shrink = lowest = _violation(extremes)
        patience = 10 + 4 * len(self.problem) // self.size
        status, exact, idle, waiting = "", True, 0, 0
        while True:
            try:
                if violation <= tol or waiting > patience or status:
                    if not exact:
                        active.unpack(self.beta)
                        violation, objective = self.check()
                        better = violation < 0.7 * best_violation or (
                            objective < best_objective - 1e-9 * abs(best_objective)
                        )
                        idle = 0 if better else idle + 1
                        best_violation = min(best_violation, violation)
                        if objective <= best_objective:
                            best_objective, best_beta = objective, self.beta.copy()
                    if violation <= tol or status:
                        break
                    if idle >= 5:
                        status = "stalled"
                        break
                    active.reset(self.beta, self.exact_f, self._needed(4 * violation))
                    extremes = active.measure()
                    violation = last_shrink = lowest = _violation(extremes)
                    waiting, exact = 0, len(active.f) == self.n
                if not self.step(active, extremes, violation):
                    # float32 sees nothing to do: ask float64, or give up if that was just done.
                    status = "stalled" if exact else status
                    violation = 0.0
                    continue
                exact = False
                extremes = active.measure()
                violation = _violation(extremes)
                waiting += 1
                if violation < 0.95 * lowest:
                    lowest, waiting = violation, 0
                if settings.shrinking and violation < 0.5 * last_shrink and len(active.f) > 2048:
                    last_shrink = violation
                    active.shrink(self.beta, extremes, violation)
                if settings.monitor is not None and settings.monitor(violation):
                    status = "interrupted"
                elif self.steps >= self.limit:
                    status = "max_iter"
                elif time.perf_counter() - self.began > settings.time_limit:
                    status = "time_limit"
            except KeyboardInterrupt:
                status, exact = "interrupted", False
        if status:
            self.beta[:] = best_beta
        violation, _ = self.check()
        return Solution(
            beta=self.beta,
            f=self.exact_f,
            violation=violation,
            status=status or "optimal",
            nonconvex=self.nonconvex,
            iterations=self.steps,
            seconds=time.perf_counter() - self.began,
            kernel_evaluations=self.gram.evaluations,
            statistics={
                "rounds": self.rounds,
                "refreshes": self.refreshes,
                "hits": cache.hits,
                "misses": cache.misses,
            },
        )

    def step(self, active: _Active, extremes: Array, violation: float) -> bool:
        """Solve one working set and move f; tell whether anything moved."""
        settings, groups = self.settings, self.problem.groups
        chosen = np.empty(self.size, np.intp)
        fresh = int(self.size * FRESH_SHARE) if len(active.working) else self.size
        count = _fast.smo.select(
            active.F,
            active.beta,
            active.lo,
            active.hi,
            active.group,
            groups,
            extremes,
            fresh,
            active.working,
            chosen,
        )
        w = active.working = chosen[:count]
        K = self.block if count == self.size else np.empty((count, count), np.float32)
        self.gram.square(active.row[w], K)
        new = active.beta[w]
        taken, curved = _fast.smo.solve_block(
            K,
            active.F[w],
            new,
            active.lo[w],
            active.hi[w],
            active.group[w],
            groups,
            max(INNER_TOLERANCE * violation, 0.5 * settings.tol),
            min(BLOCK_STEPS, max(1, self.limit - self.steps)),
        )
        self.steps += taken
        self.rounds += 1
        self.nonconvex |= curved
        change = new - active.beta[w]
        moved = np.flatnonzero(change)
        if not len(moved):
            return False
        free = (new > active.lo[w]) & (new < active.hi[w])
        active.cache.add(active.row[w[moved]], change[moved], free[moved], active.f)
        active.beta[w] = new
        return True

    def check(self) -> tuple[float, float]:
        """Return the violation and the objective of beta over all variables, in float64."""
        problem = self.problem
        rows = problem.coefficients(self.beta, self.n)
        change = rows - self.exact_rows
        moved = np.flatnonzero(change)
        if len(moved):
            self.exact_f += self.gram.multiply(change[moved], moved)
            self.exact_rows = rows
            self.refreshes += 1
        self.full[:] = _fast.smo.ascent(
            problem.p,
            self.exact_f,
            problem.row,
            self.beta,
            problem.lo,
            problem.hi,
            problem.group,
            problem.groups,
            self.F,
        )
        objective = 0.5 * float(rows @ self.exact_f) - float(problem.p @ self.beta)
        return _violation(self.full), objective

    def _needed(self, margin: float) -> IntArray:
        problem = self.problem
        mark = np.empty(self.n, np.bool_)
        _fast.smo.needed(
            self.F,
            self.beta,
            problem.lo,
            problem.hi,
            problem.group,
            problem.row,
            self.full,
            margin,
            mark,
        )
        return np.flatnonzero(mark)


def _violation(extremes: Array) -> float:
    """Return by how much two variables of a group disagree at most; 0 where none can move."""
    gaps = extremes[:, 0] - extremes[:, 1]
    finite = gaps[np.isfinite(gaps)]
    return max(0.0, float(finite.max(initial=0.0)))


def _step_limit(max_iter: int, variables: int) -> int:
    return max_iter if max_iter >= 0 else 10 * max(10**7, 100 * variables)


def _with_time(settings: Settings, seconds: float) -> Settings:
    return Settings(**{**vars(settings), "time_limit": max(seconds, 1e-3)})
