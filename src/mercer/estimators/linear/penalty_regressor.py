"""Linear regression with any penalty of the residuals."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from mercer._atomic_fit import AtomicFit
from mercer._deprecated import renamed
from mercer._files.fields import COUNT, NONE, Maybe, Numbers, OneOf, State
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Objects, Seed, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.magnitudes import check_squares
from mercer.estimators.linear.penalty_judge import design_matrix, judge_penalties, penalty_of
from mercer.estimators.linear.quick_answers import QuickValues
from mercer.estimators.state import ONE_LINEAR, check_weights
from mercer.exceptions import InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.penalties import (
    NAMES,
    Penalty,
)
from mercer.problems.penalty_problems import PenaltyProblem
from mercer.solvers.base import Budget, Status
from mercer.solvers.linear.penalised_regression import LeastPenalties


@renamed(n_starts="n_init")
@parameters
class PenaltyRegressor(DrawnRegressor, AtomicFit, RegressorMixin, JudgedMachine, QuickValues):
    r"""Linear regression with the least sum of penalties of the residuals, certified.

    min Σ φ(yᵢ − w·xᵢ − b)

    Least squares by factorisation, L1 and quantiles from vertex to vertex, the dead zone as a
    linear program, Huber's penalty and the log barrier by Newton's method, a convex penalty of your
    own by Newton's method and linear programs of its tangents. ``LargeError`` is not
    convex: the fit starts several times and keeps the best answer, and no certificate can prove
    that it is the best of all.

    Parameters
    ----------
    penalty : Penalty or str
        φ: :class:`L2`, :class:`L1`, :class:`Huber`, :class:`DeadZone`, :class:`LogBarrier`,
        :class:`LargeError`, :class:`Quantile`; or the name of one with its default parameter, such
        as ``"huber"`` or ``"dead_zone"``; or a subclass of :class:`Penalty` with ``value`` and
        ``slope``.
    fit_intercept : bool
        Whether there is an intercept b.
    tol : float
        Newton's method ends when the next step would lower the objective by less than a share of
        about tol².
    max_iter : int
        The most steps.
    n_init : int
        Starts where the penalty is not convex: least squares, L1, and random rows.
    random_state : int, RandomState or None
        Chooses the random rows.
    n_starts : int
        The old name of ``n_init``.

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        How far the answer is from the best one.
    multipliers_ : array of shape (n_samples,) or None
        The dual point of methods that end with one.
    values_ : array
        The objective that each start reached, best first.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), section 6.1.2.

    Examples
    --------
    >>> from mercer import PenaltyRegressor, Quantile
    >>> X, y = [[0.0]] * 5, [1.0, 2.0, 3.0, 4.0, 100.0]
    >>> model = PenaltyRegressor(Quantile(0.5)).fit(X, y)
    >>> round(float(model.intercept_), 6), model.certificate_.optimal  # the median
    (3.0, True)
    """

    STATE: ClassVar[State] = {
        **ONE_LINEAR,
        "multipliers_": Maybe(OneOf(NONE, Numbers("rows"))),
        "values_": Numbers("starts"),
        "n_iter_": COUNT,
    }
    check_state = check_weights

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [Penalty, StrOptions(set(NAMES))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    penalty: Penalty | str = "huber"
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 1000
    n_init: int = 20
    random_state: Seed = None

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets) -> PenaltyRegressor:
        """Fit the weights to the rows of X and their targets y."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        check_squares(X, "X")
        check_squares(y, "y")
        A = design_matrix(X, bool(self.fit_intercept))
        penalty = penalty_of(self.penalty)
        _check_whole(penalty)
        problem = PenaltyProblem(np.asarray(y, np.float64), penalty)
        method = LeastPenalties(self.n_init, check_random_state(self.random_state))
        budget = Budget(tol=self.tol, max_iter=self.max_iter)
        found = method.solve(problem, FeatureGram.of_rows(A), budget)
        x, self.multipliers_ = found.value.x, found.value.nu
        runs = Training.runs_of([found])
        self._await_judgement(Training(X, y, np.ones(1), runs, OPTIMAL_GAP))
        self.coef_: Array = x[: X.shape[1]]
        self.intercept_: float = float(x[-1]) if self.fit_intercept else 0.0
        values = found.statistics.details.get("values", [found.certificate.primal])
        self.values_: Array = np.array(values)
        self.n_iter_ = max(found.statistics.iterations, 1)
        if found.status is not Status.OPTIMAL:
            warnings.warn(
                f"PenaltyRegressor stopped after {self.n_iter_} steps with a relative gap of "
                f"{found.certificate.relative_gap:.2g}. {found.status.advice}",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return self

    def _judge_training(self, training: Training) -> list[Certificate]:
        return [judge_penalties(self, training.points, training.targets)]


def _check_whole(penalty: Penalty) -> None:
    """Refuse a penalty of the user's own that lacks what a fit needs."""
    for name in ("value", "slope"):
        if getattr(type(penalty), name) is getattr(Penalty, name):
            raise InvalidParameter(
                f"PenaltyRegressor: {type(penalty).__name__} has no {name}. A penalty of your own "
                "is a subclass of Penalty with value(r) and slope(r), both of arrays of residuals."
            )
