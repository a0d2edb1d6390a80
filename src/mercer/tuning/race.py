"""The race between the cells of a grid: scores so far, and who can still win."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from mercer._sklearn import sign_of
from mercer._typing import Array

Scorer: TypeAlias = Any
"""A scorer of scikit-learn's, or several by their names."""

_SLACK = 1e-9
"""A cell is out only if it is behind by more than the rounding of a mean."""

_AT_MOST_ONE = frozenset({
    "accuracy_score", "balanced_accuracy_score", "f1_score", "precision_score", "recall_score",
    "jaccard_score", "roc_auc_score", "average_precision_score", "matthews_corrcoef",
    "top_k_accuracy_score", "r2_score", "explained_variance_score", "d2_absolute_error_score",
    "adjusted_rand_score", "rand_score", "v_measure_score", "homogeneity_score",
    "completeness_score", "normalized_mutual_info_score", "fowlkes_mallows_score",
})  # fmt: skip
_AT_LEAST_ZERO = frozenset({
    "mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "median_absolute_error",
    "mean_absolute_percentage_error", "max_error", "mean_squared_log_error", "log_loss",
    "root_mean_squared_log_error", "brier_score_loss", "hamming_loss", "zero_one_loss",
})  # fmt: skip


def highest_score(scorer: Scorer, estimator_kind: str | None) -> float:
    """Return the best score that any predictions could get, or infinity where nobody knows."""
    measure = getattr(scorer, "_score_func", None)
    if measure is None:  # the estimator's own score: accuracy or R²
        own = hasattr(scorer, "_estimator") and estimator_kind in ("classifier", "regressor")
        return 1.0 if own else math.inf
    sign = sign_of(scorer)
    if sign > 0 and measure.__name__ in _AT_MOST_ONE:
        return 1.0
    if sign < 0 and measure.__name__ in _AT_LEAST_ZERO:
        return 0.0
    return math.inf


class Race:
    """Scores of cells on folds.

    A cell is out of the race when even the highest score on all folds that it has not seen yet
    could not lift its mean to that of the best complete cell. Nothing is estimated: a cell that is
    out would have lost.
    """

    def __init__(self, folds: int, highest: float) -> None:
        self.folds, self.highest = folds, highest
        self.scores: Array = np.empty((0, folds))
        self.best = -math.inf
        """The best mean score of a complete cell."""

    def enter(self, cells: int) -> None:
        """Add cells without scores."""
        self.scores = np.vstack([self.scores, np.full((cells, self.folds), np.nan)])

    def record(self, cell: int, fold: int, score: float) -> None:
        """Note the score of one cell on one fold."""
        self.scores[cell, fold] = score

    def settle(self) -> None:
        """Let complete cells count: until then they do not, so that no thread runs ahead."""
        means = self.scores.mean(axis=1)
        finite = means[np.isfinite(means)]
        self.best = float(finite.max(initial=self.best))

    def bound(self, cell: int) -> float:
        """Return the best mean score that a cell could still get; its own where it is complete."""
        scores = self.scores[cell]
        return float(np.where(np.isnan(scores), self.highest, scores).mean())

    def can_win(self, cell: int) -> bool:
        """Whether a cell could still be the best."""
        return not self.bound(cell) < self.best - _SLACK
