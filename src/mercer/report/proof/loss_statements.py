"""Kernel machines with squared and logistic losses as problems: exact, on landmarks, on a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array, Model
from mercer.estimators.ridge.kernel_ridge_classifier import signs_of
from mercer.gram.feature_gram import gram_of
from mercer.problems.logistic import LogisticProblem
from mercer.report.proof.document import Document
from mercer.report.proof.training_data import TrainingData, unprovable


def state_ridge(document: Document, machine: Model, data: TrainingData) -> None:
    """State KernelRidge: each target."""
    Y = np.asarray(data.y, dtype=np.float64)
    coefficients = np.asarray(machine.dual_coef_, dtype=np.float64)
    penalties = getattr(machine, "alpha_", machine.alpha)
    columns = coefficients.reshape(len(coefficients), -1)
    _state_squares(document, machine, data, Y.reshape(len(Y), -1), columns, data.weights, penalties)


def state_ridge_classes(document: Document, machine: Model, data: TrainingData) -> None:
    """State KernelRidgeClassifier: each class."""
    signs = signs_of(data.codes(machine), len(machine.classes_))
    weights, columns = data.class_weights(machine), machine.dual_coef_.T
    _state_squares(document, machine, data, signs, columns, weights, machine.alpha_)


def _state_squares(
    document: Document,
    machine: Model,
    data: TrainingData,
    Y: Array,
    coefficients: Array,
    weights: Array,
    penalties: Any,
) -> None:
    """State a ridge regression of several targets on all rows, or on landmarks."""
    penalties = np.broadcast_to(np.asarray(penalties, float), Y.shape[1])
    if not (penalties > 0).all():
        raise unprovable(
            "without a penalty (alpha=0) the dual point has to satisfy Ku = 0, of which float64 "
            "leaves nothing but rounding to compare."
        )
    intercept = bool(machine.fit_intercept)
    biases = np.broadcast_to(machine.intercept_ if intercept else 0.0, Y.shape[1])
    used = np.flatnonzero(weights > 0)
    exact = machine.approximation is None
    gram = document.add_gram(machine.kernel_, data.points(machine)) if exact else None
    if gram is None:
        gram = _landmark_gram(document, machine, data, used)
    for j, penalty in enumerate(penalties):
        own = {"rows": used, "multipliers": coefficients[used, j]} if exact else {}
        document.add_problem(
            "ridge" if exact else "ridge on landmarks",
            gram=gram,
            intercept=intercept,
            arrays={
                "targets": Y[used, j],
                "weights": weights[used],
                "biases": biases[j : j + 1],
                **(own or {"coefficients": coefficients[:, j]}),
            },
            **{"lambda": float(penalty)},
        )


def _landmark_gram(document: Document, machine: Model, data: TrainingData, used: Any) -> int:
    """Store the rows that have weight, below the landmarks of a machine."""
    points = machine.kernel_.encode(data.X).take(used)
    return document.add_landmarks(machine.kernel_, machine.expansion_points, points)


def state_process(document: Document, machine: Model, data: TrainingData) -> None:
    """State the mean of a Gaussian process: a ridge regression with noise of each row."""
    kernel, noise = machine.covariance()
    gram = document.add_gram(kernel, machine.function_expansion()[0].points)
    columns = (a.reshape(len(noise), -1).T for a in (machine.y_train_, machine.alpha_))
    for y, c in zip(*columns, strict=True):
        document.add_problem(
            "ridge",
            gram=gram,
            intercept=False,
            arrays={"targets": y, "noise": noise, "multipliers": c, "biases": [0.0]},
            **{"lambda": 1.0},
        )


def state_modes(document: Document, machine: Model, data: TrainingData) -> None:
    """State the latent functions of a Gaussian process of classes."""
    for latent, points, labels in machine.state_modes(data.X, data.y):
        document.add_problem(
            "mode of a process",
            gram=document.add_gram(latent.covariance(), points),
            arrays={"targets": labels, "multipliers": latent.coefficients(points)},
        )


def state_kernel_logistic(document: Document, machine: Model, data: TrainingData) -> None:
    """State KernelLogisticRegression, exact or on landmarks."""
    codes, weights = data.codes(machine), data.class_weights(machine)
    if machine.approximation is not None:
        _state_landmark_classes(document, machine, data, "logistic", weights)
        return
    used, points = np.flatnonzero(weights > 0), data.points(machine)
    problem = LogisticProblem(
        codes[used],
        machine.C * weights[used],
        len(machine.classes_),
        bool(machine.fit_intercept),
    )
    coefficients = np.ascontiguousarray(machine.dual_coef_.T)
    values = gram_of(machine.kernel_, points).multiply(coefficients)[used]
    best = problem.with_best_bias(values, machine.intercept_)
    document.add_problem(
        "logistic",
        gram=document.add_gram(machine.kernel_, points),
        intercept=bool(machine.fit_intercept),
        arrays={
            "rows": used,
            "targets": codes[used],
            "C": problem.C,
            "multipliers": best.beta,
            "biases": machine.intercept_,
            "coefficients": coefficients[used],
        },
    )


def state_streamed_classes(document: Document, machine: Model, data: TrainingData) -> None:
    """State StreamedClassifier: losses of functions of landmarks."""
    weights = machine.weights_of(data.codes(machine), data.sample_weight)
    _state_landmark_classes(document, machine, data, machine.loss.replace("_", " "), weights)


def _state_landmark_classes(
    document: Document, machine: Model, data: TrainingData, loss: str, weights: Array
) -> None:
    used = np.flatnonzero(weights > 0)
    document.add_problem(
        "classes on landmarks",
        gram=_landmark_gram(document, machine, data, used),
        loss=loss,
        intercept=bool(machine.fit_intercept),
        arrays={
            "targets": data.codes(machine)[used],
            "C": float(machine.C) * weights[used],
            "coefficients": machine.dual_coef_.T,
            "biases": machine.intercept_,
        },
    )


def state_manifold(document: Document, machine: Model, data: TrainingData) -> None:
    """State LaplacianSVC and LaplacianRidge: each function, with the graph of all rows."""
    points = data.points(machine)
    stated = machine.state_functions(points, machine.pose_targets(data.y))
    gram = document.add_gram(machine.kernel_, points)
    edges = stated.graph.weights.tocoo()
    above = edges.row < edges.col
    values = stated.gram.multiply(np.ascontiguousarray(stated.answer.coef))
    for j, problem in enumerate(stated.problems):
        n, c, f = len(points), stated.answer.coef[:, j], values[:, j]
        columns = np.zeros((3, n))
        beta = problem.dual_point(c, f).beta
        columns[:, problem.rows] = problem.y, problem.weights, beta
        document.add_problem(
            problem.name,
            gram=gram,
            penalty=float(problem.penalty),
            intercept=bool(problem.intercept),
            smoothness=float(problem.roughness.weight),
            power=int(problem.roughness.power),
            normalized=bool(machine.normalized),
            arrays={
                **dict(zip(("targets", "weights", "multipliers"), columns, strict=True)),
                "coefficients": c,
                "values": f,
                "biases": stated.answer.bias[j : j + 1],
                "edges": np.stack([edges.row[above], edges.col[above]], axis=1),
                "edge_weights": edges.data[above],
            },
        )
