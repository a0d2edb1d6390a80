"""A judge for support vector machines: mercer's and scikit-learn's alike."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._sklearn import fitted_gamma
from mercer._typing import Array, IntArray, Model, Objects, SampleWeights, Targets
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.linear.linear_judge import linear_judge
from mercer.estimators.linear.logistic_judge import is_logistic, judge_logistic
from mercer.estimators.ridge.ridge_judge import is_ridge, judge_ridge
from mercer.estimators.svm.svm_judge import judge_classes, judge_function, kind_of
from mercer.exceptions import InvalidInput, InvalidType
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate


def certify(
    model: Model, X: Objects, y: Targets = None, sample_weight: SampleWeights = None
) -> Certificate:
    """Judge a fitted machine from scratch.

    Takes the multipliers, weights and biases of the model and nothing else from its solver: the
    kernel matrix, the decision values, the primal and the dual objective are all computed here from
    the data that the model was fitted on. Works for SVC, NuSVC, SVR, NuSVR, OneClassSVM,
    KernelRidge, LogisticRegression, LinearSVC, LinearSVR, Ridge, Lasso and ElasticNet of mercer and
    of scikit-learn, and for all other machines of mercer with a certificate.

    Parameters
    ----------
    model : estimator
        A fitted machine.
    X, y, sample_weight
        What it was fitted on (``y`` is not needed for a one-class machine, nor where ``X`` is a
        source of chunks that a streamed machine was fitted on).

    Returns
    -------
    Certificate
        Of all binary problems together where there are several classes.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from mercer import certify, load_data
    >>> heart = load_data("heart")
    >>> machine = SVC().fit(heart.X, heart.y)  # of scikit-learn
    >>> certificate = certify(machine, heart.X, heart.y)
    >>> certificate.primal >= certificate.dual, certificate.relative_gap < 1e-3
    (True, True)
    """
    check_is_fitted(model)
    if not getattr(model, "fit_intercept", True) and np.any(getattr(model, "intercept_", 0.0)):
        raise InvalidInput("certify: intercept_ is not 0, and the model has fit_intercept=False.")
    if hasattr(model, "judge"):
        judged: Certificate = model.judge(X, y, sample_weight)
        return judged
    if is_ridge(model):
        return judge_ridge(model, X, y, sample_weight)
    if is_logistic(model):
        return judge_logistic(model, X, y, sample_weight)
    linear = linear_judge(model)
    if linear is not None:
        return linear(model, X, y, sample_weight)
    kind = kind_of(model)
    if kind is None:
        raise InvalidType(
            f"certify: {type(model).__name__} is not a machine that can be judged yet. It takes "
            "SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, LogisticRegression, LinearSVC, "
            "LinearSVR, Ridge, Lasso and ElasticNet, mercer's or scikit-learn's, "
            "and all machines of mercer with a certificate."
        )
    kernel, points = _settled(model, X)
    n = len(points)
    if n != int(model.shape_fit_[0]):
        raise InvalidInput(
            f"certify: the model was fitted on {model.shape_fit_[0]} rows, and X has {n}. Pass the "
            "training data."
        )
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weights.shape != (n,):
        raise InvalidInput(f"certify: sample_weight has shape {weights.shape} for {n} rows.")
    support = None
    if not is_kernel(getattr(model, "kernel_", None)):  # scikit-learn counts rows with weight only
        support = np.flatnonzero(weights > 0)[model.support_]
    if kind in ("SVC", "NuSVC"):
        codes = _codes(model, y, n)
        C = weights * np.asarray(model.class_weight_)[codes]
        judged = Certificate.total(judge_classes(model, kernel, points, codes, C, support))
    else:
        targets = None if kind == "OneClassSVM" else _targets(y, n)
        judged = judge_function(model, kernel, points, targets, weights, support)
    # No solver was asked, so there is no status to report but that of the kernel.
    return judged.under("")


def _codes(model: Model, y: Targets, count: int) -> IntArray:
    labels = np.asarray(y).ravel()
    if len(labels) != count or not np.isin(labels, model.classes_).all():
        raise InvalidInput(
            f"certify: y has to hold the {count} classes that the model was fitted on."
        )
    return np.asarray(np.searchsorted(model.classes_, labels))


def _targets(y: Targets, count: int) -> Array:
    targets = np.asarray(y, dtype=float).ravel()
    if len(targets) != count:
        raise InvalidInput(
            f"certify: y has to hold the {count} targets that the model was fitted on."
        )
    return targets


def _settled(model: Model, X: Objects) -> tuple[Kernel, Points]:
    """Return the kernel of the model, and the training data as points."""
    kernel = getattr(model, "kernel_", None)
    if is_kernel(kernel):
        return kernel, kernel.training_points(model.read(X))
    argument = kernel_argument(
        model.kernel, fitted_gamma(model), model.degree, model.coef0, type(model).__name__
    )
    if argument.takes_vectors:
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
    given, points = argument.encode(X)
    return given.resolve(points), points
