"""A judge for kernel ridge regressions: mercer's and scikit-learn's alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from mercer._typing import Array
from mercer.estimators.kernel_ridge import ridge_kernel
from mercer.estimators.landmark_fits import judge_ridge_on_landmarks
from mercer.exceptions import InvalidInput
from mercer.gram.operator import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.wrappers import Precomputed
from mercer.problems.certificate import Certificate
from mercer.problems.ridge import RidgeProblem


def is_ridge(model: Any) -> bool:
    """Whether a model is a kernel ridge regression, whoever wrote it."""
    return any(base.__name__ == "KernelRidge" for base in type(model).__mro__)


def judge_ridge(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Judge the coefficients of a model from its training data."""
    if getattr(model, "approximation", None) is not None:
        return judge_ridge_on_landmarks(model, X, y, sample_weight)
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
    weights = np.array(np.broadcast_to(weights, n))
    C, Y = c.reshape(n, -1), Y.reshape(n, -1)
    F = K @ C
    alphas = np.broadcast_to(getattr(model, "alpha_", model.alpha), C.shape[1])
    biases: Any = np.full(C.shape[1], None)
    if getattr(model, "fit_intercept", False):
        biases = np.broadcast_to(model.intercept_, C.shape[1])

    def multiply(u: Array) -> Array:
        return K @ u

    parts = [
        RidgeProblem(Y[:, j], float(alphas[j]), weights, biases[j]).certify(
            C[:, j], F[:, j], multiply
        )
        for j in range(C.shape[1])
    ]
    # No solver was asked, so there is no status to report.
    return replace(Certificate.total(parts), status="")


def _gram(model: Any, X: Any) -> Gram:
    if isinstance(getattr(model, "kernel_", None), Kernel):
        kernel = model.kernel_
        if isinstance(kernel, Precomputed):
            return Gram(kernel, np.arange(len(kernel.matrix)))
        return Gram(kernel, X, dtype=np.float64)
    if callable(model.kernel):
        params = model.kernel_params or {}
        matrix = pairwise_kernels(X, metric=model.kernel, filter_params=True, **params)
        return Gram(Precomputed(matrix), np.arange(len(matrix)))
    if model.kernel == "precomputed":
        return Gram(Precomputed(np.asarray(X, dtype=np.float64)), np.arange(len(X)))
    columns = model.n_features_in_
    kernel = ridge_kernel(model.kernel, model.gamma, model.degree, model.coef0, columns)
    return Gram(kernel, X, dtype=np.float64)
