"""How subspace methods are stored: directions, their variances, and the points they hang on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._files.fields import COUNT, TEXT, A, Kind, ListOf, Maybe, Mismatch, Number, Numbers
from mercer.gram.expansion import Expansion
from mercer.io.model_points import check_points
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.kernels.wrappers import Precomputed

_VARIANCES = Numbers("components", low=0)
_DIRECTIONS = Numbers("components", "features", any_order=True)

PCA_FIELDS: dict[str, Kind] = {
    "n_features_in_": COUNT,
    "mean_": Numbers("features"),
    "components_": _DIRECTIONS,
    **dict.fromkeys(("explained_variance_", "singular_values_"), _VARIANCES),
    "explained_variance_ratio_": _VARIANCES,
    "noise_variance_": Number(low=0),
    "n_components_": COUNT,
    "n_samples_": COUNT,
    "choice_": TEXT,
}
WHITENING_FIELDS: dict[str, Kind] = {
    "n_features_in_": COUNT,
    "mean_": Numbers("features"),
    "components_": Numbers("rows", "features", any_order=True),
    "_back": Numbers("features", "rows", any_order=True),
    "explained_variance_": _VARIANCES,
    "rank_": COUNT,
}
_ON_POINTS: dict[str, Kind] = {
    "n_features_in_": Maybe(COUNT),
    "kernel_": A(Kernel),
    "shape_fit_": ListOf(COUNT, tuple),
    "_points": A(Points, size="points"),
    "_offset": Numbers("components"),
}
KERNEL_PCA_FIELDS: dict[str, Kind] = {
    **_ON_POINTS,
    "eigenvalues_": _VARIANCES,
    "residuals_": _VARIANCES,
    "eigenvectors_": Numbers("points", "components", any_order=True),
    "_coefficients": Numbers("points", "components", any_order=True),
    "gamma_": Number(low=0),
    "choice_": TEXT,
    "dual_coef_": Maybe(Numbers("points", "features", any_order=True)),
    "X_transformed_fit_": Maybe(Numbers("points", "components", any_order=True)),
    "_inverse_kernel": Maybe(A(Kernel)),
    "_condensed": Maybe(A(Expansion)),
    "residual_trace_": Maybe(Number(low=0)),
}
_CLASSES: dict[str, Kind] = {
    "classes_": A(np.ndarray, size="classes"),
    "priors_": Numbers("classes", low=0),
}
LDA_FIELDS: dict[str, Kind] = {
    **_CLASSES,
    "n_features_in_": COUNT,
    "means_": Numbers("classes", "features", any_order=True),
    "coef_": Numbers("functions", "features", any_order=True),
    "intercept_": Numbers("functions", finite=False),
    "scalings_": Maybe(Numbers("features", "directions", any_order=True)),
    "xbar_": Maybe(Numbers("features")),
    "_max_components": COUNT,
    "_n_features_out": COUNT,
}
KERNEL_DISCRIMINANT_FIELDS: dict[str, Kind] = {
    **_CLASSES,
    **_ON_POINTS,
    "means_": Numbers("classes", "components", any_order=True),
    "dual_coef_": Numbers("points", "components", any_order=True),
    "separation_": _VARIANCES,
}


def check_columns(model: Any) -> None:
    """Raise :class:`Mismatch` unless the map is for as many columns as the training data had."""
    if model.n_features_in_ != len(model.mean_):
        raise Mismatch("it has not one mean for each column")


def check_classes(model: Any) -> None:
    """Raise :class:`Mismatch` unless there are two or more classes, each with its score."""
    classes = model.classes_
    if classes.ndim != 1 or len(classes) < 2:
        raise Mismatch("it has not two or more classes")
    if hasattr(model, "coef_"):
        if len(model.intercept_) != (1 if len(classes) == 2 else len(classes)):
            raise Mismatch("its scores do not fit its classes")
        if model.means_.shape[1] != model.n_features_in_:
            raise Mismatch("it has not one mean for each column")
        if model.solver != "lsqr" and not hasattr(model, "scalings_"):
            raise Mismatch("it has no directions")
    else:
        check_expansion(model)


def check_expansion(model: Any) -> None:
    """Raise :class:`Mismatch` unless the points are those that the kernel compares."""
    check_points(model.kernel_, model._points)
    if not model.shape_fit_ or model.shape_fit_[0] != len(model._points):
        raise Mismatch("its points are not as many as its training rows")
    if model._mode == "matrix" and not (
        isinstance(model.kernel_, Precomputed) and len(model.kernel_.matrix) == model.shape_fit_[0]
    ):
        raise Mismatch("its kernel matrix has not one row for each training row")
