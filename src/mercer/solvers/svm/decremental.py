"""The answers of a support vector machine that never saw one of its rows, for all rows in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray
from mercer.problems.qp import BoxQP
from mercer.solvers.svm.forced_moves import ForcedMoves

STEPS_EACH = 200
"""Pair steps for each variable after which a row is given up; its gap says how far it got."""
ROWS_EACH = 8
"""Rows left out in one compiled call: a few milliseconds, so that Ctrl-C is heard."""
PROBES = 12
"""Rows that are tried before the answers to forced moves are trusted to be found for half of all: a
hundredth of the rows of problems for which it matters."""


@dataclass(frozen=True, eq=False)
class LeftOutValues:
    """The value f₋ᵢ(xᵢ) + b₋ᵢ at each row, and what is known of it.

    Attributes
    ----------
    values : array of shape (n,)
        The values.
    low, high : arrays of shape (n,)
        The values of the exact machine lie between these.
    gaps : array of shape (n,)
        Primal minus dual value of each problem.
    steps : array of shape (n,)
        Pair steps that each problem took.
    """

    values: Array
    low: Array
    high: Array
    gaps: Array
    steps: IntArray


def can_leave_out(problem: BoxQP) -> bool:
    """Tell whether the problem without a row is the same problem with a smaller box."""
    bounded = np.isfinite(problem.lo).all() and np.isfinite(problem.hi).all()
    plain = problem.has_bias and problem.groups == 1 and not problem.sums.any()
    return bool(bounded and plain)


def leave_out_each(
    problem: BoxQP,
    K: Array,
    rows: IntArray,
    start: Array,
    tol: float,
    threads: int | None = None,
) -> LeftOutValues:
    """Solve a problem on some rows of a float64 matrix once for each row of the matrix, without it.

    A row outside the problem has the value of the machine of all rows; so has, by the same problem,
    a row whose multipliers are 0. For the others the box of the row is shut. Where the free
    multipliers go when those of the row fall to 0 is known for all rows from one inverse; from
    there pair steps and active-set steps go on to the optimum.

    The answer w of multipliers β and the best one w* satisfy ‖w − w*‖² ≤ P(w, b) − D(β), the gap:
    P is strongly convex in w, so P(w, b) − P* ≥ ½‖w − w*‖², and D* − D(β) ≥ ½‖w − w*‖² likewise.
    """
    inside = K if len(rows) == len(K) else np.ascontiguousarray(K[np.ix_(rows, rows)])
    beta = problem.feasible(start)
    F = problem.p - (inside @ problem.coefficients(beta, len(rows)))[problem.row]
    box = (problem.lo, problem.hi)
    most = STEPS_EACH * len(problem)
    _fast.without_rows.climb(inside, F, *box, beta, tol, most)
    coefficients = problem.coefficients(beta, len(rows))
    F = problem.p - (inside @ coefficients)[problem.row]

    found = np.empty((len(K), 5))
    if len(rows) < len(K):
        bias, low, high, gap, radius = _fast.without_rows.judge(inside, F, *box, beta)
        f = K[:, rows] @ coefficients
        apart = radius * np.sqrt(np.maximum(np.diagonal(K), 0.0))
        found[:] = np.column_stack(
            [f + bias, f - apart + low, f + apart + high, np.full(len(K), gap), np.zeros(len(K))]
        )

    each = np.empty((len(rows), 5))
    moves = _moves(problem, inside, beta, F)
    # Nearly all that moves is free: its rows of the matrix are copied once, not for each call.
    free = np.unique(problem.row[(beta > problem.lo) & (beta < problem.hi)])
    free_rows = np.ascontiguousarray(inside[free])
    is_bound = np.ones(len(rows), dtype=bool)
    is_bound[free] = False

    def leave_out(begin: int) -> None:
        _parallel.check_stopped()
        some = np.arange(begin, min(begin + ROWS_EACH, len(rows)))
        starts = np.array([_start(problem, beta, moves, int(row)) for row in some])
        changes = np.array([problem.coefficients(start - beta, len(rows)) for start in starts])
        moved = np.flatnonzero(changes.any(axis=0) & is_bound)
        taken = changes[:, free] @ free_rows + changes[:, moved] @ inside[moved]
        _fast.without_rows.without(
            inside, problem.p, *box, starts, np.ascontiguousarray(F - taken[:, problem.row]), some,
            tol, most, each[begin : begin + ROWS_EACH],
        )  # fmt: skip

    _parallel.run(leave_out, range(0, len(rows), ROWS_EACH), _parallel.thread_count(threads))
    found[rows] = each
    values, low_ends, high_ends, gaps, steps = found.T
    return LeftOutValues(values, low_ends, high_ends, gaps, steps.astype(np.intp))


def _moves(problem: BoxQP, K: Array, beta: Array, F: Array) -> ForcedMoves | None:
    """Return the answers to forced moves; None where they are found for few of the rows."""
    moves = ForcedMoves.of(problem, K, beta, F)
    support = np.unique(problem.row[beta != 0])
    if moves is None or len(support) <= PROBES:
        return moves
    probed = support[np.linspace(0, len(support) - 1, PROBES).astype(np.intp)]
    found = sum(moves.without(int(row)) is not None for row in probed)
    return moves if found >= PROBES / 2 else None


def _start(problem: BoxQP, beta: Array, moves: ForcedMoves | None, row: int) -> Array:
    """Return multipliers in the box without a row, near the optimum where that is known."""
    own = problem.row == row
    found = moves.without(row) if moves is not None and beta[own].any() else None
    return np.where(own, 0.0, beta) if found is None else found


def is_semidefinite(K: Array) -> bool:
    """Tell whether a matrix has no negative eigenvalue beyond rounding."""
    shift = 1e-10 * max(float(np.abs(np.diagonal(K)).max()), np.finfo(np.float64).tiny)
    try:
        np.linalg.cholesky(K + shift * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return True
