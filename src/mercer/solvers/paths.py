"""Paths: related problems on some rows of one shared matrix, each started from the last answer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.problems.qp import BoxQP
from mercer.solvers.rows import DenseRows
from mercer.solvers.smo import Settings, solve

ROUNDS = 8
"""Rounds in one compiled call, so that time limits and Ctrl-C are heard."""
PAIRS = 3000
"""Pair steps in a round, before active-set steps are worth their price."""
DRIFT = 0.2
"""Rounding of f = Kβ that is accepted, as a share of the tolerance."""
PATIENCE = 12
"""Calls without progress, after which the solver with all precautions takes over."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The multipliers of a problem and f = Kβ at its rows."""

    beta: Array
    f: Array
    status: str
    steps: int
    seconds: float


class Workshop:
    """Memory that every path uses again: a matrix and a block of float32 values for each thread."""

    def __init__(self) -> None:
        self._memory = local()

    def block(self, m: int) -> Array:
        """Return an m × m array of float32 with anything in it."""
        return self._square("block", m, np.float32)

    def matrix(self, n: int, number: int) -> Array:
        """Return an n × n array of float64 with anything in it, one for each number and thread."""
        return self._square(f"matrix{number}", n, np.float64)

    def _square(self, name: str, size: int, dtype: Any) -> Array:
        there = getattr(self._memory, name, None)
        if there is None or there.size < size * size:
            there = np.empty(size * size, dtype)
            setattr(self._memory, name, there)
        square: Array = there[: size * size].reshape(size, size)
        return square


def solve_path(
    K: Array,
    rows: IntArray,
    problems: Sequence[BoxQP],
    tol: float,
    workshop: Workshop,
    ends: float = math.inf,
) -> list[Answer]:
    """Solve problems of the same variables one after the other, on rows of a float64 matrix.

    The first starts where it says; each other one at the better of the last answer β and its
    multiple cβ, where c is the ratio of their boxes (C₂/C₁ for a path over C). Answers after the
    time ``ends`` are missing. Nothing else is shared, so a path may be cut anywhere without any
    change to the answers before the cut.
    """
    answers: list[Answer] = []
    path: _Path | None = None
    for problem in problems:
        _parallel.check_stopped()
        if time.perf_counter() > ends:
            break
        if path is None or not path.fits(problem):
            path = _Path(K, rows, problem, workshop)
        answers.append(path.solve(problem, tol, ends))
    return answers


class _Path:
    def __init__(self, K: Array, rows: IntArray, first: BoxQP, workshop: Workshop) -> None:
        self.K, self.rows = K, rows
        self.row = first.row
        self.idx = rows[first.row].astype(np.intp)
        m = len(first)
        self.block, self.there = workshop.block(m), np.zeros(m, np.bool_)
        self.diag = K[self.idx, self.idx].astype(np.float32)
        self.last: BoxQP | None = None
        self.beta: Array = np.zeros(m)
        self.f: Array = np.zeros(m)
        self.drift = 0.0

    def fits(self, problem: BoxQP) -> bool:
        return np.array_equal(problem.row, self.row)

    def solve(self, problem: BoxQP, tol: float, ends: float) -> Answer:
        began = time.perf_counter()
        beta, f = self._start(problem, tol)
        steps, idle, best = 0, 0, math.inf
        status = "optimal"
        parts = (problem.p, problem.lo, problem.hi, problem.group, problem.groups)
        while True:
            left = _fast.path.violation(problem.p, f, beta, *parts[1:])
            if left <= tol:
                if self.drift <= DRIFT * tol:
                    break
                beta, f = self._at(beta, None)
                continue
            if time.perf_counter() > ends:
                status = "time_limit"
                break
            idle = 0 if left < 0.9 * best else idle + 1
            best = min(best, left)
            if idle > PATIENCE:
                beta, f, status = self._carefully(problem, beta, tol, ends)
                break
            _parallel.check_stopped()
            taken, _, drift = _fast.path.improve(
                self.K, self.idx, self.block, self.there, self.diag, *parts, beta, f, tol,
                ROUNDS, PAIRS,
            )  # fmt: skip
            steps += taken
            self.drift += drift
        self.last, self.beta, self.f = problem, beta, f
        values = np.empty(len(self.rows))
        values[problem.row] = f
        return Answer(beta, values, status, steps, time.perf_counter() - began)

    def _start(self, problem: BoxQP, tol: float) -> tuple[Array, Array]:
        if self.last is None:
            return self._at(problem.start.astype(np.float64), None)
        ratio = float((problem.hi - problem.lo).sum() / (self.last.hi - self.last.lo).sum())
        linear, square = float(problem.p @ self.beta), float(self.beta @ self.f)
        factor = max((1.0, ratio), key=lambda c: c * linear - 0.5 * c * c * square)
        wanted = factor * self.beta
        beta = problem.feasible(wanted)
        near = np.abs(beta - wanted).max() <= 1e-12 * np.abs(wanted).max()
        self.drift *= factor
        return self._at(beta, factor * self.f if near and self.drift <= DRIFT * tol else None)

    def _at(self, beta: Array, f: Array | None) -> tuple[Array, Array]:
        if f is None:
            self.drift = 0.0
            used = np.flatnonzero(beta)
            f = np.zeros(len(beta), np.float64)
            for part in np.array_split(used, max(1, len(used) // 256)):
                f += beta[part] @ self.K[self.idx[part]][:, self.idx]
        return beta, f

    def _carefully(
        self, problem: BoxQP, beta: Array, tol: float, ends: float
    ) -> tuple[Array, Array, str]:
        """Go on with the solver that can do float64 throughout and knows when it is stuck."""
        whole: Any = self.K[np.ix_(self.rows, self.rows)]
        limit = math.inf if math.isinf(ends) else max(ends - time.perf_counter(), 1e-3)
        settings = Settings(tol=tol, time_limit=limit, threads=1)
        self.drift = 0.0
        rest = solve(problem, DenseRows(whole), settings, problem.feasible(beta))
        return rest.beta, rest.f[problem.row], rest.status
