"""Logistic regression with an ℓ₁ penalty: proximal Newton steps on working sets of weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, IntArray, Matrix
from mercer.gram.base import GramMatrix
from mercer.problems.logistic import LogisticAnswer, View
from mercer.problems.sparse_logistic import SparseLogisticProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status
from mercer.solvers.line_search import backtrack
from mercer.solvers.linear.logistic_newton import SHARPNESS
from mercer.solvers.linear.signed_newton import signed_newton

FIRST_WEIGHTS = 100
"""The least number of zeros that a working set looks at: their Hessian costs next to nothing."""
_MOST_ROUNDS = 20
"""Rounds on a model, each with a Newton step: an inexact model only costs one more outer step."""
_EPOCHS = 20
"""Rounds of coordinate descent over the used weights between two Newton steps."""
_ROUGH = 0.1
"""Violations of a model at its end, as a share of those of the problem: at most a tenth."""
_HIDDEN = 1e-14
"""Rises of the objective, as a share of it, that rounding of float64 may have made."""
_SHORTEST_STEP = 1e-10
"""Newton steps cut down to this share promise nothing any more."""
_ROUNDING = 1e-11
"""The relative gap below which steps that no longer help have met rounding."""
_PATIENCE = 3
"""Steps in a row that may bring nothing."""
_SMALL = 1 << 20
"""Numbers in X up to which one thread is faster than two."""
_BLOCK = 1 << 18
"""Numbers of X that are weighted at a time: two megabytes, about an L2 cache."""


@dataclass(frozen=True)
class ProximalNewton(FeatureSolver[SparseLogisticProblem, LogisticAnswer]):
    """Minimise a quadratic model of the losses with the penalty, go there, and model again.

    A model is of the weights in use and of those zeros whose slopes are largest; the bias follows
    its weights. Up to ``small_system`` of these the Hessian is formed, and coordinate descent and
    Newton steps with signs held work on it; above, coordinate descent works on columns of X. Where
    that is too slow, as on columns that depend on each other, the Hessian is formed up to
    ``largest_system``.

    J. D. Lee, Y. Sun and M. A. Saunders, Proximal Newton-type methods for minimizing composite
    functions, SIAM Journal on Optimization 24 (2014).
    """

    small_system: int = 400
    largest_system: int = 4_000

    needs_features: ClassVar[bool] = True

    def run(
        self,
        problem: SparseLogisticProblem,
        gram: GramMatrix,
        budget: Budget,
        start: LogisticAnswer | None,
    ) -> Outcome[LogisticAnswer]:
        start = problem.zeros(gram) if start is None else start
        if budget.max_iter == 0:  # the start itself, its biases too
            return Outcome(start, Status.MAX_ITER)
        rows = problem.rows(gram)
        X = rows.X
        if rows.constant:
            last = np.full((len(rows), 1), rows.constant)
            X = sparse.hstack([X, last], format="csr") if sparse.issparse(X) else np.c_[X, last]
        small = X.shape[1] * len(rows) <= _SMALL
        with _parallel.one_blas_thread() if small else nullcontext():
            return _Steps(problem, X, start.coef, budget, self).solve()


class _Steps:
    """One solve."""

    def __init__(
        self,
        problem: SparseLogisticProblem,
        X: Matrix,
        W: Array,
        budget: Budget,
        limits: ProximalNewton,
    ) -> None:
        self.problem, self.X, self.W, self.budget = problem, X, W, budget
        self.columns = sparse.csc_array(X) if sparse.issparse(X) else X
        self.limits, self.largest = limits, limits.small_system
        self.F: Array = X @ W
        self.view = problem.with_best_bias(self.F)
        self.steps = 0

    def solve(self) -> Outcome[LogisticAnswer]:
        problem, budget = self.problem, self.budget
        total = float(problem.C.sum())
        least, waited, status = np.inf, 0, None
        while status is None:
            V: Array = self.X.T @ self.view.beta
            slopes = problem.slopes(self.W, V)
            value = self.view.loss + problem.penalty(self.W)
            gap = value - problem.dual_value(self.view.beta, V, slopes)
            violation = float(problem.violations(self.W, slopes).max(initial=0.0))
            waited = 0 if gap < 0.9 * least else waited + 1
            least = min(least, gap)
            near = gap <= SHARPNESS * budget.tol * value and violation <= budget.tol * total
            if near or (waited >= _PATIENCE and gap <= _ROUNDING * value):
                status = Status.OPTIMAL
                break
            status = budget.stop(violation / total, self.steps)
            if status is not None:
                break
            self.steps += 1
            if not self._step(slopes, V, value, min(_ROUGH, gap / value) * violation):
                status = Status.OPTIMAL if gap <= _ROUNDING * value else Status.STALLED
        answer = LogisticAnswer(self.W, self.view.bias)
        if near and budget.gap < math.inf:
            return Outcome(answer, status, self.steps, gap_seen=True)
        # Fresh values: those that went along with the steps have gathered rounding.
        return Outcome(answer, status, self.steps, product=self.X @ self.W)

    def _step(self, slopes: Array, V: Array, value: float, accuracy: float) -> bool:
        """Model the losses, minimise, and go there; tell whether the objective fell."""
        problem = self.problem
        chosen = self._working_set(slopes)
        kind = _HessianModel if len(chosen) <= self.largest else _ColumnModel
        model = kind(problem, self.view, self.columns, chosen)
        at = chosen.column, chosen.function
        d = np.zeros_like(self.W)
        with _parallel.one_blas_thread():  # the matrices are small
            d[at] = model.minimise(self.W[at], V[at], accuracy) - self.W[at]
        if not model.reached:
            self.largest = self.limits.largest_system
        used = np.flatnonzero(d.any(axis=1))
        U: Array = self.columns[:, used] @ d[used]
        W, F, view = self.W, self.F, self.view
        promised = problem.penalty(W + d) - problem.penalty(W) - float(np.vdot(V, d))
        trial, values, after = W, F, view

        def along(share: float) -> float:
            nonlocal trial, values, after
            trial, values = W + share * d, F + share * U
            after = problem.with_best_bias(values, view.bias)
            return after.loss + problem.penalty(trial)

        step = backtrack(along, value, promised, hidden=_HIDDEN, smallest=_SHORTEST_STEP)
        if step.size > 0:
            self.W, self.F, self.view = trial, values, after
        return step.size > 0

    def _working_set(self, slopes: Array) -> _Chosen:
        """Return the weights in use and the zeros of the largest slopes."""
        used = self.W.T != 0
        pull = np.where(used, np.inf, np.abs(slopes.T)).ravel()
        size = int(np.count_nonzero(used))
        size = min(size + max(FIRST_WEIGHTS, size), pull.size)
        at = np.arange(pull.size)
        if size < pull.size:
            at = np.sort(np.argpartition(-pull, size)[:size])
        function, column = np.divmod(at, len(self.W))
        return _Chosen(column, function, self.W.shape[1])


class _Chosen:
    """Some weights, by column and function; those of a function are next to each other."""

    def __init__(self, column: IntArray, function: IntArray, functions: int) -> None:
        self.column, self.function = column, function
        ends = np.searchsorted(function, np.arange(functions + 1))
        self.spans = [slice(ends[a], ends[a + 1]) for a in range(functions)]

    def __len__(self) -> int:
        return len(self.column)


class _HessianModel:
    """The quadratic model of the losses in some weights, by its Hessian.

    ``reached`` tells whether ``minimise`` came to its accuracy.
    """

    def __init__(
        self, problem: SparseLogisticProblem, view: View, columns: Matrix, chosen: _Chosen
    ) -> None:
        self.penalty, self.reached = (problem.l1, problem.l2), False
        self.H = hessian(problem, view, columns, chosen)

    def minimise(self, w: Array, slopes: Array, accuracy: float) -> Array:
        """Return the minimum from w, where minus the slopes of the losses are given."""
        H, w, g = self.H, w.copy(), slopes.copy()
        q = slopes + H @ w
        everyone = np.arange(len(w))
        for _ in range(_MOST_ROUNDS):
            _fast.lasso.descend(H, *self.penalty, False, w, g, everyone, 2, 0.0)
            used = np.flatnonzero(w)
            if used.size:
                A, v, some = H[np.ix_(used, used)], w[used], g[used]
                order = everyone[: used.size]
                _fast.lasso.descend(A, *self.penalty, False, v, some, order, _EPOCHS, 0.0)
                signed_newton(*self.penalty, A, q[used], v)
                w[used] = v
            g = q - H @ w
            self.reached = self._violation(w, g) <= accuracy
            if self.reached:
                break
        return w

    def _violation(self, w: Array, g: Array) -> float:
        l1, l2 = self.penalty
        slopes = g - l2 * w
        still = np.maximum(np.abs(slopes) - l1, 0.0)
        return float(np.where(w != 0, np.abs(slopes - l1 * np.sign(w)), still).max(initial=0.0))


class _ColumnModel:
    """The same by columns of X, for more weights than a Hessian is worth."""

    def __init__(
        self, problem: SparseLogisticProblem, view: View, columns: Matrix, chosen: _Chosen
    ) -> None:
        self.penalty, self.reached = (problem.l1, problem.l2), False
        self.intercept = problem.intercept
        self.function = chosen.function
        distinct, self.column = np.unique(chosen.column, return_inverse=True)
        part = columns[:, distinct]
        none = np.empty(0, np.int64)
        curvatures = problem.curvatures(view)
        if sparse.issparse(part):
            self.matrix = part.data, part.indices.astype(np.int64), part.indptr.astype(np.int64)
            squares = part.multiply(part).T @ curvatures
        else:
            if problem.intercept:  # the bias is next to independent of columns without means
                weights = curvatures.sum(axis=1)
                part = part - weights @ part / max(float(weights.sum()), 1e-300)
            part = np.asfortranarray(part)
            self.matrix = part.ravel(order="K"), none, none
            squares = (part**2).T @ curvatures
        self.curvature = np.ascontiguousarray(squares[self.column, self.function])
        self.own = curvatures
        several = problem.functions > 1
        self.P = view.P if several else np.zeros_like(view.P)
        self.weights = problem.C[:, None] * view.P if several else curvatures

    def minimise(self, w: Array, slopes: Array, accuracy: float) -> Array:
        """Return weights near the minimum from w; minus the slopes of the losses are given."""
        w, U, inner = w.copy(), np.zeros(self.P.shape), np.zeros(len(self.P))
        order, everyone = np.arange(len(w)), np.arange(len(w))
        for _ in range(_MOST_ROUNDS * _EPOCHS):
            worst = _fast.logistic.descend_weights(
                *self.matrix, self.column, self.function, self.weights, self.P, *self.penalty,
                self.curvature, slopes, w, U, inner, order,
            )  # fmt: skip
            if self.intercept:
                _fast.logistic.move_biases(self.weights, self.P, self.own, U, inner)
            # Most rounds are for the weights in use, and those of all decide.
            if worst > accuracy:
                order = np.flatnonzero(w) if len(order) == len(everyone) else order
            elif len(order) == len(everyone):
                self.reached = True
                break
            else:
                order = everyone
        return w


def hessian(problem: SparseLogisticProblem, view: View, columns: Matrix, chosen: _Chosen) -> Array:
    """Return the second derivative of the losses in the chosen weights, the bias following along.

    Of one function it is Σ Cᵢ p_a(1 − p_a) x̃x̃ᵀ, and of two −Σ Cᵢ p_a p_b x̃x̃ᵀ.
    """
    size, k = len(chosen), problem.functions
    _memory.require(
        8 * size**2, f"The Hessian of {size:,} weights", "Lower C, so that fewer are in use."
    )
    curvatures = problem.curvatures(view)
    crossed = np.sqrt(problem.C)[:, None] * view.P
    H, U = np.zeros((size, size)), np.zeros((size, k))
    for rows, A in _pieces(problem, columns, chosen, curvatures):
        Q = _weighted(A, crossed[rows][:, chosen.function]) if k > 1 else A
        for a, mine in enumerate(chosen.spans):
            B = A[:, mine]
            own = _weighted(B, curvatures[rows, a : a + 1])
            H[mine, mine] += _product(own, B)
            U[mine, a] += own.sum(axis=0)
            if k > 1:
                before = slice(0, mine.start)
                H[mine, before] -= _product(Q[:, mine], Q[:, before])
                others = np.arange(k) != a
                U[mine, others] -= Q[:, mine].T @ crossed[rows][:, others]
    if k > 1:
        for mine in chosen.spans:
            H[: mine.start, mine] = H[mine, : mine.start].T
    if problem.intercept:
        H -= U @ problem.bias_inverse(view) @ U.T
    at = np.diag_indices(size)
    H[at] = np.maximum(H[at], 0.0)
    return H


def _pieces(
    problem: SparseLogisticProblem, columns: Matrix, chosen: _Chosen, curvatures: Array
) -> Iterator[tuple[slice, Matrix]]:
    """Yield the chosen columns, a cache-sized block of rows at a time; sparse ones as a whole.

    With an intercept dense columns count from their means, so that no digits are lost.
    """
    if sparse.issparse(columns):
        yield slice(None), columns[:, chosen.column]
        return
    mean = 0.0
    weights = curvatures.sum(axis=1)
    if problem.intercept and weights.any():
        mean = (weights @ columns)[chosen.column] / weights.sum()
    step = max(256, _BLOCK // max(len(chosen), 1))
    for begin in range(0, len(columns), step):
        rows = slice(begin, begin + step)
        yield rows, columns[rows][:, chosen.column] - mean


def _weighted(A: Matrix, weights: Array) -> Matrix:
    return sparse.csc_array(A.multiply(weights)) if sparse.issparse(A) else A * weights


def _product(A: Matrix, B: Matrix) -> Array:
    """Return AᵀB, dense."""
    return np.asarray((A.T @ B).toarray() if sparse.issparse(A) else A.T @ B)
