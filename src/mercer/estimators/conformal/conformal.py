"""Conformal prediction around any estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._sklearn import Interval, StrOptions, num_samples
from mercer._typing import Array, BoolArray, IntArray, Labels, Model, Objects, Seed, Targets
from mercer.estimators.base import CheckedParameters, take_objects
from mercer.estimators.conformal.band import Band
from mercer.estimators.conformal.class_scores import class_scores, likelihoods
from mercer.estimators.conformal.jackknife import Jackknife
from mercer.estimators.conformal.order_statistics import check_rows, spread, threshold
from mercer.estimators.constructor import parameters
from mercer.exceptions import InvalidInput, InvalidParameter

_MANY = 2000
"""Rows up to which each is left out in closed form, and up to which folds are worth their fits."""


@parameters
class Conformal(CheckedParameters, BaseEstimator):
    """Intervals, sets of classes and p-values that hold the truth as often as promised.

    If rows are exchangeable, the set for a new row holds its target with probability ≥ ``level``,
    whatever the estimator and the data are like. Let r = ⌈level·(n + 1)⌉.

    - ``"split"``: the estimator learns from a part of the rows; on the other n rows it has scores
      sᵢ, such as ∣yᵢ − f(xᵢ)∣. The set of x is {y : s(x, y) ≤ the r-th smallest sᵢ}.
      Promise: level.
    - ``"cv+"``: each row is scored by a machine that did not learn from its fold. The interval
      reaches from the (n + 1 − r)-th smallest f₋ᵢ(x) − sᵢ to the r-th smallest f₋ᵢ(x) + sᵢ.
      Promise: 1 − 2(1 − level) up to terms of order √(folds/n), in practice about level.
    - ``"jackknife+"``: the same with a fold for each row. Promise: 1 − 2(1 − level), in practice
      level. Kernel ridge and Gaussian processes have all n machines in closed form (with their
      hyperparameters held fixed); others are fitted n times.
    - ``"full"``: every value that a target could have is tried, in closed form, for kernel ridge
      and Gaussian processes (their hyperparameters held fixed); the interval is the hull of those
      that fit in. Promise: level.

    Parameters
    ----------
    estimator : estimator
        A regressor, a classifier or an outlier detector.
    level : float
        How often the truth has to be inside, in (0, 1).
    method : {"auto", "split", "cv+", "jackknife+", "full"}
        ``"auto"`` takes ``"jackknife+"`` where it has a closed form and there are at most 2,000
        rows, ``"cv+"`` for up to 2,000 rows, else ``"split"``.
    measure : {"auto", "absolute", "local", "quantiles", "lac", "aps"}
        What makes a target unlikely. Of numbers: the absolute residual, or (``"local"``) the
        residual as a multiple of the machine's own standard deviation (``return_std``), or of a
        second machine's prediction of ∣residual∣, or (``"quantiles"``) how far it lies outside the
        band of two machines, which is widened or narrowed until it keeps the promise. Of classes:
        one minus the probability of the class (``"lac"``: the smallest sets), or the probability of
        it and all that are likelier (``"aps"``: sets that are larger where rows are harder);
        decision values stand in for probabilities where there are none.
    by_class : bool
        Whether the level is promised for each class apart.
    scale_estimator : estimator, optional
        The second machine of ``measure="local"``; a copy of ``estimator`` by default.
    quantile_estimators : pair of estimators, optional
        The lower and the upper end of ``measure="quantiles"``, such as
        ``PenaltyRegressor(Quantile(0.05))`` and ``PenaltyRegressor(Quantile(0.95))``.
    cv : int
        The folds of ``"cv+"``.
    calibration_share : float
        The share of the rows that ``"split"`` keeps for the scores.
    random_state : int, optional
        Draws the parts and folds.

    Attributes
    ----------
    estimator_ : estimator
        The machine that ``predict`` asks: of all rows, or of those that a split learnt from.
    method_ : str
        The method taken.
    scores_ : array
        The scores sᵢ.
    classes_ : array
        The classes, of a classifier.

    Examples
    --------
    >>> from mercer import Conformal, KernelRidge, load_data
    >>> diabetes = load_data("diabetes")
    >>> machine = Conformal(KernelRidge(kernel="rbf", alpha=0.1), level=0.9)
    >>> intervals = machine.fit(diabetes.X[:300], diabetes.y[:300]).predict_interval(
    ...     diabetes.X[300:]
    ... )
    >>> intervals.shape
    (142, 2)

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World, 2005.
    Y. Romano, E. Patterson and E. J. Candès, Conformalized quantile regression, NeurIPS 2019.
    R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani, Predictive inference with the
    jackknife+, Annals of Statistics 49 (2021).
    I. Nouretdinov, T. Melluish and V. Vovk, Ridge regression confidence machine, ICML 2001.
    """

    estimator: Any
    level: float = 0.9
    method: str = "auto"
    _: KW_ONLY
    measure: str = "auto"
    by_class: bool = False
    scale_estimator: Any = None
    quantile_estimators: Any = None
    cv: int = 10
    calibration_share: float = 0.25
    random_state: Seed = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        "level": [Interval(Real, 0, 1, closed="neither")],
        "method": [StrOptions({"auto", "split", "cv+", "jackknife+", "full"})],
        "measure": [StrOptions({"auto", "absolute", "local", "quantiles", "lac", "aps"})],
        "scale_estimator": "no_validation",
        "quantile_estimators": "no_validation",
        "cv": [Interval(Integral, 2, None, closed="left")],
        "calibration_share": [Interval(Real, 0, 1, closed="neither")],
    }

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Fit the machine and the scores that its promises rest on.

        Parameters
        ----------
        X : data
            What the estimator takes.
        y : array of shape (n,), optional
            The targets; None for an outlier detector.
        """
        self._validate_params()
        self._kind = self._task()
        if y is None and self._kind != "outliers":
            raise ValueError("Conformal requires y to be passed, but the target y is None.")
        X, targets = indexable(X, None if y is None else column_or_1d(y, warn=True))
        if self._kind == "classes":
            check_classification_targets(targets)
        self._measure = self._chosen_measure()
        self.method_ = self._chosen_method(num_samples(X))
        self._machines: list[tuple[Band, IntArray]] = []
        self._left_out: Jackknife | None = None
        if self.method_ == "split":
            self._fit_split(X, targets)
        else:
            self._fit_all(X, targets)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def predict(self, X: Objects) -> Any:
        """Return what the machine itself answers."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def score(self, X: Objects, y: Targets = None) -> float:
        """Return the score of the machine itself."""
        check_is_fitted(self)
        return float(self.estimator_.score(X, y))

    def predict_interval(self, X: Objects) -> Array:
        """Return the intervals of numbers: one row (low, high) for each object."""
        self._require("number", "predict_interval")
        if self._left_out is not None and self.method_ == "full":
            return self._left_out.full_intervals(X, self.level)
        if self._left_out is not None:
            centres, sizes = self._left_out.predictions(X), self.scores_
            return spread(centres - sizes, centres + sizes, self.level)
        if self.method_ == "split":
            reach = np.array([threshold(self.scores_, self.level)])
            return _in_order(np.hstack(self._machines[0][0].widened(X, reach)))
        lows = np.empty((num_samples(X), len(self.scores_)))
        highs = np.empty_like(lows)
        for band, rows in self._machines:
            lows[:, rows], highs[:, rows] = band.widened(X, self.scores_[rows])
        return _in_order(spread(lows, highs, self.level))

    def predict_set(self, X: Objects) -> BoolArray:
        """Return which classes are in the set of each object, one column for each class."""
        self._require("classes", "predict_set")
        count = len(self.classes_)
        if self.method_ == "split":
            return np.asarray(self._class_scores(self.estimator_, X) <= self._thresholds)
        above = np.zeros((num_samples(X), count))
        for band, rows in self._machines:
            new = self._class_scores(band.machine, X)
            for c in range(count):
                own = rows[self._codes[rows] == c] if self.by_class else rows
                old = np.sort(self.scores_[own])
                above[:, c] += len(old) - np.searchsorted(old, new[:, c], side="left")
        sizes = np.bincount(self._codes) if self.by_class else np.full(count, len(self._codes))
        return np.asarray((above + 1) / (sizes + 1) > 1 - self.level)

    def predict_pvalue(self, X: Objects) -> Array:
        """Return for each object the share of usual rows that are not less usual."""
        self._require("outliers", "predict_pvalue")
        known = np.sort(self.scores_)
        new = -np.asarray(self.estimator_.decision_function(X), dtype=float).ravel()
        not_less = len(known) - np.searchsorted(known, new, side="left")
        return np.asarray((not_less + 1) / (len(known) + 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        tags.target_tags.multi_output = False
        return tags

    # ---- inside --------------------------------------------------------------------------------

    def _task(self) -> str:
        if not hasattr(self.estimator, "fit"):
            raise InvalidParameter(
                f"Conformal: estimator={self.estimator!r} has to be an estimator with fit."
            )
        if is_outlier_detector(self.estimator):
            return "outliers"
        return "classes" if is_classifier(self.estimator) else "number"

    def _chosen_measure(self) -> str:
        usable = {
            "number": ("absolute", "local", "quantiles"),
            "classes": ("lac", "aps"),
            "outliers": ("auto",),
        }
        possible = usable[self._kind]
        if self.measure == "auto":
            return possible[0]
        if self.measure not in possible:
            raise InvalidParameter(
                f"Conformal: measure={self.measure!r} is not for {type(self.estimator).__name__}; "
                f"take one of auto, {', '.join(possible)}."
            )
        return self.measure

    def _chosen_method(self, rows: int) -> str:
        closed = self._kind == "number" and hasattr(self.estimator, "least_squares_system")
        if self.method == "full" and not closed:
            raise InvalidParameter(
                f"Conformal: method='full' has no closed form for {type(self.estimator).__name__}; "
                "take 'jackknife+', 'cv+' or 'split'."
            )
        if self.method == "full" and self._measure != "absolute":
            raise InvalidParameter("Conformal: method='full' goes with measure='absolute'.")
        if self._measure == "quantiles" and not _is_pair(self.quantile_estimators):
            raise InvalidParameter(
                "Conformal: measure='quantiles' needs quantile_estimators, a pair of estimators "
                "for the lower and the upper end, such as PenaltyRegressor(Quantile(0.05)) and "
                "PenaltyRegressor(Quantile(0.95))."
            )
        if self._kind == "outliers":
            if self.method not in ("auto", "split"):
                raise InvalidParameter("Conformal: outliers are found by method='split' alone.")
            return "split"
        if self.method != "auto":
            return self.method
        if rows > _MANY:
            return "split"
        return "jackknife+" if closed and self._measure == "absolute" else "cv+"

    def _fit_split(self, X: Objects, y: Targets) -> None:
        count = num_samples(X)
        kept = max(1, round(count * self.calibration_share))
        check_rows(
            kept if count > kept else 0, self.level, f"of n_samples={count} rows, for calibration,"
        )
        labels = y if self._kind == "classes" else None
        learn, calibrate = train_test_split(
            np.arange(count), test_size=kept, random_state=self.random_state, stratify=labels
        )
        band = self._fitted(X, y, learn)
        machine = self.estimator_ = band.machine
        self._machines.append((band, calibrate))
        rows = take_objects(X, calibrate)
        if self._kind == "outliers":
            self.scores_ = -np.asarray(machine.decision_function(rows), dtype=float).ravel()
            return
        if self._kind == "number":
            self.scores_ = band.scores(rows, y[calibrate])
            return
        self.classes_ = np.asarray(machine.classes_)
        codes = self._class_codes(y[calibrate])
        self.scores_ = self._class_scores(machine, rows)[np.arange(len(codes)), codes]
        self._thresholds = self._class_thresholds(codes)

    def _fit_all(self, X: Objects, y: Array) -> None:
        count = num_samples(X)
        check_rows(count, self.level, f"rows (n_samples={count})")
        self.estimator_ = clone(self.estimator).fit(X, y)
        if self._measure == "absolute" and self.method_ in ("jackknife+", "full"):
            self._left_out = Jackknife.of(self.estimator_)
        if self._left_out is not None:
            self.scores_ = np.abs(self._left_out.residuals)
            return
        if self.method_ == "full":
            raise InvalidParameter(
                "Conformal: method='full' needs one target, no intercept, no approximation and a "
                "penalty above 0. Take 'jackknife+'."
            )
        if self._kind == "classes":
            self.classes_ = np.asarray(self.estimator_.classes_)
            self._codes = self._class_codes(y)
            if self.by_class:
                self._check_classes(self._codes)
        self.scores_ = np.empty(count)
        for learn, rest in self._folds(y):
            band = self._fitted(X, y, learn)
            rows = take_objects(X, rest)
            if self._kind == "number":
                self.scores_[rest] = band.scores(rows, y[rest])
            else:
                scores = self._class_scores(band.machine, rows)
                self.scores_[rest] = scores[np.arange(len(rest)), self._codes[rest]]
            self._machines.append((band, rest))

    def _folds(self, y: Array) -> Any:
        count = len(y) if self.method_ == "jackknife+" else min(self.cv, len(y))
        if count == len(y):
            return KFold(count).split(y)
        kind = StratifiedKFold if self._kind == "classes" else KFold
        return kind(count, shuffle=True, random_state=self.random_state).split(y, y)

    def _fitted(self, X: Objects, y: Targets, rows: IntArray) -> Band:
        """Return a machine that learnt from some rows, and the band around it."""
        own = take_objects(X, rows)
        if y is None:
            return Band(clone(self.estimator).fit(own))
        scale = self.estimator if self.scale_estimator is None else self.scale_estimator
        others = {"ends": self.quantile_estimators, "scale": scale}
        return Band.fitted(self.estimator, own, y[rows], self._measure, others)

    def _class_codes(self, labels: Labels) -> IntArray:
        return np.asarray(np.searchsorted(self.classes_, labels), dtype=np.intp)

    def _class_scores(self, machine: Model, X: Objects) -> Array:
        """Return how unlikely each class is for each object."""
        if len(machine.classes_) != len(self.classes_):
            missing = sorted(set(self.classes_.tolist()) - set(machine.classes_.tolist()))
            raise InvalidInput(
                f"Conformal: the class {missing[0]!r} has so few rows that a fold has none of it. "
                "Give more rows, or leave the class out."
            )
        return class_scores(likelihoods(machine, X), self._measure)

    def _class_thresholds(self, codes: IntArray) -> Array:
        if not self.by_class:
            return np.full(len(self.classes_), threshold(self.scores_, self.level))
        self._check_classes(codes)
        each = [threshold(self.scores_[codes == c], self.level) for c in range(len(self.classes_))]
        return np.array(each)

    def _check_classes(self, codes: IntArray) -> None:
        for c, label in enumerate(self.classes_.tolist()):
            check_rows(int((codes == c).sum()), self.level, f"rows of class {label!r}")

    def _require(self, kind: str, name: str) -> None:
        check_is_fitted(self)
        if self._kind != kind:
            right = {
                "number": "predict_interval", "classes": "predict_set", "outliers": "predict_pvalue"
            }  # fmt: skip
            raise AttributeError(
                f"{name} is not for {type(self.estimator).__name__}; take {right[self._kind]}."
            )


def _is_pair(given: Any) -> bool:
    pair = isinstance(given, list | tuple) and len(given) == 2
    return pair and all(hasattr(estimator, "fit") for estimator in given)


def _in_order(ends: Array) -> Array:
    """Return intervals; one whose ends have passed each other is its middle alone."""
    crossed = ends[:, 0] > ends[:, 1]
    ends[crossed] = ends[crossed].mean(axis=1, keepdims=True)
    return ends
