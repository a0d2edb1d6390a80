"""What estimators keep of a fit: the pieces of ``STATE`` that several of them share, and checks.

``STATE`` beside a class names the attributes that a fit sets and their kinds. A file is loaded by
checking each attribute against its kind and then asking ``check_state`` whether they fit together.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer._files.fields import (
    COUNT,
    CSR,
    FLAG,
    NONE,
    TEXT,
    A,
    Kind,
    ListOf,
    Maybe,
    Number,
    Numbers,
    OneOf,
    WrongState,
)
from mercer._typing import Model
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate

SEEN: dict[str, Kind] = {
    "n_features_in_": Maybe(COUNT),
    "feature_names_in_": Maybe(A(np.ndarray, size="features")),
}
"""What every estimator keeps of the columns it saw."""

VECTORS: dict[str, Kind] = {**SEEN, "n_features_in_": COUNT}
"""The same of an estimator that takes rows of numbers only."""

ROWS: dict[str, Kind] = {
    **SEEN,
    "shape_fit_": ListOf(COUNT, tuple),
    "_sparse": FLAG,
    "_gamma": Maybe(OneOf(NONE, TEXT, Number(finite=False))),
}
"""What a machine keeps of its training rows."""

KERNEL: dict[str, Kind] = {**ROWS, "kernel_": A(Kernel)}
"""A machine with one kernel, settled on its training rows."""

BY_ROW = OneOf(Numbers("rows"), Numbers("rows", "targets", any_order=True))
"""A number for each training row, or for each row and target."""

CONSTANTS = OneOf(Number(), Numbers("targets"))
"""A number, or one for each target."""

WEIGHTS = OneOf(Numbers("functions", "features", any_order=True), CSR)
"""The weights of linear functions, which may have been made sparse."""

MISTAKES: dict[str, Kind] = {
    "mistakes_": Numbers("functions", types="i", low=0),
    "mistake_bound_": Numbers("functions", finite=False, low=0),
}
"""What a perceptron counts, for each function."""

ONE_LINEAR: dict[str, Kind] = {
    **VECTORS,
    "coef_": Numbers("features"),
    "intercept_": Number(),
    "certificate_": A(Certificate),
}
"""A linear function of the columns."""

LINEAR: dict[str, Kind] = {
    **ONE_LINEAR,
    "coef_": OneOf(Numbers("features"), Numbers("targets", "features", any_order=True)),
    "intercept_": CONSTANTS,
    "certificates_": ListOf(A(Certificate)),
    "n_iter_": OneOf(NONE, COUNT, ListOf(COUNT), Numbers("targets", types="i", low=0)),
}
"""A linear function of the columns for each target."""


class KernelFit(Protocol):
    """A machine that was fitted with a kernel."""

    kernel: Any
    kernel_: Kernel


def check_points(machine: KernelFit, points: Points, rows: int | None = None) -> None:
    """Raise :class:`WrongState` unless points are a machine's own, and it has ``rows`` of them."""
    points.check_encoded_for(machine.kernel_)
    for encoder, leaf in points.leaves.items():
        columns = getattr(leaf, "dimension", None) if encoder.inner is None else None
        if columns is not None and columns != getattr(machine, "n_features_in_", columns):
            raise WrongState("its points have not as many columns as its training data")
    if rows is not None:
        check_rows(machine, rows)


def check_rows(machine: Model, rows: int) -> None:
    """Raise :class:`WrongState` unless a machine was fitted on so many rows."""
    if not machine.shape_fit_ or machine.shape_fit_[0] != rows:
        raise WrongState("it has not one coefficient for each training row")
    given = isinstance(machine.kernel, str) and machine.kernel == "precomputed"
    if given and machine.kernel_.known_rows != rows:
        raise WrongState("its kernel matrix has not one row for each training row")


def check_classes(classes: np.ndarray[Any, Any], functions: int) -> None:
    """Raise :class:`WrongState` unless there is a function for each class, or one for two."""
    if classes.ndim != 1 or len(classes) < 2:
        raise WrongState("it has not two or more classes")
    if functions != (1 if len(classes) == 2 else len(classes)):
        raise WrongState(f"it has {functions} functions for {len(classes)} classes")


def check_weights(machine: Model) -> None:
    """Raise :class:`WrongState` where linear weights do not belong to the columns."""
    if machine.coef_.shape[-1] != machine.n_features_in_:
        raise WrongState("its weights do not fit its columns")
    targets = 1 if machine.coef_.ndim == 1 else machine.coef_.shape[0]
    if np.size(machine.intercept_) not in (1, targets):
        raise WrongState("it has not one intercept for each target")


def check_linear_classes(machine: Model) -> None:
    """Raise :class:`WrongState` where linear weights do not belong to the columns and classes."""
    check_classes(machine.classes_, machine.coef_.shape[0])
    if machine.coef_.ndim != 2:
        raise WrongState("its weights do not fit its columns and classes")
    check_weights(machine)
