"""A judge for kernel ridge regressions: mercer's and scikit-learn's alike."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer._typing import Array, Model, Objects, SampleWeights, Targets
from mercer.estimators.kernel_argument import ridge_argument
from mercer.estimators.on_landmarks import judge_regression
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.gram.feature_gram import gram_of
from mercer.problems.certificate import Certificate
from mercer.problems.ridge import RidgeFunctions, RidgeProblem


def is_ridge(model: Model) -> bool:
    """Whether a model is a kernel ridge regression, whoever wrote it."""
    return any(base.__name__ == "KernelRidge" for base in type(model).__mro__)


def judge_ridge(model: Model, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
    """Judge the coefficients of a model from its training data."""
    if getattr(model, "approximation", None) is not None:
        alpha = getattr(model, "alpha_", model.alpha)
        return judge_regression(model, model.expansion_points, alpha, X, y, sample_weight)
    K = _gram(model, X)
    n = K.shape[0]
    c = np.asarray(model.dual_coef_, dtype=np.float64)
    if len(c) != n:
        raise InvalidInput(
            f"certify: the model was fitted on {len(c)} rows, and X has {n}. Pass the training "
            "data."
        )
    Y = np.asarray(y, dtype=np.float64)
    if Y.shape != c.shape:
        raise InvalidInput(
            f"certify: y of shape {Y.shape} is not what the model was fitted on: {c.shape}."
        )
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape not in ((), (n,)):
        raise InvalidInput(f"certify: sample_weight has shape {weights.shape} for {n} rows.")
    return judge_rows(model, K, Y, np.array(np.broadcast_to(weights, n))).under("")


def judge_rows(model: Model, K: GramMatrix, targets: Array, weights: Array) -> Certificate:
    """Judge the coefficients of a model on a matrix of its rows."""
    n, c = K.shape[0], np.asarray(model.dual_coef_, dtype=np.float64)
    C, Y = c.reshape(n, -1), targets.reshape(n, -1)
    alphas = np.array(np.broadcast_to(getattr(model, "alpha_", model.alpha), C.shape[1]), float)
    intercept = bool(getattr(model, "fit_intercept", False))
    biases = np.broadcast_to(model.intercept_ if intercept else 0.0, C.shape[1])
    return RidgeProblem(Y, alphas, weights, intercept).certify(RidgeFunctions(C, biases), K)


def _gram(model: Model, X: Objects) -> GramMatrix:
    own = getattr(model, "kernel_", None)  # which scikit-learn's machine has not
    if own is not None:
        return gram_of(own, own.training_points(model.read(X)))
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    kernel, points = ridge_argument(model).encode(X)
    return gram_of(kernel.resolve(points), points)
