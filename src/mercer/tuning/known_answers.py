"""What scorers see of a fit on a shared matrix: values of its functions, and the rule of answers.

Scikit-learn's scorers ask an estimator for its answers on data. Here the answers are known, so the
data are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin

from mercer._typing import Array, Labels, Objects, SampleWeights, Targets
from mercer.estimators.base import DecisionRule, RuleKind
from mercer.estimators.svm.box_plan import OutlierRule
from mercer.estimators.svm.classes import ClassRule


class KnownAnswers(BaseEstimator, Generic[RuleKind]):
    """Answers of a fitted machine on rows that are known beforehand."""

    def __init__(self, rule: RuleKind, values: Array) -> None:
        self.rule, self.values = rule, values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Objects) -> Any:
        """Return the answers."""
        return self.rule.predict(self.values)

    @classmethod
    def scores(cls, many: Sequence[Self], y: Targets) -> list[float] | None:
        """Return ``score`` of many on the same rows at once; None where each has to be asked."""
        return None


class RegressorAnswers(RegressorMixin, KnownAnswers[DecisionRule]):
    """Numbers."""

    def score(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> float:
        """Return R², the share of the variance of ``y`` that is explained."""
        quick = self.scores([self], y) if sample_weight is None else None
        return float(super().score(X, y, sample_weight)) if quick is None else quick[0]

    @classmethod
    def scores(cls, many: Sequence[Self], y: Targets) -> list[float] | None:
        # A search asks thousands of times, and everything was checked before.
        known = np.asarray(y, dtype=np.float64)
        predicted = np.stack([one.rule.predict(one.values) for one in many])
        total = float(((known - known.mean()) ** 2).sum())
        if known.ndim != 1 or predicted.ndim != 2 or not total > 0:
            return None
        found: list[float] = (1.0 - ((known - predicted) ** 2).sum(axis=1) / total).tolist()
        return found


class ClassifierAnswers(ClassifierMixin, KnownAnswers[ClassRule]):
    """Classes, and how far each row lies on which side."""

    @property
    def classes_(self) -> Labels:
        """The classes in order."""
        return self.rule.classes

    def decision_function(self, X: Objects) -> Array:
        """Return one number for two classes, else one for each class or pair of classes."""
        return self.rule.decision_function(self.values)

    def score(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> float:
        """Return the share of rows whose class is right."""
        right = self.rule.predict(self.values) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))


class OutlierAnswers(OutlierMixin, KnownAnswers[OutlierRule]):
    """Inliers and outliers."""

    def decision_function(self, X: Objects) -> Array:
        """Return how far each row lies inside."""
        return self.rule.decision_function(self.values)


KINDS: dict[str, type[KnownAnswers[Any]]] = {
    "classifier": ClassifierAnswers,
    "regressor": RegressorAnswers,
    "outlier_detector": OutlierAnswers,
}
"""By the names that scikit-learn has for kinds of estimators."""
