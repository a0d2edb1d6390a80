"""Kernel ridge and logistic regression on landmarks, for machines whose data are in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._memory import readable
from mercer._typing import Array, IntArray
from mercer.estimators.machine import take_objects
from mercer.exceptions import InvalidInput, InvalidParameter, NotEnoughMemory
from mercer.gram.chunks import ArrayChunks
from mercer.gram.landmarks import Landmarks, Nystrom, choose_landmarks
from mercer.gram.nystrom import NystromBasis
from mercer.gram.operator import FeatureGram, Gram
from mercer.gram.products import StreamedProducts
from mercer.kernels.base import Kernel
from mercer.kernels.features import Features
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_losses import LandmarkClasses, Logistic, Slope
from mercer.problems.landmark_ridge import LandmarkRidge, RidgeErrors
from mercer.solvers import landmark_newton, landmark_ridge
from mercer.solvers.landmark_basis import LandmarkBasis, whitener
from mercer.solvers.landmark_ridge import LandmarkSolution

_HELD_BYTES = 1 << 30
"""Memory for kernel values that are kept between passes."""
_FEATURE_BYTES = 1 << 32
"""Memory for features of all rows, where they are needed at once."""


@dataclass(frozen=True, eq=False)
class LandmarkFrame:
    """Landmarks of some points, without those that others span, and their basis."""

    kernel: Kernel
    landmarks: Landmarks
    points: Points
    basis: LandmarkBasis

    @classmethod
    def of(cls, machine: Any, kernel: Kernel, points: Points) -> LandmarkFrame:
        """Choose landmarks as a machine asks for them."""
        name = type(machine).__name__
        spec = Nystrom.of(machine.approximation, name)
        assert spec is not None
        if machine._mode != "kernel":
            raise InvalidParameter(
                f"{name}: approximation={machine.approximation!r} chooses landmarks among objects, "
                "and there is a matrix or a function in place of a kernel. Pass a kernel "
                "(FunctionKernel makes one of a function of two objects)."
            )
        chosen = choose_landmarks(kernel, points, spec)
        basis = LandmarkBasis(_matrix(kernel, chosen.points), bool(machine.fit_intercept))
        return cls(kernel, chosen, chosen.points.take(basis.kept), basis)

    def objects(self, X: Any, rows: IntArray) -> Any:
        """Return the landmarks as the user has them; the data are the ``rows`` of X."""
        if self.landmarks.index is None:
            (leaf,) = self.points.leaves.values()
            return leaf.dense()  # type: ignore[attr-defined]
        return take_objects(X, rows[self.landmarks.index[self.basis.kept]])

    def gram(self, points: Points) -> FeatureGram:
        """Return K̃, the Gram matrix of some points as the landmarks see them."""
        needed = 32 * len(points) * len(self.points)
        if needed > _FEATURE_BYTES:
            raise NotEnoughMemory(
                f"The features of {len(points):,} rows and {len(self.points):,} landmarks need "
                f"{readable(needed)} at once, and at most {readable(_FEATURE_BYTES)} are taken. "
                "Take fewer landmarks, or choose alpha by GridSearchCV."
            )
        seen = NystromBasis.restored(self.kernel, self.points, self.basis.R.T)
        return FeatureGram(Features.numbered(seen.features(points)))

    def products(self, points: Points, y: Any, weights: Array) -> StreamedProducts:
        """Return the products of all points with the landmarks."""
        given = None if (weights == 1).all() else weights
        chunks = ArrayChunks(points, y, given)
        return StreamedProducts(
            self.kernel, self.points, chunks, self.basis.constant, hold=_HELD_BYTES
        )


def fit_ridge(
    machine: Any, frame: LandmarkFrame, points: Points, Y: Array, weights: Array, alphas: Array
) -> tuple[Array, Array, Certificate]:
    """Return coefficients, constants and the proof; one λ for each target."""
    products = frame.products(points, Y, weights)
    least = float(alphas.min())
    if least <= 0:
        raise InvalidParameter("KernelRidge: an approximation by landmarks needs alpha > 0.")
    tol = max(machine.tol**0.5, 1e-9)
    square = landmark_ridge.take_square(products, frame.basis, least, tol)
    C, b, parts = np.empty((len(frame.points), Y.shape[1])), np.zeros(Y.shape[1]), []
    for alpha in np.unique(alphas):
        mine = np.flatnonzero(alphas == alpha)
        some = frame.products(points, Y[:, mine], weights)
        found = landmark_ridge.solve(
            some, frame.basis, len(mine), float(alpha), tol, machine.max_iter,
            machine._ends(), None, square,
        )  # fmt: skip
        C[:, mine], b[mine] = found.coefficients, found.constants
        parts.append(found.certificate)
    return C, b, Certificate.total(parts)


def fit_logistic(
    machine: Any,
    frame: LandmarkFrame,
    points: Points,
    labels: IntArray,
    weights: Array,
    ends: float,
) -> LandmarkSolution:
    """Return functions, constants and the proof."""
    problem = LandmarkClasses(
        Logistic(len(machine.classes_)), float(machine.C), frame.basis.constant
    )
    products = frame.products(points, labels, weights)
    # The relative gap that the machine promises without landmarks.
    tol = float(min(max((1e-4 * machine.tol) ** 0.5, 1e-7), 0.1))
    return landmark_newton.solve(
        products, frame.basis, problem, tol, 100 * max(machine.max_iter, 1), ends
    )


def judge_ridge_on_landmarks(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Judge a fitted kernel ridge regression on landmarks by one pass over its training data."""
    a = model.dual_coef_.reshape(len(model.dual_coef_), -1)
    Y = np.asarray(y, dtype=np.float64)
    Y = Y.reshape(len(Y), -1)
    constants = np.atleast_1d(model.intercept_)
    alphas = np.broadcast_to(getattr(model, "alpha_", model.alpha), a.shape[1])
    points = _points(model, X, len(Y))
    weights = _weights(sample_weight, len(Y))
    R = _factor(model)
    parts = []
    for alpha in np.unique(alphas):
        mine = np.flatnonzero(alphas == alpha)
        chunks = ArrayChunks(points, Y[:, mine], weights)
        products = StreamedProducts(
            model.kernel_, _landmarks(model), chunks, bool(model.fit_intercept)
        )
        V = np.vstack([a[:, mine], constants[None, mine]])[: products.columns]
        swept = products.sweep(V, RidgeErrors(), True, whitener(R, products.rows))
        problem = LandmarkRidge(float(alpha), products.constant)
        parts.append(problem.certify(swept, R @ a[:, mine], _pull(R), status=""))
    return replace(Certificate.total(parts), status="")


def judge_classes_on_landmarks(
    model: Any, loss: Any, X: Any, y: Any, sample_weight: Any
) -> Certificate:
    """Judge a fitted classifier on landmarks by one pass over its training data."""
    labels = np.searchsorted(model.classes_, np.asarray(y).ravel())
    points = _points(model, X, len(labels))
    chunks = ArrayChunks(points, labels, _weights(sample_weight, len(labels)))
    products = StreamedProducts(model.kernel_, _landmarks(model), chunks, bool(model.fit_intercept))
    a, constants = model.dual_coef_.T, model.intercept_
    V = np.vstack([a, constants[None]])[: products.columns]
    R = _factor(model)
    problem = LandmarkClasses(loss, float(model.C), products.constant)
    swept = products.sweep(V, Slope(loss, float(model.C)), True, whitener(R, products.rows))
    return problem.certify(swept, R @ a, constants, _pull(R), status="")


def _landmarks(model: Any) -> Points:
    points: Points = getattr(model, "_landmark_points", None) or model._fit_points
    return points


def _factor(model: Any) -> Array:
    K = _matrix(model.kernel_, _landmarks(model))
    return np.linalg.cholesky(K).T


def _pull(R: Array) -> Any:
    return lambda S: np.linalg.solve(R.T, S)


def _matrix(kernel: Kernel, points: Points) -> Array:
    return Gram(kernel, points, dtype=np.float64).dense()


def _points(model: Any, X: Any, rows: int) -> Points:
    points: Points = model.kernel_.encode(X)
    if len(points) != rows:
        raise InvalidInput(
            f"certify: X has {len(points)} rows and y has {rows}. Pass the training data."
        )
    return points


def _weights(sample_weight: Any, rows: int) -> Array | None:
    if sample_weight is None:
        return None
    return np.array(np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), rows))
