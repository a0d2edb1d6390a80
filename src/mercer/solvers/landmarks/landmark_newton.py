"""Classification on landmarks by Newton's method, with conjugate gradients inside.

Nothing of the length of the data is kept: a pass that multiplies with the second derivative
computes the values of the functions at each row along the way.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer import _parallel
from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.landmarks.passes import PassSums
from mercer.linalg.pcg import ConjugateSteps, Mask, column_products, conjugate_gradients
from mercer.problems.landmark_losses import Curvatures, Curve, LandmarkClasses, Line, Slope
from mercer.problems.landmark_squares import LandmarkFunctions, landmarks_of
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.landmarks.landmark_preconditioner import (
    LandmarkPreconditioner,
    penalty_diagonal,
    small_algebra,
    worthwhile_share,
)

_SIZES = (*(4.0**-i for i in range(5, 1, -1)), 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Sizes of steps that a line search tries in one pass: finer where Newton's step is too long."""
_WHOLE = 0.15
"""How far from 1 the best sizes of steps may be so that the next ones need no line search."""
_ARMIJO = 1e-4
"""The share of the decrease that the slope promises which a step has to bring."""
_LOOSE = 0.1
"""How well a Newton system is solved far from the answer."""
_ENOUGH = 0.3
"""What a Newton step may leave of the tolerance."""
_FAR = 1e-2
"""Relative error down to which gradients in float32 will do."""
_FLOAT32_ERROR = 1e-6
"""How far values in float32 may be wrong."""
_ROUNDING = 1e-9
"""A relative fall of the value that rounding may hide."""
_NO_DECREASE = 1e-7
"""A relative fall of the value that is none."""
_ARRIVED = 1e-5
"""Relative error at which rounding may stop it: the gap is its square."""
_PATIENCE = 10
"""Steps in float32 within which the square of the error has to fall by half."""
_MANY_STEPS = 6
"""Conjugate steps that may say that the preconditioner is out of date."""
_SLOW = 1.5
"""How many times as many steps for a digit say so as it took in its best time."""
_CHANGE = 0.2
"""Change in the number of rows with a multiplier that says the same."""


@dataclass(frozen=True, eq=False)
class _Point:
    """Coordinates, and what a pass has found there."""

    W: Array
    sums: PassSums
    gradient: Array
    value: float
    precise: bool


@dataclass(frozen=True)
class LandmarkNewton(Solver[LandmarkClasses, LandmarkFunctions]):
    """Newton's method until the relative gap is below tol²; ``max_iter`` counts passes.

    Parameters
    ----------
    shared : bool
        Whether all functions share one preconditioner, which takes less memory.
    """

    shared: bool = False

    needs_landmarks: ClassVar[bool] = True

    def run(
        self,
        problem: LandmarkClasses,
        gram: GramMatrix,
        budget: Budget,
        start: LandmarkFunctions | None,
    ) -> Outcome[LandmarkFunctions]:
        low = landmarks_of(gram, problem.name)
        descent = _LandmarkDescent(problem, low, budget, self.shared)
        with small_algebra(low.passes.columns):
            end = descent.run(descent.origin(start))
        value = LandmarkFunctions.of(low, end.W, end.sums)
        return Outcome(value, descent.status, descent.steps)


class _Refresh:
    """A preconditioner, made anew when it is out of date."""

    def __init__(self, make: Callable[[_Point], Callable[[Array], Array]]) -> None:
        self._make = make
        self.point: _Point | None = None
        self.late = True

    def at(self, point: _Point) -> Callable[[Array], Array]:
        """Return a preconditioner that is good enough for a point."""
        if self.point is not None:
            before, now = self.point.sums.totals[2], point.sums.totals[2]
            self.late = self.late or abs(now - before) > _CHANGE * before
        if self.late:
            self._solve, self.point = self._make(point), point
            self._usual, self.late = math.inf, False
        return self._solve

    def note(self, steps: int, share: float, stagnates: bool) -> None:
        """Note how many conjugate steps it took to bring an error down to a share."""
        pace = steps / math.log(1 / share)
        self._usual = min(self._usual, pace)
        self.late = stagnates or (steps > _MANY_STEPS and pace > _SLOW * self._usual)


class _LandmarkDescent:
    """Newton's method in the coordinates of the basis."""

    def __init__(
        self, problem: LandmarkClasses, gram: LandmarkGram, budget: Budget, shared: bool
    ) -> None:
        self.problem, self.budget, self.shared = problem, budget, shared
        self.basis, self.passes, self.tol = gram.basis, gram.passes, budget.tol
        self.penalty = penalty_diagonal(self.passes.columns, problem.constant)[:, None]
        self.float64 = self.basis.needs_float64(self.passes.rows, 1.0)
        """Whether all passes are in float64."""
        self.whitener = self.basis.whitener(self.passes.rows)
        self.steps = 0
        self.status = Status.OPTIMAL
        self.precise = self.float64
        """Whether the next evaluation is in float64."""
        self.near = False
        """Whether the next evaluation may be the last, which asks what the landmarks do not see."""
        self.searching = True
        """Whether whole steps are too long or too short."""

    def origin(self, start: LandmarkFunctions | None) -> Array:
        """Return the coordinates, and constants where there are some, at which to begin."""
        if start is None:
            return np.zeros((self.passes.columns, self.problem.loss.functions))
        return np.vstack([start.coordinates, start.constants[None]])[: self.passes.columns]

    def run(self, W: Array) -> _Point:
        """Descend from coordinates W."""
        point = self.evaluate(W)
        preconditioners = _Refresh(self.preconditioner)
        error, value = math.inf, math.inf
        try:
            while True:
                G = preconditioners.at(point)
                last, error = error, self.error(point, G)
                if error <= self.tol:
                    if point.precise:
                        break
                    point = self.evaluate_again(point, near=True)  # nearer than was expected
                    continue
                no_decrease = point.value > (1 - _NO_DECREASE) * value
                value = point.value
                if no_decrease and error > 0.5 * last:
                    if self.float64 and error <= max(10 * self.tol, _ARRIVED):
                        # Rounding keeps it from going on; the gap is next to nothing.
                        break
                    # Neither the value nor the error falls: perhaps float32 is to blame.
                    self.float64 = True
                    if not point.precise:
                        point = self.evaluate_again(point)
                        value = point.value
                _parallel.check_stopped()
                reason = self.budget.stop(error, self.steps)
                if reason is not None:
                    self.status = reason
                    break
                share = min(_LOOSE, max(error, _ENOUGH * self.tol / error))
                self.near = share * error <= self.tol
                self.precise = self.float64 or self.near or share * error <= _FAR
                moved = self.step(point, self.direction(point, G, share, preconditioners))
                if moved is not None:
                    point = moved
                elif self.float64 and point.precise:
                    self.status = Status.STALLED if error > _ARRIVED else Status.OPTIMAL
                    break
                else:
                    self.float64, preconditioners.late = True, True
                    error, value, point = math.inf, math.inf, self.evaluate_again(point)
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        return point if point.sums.unseen is not None else self.evaluate_again(point, near=True)

    def evaluate(self, W: Array) -> _Point:
        """Return the value and the gradient at coordinates W, by one pass."""
        rule = Slope(self.problem.loss, self.problem.C)
        # In the end in float64: what is wrong with a slope stays wrong.
        whitener = self.whitener if self.near else None
        sums = self.passes.sums(self.basis.coefficients(W), rule, self.precise, whitener)
        self.steps += 1
        gradient = self.penalty * W - self.basis.coordinates(sums.products)
        value = float(sums.totals[0] + 0.5 * (self.penalty * W**2).sum())
        return _Point(W, sums, gradient, value, self.precise)

    def evaluate_again(self, point: _Point, near: bool = False) -> _Point:
        """Evaluate the same point in float64."""
        self.precise, self.near = True, near
        return self.evaluate(point.W)

    def error(self, point: _Point, G: Callable[[Array], Array]) -> float:
        """Return the root of the relative gap, or of what a Newton step promises, if larger."""
        promise = 0.5 * float((point.gradient * G(point.gradient)).sum())
        return math.sqrt(max(self.gap(point), promise, 0.0) / max(point.value, 1e-300))

    def gap(self, point: _Point) -> float:
        """Return the gap of the certificate, by its parts: a difference of values loses digits.

        With β = −C s ∂ℓ losses and conjugates differ by −Σ βᵢ (f(xᵢ) + b), so that the gap is
        ½‖f − Σ βᵢ φ(xᵢ)‖² − b Σ βᵢ and what the dual loses by Σ βᵢ.
        """
        square = 0.5 * float((self.penalty * point.gradient**2).sum())
        lost = self.problem.dual_loss(point.sums, point.W[-1])
        if self.problem.constant:
            lost -= float(point.W[-1] @ point.sums.products[-1])
        return square + lost

    def preconditioner(self, point: _Point) -> Callable[[Array], Array]:
        loss, C = self.problem.loss, self.problem.C
        # Rows without a multiplier have no curvature either.
        active = max(1, int(point.sums.totals[2]))
        share = worthwhile_share(active, self.passes.columns, _LOOSE)
        # All functions are alike where all are 0.
        rule = Curvatures(loss, C, self.shared or not point.W.any())
        V = self.basis.coefficients(point.W)
        squares = self.passes.square(V, rule, self.basis.R, share, self.float64)
        parts = [LandmarkPreconditioner(square, self.penalty[:, 0]) for square in squares]
        if len(parts) == 1:
            return parts[0]
        return lambda R: np.column_stack([part(R[:, j]) for j, part in enumerate(parts)])

    def direction(
        self, point: _Point, G: Callable[[Array], Array], share: float, known: _Refresh
    ) -> Array:
        """Return the Newton step, solved until its error has fallen to a share."""
        rule = Curve(self.problem.loss, self.problem.C)
        here = self.basis.coefficients(point.W)
        most = self.budget.max_iter if self.budget.max_iter >= 0 else sys.maxsize
        heights: list[float] = []
        stagnates = False

        def going(at: ConjugateSteps) -> Mask:
            nonlocal stagnates
            wanted = at.rho > share**2 * at.first
            late = at.steps > 0 and self.budget.seconds_left < 0
            if not wanted.any() or late or self.steps >= most:
                return np.False_
            heights.append(float((at.rho / (share**2 * at.first)).max()))
            stagnates = at.steps >= _PATIENCE and heights[-1] > heights[-_PATIENCE] / 2
            return np.False_ if stagnates and not self.float64 else wanted

        def multiply(direction: Array) -> Array:
            both = np.hstack([here, self.basis.coefficients(direction)])
            sums = self.passes.sums(both, rule, self.float64)
            self.steps += 1
            return np.asarray(self.basis.coordinates(sums.products) + self.penalty * direction)

        residual = -point.gradient
        found = conjugate_gradients(
            multiply, residual, going=going, precondition=G, pair=self.dots, max_iter=most
        )
        known.note(found.steps, share, stagnates)
        # Stagnation with a preconditioner of this very point: float32 has given all.
        self.float64 = self.float64 or (stagnates and known.point is point)
        return found.x if found.steps else G(residual)

    def dots(self, A: Array, B: Array) -> Array:
        """Return inner products: of each function, or of all where they share a loss."""
        each = column_products(A, B)
        return each.sum(keepdims=True) if self.problem.loss.joint else each

    def step(self, point: _Point, D: Array) -> _Point | None:
        """Return the point after a step that lowers the objective, None where there is none."""
        slopes = self.dots(point.gradient, D)
        if not self.searching:
            trial = self.evaluate(point.W + D)
            if self.falls(point, trial, float(slopes.sum())):
                return trial
        # A fall that rounding hides has no best size.
        sizes = np.where(-slopes > _FLOAT32_ERROR * point.value, self.sizes(point, D), 1.0)
        self.searching = bool((np.abs(sizes - 1) > _WHOLE).any())
        trial = self.evaluate(point.W + sizes * D)
        return trial if self.falls(point, trial, float((sizes * slopes).sum())) else None

    def falls(self, point: _Point, trial: _Point, slope: float) -> bool:
        """Whether the value falls as its slope promises; the gap, where rounding hides that."""
        rounding = 1e-13 if point.precise and trial.precise else _FLOAT32_ERROR
        if trial.value <= point.value + _ARMIJO * slope + rounding * point.value:
            return True
        return -slope < _ROUNDING * point.value and self.gap(trial) < self.gap(point)

    def sizes(self, point: _Point, D: Array) -> Array:
        """Return how far to go along D for the lowest objective: one size for each loss."""
        rule = Line(self.problem.loss, self.problem.C, _SIZES)
        both = np.hstack([self.basis.coefficients(point.W), self.basis.coefficients(D)])
        losses = self.passes.sums(both, rule, self.precise).totals
        self.steps += 1
        t = np.array(_SIZES)[:, None]
        PD = self.penalty * D
        values = losses + t * self.dots(point.W, PD) + 0.5 * t**2 * self.dots(D, PD)
        return np.array([_lowest(t[:, 0], column) for column in values.T])


def _lowest(t: Array, values: Array) -> float:
    """Return where a convex function is lowest, by a parabola through its lowest values."""
    i = int(values.argmin())
    if i in (0, len(t) - 1):
        return float(t[i])
    (a, b, c), (u, v, w) = t[i - 1 : i + 2], values[i - 1 : i + 2]
    left, right = (v - u) / (b - a), (w - v) / (c - b)
    if not right > left:
        return float(b)
    # The slope is known in the middle of both intervals, and in between it is nearly straight.
    return float((a + b) / 2 - left * ((c - a) / 2) / (right - left))
