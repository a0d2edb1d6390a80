"""Where the functions of logistic regression live: weights of columns, or functions of a kernel.

Both are vectors of a space with an inner product: ⟨u, v⟩ = uᵀv for weights, uᵀKv for the
coefficients of functions. The gradient, the Newton system and the gap read the same in either.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer import _fast, _memory
from mercer._typing import Array, Matrix
from mercer.gram.base import GramMatrix
from mercer.linalg.pcg import Pairing, Product, conjugate_gradients, error_above, whole_product
from mercer.problems.linear import DesignRows
from mercer.problems.logistic import LogisticProblem, View
from mercer.solvers.linear.secant_memory import SecantMemory

_MOST_CONJUGATE_STEPS = 1_000
"""A limit that only systems with next to no regularisation meet."""
_BLOCK = 1 << 18
"""Numbers of X that are weighted at a time: two megabytes, about an L2 cache."""
_FEW_ROWS = 250
"""Rows whose system costs less than conjugate gradients on wide data: measured, equal at 300."""
_WORTH_A_FACTOR = 16
"""Weights for each step of conjugate gradients that takes as long as a new factor: a factor needs
the products of all pairs of columns, a step two passes over the data."""
_SHARE_OF_OLD = 1e-2
"""To which share a step by an old factor brings the error down: two or three steps do."""
_FEW_NEWTON, _WEIGHTS_A_SECANT = 10, 32
"""Steps by secants that a few of Newton's with an old factor cost, and weights for each step that
takes as long as a new factor: its products are those of matrices, many times as fast."""
_ROWS_A_SECANT = 50
"""The same for a system of the size of the rows: measured on sparse ones of 50 to 250 rows."""
_LITTLE_WORK = 1 << 20
"""Products of numbers in a Newton matrix up to which it is formed in each step: 0.1 ms. Steps by
secants take less time from there on, and about as long below."""
_MANY_ROWS = 10_000
"""Rows from which steps by secants take less time however few columns there are."""
_SMALL, _SMALL_WIDE, _WIDE = 1 << 20, 3 << 17, 50
"""Numbers in a matrix up to which one thread is faster than two: fewer in one with wide rows,
columns from which they are that. Measured from 1,500 to 100,000 rows."""
_JITTER = 1e-12
"""What is added to a diagonal where no penalty bounds it, as a share of its largest entry."""


Space: TypeAlias = "WeightSpace | FunctionSpace"
"""Where the functions live: both have the same methods."""


class Element:
    """Functions by their coefficients; their values at the rows are computed when asked for."""

    def __init__(self, space: Space, coef: Array, values: Array | None = None) -> None:
        self.space, self.coef, self._values = space, coef, values

    @property
    def values(self) -> Array:
        """The values at the rows."""
        if self._values is None:
            self._values = self.space.values(self.coef)
        return self._values

    @property
    def known(self) -> bool:
        """Whether the values are computed already."""
        return self._values is not None

    def plus(self, share: float, other: Element) -> Element:
        """Return self + share · other."""
        values = None
        if self.known and other.known:
            values = share * other.values
            values += self.values
        return Element(self.space, self.coef + share * other.coef, values)

    def opposite(self) -> Element:
        """Return the functions with the other sign."""
        return Element(self.space, -self.coef, -self.values if self.known else None)

    def dot(self, other: Element) -> float:
        """Return the inner product."""
        return self.space.dot(self, other)


class WeightSpace:
    """Weights of columns, W of shape (columns, functions)."""

    def __init__(self, rows: DesignRows, largest_system: int) -> None:
        self.rows, self.largest_system = rows, largest_system
        self.squares: Matrix | None = None
        self.outer: Array | None = None
        self.factor: tuple[Array, bool] | None = None
        """A Newton matrix of an earlier step, factored, while it is good enough."""

    @property
    def small(self) -> bool:
        """Whether one thread is faster than two."""
        return self.rows.entries <= (_SMALL_WIDE if self.length >= _WIDE else _SMALL)

    @property
    def length(self) -> int:
        """The number of columns."""
        return self.rows.columns

    def values(self, coef: Array) -> Array:
        """Return X W."""
        return self.rows.dot(coef)

    def adjoint(self, beta: Array) -> Array:
        """Return Xᵀβ."""
        return np.asarray(self.rows.combine(beta))

    def dot(self, a: Element, b: Element) -> float:
        """Return ⟨A, B⟩."""
        return float(np.vdot(a.coef, b.coef))

    def size(self, a: Element) -> float:
        """Return the largest weight, which ``tol`` bounds for the gradient."""
        return float(np.abs(a.coef).max(initial=0.0))

    def memory(self, problem: LogisticProblem, view: View) -> SecantMemory | None:
        """Return a memory of steps, where these get to the optimum sooner than Newton's method."""
        X = self.rows.X
        little = self._work(problem) <= _LITTLE_WORK and len(self.rows) < _MANY_ROWS
        if not problem.penalised or little:
            return None
        if sparse.issparse(X):
            return SecantMemory(self._diagonal(problem, view))
        squares = _fast.logistic.column_squares(X)
        if self.rows.constant:
            squares = np.append(squares, len(X) * self.rows.constant**2)
        # As if the curvatures of all rows were the same, which needs no copy of X.
        return SecantMemory(1 + np.outer(squares, problem.curvatures(view).mean(axis=0)))

    def secants_worth_newton(self, problem: LogisticProblem) -> float:
        """Return how many steps by secants take as long as Newton's method near the optimum.

        That forms one matrix and takes a few steps by conjugate gradients with its factor.
        """
        if self._by_rows(problem):
            return _FEW_NEWTON + len(self.rows) / _ROWS_A_SECANT
        size = self.length * problem.functions
        formed = not sparse.issparse(self.rows.X) and size <= min(
            self.largest_system, len(self.rows)
        )
        return _FEW_NEWTON + size / _WEIGHTS_A_SECANT if formed else math.inf

    def iterate(self, problem: LogisticProblem, view: View, r: Element, share: float) -> Array:
        """Solve the Newton system by conjugate gradients, its error brought down to a share.

        The preconditioner is the diagonal of the matrix.
        """
        diagonal, bend = self._diagonal(problem, view), problem.second_derivative(view)

        def multiply(P: Array) -> Array:
            bent = self.adjoint(bend(self.values(P)))
            return P + bent if problem.penalised else bent

        return _iterate(multiply, r.coef, lambda R: np.asarray(R / diagonal), share)

    def _diagonal(self, problem: LogisticProblem, view: View) -> Array:
        if self.squares is None:
            X = self.rows.X
            self.squares = X.multiply(X).tocsr() if sparse.issparse(X) else X**2
        squares = DesignRows(self.squares, self.rows.constant**2)
        diagonal = squares.combine(problem.curvatures(view))
        if problem.penalised:
            return np.asarray(1 + diagonal)
        return np.maximum(diagonal, 1e-12 * max(float(diagonal.max()), 1e-300))

    def solve(self, problem: LogisticProblem, view: View, r: Element) -> Array | None:
        """Form the Newton matrix and factor it; None where it is too large for that."""
        d, k = r.coef.shape
        if self._by_rows(problem):
            return self._solve_by_rows(problem, view, r)
        if d * k > self.largest_system or (k > 1 and sparse.issparse(self.rows.X)):
            return None
        found = self._solve_by_old_factor(problem, view, r)
        return self._solve_by_new_factor(problem, view, r) if found is None else found

    def _by_rows(self, problem: LogisticProblem) -> bool:
        """Tell whether systems of the size of the rows cost least: few rows, and more columns."""
        n = len(self.rows)
        return problem.functions == 1 and problem.penalised and n < self.length and n <= _FEW_ROWS

    def _work(self, problem: LogisticProblem) -> int:
        """Return the products of numbers in a Newton matrix."""
        return int(len(self.rows) * (self.length * problem.functions) ** 2)

    def _solve_by_old_factor(
        self, problem: LogisticProblem, view: View, r: Element
    ) -> Array | None:
        """Solve by conjugate gradients that an earlier factor guides; None where it is too old."""
        most = r.coef.size // _WORTH_A_FACTOR
        little = most < 2 or self._work(problem) <= _LITTLE_WORK
        if self.factor is None or little or not problem.penalised:
            return None
        factor, bend = self.factor, problem.second_derivative(view)
        steps = conjugate_gradients(
            lambda P: np.asarray(P + self.adjoint(bend(self.values(P)))),
            r.coef,
            going=error_above(_SHARE_OF_OLD),
            precondition=lambda R: _solve_factored(factor, R),
            pair=whole_product,
            max_iter=most,
        )
        if steps.status != "optimal":
            self.factor = None
            return None
        return steps.x

    def _solve_by_new_factor(
        self, problem: LogisticProblem, view: View, r: Element
    ) -> Array | None:
        H = self._hessian(problem, view)
        diagonal = np.einsum("ii->i", H)
        # Several functions may move together, and columns may depend on each other.
        diagonal += 1.0 if problem.penalised else _JITTER * max(float(diagonal.max()), 1e-300)
        factor, failed = dpotrf(H.T, lower=0, overwrite_a=1)
        if failed:
            return None
        self.factor = factor, False
        return _solve_factored(self.factor, r.coef)

    def _solve_by_rows(self, problem: LogisticProblem, view: View, r: Element) -> Array | None:
        """Solve a system of the size of the rows, where there are more columns than rows."""
        if self.outer is None:
            X = self.rows.X
            outer = X @ X.T
            outer = outer.toarray() if sparse.issparse(outer) else outer
            self.outer = outer + self.rows.constant**2
        y = _row_multipliers(problem, view, self.outer, r.values[:, 0])
        return None if y is None else np.asarray(r.coef - self.adjoint(y[:, None]))

    def _hessian(self, problem: LogisticProblem, view: View) -> Array:
        """Return the second derivative of the loss, weights of one function next to each other."""
        k, d = problem.functions, self.rows.columns
        if sparse.issparse(self.rows.X):
            return self._sparse_hessian(problem, view)
        weights = problem.curvatures(view)
        total = float(weights.sum())
        # From the mean of the columns digits are not lost, and for one function nothing is left
        # to be done about the bias.
        mean: Array = np.zeros(d)
        if problem.intercept and total > 0:
            mean = self.rows.combine(weights.sum(axis=1)) / total
        sized = d + (k > 1)
        H, own = np.zeros((k * sized, k * sized)), np.zeros((sized, k * sized))
        step = max(256, _BLOCK // (k * sized))
        for start in range(0, len(self.rows), step):
            part = slice(start, start + step)
            X = self.rows.X[part]
            if self.rows.constant:
                X = np.column_stack([X, np.full(len(X), self.rows.constant)])
            if k == 1:
                Z = _fast.logistic.centre_and_weigh(X, mean, np.sqrt(weights[part, 0]))
                H += Z.T @ Z
                continue
            root = np.sqrt(problem.C[part])
            Z, A = _fast.logistic.centre_and_share(X, mean, root, view.P[part])
            H -= Z.T @ Z
            own += A.T @ Z
        return H if k == 1 else _without_biases(problem, view, H, own)

    def _sparse_hessian(self, problem: LogisticProblem, view: View) -> Array:
        X = self.rows.X
        if self.rows.constant:
            ones = sparse.csr_array(np.full((X.shape[0], 1), self.rows.constant))
            X = sparse.hstack([X, ones], format="csr")
        weights = problem.curvatures(view)
        H: Array = (X.T @ X.multiply(weights).tocsr()).toarray()
        total = float(weights.sum())
        if problem.intercept and total > 0:
            sums = self.rows.combine(weights)[:, 0]
            H -= np.outer(sums, sums / total)
        return H


class FunctionSpace:
    """Functions Σ cᵢ k(xᵢ, ·), c of shape (rows, functions)."""

    def __init__(self, gram: GramMatrix, most_factored: int = 0) -> None:
        n, self.most_factored = gram.shape[0], most_factored
        there = _memory.available_bytes()
        fits = there is None or 16 * n**2 <= there
        self.length = n
        self.K: Array | None = gram.dense() if fits else None
        """The matrix, None where it does not fit."""
        self._multiply: Product = gram.multiply if self.K is None else self.K.__matmul__

    @property
    def small(self) -> bool:
        """Whether one thread is faster than two."""
        return self.length**2 <= _SMALL

    def values(self, coef: Array) -> Array:
        """Return K c."""
        return self._multiply(coef)

    def adjoint(self, beta: Array) -> Array:
        """Return β: the coefficients are the weights of the rows."""
        return beta

    def memory(self, problem: LogisticProblem, view: View) -> SecantMemory | None:
        """Return None: secants would have to be measured by K."""
        return None

    def secants_worth_newton(self, problem: LogisticProblem) -> float:
        """Return ∞: there are no secants that could take too long."""
        return math.inf

    def dot(self, a: Element, b: Element) -> float:
        """Return Σ aᵀKb, from whichever values are there."""
        if a.known and not b.known:
            return float(np.vdot(a.values, b.coef))
        return float(np.vdot(a.coef, b.values))

    def size(self, a: Element) -> float:
        """Return the largest value at a row."""
        return float(np.abs(a.values).max(initial=0.0))

    def iterate(self, problem: LogisticProblem, view: View, r: Element, share: float) -> Array:
        """Solve without a preconditioner; directions carry their values along."""
        n, bend = self.length, problem.second_derivative(view)

        def multiply(P: Array) -> Array:
            bent = bend(P[n:])
            return P[:n] + bent if problem.penalised else bent

        return _iterate(
            multiply,
            r.coef,
            lambda R: np.concatenate([R, self.values(R)]),
            share,
            lambda R, Z: whole_product(R, Z[n:]),
        )[:n]

    def solve(self, problem: LogisticProblem, view: View, r: Element) -> Array | None:
        """Factor I + √A K √A, A the curvatures of the rows, for two classes, not too many rows."""
        if problem.classes > 2 or self.K is None or len(self.K) > self.most_factored:
            return None
        y = _row_multipliers(problem, view, self.K, r.values[:, 0])
        return None if y is None else np.asarray(r.coef - y[:, None])


def _without_biases(problem: LogisticProblem, view: View, H: Array, own: Array) -> Array:
    """Return the second derivative of the loss in the weights of several functions.

    ``H`` is −ZᵀZ of the rows z = √C p ⊗ (x, 1), and ``own`` the matrix of Σ Cp (x, 1)(x, 1)ᵀ, one
    block for each function, which belong on the diagonal. The biases follow the weights.
    """
    k, sized = problem.functions, len(own)
    for a in range(k):
        mine = slice(a * sized, (a + 1) * sized)
        H[mine, mine] += own[:, mine]
    parts = H.reshape(k, sized, k, sized)
    size = k * (sized - 1)
    W = parts[:, :-1, :, :-1].reshape(size, size)
    if problem.intercept:
        U = parts[:, :-1, :, -1].reshape(len(W), k)
        W -= U @ problem.bias_inverse(view) @ U.T
    return np.ascontiguousarray(W)


def _solve_factored(factor: tuple[Array, bool], R: Array) -> Array:
    """Solve a system for the coefficients of all functions, one function after the other."""
    d, k = R.shape
    found, _ = dpotrs(factor[0], R.T.ravel(), lower=factor[1])
    return np.ascontiguousarray(found.reshape(k, d).T)


def _row_multipliers(problem: LogisticProblem, view: View, K: Array, values: Array) -> Array | None:
    """Return √A y, by which a Newton step differs from the right side r of its system.

    y solves I + √A K √A for √A times the values of r, A being the curvatures of the rows, among
    the y that leave Σ √A y = 0 if there is a bias. None where rounding leaves no factor.
    """
    root = np.sqrt(problem.curvatures(view)[:, 0])
    B = root[:, None] * K
    B *= root
    B[np.diag_indices_from(B)] += 1.0
    try:
        factor = linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    y = linalg.cho_solve(factor, root * values, check_finite=False)
    if problem.intercept:
        q = linalg.cho_solve(factor, root, check_finite=False)
        y -= q * (float(root @ y) / float(root @ q))
    return np.asarray(root * y)


def _iterate(
    multiply: Product,
    right: Array,
    precondition: Product,
    share: float,
    pair: Pairing = whole_product,
) -> Array:
    """Solve a Newton system until its error has fallen to a share."""
    return conjugate_gradients(
        multiply,
        right,
        going=error_above(share),
        precondition=precondition,
        pair=pair,
        max_iter=_MOST_CONJUGATE_STEPS,
    ).x
