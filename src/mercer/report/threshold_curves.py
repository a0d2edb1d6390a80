"""Two classes over all thresholds: the ROC and the precision–recall curve, and where we stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array, BoolArray
from mercer.report import codec

POINTS = 200
"""Points of a curve that are kept: more than a drawing shows."""


@dataclass(frozen=True, eq=False)
class ThresholdCurves:
    """Shares of test rows over all thresholds of the decision value, the highest first.

    ``found`` is the share of the ``positive`` class above the threshold (sensitivity, recall),
    ``alarms`` that of the other class (1 − specificity), ``right`` the share of the rows above it
    that are positive (precision). ``at_found``, ``at_alarms`` and ``at_right`` are those of the
    model's own answers; ``share`` is how frequent the class is, the precision of a guess.
    """

    positive: str
    other: str
    found: Array
    alarms: Array
    right: Array
    at_found: float
    at_alarms: float
    at_right: float
    share: float
    auc: float
    average_precision: float

    def __post_init__(self) -> None:
        codec.check_lengths("curves", self.found, self.alarms, self.right)


def threshold_curves(
    actual: BoolArray, scores: Array, answered: BoolArray, positive: str, other: str
) -> ThresholdCurves | None:
    """Return the curves of test rows with known answers; None where one class has no row.

    The average precision is Σ (rₖ − rₖ₋₁) pₖ over thresholds, with recall r and precision p.
    """
    if actual.all() or not actual.any():
        return None
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.r_[np.diff(scores[order]) != 0, True])
    hits = np.cumsum(actual[order])[last]
    count = last + 1.0
    found, right = hits / actual.sum(), hits / count
    alarms = (count - hits) / (~actual).sum()
    width = np.diff(np.r_[0.0, found])
    steps = np.diff(np.r_[0.0, alarms])
    auc = float((steps * (found + np.r_[0.0, found[:-1]]) / 2).sum())
    kept = np.unique(np.linspace(0, len(last) - 1, POINTS).astype(int))
    at_right = float(actual[answered].mean()) if answered.any() else 0.0
    return ThresholdCurves(
        positive,
        other,
        np.r_[0.0, found[kept]],
        np.r_[0.0, alarms[kept]],
        np.r_[right[0], right[kept]],
        float(answered[actual].mean()),
        float(answered[~actual].mean()),
        at_right,
        float(actual.mean()),
        auc,
        float((width * right).sum()),
    )
