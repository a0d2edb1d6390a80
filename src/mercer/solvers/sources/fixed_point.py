"""The fixed point of independent component analysis, all sources at once or one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.contrasts import Contrast, Moments, moments, projected
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Stated, Status


@dataclass(frozen=True, eq=False)
class Unmixing:
    """W with sources Y = WX, and how far from stationary they are: what ``tol`` bounds.

    ``moments`` are those of the sources, where the method ended with them.
    """

    W: Array
    gradient: float
    moments: Moments | None = None


class SourceSolver(FeatureSolver[Stated, Unmixing]):
    """A method of independent component analysis on white data, the features of the matrix.

    It starts from ``start.W``.
    """

    certified: ClassVar[bool] = False


def white_columns(gram: GramMatrix) -> Array:
    """Return white data with a row for each direction."""
    return np.asarray(gram.features().T)


def start_of(start: Unmixing | None, X: Array) -> Array:
    """Return the matrix to start from, the identity where none is given."""
    return np.eye(len(X), dtype=X.dtype) if start is None else start.W


def decorrelate(W: Array) -> Array:
    """Return the orthogonal matrix nearest to W: (WWᵀ)^(−½) W."""
    values, U = np.linalg.eigh(W @ W.T)
    # Rounding may leave values that are not positive where W has not full rank.
    values = np.maximum(values, np.finfo(W.dtype).tiny)
    return np.asarray((U / np.sqrt(values)) @ U.T @ W)


def gradient(contrast: Contrast, at: Moments) -> Array:
    """Return the slope of the objective along rotations of the sources, an antisymmetric matrix."""
    G = contrast.weights(at)[:, None] * at.cross
    return np.asarray((G - G.T) / 2)


class SymmetricFixedPoint(SourceSolver[Contrast]):
    """W ← decorrelate(E[ψ(WX)Xᵀ] − diag(E ψ′) W), until no slope is above ``tol``."""

    def run(
        self, problem: Contrast, gram: GramMatrix, budget: Budget, start: Unmixing | None
    ) -> Outcome[Unmixing]:
        X = white_columns(gram)
        W, steps = decorrelate(start_of(start, X)), 0
        while True:
            at = moments(problem, W, X)
            slope = float(np.abs(gradient(problem, at)).max(initial=0.0))
            status = Status.OPTIMAL if slope <= budget.tol else budget.stop(slope, steps)
            if status is not None:
                return Outcome(Unmixing(W, slope, at), status, steps)
            step = at.cross - np.diag(at.slope)
            if problem.squared:
                step = (at.power - at.slope)[:, None] * step
            W, steps = decorrelate(step @ W), steps + 1


class DeflationFixedPoint(SourceSolver[Contrast]):
    """The fixed point for one source after the other, each orthogonal to those before it.

    It goes on until no entry of a row of W changes by more than ``tol``.
    """

    def run(
        self, problem: Contrast, gram: GramMatrix, budget: Budget, start: Unmixing | None
    ) -> Outcome[Unmixing]:
        X = white_columns(gram)
        W = start_of(start, X)
        found = np.zeros_like(W)
        most, worst, ended = 0, 0.0, Status.OPTIMAL
        for j, first in enumerate(W):
            w = _orthogonal(first, found[:j])
            status, steps = None, 0
            while status is None:
                cross, slope = projected(problem, w[None], X)
                new = _orthogonal(cross[0] - slope[0] * w, found[:j])
                new *= np.sign(new @ w) or 1.0
                moved, w, steps = float(np.abs(new - w).max()), new, steps + 1
                status = Status.OPTIMAL if moved <= budget.tol else budget.stop(moved, steps)
            found[j] = w
            most, worst = max(most, steps), max(worst, moved)
            ended = status if ended is Status.OPTIMAL else ended
        return Outcome(Unmixing(found, worst), ended, most)


class ParallelRows(SourceSolver[Contrast]):
    """The symmetric fixed point as scikit-learn ends it: when rows turn by less than ``tol``.

    How far row w turns is ||w·w′| − 1|, in the precision of the data.
    """

    def run(
        self, problem: Contrast, gram: GramMatrix, budget: Budget, start: Unmixing | None
    ) -> Outcome[Unmixing]:
        X = white_columns(gram)
        W, steps, status = decorrelate(start_of(start, X)), 0, None
        while status is None:
            cross, slope = projected(problem, W, X)
            new = decorrelate((cross - slope[:, None] * W).astype(X.dtype))
            turned = float(np.abs(np.abs(np.einsum("ij,ij->i", new, W)) - 1).max())
            W, steps = new, steps + 1
            status = Status.OPTIMAL if turned < budget.tol else budget.stop(turned, steps)
        return Outcome(Unmixing(W, turned), status, steps)


class DeflationRows(SourceSolver[Contrast]):
    """The fixed point row by row, ended as scikit-learn does: when the row turns by < ``tol``."""

    def run(
        self, problem: Contrast, gram: GramMatrix, budget: Budget, start: Unmixing | None
    ) -> Outcome[Unmixing]:
        X = white_columns(gram)
        first = start_of(start, X)
        W = np.zeros(first.shape, dtype=X.dtype)
        most, worst, ended = 0, 0.0, Status.OPTIMAL
        for j, w in enumerate(first):
            w = w / np.sqrt((w**2).sum())
            status, steps = None, 0
            while status is None:
                cross, slope = projected(problem, w[None], X)
                new = (cross[0] - slope[0] * w).astype(X.dtype)
                new -= new @ W[:j].T @ W[:j]
                new /= np.sqrt((new**2).sum())
                turned, w, steps = abs(abs(float(new @ w)) - 1), new, steps + 1
                status = Status.OPTIMAL if turned < budget.tol else budget.stop(turned, steps)
            W[j] = w
            most, worst = max(most, steps), max(worst, turned)
            ended = status if ended is Status.OPTIMAL else ended
        return Outcome(Unmixing(W, worst), ended, most)


def _orthogonal(w: Array, found: Array) -> Array:
    """Return the unit vector along what w has outside the rows found so far."""
    for _ in range(2):  # once is not exact where w is nearly a sum of the others
        w = w - found.T @ (found @ w)
    length = float(np.linalg.norm(w))
    return np.asarray(w / length) if length else w
