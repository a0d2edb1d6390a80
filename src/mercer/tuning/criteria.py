"""What a search chooses by where a machine has no score or no grid of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from mercer._typing import Array, Model, Objects, Parameter, Targets
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import as_narwhals, is_frame
from mercer.kernels.vectors.constant import White
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.matern import Matern
from mercer.kernels.vectors.radial import RBF
from mercer.tuning.grids import Axes

_DRAWS = 1000
"""Points drawn in the box of the data: the score is off by less than 0.01 by chance."""
_BEYOND = 0.1
"""How far the box reaches beyond the data, as a share of their range."""


@dataclass(frozen=True)
class Criterion:
    """What to try, what to choose by, and how rows are cut into folds."""

    grid: Parameter
    scoring: Parameter
    cv: Parameter


def criterion_of(
    estimator: Model, X: Objects, y: Targets, given: Criterion, random_state: Parameter
) -> Criterion:
    """Return what was given, with what is left open filled in for machines that need it.

    ``estimator`` is a machine, or a pipeline that ends in one.
    """
    machine = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if is_outlier_detector(machine) and given.scoring is None:
        return _of_outliers(estimator, X, y, given, random_state)
    if isinstance(given.grid, str) and getattr(machine, "learns_kernel", False):
        return _of_processes(machine, X, given)
    return given


# ---- machines of one class ----------------------------------------------------------------------


def _of_outliers(
    estimator: Model, X: Objects, y: Targets, given: Criterion, random_state: Parameter
) -> Criterion:
    """Choose by the labels where there are some, else by the room that the region takes."""
    if y is None:
        scorer = room_scorer(X)
        return Criterion(_widths_alone(estimator, X, given.grid), scorer, given.cv)
    known = np.unique(np.asarray(y))
    if len(known) != 2 or not set(known.tolist()) <= {-1, 0, 1}:
        raise InvalidParameter(
            "tune: y of a machine of one class has to be 1 for rows that belong and −1 for the "
            f"others, and have both; it has {known[:5].tolist()}. Leave y away to choose without "
            "labels."
        )
    cv = given.cv
    if isinstance(cv, int):
        # Folds in a row may have no outlier.
        shuffle = random_state is not None
        cv = StratifiedKFold(cv, shuffle=shuffle, random_state=random_state)
    return Criterion(given.grid, "roc_auc", cv)


def _widths_alone(estimator: Model, X: Objects, grid: Parameter) -> Parameter:
    """Return an automatic grid without ν: no data say what share of them does not belong."""
    if not isinstance(grid, str):
        return grid
    axes = Axes.of(estimator, X)
    widths = {name: v for name, v in axes.values.items() if name.rpartition("__")[2] != "nu"}
    if not widths:
        raise InvalidParameter(
            "tune: the kernel of this machine of one class has no width to choose, and ν is what "
            "you say it is. Give labels y to choose it, or a grid and scoring."
        )
    return widths


@dataclass(frozen=True, eq=False)
class RoomScorer:
    """The mean share of a box that lies outside of the region which just holds a left-out row.

    1 − ∫ V(m) dm, where V(m) is the share of the box's volume that is needed to hold the share m
    of left-out rows: one minus the area under the mass-volume curve. It is the chance that a
    left-out row has a higher value than a point anywhere in the box.

    References
    ----------
    Clémençon and Jakubowicz, Scoring anomalies: a M-estimation formulation, 2013.
    """

    anywhere: Objects

    def __call__(self, machine: Model, X: Objects, y: Targets = None) -> float:
        """Return the score on left-out rows."""
        inside, drawn = machine.decision_function(X), machine.decision_function(self.anywhere)
        values = np.concatenate([inside, drawn])
        return float(roc_auc_score(np.arange(len(values)) < len(inside), values))


def room_scorer(X: Objects) -> RoomScorer:
    """Return the scorer with points drawn in the box of rows of numbers."""
    rows = _numbers(X)
    if rows is None:
        raise InvalidParameter(
            "tune: without labels a machine of one class is chosen by the room that its region "
            "takes, which needs rows of numbers without gaps. Give scoring, or y of 1 for objects "
            "that belong and −1 for others."
        )
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = _BEYOND * (high - low)
    random = np.random.default_rng(0)
    drawn = random.uniform(low - margin, high + margin, size=(_DRAWS, rows.shape[1]))
    if not is_frame(X):
        return RoomScorer(drawn)
    import narwhals.stable.v2 as nw

    frame = as_narwhals(X)
    columns = dict(zip(frame.columns, drawn.T, strict=True))
    return RoomScorer(nw.from_dict(columns, backend=frame.implementation).to_native())


def _numbers(X: Objects) -> Array | None:
    """Return rows of finite numbers as an array, None for other objects."""
    if sparse.issparse(X):
        return None
    try:
        rows = as_narwhals(X).to_numpy() if is_frame(X) else np.asarray(X)
    except ValueError:  # rows of different lengths
        return None
    if rows.ndim != 2 or rows.dtype.kind not in "fiub" or not np.isfinite(rows).all():
        return None
    return np.asarray(rows, dtype=np.float64)


# ---- machines that learn their kernels ----------------------------------------------------------


def _of_processes(machine: Model, X: Objects, given: Criterion) -> Criterion:
    """Choose the form of the kernel by densities; its parameters come from the evidence."""
    classifies = is_classifier(machine)
    scoring = given.scoring
    if scoring is None:
        scoring = "neg_log_loss" if classifies else log_density
    if machine.kernel is not None:
        return Criterion({"kernel": [machine.kernel]}, scoring, given.cv)
    rows = _numbers(X)
    if rows is None:
        raise InvalidParameter(
            f"tune: X is not a matrix of numbers, so {type(machine).__name__} needs to know how to "
            "compare the objects. Give it a kernel."
        )
    grid: dict[str, list[Any]] = {"kernel": _usual_kernels(rows.shape[1], not classifies)}
    if not classifies:
        grid["normalize_y"] = [True]
    return Criterion(grid, scoring, given.cv)


def _usual_kernels(columns: int, noise: bool) -> list[Kernel]:
    """Return forms of functions for standardised columns: smooth, rougher, rough, a plane."""
    width = math.sqrt(columns)
    forms: list[Kernel] = [
        1.0 * RBF(length_scale=width),
        1.0 * Matern(nu=2.5, length_scale=width),
        1.0 * Matern(nu=1.5, length_scale=width),
        1.0 * Linear(),
    ]
    return [form + White(0.1) for form in forms] if noise else forms


def log_density(machine: Model, X: Objects, y: Targets) -> float:
    """Return the mean log density of left-out targets under the predicted normal distributions."""
    mean, std = machine.predict(X, return_std=True)
    variance = np.maximum(np.square(std), np.finfo(float).tiny)
    squares = np.square(np.asarray(y, dtype=np.float64) - mean) / variance
    return float(-0.5 * np.mean(squares + np.log(2 * np.pi * variance)))
