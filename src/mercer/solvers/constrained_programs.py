"""Small problems with constraints: linear programs by HiGHS, smooth ones step by step."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.constrained import ConstrainedProblem
from mercer.solvers.base import Status


@dataclass(frozen=True, eq=False)
class ConstrainedSolution:
    """An answer with its multipliers λ ≥ 0 and ν, and the KKT report as certificate."""

    x: Array
    lambda_: Array
    nu: Array
    certificate: Certificate


def solve(
    problem: ConstrainedProblem,
    start: ArrayLike | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> ConstrainedSolution:
    """Solve a small problem with constraints, and judge the answer by its KKT conditions.

    Linear programs go to HiGHS, whose multipliers are exact; all others to sequential quadratic
    programming, after which the multipliers are those nearest to the KKT conditions. Where the
    problem is not convex, the answer is a stationary point.

    Parameters
    ----------
    problem : ConstrainedProblem
    start : array, optional
        Where to start; the most inner point that was found by default.
    tol : float
        Relative change of the value at which sequential quadratic programming ends.
    max_iter : int
        The most steps.
    """
    began = time.perf_counter()
    everything = (problem.objective, *problem.inequalities, *problem.equalities)
    if all(f.affine for f in everything):
        found = _program(problem)
    else:
        found = _steps(problem, start, tol, max_iter)
    seconds = time.perf_counter() - began
    return replace(found, certificate=replace(found.certificate, seconds=seconds))


_STATUS_OF_SLSQP = {0: Status.OPTIMAL, 9: Status.MAX_ITER}
"""What the numbers of SciPy's SLSQP mean; all others say that it found no way on."""


def _program(problem: ConstrainedProblem) -> ConstrainedSolution:
    x = np.zeros(problem.size)
    A, B = problem.jacobians(x)
    found = optimize.linprog(
        problem.objective.gradient(x),
        A_ub=A if len(A) else None,
        b_ub=-problem.slacks(x) if len(A) else None,
        A_eq=B if len(B) else None,
        b_eq=-problem.residuals(x) if len(B) else None,
        bounds=(None, None),
        method="highs",
    )
    if found.x is None or found.status != 0:
        raise InvalidInput(f"The linear program has no answer: {found.message}")
    lam = np.maximum(-found.ineqlin.marginals, 0.0) if len(A) else np.zeros(0)
    nu = np.asarray(-found.eqlin.marginals) if len(B) else np.zeros(0)
    proof = problem.kkt(found.x, lam, nu, iterations=int(found.nit), status="optimal")
    return ConstrainedSolution(found.x, lam, nu, proof)


def _steps(
    problem: ConstrainedProblem, start: ArrayLike | None, tol: float, max_iter: int
) -> ConstrainedSolution:
    x = problem.slater_point().x if start is None else np.asarray(start, np.float64)
    constraints: list[dict[str, Any]] = []
    if problem.inequalities:
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda z: -problem.slacks(z),
                "jac": lambda z: -problem.jacobians(z)[0],
            }
        )
    if problem.equalities:
        constraints.append(
            {"type": "eq", "fun": problem.residuals, "jac": lambda z: problem.jacobians(z)[1]}
        )
    found = optimize.minimize(
        problem.value,
        x,
        jac=problem.objective.gradient,
        method="SLSQP",
        constraints=constraints,
        options={"ftol": tol, "maxiter": max_iter},
    )
    answer = np.asarray(found.x, np.float64)
    lam, nu = problem.multipliers(answer)
    status = _STATUS_OF_SLSQP.get(int(found.status), Status.STALLED)
    proof = problem.kkt(answer, lam, nu, iterations=int(found.nit), status=str(status))
    return ConstrainedSolution(answer, lam, nu, proof)
