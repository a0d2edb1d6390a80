"""Ridge regression and classification on landmarks: how machines solve, publish and judge them.

A machine differs from another one in where its rows are, and that the landmark Gram knows alone.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from mercer._typing import Array, IntArray, Objects
from mercer.estimators.base import take_objects
from mercer.estimators.kernel_argument import caller_level
from mercer.exceptions import InvalidInput
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_bounds import LandmarkRounding
from mercer.problems.landmark_losses import LandmarkClasses, Loss
from mercer.problems.landmark_squares import LandmarkFunctions, LandmarkRidge
from mercer.solvers.base import Budget, Solution, Status
from mercer.solvers.landmarks.landmark_newton import LandmarkNewton
from mercer.solvers.landmarks.landmark_ridge import LandmarkConjugateGradients


class FittedRegressor(Protocol):
    """What is asked of a regression to judge it."""

    kernel_: Kernel
    dual_coef_: Array
    intercept_: float | Array
    fit_intercept: bool


class FittedClassifier(Protocol):
    """What is asked of a classifier to judge it."""

    kernel_: Kernel
    dual_coef_: Array
    intercept_: Array
    C: float
    fit_intercept: bool


def solve_ridge(
    gram: LandmarkGram, targets: int, alpha: float, budget: Budget
) -> Solution[LandmarkFunctions]:
    """Solve for targets that share a λ."""
    problem = LandmarkRidge(alpha, gram.passes.constant, targets)
    return LandmarkConjugateGradients().solve(problem, gram, budget)


def solve_classes(
    gram: LandmarkGram, loss: Loss, C: float, budget: Budget, shared: bool = False
) -> Solution[LandmarkFunctions]:
    """Solve a classification."""
    problem = LandmarkClasses(loss, C, gram.passes.constant)
    return LandmarkNewton(shared).solve(problem, gram, budget)


def publish_regression(
    machine: FittedRegressor, found: Solution[LandmarkFunctions], gram: LandmarkGram, flat: bool
) -> None:
    """Set what a regression publishes; ``flat`` for targets without a second dimension."""
    coefficients, constants = found.value.coefficients(gram), found.value.constants
    machine.dual_coef_ = coefficients[:, 0].copy() if flat else coefficients
    machine.intercept_ = float(constants[0]) if flat else constants


def publish_classes(
    machine: FittedClassifier, found: Solution[LandmarkFunctions], gram: LandmarkGram
) -> None:
    """Set what a classifier publishes."""
    machine.dual_coef_ = np.ascontiguousarray(found.value.coefficients(gram).T)
    machine.intercept_ = found.value.constants


def warn_early(owner: str, status: Status) -> None:
    """Say why a solver stopped before it was done, and what helps."""
    if status is not Status.OPTIMAL:
        advice = status.advice
        warnings.warn(
            f"{owner}: {advice[0].lower()}{advice[1:]}",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )


def landmark_objects(gram: LandmarkGram, X: Objects, rows: IntArray) -> Objects:
    """Return the landmarks as the user has them; the data of the matrix are the ``rows`` of X."""
    if gram.index is None:
        (leaf,) = gram.basis.points.leaves.values()
        return leaf.dense()  # type: ignore[attr-defined]
    return take_objects(X, rows[gram.index])


# ---- judges ------------------------------------------------------------------------------------


def judge_regression(
    model: FittedRegressor,
    landmarks: Points,
    alpha: ArrayLike,
    X: Objects,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
) -> Certificate:
    """Judge a fitted ridge regression by one pass over its training data for each λ."""
    Y = np.asarray(y, dtype=np.float64)
    points = _points(model.kernel_, X, len(Y))
    weights = _weights(sample_weight, len(Y))
    return replace(judge_targets(model, landmarks, alpha, points, Y, weights), status="")


def judge_targets(
    model: FittedRegressor,
    landmarks: Points,
    alpha: ArrayLike,
    points: Points,
    targets: Array,
    weights: Array,
) -> Certificate:
    """Judge a fitted ridge regression on points of its kernel."""
    a = model.dual_coef_.reshape(len(model.dual_coef_), -1)
    Y = targets.reshape(len(targets), -1)
    constants = np.broadcast_to(model.intercept_, a.shape[1])
    alphas = np.broadcast_to(np.asarray(alpha, dtype=np.float64), a.shape[1])
    basis = LandmarkBasis.unpivoted(model.kernel_, landmarks)
    rounding = _rounding(basis, points, weights)
    constant, parts = bool(model.fit_intercept), []
    for each in np.unique(alphas):
        mine = np.flatnonzero(alphas == each)
        gram = LandmarkGram.of(basis, points, Y[:, mine], weights, constant)
        value = LandmarkFunctions(basis.weights(a[:, mine]), constants[mine])
        problem = LandmarkRidge(float(each), constant, len(mine))
        parts.append(problem.prove(value, gram, rounding, weights @ Y[:, mine] ** 2))
    return Certificate.total(parts)


def judge_classes(
    model: FittedClassifier,
    landmarks: Points,
    loss: Loss,
    X: Objects,
    labels: IntArray,
    sample_weight: ArrayLike | None,
) -> Certificate:
    """Judge a fitted classifier by one pass over its training data; ``labels`` count from 0."""
    points = _points(model.kernel_, X, len(labels))
    weights = _weights(sample_weight, len(labels))
    return replace(judge_labels(model, landmarks, loss, points, labels, weights), status="")


def judge_labels(
    model: FittedClassifier,
    landmarks: Points,
    loss: Loss,
    points: Points,
    labels: IntArray,
    weights: Array,
) -> Certificate:
    """Judge a fitted classifier on points of its kernel; ``labels`` count from 0."""
    kept = np.flatnonzero(weights > 0)
    if len(kept) < len(weights):
        points, labels, weights = points.take(kept), labels[kept], weights[kept]
    basis = LandmarkBasis.unpivoted(model.kernel_, landmarks)
    gram = LandmarkGram.of(basis, points, labels, weights, bool(model.fit_intercept))
    value = LandmarkFunctions(basis.weights(model.dual_coef_.T), model.intercept_)
    problem = LandmarkClasses(loss, float(model.C), gram.passes.constant)
    return problem.prove(value, gram, _rounding(basis, points, weights))


def _rounding(basis: LandmarkBasis, points: Points, weights: Array) -> LandmarkRounding:
    squares = Evaluator(basis.kernel, Pairs(points)).diagonal().astype(np.float64)
    root = float(np.sqrt(squares.max(initial=0.0)))
    return LandmarkRounding(basis, len(points), root, float(weights.sum()))


def _points(kernel: Kernel, X: Objects, rows: int) -> Points:
    points = kernel.encode(X)
    if len(points) != rows:
        raise InvalidInput(
            f"certify: X has {len(points)} rows and y has {rows}. Pass the training data."
        )
    return points


def _weights(sample_weight: ArrayLike | None, rows: int) -> Array:
    if sample_weight is None:
        return np.ones(rows)
    return np.array(np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), rows))
