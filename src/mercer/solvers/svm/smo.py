"""Two-level working-set SMO: kernel blocks by BLAS, compiled steps, float64 has the last word.

Each round picks several hundred variables that violate the optimality conditions most, solves the
dense problem on them in one compiled call, and moves the gradient of all others with one product.
Kernel values are float32 on the way; before the solver claims to be done it computes the gradient
anew in float64, and goes on from there if that disagrees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.gram.cached import RowProducts, row_products
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Budget, Outcome, Solver, Status

WORKING_SET = 1024
"""Variables in a round: their block in float32 is 4 MB, about the size of a cache."""
LARGE_WORKING_SET = 2048
"""Where more variables are free than a working set holds, few large rounds beat many small ones."""
FRESH_SHARE = 0.5
"""Share of a working set that is chosen anew; the rest comes from the last one."""
TEMPORARY_BYTES = 28 << 20
"""About what blocks of kernel values take on their way, whatever the number of rows."""
INNER_TOLERANCE, LAST_TOLERANCE = 0.1, 1e-3
"""A working set is solved to this share of the violation of all; the second where it holds all that
are in play. float32 tells no smaller share apart for sure."""
STRIP = 128
"""Rows of a working set's block that one thread computes in one go."""
BLOCK_STEPS = 50_000
"""Most steps in one compiled call, so that time limits and Ctrl-C are heard."""


@dataclass(frozen=True)
class SMO(Solver[BoxQP, Array]):
    """Decomposition into working sets, each solved by sequential minimal optimisation.

    Parameters
    ----------
    shrinking : bool
        Whether variables at bounds that they are far from leaving are left alone for a while.

    References
    ----------
    Platt, Fast training of support vector machines using sequential minimal optimization, 1999.
    Fan, Chen and Lin, Working set selection using second order information, JMLR 2005.
    """

    shrinking: bool = True

    @_parallel.one_blas_thread()  # once, not anew for each block
    def run(
        self, problem: BoxQP, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        return _WorkingSetRun(problem, gram, budget, start, self.shrinking).solve()


class _Active:
    """The columns still in play and the variables on them, packed."""

    def __init__(self, problem: BoxQP, cache: RowProducts, beta: Array, f: Array) -> None:
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

    def reset(self, beta: Array, f: Array, columns: IntArray, precise: bool) -> None:
        """Start again from all of beta and f, on these columns and in this precision."""
        if precise != self.cache.precise or not np.array_equal(columns, self.cache.columns):
            self.cache.restart(columns, precise)
            self._pack(beta)
        self.f = f[columns]

    def unpack(self, beta: Array) -> None:
        beta[self.variables] = self.beta

    def free(self) -> int:
        """Return how many variables are strictly between their bounds."""
        return int(np.count_nonzero((self.beta > self.lo) & (self.beta < self.hi)))

    def measure(self) -> Array:
        """Compute F and return its extremes."""
        return _fast.smo.ascent(
            self.p, self.f, self.position, self.beta, self.lo, self.hi, self.group,
            self.problem.groups, self.F,
        )  # fmt: skip

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
        self.cache.restart(self.cache.columns[keep], self.cache.precise)
        self._pack(beta)
        place = np.full(len(beta), -1, np.intp)
        place[self.variables] = np.arange(len(self.variables))
        at = place[working]
        self.working = at[at >= 0]
        self.measure()


class _WorkingSetRun:
    """One run of the solver: its iterate, what is known of it in float64, and its counts."""

    def __init__(
        self, problem: BoxQP, gram: GramMatrix, budget: Budget, start: Array | None, shrinking: bool
    ) -> None:
        self.problem, self.gram, self.shrinking = problem, gram, shrinking
        self.single, self.double = gram.in_precision(np.float32), gram.in_precision(np.float64)
        self.limit = step_limit(budget.max_iter, len(problem))
        self.budget = budget.but(max_iter=self.limit)
        self.inner = budget.tol
        self.threads = _parallel.thread_count(budget.threads)
        self.n = gram.shape[0]
        self.beta = (problem.start if start is None else start).astype(np.float64)
        self.exact_rows: Array = np.zeros(self.n)
        self.exact_f: Array = np.zeros(self.n)
        self.F = np.empty(len(problem))
        self.full = np.empty((problem.groups, 2))
        self.steps = self.rounds = self.refreshes = 0
        self.nonconvex = False
        self.precise = False
        # Blocks of working sets come out of the budget for cached rows, a quarter at most.
        self.most = max(64, math.isqrt(budget.cache_bytes // 32))
        self.resize(WORKING_SET)
        self.floor = 0.0
        self.diagonal = self.double.diag()
        self.greatest = float(np.abs(self.diagonal).max(initial=0.0))

    def solve(self) -> Outcome[Array]:
        budget, tol = self.budget, self.budget.tol
        best_violation, best_objective, best_beta = math.inf, math.inf, self.beta.copy()
        spare = budget.cache_bytes - 8 * min(LARGE_WORKING_SET, self.most) ** 2
        cache = row_products(self.gram, max(0, spare - TEMPORARY_BYTES), self.threads)
        active = _Active(self.problem, cache, self.beta, self.exact_f)
        # float32 is enough to begin with: float64 has the last word anyway.
        rows = self.problem.coefficients(self.beta, self.n)
        used = np.flatnonzero(rows)
        cache.add(used, rows[used], np.zeros(len(used), dtype=bool), active.f)
        extremes = active.measure()
        violation = last_shrink = lowest = violation_of(extremes)
        patience = 10 + 4 * len(self.problem) // self.size
        exact = not len(used)
        status: Status | None = None
        idle, waiting, previous = 0, 0, math.inf
        while True:
            try:
                if violation <= max(tol, self.floor) or waiting > patience or status:
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
                        tol = 0.0 if status else self.sharper(violation)
                        if not tol:
                            break
                    self.floor = self.rounding()
                    if idle >= 5 or (self.precise and violation <= self.floor):
                        status = Status.STALLED
                        break
                    # float32 corrects itself against float64 while that gains; else float64 it is.
                    slow = self.refreshes > 2 and violation > 0.25 * previous
                    self.use_float64(self.precise or slow or waiting > patience)
                    previous = violation
                    active.reset(self.beta, self.exact_f, self._needed(4 * violation), self.precise)
                    extremes = active.measure()
                    violation = last_shrink = lowest = violation_of(extremes)
                    waiting, exact = 0, len(active.f) == self.n
                if not self.step(active, extremes, violation):
                    # float32 sees nothing to do: ask float64, or give up if that was just done.
                    status = Status.STALLED if exact else status
                    violation = 0.0
                    continue
                exact = False
                extremes = active.measure()
                violation = violation_of(extremes)
                waiting += 1
                if violation < 0.95 * lowest:
                    lowest, waiting = violation, 0
                if self.shrinking and violation < 0.5 * last_shrink and len(active.f) > 2048:
                    last_shrink = violation
                    active.shrink(self.beta, extremes, violation)
                status = budget.stop(violation, self.steps)
            except KeyboardInterrupt:
                status, exact = Status.INTERRUPTED, False
        if status:
            self.beta[:] = best_beta
        violation, _ = self.check()
        seen = budget.gap < math.inf and not self.nonconvex
        if seen and status in (None, Status.STALLED):
            rest = self.rounding() * self.problem.room
            gap = self.problem.gap(self.beta, self.exact_f).relative(rest)
            status = None if budget.met(violation, gap) else Status.STALLED
        return Outcome(
            self.beta,
            status or Status.OPTIMAL,
            self.steps,
            product=self.exact_f,
            details={
                "violation": violation,
                "nonconvex": self.nonconvex,
                "rounds": self.rounds,
                "refreshes": self.refreshes,
                "hits": cache.hits,
                "misses": cache.misses,
            },
            gap_seen=budget.gap < math.inf,
        )

    def sharper(self, violation: float) -> float:
        """Return the violation that the gap of the last check asks for; 0 where it is content."""
        if self.nonconvex or math.isinf(self.budget.gap):
            return 0.0  # where curvature is negative there is no gap to close
        floor = self.rounding()
        gap = self.problem.gap(self.beta, self.exact_f).relative(floor * self.problem.room)
        self.inner = self.budget.sharper(violation, gap, floor)
        return self.inner

    def rounding(self) -> float:
        """Return what float64 can tell apart at all of values of f."""
        return 2.0**-52 * self.greatest * float(np.abs(self.beta).sum())

    def step(self, active: _Active, extremes: Array, violation: float) -> bool:
        """Solve one working set and move f; tell whether anything moved."""
        groups = self.problem.groups
        if self.size == WORKING_SET < min(active.free(), self.most):
            self.resize(LARGE_WORKING_SET)
        # Where all of them fit, their block is all there is: one round goes to the end.
        everything = len(active.beta) <= self.size
        chosen = self.choose(active, extremes, everything)
        count = len(chosen)
        # Rows in the cache come last: the solver fetches those that it needs from there.
        # In order of their columns: then fetching runs forward through memory.
        w = np.sort(chosen)
        slots = active.cache.slots(active.row[w])
        order = np.argsort(slots >= 0, kind="stable")
        w, slots = w[order], slots[order]
        active.working = chosen
        missing = int(np.searchsorted(slots >= 0, True))
        K = self.block[: count * count].reshape(count, count)
        inverse = self.inverse[: count * count].reshape(count, count)
        self.fill(active.row[w], K[:missing])
        new = active.beta[w]
        there = slots < 0
        share = LAST_TOLERANCE if everything else INNER_TOLERANCE
        taken, curved = _fast.smo.solve_block(
            K, there, active.cache.store, (slots * active.cache.width).astype(np.uint64),
            active.cache.offsets(active.position[w]),
            self.diagonal[active.row[w]].astype(K.dtype), inverse, active.F[w], new, active.lo[w],
            active.hi[w], active.group[w], groups, self.precise,
            max(share * violation, 0.5 * self.inner, 0.5 * self.floor),
            min(BLOCK_STEPS, max(1, self.limit - self.steps)),
        )  # fmt: skip
        self.steps += taken
        self.rounds += 1
        self.nonconvex |= curved
        change = new - active.beta[w]
        moved = np.flatnonzero(change)
        if not len(moved):
            return False
        if everything:
            at = active.position[w]
            f = active.f[at]
            _fast.tiles.add_rows(K, moved, change[moved].astype(K.dtype), f)
            active.f[at] = f
        else:
            free = (new > active.lo[w]) & (new < active.hi[w])
            active.cache.add(active.row[w[moved]], change[moved], free[moved], active.f)
        active.beta[w] = new
        return True

    def choose(self, active: _Active, extremes: Array, everything: bool) -> IntArray:
        """Return the variables of the next working set."""
        if everything:
            return np.arange(len(active.beta))
        chosen = np.empty(self.size, np.intp)
        fresh = int(self.size * FRESH_SHARE) if len(active.working) else self.size
        count = _fast.smo.select(
            active.F, active.beta, active.lo, active.hi, active.group, self.problem.groups,
            extremes, fresh, active.working, chosen,
        )  # fmt: skip
        return chosen[:count]

    def fill(self, rows: IntArray, out: Array) -> None:
        """Write the first rows of the block of a working set into ``out``, on several threads."""
        gram = self.double if self.precise else self.single
        part, columns = gram.take(rows[: len(out)], rows), slice(0, len(rows))

        def task(strip: slice) -> None:
            part.block(strip, columns, out[strip])

        strips = [slice(s, min(s + STRIP, len(out))) for s in range(0, len(out), STRIP)]
        _parallel.run(task, strips, self.threads)

    def resize(self, most: int) -> None:
        """Make room for working sets of another size."""
        self.size = max(4, min(most, self.most, len(self.problem)))
        cells = self.size * self.size
        self.block: Array = np.empty(cells, np.float64 if self.precise else np.float32)
        self.inverse = np.empty(cells, np.float32)

    def use_float64(self, wanted: bool) -> None:
        """Go on in float64 throughout, once float32 does not get any further."""
        if wanted and not self.precise:
            self.precise = True
            self.resize(self.size)

    def check(self) -> tuple[float, float]:
        """Return the violation and the objective of beta over all variables, in float64."""
        problem = self.problem
        rows = problem.coefficients(self.beta, self.n)
        change = rows - self.exact_rows
        moved = np.flatnonzero(change)
        if len(moved):
            self.exact_f += self.double.multiply_columns(moved, change[moved][:, None])[:, 0]
            self.exact_rows = rows
            self.refreshes += 1
        self.full[:] = _fast.smo.ascent(
            problem.p, self.exact_f, problem.row, self.beta, problem.lo, problem.hi,
            problem.group, problem.groups, self.F,
        )  # fmt: skip
        objective = 0.5 * float(rows @ self.exact_f) - float(problem.p @ self.beta)
        return violation_of(self.full), objective

    def _needed(self, margin: float) -> IntArray:
        problem = self.problem
        mark = np.empty(self.n, np.bool_)
        _fast.smo.needed(
            self.F, self.beta, problem.lo, problem.hi, problem.group, problem.row, self.full,
            margin, mark,
        )  # fmt: skip
        return np.flatnonzero(mark)


def violation_of(extremes: Array) -> float:
    """Return by how much two variables of a group disagree at most; 0 where none can move."""
    gaps = extremes[:, 0] - extremes[:, 1]
    finite = gaps[np.isfinite(gaps)]
    return float(finite.max(initial=0.0))


def step_limit(max_iter: int, variables: int) -> int:
    """Return the most steps: ``max_iter``, or as many as LIBSVM takes by default."""
    return max_iter if max_iter >= 0 else max(10**7, 100 * variables)
