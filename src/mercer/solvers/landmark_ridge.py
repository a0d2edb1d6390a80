"""Kernel ridge regression on landmarks by preconditioned conjugate gradients.

The system is (ΦᵀWΦ + λP)v = ΦᵀWy, where Φ is known only by its products. The preconditioner is the
same matrix, estimated from a part of the rows: where landmarks are rows drawn blindly and the part
is the landmarks themselves, this is Falkon. Products are taken in float32 until they gain nothing
any more; residuals in float64 correct what they miss.

References
----------
Rudi, Carratino and Rosasco, Falkon: an optimal large scale kernel method, NIPS 2017.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer import _parallel
from mercer._typing import Array
from mercer.gram.passes import LandmarkProducts, Swept
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_ridge import LandmarkRidge, RidgeCurve, RidgeErrors, RidgeWeights
from mercer.solvers.landmark_basis import (
    LandmarkBasis,
    Preconditioner,
    small_algebra,
    worthwhile_share,
)

Monitor = Callable[[float], bool]
_INNER = 1e-3
"""How far one series of steps in float32 brings the error down before it is looked at again."""
_MOST_ROUNDS = 30
_ARRIVED = 1e-6
_PATIENCE = 8
"""Steps in float32 within which an error has to fall by a third; else float64 takes over."""


@dataclass(frozen=True, eq=False)
class LandmarkSolution:
    """Coefficients of the landmarks and constants, one column for each function, and the proof."""

    coefficients: Array
    constants: Array
    certificate: Certificate


@dataclass
class Watch:
    """When to stop: steps, time, Ctrl-C, and whoever watches."""

    max_iter: int
    ends: float
    monitor: Monitor | None
    steps: int = 0
    status: str = "optimal"

    def over(self, error: float) -> bool:
        """Note one more step, and say whether it was the last."""
        _parallel.check_stopped()
        if self.monitor is not None and self.monitor(error):
            self.status = "interrupted"
        elif self.steps >= self.max_iter:
            self.status = "max_iter"
        elif time.perf_counter() > self.ends:
            self.status = "time_limit"
        return self.status != "optimal"


def solve(
    products: LandmarkProducts,
    basis: LandmarkBasis,
    targets: int,
    alpha: float,
    tol: float = 1e-6,
    max_iter: int = 500,
    ends: float = math.inf,
    monitor: Monitor | None = None,
    square: Array | None = None,
) -> LandmarkSolution:
    """Solve for all targets side by side, until the error in the norm of the system is below tol.

    The products are with the landmarks that the basis has kept. The error is relative to the
    answer's own size, and the gap is about its square. ``square`` is what ``take_square`` gave.
    """
    began = time.perf_counter()
    problem = LandmarkRidge(alpha, products.constant)
    if square is None:
        square = take_square(products, basis, alpha, tol)
    G = Preconditioner(square, alpha * basis.penalty)
    del square
    watch = Watch(max_iter, ends, monitor)
    whitener = basis.whitener(products.rows)
    with small_algebra(len(basis)):
        W, swept = _descend(products, basis, G, alpha, targets, tol, watch, whitener)
    V = basis.embed(W)
    if swept.unseen is None:
        # It has arrived sooner than it thought.
        swept = products.sweep(V, RidgeErrors(), True, whitener)
    constants = np.zeros(targets)
    r = len(basis.kept)
    if products.constant:
        constants = V[-1] + problem.best_constants(swept)
    proof = problem.certify(
        swept,
        W[:r],
        basis.pull,
        iterations=watch.steps,
        seconds=time.perf_counter() - began,
        kernel_evaluations=products.evaluations,
        status=watch.status,
    )
    return LandmarkSolution(np.ascontiguousarray(V[:r]), constants, proof)


def take_square(
    products: LandmarkProducts, basis: LandmarkBasis, alpha: float, tol: float
) -> Array:
    """Return ΦᵀWΦ in the basis, from as many rows as is worth their time; good for larger λ too."""
    share = worthwhile_share(products.rows, products.columns, tol)
    precise = basis.needs_double(products.rows, alpha)
    zero = np.zeros((products.columns, 1))
    return np.asarray(products.square(zero, RidgeWeights(), basis.R, share, precise)[0])


def _descend(
    products: LandmarkProducts,
    basis: LandmarkBasis,
    G: Preconditioner,
    alpha: float,
    targets: int,
    tol: float,
    watch: Watch,
    whitener: Array,
) -> tuple[Array, Swept]:
    """Return coordinates and the errors there, swept in float64.

    Only sweeps that are likely to be the last one look at what the landmarks do not see.
    """
    ridge = alpha * basis.penalty[:, None]
    precise = basis.needs_double(products.rows, alpha)
    W = best = np.zeros((len(basis), targets))
    first: Array = np.zeros(0)
    last = math.inf
    near = False
    for number in range(_MOST_ROUNDS):
        final = number > 0 and (near or precise or watch.status != "optimal")
        try:
            swept = products.sweep(
                basis.embed(W), RidgeErrors(), precise or number > 0, whitener if final else None
            )
        except KeyboardInterrupt:
            watch.status = "interrupted"
            break
        residual = basis.pull(swept.sums[:, :-1]) - ridge * W
        rho = _dots(residual, G(residual))
        if not number:
            first = np.maximum(rho, 1e-300)
        worst = float(np.sqrt((rho / first).max()))
        if number:
            if watch.status != "optimal" or worst <= tol:
                return W, swept
            if worst > 0.25 * last:
                if precise:
                    # Rounding stops it; where the gap is nothing, it has arrived.
                    watch.status = "stalled" if worst > _ARRIVED else "optimal"
                    return W, swept
                # float32 has given what it can.
                precise = True
                if worst >= last:
                    W, last = best, math.inf
                    continue
        best, last = W, worst
        goal = np.maximum(tol * first**0.5, _INNER * rho**0.5) * 0.5
        near = bool((goal <= tol * first**0.5).all())
        W = W + _steps(products, basis, G, ridge, residual, goal, first, precise, watch)
    if watch.status == "optimal":
        watch.status = "max_iter"
    return W, products.sweep(basis.embed(W), RidgeErrors(), True, whitener)


def _steps(
    products: LandmarkProducts,
    basis: LandmarkBasis,
    G: Preconditioner,
    ridge: Array,
    residual: Array,
    goal: Array,
    first: Array,
    precise: bool,
    watch: Watch,
) -> Array:
    """Return a correction by conjugate gradients that brings √(rᵀG⁻¹r) below ``goal``."""
    X = np.zeros_like(residual)
    Z = G(residual)
    direction, rho = Z, _dots(residual, Z)
    heights = [math.inf]
    while (rho > goal**2).any():
        heights.append(float((rho / first).max()))
        if not precise and min(heights[-_PATIENCE:]) > 0.5 * min(
            heights[:-_PATIENCE], default=9e99
        ):
            break
        if watch.over(float(np.sqrt((rho / first).max()))):
            break
        try:
            swept = products.sweep(basis.embed(direction), RidgeCurve(), precise)
        except KeyboardInterrupt:
            watch.status = "interrupted"
            break
        watch.steps += 1
        image = basis.pull(swept.sums) + ridge * direction
        curvature = _dots(direction, image)
        going = (rho > goal**2) & (curvature > 0)
        if not going.any():
            break
        size = np.where(going, rho / np.where(going, curvature, 1.0), 0.0)
        X += size * direction
        residual = residual - size * image
        Z = G(residual)
        new = _dots(residual, Z)
        direction = Z + np.where(going, new / np.where(going, rho, 1.0), 0.0) * direction
        rho = new
    return X


def _dots(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", A, B))
