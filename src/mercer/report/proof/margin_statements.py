"""Support vector machines as problems: binary, all classes at once, with weights of kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._typing import Array, IntArray, Model
from mercer.estimators.svm.classes import joint_problem
from mercer.estimators.svm.svm_judge import StatedQP, chosen_value, state_classes, state_function
from mercer.problems.qp import BoxQP
from mercer.report.proof.document import Document, Stored, packed_problem
from mercer.report.proof.training_data import TrainingData


def state_classifier(document: Document, machine: Model, data: TrainingData) -> None:
    """State SVC and NuSVC: each pair of classes, each class and the rest, or all at once."""
    kernel, points, codes = machine.kernel_, data.points(machine), data.codes(machine)
    C = data.weights * np.asarray(machine.class_weight_, dtype=np.float64)[codes]
    gram = document.add_gram(kernel, points)
    joint = joint_problem(getattr(machine, "multi_class", ""))
    if joint is not None:
        _state_joint(document, gram, machine, joint.name, codes, C)
        return
    for stated in state_classes(machine, kernel, points, codes, C):
        signs = np.where(stated.problem.hi > 0, 1.0, -1.0)
        document.problems.append(_box(stated, signs, _nu(machine), gram=gram))


def _state_joint(
    document: Document, gram: int, machine: Model, name: str, codes: IntArray, C: Array
) -> None:
    rows, count = np.flatnonzero(C > 0), len(machine.classes_)
    alpha = np.zeros((len(codes), count))
    alpha[machine.support_] = _dense(machine.dual_coef_).T
    free = bool(getattr(machine, "joint_intercepts", False))
    document.add_problem(
        name,
        gram=gram,
        free=free,
        arrays={
            "rows": rows,
            "targets": codes[rows],
            "C": float(chosen_value(machine, "C")) * C[rows],
            "multipliers": alpha[rows],
            "biases": machine.intercept_ if free else np.zeros(count),
        },
    )


def state_one_function(document: Document, machine: Model, data: TrainingData) -> None:
    """State SVR, NuSVR and OneClassSVM."""
    points = data.points(machine)
    regression = hasattr(machine, "C")
    targets = np.asarray(data.y, dtype=np.float64).ravel() if regression else None
    weights = data.weights if regression else _weights_of(points, data)
    stated = state_function(machine, machine.kernel_, points, targets, weights)
    own = np.zeros(len(stated.rows)) if targets is None else targets[stated.rows]
    epsilon = float(getattr(machine, "epsilon", 0.0))
    gram = document.add_gram(machine.kernel_, points)
    document.problems.append(_box(stated, own, _nu(machine), epsilon=epsilon, gram=gram))


def _weights_of(points: Any, data: TrainingData) -> Array:
    given = 1.0 if data.sample_weight is None else np.asarray(data.sample_weight, np.float64)
    return np.array(np.broadcast_to(given, len(points)), dtype=np.float64)


def _box(stated: StatedQP, targets: Array, nu: float, **own: Any) -> Stored:
    biases = stated.biases if stated.problem.has_bias else np.zeros(0)
    arrays = {"rows": stated.rows, "multipliers": stated.beta, "biases": biases}
    return _box_problem(stated.problem, targets, arrays, nu=nu, **own)


def _box_problem(problem: BoxQP, targets: Array, arrays: dict[str, Any], **own: Any) -> Stored:
    """Return a quadratic problem; where C is infinite it is ``hard``, and has none."""
    C = (problem.hi - problem.lo)[: len(targets)]
    if math.isinf(float(C.max(initial=0.0))):
        return packed_problem(problem.name, {"targets": targets, **arrays}, hard=True, **own)
    return packed_problem(problem.name, {"targets": targets, "C": C, **arrays}, **own)


def _nu(machine: Model) -> float:
    return float(getattr(machine, "nu_", getattr(machine, "nu", 0.0)))


def state_weighing(document: Document, machine: Model, data: TrainingData) -> None:
    """State machines that weigh kernels: with their weights, or on a sum that a rule has made."""
    classes = hasattr(machine, "classes_")
    if not machine.learns_jointly:
        (state_classifier if classes else state_one_function)(document, machine, data)
        return
    stated = machine.state_jointly(data.X, data.y, data.sample_weight)
    grams = [document.add_gram(kernel, stated.points) for kernel in stated.kernels]
    parts = []
    answers = zip(stated.problem.parts, stated.value.multipliers, stated.biases, strict=True)
    for (rows, problem), beta, biases in answers:
        if classes:
            targets, own = np.where(problem.hi > 0, 1.0, -1.0), {}
        else:
            targets, own = np.asarray(data.y, float).ravel()[rows], {"epsilon": machine.epsilon}
        arrays = {"rows": rows, "multipliers": beta, "biases": biases}
        parts.append(_box_problem(problem, targets, arrays, **own))
    document.add_problem(
        "multiple kernels",
        grams=grams,
        p=float(stated.problem.p),
        parts=parts,
        arrays={"kernel_weights": stated.value.weights},
    )


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)
