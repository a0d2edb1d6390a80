"""How machines on landmarks are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._files.fields import COUNT, A, Kind, Maybe, Mismatch, Number, Numbers, OneOf
from mercer.io.model_regression import check_columns
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate

_SHARED: dict[str, Kind] = {
    "n_features_in_": Maybe(COUNT),
    "feature_names_in_": Maybe(A(np.ndarray, size="features")),
    "kernel_": A(Kernel),
    "_landmark_points": A(Points, size="landmarks"),
    "_coefficients": Numbers("landmarks", "functions", any_order=True),
    "_constants": Numbers("functions"),
    "certificate_": A(Certificate),
    "n_iter_": COUNT,
    "n_rows_": COUNT,
}
RIDGE: dict[str, Kind] = {
    **_SHARED,
    "dual_coef_": OneOf(
        Numbers("landmarks", any_order=True), Numbers("landmarks", "functions", any_order=True)
    ),
    "intercept_": OneOf(Number(), Numbers("functions")),
}
CLASSIFIER: dict[str, Kind] = {
    **_SHARED,
    "classes_": A(np.ndarray, size="classes"),
    "dual_coef_": Numbers("functions", "landmarks", any_order=True),
    "intercept_": Numbers("functions"),
}


def check(model: Any) -> None:
    """Raise :class:`Mismatch` where the parts of a machine on landmarks do not fit."""
    check_columns(model, model._landmark_points)
    if hasattr(model, "dual_coef_") and model.dual_coef_.size != model._coefficients.size:
        raise Mismatch("it has not one coefficient for each landmark and target")
    classes = getattr(model, "classes_", None)
    if classes is not None and len(model._constants) != (1 if len(classes) == 2 else len(classes)):
        raise Mismatch("it has not one function for each class")
