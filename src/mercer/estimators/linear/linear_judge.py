"""A judge for linear machines: mercer's and scikit-learn's alike, from weights and data alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_array

from mercer._typing import Array, Matrix, Model, Objects, SampleWeights, Targets
from mercer.estimators.linear.centred import Centred
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import Certificate
from mercer.problems.elastic_net import in_units
from mercer.problems.linear import (
    DesignRows,
    LinearAnswer,
    LinearCrammerSinger,
    LinearProblem,
    SparseClassifier,
    classifier,
    regressor,
)


def linear_judge(model: Model) -> Callable[..., Certificate] | None:
    """Return the judge of a linear machine, whoever wrote it; None for others."""
    names = {base.__name__ for base in type(model).__mro__}
    if any(name.startswith("MultiTask") for name in names):
        return None
    return next((judge for name, judge in _JUDGES.items() if name in names), None)


def judge_squares(
    model: Model, X: Objects, y: Targets, sample_weight: SampleWeights
) -> Certificate:
    """Judge a ridge regression, a lasso or an elastic net, in scikit-learn's units."""
    X, y, given = _read(X, y, sample_weight)
    n, Y = len(y), y.reshape(len(y), -1)
    weights = None if sample_weight is None else given
    ridge = not hasattr(model, "precompute") and not hasattr(model, "l1_ratio")
    alphas = np.broadcast_to(np.asarray(model.alpha, dtype=np.float64), Y.shape[1])
    share = 0.0 if ridge else float(getattr(model, "l1_ratio", 1.0))
    unit = 1.0
    if not ridge:
        unit = float(n)
        weights = None if weights is None else weights * (n / weights.sum())
    data = Centred(X, Y, weights, bool(model.fit_intercept))
    W = np.atleast_2d(np.asarray(_plain(model.coef_), dtype=np.float64))
    constants = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(W))
    total = float(n if weights is None else weights.sum())
    off = (constants - data.intercepts(W)) if model.fit_intercept else np.zeros(len(W))
    parts = []
    for j, alpha in enumerate(alphas):
        l1, l2 = float(alpha) * share * unit, float(alpha) * (1 - share) * unit
        problem = data.problem(j, l1, l2, bool(getattr(model, "positive", False)))
        part = problem.certify(problem.evaluate(data.design, W[j]), data.gram)
        # The best constant goes with the weights; that of the model may be another one.
        part = replace(part, primal=part.primal + total * float(off[j]) ** 2 / 2)
        parts.append(in_units(part, 2.0 if ridge else 1 / n))
    return Certificate.total(parts).under("")


def judge_margins(
    model: Model, X: Objects, y: Targets, sample_weight: SampleWeights
) -> Certificate:
    """Judge a linear support vector machine, of classes or of numbers."""
    stated = state_margins(model, X, y, sample_weight)
    parts = [part.problem.certify(part.answer, stated.gram) for part in stated.parts]
    return Certificate.total(parts).under("")


class StatedMargin(NamedTuple):
    """A problem of a linear machine, and the answer that the machine publishes."""

    problem: LinearProblem | SparseClassifier | LinearCrammerSinger
    answer: LinearAnswer


class StatedMargins(NamedTuple):
    """The rows with weight, and the problems of a linear machine on them."""

    gram: FeatureGram
    parts: list[StatedMargin]


def state_margins(
    model: Model, X: Objects, y: Targets, sample_weight: SampleWeights
) -> StatedMargins:
    """State the problems of a linear support vector machine, and its answers."""
    X, y, given = _read(X, y, sample_weight)
    kept = np.flatnonzero(given > 0)
    rows, C = X[kept], float(model.C) * given[kept]
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
        problem = regressor(y[kept], C, float(model.epsilon), squared, constant)
        answer = _answer(problem, design, W[0], None if multipliers is None else multipliers[0])
        return StatedMargins(gram, [StatedMargin(problem, answer)])
    labels = _classes(model, y)
    factors = np.ones(len(model.classes_))
    if model.class_weight is not None:
        factors = compute_class_weight(
            model.class_weight, classes=model.classes_, y=y, sample_weight=sample_weight
        )
    labels = labels[kept]
    if model.multi_class == "crammer_singer":
        if multipliers is None or len(multipliers) != len(W):
            raise InvalidInput(_UNKNOWN)
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


def _read(X: Objects, y: Targets, sample_weight: SampleWeights) -> tuple[Matrix, Any, Array]:
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


_JUDGES: dict[str, Callable[..., Certificate]] = {
    "Ridge": judge_squares,
    "Lasso": judge_squares,
    "ElasticNet": judge_squares,
    "LinearSVC": judge_margins,
    "LinearSVR": judge_margins,
}
"""The machines that are judged here, by the names of their classes."""
