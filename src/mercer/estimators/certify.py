"""A judge for support vector machines: mercer's and scikit-learn's alike."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._sklearn import fitted_gamma
from mercer._typing import Array, BoolArray, IntArray, Model, Objects, SampleWeights, Targets
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.linear.logistic_judge import is_logistic, judge_logistic
from mercer.estimators.ridge.ridge_judge import is_ridge, judge_ridge
from mercer.estimators.svm.svc import joint_problem
from mercer.exceptions import InvalidInput, InvalidType
from mercer.gram.computed import Gram
from mercer.kernels.base import is_kernel
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems import qp
from mercer.problems.certificate import Certificate
from mercer.problems.multiclass import JointMulticlass
from mercer.problems.qp import BoxQP


def certify(
    model: Model, X: Objects, y: Targets = None, sample_weight: SampleWeights = None
) -> Certificate:
    """Judge a fitted support vector machine, kernel ridge or logistic regression from scratch.

    Takes the multipliers and the bias of the model and nothing else from its solver: the kernel
    matrix, the decision values, the primal and the dual objective are all computed here from the
    data that the model was fitted on. Works for SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge
    and LogisticRegression of mercer and of scikit-learn, and for KernelLogisticRegression and
    GaussianProcessRegressor of mercer.

    Parameters
    ----------
    model : estimator
        A fitted machine.
    X, y, sample_weight
        What it was fitted on (``y`` is not needed for a one-class machine).

    Returns
    -------
    Certificate
        Of all binary problems together where there are several classes.
    """
    check_is_fitted(model)
    if hasattr(model, "judge"):
        judged: Certificate = model.judge(X, y, sample_weight)
        return judged
    if is_ridge(model):
        return judge_ridge(model, X, y, sample_weight)
    if is_logistic(model):
        return judge_logistic(model, X, y, sample_weight)
    kind = _kind(model)
    K = _gram(model, X)
    n = K.shape[0]
    if n != int(model.shape_fit_[0]):
        raise InvalidInput(
            f"certify: the model was fitted on {model.shape_fit_[0]} rows, and X has {n}. Pass the "
            "training data."
        )
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weights.shape != (n,):
        raise InvalidInput(f"certify: sample_weight has shape {weights.shape} for {n} rows.")
    judge = _judge_classifier if kind in ("SVC", "NuSVC") else _judge_function
    # No solver was asked, so there is no status to report.
    return replace(judge(model, kind, K, y, weights), status="")


def _judge_classifier(model: Model, kind: str, K: Gram, y: Targets, weights: Array) -> Certificate:
    labels = np.asarray(y).ravel()
    if len(labels) != len(weights) or not np.isin(labels, model.classes_).all():
        raise InvalidInput(
            f"certify: y has to hold the {len(weights)} classes that the model was fitted on."
        )
    codes = np.searchsorted(model.classes_, labels)
    C = weights * np.asarray(model.class_weight_)[codes]
    joint = joint_problem(getattr(model, "multi_class", ""))
    if joint is not None:
        return _judge_joint(model, joint, K, codes, C)
    coefficients = _binary_coefficients(model, codes, _support(model, weights))
    view = _landmark_view(K)
    F = K @ coefficients
    parts = []
    for j, (rows, signs) in enumerate(_binary_problems(model, codes, C > 0)):
        beta, f = coefficients[rows, j], F[rows, j]
        bias = float(model.intercept_[j])
        if kind == "SVC":
            problem = qp.classifier(signs, _chosen(model, "C") * C[rows])
            part = problem.judge(beta, f, np.array([bias]))
            parts.append(part if view is None else view.declare(part, coefficients[:, j]))
            continue
        # scikit-learn publishes α/ρ: undo the division, whose ρ the fixed sum of α reveals.
        problem = qp.nu_classifier(signs, C[rows], _chosen(model, "nu"))
        total = float(np.abs(beta[signs > 0]).sum())
        rho = float(problem.sums[0]) / total if total > 0 else 1.0
        ends = rho * np.array([bias - 1, bias + 1])
        part = problem.judge(_snapped(rho * beta, problem), rho * f, ends)
        if view is not None:
            part = view.declare(part, rho * coefficients[:, j], fixed_sums=True)
        parts.append(part)
    return Certificate.total(parts)


def _judge_joint(
    model: Model, joint: type[JointMulticlass], K: Gram, codes: IntArray, C: Array
) -> Certificate:
    rows = np.flatnonzero(C > 0)
    alpha = np.zeros((len(codes), len(model.classes_)))
    alpha[model.support_] = _dense(model.dual_coef_).T
    problem = joint(codes[rows], _chosen(model, "C") * C[rows], len(model.classes_))
    judged = problem.judge(alpha[rows], (K @ alpha)[rows])
    view = _landmark_view(K)
    return judged if view is None else view.declare(judged, alpha)


def _landmark_view(K: Gram) -> LandmarkGram | None:
    """Return the data through landmarks, where the kernel of the model has some."""
    kernel: Any = K.kernel
    return LandmarkGram.of(kernel.basis, K.points) if hasattr(kernel, "condensed") else None


def _judge_function(model: Model, kind: str, K: Gram, y: Targets, weights: Array) -> Certificate:
    rows = np.flatnonzero(weights > 0)
    coefficients = np.zeros(K.shape[0])
    coefficients[_support(model, weights)] = _dense(model.dual_coef_).ravel()
    f = (K @ coefficients)[rows]
    beta = coefficients[rows]
    bias = float(np.ravel(model.intercept_)[0])
    view = _landmark_view(K)
    if kind == "OneClassSVM":
        region = qp.one_class(weights[rows], _chosen(model, "nu"))
        judged = region.judge(beta, f, np.array([bias]))
        return judged if view is None else view.declare(judged, coefficients, fixed_sums=True)
    targets = np.asarray(y, dtype=float).ravel()
    if len(targets) != len(weights):
        raise InvalidInput(
            f"certify: y has to hold the {len(weights)} targets that the model was fitted on."
        )
    targets = targets[rows]
    C = _chosen(model, "C") * weights[rows]
    if kind == "SVR":
        problem = qp.regressor(targets, C, model.epsilon)
        judged = problem.judge(_split(beta, problem), f, np.array([bias]))
    else:
        problem = qp.nu_regressor(targets, C, _chosen(model, "nu"))
        halves = _split(beta, problem)
        judged = problem.judge(halves, f, problem.biases(halves, f))
    return judged if view is None else view.declare(judged, coefficients)


def _snapped(beta: Array, problem: BoxQP) -> Array:
    """Move what rounding took off a bound back to it."""
    near = 1e-10 * np.maximum(problem.hi, -problem.lo)
    beta = np.where(np.abs(beta - problem.hi) <= near, problem.hi, beta)
    return np.where(np.abs(beta - problem.lo) <= near, problem.lo, beta)


def _split(beta: Array, problem: BoxQP) -> Array:
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


def _binary_problems(
    model: Model, codes: IntArray, used: BoolArray
) -> list[tuple[IntArray, Array]]:
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


def _support(model: Model, weights: Array) -> IntArray:
    """Return the rows of the support vectors; scikit-learn counts rows with weight only."""
    support = np.asarray(model.support_, dtype=np.intp)
    return support if hasattr(model, "certificate_") else np.flatnonzero(weights > 0)[support]


def _binary_coefficients(model: Model, codes: IntArray, support: IntArray) -> Array:
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


def _gram(model: Model, X: Objects) -> Gram:
    """Return the Gram matrix of the training data, with the kernel of the model."""
    kernel = getattr(model, "kernel_", None)
    if is_kernel(kernel):
        return Gram(kernel, kernel.training_points(X))
    argument = kernel_argument(
        model.kernel, fitted_gamma(model), model.degree, model.coef0, type(model).__name__
    )
    if argument.takes_vectors:
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
    return Gram(*argument.encode(X))


def _kind(model: Model) -> str:
    for kind in ("NuSVC", "SVC", "NuSVR", "SVR", "OneClassSVM"):
        if any(base.__name__ == kind for base in type(model).__mro__):
            return kind
    raise InvalidType(
        f"certify: {type(model).__name__} is not a machine that can be judged yet. It takes SVC, "
        "NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge and LogisticRegression, mercer's or "
        "scikit-learn's, KernelLogisticRegression and GaussianProcessRegressor."
    )


def _dense(matrix: Objects) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64)


def _chosen(model: Model, name: str) -> Any:
    """Return a parameter, or the value that the model found for it by itself."""
    return getattr(model, f"{name}_", getattr(model, name))
