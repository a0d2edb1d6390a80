"""Conjugate gradients for kernel matrices that are never formed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mercer import _parallel
from mercer._typing import Array, IntArray

Product = Callable[[Array], Array]


class Rows(Protocol):
    """A symmetric matrix that gives rows and its diagonal."""

    def diag(self) -> Array:
        """Return the diagonal."""
        ...

    def rows(self, index: IntArray) -> Array:
        """Return some rows."""
        ...


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


def pivoted_factor(
    K: Rows, rank: int, random: np.random.Generator, enough: float = 0.0, block: int = 64
) -> Array:
    """Return F with FFᵀ ≈ K by randomly pivoted Cholesky; see :func:`pivoted_rows`."""
    return pivoted_rows(K, rank, random, enough, block).F


@dataclass(frozen=True, eq=False)
class PivotedRows:
    """F with FFᵀ ≈ K, exactly so in the rows ``pivots``."""

    F: Array
    pivots: IntArray


def pivoted_rows(
    K: Rows, rank: int, random: np.random.Generator, enough: float = 0.0, block: int = 64
) -> PivotedRows:
    """Approximate K ≈ FFᵀ by randomly pivoted Cholesky, in blocks of pivots.

    Pivots are drawn with probabilities proportional to what the diagonal has left; ``rank`` rows
    of K are computed and no more. Stops where what is left of the trace is below ``enough``.

    References
    ----------
    Chen, Epperly, Tropp, Webber: Randomly pivoted Cholesky: practical approximation of a kernel
    matrix with few entry evaluations (2022).
    """
    left = np.maximum(K.diag().astype(np.float64), 0.0)
    n = len(left)
    F = np.zeros((n, min(rank, n)), order="F")
    first = float(left.max(initial=0.0))
    done = 0
    chosen: list[IntArray] = []
    while done < F.shape[1]:
        total = float(left.sum())
        if total <= max(enough, n * first * np.finfo(np.float64).eps):
            break
        drawn = random.choice(n, min(block, F.shape[1] - done), p=left / total)
        pivots = np.unique(drawn).astype(np.intp)
        columns = K.rows(pivots).astype(np.float64).T - F[:, :done] @ F[pivots, :done].T
        square = columns[pivots]
        # Pivots of one block may be near copies of each other: drop what they share.
        values, vectors = np.linalg.eigh((square + square.T) / 2)
        keep = values > max(float(values[-1]), 0.0) * 1e-10
        if not keep.any():
            break
        new = columns @ (vectors[:, keep] / np.sqrt(values[keep]))
        F[:, done : done + new.shape[1]] = new
        done += new.shape[1]
        left = np.maximum(left - np.einsum("ij,ij->i", new, new), 0.0)
        left[pivots] = 0.0
        chosen.append(pivots)
    return PivotedRows(F[:, :done], np.concatenate([*chosen, np.empty(0, dtype=np.intp)]))
