"""The least sum of penalties: Newton's method, linear programs, and several starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg, optimize, sparse

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.linear_program import ChebyshevProblem, TiltedProblem
from mercer.problems.penalties import PenaltyProblem
from mercer.solvers import least_squares
from mercer.solvers.line_search import backtrack
from mercer.solvers.linear_programs import solve_chebyshev, solve_tilted


@dataclass(frozen=True, eq=False)
class PenaltySolution:
    """Weights with their proof, and the values that all starts reached, best first."""

    x: Array
    certificate: Certificate
    values: Array


def solve(
    problem: PenaltyProblem, tol: float, max_iter: int, starts: int, random: np.random.RandomState
) -> PenaltySolution:
    """Solve by the method that the penalty asks for."""
    began = time.perf_counter()
    x, nu, steps, values, status = _METHODS[problem.penalty.method](
        problem, tol, max_iter, starts, random
    )
    seconds = time.perf_counter() - began
    proof = problem.certify(x, nu, iterations=steps, seconds=seconds, status=status)
    return PenaltySolution(x, proof, np.array(values or [proof.primal]))


_Found = tuple[Array, Array | None, int, list[float], str]


def _squares(problem: PenaltyProblem, *_: object) -> _Found:
    return least_squares.accurate(problem.A, problem.b).x, None, 0, [], "optimal"


def _vertices(problem: PenaltyProblem, *_: object) -> _Found:
    tau = float(getattr(problem.penalty, "tau", 0.5))
    vertex = solve_tilted(TiltedProblem(problem.A, problem.b, tau))
    low, high = problem.penalty.box
    nu = np.clip(vertex.nu * (high - low) / 2, low, high)
    return vertex.x, nu, vertex.certificate.iterations, [], vertex.certificate.status


def _program(problem: PenaltyProblem, *_: object) -> _Found:
    """Minimise Σ t subject to t ≥ ±(b − Ax) − a, t ≥ 0, by HiGHS."""
    A, b = sparse.csr_array(problem.A), problem.b
    n, d = problem.A.shape
    a = problem.penalty.a  # type: ignore[attr-defined]
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
    return found.x[:d], np.clip(nu, -1.0, 1.0), int(found.nit), [], "optimal"


def _newton(problem: PenaltyProblem, tol: float, max_iter: int, *_: object) -> _Found:
    """Newton's method with backtracking, from the L∞ fit where the penalty has a barrier."""
    x = least_squares.accurate(problem.A, problem.b).x
    if not np.isfinite(problem.value(x)):
        x = _strictly_inside(problem)
    value = problem.value(x)
    # Near zero these penalties are squares, of which rounding leaves this much.
    least = 1e-20 * float(problem.b @ problem.b) + 1e-300
    for step in range(1, max_iter + 1):
        r = problem.b - problem.A @ x
        slopes = problem.A.T @ problem.penalty.slope(r)
        weights = problem.penalty.curvature(r)
        H = (problem.A * weights[:, None]).T @ problem.A
        # Rows beyond the bend have no curvature; a trace of all rows keeps the step finite.
        H += 1e-10 * max(float(weights.max(initial=0.0)), 1.0) * (problem.A.T @ problem.A)
        direction = linalg.lstsq(H, slopes)[0]
        fall = float(slopes @ direction)
        if fall <= max(1e-2 * tol * tol * value, least):
            return x, None, step, [], "optimal"
        ahead = partial(_value_along, problem, x, direction)
        found = backtrack(ahead, value, -fall)
        if found.size == 0.0:
            return x, None, step, [], "optimal"  # rounding ends the descent
        x, value = x + found.size * direction, found.value
    return x, None, max_iter, [], "max_iter"


def _value_along(problem: PenaltyProblem, x: Array, direction: Array, size: float) -> float:
    return problem.value(x + size * direction)


def _strictly_inside(problem: PenaltyProblem) -> Array:
    """Return weights with all residuals within the barrier, or prove that there are none."""
    a = problem.penalty.a  # type: ignore[attr-defined]
    vertex = solve_chebyshev(ChebyshevProblem(problem.A, problem.b))
    least = vertex.certificate.dual
    if vertex.certificate.primal >= a:
        raise InvalidInput(
            f"No weights bring all residuals within {problem.penalty!r}: the largest one is "
            f"{least:.6g} at least (L∞ regression proves it); raise a above that, or use Huber."
        )
    return vertex.x


def _starts(
    problem: PenaltyProblem, tol: float, max_iter: int, starts: int, random: np.random.RandomState
) -> _Found:
    """Fit squares to the rows within a, again and again, from several starts; keep the best."""
    A, b, a = problem.A, problem.b, problem.penalty.a  # type: ignore[attr-defined]
    n, d = A.shape
    first = [least_squares.accurate(A, b).x, solve_tilted(TiltedProblem(A, b)).x]
    few = min(d, n)
    for _ in range(max(starts - len(first), 0)):
        rows = random.choice(n, few, replace=False)
        first.append(linalg.lstsq(A[rows], b[rows])[0])
    results, steps = [], 0
    for x in first:
        inside = np.abs(b - A @ x) <= a
        for _ in range(max_iter):
            steps += 1
            x = linalg.lstsq(A[inside], b[inside])[0] if inside.any() else x
            last, inside = inside, np.abs(b - A @ x) <= a
            if (inside == last).all():
                break
        results.append((problem.value(x), x))
    results.sort(key=lambda result: result[0])
    return results[0][1], None, steps, [value for value, _ in results], "optimal"


_METHODS: dict[str, Callable[..., _Found]] = {
    "squares": _squares,
    "vertices": _vertices,
    "program": _program,
    "newton": _newton,
    "starts": _starts,
}
