"""The best bound that multipliers prove: the dual function g(λ, ν), maximised by cutting planes.

g(λ, ν) = inf_x L(x, λ, ν) is concave whatever the problem is. For quadratic and affine functions L
is a quadratic function of x, and both kinds of planes are exact: g ≤ L(x̄, ·) for every x̄, and g is
finite only where vᵀP(λ, ν)v ≥ 0 for every v, P the matrix of L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.problems.constrained import ConstrainedProblem
from mercer.problems.functions import QuadraticForm
from mercer.solvers.constrained_programs import solve

_REACH = 1e4
"""Multipliers are looked for up to this size, in units of the largest entry of the functions."""
_INSIDE = 1e-9
"""Eigenvalues of P above this share of the largest are positive beyond rounding."""


@dataclass(frozen=True, eq=False)
class DualOptimum:
    """The multipliers of the best bound.

    Attributes
    ----------
    lambda_, nu : arrays
        λ ≥ 0 and ν.
    value : float
        g(λ, ν): no feasible point has a smaller value. −inf where no bound was found; there is none
        where ``upper`` is −inf too.
    upper : float
        No multipliers prove more than this, up to the size that was looked at; inf where that is
        not known.
    iterations : int
        How many times planes were added.

    Examples
    --------
    >>> from mercer import optimize
    >>> saddle = optimize.QuadraticFunction([[-2.0]])  # −x², subject to x² ≤ 1
    >>> disc = optimize.QuadraticFunction([[2.0]], [0.0], -1.0)
    >>> best = optimize.maximise_dual(optimize.ConstrainedProblem(saddle, disc))
    >>> best.lambda_.round(4), round(best.value, 4)  # as good as x = 1: there is no gap
    (array([1.]), -1.0)
    """

    lambda_: Array
    nu: Array
    value: float
    upper: float
    iterations: int


def maximise_dual(
    problem: ConstrainedProblem, *, tol: float = 1e-7, max_iter: int = 500
) -> DualOptimum:
    """Return the multipliers whose bound g(λ, ν) is the best, for quadratic and affine functions.

    d* = max g(λ, ν) subject to λ ≥ 0; p* − d* is the duality gap, 0 where the problem is convex and
    has a Slater point, and often above 0 where it is not. ``problem.kkt(x, λ, ν)`` judges a point
    by these multipliers, and its ``gap`` is what is left between both.

    Parameters
    ----------
    problem : ConstrainedProblem
        Of quadratic and affine functions, convex or not.
    tol : float
        The distance of ``value`` and ``upper``, relative to 1 + |value|, at which it ends.
    max_iter : int
        The most rounds.

    Raises
    ------
    InvalidInput
        If a function is neither quadratic nor affine: the least value of L is then not known.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), section 5.2; J. Kelley (1960), Journal
    of the SIAM 8.

    Examples
    --------
    Three numbers ±1, no two of which should agree. Two of them have to: p* = −1. The best bound is
    −3/2, and the gap is real:

    >>> import numpy as np
    >>> from mercer import optimize
    >>> agree = optimize.QuadraticFunction(np.ones((3, 3)) - np.eye(3))  # x₁x₂ + x₂x₃ + x₁x₃
    >>> signs = [optimize.QuadraticFunction(2 * np.diag(row), r=-1.0) for row in np.eye(3)]
    >>> problem = optimize.ConstrainedProblem(agree, equalities=signs)
    >>> best = optimize.maximise_dual(problem)
    >>> round(best.value, 4), best.nu.round(3)
    (-1.5, array([0.5, 0.5, 0.5]))
    >>> round(problem.kkt([1.0, 1.0, -1.0], (), best.nu).gap, 4)
    0.5
    """
    forms, inequalities = _forms(problem)
    best, upper, rounds = _Planes(forms, inequalities).climb(tol, max_iter)
    if best is None and upper == math.inf and problem.convex:
        # No multipliers bend L upwards everywhere, as in a linear program: its answer has them.
        found = solve(problem)
        return DualOptimum(found.lambda_, found.nu, found.certificate.dual, upper, rounds)
    z: Array = np.zeros(len(forms) - 1) if best is None else best
    lam, nu = np.maximum(z[:inequalities], 0.0), z[inequalities:]
    if best is None:
        return DualOptimum(lam, nu, -math.inf, upper, rounds)
    # What is said is the bound of the problem itself.
    proven = problem.dual(lam, nu)
    return DualOptimum(lam, nu, proven, max(upper, proven), rounds)


def _forms(problem: ConstrainedProblem) -> tuple[list[QuadraticForm], int]:
    """Return f₀ and all constraints as quadratic functions, and how many are inequalities."""
    n, x = problem.size, np.zeros(problem.size)
    forms, counts = [problem.objective.form(np.ones(1), n)], []
    for functions in (problem.inequalities, problem.equalities):
        before = len(forms)
        for f in functions:
            forms += [f.form(unit, n) for unit in np.eye(len(f.values(x)))]
        counts.append(len(forms) - before)
    known = [form for form in forms if form is not None]
    if len(known) < len(forms):
        raise InvalidInput(
            "maximise_dual: a function is neither quadratic nor affine, so that the least value of "
            "the Lagrangian is not known. Write it as QuadraticFunction or Affine, or give "
            "multipliers to problem.dual."
        )
    return known, counts[0]


class _Planes:
    """The planes above g and around the place where it is finite."""

    def __init__(self, forms: list[QuadraticForm], inequalities: int) -> None:
        self.forms, self.count = forms, len(forms) - 1
        size = max(max(np.abs(f.P).max(), np.abs(f.q).max(), abs(f.r)) for f in forms)
        reach = _REACH * max(float(size), 1.0)
        self.bounds = [(0.0, reach)] * inequalities + [(-reach, reach)] * (
            self.count - inequalities
        )
        self.values: list[Array] = []  # rows (F₁(x̄), …, F₀(x̄)): t ≤ F₀ + Σ zᵢFᵢ
        self.bends: list[Array] = []  # rows (vᵀP₁v, …, vᵀP₀v): 0 ≤ vᵀP₀v + Σ zᵢvᵀPᵢv

    def climb(self, tol: float, max_iter: int) -> tuple[Array | None, float, int]:
        """Return the best multipliers, a bound of all g, and the number of rounds."""
        inner, upper = self._inner_point(max_iter)
        if inner is None:
            return None, upper, 0
        best, value = inner, self._evaluate(inner)
        rounds = 0
        while rounds < max_iter:
            rounds += 1
            z, upper = self._highest()
            if upper - value <= tol * (1 + abs(value)):
                break
            self._bend(z)
            step = self._way_inside(inner, z)
            for share in (step, 0.5 * step):
                found = inner + share * (z - inner)
                height = self._evaluate(found)
                if height > value:
                    best, value = found, height
            # Steps from nearer and nearer to the best place cut where it matters.
            inner = inner + 0.5 * (best - inner)
        return best, upper, rounds

    def _matrix(self, z: Array) -> Array:
        P: Array = self.forms[0].P.astype(np.float64)
        for weight, form in zip(z, self.forms[1:], strict=True):
            P = P + weight * form.P
        return P

    def _evaluate(self, z: Array) -> float:
        """Return g(z) where P is positive definite, and add the plane that touches g there."""
        P, q = self._matrix(z), self.forms[0].q.astype(np.float64)
        for weight, form in zip(z, self.forms[1:], strict=True):
            q = q + weight * form.q
        values, vectors = linalg.eigh(P)
        kept = values > _INSIDE * float(np.abs(values).max(initial=1e-300))
        if values[0] < -_INSIDE * float(np.abs(values).max(initial=1.0)):
            return -math.inf
        x = -vectors[:, kept] @ ((vectors[:, kept].T @ q) / values[kept])
        heights = np.array([0.5 * x @ f.P @ x + f.q @ x + f.r for f in self.forms])
        self.values.append(np.append(heights[1:], heights[0]))
        if np.abs(vectors[:, ~kept].T @ q).max(initial=0.0) > 1e-6 * (1 + np.abs(q).max()):
            return -math.inf
        return float(heights[0] + z @ heights[1:])

    def _bend(self, z: Array) -> None:
        """Add the planes of directions along which L falls for ever."""
        values, vectors = linalg.eigh(self._matrix(z))
        for v in vectors[:, values < _INSIDE * float(np.abs(values).max(initial=1.0))].T:
            bends = np.array([v @ form.P @ v for form in self.forms])
            self.bends.append(np.append(bends[1:], bends[0]))

    def _way_inside(self, inner: Array, z: Array) -> float:
        """Return how far one can go from an inner point to another one, nearly to the border."""
        P, Q = self._matrix(inner), self._matrix(z)
        least = float(linalg.eigh(Q - P, P, eigvals_only=True)[0])
        return 1.0 if least > -0.999 else 0.999 / -least

    def _inner_point(self, max_iter: int) -> tuple[Array | None, float]:
        """Return multipliers with a positive definite P, or None; and a bound of all g."""
        z = np.zeros(self.count)
        for _ in range(max_iter):
            values, vectors = linalg.eigh(self._matrix(z))
            if values[0] > _INSIDE * float(np.abs(values).max(initial=1.0)):
                return z, math.inf
            for v in vectors[:, values <= values[0] + 0.5 * abs(values[0])].T:
                bends = np.array([v @ form.P @ v for form in self.forms])
                self.bends.append(np.append(bends[1:], bends[0]))
            rows = np.array(self.bends)
            # max s ≤ 1: vᵀPv ≥ s along all directions so far.
            A = np.column_stack([-rows[:, :-1], np.ones(len(rows))])
            found = optimize.linprog(
                np.append(np.zeros(self.count), -1.0), A, rows[:, -1],
                bounds=[*self.bounds, (None, 1.0)], method="highs",
            )  # fmt: skip
            if found.x is None or found.x[-1] <= 0:
                # Below 0 some direction always falls for ever; at 0 nobody knows.
                beyond = found.x is not None and found.x[-1] < -_INSIDE
                return None, -math.inf if beyond else math.inf
            z = np.asarray(found.x[:-1])
        return None, math.inf

    def _highest(self) -> tuple[Array, float]:
        """Return where the planes allow the largest value, and this value."""
        above = np.array(self.values)
        around = np.reshape(self.bends, (len(self.bends), self.count + 1))
        A = np.vstack([
            np.column_stack([-above[:, :-1], np.ones(len(above))]),
            np.column_stack([-around[:, :-1], np.zeros(len(around))]),
        ])  # fmt: skip
        right = np.concatenate([above[:, -1], around[:, -1]])
        found = optimize.linprog(
            np.append(np.zeros(self.count), -1.0), A, right,
            bounds=[*self.bounds, (None, None)], method="highs",
        )  # fmt: skip
        if found.x is None:
            return np.zeros(self.count), math.inf
        return np.asarray(found.x[:-1]), float(found.x[-1])
