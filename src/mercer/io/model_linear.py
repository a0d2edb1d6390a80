"""How linear regressions and their penalties are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._files.fields import (
    COUNT,
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
)
from mercer.io.model_points import MATRIX
from mercer.io.model_values import Stored
from mercer.problems.certificate import Certificate
from mercer.problems.penalties import NAMES, Quantile

_ONE: dict[str, Kind] = {
    "n_features_in_": COUNT,
    "feature_names_in_": Maybe(A(np.ndarray, size="features")),
    "coef_": Numbers("features"),
    "intercept_": Number(),
    "certificate_": A(Certificate),
}

MANY: dict[str, Kind] = {
    **_ONE,
    "coef_": OneOf(Numbers("features"), Numbers("targets", "features", any_order=True)),
    "intercept_": OneOf(Number(), Numbers("targets")),
    "certificates_": ListOf(A(Certificate)),
    "n_iter_": OneOf(NONE, COUNT, ListOf(COUNT), Numbers("targets", types="i", low=0)),
    "dual_gap_": Maybe(OneOf(Number(), Numbers("targets"))),
    "solver_": Maybe(TEXT),
}
NORM: dict[str, Kind] = {
    **_ONE,
    "norm_": Number(low=0),
    "rank_": COUNT,
    "interpolated_": Numbers("interpolated", types="i", low=0),
    "multipliers_": Numbers("rows"),
}
PENALTY: dict[str, Kind] = {**_ONE, "values_": Numbers("starts"), "n_iter_": COUNT}

LOGISTIC: dict[str, Kind] = {
    **_ONE,
    "classes_": A(np.ndarray, size="classes"),
    "coef_": OneOf(Numbers("functions", "features", any_order=True), MATRIX),
    "intercept_": Numbers("functions"),
    "n_iter_": Numbers(1, types="i", low=0),
}


def check(model: Any) -> None:
    """Raise where the weights do not belong to the columns."""
    if model.coef_.shape[-1] != model.n_features_in_:
        raise Mismatch("its weights do not fit its columns")
    targets = 1 if model.coef_.ndim == 1 else model.coef_.shape[0]
    if np.size(model.intercept_) not in (1, targets):
        raise Mismatch("it has not one intercept for each target")


def _row(cls: type) -> Stored:
    field = "tau" if cls is Quantile else "a"
    fields: dict[str, Kind] = {field: Number()} if vars(cls()) else {}
    return Stored(cls, fields)


ROWS = tuple(_row(cls) for cls in NAMES.values())
