"""How answers for rows that were left out are judged, and how much of a difference is noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.estimators.svm.calibration import fit_slope, probabilities as calibrated


@dataclass(frozen=True, eq=False)
class Judged:
    """A score, greater is better, and what each row adds to it: its influence, of mean 0.

    ``closeness``, greater is better too, decides among those whose scores differ by noise only: the
    score itself, or how close the values are to the targets where a score sees their order alone.
    """

    score: float
    influence: Array
    closeness: float

    def noise(self, other: Judged) -> float:
        """Return the standard error of the difference to another score on the same rows."""
        difference = self.influence - other.influence
        return float(difference.std() / np.sqrt(len(difference)))


Measure = Callable[[Array, Array], Judged]
"""Judges values F of shape (n, functions) for targets Y of the same shape."""


def area_under_curve(F: Array, Y: Array) -> Judged:
    """Judge by the area under the ROC curve of each function, weighted by the share of its class.

    A row that is left out moves the mean of the others away from it: a machine that knows little
    more than that mean scores below ½, which works against penalties that are too large. Taking
    the shift back was tried, and chose no better.

    The influence of a row is that of DeLong's estimate: how many rows of the other side it is
    right about, beyond the mean.

    References
    ----------
    E. DeLong, D. DeLong and D. Clarke-Pearson, Comparing the areas under two or more correlated
    receiver operating characteristic curves, Biometrics 44 (1988).
    """
    n = len(F)
    shares = (Y > 0).mean(axis=0)
    weights = shares / shares.sum() if Y.shape[1] > 1 else np.ones(1)
    score, influence = 0.0, np.zeros(n)
    for f, y, weight in zip(F.T, Y.T, weights, strict=True):
        inside = y > 0
        count = int(inside.sum())
        if count in (0, n):
            continue
        # Of the other side: how many are below a row of the class, or above a row of the rest.
        right = np.empty(n)
        right[inside] = _shares_below(f[inside], f[~inside])
        right[~inside] = 1 - _shares_below(f[~inside], f[inside])
        area = float(right[inside].mean())
        share = np.where(inside, n / count, n / (n - count))
        score += float(weight * area)
        influence += weight * share * (right - area)
    return Judged(score, influence, squared_error(F, Y).score)


def _shares_below(values: Array, others: Array) -> Array:
    """Return for each value the share of the others that are below it; equals count half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return below / (2 * len(others))


def squared_error(F: Array, Y: Array) -> Judged:
    """Judge by the mean square of the errors: the Brier score of classes."""
    return _judged(((F - Y) ** 2).mean(axis=1))


def absolute_error(F: Array, Y: Array) -> Judged:
    """Judge by the mean size of the errors."""
    return _judged(np.abs(F - Y).mean(axis=1))


def log_loss(F: Array, Y: Array) -> Judged:
    """Judge by the logarithms of the probabilities that the values give, calibrated on them."""
    if Y.shape[1] == 1:
        scores, codes = F[:, 0], (Y[:, 0] > 0).astype(np.intp)
        winners = (scores > 0).astype(np.intp)
    else:
        scores, codes = F, Y.argmax(axis=1)
        winners = scores.argmax(axis=1)
    factor = fit_slope(scores, codes, np.ones(len(codes)))
    found = calibrated(scores, winners, factor)[np.arange(len(codes)), codes]
    return _judged(-np.log(np.maximum(found, np.finfo(np.float64).tiny)))


def _judged(losses: Array) -> Judged:
    """Judge by the mean of the losses of all rows."""
    score = -float(losses.mean())
    return Judged(score, losses.mean() - losses, score)


CLASS_MEASURES: Mapping[str, Measure] = {
    "auc": area_under_curve,
    "log_loss": log_loss,
    "brier": squared_error,
}
"""Measures of classes by their names."""
NUMBER_MEASURES: Mapping[str, Measure] = {
    "squared_error": squared_error,
    "absolute_error": absolute_error,
}
"""Measures of numbers by their names."""
