"""A judge for logistic regressions: mercer's and scikit-learn's alike."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_array

from mercer._typing import Array, IntArray, Model, Objects, SampleWeights, Targets
from mercer.estimators.linear.kernel_logistic import judge_rows
from mercer.estimators.linear.logistic_regression import judge_weights, read_weights
from mercer.estimators.on_landmarks import judge_classes
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_losses import Logistic

_LINEAR, _KERNEL = "LogisticRegression", "KernelLogisticRegression"


def is_logistic(model: Model) -> bool:
    """Whether a model is a logistic regression, whoever wrote it."""
    return any(base.__name__ in (_LINEAR, _KERNEL) for base in type(model).__mro__)


def judge_logistic(
    model: Model, X: Objects, y: Targets, sample_weight: SampleWeights
) -> Certificate:
    """Judge weights and biases of a model from its training data."""
    labels = _labels(model, y)
    if hasattr(model, "coef_"):
        return _judge_weights(model, X, y, labels, sample_weight)
    if getattr(model, "approximation", None) is not None:
        weights = _weights(model, np.empty((len(labels), 0)), y, labels, sample_weight)
        loss = Logistic(len(model.classes_))
        return judge_classes(model, model.expansion_points, loss, X, labels, weights)
    c = np.asarray(model.dual_coef_, dtype=np.float64).T
    if len(labels) != len(c):
        raise InvalidInput(
            f"certify: the model was fitted on {len(c)} rows, and y has {len(labels)}. Pass the "
            "training data."
        )
    weights = _weights(model, np.empty((len(c), 0)), y, labels, sample_weight)
    points = model.kernel_.training_points(model.read(X))
    if len(points) != len(c):
        raise InvalidInput(
            f"certify: the model was fitted on {len(c)} rows, and X has {len(points)}. Pass the "
            "training data."
        )
    return judge_rows(model, points, labels, weights).under("")


def _judge_weights(
    model: Model, X: Objects, y: Targets, labels: IntArray, sample_weight: SampleWeights
) -> Certificate:
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    if X.shape[0] != len(labels):
        raise InvalidInput(f"certify: X has {X.shape[0]} rows and y has {len(labels)} classes.")
    weights = _weights(model, X, y, labels, sample_weight)
    return judge_weights(model, X, labels, weights).under("")


def _labels(model: Model, y: Targets) -> IntArray:
    y = np.asarray(y).ravel()
    if not np.isin(y, model.classes_).all():
        raise InvalidInput("certify: y has to hold the classes that the model was fitted on.")
    return np.asarray(np.searchsorted(model.classes_, y))


def _weights(
    model: Model, X: Objects, y: Targets, labels: IntArray, sample_weight: SampleWeights
) -> Array:
    return read_weights(
        X, np.asarray(y).ravel(), sample_weight, model.class_weight, model.classes_, labels
    )
