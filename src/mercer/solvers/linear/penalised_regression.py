"""The least sum of penalties: vertices and HiGHS for linear programs, Newton's method, starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy import linalg, optimize, sparse

from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.problems.penalties import L1
from mercer.problems.penalty_problems import (
    ChebyshevProblem,
    PenaltyAnswer,
    PenaltyProblem,
    VertexAnswer,
)
from mercer.problems.tangents import Tangents, check_convex, tangents
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status
from mercer.solvers.line_search import backtrack
from mercer.solvers.linear.least_squares import accurate, shortest

_REWEIGHTINGS = 12
"""Reweighted least squares before the vertices; more of them bring the start no nearer."""
_ROUNDING = 5e-10
"""By how much a multiplier may leave its box, as a share of it: what float64 leaves of it."""
_PROGRAM_GAP = 1e-6
"""The relative gap above which linear programs of tangents go on where Newton's method ended."""
_MOST_PROGRAMS = 60
"""Programs of tangents; piecewise linear penalties take a few, and the gap says what is left."""
_MOST_VERTICES = 100_000
"""Steps from vertex to vertex, of which L1 regression takes about as many as there are rows."""


class TiltedVertices(FeatureSolver[PenaltyProblem, VertexAnswer]):
    """L1 or quantile regression: near by reweighted squares, then exactly by vertices.

    A vertex interpolates as many rows as A has independent columns. From each, the residual of one
    row is let go and an exact line search along that edge finds the next vertex, until the dual
    point of the vertex is feasible.

    I. Barrodale and F. Roberts, An improved algorithm for discrete ℓ₁ linear approximation, SIAM
    Journal on Numerical Analysis 10 (1973).
    """

    def run(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget, start: VertexAnswer | None
    ) -> Outcome[VertexAnswer]:
        A, b, (low, high) = gram.features(), problem.b, problem.penalty.box
        budget = budget if budget.max_iter >= 0 else budget.but(max_iter=_MOST_VERTICES)
        columns = _independent_columns(A)
        Q = linalg.qr(A[:, columns], mode="economic")[0]
        # A tiny noise keeps vertices apart where many rows have a residual of zero; the dual point
        # does not depend on it.
        noise = np.random.default_rng(0).uniform(-1, 1, len(b))
        shifted = b + 1e-10 * float(np.abs(b).max(initial=1e-300)) * noise
        r = shifted - Q @ _near(low, high, Q, shifted)
        rows = _basis(Q, np.abs(r))
        B = linalg.inv(Q[rows])
        for steps in count():
            if steps % 100 == 99:  # rounding grows with each exchange
                B = linalg.inv(Q[rows])
            r = shifted - Q @ (B @ shifted[rows])
            slopes = np.where(r > 0, high, low)
            slopes[rows] = 0.0
            nu = -(B.T @ (Q.T @ slopes))
            over = np.maximum(nu - high, low - nu)
            leaving = int(np.argmax(over))
            if over[leaving] <= _ROUNDING * (high - low):
                status = Status.OPTIMAL
                break
            stopped = budget.stop(float(over[leaving]), steps + 1)
            if stopped is not None:
                status = stopped
                break
            # The residual of the leaving row takes the sign that its multiplier asks for.
            sign = 1.0 if nu[leaving] > high else -1.0
            change = -sign * (Q @ B[:, leaving])  # of Qx; the residual moves by its negative
            entering = _entering_row(r, change, rows, over[leaving] / (high - low))
            B = _exchange(B, Q[entering] @ B, leaving)
            rows[leaving] = entering
        nu_all = slopes
        nu_all[rows] = np.clip(nu, low, high)
        x = np.zeros(A.shape[1])
        x[columns] = linalg.solve(A[np.ix_(rows, columns)], b[rows])
        # Aᵀν = 0 to the last digit: the multipliers of interpolated rows follow from the others.
        others = nu_all.copy()
        others[rows] = 0.0
        exact = -linalg.solve(A[np.ix_(rows, columns)].T, A[:, columns].T @ others)
        nu_all[rows] = np.clip(exact, low, high)
        if status is not Status.OPTIMAL:  # a vertex on the way has no dual point: the nearest one
            nu_all -= Q @ (Q.T @ nu_all)
            nu_all /= max(float((nu_all / high).max()), float((nu_all / low).max()), 1.0)
        return Outcome(VertexAnswer(x, nu_all, np.sort(rows)), status, steps)


def _near(low: float, high: float, Q: Array, b: Array) -> Array:
    """Return a point near the optimum, by reweighted least squares."""
    x: Array = Q.T @ b
    for _ in range(_REWEIGHTINGS):
        r = b - Q @ x
        size = np.abs(r)
        weights = np.where(r > 0, high, -low)
        weights = weights / np.maximum(size, 1e-3 * float(np.median(size)) + 1e-300)
        weights /= weights.max()
        C = Q * weights[:, None]
        try:
            x = linalg.solve(C.T @ Q, C.T @ b, assume_a="pos")
        except (linalg.LinAlgError, linalg.LinAlgWarning):
            break
    return x


def _basis(Q: Array, size: Array) -> IntArray:
    """Return d independent rows, those with small residuals first."""
    d = Q.shape[1]
    order = np.argsort(size, kind="stable")
    few = order[: 3 * d]
    for candidates in (few, order):
        # Rows count less the larger their residual is, and stay independent.
        shares = np.exp2(-np.arange(len(candidates)) / d)
        if candidates is order:
            shares = np.ones(len(order))
        _, R, pivots = linalg.qr(
            (Q[candidates] * shares[:, None]).T, mode="economic", pivoting=True
        )
        if abs(R[d - 1, d - 1]) > 1e-8 * abs(R[0, 0]):
            break
    return np.array(candidates[pivots[:d]], np.intp)


def _entering_row(r: Array, change: Array, rows: IntArray, slope: float) -> int:
    """Return the row at which the objective stops falling along r − t·change, t > 0.

    Its slope is given in units of the width of the box.
    """
    moving = change * np.sign(r) > 1e-12 * float(np.abs(change).max())
    moving[rows] = False
    candidates = np.flatnonzero(moving)
    if not candidates.size:
        raise InvalidInput("The data hold values too far apart for rounding; scale the columns.")
    at = r[candidates] / change[candidates]
    order = np.argsort(at, kind="stable")
    # Each residual that passes zero adds its speed to the slope.
    rises = np.abs(change[candidates[order]])
    stop = int(np.searchsorted(np.cumsum(rises), slope))
    return int(candidates[order[min(stop, len(order) - 1)]])


def _exchange(B: Array, row: Array, leaving: int) -> Array:
    """Return the inverse after a row of the basis is replaced; ``row`` is the new one times B."""
    column = B[:, leaving] / row[leaving]
    changed = row.copy()
    changed[leaving] -= 1.0
    return np.asarray(B - np.outer(column, changed))


class ChebyshevProgram(FeatureSolver[ChebyshevProblem, VertexAnswer]):
    """L∞ regression by HiGHS, then exactly on the rows with the largest residual."""

    def run(
        self,
        problem: ChebyshevProblem,
        gram: GramMatrix,
        budget: Budget,
        start: VertexAnswer | None,
    ) -> Outcome[VertexAnswer]:
        A, b = gram.features(), problem.b
        columns = _independent_columns(A)
        C = A[:, columns]
        n, d = C.shape
        ones = np.ones((n, 1))
        found = optimize.linprog(
            np.r_[np.zeros(d), 1.0],
            A_ub=np.block([[C, -ones], [-C, -ones]]),
            b_ub=np.r_[b, -b],
            bounds=[(None, None)] * d + [(0, None)],
            method="highs-ds",
        )
        if found.x is None:
            raise InvalidInput(f"HiGHS found no answer ({found.message}); scale the columns of X.")
        x, nu = found.x[:d], found.ineqlin.marginals[n:] * -1 + found.ineqlin.marginals[:n]
        rows = np.flatnonzero(nu)
        if len(rows) == d + 1:
            signs = np.sign(nu[rows])
            system = np.column_stack([C[rows], signs])
            x = linalg.solve(system, b[rows])[:d]
            nu = np.zeros(n)
            nu[rows] = linalg.solve(np.vstack([C[rows].T, signs]), np.r_[np.zeros(d), 1.0])
        whole = np.zeros(A.shape[1])
        whole[columns] = x
        return Outcome(VertexAnswer(whole, nu, rows), Status.OPTIMAL, int(found.nit))


def _independent_columns(A: Array) -> IntArray:
    """Return columns that span the same space as all of them."""
    norms = np.sqrt((A * A).sum(axis=0))
    _, R, pivots = linalg.qr(A / np.where(norms > 0, norms, 1.0), mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))  # the first is 1, the length of a column, or 0
    kept = sizes > max(A.shape) * np.finfo(float).eps
    return np.sort(pivots[: len(sizes)][kept])


@dataclass(frozen=True)
class LeastPenalties(FeatureSolver[PenaltyProblem, PenaltyAnswer]):
    """The method that the penalty asks for.

    Parameters
    ----------
    n_init : int
        Starts where the penalty is not convex: least squares, L1, and random rows.
    random : RandomState
        Chooses the random rows.

    The values that all starts reached, best first, are the detail ``values``.
    """

    n_init: int
    random: np.random.RandomState

    def run(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget, start: PenaltyAnswer | None
    ) -> Outcome[PenaltyAnswer]:
        return _METHODS[problem.penalty.method](self, problem, gram, budget)

    def squares(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[PenaltyAnswer]:
        """Solve least squares by a factorisation."""
        return Outcome(PenaltyAnswer(accurate(gram.features(), problem.b).x), Status.OPTIMAL)

    def vertices(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[PenaltyAnswer]:
        """Go from vertex to vertex, for a penalty that is a pair of slopes."""
        found = TiltedVertices().run(problem, gram, budget.but(max_iter=-1), None)
        answer = PenaltyAnswer(found.value.x, found.value.nu)
        return Outcome(answer, found.status, found.iterations)

    def program(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[PenaltyAnswer]:
        """Minimise Σ t subject to t ≥ ±(b − Ax) − a, t ≥ 0, by HiGHS."""
        A, b, a = sparse.csr_array(gram.features()), problem.b, problem.penalty.a
        n, d = A.shape
        ones = -sparse.eye_array(n)
        found = optimize.linprog(
            np.r_[np.zeros(d), np.ones(n)],
            A_ub=sparse.block_array([[A, ones], [-A, ones]], format="csc"),
            b_ub=np.r_[b + a, a - b],
            bounds=[(None, None)] * d + [(0, None)] * n,
            method="highs",
        )
        if found.x is None:
            raise InvalidInput(f"HiGHS found no answer ({found.message}); scale the columns of X.")
        nu = found.ineqlin.marginals[:n] - found.ineqlin.marginals[n:]
        answer = PenaltyAnswer(found.x[:d], np.clip(nu, -1.0, 1.0))
        return Outcome(answer, Status.OPTIMAL, int(found.nit))

    def newton(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[PenaltyAnswer]:
        """Newton's method with backtracking, from the L∞ fit where the penalty has a barrier."""
        A, b = gram.features(), problem.b
        x = accurate(A, b).x
        value = problem.value(b - A @ x)
        if not np.isfinite(value):
            x = _strictly_inside(problem, gram)
            value = problem.value(b - A @ x)
        if not np.isfinite(value):
            raise InvalidInput(
                f"{problem.penalty!r} is infinite for the residuals of least squares and of L∞ "
                "regression alike: no start was found at which it is finite. Scale y, or take a "
                "penalty that is finite everywhere."
            )
        # Near zero these penalties are squares, of which rounding leaves this much.
        least = 1e-20 * float(b @ b) + 1e-300
        steps = 0
        while True:
            stopped = budget.stop(np.inf, steps)
            if stopped is not None:
                return Outcome(PenaltyAnswer(x), stopped, steps)
            steps += 1
            r = b - A @ x
            slopes = A.T @ problem.penalty.slope(r)
            weights = problem.penalty.curvature(r)
            H = (A * weights[:, None]).T @ A
            # Rows beyond the bend have no curvature; a trace of all rows keeps the step finite.
            H += 1e-10 * float(weights.max(initial=1.0)) * (A.T @ A)
            direction = shortest(H, slopes)
            fall = float(slopes @ direction)
            if fall <= max(1e-2 * budget.tol**2 * value, least):
                return Outcome(PenaltyAnswer(x), Status.OPTIMAL, steps)
            found = backtrack(_values_along(problem, r, A @ direction), value, -fall)
            if found.size == 0.0:  # rounding ends the descent
                return Outcome(PenaltyAnswer(x), Status.OPTIMAL, steps)
            x, value = x + found.size * direction, found.value

    def tangents(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[PenaltyAnswer]:
        """Newton's method, and where kinks stop it, linear programs of tangents (Kelley's method).

        Each program minimises Σ tᵢ above all tangents of φ at the residuals seen so far; its dual
        point is one of the problem.
        """
        A, b, penalty = gram.features(), problem.b, problem.penalty
        tangents(penalty, b)  # which says what is wrong with values and slopes
        found = self.newton(problem, gram, budget)
        if not penalty.convex or found.status is not Status.OPTIMAL:
            return found
        best, steps = found.value, found.iterations
        residuals = [b - A @ best.x, np.zeros(len(b)), b]
        check_convex(penalty, np.concatenate(residuals))
        judged = problem.certify(best, gram)
        while judged.relative_gap > _PROGRAM_GAP and len(residuals) < _MOST_PROGRAMS:
            if budget.stop(judged.gap, steps) is not None:
                break
            x, nu = _least_tangents(A, b, [tangents(penalty, r) for r in residuals])
            steps += 1
            residuals.append(b - A @ x)
            for answer in (PenaltyAnswer(x, nu), PenaltyAnswer(best.x, nu), PenaltyAnswer(x)):
                again = problem.certify(answer, gram)
                if again.gap < judged.gap:
                    best, judged = answer, again
        return Outcome(best, Status.OPTIMAL, steps)

    def starts(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[PenaltyAnswer]:
        """Fit squares to the rows within a, again and again, from several starts; keep the best."""
        A, b, a = gram.features(), problem.b, problem.penalty.a
        few, unlimited = min(A.shape), budget.but(max_iter=-1)
        near = TiltedVertices().run(PenaltyProblem(b, L1()), gram, unlimited, None).value.x
        first = [accurate(A, b).x, near]
        for _ in range(max(self.n_init - len(first), 0)):
            rows = self.random.choice(len(b), few, replace=False)
            first.append(shortest(A[rows], b[rows]))
        steps = 0
        for i, x in enumerate(first):
            inside, own = np.abs(b - A @ x) <= a, 0
            while budget.stop(np.inf, own) is None:
                own += 1
                x = shortest(A[inside], b[inside]) if inside.any() else x
                last, inside = inside, np.abs(b - A @ x) <= a
                if (inside == last).all():
                    break
            steps, first[i] = steps + own, x
        values = [problem.value(b - A @ x) for x in first]
        answer = PenaltyAnswer(first[int(np.argmin(values))])
        return Outcome(answer, Status.OPTIMAL, steps, details={"values": sorted(values)})


def _least_tangents(A: Array, b: Array, seen: list[Tangents]) -> tuple[Array, Array]:
    """Return the weights with the least sum of tangents, and the multipliers of the residuals."""
    n, d = A.shape
    kept = [np.flatnonzero(np.isfinite(part.slopes)) for part in seen]
    rows = np.concatenate(kept)
    slopes = np.concatenate([part.slopes[k] for part, k in zip(seen, kept, strict=True)])
    constants = np.concatenate(
        [(part.values - part.slopes * part.at)[k] for part, k in zip(seen, kept, strict=True)]
    )
    # t ≥ s(b − Ax) + c for each tangent.
    design = sparse.csr_array(-slopes[:, None] * A[rows])
    pick = sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), (len(rows), n))
    found = optimize.linprog(
        np.r_[np.zeros(d), np.ones(n)],
        A_ub=sparse.hstack([design, -pick], format="csc"),
        b_ub=-slopes * b[rows] - constants,
        bounds=[(None, None)] * (d + n),
        method="highs",
    )
    if found.x is None:
        raise InvalidInput(f"HiGHS found no answer ({found.message}); scale the columns of X.")
    nu: Array = np.zeros(n)
    np.add.at(nu, rows, -found.ineqlin.marginals * slopes)
    return found.x[:d], nu


def _values_along(problem: PenaltyProblem, r: Array, moved: Array) -> Callable[[float], float]:
    return lambda size: problem.value(r - size * moved)


def _strictly_inside(problem: PenaltyProblem, gram: GramMatrix) -> Array:
    """Return weights with all residuals within the barrier, or prove that there are none."""
    found = ChebyshevProgram().solve(ChebyshevProblem(problem.b), gram, Budget())
    if found.certificate.primal >= problem.penalty.a:
        raise InvalidInput(
            f"No weights bring all residuals within {problem.penalty!r}: the largest one is "
            f"{found.certificate.dual:.6g} at least (L∞ regression proves it); raise a above that, "
            "or use Huber."
        )
    return found.value.x


_METHODS = {
    "squares": LeastPenalties.squares,
    "vertices": LeastPenalties.vertices,
    "program": LeastPenalties.program,
    "newton": LeastPenalties.newton,
    "tangents": LeastPenalties.tangents,
    "starts": LeastPenalties.starts,
}
"""What the name of a method at a penalty stands for."""
