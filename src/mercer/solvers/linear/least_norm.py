"""The least norm of residuals: Newton's method in Lp, and weights in a ball."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np
from scipy import linalg, optimize
from sklearn.linear_model import lars_path

from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.base import GramMatrix
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalty_problems import PenaltyAnswer
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Status
from mercer.solvers.line_search import backtrack
from mercer.solvers.linear.least_squares import accurate, shortest

_ROUNDS = 100
"""Newton steps for one p and one smoothing; some ten are enough nearly always."""
_PROMISE = 1e-15
"""A step that promises less, as a share of the norm, is rounding."""


_LEAST = 1e-100
"""Targets below it, or above its inverse, are counted in units of the largest: squares of squares
would leave the range of floats."""


class LeastNorm(FeatureSolver[NormProblem, PenaltyAnswer]):
    """Newton's method on Σ|rᵢ|ᵖ, 1 < p < ∞, from least squares by way of norms in between.

    Below p = 2 the curvature is infinite at a residual of zero: (r² + ε²)^(p/2) takes the place of
    |r|ᵖ, with smaller and smaller ε. The budget's ``tol`` is the relative gap.
    """

    def run(
        self, problem: NormProblem, gram: GramMatrix, budget: Budget, start: PenaltyAnswer | None
    ) -> Outcome[PenaltyAnswer]:
        A, b = gram.features(), problem.b
        most = float(np.abs(b).max(initial=0.0))
        if most > 0 and not _LEAST < most < 1 / _LEAST:
            begin = None if start is None else PenaltyAnswer(start.x / most, start.nu)
            found = self.run(replace(problem, b=b / most), gram, budget, begin)
            return replace(found, value=PenaltyAnswer(most * found.value.x, found.value.nu))
        x = accurate(A, b).x if start is None else start.x
        steps, best, gap, share = 0, PenaltyAnswer(x), math.inf, math.inf
        if float(np.abs(b - A @ x).max(initial=0.0)) <= 1e-14 * most:
            return Outcome(PenaltyAnswer(x), Status.OPTIMAL, steps)
        for p, smooth in _stages(problem.norm.p):
            # The smoothing is a share of the residuals as they are now.
            e = smooth * float(np.abs(b - A @ x).max())
            for _ in range(_ROUNDS):
                stopped = budget.stop(math.inf, steps)
                if stopped is not None:
                    return Outcome(PenaltyAnswer(x), stopped, steps)
                moved = _newton_step(A, b, x, p, e)
                steps += 1
                if moved is None:
                    break
                x = moved
            if p != problem.norm.p:
                continue
            # Near p = 1 residuals would have to be tinier than x can make them; slopes of the
            # smoothed norm are as good a point of the dual.
            for nu in (None, _smoothed_slopes(b - A @ x, p, e)):
                dual = None if nu is None else problem.feasible(A, nu)
                judged = problem.certify(PenaltyAnswer(x, dual), gram)
                if judged.gap < gap:
                    best, gap, share = PenaltyAnswer(x, dual), judged.gap, judged.relative_gap
            if share <= 1e-3 * budget.tol:
                break
        return Outcome(best, Status.OPTIMAL, steps)


def _stages(p: float) -> Iterator[tuple[float, float]]:
    """Return powers from 2 on the way to p, each with its smoothing."""
    if p >= 2:
        for k in count(2):
            if 2.0**k >= p:
                break
            yield 2.0**k, 0.0
        yield p, 0.0
        return
    for smooth in 10.0 ** -np.arange(1, 14):
        yield p, float(smooth)


def _newton_step(A: Array, b: Array, x: Array, p: float, e: float) -> Array | None:
    """Return the next point, None where none is better."""
    r = b - A @ x
    size = float(np.sqrt((r * r).max() + e * e))
    z, share = r / size, e / size
    base = z * z + share * share
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(base > 0, z * base ** (p / 2 - 1), 0.0)
        bend = np.where(base > 0, base ** (p / 2 - 2) * ((p - 1) * z * z + share * share), 0.0)
    bend = np.maximum(bend, 1e-14 * bend.max())
    root = np.sqrt(bend)
    direction = size * shortest(root[:, None] * A, slope / root)
    change = A @ direction

    def norm(t: float) -> float:
        return _smoothed(r - t * change, p, e)

    value = norm(0.0)
    total = float((base ** (p / 2)).sum())
    fall = float(slope @ change) * total ** (1 / p - 1)
    if not fall > _PROMISE * value:
        return None
    found = backtrack(norm, value, -fall)
    return None if found.size == 0.0 or found.value >= value else x + found.size * direction


def _smoothed_slopes(r: Array, p: float, e: float) -> Array:
    """Return the slopes of the smoothed norm, of length 1 or less in the dual norm."""
    squares = r * r + e * e
    most = float(squares.max(initial=0.0))
    if most == 0.0:
        return np.zeros_like(r)
    base = squares / most
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(base > 0, r / math.sqrt(most) * base ** (p / 2 - 1), 0.0)
    return np.asarray(slopes * float((base ** (p / 2)).sum()) ** (1 / p - 1))


def _smoothed(r: Array, p: float, e: float) -> float:
    """Return (Σ (r² + e²)^(p/2))^(1/p), scaled so that powers stay in range."""
    squares = r * r + e * e
    most = float(squares.max(initial=0.0))
    if most == 0.0:
        return 0.0
    powers = float(((squares / most) ** (p / 2)).sum())
    return math.sqrt(most) * math.pow(powers, 1 / p)


class WeightsInBall(FeatureSolver[NormProblem, PenaltyAnswer]):
    """The least norm of residuals with weights in a ball, by the method that suits both.

    Squares in an L2 ball by the secular equation, in an L1 ball by least angles, in an L∞ ball by
    bounded least squares; L1 and L∞ norms in L1 and L∞ balls are linear programs of HiGHS.

    References
    ----------
    G. Golub and C. Van Loan, Matrix Computations (2013), section 6.2.1. B. Efron, T. Hastie, I.
    Johnstone and R. Tibshirani, Least angle regression, 2004.
    """

    def run(
        self, problem: NormProblem, gram: GramMatrix, budget: Budget, start: PenaltyAnswer | None
    ) -> Outcome[PenaltyAnswer]:
        A, p = gram.features(), problem.norm.p
        q = getattr(problem.ball, "p", None)
        if p == 2 and q in (1.0, 2.0, math.inf):
            return Outcome(PenaltyAnswer(_squares(problem, A, q)), Status.OPTIMAL)
        if p in (1.0, math.inf) and q in (1.0, math.inf):
            return Outcome(_program(problem, A, q), Status.OPTIMAL)
        raise InvalidParameter(
            f"NormRegressor: {problem.norm!r} of the residuals with weights in a ball of "
            f"{problem.ball!r} has no method here. There are 2 (or a matrix) with balls of 1, 2 "
            "and inf, and 1 and inf with balls of 1 and inf."
        )


def _squares(problem: NormProblem, A: Array, q: float) -> Array:
    d = problem.weights
    W, Z = A[:, :d], A[:, d:]
    # Columns without a bound take what they can: what is left is orthogonal to them.
    Q = linalg.orth(Z) if Z.shape[1] else np.zeros((len(A), 0))
    rows, target = W - Q @ (Q.T @ W), problem.b - Q @ (Q.T @ problem.b)
    w = shortest(rows, target)
    if float(problem.ball(w)) > problem.radius:
        w = _IN_BALL[q](rows, target, problem.radius)
    rest = shortest(Z, problem.b - W @ w) if Z.shape[1] else np.zeros(0)
    return np.concatenate([w, rest])


def _in_l2(A: Array, b: Array, t: float) -> Array:
    """Solve min ‖b − Aw‖, ‖w‖₂ = t: the λ ≥ 0 with ‖(AᵀA + λ)⁻¹Aᵀb‖ = t."""
    U, s, Vt = linalg.svd(A, full_matrices=False)
    c = s * (U.T @ b)

    def excess(level: float) -> float:
        return float(np.linalg.norm(c / (s * s + level))) / t - 1

    high = float(np.linalg.norm(c)) / t  # there ‖w‖ ≤ t
    found = optimize.brentq(excess, 1e-16 * high, high, xtol=1e-300, rtol=1e-15)
    return np.asarray(Vt.T @ (c / (s * s + found)))


def _in_l1(A: Array, b: Array, t: float) -> Array:
    """Solve min ‖b − Aw‖, ‖w‖₁ = t: the lasso's path is piecewise linear in ‖w‖₁."""
    _, _, coefs = lars_path(A, b, method="lasso")
    sizes = np.abs(coefs).sum(axis=0)
    after = int(np.searchsorted(sizes, t))
    if after == len(sizes):
        return np.asarray(coefs[:, -1] * (t / sizes[-1]))
    share = (t - sizes[after - 1]) / (sizes[after] - sizes[after - 1])
    return np.asarray(coefs[:, after - 1] + share * (coefs[:, after] - coefs[:, after - 1]))


def _in_linf(A: Array, b: Array, t: float) -> Array:
    """Solve min ‖b − Aw‖, |wⱼ| ≤ t, by bounded least squares."""
    found = optimize.lsq_linear(A, b, bounds=(-t, t), method="bvls", tol=1e-14)
    return np.asarray(np.clip(found.x, -t, t))


_IN_BALL = {1.0: _in_l1, 2.0: _in_l2, math.inf: _in_linf}
"""Least squares on the boundary of each ball."""


def _program(problem: NormProblem, A: Array, q: float) -> PenaltyAnswer:
    """Solve a linear program in w = u − v, u, v ≥ 0, the free weights, and the residuals' sizes."""
    n, d, t = len(A), problem.weights, problem.radius
    W, Z = A[:, :d], A[:, d:]
    sizes = np.eye(n) if problem.norm.p == 1 else np.ones((n, 1))
    cost = np.r_[np.zeros(2 * d + Z.shape[1]), np.ones(sizes.shape[1])]
    design = np.hstack([W, -W, Z])
    limits = np.vstack([np.hstack([design, -sizes]), np.hstack([-design, -sizes])])
    ends = np.r_[problem.b, -problem.b]
    most = t if q == math.inf else None
    if q == 1.0:
        limits = np.vstack([limits, np.r_[np.ones(2 * d), np.zeros(len(cost) - 2 * d)]])
        ends = np.r_[ends, t]
    free, above = [(None, None)] * Z.shape[1], [(0, None)] * sizes.shape[1]
    found = optimize.linprog(
        cost,
        A_ub=limits,
        b_ub=ends,
        bounds=[(0, most)] * (2 * d) + free + above,
        method="highs",
    )
    if found.x is None:
        raise InvalidInput(f"HiGHS found no answer ({found.message}); scale the columns of X.")
    nu = found.ineqlin.marginals[:n] - found.ineqlin.marginals[n : 2 * n]
    w = found.x[:d] - found.x[d : 2 * d]
    return PenaltyAnswer(np.concatenate([w, found.x[2 * d : 2 * d + Z.shape[1]]]), nu)
