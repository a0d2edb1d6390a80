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
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from mercer import _parallel
from mercer._typing import Array, IntArray
from mercer.problems.certificate import Certificate
from mercer.problems.manifold import ManifoldProblem
from mercer.solvers.krylov import Product

_ARMIJO = 1e-4
_FORCING = 0.1
"""How far a Newton system is solved while the active points still change."""
_ROUNDING = 1e-12
"""Relative gaps that rounding may leave."""
_PATIENCE = 25
"""Conjugate steps without gain after which rounding has been met."""
_ROUGH = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
"""Relative sizes that rounding gives to a subspace, by precision."""
_BAND = 32
"""Columns that a thread smooths at once."""
_MOST_SMALL_STEPS = 50
_MOST_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class ManifoldSolution:
    """Coefficients and values at all points, a column for each problem, constants and proof."""

    coef: Array
    values: Array
    bias: Array
    certificate: Certificate


@dataclass(frozen=True)
class Limits:
    """When to stop: the relative gap, products with K, and the time on the clock."""

    tol: float
    products: int
    ends: float = math.inf


def solve(
    problems: Sequence[ManifoldProblem],
    multiply: Product,
    exact: Product,
    sample: Array,
    limits: Limits,
) -> ManifoldSolution:
    """Solve several problems on the same points, graph and penalties, all side by side.

    Parameters
    ----------
    multiply, exact : functions
        The product KV, perhaps in single precision, and in double precision.
    sample : array of shape (n, any)
        Some columns of K, in the precision of ``multiply``.
    """
    began = time.perf_counter()
    # Large products have threads of their own, and what is left are small matrices.
    with _parallel.one_blas_thread():
        run = _Run(problems, multiply, Subspace(sample, problems[0], multiply), limits)
        values, bias, parts = _improve(run, exact)
    worst = max(part.relative_gap for part in parts)
    lowest = min(part.relative_gap for part in parts)
    status = run.status if run.status in _OVER else "stalled"
    if worst <= max(limits.tol, _ROUNDING):
        status = "nonconvex" if lowest < -1e-6 else "optimal"
    total = Certificate.total(parts)
    cost = {"iterations": run.products, "seconds": time.perf_counter() - began, "status": status}
    return ManifoldSolution(run.coef, values, bias, Certificate(**{**vars(total), **cost}))


_OVER = ("max_iter", "time_limit")


def _improve(run: _Run, exact: Product) -> tuple[Array, Array, list[Certificate]]:
    """Descend until the gaps, in double precision, are small; return values, constants, proofs."""
    problems, limits = run.problems, run.limits
    run.start()
    best = math.inf
    for _ in range(_MOST_ROUNDS):
        run.descend()
        points = [p.dual_point(f) for p, f in zip(problems, run.values.T, strict=True)]
        gamma = np.stack([point.coef for point in points], axis=1)
        values, images = np.hsplit(exact(np.hstack([run.coef, gamma])), 2)
        run.products += 1
        run.values = values
        bias = np.array([p.best_bias(f[p.rows]) for p, f in zip(problems, values.T, strict=True)])
        parts = [
            p.certify(run.coef[:, j], values[:, j], bias[j], points[j], images[:, j])
            for j, p in enumerate(problems)
        ]
        worst = max(part.relative_gap for part in parts)
        # Another round only where the last one was worth it.
        if worst <= limits.tol or worst > 0.5 * best or run.status in _OVER:
            break
        best = worst
    return values, bias, parts


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
            line = _Line(problem, u, f @ step, float(v @ self.base @ step), step @ self.base @ step)
            share = line.search(float(gradient @ step))
            if share == 0:
                break
            v, u = v + share * step, u + share * line.du
            before = d if share == 1 else None
        return v


Factor = tuple[Array, bool]
BoolArray = NDArray[np.bool_]


class _Line:
    """The objective along a step: losses of the labelled points and a parabola for the rest."""

    def __init__(
        self, problem: ManifoldProblem, u: Array, du: Array, cross: float, square: float
    ) -> None:
        self.problem, self.u, self.du = problem, u, du
        self.cross, self.square = cross, float(square)

    def change(self, share: float) -> float:
        """Return the objective, up to a constant."""
        u = self.u + share * self.du
        e = self.problem.errors(u, self.problem.best_bias(u))
        loss = float(self.problem.weights @ e**2) / 2
        return loss + share * self.cross + share**2 * self.square / 2

    def search(self, slope: float) -> float:
        """Halve the step until the objective falls enough; 0 where it never does."""
        first, share = self.change(0.0), 1.0
        while share > 1e-10:
            # Falls that are smaller than rounding cannot be seen.
            if self.change(share) <= first + _ARMIJO * share * slope + 1e-14 * abs(first):
                return share
            share /= 2
        return 0.0


class _Run:
    """The state of a solution on its way."""

    def __init__(
        self,
        problems: Sequence[ManifoldProblem],
        multiply: Product,
        subspace: Subspace,
        limits: Limits,
    ) -> None:
        self.problems, self.subspace, self.limits = problems, subspace, limits
        self._multiply = multiply
        self.a, self.roughness = problems[0].penalty, problems[0].roughness
        self.products, self.status = 1, "optimal"  # the one that made the subspace
        self._factors: dict[tuple[bytes, bytes], Factor] = {}

    def multiply(self, V: Array) -> Array:
        """Return KV."""
        self.products += 1
        return self._multiply(V)

    def start(self) -> None:
        """Begin with the answer in the subspace."""
        best = np.stack([self.subspace.minimise(problem) for problem in self.problems], axis=1)
        self.coef, self.values = self.subspace.coef(best), self.subspace.values(best)

    def over(self) -> bool:
        """Whether products or time are used up."""
        _parallel.check_stopped()
        if self.products >= self.limits.products:
            self.status = "max_iter"
        elif time.perf_counter() > self.limits.ends:
            self.status = "time_limit"
        return self.status != "optimal"

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
                line = _Line(column.problem, column.u, v[column.problem.rows], cross, square)
                share = line.search(float(G[:, i] @ v))
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
        space, a = self.subspace, self.a
        factors = [self.factor(column) for column in columns]
        fine = np.array([column.goal for column in columns])
        goals, rough = fine, ~settled
        x, Kx, r = np.zeros_like(G), np.zeros_like(G), -G
        p, Kp, rz = x, x, np.full(G.shape[1], np.inf)
        best, since = np.full(G.shape[1], np.inf), np.zeros(G.shape[1], dtype=int)
        first = size = best
        while True:
            Kr = self.multiply(r)
            size = _dots(r, Kr) / (2 * a)
            if first is best:
                first = size
                # Until the active points are known, a rough direction is good enough.
                goals = np.where(rough, np.maximum(fine, _FORCING**2 * first), fine)
            for i in map(int, np.flatnonzero(rough & (size <= goals))):
                column = columns[i]
                if column.bends_alike(column.u + Kx[column.problem.rows, i]):
                    goals[i], rough[i] = fine[i], False
            since = np.where(size < 0.9 * best, 0, since + 1)
            best = np.minimum(best, size)
            running = (size > goals) & (since < _PATIENCE)
            if not running.any() or self.over():
                break
            inner = space.project(r)
            for i, factor in enumerate(factors):
                solved = linalg.cho_solve(factor, inner[:, i], check_finite=False)
                inner[:, i] = solved - inner[:, i] / a
            z, Kz = r / a + space.coef(inner), Kr / a + space.values(inner)
            new = _dots(r, Kz)
            turn = np.where(rz > 0, new / np.where(rz > 0, rz, 1.0), 0.0)
            p, Kp, rz = z + turn * p, Kz + turn * Kp, new
            Hp = a * p + self.roughness(Kp)
            for i, column in enumerate(columns):
                Hp[column.problem.rows, i] += column.bend(Kp[column.problem.rows, i])
            curvature = _dots(Kp, Hp)
            running &= (curvature > 0) & (rz > 0)
            if not running.any():
                break
            length = np.where(running, rz / np.where(running, curvature, 1.0), 0.0)
            x, Kx, r = x + length * p, Kx + length * Kp, r - length * Hp
        return _Step(x, Kx, first, size, since >= _PATIENCE)


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

    def __init__(self, run: _Run, number: int) -> None:
        self.run, self.number = run, number
        self.problem = run.problems[number]
        self.values: Array = run.values[:, number].copy()
        self.u: Array = self.values[self.problem.rows]
        bias = self.problem.best_bias(self.u)
        self.beta: Array = self.problem.weights * self.problem.errors(self.u, bias)
        self.d = self.problem.curvatures(self.u, bias)
        value = self.problem.value(run.coef[:, number], self.values, bias)
        self.goal = 0.5 * run.limits.tol * abs(value)

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
    basis: Array = Y @ (turn[:, seen] / np.sqrt(sizes[seen]))
    return basis


def _symmetric(A: Array) -> Array:
    half: Array = (A + A.T) / 2
    return half


def _dots(A: Array, B: Array) -> Array:
    dots: Array = np.einsum("ij,ij->j", A, B)
    return dots
