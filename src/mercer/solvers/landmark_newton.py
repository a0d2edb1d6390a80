"""Classification on landmarks by Newton's method, with conjugate gradients inside.

Nothing of the length of the data is kept: a pass that multiplies with the second derivative
computes the values of the functions at each row along the way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.gram.passes import LandmarkProducts, Swept
from mercer.problems.landmark_losses import Curvatures, Curve, LandmarkClasses, Line, Slope
from mercer.solvers.landmark_basis import (
    LandmarkBasis,
    Preconditioner,
    small_algebra,
    worthwhile_share,
)
from mercer.solvers.landmark_ridge import LandmarkSolution, Monitor, Watch

_SIZES = (*(4.0**-i for i in range(5, 1, -1)), 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
_WHOLE = 0.15
"""How far from 1 the best sizes of steps may be so that the next ones need not be looked for."""
_ARMIJO = 1e-4
_LOOSE = 0.1
"""How well a Newton system is solved far from the answer."""
_ENOUGH = 0.3
"""What a Newton step may leave of the tolerance."""
_FAR = 1e-2
"""Relative error down to which slopes in float32 will do."""
_HASTE = 1e-6
"""How far values in float32 may be wrong."""
_HIDDEN = 1e-9
"""A relative fall of the value that rounding may hide."""
_STILL = 1e-7
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
"""Change in the number of rows that pull that says the same."""


@dataclass(frozen=True, eq=False)
class _Place:
    """Coordinates, and what a sweep has said of them."""

    W: Array
    swept: Swept
    gradient: Array
    value: float
    precise: bool


def solve(
    products: LandmarkProducts,
    basis: LandmarkBasis,
    problem: LandmarkClasses,
    tol: float = 1e-4,
    max_iter: int = 500,
    ends: float = math.inf,
    monitor: Monitor | None = None,
    shared: bool = False,
) -> LandmarkSolution:
    """Solve until the relative gap is below tol²; ``max_iter`` counts passes over the data.

    ``shared`` asks for one preconditioner for all functions, which takes less memory.
    """
    began = time.perf_counter()
    newton = _Newton(products, basis, problem, tol, Watch(max_iter, ends, monitor), shared)
    with small_algebra(len(basis)):
        place = newton.run()
    V = basis.embed(place.W)
    r = len(basis.kept)
    constants = V[-1].copy() if products.constant else np.zeros(V.shape[1])
    proof = problem.certify(
        place.swept,
        place.W[:r],
        constants,
        basis.pull,
        iterations=newton.watch.steps,
        seconds=time.perf_counter() - began,
        kernel_evaluations=products.evaluations,
        status=newton.watch.status,
    )
    return LandmarkSolution(np.ascontiguousarray(V[:r]), constants, proof)


class _Guide:
    """A preconditioner, made anew when it is out of date."""

    def __init__(self, make: Callable[[_Place], Callable[[Array], Array]]) -> None:
        self._make = make
        self.place: _Place | None = None
        self.late = True

    def at(self, place: _Place) -> Callable[[Array], Array]:
        """Return a preconditioner that is good enough for a place."""
        if self.late or self.place is None or self._changed(self.place, place):
            self._solve, self.place = self._make(place), place
            self._usual, self.late = math.inf, False
        return self._solve

    def note(self, steps: int, share: float, stuck: bool) -> None:
        """Note how many conjugate steps it took to bring an error down to a share."""
        pace = steps / math.log(1 / share)
        self._usual = min(self._usual, pace)
        self.late = stuck or (steps > _MANY_STEPS and pace > _SLOW * self._usual)

    @staticmethod
    def _changed(known: _Place, place: _Place) -> bool:
        before, now = known.swept.totals[2], place.swept.totals[2]
        return bool(abs(now - before) > _CHANGE * before)


class _Newton:
    def __init__(
        self,
        products: LandmarkProducts,
        basis: LandmarkBasis,
        problem: LandmarkClasses,
        tol: float,
        watch: Watch,
        shared: bool,
    ) -> None:
        self.products, self.basis, self.problem = products, basis, problem
        self.tol, self.watch, self.shared = tol, watch, shared
        self.penalty = basis.penalty[:, None]
        self.double = basis.needs_double(products.rows, 1.0)
        self.whitener = basis.whitener(products.rows)
        self.precise = self.double
        """Whether the next look is in float64."""
        self.near = False
        """Whether the next look may be the last: then it sees what the landmarks do not see."""
        self.searching = True
        """Whether whole steps are too long or too short."""

    def run(self) -> _Place:
        place = self.look(np.zeros((len(self.basis), self.problem.loss.functions)))
        guide = _Guide(self.preconditioner)
        error, value = math.inf, math.inf
        try:
            while True:
                G = guide.at(place)
                last, error = error, self.error(place, G)
                if error <= self.tol:
                    if place.precise:
                        break
                    place = self.look_again(place, near=True)  # nearer than was expected
                    continue
                still = place.value > (1 - _STILL) * value
                value = place.value
                if still and error > 0.5 * last:
                    if self.double and error <= max(10 * self.tol, _ARRIVED):
                        # Rounding keeps it from going on; the gap is next to nothing.
                        break
                    # Neither the value nor the error falls: perhaps float32 is to blame.
                    self.double = True
                    if not place.precise:
                        place = self.look_again(place)
                        value = place.value
                if self.watch.over(error):
                    break
                share = min(_LOOSE, max(error, _ENOUGH * self.tol / error))
                self.near = share * error <= self.tol
                self.precise = self.double or self.near or share * error <= _FAR
                D, steps, stuck = self.direction(place, G, share)
                guide.note(steps, share, stuck)
                # Stuck with the preconditioner of this very place: float32 has given what it can.
                self.double = self.double or (stuck and guide.place is place)
                moved = self.step(place, D)
                if moved is not None:
                    place = moved
                elif self.double and place.precise:
                    self.watch.status = "stalled" if error > _ARRIVED else "optimal"
                    break
                else:
                    self.double, guide.late = True, True
                    error, value, place = math.inf, math.inf, self.look_again(place)
        except KeyboardInterrupt:
            self.watch.status = "interrupted"
        return place if place.swept.unseen is not None else self.look_again(place, near=True)

    def look(self, W: Array) -> _Place:
        rule = Slope(self.problem.loss, self.problem.C)
        # In the end in float64: what is wrong with a slope stays wrong.
        whitener = self.whitener if self.near else None
        swept = self.products.sweep(self.basis.embed(W), rule, self.precise, whitener)
        self.watch.steps += 1
        gradient = self.penalty * W - self.basis.pull(swept.sums)
        value = float(swept.totals[0] + 0.5 * (self.penalty * W**2).sum())
        return _Place(W, swept, gradient, value, self.precise)

    def look_again(self, place: _Place, near: bool = False) -> _Place:
        """Look at the same place in float64."""
        self.precise, self.near = True, near
        return self.look(place.W)

    def error(self, place: _Place, G: Callable[[Array], Array]) -> float:
        """Return the root of the relative gap, or of what a Newton step promises, if larger."""
        promise = 0.5 * float((place.gradient * G(place.gradient)).sum())
        return math.sqrt(max(self.gap(place), promise, 0.0) / max(place.value, 1e-300))

    def gap(self, place: _Place) -> float:
        square = 0.5 * float((self.penalty * place.gradient**2).sum())
        return square + self.problem.drift(place.swept, place.W[-1])

    def preconditioner(self, place: _Place) -> Callable[[Array], Array]:
        loss, C = self.problem.loss, self.problem.C
        # Rows that do not pull are not curved either.
        pulling = max(1, int(place.swept.totals[2]))
        share = worthwhile_share(pulling, self.products.columns, _LOOSE)
        # All functions are alike where all are 0.
        rule = Curvatures(loss, C, self.shared or not place.W.any())
        V = self.basis.embed(place.W)
        squares = self.products.square(V, rule, self.basis.R, share, self.double)
        parts = [Preconditioner(square, self.basis.penalty) for square in squares]
        if len(parts) == 1:
            return parts[0]
        return lambda R: np.column_stack([part(R[:, j]) for j, part in enumerate(parts)])

    def direction(
        self, place: _Place, G: Callable[[Array], Array], share: float
    ) -> tuple[Array, int, bool]:
        """Return the Newton step, solved until its error has fallen to a share.

        Also how many conjugate steps it took, and whether they led nowhere in the end.
        """
        rule = Curve(self.problem.loss, self.problem.C)
        here = self.basis.embed(place.W)
        residual = -place.gradient
        X = np.zeros_like(residual)
        Z = G(residual)
        direction, rho = Z, self.dots(residual, Z)
        goal, steps, stuck = share**2 * rho, 0, False
        heights = []
        while (rho > goal).any() and self.watch.steps < self.watch.max_iter:
            if time.perf_counter() > self.watch.ends and steps:
                break
            heights.append(float((rho / goal).max()))
            stuck = steps >= _PATIENCE and heights[-1] > heights[-_PATIENCE] / 2
            if stuck and not self.double:
                break
            both = np.hstack([here, self.basis.embed(direction)])
            swept = self.products.sweep(both, rule, self.double)
            self.watch.steps += 1
            steps += 1
            image = self.basis.pull(swept.sums) + self.penalty * direction
            curvature = self.dots(direction, image)
            going = (rho > goal) & (curvature > 0)
            if not going.any():
                break
            size = np.where(going, rho / np.where(going, curvature, 1.0), 0.0)
            X += size * direction
            residual = residual - size * image
            Z = G(residual)
            new = self.dots(residual, Z)
            direction = Z + np.where(going, new / np.where(going, rho, 1.0), 0.0) * direction
            rho = new
        return (X if steps else direction), steps, stuck

    def dots(self, A: Array, B: Array) -> Array:
        """Return inner products: of each function, or of all where they share a loss."""
        each = np.einsum("ij,ij->j", A, B)
        return np.asarray(each.sum(keepdims=True) if self.problem.loss.joint else each)

    def step(self, place: _Place, D: Array) -> _Place | None:
        """Return the place after a step that lowers the objective, None where there is none."""
        slopes = self.dots(place.gradient, D)
        if not self.searching:
            trial = self.look(place.W + D)
            if self.falls(place, trial, float(slopes.sum())):
                return trial
        # A fall that rounding hides has no best size.
        sizes = np.where(-slopes > _HASTE * place.value, self.sizes(place, D), 1.0)
        self.searching = bool((np.abs(sizes - 1) > _WHOLE).any())
        trial = self.look(place.W + sizes * D)
        return trial if self.falls(place, trial, float((sizes * slopes).sum())) else None

    def falls(self, place: _Place, trial: _Place, slope: float) -> bool:
        """Whether the value falls as its slope promises; the gap, where rounding hides that."""
        rounding = 1e-13 if place.precise and trial.precise else _HASTE
        if trial.value <= place.value + _ARMIJO * slope + rounding * place.value:
            return True
        return -slope < _HIDDEN * place.value and self.gap(trial) < self.gap(place)

    def sizes(self, place: _Place, D: Array) -> Array:
        """Return how far to go along D for the lowest objective: one size for each loss."""
        rule = Line(self.problem.loss, self.problem.C, _SIZES)
        both = np.hstack([self.basis.embed(place.W), self.basis.embed(D)])
        losses = self.products.sweep(both, rule, self.precise).totals
        self.watch.steps += 1
        t = np.array(_SIZES)[:, None]
        PD = self.penalty * D
        values = losses + t * self.dots(place.W, PD) + 0.5 * t**2 * self.dots(D, PD)
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
