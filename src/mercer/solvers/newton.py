"""The least sum of penalties: Newton's method, linear programs, and several starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.problems.linear_program import ChebyshevProblem
from mercer.problems.penalties import L1, PenaltyAnswer, PenaltyProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status
from mercer.solvers.least_squares import accurate
from mercer.solvers.line_search import backtrack
from mercer.solvers.linear_programs import ChebyshevProgram, TiltedVertices

_MOST_VERTICES = 100_000
"""Steps from vertex to vertex, of which L1 regression takes about as many as there are rows."""


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
        found = TiltedVertices().run(problem, gram, budget.but(max_iter=_MOST_VERTICES), None)
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
            H += 1e-10 * max(float(weights.max(initial=0.0)), 1.0) * (A.T @ A)
            direction = linalg.lstsq(H, slopes)[0]
            fall = float(slopes @ direction)
            if fall <= max(1e-2 * budget.tol**2 * value, least):
                return Outcome(PenaltyAnswer(x), Status.OPTIMAL, steps)
            found = backtrack(_values_along(problem, r, A @ direction), value, -fall)
            if found.size == 0.0:  # rounding ends the descent
                return Outcome(PenaltyAnswer(x), Status.OPTIMAL, steps)
            x, value = x + found.size * direction, found.value

    def starts(
        self, problem: PenaltyProblem, gram: GramMatrix, budget: Budget
    ) -> Outcome[PenaltyAnswer]:
        """Fit squares to the rows within a, again and again, from several starts; keep the best."""
        A, b, a = gram.features(), problem.b, problem.penalty.a
        few, most = min(A.shape), budget.but(max_iter=_MOST_VERTICES)
        near = TiltedVertices().run(PenaltyProblem(b, L1()), gram, most, None).value.x
        first = [accurate(A, b).x, near]
        for _ in range(max(self.n_init - len(first), 0)):
            rows = self.random.choice(len(b), few, replace=False)
            first.append(linalg.lstsq(A[rows], b[rows])[0])
        results, steps = [], 0
        for x in first:
            inside, own = np.abs(b - A @ x) <= a, 0
            while budget.stop(np.inf, own) is None:
                own += 1
                x = linalg.lstsq(A[inside], b[inside])[0] if inside.any() else x
                last, inside = inside, np.abs(b - A @ x) <= a
                if (inside == last).all():
                    break
            steps += own
            results.append((problem.value(b - A @ x), x))
        results.sort(key=lambda result: result[0])
        values = [value for value, _ in results]
        answer = PenaltyAnswer(results[0][1])
        return Outcome(answer, Status.OPTIMAL, steps, details={"values": values})


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
    "starts": LeastPenalties.starts,
}
"""What the name of a method at a penalty stands for."""
