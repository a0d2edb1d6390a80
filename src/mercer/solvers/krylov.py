"""Conjugate gradients for kernel matrices that are never formed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer import _parallel
from mercer._typing import Array

Product = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Iterate:
    """Where an iteration ended: x, how many steps it took, and why it stopped."""

    x: Array
    steps: int
    status: str


def conjugate_gradients(
    multiply: Product,
    precondition: Product,
    B: Array,
    tol: float,
    max_iter: int,
    ends: float = float("inf"),
) -> Iterate:
    """Solve AX = B for a positive definite A, all columns side by side.

    Stops when the residual of every column is below ``tol`` times the column's length.
    """
    X = np.zeros_like(B)
    residual = B.copy()
    lengths = np.linalg.norm(B, axis=0)
    goal = tol * lengths
    Z = precondition(residual)
    direction = Z.copy()
    rho = _dots(residual, Z)
    status = "optimal"
    for step in range(max_iter + 1):
        open_columns = np.linalg.norm(residual, axis=0) > goal
        if not open_columns.any():
            return Iterate(X, step, "optimal")
        if step == max_iter or time.perf_counter() > ends:
            status = "max_iter" if step == max_iter else "time_limit"
            break
        _parallel.check_stopped()
        image = multiply(direction)
        curvature = _dots(direction, image)
        going = open_columns & (curvature > 0) & (rho > 0)
        if not going.any():
            status = "stalled"
            break
        size = np.where(going, rho / np.where(going, curvature, 1.0), 0.0)
        X += size * direction
        residual -= size * image
        Z = precondition(residual)
        new = _dots(residual, Z)
        direction = Z + np.where(going, new / np.where(going, rho, 1.0), 0.0) * direction
        rho = new
    return Iterate(X, step, status)


def _dots(A: Array, B: Array) -> Array:
    dots: Array = np.einsum("ij,ij->j", A, B)
    return dots


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
        result: Array = R / self._alpha + self._basis @ (self._shrink[:, None] * inside)
        return result
