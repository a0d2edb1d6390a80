"""A judge for linear machines: mercer's and scikit-learn's alike, from weights and data alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_array

from mercer._typing import Array, Matrix, Model, Objects, SampleWeights, Targets
from mercer.estimators.linear.penalty_judge import judge_norm, judge_penalties
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import SPARE_TERMS, Bounded, DesignProducts
from mercer.problems.elastic_net import LassoProblem, in_units
from mercer.problems.linear import (
    DesignRows,
    LinearAnswer,
    LinearCrammerSinger,
    LinearProblem,
    SparseClassifier,
    classifier,
    regressor,
)
from mercer.problems.squares_bounds import prove_squares


def linear_judge(model: Model) -> Callable[..., Certificate] | None:
    """Return the judge of a linear machine, whoever wrote it; None for others."""
    names = {base.__name__ for base in type(model).__mro__}
    if any(name.startswith("MultiTask") for name in names):
        return None
    judge = next((judge for name, judge in _JUDGES.items() if name in names), None)
    if judge is None:
        return None

    def total(model: Model, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        return Certificate.total(judge(model, *read_rows(X, y, sample_weight))).under("")

    return total


def judge_squares(model: Model, X: Matrix, y: Array, weights: Array) -> list[Certificate]:
    """Judge each target of a ridge regression, a lasso or an elastic net, in scikit-learn's units.

    X and y are the data, as a fit reads them, and ``weights`` those of the rows.
    """
    X, Y = X.astype(np.float64, copy=False), y.astype(np.float64).reshape(len(y), -1)
    n, unit = len(Y), 1.0
    ridge = not hasattr(model, "precompute") and not hasattr(model, "l1_ratio")
    alphas = np.broadcast_to(np.asarray(model.alpha, dtype=np.float64), Y.shape[1])
    share = 0.0 if ridge else float(getattr(model, "l1_ratio", 1.0))
    if not ridge:
        unit, weights = float(n), weights * (n / weights.sum())
    W = np.atleast_2d(np.asarray(_plain(model.coef_), dtype=np.float64))
    constants = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(W))
    intercept, means, y_means = bool(model.fit_intercept), None, np.zeros(Y.shape[1])
    if intercept:
        y_means = (Y.T @ weights) / weights.sum()
        means = None if sparse.issparse(X) else (X.T @ weights) / weights.sum()
    rows, parts = DesignProducts(X, means), []
    for j, alpha in enumerate(alphas):
        l1, l2 = float(alpha) * share * unit, float(alpha) * (1 - share) * unit
        centred, positive = Y[:, j] - y_means[j], bool(getattr(model, "positive", False))
        problem = LassoProblem(centred, l1, l2, positive, weights=weights)
        constant = None
        if intercept:
            constant = _moved(float(constants[j]), W[j], means, float(y_means[j]))
        part = prove_squares(problem, rows, centred, W[j], constant)
        parts.append(in_units(part, 2.0 if ridge else 1 / n))
    return parts


def _moved(constant: float, w: Array, means: Array | None, y_mean: float) -> Bounded:
    """Return the constant b + w·m − ȳ of centred data, with its error.

    In extended precision where the machine has it: means may be large next to what is left.
    """
    exact, size = np.longdouble(constant) - np.longdouble(y_mean), abs(constant) + abs(y_mean)
    if means is not None:
        exact = exact + (means.astype(np.longdouble) * w).sum()
        size += float(np.abs(means) @ np.abs(w))
    unit = (len(w) + SPARE_TERMS) * float(np.finfo(np.longdouble).eps)
    value = np.asarray(float(exact))
    return Bounded(value, unit * size + EPSILON * np.abs(value), np.asarray(size))


def judge_margins(model: Model, X: Matrix, y: Any, weights: Array) -> list[Certificate]:
    """Judge each machine of a linear support vector machine, of classes or of numbers."""
    stated = state_margins(model, X, y, weights)
    return [part.problem.prove(part.answer, stated.gram) for part in stated.parts]


class StatedMargin(NamedTuple):
    """A problem of a linear machine, and the answer that the machine publishes."""

    problem: LinearProblem | SparseClassifier | LinearCrammerSinger
    answer: LinearAnswer


class StatedMargins(NamedTuple):
    """The rows with weight, and the problems of a linear machine on them."""

    gram: FeatureGram
    parts: list[StatedMargin]


def state_margins(model: Model, X: Matrix, y: Any, weights: Array) -> StatedMargins:
    """State the problems of a linear support vector machine, and its answers.

    X and y are the data, as a fit reads them, and ``weights`` those of the rows.
    """
    kept = np.flatnonzero(weights > 0)
    rows, C = X if len(kept) == len(weights) else X[kept], float(model.C) * weights[kept]
    constant = float(model.intercept_scaling) if model.fit_intercept else 0.0
    W = np.atleast_2d(np.asarray(_plain(model.coef_), dtype=np.float64))
    if constant:
        W = np.column_stack([W, np.broadcast_to(model.intercept_, len(W)) / constant])
    dual = getattr(model, "dual_coef_", None)
    multipliers = None if dual is None else np.asarray(dual, dtype=np.float64)[:, kept]
    squared = model.loss.startswith("squared")
    gram, design = FeatureGram.of_rows(rows), DesignRows(rows, constant)
    parts: list[StatedMargin] = []
    if not hasattr(model, "classes_"):
        targets = np.asarray(y, dtype=np.float64).ravel()[kept]
        problem = regressor(targets, C, float(model.epsilon), squared, constant)
        answer = _answer(problem, design, W[0], None if multipliers is None else multipliers[0])
        return StatedMargins(gram, [StatedMargin(problem, answer)])
    labels = _classes(model, y)
    factors = np.ones(len(model.classes_))
    if model.class_weight is not None:
        factors = compute_class_weight(
            model.class_weight, classes=model.classes_, y=y, sample_weight=weights
        )
    labels = labels[kept]
    if model.multi_class == "crammer_singer":
        if multipliers is None:
            raise InvalidInput(_UNKNOWN)
        if len(W) == 1:  # published is the difference of two functions with the sum 0
            W = np.concatenate([-W / 2, W / 2])
        joint = LinearCrammerSinger(labels, C * factors[labels], len(W), constant=constant)
        return StatedMargins(gram, [StatedMargin(joint, LinearAnswer(W.T, multipliers.T))])
    binary = len(model.classes_) == 2
    for j, own in enumerate([1] if binary else range(len(model.classes_))):
        mine = labels == own
        costs = C * np.where(mine, factors[own], factors[0] if binary else 1.0)
        signs = np.where(mine, 1.0, -1.0)
        if model.penalty == "l1":
            thin = SparseClassifier(signs, costs, constant=constant)
            answer = LinearAnswer(W[j], thin.multipliers(design, W[j]))
            parts.append(StatedMargin(thin, answer))
            continue
        problem = classifier(signs, costs, squared, constant)
        answer = _answer(problem, design, W[j], None if multipliers is None else multipliers[j])
        parts.append(StatedMargin(problem, answer))
    return StatedMargins(gram, parts)


def _answer(
    problem: LinearProblem, rows: DesignRows, w: Array, multipliers: Array | None
) -> LinearAnswer:
    """Return weights with multipliers: those of the model, or what the loss makes of them."""
    if multipliers is not None:
        return LinearAnswer(w, multipliers)
    if not (problem.D > 0).all():
        raise InvalidInput(_UNKNOWN)
    residual = problem.p - rows.dot(w)
    excess = np.maximum(np.abs(residual) - problem.epsilon, 0.0)
    beta = np.sign(residual) * excess / problem.D
    return LinearAnswer(w, np.clip(beta, problem.lo, problem.hi))


_UNKNOWN = (
    "certify: for a loss that is not squared, and for all classes at once, the multipliers are "
    "needed, which this model does not publish. Take mercer's machine, or a squared loss."
)


def read_rows(X: Objects, y: Targets, sample_weight: SampleWeights) -> tuple[Matrix, Any, Array]:
    """Return rows, targets and weights of the training data."""
    X, y = check_array(X, accept_sparse="csr", dtype=np.float64), np.asarray(y)
    n = X.shape[0]
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if len(y) != n or weights.shape not in ((), (n,)):
        raise InvalidInput(
            f"certify: X has {n} rows, y has {len(y)} and sample_weight the shape "
            f"{weights.shape}. Pass the training data."
        )
    return X, y, np.array(np.broadcast_to(weights, n))


def _classes(model: Model, y: Any) -> Any:
    if not np.isin(y, model.classes_).all():
        raise InvalidInput("certify: y has to hold the classes that the model was fitted on.")
    return np.searchsorted(model.classes_, y)


def _plain(weights: Any) -> Any:
    return weights.toarray() if hasattr(weights, "toarray") else weights


_JUDGES: dict[str, Callable[[Model, Any, Any, Array], list[Certificate]]] = {
    "Ridge": judge_squares,
    "Lasso": judge_squares,
    "ElasticNet": judge_squares,
    "LinearSVC": judge_margins,
    "LinearSVR": judge_margins,
    "NormRegressor": lambda model, X, y, weights: [judge_norm(model, X, y)],
    "PenaltyRegressor": lambda model, X, y, weights: [judge_penalties(model, X, y)],
}
"""The machines that are judged here, by the names of their classes."""
