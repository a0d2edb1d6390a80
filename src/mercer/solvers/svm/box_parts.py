"""Several small box QPs on rows of one dense matrix, in a few compiled calls."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.problems.qp import BoxQP, rounding_of_sums
from mercer.solvers.base import Budget, Outcome, Status

SERIAL = 400_000
"""Cells of the matrices of several problems up to which other threads come too late to help."""
TOGETHER = 500
"""Variables up to which several problems are solved in one compiled call: their rounds are short.
"""
ROUNDS, ROUND_VARIABLES = 8, 4000
"""Most rounds in one compiled call, and variables in all of them together, so that time limits and
Ctrl-C are heard."""
PAIRS, PAIRS_EACH = 3000, 16
"""Pair steps in a round, and for each variable, before active-set steps are worth their price
(measured on classifiers of 200 to 2,000 rows)."""
FINE, FINE_TOL = 200, 1e-2
"""Variables up to which an answer is made exact, which costs less than the fit around it, and the
tolerance above which nobody asks for that."""
SUMS_ROUNDING = 1e-12
"""Error of a fixed sum, as a share of what it adds up, that rounding of float64 leaves."""

Part = tuple[IntArray, BoxQP]
"""Some rows of a matrix, and the problem on them."""


def solve_together(
    parts: Sequence[Part], K: Array, at: IntArray, budget: Budget, threads: int
) -> list[Outcome[Array] | None]:
    """Find answers of small problems in a few compiled calls; others are None."""
    found: list[Outcome[Array] | None] = [None] * len(parts)
    small = [j for j, (_, problem) in enumerate(parts) if len(problem) <= TOGETHER]
    if not small:
        return found
    sizes = [len(parts[j][1]) for j in small]
    greatest = float(np.abs(np.diagonal(K)).max())

    def task(group: Sequence[int]) -> None:
        chosen = [parts[j] for j in group]
        problems = [problem for _, problem in chosen]
        ends = np.zeros(len(problems) + 1, np.intp)
        np.cumsum([len(problem) for problem in problems], out=ends[1:])
        idx = at[np.concatenate([rows[problem.row] for rows, problem in chosen])]
        beta = np.concatenate([problem.start for problem in problems])
        f = np.empty(len(beta))
        numbers = _fast.box_parts.solve_parts(
            K, idx.astype(np.intp, copy=False), ends,
            np.concatenate([problem.p for problem in problems]),
            np.concatenate([problem.lo for problem in problems]),
            np.concatenate([problem.hi for problem in problems]),
            np.concatenate([problem.group for problem in problems]), problems[0].groups,
            beta, f, budget.tol, ROUNDS, PAIRS, PAIRS_EACH,
            FINE if budget.tol <= FINE_TOL else 0,
        )  # fmt: skip
        for k, (j, (steps, curved, left, error)) in enumerate(
            zip(group, numbers.tolist(), strict=True)
        ):
            mine, (rows, problem) = slice(ends[k], ends[k + 1]), parts[j]
            if left > budget.tol or error > SUMS_ROUNDING:
                continue
            floor = rounding_of_sums(beta[mine], greatest)
            asked = budget.gap < math.inf and not curved
            if asked and problem.relative_gap(beta[mine], f[mine], floor) > budget.gap:
                continue
            values = np.zeros(len(rows))
            values[problem.row] = f[mine]
            details = {"violation": left, "nonconvex": bool(curved)}
            found[j] = Outcome(
                beta[mine], Status.OPTIMAL, int(steps), values, details,
                gap_seen=budget.gap < math.inf,
            )  # fmt: skip

    # Calls short enough that Ctrl-C is heard, and one for each thread where that pays.
    wanted = 1 if sum(size * size for size in sizes) <= SERIAL else threads
    calls = min(len(small), max(wanted, math.ceil(sum(sizes) / ROUND_VARIABLES)))
    if calls == 1:
        task(small)
    else:
        _parallel.run(task, [small[k::calls] for k in range(calls)], threads)
    return found
