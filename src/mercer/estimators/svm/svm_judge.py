"""A judge for support vector machines: mercer's and scikit-learn's alike.

It takes the multipliers and biases that a machine publishes, its parameters, its kernel and the
training data; nothing of a solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from mercer._typing import Array, BoolArray, IntArray, Model, Objects
from mercer.estimators.svm.classes import joint_problem
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import gram_of
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems import qp
from mercer.problems.biased_multiclass import BiasedMulticlass
from mercer.problems.certificate import Certificate
from mercer.problems.multiclass import JointMulticlass
from mercer.problems.products import Products
from mercer.problems.qp import BoxQP
from mercer.problems.unbiased import unbiased_classifier

KINDS = ("NuSVC", "SVC", "NuSVR", "SVR", "OneClassSVM")
"""The machines that are judged here, by the names of their classes."""


def kind_of(model: Model) -> str | None:
    """Return which of the machines a model is, whoever wrote it; None for others."""
    names = {base.__name__ for base in type(model).__mro__}
    return next((kind for kind in KINDS if kind in names), None)


@dataclass(frozen=True, eq=False)
class StatedQP:
    """A problem of a machine, the answer that the machine publishes, and what it proves.

    ``beta`` and ``biases`` are those of the problem, on the training rows ``rows``.
    """

    problem: BoxQP
    rows: IntArray
    beta: Array
    biases: Array
    certificate: Certificate


def judge_classes(
    model: Model,
    kernel: Kernel,
    points: Points,
    codes: IntArray,
    C: Array,
    support: IntArray | None = None,
) -> Sequence[Certificate]:
    """Judge each problem of a classifier.

    ``codes`` are the numbers of the rows' classes and ``C`` the factors of C of the rows, the
    weights of their classes included. ``support`` are the rows of the support vectors, where
    ``support_`` counts otherwise.
    """
    joint = joint_problem(getattr(model, "multi_class", ""))
    if joint is not None:
        return [_judge_joint(model, joint, kernel, points, codes, C)]
    return [part.certificate for part in state_classes(model, kernel, points, codes, C, support)]


def state_classes(
    model: Model,
    kernel: Kernel,
    points: Points,
    codes: IntArray,
    C: Array,
    support: IntArray | None = None,
) -> list[StatedQP]:
    """State and judge each binary problem of a classifier; parameters as in ``judge_classes``."""
    coefficients = binary_coefficients(model, codes, _support(model, support))
    view, found = _landmark_view(kernel, points), Products(gram_of(kernel, points), coefficients)
    parts = []
    for j, (rows, signs) in enumerate(binary_problems(model, codes, C > 0)):
        beta, bias = coefficients[rows, j], float(model.intercept_[j])
        if kind_of(model) == "SVC":
            bounds, biases = chosen_value(model, "C") * C[rows], np.array([bias])
            if getattr(model, "fit_intercept", True):
                problem = qp.classifier(signs, bounds)
                product = found.part(rows, j, problem.row_groups(len(rows)))
            else:
                problem = unbiased_classifier(signs, bounds)
                product = found.part(rows, j, None, Definite.POSITIVE)
            part = problem.prove(beta, product, biases)
            part = part if view is None else view.declare(part, coefficients[:, j])
            parts.append(StatedQP(problem, rows, beta, biases, part))
            continue
        # scikit-learn publishes α/ρ: undo the division, whose ρ the fixed sum of α reveals.
        problem = qp.nu_classifier(signs, C[rows], chosen_value(model, "nu"))
        total = float(np.abs(beta[signs > 0]).sum())
        rho = float(problem.sums[0]) / total if total > 0 else 1.0
        ends = rho * np.array([bias - 1, bias + 1])
        product = found.part(rows, j, problem.row_groups(len(rows))).scaled(rho)
        whole = _snapped(rho * beta, problem)
        part = problem.prove(whole, product, ends)
        if not part.optimal:  # where the hulls of the classes meet ρ = 0, and nothing is divided
            above, below = problem.biases(whole, product.f)
            others = rho * bias + (below - above) / 2 * np.array([-1.0, 1.0])
            other = problem.prove(whole, product, others)
            part, ends = (other, others) if other.primal < part.primal else (part, ends)
        if view is not None:
            part = view.declare(part, rho * coefficients[:, j], fixed_sums=True)
        parts.append(StatedQP(problem, rows, whole, ends, part))
    return parts


def _judge_joint(
    model: Model,
    joint: type[JointMulticlass],
    kernel: Kernel,
    points: Points,
    codes: IntArray,
    C: Array,
) -> Certificate:
    rows, count = np.flatnonzero(C > 0), len(model.classes_)
    alpha = np.zeros((len(codes), count))
    alpha[model.support_] = _dense(model.dual_coef_).T
    problem = joint(codes[rows], chosen_value(model, "C") * C[rows], count)
    if not getattr(model, "joint_intercepts", False):
        if np.any(model.intercept_):
            raise InvalidInput(
                f"certify: {type(model).__name__} without joint_intercepts has no biases, and "
                f"intercept_ is {np.asarray(model.intercept_)}. It was changed: fit it again."
            )
    else:
        problem = BiasedMulticlass(problem).with_biases(np.asarray(model.intercept_, np.float64))
    found = Products(gram_of(kernel, points), alpha)
    product = found.part(rows, slice(0, count), None, Definite.POSITIVE)
    judged = problem.prove(alpha[rows], product)
    view = _landmark_view(kernel, points)
    return judged if view is None else view.declare(judged, alpha)


def judge_function(
    model: Model,
    kernel: Kernel,
    points: Points,
    targets: Array | None,
    weights: Array,
    support: IntArray | None = None,
) -> Certificate:
    """Judge a machine with one function: a regression, or a one-class machine without targets."""
    return state_function(model, kernel, points, targets, weights, support).certificate


def state_function(
    model: Model,
    kernel: Kernel,
    points: Points,
    targets: Array | None,
    weights: Array,
    support: IntArray | None = None,
) -> StatedQP:
    """State and judge the problem of a machine with one function, as in ``judge_function``."""
    rows = np.flatnonzero(weights > 0)
    coefficients = np.zeros(len(points))
    coefficients[_support(model, support)] = _dense(model.dual_coef_).ravel()
    beta: Array = coefficients[rows]
    bias = float(np.ravel(model.intercept_)[0])
    problem = _problem(model, None if targets is None else targets[rows], weights[rows])
    products = Products(gram_of(kernel, points), coefficients[:, None])
    found = products.part(rows, 0, problem.row_groups(len(rows)))
    if kind_of(model) == "NuSVR":
        beta = split_multipliers(beta, problem)
        upper, lower = problem.biases(beta, found.f)
        # scikit-learn does not publish the width of its tube: the one that suits the multipliers.
        half = float(getattr(model, "epsilon_", (upper - lower) / 2))
        biases = np.array([bias + half, bias - half])
    else:
        beta = split_multipliers(beta, problem) if len(problem) > len(rows) else beta
        biases = np.array([bias])
    judged, view = problem.prove(beta, found, biases), _landmark_view(kernel, points)
    fixed = kind_of(model) == "OneClassSVM"
    if view is not None:
        judged = view.declare(judged, coefficients, fixed_sums=fixed)
    return StatedQP(problem, rows, beta, biases, judged)


def _problem(model: Model, targets: Array | None, weights: Array) -> BoxQP:
    if targets is None:
        return qp.one_class(weights, chosen_value(model, "nu"))
    C = chosen_value(model, "C") * weights
    if kind_of(model) == "SVR":
        return qp.regressor(targets, C, model.epsilon)
    return qp.nu_regressor(targets, C, chosen_value(model, "nu"))


def _landmark_view(kernel: Any, points: Points) -> LandmarkGram | None:
    """Return the data through landmarks, where the kernel of the model has some."""
    return LandmarkGram.of(kernel.basis, points) if hasattr(kernel, "condensed") else None


def _snapped(beta: Array, problem: BoxQP) -> Array:
    """Move what rounding took off a bound back to it."""
    near = 1e-10 * np.maximum(problem.hi, -problem.lo)
    beta = np.where(np.abs(beta - problem.hi) <= near, problem.hi, beta)
    return np.where(np.abs(beta - problem.lo) <= near, problem.lo, beta)


def split_multipliers(beta: Array, problem: BoxQP) -> Array:
    """Split α − α* into its two parts; for ν-SVR, pad both where the sums ask for it."""
    parts = np.concatenate([np.maximum(beta, 0), np.minimum(beta, 0)])
    if problem.groups == 2:
        missing = float(problem.sums[0]) - float(parts[: len(beta)].sum())
        room = np.minimum(problem.hi[: len(beta)] - parts[: len(beta)], problem.hi[: len(beta)])
        room = np.minimum(room, parts[len(beta) :] - problem.lo[len(beta) :])
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
        if missing <= 1e-10 * float(problem.sums[0]):  # rounding: a pad would look like a free one
            return parts
        pad = np.clip(missing - before, 0.0, np.maximum(room, 0.0))
        parts += np.concatenate([pad, -pad])
    return parts


def binary_problems(model: Model, codes: IntArray, used: BoolArray) -> list[tuple[IntArray, Array]]:
    """Return the rows and signs of each binary problem, in the order of ``intercept_``."""
    count = len(model.classes_)
    rows = np.flatnonzero(used)
    if count == 2:
        return [(rows, np.where(codes[rows] == 1, 1.0, -1.0))]
    if getattr(model, "multi_class", "ovo") == "ovr":
        return [(rows, np.where(codes[rows] == c, 1.0, -1.0)) for c in range(count)]
    result = []
    for a, b in combinations(range(count), 2):
        part = rows[(codes[rows] == a) | (codes[rows] == b)]
        result.append((part, np.where(codes[part] == a, 1.0, -1.0)))
    return result


def _support(model: Model, support: IntArray | None) -> IntArray:
    """Return the rows of the support vectors."""
    return np.asarray(model.support_, dtype=np.intp) if support is None else support


def binary_coefficients(model: Model, codes: IntArray, support: IntArray) -> Array:
    """Return the signed multipliers of all rows, one column for each binary problem."""
    packed = _dense(model.dual_coef_)
    count = len(model.classes_)
    if count == 2 or getattr(model, "multi_class", "ovo") == "ovr":
        columns = np.zeros((len(codes), len(packed)))
        columns[support] = packed.T
        return columns
    pairs = list(combinations(range(count), 2))
    columns = np.zeros((len(codes), len(pairs)))
    for j, (a, b) in enumerate(pairs):
        for own, row in ((a, b - 1), (b, a)):
            mine = codes[support] == own
            columns[support[mine], j] = packed[row, mine]
    return columns


def _dense(matrix: Objects) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64)


def chosen_value(model: Model, name: str) -> Any:
    """Return a parameter, or the value that the model found for it by itself."""
    return getattr(model, f"{name}_", getattr(model, name))
