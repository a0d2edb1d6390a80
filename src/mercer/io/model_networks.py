"""How perceptrons and networks are stored."""

from __future__ import annotations

from itertools import pairwise
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
from mercer.io.model_points import MATRIX, SEEN
from mercer.io.model_regression import check_columns
from mercer.io.model_values import Stored
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.kernels.wrappers import Precomputed
from mercer.solvers.stochastic import Adam, Momentum

_CLASSES = A(np.ndarray, size="classes")
_REAL = Number(finite=False)
_REALS = ListOf(_REAL)
_COUNTED: dict[str, Kind] = {
    "mistakes_": Numbers("functions", types="i", low=0),
    "mistake_bound_": Numbers("functions", finite=False, low=0),
}

ADALINE: dict[str, Kind] = {
    **SEEN,
    "n_features_in_": COUNT,
    "classes_": _CLASSES,
    "coef_": OneOf(Numbers("functions", "columns", any_order=True), MATRIX),
    "intercept_": Numbers("functions"),
    "n_iter_": COUNT,
    "t_": Number(low=0),
    "eta_": Number(low=0),
    "loss_curve_": _REALS,
}
PERCEPTRON: dict[str, Kind] = {
    **{name: kind for name, kind in ADALINE.items() if name not in ("eta_", "loss_curve_")},
    **_COUNTED,
}


def check_linear(model: Any) -> None:
    """Raise where the weights of a linear machine do not fit its classes and columns."""
    functions = _functions(model)
    if model.coef_.shape != (functions, model.n_features_in_):
        raise Mismatch("its weights do not fit its columns and classes")


KERNEL_PERCEPTRON: dict[str, Kind] = {
    **SEEN,
    **_COUNTED,
    "classes_": _CLASSES,
    "kernel_": A(Kernel),
    "shape_fit_": ListOf(COUNT, tuple),
    "_sparse": FLAG,
    "_gamma": Maybe(OneOf(NONE, TEXT, Number(finite=False))),
    "n_iter_": COUNT,
    "support_": Numbers("support", types="i", low=0),
    "_support_points": A(Points, size="support"),
    "support_vectors_": Plain(),
    "dual_coef_": Numbers("functions", "support", any_order=True),
    "intercept_": Numbers("functions"),
}


def check_kernel(model: Any) -> None:
    """Raise where the parts of a kernel perceptron do not fit."""
    check_columns(model, model._support_points)
    rows = model.shape_fit_[0] if model.shape_fit_ else 0
    if len(model.dual_coef_) != _functions(model):
        raise Mismatch("its functions do not fit its classes")
    if model.support_.size and not int(model.support_.max()) < rows:
        raise Mismatch("a support vector is none of its training rows")
    if model._mode == "matrix" and not (
        isinstance(model.kernel_, Precomputed) and len(model.kernel_.matrix) == rows
    ):
        raise Mismatch("its kernel matrix has not one row for each training row")


def _functions(model: Any) -> int:
    classes = model.classes_
    if classes.ndim != 1 or len(classes) < 2:
        raise Mismatch("it has not two or more classes")
    return 1 if len(classes) == 2 else len(classes)


MOMENTUM = Stored(
    Momentum,
    {
        "velocity": Numbers("weights"),
        **dict.fromkeys(("learning_rate_init", "learning_rate", "momentum", "power_t"), Number()),
        "schedule": TEXT,
        "nesterov": FLAG,
    },
)
ADAM = Stored(
    Adam,
    {
        **dict.fromkeys(("means", "squares"), Numbers("weights")),
        **dict.fromkeys(
            ("learning_rate_init", "beta_1", "beta_2", "epsilon", "learning_rate"), Number()
        ),
        "t": COUNT,
    },
)

REGRESSOR: dict[str, Kind] = {
    **SEEN,
    "n_features_in_": COUNT,
    **dict.fromkeys(("coefs_", "intercepts_"), ListOf(A(np.ndarray))),
    **dict.fromkeys(("n_layers_", "n_outputs_", "n_iter_", "t_", "_no_improvement_count"), COUNT),
    "out_activation_": TEXT,
    "loss_": _REAL,
    "loss_curve_": _REALS,
    **dict.fromkeys(("best_loss_", "best_validation_score_"), OneOf(NONE, _REAL)),
    "validation_scores_": OneOf(NONE, _REALS),
    "_optimizer": Maybe(A((Momentum, Adam))),
}
CLASSIFIER: dict[str, Kind] = {**REGRESSOR, "classes_": _CLASSES, "_target_type": TEXT}

_OUTPUTS = ("identity", "logistic", "softmax", "exp")
_TARGETS = ("binary", "multiclass", "multilabel-indicator")


def check_network(model: Any) -> None:
    """Raise where the layers of a network do not follow one another."""
    coefs, intercepts = model.coefs_, model.intercepts_
    if not coefs or len(coefs) != len(intercepts) or len(coefs) != model.n_layers_ - 1:
        raise Mismatch("it has not as many layers as it says")
    kind = coefs[0].dtype
    if kind.kind != "f" or any(part.dtype != kind for part in (*coefs, *intercepts)):
        raise Mismatch("its weights are not all of one type of real numbers")
    if any(W.ndim != 2 for W in coefs) or any(
        b.shape != W.shape[1:] for W, b in zip(coefs, intercepts, strict=True)
    ):
        raise Mismatch("its weights have shapes that they cannot have")
    if any(a.shape[1] != b.shape[0] for a, b in pairwise(coefs)):
        raise Mismatch("its layers do not follow one another")
    ends = coefs[0].shape[0], coefs[-1].shape[1]
    if ends != (model.n_features_in_, model.n_outputs_):
        raise Mismatch("its layers do not fit its columns and outputs")
    if not all(np.isfinite(part).all() for part in (*coefs, *intercepts)):
        raise Mismatch("its weights hold NaN or infinity")
    if model.out_activation_ not in _OUTPUTS:
        raise Mismatch("it has an activation that there is not")
    optimizer = getattr(model, "_optimizer", None)
    state = getattr(optimizer, "velocity", getattr(optimizer, "means", None))
    weights = sum(part.size for part in (*coefs, *intercepts))
    if state is not None and (len(state) != weights or state.dtype != kind):
        raise Mismatch("its optimiser does not fit its weights")


def check_classes(model: Any) -> None:
    """Raise where a network does not fit its classes."""
    check_network(model)
    classes, kind = model.classes_, model._target_type
    if classes.ndim != 1 or not len(classes) or kind not in _TARGETS:
        raise Mismatch("it has classes that it cannot have")
    wanted = len(classes) if kind != "binary" else 1
    if model.n_outputs_ != wanted or (kind == "binary" and len(classes) > 2):
        raise Mismatch("its outputs do not fit its classes")


ROWS = (MOMENTUM, ADAM)
