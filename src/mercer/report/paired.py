"""Two models on the same test rows: the difference of a score, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array, Labels, Model, Objects, Targets
from mercer.report import scores
from mercer.report.record import MeasuredScore, Reference

AUC_RESAMPLES = 400
"""Resamples of a difference of AUCs, each of which sorts nothing but adds up all rows."""


@dataclass(frozen=True, eq=False)
class FittedReference:
    """A usual method that was fitted to the training rows of a model, in so many seconds."""

    name: str
    model: Model
    seconds: float


@dataclass(frozen=True, eq=False)
class Said:
    """What a model says of the test rows.

    ``predicted`` are numbers, or numbers of classes; ``decisions`` has one column for two classes,
    else one for each class.
    """

    predicted: Array
    decisions: Array | None = None
    probabilities: Array | None = None


def said_by(model: Model, X: Objects, classes: Labels) -> Said:
    """Ask a reference for its answers; classes are numbered as in ``classes`` (None: numbers)."""
    if classes is None:
        return Said(np.asarray(model.predict(X), dtype=float).ravel())
    found = np.asarray(model.predict_proba(X), dtype=float)
    probabilities = of_all_classes(found, getattr(model, "classes_", classes), classes, 0.0)
    decisions = probabilities[:, 1] if len(classes) == 2 else probabilities
    return Said(probabilities.argmax(axis=1), decisions, probabilities)


def of_all_classes(values: Array, own: Labels, classes: Labels, absent: float) -> Array:
    """Return a column for each class, ``absent`` for those that are none of the model's own."""
    if len(own) == len(classes):
        return values
    whole = np.full((len(values), len(classes)), absent)
    whole[:, np.searchsorted(classes, own)] = values
    return whole


def compare_scores(
    main: MeasuredScore, actual: Targets, model: Said, other: Said, seed: int
) -> tuple[float, float, float, float]:
    """Return the other's main score, the model's minus that, and the ends of its 95 % interval.

    Both are scored on the same resamples of the test rows, so that what is hard for both does not
    blur the difference.
    """
    one = np.ones((1, len(actual)))
    value = float(weighted(main.name, actual, other, one)[0])
    difference = float(weighted(main.name, actual, model, one)[0]) - value
    if len(actual) < scores.FEWEST_ROWS:
        return value, difference, math.nan, math.nan
    count = AUC_RESAMPLES if main.name == "AUC" else scores.RESAMPLES
    found = np.concatenate(
        [
            weighted(main.name, actual, model, W) - weighted(main.name, actual, other, W)
            for W in scores.resamples(len(actual), seed, count)
        ]
    )
    return value, difference, *scores.quantiles(found[np.isfinite(found)])


def measure(
    reference: FittedReference, main: MeasuredScore, actual: Targets, model: Said, other: Said,
    seed: int,
) -> Reference:  # fmt: skip
    """Return how a reference did beside the model."""
    return Reference(
        reference.name, *compare_scores(main, actual, model, other, seed), reference.seconds
    )


def weighted(name: str, actual: Targets, said: Said, W: Array) -> Array:
    """Return the score called ``name`` for each row of weights of the test rows."""
    return _WEIGHTED[name](actual, said, W)


def _mean(statistics: Array, W: Array) -> Array:
    return np.asarray(W @ statistics / W.sum(axis=1, keepdims=statistics.ndim > 1))


def _accuracy(actual: Targets, said: Said, W: Array) -> Array:
    return _mean((actual == said.predicted).astype(float), W)


def _balanced(actual: Targets, said: Said, W: Array) -> Array:
    true = (actual[:, None] == np.unique(actual)).astype(float)
    right = true * (actual == said.predicted)[:, None]
    return scores.balanced(_mean(np.hstack([right, true]), W))


def _auc(actual: Targets, said: Said, W: Array) -> Array:
    assert said.decisions is not None
    if said.decisions.ndim == 1:
        return scores.weighted_auc(said.decisions, actual == 1, W)
    return scores.macro_auc(actual, said.decisions, W)


def _log_loss(actual: Targets, said: Said, W: Array) -> Array:
    assert said.probabilities is not None
    return _mean(scores.surprise(actual, said.probabilities), W)


def _r_squared(actual: Targets, said: Said, W: Array) -> Array:
    shifted = actual - actual.mean()
    means = _mean(np.column_stack([(said.predicted - actual) ** 2, shifted, shifted**2]), W)
    spread = means[:, 2] - means[:, 1] ** 2
    # A resample of equal targets explains nothing.
    left = np.divide(means[:, 0], spread, out=np.full(len(W), np.nan), where=spread > 0)
    return np.asarray(1 - left)


def _absolute(actual: Targets, said: Said, W: Array) -> Array:
    return _mean(np.abs(said.predicted - actual), W)


def _squared(actual: Targets, said: Said, W: Array) -> Array:
    return np.sqrt(_mean((said.predicted - actual) ** 2, W))


_WEIGHTED = {
    "Accuracy": _accuracy,
    "Balanced accuracy": _balanced,
    "AUC": _auc,
    "Log loss": _log_loss,
    "R²": _r_squared,
    "Mean absolute error": _absolute,
    "Root mean squared error": _squared,
}
