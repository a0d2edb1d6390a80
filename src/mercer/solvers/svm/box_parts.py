"""Several small box QPs on rows of one dense matrix, in a few compiled calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.problems.qp import BoxQP
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

    def task(group: Sequence[int]) -> None:
        problems = [parts[j][1] for j in group]
        ends = _ends([len(problem) for problem in problems])
        row_ends = _ends([len(parts[j][0]) for j in group])
        # The rows of all problems in one list, and where in it each variable sits.
        place = np.concatenate([problem.row for problem in problems])
        place += np.repeat(row_ends[:-1], np.diff(ends))
        idx = at[np.concatenate([parts[j][0] for j in group])[place]]
        beta = np.concatenate([problem.start for problem in problems])
        f = np.empty(len(beta))
        numbers = _fast.box_parts.solve_parts(
            K, idx.astype(np.intp, copy=False), ends,
            np.concatenate([problem.p for problem in problems]),
            np.concatenate([problem.lo for problem in problems]),
            np.concatenate([problem.hi for problem in problems]),
            np.concatenate([problem.group for problem in problems]), problems[0].groups,
            beta, f, budget.tol, budget.gap, ROUNDS, PAIRS, PAIRS_EACH,
            FINE if budget.tol <= FINE_TOL else 0,
        )  # fmt: skip
        values = np.zeros(row_ends[-1])
        values[place] = f
        pieces = zip(group, _pieces(ends), _pieces(row_ends), numbers.tolist(), strict=True)
        for j, mine, rows, (steps, curved, left, error, gap) in pieces:
            # Where curvature is negative there is no gap to close.
            if left > budget.tol or error > SUMS_ROUNDING or (gap > budget.gap and not curved):
                continue
            details = {"violation": left, "nonconvex": bool(curved)}
            found[j] = Outcome(
                beta[mine], Status.OPTIMAL, int(steps), values[rows], details,
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


def _ends(sizes: Sequence[int]) -> IntArray:
    """Return where parts of these sizes begin and end that stand one after the other."""
    ends = np.zeros(len(sizes) + 1, np.intp)
    np.cumsum(sizes, out=ends[1:])
    return ends


def _pieces(ends: IntArray) -> list[slice]:
    places = ends.tolist()
    return [slice(begin, end) for begin, end in pairwise(places)]
