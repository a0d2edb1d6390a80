"""A number from a table without a choice to make: a contest of kernel ridges, and their mean."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length

from mercer._files.fields import Number, State
from mercer._sklearn import StrOptions, check_targets
from mercer._typing import Array, Objects, RowGroups, Targets
from mercer.estimators.automatic.auto_machine import AutoMachine
from mercer.estimators.automatic.measures import NUMBER_MEASURES
from mercer.estimators.constructor import parameters


@parameters
class AutoRegressor(RegressorMixin, AutoMachine):
    """A number from a table: the mean of the best few kernel ridge regressions.

    f = mean of f₁ … f_m, each min ½ Σ (yᵢ − fₖ(xᵢ) − bₖ)² + ½λₖ‖fₖ‖²

    Numbers are standardised, categories one-hot, in one joint distance whose columns have weights
    aⱼᵖ by their centred alignment with the target. Laplacian kernels of the L1 and L2 distance, RBF
    and linear kernels contend over p, width and penalty, all by exact leave-one-out from one
    eigendecomposition each (through landmarks beyond 600 rows); then the weights of columns are
    learnt from the errors of rows that were left out. Those vote that are behind the best by no
    more than two standard errors of the difference, each kernel once with equal weights of the
    columns and once with others, half of them with learnt weights at most.

    Parameters
    ----------
    scoring : {"squared_error", "absolute_error"}
        What decides the contest.
    max_members : int
        The most machines in the mean.
    time_limit : float, optional
        Seconds after which nothing more is tried; Ctrl-C does the same.
    random_state : int
        Of the rows that take part, where there are more than 3,000.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    members_ : list of Member
        The machines of the mean (``machine``), each with the factors of its coordinates
        (``weights``) and its ``coding``.
    certificates_ : list of Certificate
        How far each fit is from its best one. The choice is estimated, not proven.
    leaderboard_ : list of dict
        All that was tried, the best first; scores are in units of the target's deviation.
    alignments_ : dict
        The centred alignment of each column with the target, the greatest first.
    stopped_ : str
        Why the contest ended early: ``"time limit"``, ``"interrupted"``, or nothing.
    score_ : float
        The score of the best machine, of which it was chosen: a little too good.
    loo_values_ : array of shape (n,)
        The prediction for each training row by machines that were fitted without it; NaN for rows
        that took no part.
    target_mean_, target_scale_ : float
        The members learn (y − mean)/scale.

    Examples
    --------
    >>> from mercer import AutoRegressor, load_data
    >>> data = load_data("diabetes")
    >>> model = AutoRegressor().fit(data.X, data.y)
    >>> model.predict(data.X[:2]).shape
    (2,)
    """

    STATE: ClassVar[State] = {
        **AutoMachine.STATE,
        "target_mean_": Number(),
        "target_scale_": Number(low=0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AutoMachine._parameter_constraints,
        "scoring": [StrOptions(set(NUMBER_MEASURES))],
    }

    tries_logarithms: ClassVar[bool] = True

    _: KW_ONLY
    scoring: str = "squared_error"
    target_mean_: float = field(init=False)
    target_scale_: float = field(init=False)

    def fit(self, X: Objects, y: Targets, *, groups: RowGroups = None) -> Self:
        """Find the machines for the numbers ``y``.

        Parameters
        ----------
        X : frame or array of shape (n, columns)
            Columns of a frame may hold numbers, truth values, dates, texts and categories. Missing
            values may be there.
        y : array of shape (n,)
        groups : array of shape (n,), optional
            Rows of one group (a person, a batch) are left out together, as new rows will be of
            other groups; the choice and the calibration then rest on unseen groups.
        """
        self._validate_params()
        if y is None:
            raise ValueError("AutoRegressor requires y to be passed, but the target y is None.")
        X = self._read(X, reset=True)
        y = np.asarray(check_targets(y, multi_output=False, y_numeric=True), dtype=np.float64)
        check_consistent_length(X, y)
        self.target_mean_ = float(y.mean())
        self.target_scale_ = float(y.std()) or 1.0
        left_out = self._contend(X, self._targets(y), NUMBER_MEASURES[self.scoring], groups)
        self.loo_values_ = self._in_units(left_out)
        return self

    def predict(self, X: Objects) -> Array:
        """Return the mean of the members' answers for each row."""
        return self._in_units(self._mean_values(X))

    def _targets(self, y: Targets) -> Array:
        return ((np.asarray(y, dtype=np.float64) - self.target_mean_) / self.target_scale_)[:, None]

    def _units(self) -> tuple[float, Array]:
        return self.target_scale_, np.array([self.target_mean_])

    def _in_units(self, values: Array) -> Array:
        return values[:, 0] * self.target_scale_ + self.target_mean_
