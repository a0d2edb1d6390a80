"""How kernel ridge regressions and Gaussian processes are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._files.fields import (
    COUNT,
    FLAG,
    NONE,
    TEXT,
    A,
    Kind,
    ListOf,
    Maybe,
    Mismatch,
    Number,
    Numbers,
    OneOf,
    Plain,
)
from mercer.estimators.gp_classifier import Latent
from mercer.estimators.gp_landmarks import LandmarkPosterior
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.io.model_points import SEEN, check_points
from mercer.io.model_values import Stored
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.kernels.wrappers import Precomputed
from mercer.problems.certificate import Certificate
from mercer.solvers.ridge_path import RidgePath

_BY_ROW = OneOf(Numbers("rows"), Numbers("rows", "targets", any_order=True))

PATH = Stored(
    RidgePath,
    {
        "alphas": Numbers("grid"),
        "coefficients": Numbers("grid", "n", "targets", any_order=True),
        "residuals": Numbers("grid", "n", "targets", any_order=True),
        "errors": Numbers("grid", "targets", any_order=True),
        "freedoms": Numbers("grid"),
        "intercepts": Numbers("grid", "targets", any_order=True),
    },
)

RIDGE: dict[str, Kind] = {
    **SEEN,
    "kernel_": A(Kernel),
    "shape_fit_": ListOf(COUNT, tuple),
    "_sparse": FLAG,
    "_gamma": Maybe(OneOf(NONE, TEXT, Number(finite=False))),
    "X_fit_": Plain(),
    "_fit_points": A(Points, size="rows"),
    "_fit_weights": Numbers("rows", low=0),
    "dual_coef_": _BY_ROW,
    "intercept_": OneOf(Number(), Numbers("targets")),
    "alpha_": OneOf(Number(low=0), Numbers("targets", low=0)),
    "certificate_": A(Certificate),
    "solver_": TEXT,
    "n_iter_": COUNT,
    "path_": Maybe(A(RidgePath)),
}


_TARGETS = OneOf(Numbers("targets"), Numbers(1), Number())

PROCESS: dict[str, Kind] = {
    **SEEN,
    **dict.fromkeys(("kernel_", "_kernel"), A(Kernel)),
    "shape_fit_": ListOf(COUNT, tuple),
    "_sparse": FLAG,
    "_gamma": Maybe(OneOf(NONE, TEXT, Number(finite=False))),
    "X_train_": Plain(),
    "y_train_": _BY_ROW,
    "_train_points": A(Points, size="rows"),
    "_noise_variances": Numbers("rows", low=0),
    "alpha_": _BY_ROW,
    "L_": Maybe(Numbers("rows", "rows", any_order=True)),
    "_posterior": Maybe(A(LandmarkPosterior)),
    "evidence_bounds_": Maybe(ListOf(Number(finite=False), tuple)),
    "residual_trace_": Maybe(Number(low=0)),
    "_names": ListOf(TEXT),
    "_scales": Numbers("free"),
    "_bounds": Numbers("free", 2, finite=False),
    "log_marginal_likelihood_value_": Number(finite=False),
    "jitter_": Number(low=0),
    "certificate_": A(Certificate),
    **dict.fromkeys(("_y_train_mean", "_y_train_std"), _TARGETS),
}


def check_process(model: Any) -> None:
    """Raise :class:`Mismatch` where the parts of a Gaussian process do not fit."""
    check_columns(model, model._train_points)
    free = model._kernel.free_parameters()
    if len(model._names) != len(model._scales) or any(name not in free for name in model._names):
        raise Mismatch("its kernel has not the parameters that were learnt")
    sound = (np.diagonal(model.L_) > 0).all() if hasattr(model, "L_") else model._posterior
    if model.alpha_.shape != model.y_train_.shape or not sound:
        raise Mismatch("its factor or its coefficients do not fit its targets")


def check_ridge(model: Any) -> None:
    """Raise :class:`Mismatch` where the parts of a kernel ridge regression do not fit."""
    check_columns(model, model._fit_points)
    count = 1 if model.dual_coef_.ndim == 1 else model.dual_coef_.shape[1]
    if np.size(model.alpha_) not in (1, count):
        raise Mismatch("it has not one alpha for each target")
    if np.size(model.intercept_) != count:
        raise Mismatch("it has not one intercept for each target")
    if not model.shape_fit_ or model.shape_fit_[0] != len(model.dual_coef_):
        raise Mismatch("it has not one coefficient for each training row")
    if model._mode == "matrix" and not (
        isinstance(model.kernel_, Precomputed)
        and len(model.kernel_.matrix) == len(model.dual_coef_)
    ):
        raise Mismatch("its kernel matrix has not one row for each training row")


LOGISTIC: dict[str, Kind] = {
    **SEEN,
    "classes_": A(np.ndarray, size="classes"),
    "kernel_": A(Kernel),
    "shape_fit_": ListOf(COUNT, tuple),
    "_sparse": FLAG,
    "_gamma": Maybe(OneOf(NONE, TEXT, Number(finite=False))),
    "_fit_points": A(Points, size="rows"),
    "dual_coef_": Numbers("functions", "rows", any_order=True),
    "intercept_": Numbers("functions"),
    "certificate_": A(Certificate),
    "n_iter_": COUNT,
}


def check_logistic(model: Any) -> None:
    """Raise :class:`Mismatch` where the parts of a kernel logistic regression do not fit."""
    check_columns(model, model._fit_points)
    k, (functions, rows) = len(model.classes_), model.dual_coef_.shape
    if k < 2 or model.classes_.ndim != 1 or functions != (1 if k == 2 else k):
        raise Mismatch(f"it has {functions} functions for {k} classes")
    if not model.shape_fit_ or model.shape_fit_[0] != rows:
        raise Mismatch("it has not one coefficient for each training row")
    if model._mode == "matrix" and not (
        isinstance(model.kernel_, Precomputed) and len(model.kernel_.matrix) == rows
    ):
        raise Mismatch("its kernel matrix has not one row for each training row")


def check_columns(model: Any, points: Points) -> None:
    """Raise :class:`Mismatch` where points are none of the kernel's or have other columns."""
    check_points(model.kernel_, points)
    for encoder, leaf in points.leaves.items():
        columns = getattr(leaf, "dimension", None) if encoder.inner is None else None
        if columns is not None and columns != getattr(model, "n_features_in_", columns):
            raise Mismatch("its points have not as many columns as its training data")


LATENT = Stored(
    Latent,
    {
        **dict.fromkeys(("kernel", "published"), A(Kernel)),
        "points": A(Points, size="n"),
        "rows": Numbers("n", types="i", low=0),
        **dict.fromkeys(("labels", "weights", "root", "mode"), Numbers("n")),
        "names": ListOf(TEXT),
        "scales": Numbers("free"),
        "factor": Numbers("n", "n", any_order=True),
        "value": Number(finite=False),
    },
)

CLASSES: dict[str, Kind] = {
    **SEEN,
    "classes_": A(np.ndarray, size="classes"),
    "n_classes_": COUNT,
    "shape_fit_": ListOf(COUNT, tuple),
    "_sparse": FLAG,
    "_gamma": Maybe(OneOf(NONE, TEXT, Number(finite=False))),
    "latents_": ListOf(A(Latent)),
    "log_marginal_likelihood_value_": Number(finite=False),
}


def check_classes(model: Any) -> None:
    """Raise :class:`Mismatch` where the parts of a Gaussian process classifier do not fit."""
    k = len(model.classes_)
    if k < 2 or k != model.n_classes_ or model.classes_.ndim != 1:
        raise Mismatch("it has not two or more classes")
    pairs = k * (k - 1) // 2
    wanted = 1 if k == 2 else k if model.multi_class == "one_vs_rest" else pairs
    if len(model.latents_) != wanted:
        raise Mismatch(f"it has {len(model.latents_)} latent functions for {k} classes")
    for latent in model.latents_:
        check_points(latent.kernel, latent.points)
        free = latent.kernel.free_parameters()
        named = len(latent.names) == len(latent.scales) and set(latent.names) <= set(free)
        if not named or not (np.diagonal(latent.factor) > 0).all():
            raise Mismatch("the parts of a latent function do not fit")


def _make_posterior(state: dict[str, Any]) -> LandmarkPosterior:
    if not (np.diagonal(state["B_factor"]) > 0).all():
        raise Mismatch("its factor has no positive diagonal")
    if len(state["approximation"]) != len(state["weights"]):
        raise Mismatch("it has not one weight for each landmark")
    return LandmarkPosterior(**state)


POSTERIOR = Stored(
    LandmarkPosterior,
    {
        "approximation": A(NystromKernel),
        "weights": Numbers("landmarks", "targets", any_order=True),
        "B_factor": Numbers("landmarks", "landmarks", any_order=True),
        **dict.fromkeys(("unseen", "explained", "noise"), Numbers("rows", low=0)),
    },
    make=_make_posterior,
)

ROWS = (PATH, LATENT, POSTERIOR)
