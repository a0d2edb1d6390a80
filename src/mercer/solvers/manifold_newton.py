"""Newton's method with preconditioned conjugate gradients for manifold regularisation.

Functions are f = Σ cⱼ k(xⱼ, ·) over all points, with the inner product cᵀKc of their space. There
the Newton system is H = a + (R + D)K, where R is the roughness on the graph and D holds the
curvatures of the losses. H is never below a, and a function of H costs one product with K.

A step of subspace iteration, from the columns of K at some dozens of random points, finds functions
on which H is largest. In their span the problem is solved first, densely; there the preconditioner
is H itself, outside it is a. What is left to the conjugate gradients is what the span does not see.

References
----------
S. Melacci and M. Belkin, Laplacian support vector machines trained in the primal, JMLR 12 (2011).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer import _parallel
from mercer._typing import Array, BoolArray, IntArray
from mercer.gram.base import GramMatrix
from mercer.linalg.pcg import ConjugateSteps, Mask, Product, column_products, conjugate_gradients
from mercer.problems.manifold import ManifoldFunctions, ManifoldProblem, ManifoldProblems
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.line_search import backtrack

_HIDDEN = 1e-14
"""Rises of the objective, as a share of it, that rounding of float64 may have made."""
_SHORTEST_STEP = 1e-10
"""Newton steps cut down to this share promise nothing any more."""
_FORCING = 0.1
"""How far a Newton system is solved while the active points still change."""
_ROUNDING = 1e-12
"""Relative gaps that rounding may leave."""
_MOST_STAGNANT = 25
"""Conjugate steps without gain after which rounding has been met."""
_ROUGH = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
"""Relative sizes that rounding gives to a subspace, by precision."""
_BAND = 32
"""Columns that a thread multiplies with the Laplacian at once."""
_MOST_SMALL_STEPS = 50
"""Newton steps within the subspace; active points settle in some ten."""
_MOST_ROUNDS = 5
"""Descents, each from values in double precision; a second one is rare."""
_NEGATIVE_GAP = -1e-6
"""A dual value that far above the primal one is no rounding: K has negative eigenvalues."""


@dataclass(frozen=True)
class ManifoldNewton(Solver[ManifoldProblems, ManifoldFunctions]):
    """Solves several problems on the same points, graph and penalties, all side by side.

    Steps are taken on the matrix as it is, perhaps in single precision; the budget counts products
    with it, and its ``tol`` is the relative gap, in double precision.
    """

    def run(
        self,
        problem: ManifoldProblems,
        gram: GramMatrix,
        budget: Budget,
        start: ManifoldFunctions | None,
    ) -> Outcome[ManifoldFunctions]:
        """Descend until the gaps, in double precision, are small."""
        sample = self.sample(gram, problem.stiffness)
        # Large products have threads of their own, and what is left are small matrices.
        with _parallel.one_blas_thread():
            subspace = Subspace(sample, problem.parts[0], gram.multiply)
            return _NewtonDescent(problem, gram, subspace, budget, start).solve()

    def sample(self, gram: GramMatrix, stiffness: float) -> Array:
        """Return columns of K at random points.

        A stiff problem pays for a larger sample, which saves products with K.
        """
        n = gram.shape[0]
        count = min(n, int(min(max(32.0, 10 * stiffness**0.5), 8 * n**0.5)))
        some = np.sort(np.random.default_rng(0).choice(n, count, replace=False))
        return gram.rows(some).T


class Subspace:
    """Functions on which H is large, with coefficients PW and values KPW, orthonormal.

    They come from one step of subspace iteration: H sends k(x, ·) to a function with coefficients
    e + (R + D)Ke/a, of which P keeps the second part.
    """

    def __init__(self, sample: Array, problem: ManifoldProblem, multiply: Product) -> None:
        P = _orthonormal(_in_bands(problem.bend, sample))
        KP = multiply(P)
        sizes, turn = np.linalg.eigh(_symmetric(P.T @ KP))
        # Directions in which K is no more than rounding are left to the conjugate gradients.
        seen = sizes > _ROUGH[sample.dtype] * sizes.max(initial=0.0)
        self._W: Array = turn[:, seen] / np.sqrt(sizes[seen])
        self._P, self._KP = P.astype(sample.dtype), KP.astype(sample.dtype)
        rough = self._KP.T @ _in_bands(problem.roughness, self._KP).astype(sample.dtype)
        self.base: Array = _symmetric(self._W.T @ rough.astype(np.float64) @ self._W)
        self.base[np.diag_indices_from(self.base)] += problem.penalty

    def coef(self, v: Array) -> Array:
        """Return the coefficients of functions given in the basis."""
        return self._apply(self._P, self._W @ v)

    def values(self, v: Array) -> Array:
        """Return the values at all points of functions given in the basis."""
        return self._apply(self._KP, self._W @ v)

    def project(self, r: Array) -> Array:
        """Return in the basis the projections of functions with coefficients r."""
        return np.asarray(self._W.T @ self._apply(self._KP.T, r))

    def values_at(self, rows: IntArray) -> Array:
        """Return the values of the basis at some points."""
        return np.asarray(self._KP[rows] @ self._W)

    @staticmethod
    def _apply(A: Array, v: Array) -> Array:
        return np.asarray(A @ v.astype(A.dtype), dtype=np.float64)

    def factor(self, problem: ManifoldProblem, d: Array) -> Factor:
        """Return the Cholesky factor of H in the basis, for curvatures d of the losses."""
        f = self.values_at(problem.rows)
        weighted = d[:, None] * f
        H = self.base + f.T @ weighted
        total = float(d.sum())
        if problem.intercept and total > 0:
            # The best constant follows along.
            sums = weighted.sum(axis=0)
            H -= np.outer(sums, sums / total)
        cholesky: Factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        return cholesky

    def minimise(self, problem: ManifoldProblem) -> Array:
        """Return the best function of the subspace, by Newton's method with dense matrices."""
        f = self.values_at(problem.rows)
        v = np.zeros(f.shape[1])
        u, before = f @ v, None
        for _ in range(_MOST_SMALL_STEPS):
            bias = problem.best_bias(u)
            d = problem.curvatures(u, bias)
            if before is not None and np.array_equal(d, before):
                break
            gradient = self.base @ v - f.T @ (problem.weights * problem.errors(u, bias))
            step = linalg.cho_solve(self.factor(problem, d), -gradient, check_finite=False)
            du, bent = f @ step, self.base @ step
            share = _search(problem, u, du, float(gradient @ step), float(v @ bent), step @ bent)
            if share == 0:
                break
            v, u = v + share * step, u + share * du
            before = d if share == 1 else None
        return v


Factor = tuple[Array, bool]


def _search(
    problem: ManifoldProblem, u: Array, du: Array, slope: float, cross: float, square: float
) -> float:
    """Halve a step until the objective falls enough; 0 where it never does.

    Along the step it is the losses of the labelled points, and a parabola for the rest.
    """

    def along(share: float) -> float:
        at = u + share * du
        e = problem.errors(at, problem.best_bias(at))
        loss = float(problem.weights @ e**2) / 2
        return loss + share * cross + share**2 * square / 2

    return backtrack(along, along(0.0), slope, hidden=_HIDDEN, smallest=_SHORTEST_STEP).size


class _NewtonDescent:
    """The state of a solution on its way."""

    def __init__(
        self,
        problem: ManifoldProblems,
        gram: GramMatrix,
        subspace: Subspace,
        budget: Budget,
        start: ManifoldFunctions | None,
    ) -> None:
        self.problem, self.problems = problem, problem.parts
        self.gram, self.subspace, self.budget = gram, subspace, budget
        self.a, self.roughness = self.problems[0].penalty, self.problems[0].roughness
        self.products = 1  # the one that made the subspace
        self.reason: Status | None = None
        self._factors: dict[tuple[bytes, bytes], Factor] = {}
        if start is None:
            best = np.stack([subspace.minimise(part) for part in self.problems], axis=1)
            self.coef, self.values = subspace.coef(best), subspace.values(best)
        else:
            self.coef, self.values = start.coef.copy(), gram.multiply(start.coef)
            self.products += 1

    def solve(self) -> Outcome[ManifoldFunctions]:
        """Descend, and again from values in double precision while that is worth it."""
        exact = self.gram.in_precision(np.float64)
        tol, best = self.budget.tol, math.inf
        for _ in range(_MOST_ROUNDS):
            self.descend()
            points = self.problem.dual_points(self.coef, self.values)
            gamma = np.stack([point.coef for point in points], axis=1)
            product = exact.multiply(np.hstack([self.coef, gamma]))
            self.products += 1
            self.values = product[:, : self.coef.shape[1]]
            found = ManifoldFunctions(self.coef, self.problem.best_bias(self.values), points)
            gaps = [part.relative_gap for part in self.problem.judge(found, product)]
            # Another round only where the last one was worth it.
            if max(gaps) <= tol or max(gaps) > 0.5 * best or self.reason is not None:
                break
            best = max(gaps)
        status = self.reason or Status.STALLED
        if max(gaps) <= max(tol, _ROUNDING):
            status = Status.NONCONVEX if min(gaps) < _NEGATIVE_GAP else Status.OPTIMAL
        return Outcome(found, status, self.products, product)

    def over(self) -> bool:
        """Whether products or time are used up."""
        _parallel.check_stopped()
        self.reason = self.reason or self.budget.stop(math.inf, self.products)
        return self.reason is not None

    def descend(self) -> None:
        """Take Newton steps until the gap of each problem is small."""
        going = np.arange(len(self.problems))
        settled = np.array([not problem.hinge for problem in self.problems])
        while len(going) and not self.over():
            columns = [_Column(self, int(j)) for j in going]
            G = self.a * self.coef[:, going] + self.roughness(self.values[:, going])
            for i, column in enumerate(columns):
                G[column.problem.rows, i] -= column.beta
            found = self._newton_step(columns, G, settled[going])
            rough = self.roughness(found.values)
            keep = []
            for i, column in enumerate(columns):
                if found.first[i] <= column.goal:
                    continue
                j, d, v = column.number, found.step[:, i], found.values[:, i]
                cross = self.a * float(d @ column.values) + float(rough[:, i] @ column.values)
                square = self.a * float(d @ v) + float(rough[:, i] @ v)
                du, slope = v[column.problem.rows], float(G[:, i] @ v)
                share = _search(column.problem, column.u, du, slope, cross, square)
                self.coef[:, j] += share * d
                self.values[:, j] += share * v
                unmoved = share == 1 and column.bends_alike(self.values[column.problem.rows, j])
                settled[j] = settled[j] or unmoved
                finished = unmoved and found.last[i] <= column.goal
                if share > 0 and not finished and not (unmoved and found.stalled[i]):
                    keep.append(j)
            going = np.array(keep, dtype=np.intp)

    def factor(self, column: _Column) -> Factor:
        """Return the preconditioner of a problem with its present curvatures."""
        key = column.problem.rows.tobytes(), column.d.tobytes()
        if key not in self._factors:
            if len(self._factors) > len(self.problems):
                self._factors.clear()
            self._factors[key] = self.subspace.factor(column.problem, column.d)
        return self._factors[key]

    def _newton_step(self, columns: list[_Column], G: Array, settled: BoolArray) -> _Step:
        """Solve Hd = −G by conjugate gradients, all columns side by side."""
        space, a, n = self.subspace, self.a, len(G)
        factors = [self.factor(column) for column in columns]
        fine = np.array([column.goal for column in columns])
        goals, rough = fine, ~settled
        best, since = np.full(G.shape[1], np.inf), np.zeros(G.shape[1], dtype=int)
        first = size = best

        def precondition(r: Array) -> Array:
            """Return functions by their coefficients, and below them their values."""
            nonlocal size
            self.products += 1
            Kr = self.gram.multiply(r)
            size = column_products(r, Kr) / (2 * a)
            inner = space.project(r)
            for i, factor in enumerate(factors):
                solved = linalg.cho_solve(factor, inner[:, i], check_finite=False)
                inner[:, i] = solved - inner[:, i] / a
            return np.concatenate([r / a + space.coef(inner), Kr / a + space.values(inner)])

        def going(at: ConjugateSteps) -> Mask:
            nonlocal first, goals, best, since
            if at.steps == 0:
                first = size
                # Until the active points are known, a rough direction is good enough.
                goals = np.where(rough, np.maximum(fine, _FORCING**2 * first), fine)
            for i in map(int, np.flatnonzero(rough & (size <= goals))):
                column = columns[i]
                if column.bends_alike(column.u + at.x[n:][column.problem.rows, i]):
                    goals[i], rough[i] = fine[i], False
            since = np.where(size < 0.9 * best, 0, since + 1)
            best = np.minimum(best, size)
            running = (size > goals) & (since < _MOST_STAGNANT)
            return running if running.any() and not self.over() else np.False_

        def multiply(p: Array) -> Array:
            Kp = p[n:]
            Hp = a * p[:n] + self.roughness(Kp)
            for i, column in enumerate(columns):
                Hp[column.problem.rows, i] += column.bend(Kp[column.problem.rows, i])
            return np.asarray(Hp)

        found = conjugate_gradients(
            multiply,
            -G,
            going=going,
            precondition=precondition,
            pair=lambda r, z: column_products(r, z[n:]),
            max_iter=sys.maxsize,  # the budget is asked in going
        )
        return _Step(found.x[:n], found.x[n:], first, size, since >= _MOST_STAGNANT)


@dataclass(frozen=True, eq=False)
class _Step:
    """A step and its values, the gaps ‖r‖²/2a before and after, and whether rounding stopped it."""

    step: Array
    values: Array
    first: Array
    last: Array
    stalled: BoolArray


class _Column:
    """One problem at the present point: errors, curvatures, and the gap to reach."""

    def __init__(self, run: _NewtonDescent, number: int) -> None:
        self.run, self.number = run, number
        self.problem = run.problems[number]
        self.values: Array = run.values[:, number].copy()
        self.u: Array = self.values[self.problem.rows]
        bias = self.problem.best_bias(self.u)
        self.beta: Array = self.problem.weights * self.problem.errors(self.u, bias)
        self.d = self.problem.curvatures(self.u, bias)
        value = self.problem.value(run.coef[:, number], self.values, bias)
        self.goal = 0.5 * run.budget.tol * abs(value)

    def bend(self, u: Array) -> Array:
        """Return the second derivative of the losses times u, the constant following along."""
        bent = self.d * u
        total = float(self.d.sum())
        if self.problem.intercept and total > 0:
            bent -= self.d * (float(bent.sum()) / total)
        return np.asarray(bent)

    def bends_alike(self, u: Array) -> bool:
        """Whether all curvatures are the same at values u of the labelled points."""
        return np.array_equal(self.d, self.problem.curvatures(u, self.problem.best_bias(u)))


def _in_bands(function: Product, V: Array) -> Array:
    """Apply a function of columns to some columns at a time, on several threads."""
    out = np.empty(V.shape)

    def task(start: int) -> None:
        band = slice(start, start + _BAND)
        out[:, band] = function(V[:, band])

    _parallel.run(task, range(0, V.shape[1], _BAND), _parallel.thread_count())
    return out


def _orthonormal(Y: Array) -> Array:
    """Return an orthonormal basis of the columns of Y, up to rounding."""
    sizes, turn = np.linalg.eigh(_symmetric(Y.T @ Y))
    seen = sizes > _ROUNDING * sizes.max(initial=0.0)
    return np.asarray(Y @ (turn[:, seen] / np.sqrt(sizes[seen])))


def _symmetric(A: Array) -> Array:
    return np.asarray((A + A.T) / 2)
