"""Probabilities that agree with the decisions they belong to."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import deprecated

from mercer._typing import Array, IntArray, Model, Objects, SampleWeights
from mercer.estimators.base import take_objects

FOLDS = 5
"""As many as scikit-learn's calibration takes."""


_GOES = (
    "Attribute `{}` was deprecated in version 1.9 of scikit-learn, which removes it in 1.11. "
    "predict_proba stays here."
)


class PlattParameters:
    """scikit-learn's names for what turns decisions into probabilities.

    P(y = a ∣ x) = 1/(1 + exp(A·f(x) + B)) of two classes, a against b, where f is a's score less
    b's; empty without ``probability``.
    """

    classes_: Any

    def _for_pairs(self, value: float) -> Array:
        pairs = comb(len(self.classes_), 2) if hasattr(self, "_slope") else 0
        return np.full(pairs, value)

    @deprecated(_GOES.format("probA_"))  # type: ignore[prop-decorator, untyped-decorator]
    @property
    def probA_(self) -> Array:
        """A, for each pair of classes: the same factor for all."""
        return self._for_pairs(-getattr(self, "_slope", 0.0))

    @deprecated(_GOES.format("probB_"))  # type: ignore[prop-decorator, untyped-decorator]
    @property
    def probB_(self) -> Array:
        """B, for each pair of classes: 0, so that ½ lies on the decision boundary."""
        return self._for_pairs(0.0)


def cross_fitted_scores(
    machine: Model,
    own_scores: Callable[[Objects], Array],
    X: Objects,
    y: Array,
    codes: IntArray,
    sample_weight: SampleWeights,
) -> tuple[Array, IntArray]:
    """Return scores of objects by machines that were not fitted on them, and the objects' rows.

    Objects without weight take no part. Classes with fewer objects than folds make fewer folds; a
    class with one object has ``own_scores``, those of the machine itself.
    """
    used = np.arange(len(codes))
    if sample_weight is not None:
        used = np.flatnonzero(np.asarray(sample_weight) > 0)
    counts = np.bincount(codes[used], minlength=int(codes.max()) + 1)
    folds = min(FOLDS, int(counts.min()))
    if folds < 2:
        return own_scores(X), np.arange(len(codes))
    splitter = StratifiedKFold(folds, shuffle=True, random_state=machine.random_state)
    scores: list[Array] = []
    rows: list[IntArray] = []
    for part_train, part_test in splitter.split(np.zeros(len(used)), codes[used]):
        train, test = used[part_train], used[part_test]
        part = clone(machine).set_params(probability=False, decision_function_shape="ovr")
        weights = None if sample_weight is None else np.asarray(sample_weight)[train]
        part.fit(_square_part(machine, X, train, train), y[train], sample_weight=weights)
        scores.append(part.decision_function(_square_part(machine, X, test, train)))
        rows.append(test)
    return np.concatenate(scores), np.concatenate(rows)


def fit_slope(scores: Array, codes: IntArray, weights: Array) -> float:
    """Return the factor a > 0 that makes σ(a·score), or softmax(a·scores), most likely."""

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        if scores.ndim == 1:
            signs = np.where(codes == 1, 1.0, -1.0)
            return float(weights @ np.logaddexp(0.0, -factor * signs * scores))
        return -float(weights @ log_softmax(factor * scores, axis=1)[np.arange(len(codes)), codes])

    best = minimize_scalar(loss, bounds=(-7.0, 7.0), method="bounded")
    return float(np.exp(best.x))


def probabilities(scores: Array, winners: IntArray, factor: float) -> Array:
    """Return the probabilities of the classes; the winner's is the greatest."""
    if scores.ndim == 1:
        result = np.column_stack([expit(-factor * scores), expit(factor * scores)])
    else:
        result = np.asarray(np.exp(log_softmax(factor * scores, axis=1)))
    # Votes can tie where scores do not, and rounding can make equals: the winner stays the winner.
    behind = np.flatnonzero(result.argmax(axis=1) != winners)
    top = result[behind].max(axis=1)
    first = result[behind].argmax(axis=1)
    result[behind, first] = np.minimum(top, result[behind, winners[behind]])
    result[behind, winners[behind]] = np.nextafter(top, 1.0)
    return result


def _square_part(machine: Model, X: Objects, rows: IntArray, columns: IntArray) -> Objects:
    if machine.kernel_argument.precomputed:
        return X[np.ix_(rows, columns)]
    return take_objects(X, rows)
