"""Judge streamed machines by reading their rows once more, wherever these are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.estimators.on_landmarks import FittedClassifier, FittedRegressor
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.chunks import Chunk, Chunks
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_bounds import LandmarkRounding
from mercer.problems.landmark_losses import LandmarkClasses, Loss
from mercer.problems.landmark_squares import LandmarkFunctions, LandmarkRidge


class _Sizes(NamedTuple):
    """Of some rows: the largest k(x, x), the sum of weights, and Σ wy² of each target."""

    square: float
    mass: float
    targets: Array


@dataclass(frozen=True)
class _SizesOf:
    """What bounds of rounding need to know of a piece."""

    kernel: Kernel

    def __call__(self, chunk: Chunk) -> _Sizes:
        points = self.kernel.encode(chunk.X)
        squares = Evaluator(self.kernel, Pairs(points)).diagonal()
        weights = np.ones(len(points)) if chunk.weights is None else np.asarray(chunk.weights)
        Y = np.asarray(chunk.y, dtype=np.float64).reshape(len(points), -1)
        return _Sizes(float(squares.max(initial=0.0)), float(weights.sum()), weights @ Y**2)


def judge_ridge_pieces(
    model: FittedRegressor, landmarks: Points, alpha: float, chunks: Chunks
) -> Certificate:
    """Judge a fitted ridge regression on pieces with their targets."""
    basis = LandmarkBasis.unpivoted(model.kernel_, landmarks)
    a = model.dual_coef_.reshape(len(model.dual_coef_), -1)
    constants = np.array(np.broadcast_to(model.intercept_, a.shape[1]))
    value = LandmarkFunctions(basis.weights(a), constants)
    problem = LandmarkRidge(float(alpha), bool(model.fit_intercept), a.shape[1])
    rounding, yy = _rounding(basis, chunks)
    return _fresh(problem.prove(value, _matrix(basis, chunks, model.fit_intercept), rounding, yy))


def judge_class_pieces(
    model: FittedClassifier, landmarks: Points, loss: Loss, chunks: Chunks
) -> Certificate:
    """Judge a fitted classifier on pieces with numbers of classes as targets."""
    basis = LandmarkBasis.unpivoted(model.kernel_, landmarks)
    value = LandmarkFunctions(basis.weights(model.dual_coef_.T), model.intercept_)
    problem = LandmarkClasses(loss, float(model.C), bool(model.fit_intercept))
    rounding, _ = _rounding(basis, chunks)
    return _fresh(problem.prove(value, _matrix(basis, chunks, model.fit_intercept), rounding))


def _matrix(basis: LandmarkBasis, chunks: Chunks, constant: bool) -> LandmarkGram:
    return LandmarkGram(basis, chunks.passes(basis.kernel, basis.points, bool(constant)))


def _rounding(basis: LandmarkBasis, chunks: Chunks) -> tuple[LandmarkRounding, Array]:
    seen = chunks.each(_SizesOf(basis.kernel))
    root = float(np.sqrt(max(part.square for part in seen)))
    mass = sum(part.mass for part in seen)
    targets: Array = np.sum([part.targets for part in seen], axis=0)
    return LandmarkRounding(basis, chunks.rows, root, mass), targets


def _fresh(judged: Certificate) -> Certificate:
    """Return a certificate that says nothing of how a solver ended."""
    return replace(judged, status="")
