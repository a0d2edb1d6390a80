"""Conjugate gradients: the one loop for all systems that are known only by their products."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer import _parallel
from mercer._typing import Array

Product = Callable[[Array], Array]
Pairing = Callable[[Array, Array], Array]
Mask: TypeAlias = NDArray[np.bool_] | np.bool_


@dataclass(eq=False)
class ConjugateSteps:
    """Where the steps have come to.

    Attributes
    ----------
    x : array
        The answer until now.
    residual : array
        B − Ax, as the steps carry it along.
    rho : array
        ⟨r, Gr⟩ of each column, G being the preconditioner: about the squared error.
    first : array
        ``rho`` before the first step.
    steps : int
        How many steps were taken.
    status : str
        ``optimal``, or why it ended before: ``max_iter``, ``time_limit``, or ``stalled`` where no
        column has a direction of positive curvature left.
    """

    x: Array
    residual: Array
    rho: Array
    first: Array
    steps: int = 0
    status: str = "optimal"


def column_products(A: Array, B: Array) -> Array:
    """Return the inner product of each column of A with that of B."""
    return np.asarray(np.einsum("i...,i...->...", A, B))


def whole_product(A: Array, B: Array) -> Array:
    """Return the one inner product of two blocks, whose columns belong to one system."""
    return np.asarray(np.vdot(A, B))


def residual_above(tol: float, B: Array) -> Callable[[ConjugateSteps], Mask]:
    """Go on with columns whose residual is above ``tol`` times the length of B's column."""
    goal = tol * np.linalg.norm(B, axis=0)
    return lambda at: np.asarray(np.linalg.norm(at.residual, axis=0) > goal)


def error_above(share: float) -> Callable[[ConjugateSteps], Mask]:
    """Go on with columns whose error, by the preconditioner, is above a share of the first one."""
    return lambda at: np.asarray(at.rho > share**2 * at.first)


def conjugate_gradients(
    multiply: Product,
    B: Array,
    *,
    going: Callable[[ConjugateSteps], Mask],
    precondition: Product | None = None,
    pair: Pairing = column_products,
    max_iter: int,
    deadline: float = math.inf,
) -> ConjugateSteps:
    """Solve AX = B for a positive definite A, all columns side by side.

    Parameters
    ----------
    multiply : function
        P ↦ AP.
    B : array
        One column for each system, or a vector.
    going : function
        Says before each step which columns are to go on; where none is, it ends.
    precondition : function, optional
        R ↦ GR with a G near A⁻¹; the identity by default.
    pair : function
        Inner products of residuals (left) with directions (right): of each column, or one of all.
        Directions may be richer than residuals. In a space with ⟨a, b⟩ = aᵀKb, ``precondition``
        can return (z, Kz) as one tall array, of which ``multiply`` and ``pair`` take the second
        half; then K is multiplied with once in each step.
    max_iter : int
        Most steps.
    deadline : float
        When to stop, on the clock ``time.perf_counter``.
    """
    Z = B if precondition is None else precondition(B)
    rho = pair(B, Z)
    at = ConjugateSteps(np.zeros(Z.shape, np.result_type(Z, B)), B, rho, rho)
    direction = Z
    while True:
        wanted = going(at)
        if not np.any(wanted):
            return at
        if at.steps >= max_iter or time.perf_counter() > deadline:
            at.status = "max_iter" if at.steps >= max_iter else "time_limit"
            return at
        _parallel.check_stopped()
        image = multiply(direction)
        curvature = pair(image, direction)
        moving = wanted & (curvature > 0) & (at.rho > 0)
        if not np.any(moving):
            at.status = "stalled"
            return at
        size = np.where(moving, at.rho / np.where(moving, curvature, 1.0), 0.0)
        at.x += size * direction
        at.residual = at.residual - size * image
        at.steps += 1
        Z = at.residual if precondition is None else precondition(at.residual)
        rho = pair(at.residual, Z)
        direction = Z + np.where(moving, rho / np.where(moving, at.rho, 1.0), 0.0) * direction
        at.rho = rho


class LowRank:
    """The inverse of FFᵀ + λI for a tall F: cheap, and near K⁻¹ where FFᵀ is near K."""

    def __init__(self, F: Array, alpha: float) -> None:
        values, vectors = np.linalg.eigh(F.T @ F)
        keep = values > max(float(values[-1]), 0.0) * len(values) * np.finfo(np.float64).eps
        values, vectors = values[keep], vectors[:, keep]
        self._basis: Array = F @ (vectors / np.sqrt(values))
        # Outside the basis the matrix is λ; inside it is value + λ.
        self._shrink = 1 / (values + alpha) - 1 / alpha
        self._alpha = alpha

    def __call__(self, R: Array) -> Array:
        inside = self._basis.T @ R
        return np.asarray(R / self._alpha + self._basis @ (self._shrink[:, None] * inside))
