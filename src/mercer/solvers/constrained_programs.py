"""Small problems with constraints: linear programs by HiGHS, smooth ones step by step.

Every one of these answers is judged by what is known: a bound needs a convex problem, and that no
point is feasible needs multipliers that show it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from mercer._typing import Array
from mercer.exceptions import Infeasible, InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.constrained import ConstrainedProblem
from mercer.problems.convexity import Violation
from mercer.problems.functions import Affine, Function
from mercer.solvers.base import Status

_FEASIBLE = 1e-6
"""Violations of constraints up to this, relative to the entries of x, are left by rounding."""
_CHORDS = 200
"""Random pairs of points in which negative curvature is looked for: a fair chance, in little
time."""
_UNPROVEN = "no negative curvature found"
"""The status of an answer to a problem that may be convex, and may be not."""


@dataclass(frozen=True, eq=False)
class ConstrainedSolution:
    """An answer with its multipliers λ ≥ 0 and ν, and the KKT report as certificate.

    Attributes
    ----------
    x, lambda_, nu : arrays
    certificate : Certificate
        It has a bound where the problem is convex, by its functions or on your word, or quadratic.
        Its status is ``nonconvex`` where the problem is known not to be, and
        ``no negative curvature found`` where nothing is known.
    violation : Violation, optional
        Two points that show that the problem is not convex, where some were found.

    Examples
    --------
    >>> from mercer import optimize
    >>> square = optimize.QuadraticFunction([[2.0]])  # x², subject to 1 − x ≤ 0
    >>> problem = optimize.ConstrainedProblem(square, optimize.Affine([[-1.0]], -1.0))
    >>> found = optimize.solve(problem)
    >>> found.x.round(4), found.lambda_.round(4)  # 2x = λ
    (array([1.]), array([2.]))
    """

    x: Array
    lambda_: Array
    nu: Array
    certificate: Certificate
    violation: Violation | None = None


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
    problem is not known to be convex, the answer is a stationary point without a bound: a search
    for negative curvature around the way to it then says ``nonconvex``, or that none was found.

    Parameters
    ----------
    problem : ConstrainedProblem
    start : array, optional
        Where to start; the most inner point that was found by default.
    tol : float
        Relative change of the value at which sequential quadratic programming ends.
    max_iter : int
        The most steps.

    Raises
    ------
    Infeasible
        If no point meets the constraints: min s subject to fᵢ(x) ≤ s, |hⱼ(x)| ≤ s is above 0. Its
        multipliers are the proof where the constraints are convex.

    Examples
    --------
    >>> from mercer import optimize
    >>> area = optimize.QuadraticFunction([[2.0, 0.0], [0.0, 2.0]])  # x² + y²
    >>> problem = optimize.ConstrainedProblem(area, equalities=optimize.Affine([[1.0, 1.0]], 2.0))
    >>> found = optimize.solve(problem)
    >>> found.x.round(4), found.nu.round(4), found.certificate.optimal
    (array([1., 1.]), array([-2.]), True)
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
_INFEASIBLE = 2
"""HiGHS, by way of SciPy: no point meets the constraints."""


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
    if found.status == _INFEASIBLE:
        _find_feasible(problem, x)
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
    found, answer = _programming(problem, x, tol, max_iter)
    if _worst_violation(problem, answer) > _allowed(answer):
        x = _find_feasible(problem, answer)
        found, answer = _programming(problem, x, tol, max_iter)
    lam, nu = problem.multipliers(answer)
    status = str(_STATUS_OF_SLSQP.get(int(found.status), Status.STALLED))
    violation = _negative_curvature(problem, x, answer)
    if status == Status.OPTIMAL and not problem.convex:
        known = violation is not None or problem.convex is False
        status = str(Status.NONCONVEX) if known else _UNPROVEN
    proof = problem.kkt(answer, lam, nu, iterations=int(found.nit), status=status)
    return ConstrainedSolution(answer, lam, nu, proof, violation)


def _programming(
    problem: ConstrainedProblem, x: Array, tol: float, max_iter: int
) -> tuple[optimize.OptimizeResult, Array]:
    """Return what sequential quadratic programming ends with, and its point."""
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
    return found, np.asarray(found.x, np.float64)


# ---- convexity and feasibility -------------------------------------------------------------------


def _negative_curvature(problem: ConstrainedProblem, start: Array, end: Array) -> Violation | None:
    """Look for chords below the functions, on the way and in a box around it.

    A problem that is convex on the user's word is refused where one is found.
    """
    random = np.random.default_rng(0)
    way = end - start
    reach = 1 + np.abs(way)

    def chords() -> Iterator[tuple[Array, Array, float]]:
        for _ in range(_CHORDS):
            a, b = random.uniform(-1, 2, size=2)
            theta = float(random.uniform(0.1, 0.9))
            yield start + a * way, start + b * way, theta
            x, y = random.uniform(end - reach, end + reach, size=(2, problem.size))
            yield x, y, theta

    found = problem.worst_chord(chords())
    if found is not None and problem.convex:
        raise InvalidInput(
            f"The problem is not convex, as it was said to be: between x = {found.x} and "
            f"{found.y}, {found.name} lies {found.excess:.2g} above its chord. Leave convex=True "
            "out; the answer is then a stationary point without a bound."
        )
    return found


def _worst_violation(problem: ConstrainedProblem, x: Array) -> float:
    """Return the largest fᵢ(x) and |hⱼ(x)|, at least 0; infinite where one has no value."""
    worst = np.r_[0.0, problem.slacks(x), np.abs(problem.residuals(x))].max()
    return float(worst) if np.isfinite(worst) else math.inf


def _allowed(x: Array) -> float:
    return _FEASIBLE * (1 + float(np.abs(x).max(initial=0.0)))


def _find_feasible(problem: ConstrainedProblem, start: Array) -> Array:
    """Return a feasible point, or raise :class:`Infeasible`.

    Phase one: min s subject to fᵢ(x) ≤ s, |hⱼ(x)| ≤ s, s ≥ −1. The multipliers of its optimum are
    weights λ ≥ 0 and ν of the constraints; where Σ λᵢfᵢ + Σ νⱼhⱼ > 0 for all x no x is feasible.
    """
    relaxed = _relaxed(problem)
    if all(f.affine for f in relaxed.inequalities):
        found = _program(relaxed)
        z, weights = found.x, found.lambda_
    else:
        begin = np.r_[start, _worst_violation(problem, start)]
        z = _programming(relaxed, begin, 1e-12, 1000)[1]
        weights = relaxed.multipliers(z)[0]
    x = z[:-1]
    violation = _worst_violation(problem, x)
    if violation <= _allowed(x):
        return np.asarray(x)
    m, k = len(problem.slacks(x)), len(problem.residuals(x))
    lam, nu = weights[:m], weights[m : m + k] - weights[m + k : m + 2 * k]
    alone = ConstrainedProblem(
        Affine(np.zeros(problem.size)),
        problem.inequalities,
        problem.equalities,
        size=problem.size,
        convex=bool(problem.convex),
    )
    bound = alone.dual(lam, nu, x)
    message = f"{problem.name} has no answer: it is infeasible. "
    if bound > 0:
        message += (
            f"With multipliers λ ≥ 0 and ν (attributes of this error) Σ λᵢfᵢ(x) + Σ νⱼhⱼ(x) ≥ "
            f"{bound:.3g} for all x, where a feasible point would have at most 0. "
        )
    else:
        message += (
            f"No point was found that breaks its constraints by less than {violation:.3g}, which "
            "is a proof only if they are convex. "
        )
    message += "Loosen the constraints that have the largest multipliers."
    raise Infeasible(message[0].upper() + message[1:], violation, lam, nu, bound)


def _relaxed(problem: ConstrainedProblem) -> ConstrainedProblem:
    """Return phase one, a problem in (x, s)."""
    n = problem.size

    def with_slack(f: Function, sign: float = 1.0) -> Function:
        if f.affine:
            zero = np.zeros(n)
            rows = sign * f.jacobian(zero)
            slack = -np.ones((len(rows), 1))
            return Affine(np.hstack([rows, slack]), -sign * f.values(zero))

        def slopes(z: Array) -> Array:
            rows = f.jacobian(z[:n])
            return np.hstack([sign * rows, -np.ones((len(rows), 1))])

        return Function(lambda z: sign * f.values(z[:n]) - z[n], slopes)

    last = np.r_[np.zeros(n), 1.0]
    parts = [with_slack(f) for f in problem.inequalities]
    parts += [with_slack(h) for h in problem.equalities]
    parts += [with_slack(h, -1.0) for h in problem.equalities]
    return ConstrainedProblem(Affine(last), [*parts, Affine(-last, 1.0)], name="phase one")
