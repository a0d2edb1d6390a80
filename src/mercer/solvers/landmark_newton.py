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

_SIZES = tuple(2.0**-i for i in range(1, 11))
_ARMIJO = 1e-4
_LOOSE = 0.1
"""How well a Newton system is solved far from the answer."""
_STILL = 1e-7
"""A relative fall of the value that is none."""
_ARRIVED = 1e-5
"""Relative error at which rounding may stop it: the gap is its square."""
_PATIENCE = 10
"""Steps in float32 within which an error has to fall by half; else float64 takes over."""
_MANY_STEPS = 6
"""Conjugate steps that say that the preconditioner is out of date."""
_NEAR = 3
"""Times the tolerance at which an error that is expected may be the last one."""


@dataclass(frozen=True, eq=False)
class _Place:
    """Coordinates, and what a sweep has said of them."""

    W: Array
    swept: Swept
    gradient: Array
    value: float


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
        self.near = False
        """Whether the next look may be the last: then it sees what the landmarks do not see."""

    def run(self) -> _Place:
        place = self.look(np.zeros((len(self.basis), self.problem.loss.functions)))
        G: Callable[[Array], Array] | None = None
        error, value, steps = math.inf, math.inf, 0
        try:
            while True:
                if G is None or steps > _MANY_STEPS:
                    G = self.preconditioner(place)
                last, error = error, self.error(place, G)
                if error <= self.tol:
                    break
                still = place.value > (1 - _STILL) * value
                value = place.value
                if still and error > 0.5 * last:
                    if self.double and error <= max(10 * self.tol, _ARRIVED):
                        # Rounding keeps it from going on; the gap is next to nothing.
                        break
                    # Neither the value nor the error falls: perhaps float32 is to blame.
                    self.double = True
                if self.watch.over(error):
                    break
                share = min(_LOOSE, error)
                self.near = share * error <= _NEAR * self.tol
                D, steps = self.direction(place, G, share)
                moved = self.step(place, D)
                if moved is not None:
                    place = moved
                elif self.double:
                    self.watch.status = "stalled" if error > _ARRIVED else "optimal"
                    break
                else:
                    self.double, error, G = True, math.inf, None
        except KeyboardInterrupt:
            self.watch.status = "interrupted"
        if place.swept.unseen is None:
            self.near = True
            place = self.look(place.W)
        return place

    def look(self, W: Array) -> _Place:
        rule = Slope(self.problem.loss, self.problem.C)
        # In float64: what is wrong with a slope stays wrong.
        whitener = self.whitener if self.near else None
        swept = self.products.sweep(self.basis.embed(W), rule, True, whitener)
        self.watch.steps += 1
        gradient = self.penalty * W - self.basis.pull(swept.sums)
        value = float(swept.totals[0] + 0.5 * (self.penalty * W**2).sum())
        return _Place(W, swept, gradient, value)

    def error(self, place: _Place, G: Callable[[Array], Array]) -> float:
        """Return the root of the relative gap, or of what a Newton step promises, if larger."""
        gap = 0.5 * float((self.penalty * place.gradient**2).sum())
        gap += self.problem.drift(place.swept, place.W[-1])
        promise = 0.5 * float((place.gradient * G(place.gradient)).sum())
        return math.sqrt(max(gap, promise, 0.0) / max(place.value, 1e-300))

    def preconditioner(self, place: _Place) -> Callable[[Array], Array]:
        loss, C = self.problem.loss, self.problem.C
        share = worthwhile_share(self.products.rows, self.products.columns, _LOOSE)
        rule = Curvatures(loss, C, self.shared)
        V = self.basis.embed(place.W)
        squares = self.products.square(V, rule, self.basis.R, share, self.double)
        parts = [Preconditioner(square, self.basis.penalty) for square in squares]
        if len(parts) == 1:
            return parts[0]
        return lambda R: np.column_stack([part(R[:, j]) for j, part in enumerate(parts)])

    def direction(
        self, place: _Place, G: Callable[[Array], Array], share: float
    ) -> tuple[Array, int]:
        """Return the Newton step, solved until its error has fallen to a share."""
        rule = Curve(self.problem.loss, self.problem.C)
        here = self.basis.embed(place.W)
        residual = -place.gradient
        X = np.zeros_like(residual)
        Z = G(residual)
        direction, rho = Z, self.dots(residual, Z)
        goal, steps = share**2 * rho, 0
        heights = []
        while (rho > goal).any() and self.watch.steps < self.watch.max_iter:
            if time.perf_counter() > self.watch.ends and steps:
                break
            heights.append(float((rho / goal).max()))
            if not self.double and steps >= _PATIENCE and heights[-1] > heights[-_PATIENCE] / 4:
                # float32 has given what it can.
                self.double = True
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
        return (X if steps else direction), steps

    def dots(self, A: Array, B: Array) -> Array:
        """Return inner products: of each function, or of all where they share a loss."""
        each = np.einsum("ij,ij->j", A, B)
        return np.asarray(each.sum(keepdims=True) if self.problem.loss.joint else each)

    def step(self, place: _Place, D: Array) -> _Place | None:
        """Return the place after a step that lowers the objective, None where there is none."""
        slope = float((place.gradient * D).sum())
        trial = self.look(place.W + D)
        # Falls that are smaller than rounding cannot be seen.
        if trial.value <= place.value + _ARMIJO * slope + 1e-13 * abs(place.value):
            return trial
        rule = Line(self.problem.loss, self.problem.C, _SIZES)
        both = np.hstack([self.basis.embed(place.W), self.basis.embed(D)])
        losses = self.products.sweep(both, rule, precise=True).totals
        self.watch.steps += 1
        for size, loss in zip(_SIZES, losses, strict=True):
            W = place.W + size * D
            value = float(loss + 0.5 * (self.penalty * W**2).sum())
            if value <= place.value + _ARMIJO * size * slope:
                return self.look(W)
        return None
