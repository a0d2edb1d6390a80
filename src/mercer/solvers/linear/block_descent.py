"""Block coordinate descent for least squares whose targets share their columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, IntArray, Matrix
from mercer.gram.base import GramMatrix
from mercer.problems.multi_task import MultiTaskProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status

FIRST_COLUMNS = 100
"""The least number of zeros that a working set looks at: their Gram matrix costs little."""
_POLISHES = 2
"""Sets of rounds after the gap is small: they cost little and gain digits of small weights, which
the gap does not see."""
_PATIENCE = 30
"""Sets in a row that may bring nothing before rounding is all that is left."""


@dataclass(frozen=True)
class BlockDescent(FeatureSolver[MultiTaskProblem, Array]):
    """Rounds over the rows of W on the Gram matrix of a working set, extrapolated now and then."""

    def run(
        self, problem: MultiTaskProblem, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        X, Y = gram.features(), problem.Y
        W = np.zeros((X.shape[1], Y.shape[1])) if start is None else start.copy()
        columns: IntArray = np.empty(0, np.intp)
        G: Array = np.empty((0, 0))
        epochs, least, waited, status = 0, np.inf, 0, None
        polished = 0
        while status is None:
            R = Y - X @ W
            c = np.asarray(X.T @ R)
            primal, dual = problem.bounds(W, R, c)
            gap = primal - dual
            waited = 0 if gap < 0.9 * least else waited + 1
            least = min(least, gap)
            near = not gap > problem.target(primal, budget.tol)
            if near and (polished >= _POLISHES or epochs == 0):
                status = Status.OPTIMAL
            elif waited >= _PATIENCE:
                status = Status.STALLED
            else:
                status = budget.stop(gap, epochs)
            if status is not None:
                status = Status.OPTIMAL if near else status
                break
            polished = polished + 1 if near else 0
            chosen = _working_set(W, c - problem.l2 * W)
            if not np.isin(chosen, columns).all():
                columns, G = chosen, _columns_gram(X, chosen)
            rounds = _fast.lasso.LAST
            if budget.max_iter >= 0:
                rounds = min(rounds, budget.max_iter - epochs)
            with _parallel.one_blas_thread():  # the matrices are small
                W[columns] = _rounds(problem, G, W[columns], c[columns], rounds)
            epochs += rounds
        return Outcome(W, status, epochs, product=Y - R)


def _working_set(W: Array, slopes: Array) -> IntArray:
    """Return the columns in use and those of the longest slopes, in order."""
    lengths = np.linalg.norm(slopes, axis=1)
    used = W.any(axis=1)
    size = int(np.count_nonzero(used))
    size = min(size + max(FIRST_COLUMNS, size), len(W))
    lengths[used] = np.inf
    if size == len(W):
        return np.arange(size)
    return np.sort(np.argpartition(-lengths, size)[:size])


def _columns_gram(X: Matrix, columns: IntArray) -> Array:
    count = len(columns)
    _memory.require(
        8 * count**2, f"The Gram matrix of {count:,} columns", "Raise the penalty: fewer are used."
    )
    A = X[:, columns]
    return np.ascontiguousarray((A.T @ A).toarray() if sparse.issparse(X) else A.T @ A)


def _rounds(problem: MultiTaskProblem, G: Array, W: Array, S: Array, count: int) -> Array:
    """Return the weights after some rounds, and after a look ahead where that is better.

    S is Xᵀ(Y − XW) of the columns.
    """
    W, S = np.ascontiguousarray(W), np.ascontiguousarray(S)
    Q = S + G @ W
    last, slopes = np.empty((count, W.size)), np.empty((count, W.size))
    for at in range(count):
        _fast.lasso.descend_blocks(G, problem.l1, problem.l2, W, S)
        last[at], slopes[at] = W.ravel(), S.ravel()
    if count < _fast.lasso.LAST:
        return W
    ahead, further = np.empty(W.size), np.empty(W.size)
    if not _fast.lasso.extrapolate(last, slopes, problem.l2, ahead, further):
        return W
    V, T = ahead.reshape(W.shape), further.reshape(W.shape)

    def value(weights: Array, pull: Array) -> float:
        return problem.penalty(weights) - float(np.vdot(weights, Q + pull)) / 2

    return V if value(V, T) < value(W, S) else W
