"""A primal–dual interior-point method for box QPs, where pairwise steps get nowhere.

Its few dozen iterations hardly depend on C, on the scale of the data or on the tolerance. Each
solves linear systems with K plus a diagonal: by Cholesky's method for a small K, by Woodbury's
formula for K = ΦΦᵀ with few features, however many rows there are.

References
----------
Mehrotra, On the implementation of a primal-dual interior point method, 1992. Fine and Scheinberg,
Efficient SVM training using low-rank kernel representations, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq
from scipy.linalg.lapack import dpstrf
from scipy.sparse import issparse

from mercer import _parallel
from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Budget, Outcome, Solver, Status

FEW_FEATURES = 256
"""Features up to which linear systems with K = ΦΦᵀ cost less than pairwise steps do."""
SMALL = 2000
"""Rows up to which linear systems with the whole matrix are a matter of a second."""
ITERATIONS = 100
"""Most iterations; a few dozen are usual."""
PATIENCE = 15
"""Iterations without progress, after which rounding is all that is left."""
DIVERGED = 1e3
"""Merit over the best one from which rounding, not the way, rules: three such iterations end it."""
SHARE = 0.995
"""How much of the way to the nearest bound a step goes."""
PRECISION = 1e-13
"""Relative fault that float64 can reach."""
_FEW = 1000
"""Order of a matrix up to which one thread factorises it about as fast as two."""
_MOST_FREE = 1000
"""Free variables up to which one least-squares problem polishes them in less than a second."""
_BLOCK = 4096
"""Rows of Φ that are scaled at a time, to bound the memory."""
_TINY = 1e-300
"""Stands for zero in a divisor."""


@dataclass(frozen=True)
class InteriorPoint(Solver[BoxQP, Array]):
    """Mehrotra's predictor and corrector: for few features, or a matrix that is small."""

    def run(
        self, problem: BoxQP, gram: GramMatrix, budget: Budget, start: Array | None
    ) -> Outcome[Array]:
        if start is not None:
            first = judged(problem, gram, problem.feasible(start), budget)
            if first.status is Status.OPTIMAL:
                return first
        stopped: Status | None = None

        def reason() -> Status | None:
            nonlocal stopped
            stopped = stopped or budget.stop(np.inf)
            return stopped

        beta = climb(problem, linear_system(gram), budget.tol, lambda: reason() is not None)
        found = judged(problem, gram, beta, budget)
        done = found.status is Status.OPTIMAL
        return found if done else replace(found, status=reason() or found.status)


def judged(problem: BoxQP, gram: GramMatrix, beta: Array, budget: Budget) -> Outcome[Array]:
    """Return multipliers as an answer, judged in float64 on the matrix itself."""
    rows = problem.coefficients(beta, gram.shape[0])
    used = np.flatnonzero(rows)
    f: Array = np.zeros(len(rows))
    if len(used):
        f = gram.in_precision(np.float64).multiply_columns(used, rows[used, None])[:, 0]
    violation = problem.violation(beta, f)
    done = violation <= budget.tol
    if done and budget.gap < math.inf:
        done = problem.gap(beta, f).relative() <= budget.gap
    status = Status.OPTIMAL if done else Status.STALLED
    details = {"violation": violation, "nonconvex": False}
    return Outcome(beta, status, product=f, details=details, gap_seen=budget.gap < math.inf)


def has_few_features(gram: GramMatrix, cache_bytes: int) -> bool:
    """Tell whether linear systems with K = ΦΦᵀ cost less than pairwise steps on any problem."""
    phi = gram.features()
    if phi is None or issparse(phi) or phi.shape[1] > FEW_FEATURES:
        return False
    return 400 * gram.shape[0] <= cache_bytes  # 25 numbers for each of two variables a row


def is_small(gram: GramMatrix, cache_bytes: int) -> bool:
    """Tell whether the whole matrix is small, and fits the budget twice."""
    n = gram.shape[0]
    return n <= SMALL and 16 * n * n <= cache_bytes


LinearSystem: TypeAlias = "DenseSystem | FeatureSystem"
"""K, as an interior-point method needs it; both have the same methods."""


def linear_system(gram: GramMatrix) -> LinearSystem:
    """Return K in the form that suits it best: features where they are few, or the matrix."""
    phi = gram.features()
    if phi is not None and not issparse(phi) and phi.shape[1] <= FEW_FEATURES:
        return FeatureSystem(phi.astype(np.float64, copy=False))
    K = gram.dense(np.float64)
    # A matrix of low rank loses all digits in the sum with a diagonal: its factors do not.
    L, pivots, rank, _ = dpstrf(K, lower=1)
    if rank > len(K) // 2:
        return DenseSystem(K)
    factors = np.empty((len(K), rank))
    factors[pivots - 1] = np.tril(L)[:, :rank]
    return FeatureSystem(factors)


class DenseSystem:
    """A small matrix."""

    def __init__(self, K: Array) -> None:
        self.K = K

    @property
    def order(self) -> int:
        """The order of the matrix that it factorises."""
        return len(self.K)

    def multiply(self, c: Array) -> Array:
        """Return K c."""
        return np.asarray(self.K @ c)

    def square(self, index: IntArray) -> Array:
        """Return the values of some rows with themselves."""
        return self.K[np.ix_(index, index)]

    def factor(self, d: Array) -> Callable[[Array], Array]:
        """Return a function of c that gives K u for (I + diag(d) K) u = c; d ≥ 0."""
        # The symmetric form √d K √d + I has no small eigenvalue.
        root = np.sqrt(np.maximum(d, _TINY))
        matrix = self.K * root
        matrix *= root[:, None]
        matrix[np.diag_indices_from(matrix)] += 1.0
        factors = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

        def solve(c: Array) -> Array:
            return self.multiply(root * cho_solve(factors, c / root, check_finite=False))

        return solve


class FeatureSystem:
    """K = ΦΦᵀ for dense Φ with few columns."""

    def __init__(self, phi: Array) -> None:
        self.phi = phi

    @property
    def order(self) -> int:
        return int(self.phi.shape[1])

    def multiply(self, c: Array) -> Array:
        return np.asarray(self.phi @ (self.phi.T @ c))

    def square(self, index: IntArray) -> Array:
        return np.asarray(self.phi[index] @ self.phi[index].T)

    def factor(self, d: Array) -> Callable[[Array], Array]:
        phi, root = self.phi, np.sqrt(d)
        matrix = np.eye(phi.shape[1])
        for s in range(0, len(phi), _BLOCK):
            part = phi[s : s + _BLOCK] * root[s : s + _BLOCK, None]
            matrix += part.T @ part
        factors = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

        def solve(c: Array) -> Array:
            # With w = Φᵀu; a detour over u would lose the digits that w has.
            return np.asarray(phi @ cho_solve(factors, phi.T @ c, check_finite=False))

        return solve


class _Direction(NamedTuple):
    """A change of β, of the biases and of the prices of both bounds."""

    beta: Array
    bias: Array
    low: Array
    high: Array


def climb(
    problem: BoxQP, system: LinearSystem, tol: float, out_of_time: Callable[[], bool]
) -> Array:
    """Return feasible multipliers close to the optimum, with those on bounds that belong there."""
    # Threads that share a small factorisation wait for each other, on a busy machine for long.
    small = system.order <= _FEW
    with _parallel.one_blas_thread() if small else nullcontext():
        run = _InteriorRun(problem, system)
        inside = problem.feasible(run.solve(out_of_time))
    snapped = problem.feasible(run.snapped(tol))
    candidates = [_polished(problem, system, snapped, out_of_time), snapped, inside]
    values = [run.value(beta) for beta in candidates]
    enough = max(values) - 1e-9 * abs(max(values))
    good = (beta for beta, value in zip(candidates, values, strict=True) if value >= enough)
    return next(good, inside)  # none compares where a value overflowed


class _InteriorRun:
    """The iterate: β inside of its box, prices of the bounds, a bias for each group.

    Optimal are F − b = high − low, low·(β − lo) = 0, high·(hi − β) = 0 and the fixed sums.
    """

    def __init__(self, problem: BoxQP, system: LinearSystem) -> None:
        self.problem, self.system = problem, system
        self.n = int(problem.row.max()) + 1
        self.has_low, self.has_high = np.isfinite(problem.lo), np.isfinite(problem.hi)
        self.products = max(1, int(self.has_low.sum() + self.has_high.sum()))
        # Start inside of the box, at the scale of an answer without bounds.
        first = np.zeros(self.n)
        first[0] = 1.0
        self.diagonal = abs(float(self.system.multiply(first)[0])) or 1.0
        scale = float(np.abs(problem.p).max()) / self.diagonal or np.inf
        room = np.minimum(0.5 * (problem.hi - problem.lo), scale)
        room = np.where(np.isfinite(room), room, 1.0)
        from_low = np.abs(problem.lo) <= np.abs(problem.hi)
        self.beta = np.where(from_low, problem.lo + room, problem.hi - room)
        # Kept apart from β: differences of close numbers would lose all digits.
        self.below, self.above = self.beta - problem.lo, problem.hi - self.beta
        self.bias = np.zeros(problem.groups)
        slope = self.slope()
        barrier = (float(np.abs(slope).mean()) or 1.0) * float(np.median(room))
        self.low = np.where(self.has_low, np.maximum(-slope, 0) + barrier / self.below, 0.0)
        self.high = np.where(self.has_high, np.maximum(slope, 0) + barrier / self.above, 0.0)

    def slope(self) -> Array:
        """Return F − b."""
        problem = self.problem
        values = self.system.multiply(problem.coefficients(self.beta, self.n))
        return problem.p - values[problem.row] - self.bias[problem.group]

    def value(self, beta: Array) -> float:
        """Return the objective."""
        rows = self.problem.coefficients(beta, self.n)
        return float(self.problem.p @ beta - 0.5 * (rows @ self.system.multiply(rows)))

    def by_group(self, x: Array) -> Array:
        return np.bincount(self.problem.group, x, self.problem.groups).astype(
            np.float64, copy=False
        )

    def solve(self, out_of_time: Callable[[], bool]) -> Array:
        """Iterate; go back to the best iterate in the end and return its β."""
        least, waiting = np.inf, 0
        best = self.beta, self.bias, self.low, self.high, 0.0
        for _ in range(ITERATIONS):
            slope = self.slope()
            fault = slope + self.low - self.high
            lacks = self.problem.sums - self.by_group(self.beta)
            gap = self.gap(self.below, self.above, self.low, self.high)
            merit = self.merit(slope, fault, lacks, gap)
            if merit < 0.9 * least:
                least, waiting = merit, 0
                best = self.beta, self.bias, self.low, self.high, float(np.abs(fault).max())
            else:
                waiting += PATIENCE // 3 if merit > DIVERGED * least else 1
            if not merit > PRECISION or waiting > PATIENCE or out_of_time():
                break
            try:
                self.step(fault, lacks, gap)
            except LinAlgError:
                break
        self.beta, self.bias, self.low, self.high, self.fault = best
        return self.beta

    def merit(self, slope: Array, fault: Array, lacks: Array, gap: float) -> float:
        """Return how far the iterate is from an answer: the sum of the relative faults."""
        size = np.abs(self.beta)
        # Where the best value is 0, rounding is what it has to be compared with.
        least = 1e-10 * self.diagonal * float(size.max()) + _TINY
        cost = float(size @ (np.abs(self.problem.p) + np.abs(slope) + least)) + _TINY
        steep = float(np.abs(slope).max() + np.abs(self.problem.p).max()) + least
        return (
            gap / cost
            + float(np.abs(fault).max()) / steep
            + float(np.abs(lacks).max()) / (float(size.sum()) + _TINY)
        )

    def gap(self, below: Array, above: Array, low: Array, high: Array) -> float:
        return float(
            np.where(self.has_low, below, 0.0) @ low + np.where(self.has_high, above, 0.0) @ high
        )

    def step(self, fault: Array, lacks: Array, gap: float) -> None:
        """Predict without a barrier, see how far that goes, then correct towards the centre."""
        problem = self.problem
        below, above = self.below, self.above
        d_low, d_high = self.low / below, self.high / above
        spread = 1.0 / np.maximum(d_low + d_high, 1e-20)
        solve = self.system.factor(problem.coefficients(spread, self.n))

        def attempt(r: Array) -> Array:
            values = solve(problem.coefficients(spread * r, self.n))
            return np.asarray(spread * (r - values[problem.row]))

        def newton(r: Array) -> Array:
            """Solve (Q + 1/spread) x = r, where Q has K at the rows of the variables."""
            x = attempt(r)
            values = self.system.multiply(problem.coefficients(x, self.n))
            return x + attempt(r - values[problem.row] - x / spread)

        members = [(problem.group == g).astype(float) for g in range(problem.groups)]
        answers = np.stack([newton(member) for member in members], axis=1)
        schur = np.stack([self.by_group(column) for column in answers.T], axis=1)

        def direction(target: float, bend_low: Array, bend_high: Array) -> _Direction:
            low = np.where(self.has_low, (target - bend_low) / below - self.low, 0.0)
            high = np.where(self.has_high, (target - bend_high) / above - self.high, 0.0)
            x = newton(fault + low - high)
            bias = np.linalg.lstsq(schur, self.by_group(x) - lacks, rcond=None)[0]
            x -= answers @ bias
            return _Direction(x, bias, low - d_low * x, high + d_high * x)

        nothing = np.zeros(1)
        guess = direction(0.0, nothing, nothing)
        reach = min(1.0, self.reach(below, above, guess))
        left = self.gap(
            below + reach * guess.beta,
            above - reach * guess.beta,
            self.low + reach * guess.low,
            self.high + reach * guess.high,
        )
        target = max(left / gap, 0.0) ** 3 * gap / self.products if gap > 0 else 0.0
        way = direction(target, guess.beta * guess.low, -guess.beta * guess.high)
        reach = min(1.0, SHARE * self.reach(below, above, way))
        self.beta = np.clip(self.beta + reach * way.beta, problem.lo, problem.hi)
        self.below, self.above = below + reach * way.beta, above - reach * way.beta
        self.bias = self.bias + reach * way.bias
        self.low, self.high = self.low + reach * way.low, self.high + reach * way.high

    def reach(self, below: Array, above: Array, way: _Direction) -> float:
        """Return how far a direction can be followed inside of all bounds."""
        room = np.concatenate([below, above, self.low, self.high])
        loss = np.concatenate([-way.beta, way.beta, -way.low, -way.high])
        shrinks = np.flatnonzero(loss > 0)
        return float((room[shrinks] / loss[shrinks]).min(initial=np.inf))

    def snapped(self, tol: float) -> Array:
        """Return β with those on their bounds whose prices say that they belong there."""
        problem = self.problem
        least = max(0.25 * tol, 10 * self.fault)
        at_low = (self.low > least) & (self.low > self.high)
        at_high = (self.high > least) & ~at_low
        return np.where(at_low, problem.lo, np.where(at_high, problem.hi, self.beta))


@_parallel.one_blas_thread()  # small systems, where threads wait for each other
def _polished(
    problem: BoxQP, system: LinearSystem, beta: Array, out_of_time: Callable[[], bool]
) -> Array:
    """Return β with the free variables at the optimum of the face that they lie on.

    Where one of them meets a bound on the way, the face is the smaller one from then on.
    """
    n = int(problem.row.max()) + 1
    work = 0
    while work < 3 * _MOST_FREE:
        free = np.flatnonzero((beta > problem.lo) & (beta < problem.hi))
        if not 0 < len(free) <= _MOST_FREE or out_of_time():
            break
        work += len(free)
        rows, groups = problem.row[free], problem.group[free]
        value = system.multiply(problem.coefficients(beta, n))[rows]
        members = np.stack([groups == g for g in range(problem.groups)], axis=1).astype(float)
        scale = float(np.sqrt(np.abs(np.diagonal(square := system.square(rows))).max())) or 1.0
        border = scale * members
        matrix = np.block([[square, border], [border.T, np.zeros((problem.groups,) * 2)]])
        right = np.concatenate([problem.p[free] - value, np.zeros(problem.groups)])
        way = lstsq(matrix, right, 1e-14, check_finite=False, lapack_driver="gelsy")[0][: len(free)]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(way > 0, problem.hi[free] - beta[free], beta[free] - problem.lo[free])
            reach = np.where(way != 0, room / np.abs(way), np.inf)
        length = min(1.0, float(reach.min()))
        ends = np.where(way > 0, problem.hi[free], problem.lo[free])
        moved = beta.copy()
        moved[free] = np.where(reach <= length, ends, beta[free] + length * way)
        beta = np.clip(moved, problem.lo, problem.hi)
        if length == 1.0:
            break
    return beta
