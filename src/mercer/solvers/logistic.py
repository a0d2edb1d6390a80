"""Newton's method for logistic regression: weights of columns, or functions of a kernel.

Both are vectors of a space with an inner product: ⟨u, v⟩ = uᵀv for weights, uᵀKv for the
coefficients of functions. The gradient, the Newton system and the gap read the same in either.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import linalg, sparse

from mercer import _parallel
from mercer._typing import Array
from mercer.problems.certificate import Certificate
from mercer.problems.linear import FeatureRows
from mercer.problems.logistic import Combined, LogisticProblem, View

SHARPNESS = 1e-4
"""The relative gap at the end, as a share of ``tol``: 1e-8 with the default of 1e-4."""
LARGEST_SYSTEM = 1_000
"""Weights up to which the Newton system is formed."""
MOST_ROWS_FACTORED = 5_000
"""Rows up to which the kernel matrix of two classes is factored in each step."""
_MOST_CONJUGATE_STEPS = 1_000
_BLOCK = 1 << 18
_SMALL = 1 << 20
"""Numbers in a matrix up to which one thread is faster than two."""
_JITTER = 1e-12
_ARMIJO = 1e-4


class Space(Protocol):
    """Where the functions live."""

    @property
    def entries(self) -> int:
        """The numbers in the matrix that makes values."""

    def values(self, coef: Array) -> Array:
        """Return the values of functions at the rows, n × functions."""

    def adjoint(self, beta: Array) -> Array:
        """Return the coefficients of Σ βᵢ φ(xᵢ)."""

    def dot(self, a: Element, b: Element) -> float:
        """Return the inner product."""

    def size(self, a: Element) -> float:
        """Return the largest entry, which ``tol`` bounds for the gradient."""

    def precondition(self, problem: LogisticProblem, view: View, r: Array) -> Array:
        """Return about the solution of the Newton system."""

    def solve(self, problem: LogisticProblem, view: View, r: Element) -> Array | None:
        """Return the solution of the Newton system, None where it is too large."""


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

    def plus(self, share: float, other: Element) -> Element:
        """Return self + share · other."""
        known = self._values is not None and other._values is not None
        values = self.values + share * other.values if known else None
        return Element(self.space, self.coef + share * other.coef, values)

    def dot(self, other: Element) -> float:
        """Return the inner product."""
        return self.space.dot(self, other)


@dataclass(frozen=True, eq=False)
class LogisticSolution:
    """Coefficients, biases and the proof."""

    coef: Array
    bias: Array
    certificate: Certificate


def solve(
    problem: LogisticProblem,
    space: Space,
    start: Array,
    tol: float,
    max_iter: int,
    ends: float = math.inf,
) -> LogisticSolution:
    """Solve until no slope exceeds ``tol`` and the relative gap is ``SHARPNESS · tol``.

    Slopes are those of the mean loss, the meaning that ``tol`` has in scikit-learn.
    """
    began = time.perf_counter()
    small = space.entries <= _SMALL
    with _parallel.one_blas_thread() if small else nullcontext():
        w, view, steps, status = _newton(problem, space, start, tol, max_iter, ends)
    proof = certify(
        problem,
        space,
        w.coef,
        view.bias,
        iterations=steps,
        seconds=time.perf_counter() - began,
        status=status,
    )
    return LogisticSolution(w.coef, view.bias, proof)


def _newton(
    problem: LogisticProblem, space: Space, start: Array, tol: float, max_iter: int, ends: float
) -> tuple[Element, View, int, str]:
    w = Element(space, start)
    view = problem.look(w.values)
    steps, status, best = 0, "optimal", math.inf
    while True:
        g = _gradient(problem, space, w, view)
        norm = g.dot(g)
        value = view.loss + (w.dot(w) / 2 if problem.penalised else 0.0)
        if _finished(problem, g, norm, value, tol):
            break
        # A step of Newton's that gains nothing any more has met rounding.
        if steps and norm > 0.25 * best and norm <= 1e-20 * float(problem.C.sum()) * value:
            break
        best = min(best, norm)
        if steps >= max_iter or time.perf_counter() > ends:
            status = "max_iter" if steps >= max_iter else "time_limit"
            break
        steps += 1
        d = _direction(problem, space, view, g, norm)
        if problem.functions > 1:
            # Only differences of functions matter to the loss; the penalty wants their sum zero.
            d = Element(space, d.coef - d.coef.mean(axis=1, keepdims=True))
        moved = _search(problem, w, view, d, g.dot(d), value)
        if moved is None:
            status = "stalled"
            break
        w, view = moved
    return w, view, steps, status


def certify(
    problem: LogisticProblem, space: Space, coef: Array, bias: Array, **cost: Any
) -> Certificate:
    """Judge coefficients from the data alone."""
    f = Element(space, coef)

    def combine(beta: Array) -> Combined:
        V = Element(space, space.adjoint(beta))
        left = V.plus(-1.0, f) if problem.penalised else V
        return Combined(V.dot(V), space.size(left))

    return problem.certify(f.values, bias, f.dot(f), combine, **cost)


def _gradient(problem: LogisticProblem, space: Space, w: Element, view: View) -> Element:
    V = Element(space, space.adjoint(view.beta))
    if problem.penalised:
        return w.plus(-1.0, V)
    return Element(space, -V.coef)


def _finished(problem: LogisticProblem, g: Element, norm: float, value: float, tol: float) -> bool:
    if g.space.size(g) > tol * float(problem.C.sum()):
        return False
    return not problem.penalised or norm / 2 <= SHARPNESS * tol * value


def _direction(
    problem: LogisticProblem, space: Space, view: View, g: Element, norm: float
) -> Element:
    """Return the Newton step −H⁻¹g, by a factorisation or by conjugate gradients."""
    right = Element(space, -g.coef, None if g._values is None else -g.values)
    whole = space.solve(problem, view, right)
    if whole is not None:
        return Element(space, whole)
    x = Element(space, np.zeros_like(g.coef), np.zeros_like(view.beta))
    r, share = right, min(0.1, norm**0.25 / (1 + norm**0.25))
    z = Element(space, space.precondition(problem, view, r.coef))
    p, rz = z, r.dot(z)
    first = rz
    for _ in range(_MOST_CONJUGATE_STEPS):
        if rz <= share**2 * first:
            break
        bent = Element(space, space.adjoint(problem.curve(view, p.values)))
        Hp = p.plus(1.0, bent) if problem.penalised else bent
        curvature = p.dot(Hp)
        if curvature <= 0:
            break
        size = rz / curvature
        x, r = x.plus(size, p), r.plus(-size, Hp)
        z = Element(space, space.precondition(problem, view, r.coef), r._values)
        rz, last = r.dot(z), rz
        p = z.plus(rz / last, p)
    # Fresh values: those that went along with the steps have gathered rounding.
    return Element(space, x.coef) if x.coef.any() else right


def _search(
    problem: LogisticProblem, w: Element, view: View, d: Element, slope: float, value: float
) -> tuple[Element, View] | None:
    """Halve the step until the objective falls enough."""
    share = 1.0
    while share > 1e-10:
        trial = w.plus(share, d)
        after = problem.look(trial.values, view.bias)
        reached = after.loss + (trial.dot(trial) / 2 if problem.penalised else 0.0)
        # Falls that are smaller than rounding cannot be seen.
        if reached <= value + _ARMIJO * share * slope + 1e-14 * abs(value):
            return trial, after
        share /= 2
    return None


class WeightSpace:
    """Weights of columns, W of shape (columns, functions)."""

    def __init__(self, rows: FeatureRows) -> None:
        self.rows = rows
        self.squares: Any = None

    @property
    def entries(self) -> int:
        """The numbers in X."""
        X = self.rows.X
        return int(X.nnz if sparse.issparse(X) else X.size)

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
        """Return the largest weight."""
        return float(np.abs(a.coef).max(initial=0.0))

    def precondition(self, problem: LogisticProblem, view: View, r: Array) -> Array:
        """Divide by the diagonal of the Newton matrix."""
        if self.squares is None:
            X = self.rows.X
            self.squares = X.multiply(X).tocsr() if sparse.issparse(X) else X**2
        squares = FeatureRows(self.squares, self.rows.constant**2)
        diagonal = squares.combine(problem.curvatures(view))
        if problem.penalised:
            return np.asarray(r / (1 + diagonal))
        return np.asarray(r / np.maximum(diagonal, 1e-12 * max(float(diagonal.max()), 1e-300)))

    def solve(self, problem: LogisticProblem, view: View, r: Element) -> Array | None:
        """Form the Newton matrix and factor it, where it is small."""
        d, k = r.coef.shape
        if d * k > LARGEST_SYSTEM or (k > 1 and sparse.issparse(self.rows.X)):
            return None
        H = self._hessian(problem, view)
        at = np.diag_indices_from(H)
        # Several functions may move together, and columns may depend on each other.
        H[at] += 1.0 if problem.penalised else _JITTER * max(float(H[at].max()), 1e-300)
        try:
            factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        found = linalg.cho_solve(factor, r.coef.T.ravel(), check_finite=False)
        return np.ascontiguousarray(found.reshape(k, d).T)

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
        H = np.zeros((k * d, k * d))
        U = np.zeros((k * d, k))
        step = max(256, _BLOCK // d)
        for start in range(0, len(self.rows), step):
            part = slice(start, start + step)
            X = self.rows.X[part]
            if self.rows.constant:
                X = np.column_stack([X, np.full(len(X), self.rows.constant)])
            X = X - mean
            if k == 1:
                X *= np.sqrt(weights[part])
                H += X.T @ X
                continue
            P, C = view.P[part], problem.C[part]
            for a in range(k):
                mine = slice(a * d, a * d + d)
                for b in range(a + 1):
                    w = C * P[:, a] * ((a == b) - P[:, b])
                    weighted = X * w[:, None]
                    H[mine, b * d : b * d + d] += weighted.T @ X
                    U[mine, b] += weighted.sum(axis=0)
        if k > 1:
            for a in range(k):
                for b in range(a):
                    mine, other = slice(a * d, a * d + d), slice(b * d, b * d + d)
                    H[other, mine] = H[mine, other].T
                    U[other, a] = U[mine, b]
            if problem.intercept:
                M = np.linalg.pinv(problem.bias_curvature(view), hermitian=True)
                H -= U @ M @ U.T
        return H

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
    """Functions Σ cᵢ k(xᵢ, ·), c of shape (rows, functions); ``K`` multiplies matrices."""

    def __init__(self, K: Any) -> None:
        self.K = K

    @property
    def entries(self) -> int:
        """The numbers in K."""
        return int(self.K.shape[0]) ** 2

    def values(self, coef: Array) -> Array:
        """Return K c."""
        return np.asarray(self.K @ coef)

    def adjoint(self, beta: Array) -> Array:
        """Return β: the coefficients are the weights of the rows."""
        return beta

    def dot(self, a: Element, b: Element) -> float:
        """Return Σ aᵀKb, from whichever values are there."""
        if b._values is None and a._values is not None:
            return float(np.vdot(a.values, b.coef))
        return float(np.vdot(a.coef, b.values))

    def size(self, a: Element) -> float:
        """Return the largest value at a row."""
        return float(np.abs(a.values).max(initial=0.0))

    def precondition(self, problem: LogisticProblem, view: View, r: Array) -> Array:
        """Return r."""
        return r

    def solve(self, problem: LogisticProblem, view: View, r: Element) -> Array | None:
        """Factor I + √A K √A, A the curvatures of the rows, for two classes and not too many rows.

        c = r − √A y, where y solves this system for √A K r, among the y that leave Σ √A y = 0 if
        there is a bias.
        """
        if problem.classes > 2 or not isinstance(self.K, np.ndarray):
            return None
        if len(self.K) > MOST_ROWS_FACTORED:
            return None
        root = np.sqrt(problem.curvatures(view)[:, 0])
        B = root[:, None] * self.K
        B *= root
        B[np.diag_indices_from(B)] += 1.0
        try:
            factor = linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        y = linalg.cho_solve(factor, root * r.values[:, 0], check_finite=False)
        if problem.intercept:
            q = linalg.cho_solve(factor, root, check_finite=False)
            y -= q * (float(root @ y) / float(root @ q))
        return np.asarray(r.coef - (root * y)[:, None])
