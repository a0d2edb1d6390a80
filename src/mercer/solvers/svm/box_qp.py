"""The solver of box QPs: one compiled call on a small dense matrix, working sets on a large one.

Whatever asks comes through here: a single fit, the pairs of classes of one fit, and the paths of a
search. On a dense matrix steps of pairs find out roughly which multipliers are at a bound, and
active-set steps finish the job. A larger matrix is solved by SMO, and by an interior-point method
where pairwise steps get nowhere or cost more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import local

import numpy as np
from numpy.typing import DTypeLike

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.gram.given import GivenGram
from mercer.problems.qp import BoxQP, rounding_of_sums
from mercer.solvers.base import Budget, Outcome, Solution, Solver, Status
from mercer.solvers.svm.box_parts import (
    FINE,
    FINE_TOL,
    PAIRS,
    PAIRS_EACH,
    ROUND_VARIABLES,
    ROUNDS,
    SUMS_ROUNDING,
    Part,
    solve_together,
)
from mercer.solvers.svm.interior import InteriorPoint, has_few_features, is_small
from mercer.solvers.svm.smo import SMO

DENSE = 2000
"""Rows up to which one problem is solved on the whole matrix: it is computed in some 20 ms."""
SHARED, LARGEST_PART = 5000, 3500
"""The same where several problems share the matrix, and rows of the largest of them."""
ALONE = 400
"""Rows up to which a single problem needs no thread but its own."""
UNTHREADED = 128
"""Variables up to which a Cholesky factorisation stays on one thread by itself: with 150 a second
one took twice as long on quiet cores, and a thousand times as long on busy ones."""
MOST_VARIABLES = 4000
"""Variables up to which active-set steps on all free ones are cheap, two for each ``DENSE`` row:
on 52 classifiers and regressions of 700 to 1,800 rows, easy and hard, they mostly took 0.4 to 1
times as long as working sets, and 1.22 times at worst."""
PATIENCE, PATIENCE_VARIABLES = 12, 6000
"""Most calls without progress, and variables in all of them together, after which the solver with
all precautions takes over."""


def share_matrix(n: int, parts: Sequence[Part], cache_bytes: int) -> bool:
    """Tell whether the whole matrix of n rows pays: sooner where several problems share it."""
    largest = max(len(rows) for rows, _ in parts)
    small = n <= DENSE or (len(parts) > 1 and n <= SHARED and largest <= LARGEST_PART)
    return small and 24 * n * n <= cache_bytes


@dataclass(frozen=True)
class BoxQPSolver(Solver[BoxQP, Array]):
    """Dense steps, SMO and an interior-point method, each where it is the fastest.

    Parameters
    ----------
    shrinking : bool
        Whether SMO leaves variables alone that are far from leaving their bounds.
    pairwise_first : bool
        Try pairwise steps before linear systems, even where features are few.
    turn : int
        Pairwise steps for each variable, after which they are seen to get nowhere.
    """

    shrinking: bool = True
    pairwise_first: bool = False
    turn: int = 200

    def run(
        self, problem: BoxQP, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        n = gram.shape[0]
        everything = np.arange(n)
        small = share_matrix(n, [(everything, problem)], budget.cache_bytes)
        if budget.max_iter >= 0 or not small or len(problem) > MOST_VARIABLES:
            return self.by_steps(problem, gram, budget, start)
        # Where BLAS has too little to do for threads of its own, nobody needs to hold them.
        with nullcontext() if len(problem) <= UNTHREADED else _parallel.one_blas_thread():
            K, rows = gram.shared()
            matrix = _OnMatrix(self, K, rows, problem, Scratch())
            return matrix.run(problem, budget, start, self._is_fine(problem, budget))

    def solve_all(
        self,
        parts: Sequence[Part],
        gram: GramMatrix,
        budget: Budget,
        starts: Sequence[Array] | None = None,
    ) -> list[Solution[Array]]:
        """Solve several problems, each on some rows of one matrix.

        Where the whole matrix is small and fits the budget, all share it; otherwise each computes
        the rows that it needs. The deadline is for all of them together.
        """
        begins: list[Array | None] = [None] * len(parts) if starts is None else list(starts)
        n = gram.shape[0]
        (rows, problem), start = parts[0], begins[0]
        if n <= ALONE and len(parts) == 1 and len(rows) == n and budget.max_iter < 0:
            return [self.solve(problem, gram, budget, start)]
        if share_matrix(n, parts, budget.cache_bytes):
            few = max(len(problem) for _, problem in parts) <= UNTHREADED
            # Once, not anew for the matrix and each problem.
            with nullcontext() if few else _parallel.one_blas_thread():
                return self._share(parts, gram, budget, begins)
        solutions = []
        for (rows, problem), start in zip(parts, begins, strict=True):
            part = gram if len(rows) == n else gram.take(rows)
            solutions.append(self.solve(problem, part, budget, start))
            if solutions[-1].status is Status.INTERRUPTED:
                budget = budget.but(monitor=lambda violation: True)  # and so are all that are left
        return solutions

    def _share(
        self, parts: Sequence[Part], gram: GramMatrix, budget: Budget, starts: list[Array | None]
    ) -> list[Solution[Array]]:
        began = time.perf_counter()
        self.check(parts[0][1], gram)
        K, at = gram.shared()
        whole, scratch = GivenGram(K, gram.definite), Scratch()
        found: list[Outcome[Array] | None] = [None] * len(parts)
        seconds = np.zeros(len(parts))
        threads = _parallel.thread_count(budget.threads)

        def task(j: int) -> None:
            rows, problem = parts[j]
            begin = time.perf_counter()
            if budget.max_iter >= 0 or len(problem) > MOST_VARIABLES:
                answer = self.by_steps(problem, whole.take(at[rows]), budget, starts[j])
            else:
                matrix = _OnMatrix(self, K, at[rows], problem, scratch)
                answer = matrix.run(problem, budget, starts[j], self._is_fine(problem, budget))
            found[j], seconds[j] = answer, time.perf_counter() - begin
            if answer.status is Status.INTERRUPTED:
                raise KeyboardInterrupt  # and so are all that are left

        unlimited = budget.max_iter < 0 and budget.deadline == math.inf and budget.monitor is None
        try:
            if unlimited and all(start is None for start in starts):
                found = solve_together(parts, K, at, budget, threads)
            left = [j for j, answer in enumerate(found) if answer is None]
            if left:
                _parallel.run(task, left, threads)
        except KeyboardInterrupt:
            budget = budget.but(monitor=lambda violation: True)
        overhead = max(0.0, time.perf_counter() - began - float(seconds.sum())) / len(parts)
        solutions = []
        for j, (rows, problem) in enumerate(parts):
            answer = found[j] or self.by_steps(problem, whole.take(at[rows]), budget, starts[j])
            cost = float(seconds[j]) + overhead
            # The answer brings its product: nothing is asked of the matrix, and no part is taken.
            solutions.append(self.judged(problem, whole, answer, cost, len(rows) ** 2))
        return solutions

    def _is_fine(self, problem: BoxQP, budget: Budget) -> bool:
        return len(problem) <= FINE and budget.tol <= FINE_TOL

    def solve_path(
        self, problems: Sequence[BoxQP], gram: GramMatrix, budget: Budget, scratch: Scratch
    ) -> list[Solution[Array]]:
        """Solve related problems one after the other on a dense matrix, each from the last answer.

        The first starts where it says; each other one at the better of the last answer β and its
        multiple cβ, where c is the ratio of their boxes (C₂/C₁ for a path over C). Answers after
        the deadline are missing. Nothing else is shared, so a path may be cut anywhere without any
        change to the answers before the cut. Answers come without certificates: a search compares
        them and publishes none.
        """
        K, rows = gram.shared()
        solutions: list[Solution[Array]] = []
        matrix: _OnMatrix | None = None
        for problem in problems:
            began = time.perf_counter()
            if began > budget.deadline:
                break
            if matrix is None or not matrix.fits(problem):
                matrix = _OnMatrix(self, K, rows, problem, scratch)
            answer = matrix.run(problem, budget, None)
            seconds = time.perf_counter() - began
            solutions.append(self.unjudged(answer, seconds, 0))
        return solutions

    def by_steps(
        self, problem: BoxQP, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        """Solve by SMO, and an interior-point method where that fails or costs less.

        SMO has the first word where it is likely to be fast, and the last.
        """
        smo, at_once = SMO(self.shrinking), has_few_features(gram, budget.cache_bytes)
        if budget.max_iter >= 0 or not (at_once or is_small(gram, budget.cache_bytes)):
            return smo.run(problem, gram, budget, start)
        turn = budget.but(max_iter=self.turn * len(problem))
        answers: list[Outcome[Array]] = []
        if start is not None or self.pairwise_first or not at_once:
            answers.append(smo.run(problem, gram, turn, start))
            first = answers[0]
            done = first.status not in (Status.MAX_ITER, Status.STALLED)
            if first.details["nonconvex"] or done:
                return first
        try:
            answers.append(InteriorPoint().run(problem, gram, budget, None))
            if answers[-1].status is not Status.OPTIMAL:
                answers.append(smo.run(problem, gram, turn, answers[-1].value))
        except KeyboardInterrupt:
            stop = turn.but(monitor=lambda violation: True)
            answers.append(smo.run(problem, gram, stop, answers[0].value if answers else start))
        best = max(answers, key=lambda answer: _merit(problem, answer))
        iterations = sum(answer.iterations for answer in answers)
        return replace(best, status=_status(best, answers[-1]), iterations=iterations)


def _status(best: Outcome[Array], last: Outcome[Array]) -> Status:
    if best.status is not Status.OPTIMAL and last.status is Status.INTERRUPTED:
        return Status.INTERRUPTED
    # Nobody set a limit of steps: what got nowhere within a turn has stalled.
    return Status.STALLED if best.status is Status.MAX_ITER else best.status


def _merit(problem: BoxQP, answer: Outcome[Array]) -> tuple[bool, float]:
    """Return what makes one answer better than another: that it is optimal, then its value."""
    assert answer.product is not None
    rows = problem.coefficients(answer.value, len(answer.product))
    value = float(problem.p @ answer.value - 0.5 * (rows @ answer.product))
    return answer.status is Status.OPTIMAL, value


class Scratch:
    """Memory that is used again: blocks of float32 values and matrices, of each thread its own."""

    def __init__(self) -> None:
        self._memory = local()

    def block(self, m: int) -> Array:
        """Return an m × m array of float32 with anything in it."""
        return self._square("block", m, np.float32)

    def matrix(self, n: int, number: int) -> Array:
        """Return an n × n array of float64 with anything in it, one for each number and thread."""
        return self._square(f"matrix{number}", n, np.float64)

    def _square(self, name: str, size: int, dtype: DTypeLike) -> Array:
        there = getattr(self._memory, name, None)
        if there is None or there.size < size * size:
            there = np.empty(size * size, dtype)
            setattr(self._memory, name, there)
        square: Array = there[: size * size].reshape(size, size)
        return square


class _OnMatrix:
    """Problems of the same variables on rows of one dense float64 matrix, one after the other."""

    def __init__(
        self, solver: BoxQPSolver, K: Array, rows: IntArray, first: BoxQP, scratch: Scratch
    ) -> None:
        self.solver, self.K, self.rows = solver, K, rows
        self.row = first.row
        self.idx = rows[first.row].astype(np.intp, copy=False)
        m = len(first)
        self.rounds = max(1, min(ROUNDS, ROUND_VARIABLES // m))
        self.patience = max(2, min(PATIENCE, PATIENCE_VARIABLES // m))
        self.pairs = max(PAIRS, PAIRS_EACH * m)
        self.block, self.there = scratch.block(m), np.zeros(m, np.bool_)
        diagonal = K[self.idx, self.idx]
        self.diag, self.greatest = diagonal.astype(np.float32), float(np.abs(diagonal).max())
        self.last: BoxQP | None = None
        self.beta: Array = np.zeros(m)
        self.f: Array = np.zeros(m)

    def fits(self, problem: BoxQP) -> bool:
        """Tell whether a problem has the same variables."""
        return np.array_equal(problem.row, self.row)

    def run(
        self, problem: BoxQP, budget: Budget, start: Array | None, fine: bool = False
    ) -> Outcome[Array]:
        """Solve one problem, from a start or from the last answer.

        ``fine`` takes one more active-set step in float64, so that small answers are exact.
        """
        tol, steps, idle, best, drift = budget.tol, 0, 0, math.inf, 0.0
        beta, f = self._begin(problem, start)
        # Constraints without a price have no tolerance in the gap: they are kept as well as can be.
        hard = bool(np.isinf(problem.hi - problem.lo).any())
        fine = fine or hard
        parts = (problem.lo, problem.hi, problem.group, problem.groups)
        nonconvex, status, left, undone = False, Status.OPTIMAL, math.inf, False
        while True:
            try:
                left = _fast.box_qp.violation(problem.p, f, beta, *parts)
                if left <= tol:
                    # float64 has the last word: on f, and on the fixed sums.
                    if drift == 0.0 and not (hard and fine):
                        if problem.sums_error(beta) <= SUMS_ROUNDING:
                            if nonconvex or math.isinf(budget.gap):
                                break  # where curvature is negative there is no gap to close
                            sharper, status = self._sharper(problem, budget, beta, f, left)
                            if not sharper:
                                break
                            tol, idle, best = sharper, 0, math.inf
                            continue
                        beta = problem.feasible(beta)
                    drift, fine = self._finish(problem, beta, f, fine), False
                    continue
                if stop := budget.stop(left):
                    status = stop
                    break
                idle = 0 if left < 0.9 * best else idle + 1
                best = min(best, left)
                # Below the rounding of float32 a pair step is of no use: float64 takes over.
                if undone or idle > self.patience:
                    return self._carefully(problem, budget, beta, steps)
                if steps:
                    _parallel.check_stopped()
                taken, curved, error, undone = self._improve(
                    problem, beta, f, tol, self.rounds, self.pairs
                )
                steps, nonconvex, drift = steps + taken, nonconvex or curved, drift + error
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
                break
        _fast.box_qp.settle(problem.lo, problem.hi, beta)
        if drift:
            _fast.box_qp.product(self.K, self.idx, beta, f)
            left = _fast.box_qp.violation(problem.p, f, beta, *parts)
        self.last, self.beta, self.f = problem, beta, f
        values = np.zeros(len(self.rows))
        values[problem.row] = f
        details = {"violation": left, "nonconvex": nonconvex}
        return Outcome(beta, status, steps, values, details, gap_seen=budget.gap < math.inf)

    def _sharper(
        self, problem: BoxQP, budget: Budget, beta: Array, f: Array, left: float
    ) -> tuple[float, Status]:
        """Return the violation that the gap asks for, 0 for none, and what to call the answer."""
        floor = rounding_of_sums(beta, self.greatest)
        gap = problem.relative_gap(beta, f, floor)
        met = budget.met(left, gap)
        return budget.sharper(left, gap, floor), Status.OPTIMAL if met else Status.STALLED

    def _improve(
        self, problem: BoxQP, beta: Array, f: Array, tol: float, rounds: int, pairs: int
    ) -> tuple[int, bool, float, bool]:
        return _fast.box_qp.improve(
            self.K, self.idx, self.block, self.there, self.diag, problem.p, problem.lo, problem.hi,
            problem.group, problem.groups, beta, f, tol, rounds, pairs,
        )  # fmt: skip

    def _finish(self, problem: BoxQP, beta: Array, f: Array, fine: bool) -> float:
        """Compute f in float64; ``fine`` takes active-set steps too, until β is exact.

        One step does, more where the matrix is nearly singular. Returns how far f is off.
        """
        _fast.box_qp.product(self.K, self.idx, beta, f)
        if not fine:
            return 0.0
        last = _fast.box_parts
        self._improve(problem, beta, f, last.FINEST, 1, 0)
        _fast.box_qp.product(self.K, self.idx, beta, f)
        parts = (problem.lo, problem.hi, problem.group, problem.groups)
        if _fast.box_qp.violation(problem.p, f, beta, *parts) <= last.FINE_ENOUGH:
            return 0.0
        goal, rounds, pairs = last.FINE_ENOUGH, last.FINE_ROUNDS, last.FINE_PAIRS
        return self._improve(problem, beta, f, goal, rounds, pairs)[2]

    def _begin(self, problem: BoxQP, start: Array | None) -> tuple[Array, Array]:
        if start is not None or self.last is None:
            beta: Array = (problem.start if start is None else start).astype(np.float64)
        else:
            wide = float((problem.hi - problem.lo).sum() / (self.last.hi - self.last.lo).sum())
            linear, square = float(problem.p @ self.beta), float(self.beta @ self.f)
            better = wide * linear - 0.5 * wide * wide * square > linear - 0.5 * square
            factor = wide if better else 1.0
            wanted = factor * self.beta
            beta = problem.feasible(wanted)
            if np.abs(beta - wanted).max() <= 1e-12 * np.abs(wanted).max():
                return beta, factor * self.f
        f: Array = np.empty(len(beta))
        _fast.box_qp.product(self.K, self.idx, beta, f)
        return beta, f

    def _carefully(self, problem: BoxQP, budget: Budget, beta: Array, steps: int) -> Outcome[Array]:
        """Go on with the solver that can do float64 throughout and knows when it is stuck."""
        part = GivenGram(self.K).take(self.rows)
        rest = self.solver.by_steps(problem, part, budget, problem.feasible(beta))
        assert rest.product is not None
        self.last, self.beta, self.f = problem, rest.value, rest.product[problem.row]
        return replace(rest, iterations=rest.iterations + steps)
