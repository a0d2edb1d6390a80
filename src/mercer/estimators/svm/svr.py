"""Support vector regression and the one-class machine."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer._files.fields import A, Maybe, Numbers, State, WrongState
from mercer._sklearn import Interval, StrOptions, num_samples
from mercer._typing import (
    Array,
    IntArray,
    Labels,
    Model,
    Objects,
    Parameter,
    SampleWeights,
    Targets,
)
from mercer.estimators.base import DecisionRule, FitData, open_parameters, tuner
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor, plain_rows
from mercer.estimators.judged import Training
from mercer.estimators.kernel_argument import check_definite
from mercer.estimators.progress import with_callbacks
from mercer.estimators.state import check_points
from mercer.estimators.svm.box_plan import BoxPlan, OutlierRule, ValueRule, mean_bias
from mercer.estimators.svm.drawn_margins import DrawnFrontier
from mercer.estimators.svm.support import SupportVectorMachine
from mercer.estimators.svm.svm_judge import judge_function, kind_of
from mercer.exceptions import InvalidInput
from mercer.gram.expansion import Expansion
from mercer.problems import qp
from mercer.problems.certificate import Certificate
from mercer.problems.qp import BoxQP

_LARGEST_SUM = 1e300
"""The largest sum of targets: float64 ends at 1.8e308, and sums of such sums need some room."""


class _OneFunction(SupportVectorMachine):
    """A machine with one function f(x) + b."""

    STATE: ClassVar[State] = {
        **SupportVectorMachine.STATE,
        "_n_support": Numbers(1, types="i", low=0),
        "certificate_": A(Certificate),
        "multipliers_": Numbers("used"),
        "expansion_": A(Expansion),
        "biases_": Numbers("biases"),
        "_beta": Maybe(Numbers("variables")),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless there is one function."""
        super().check_state()
        check_points(self, self.expansion_.points)
        if len(self._intercept_) != 1 or self._dual_coef_.shape[0] != 1:
            raise WrongState("it has not one function")

    def _fit_plan(
        self, X: Objects, data: FitData, plan: BoxPlan[DecisionRule], start: Model
    ) -> None:
        given = self.kernel_
        self._bind_landmarks()
        check_definite(given, self.needed_definite, self.strict, type(self).__name__)
        ((rows, problem),) = plan.problems
        begin = None if start is None else [self._start_of(start, problem)]
        with self._watching(X, None) as self._monitor:
            solution = self._solve([(rows, problem)], begin)[0]
        del self._monitor
        self._beta = solution.value
        biases = problem.biases(solution.value, solution.f)
        self.multipliers_ = problem.coefficients(solution.value, len(rows))
        used = np.flatnonzero(self.multipliers_)
        self.expansion_ = Expansion(
            self.kernel_,
            self._points.take(rows[used] if used.size else rows[:1]),
            self.multipliers_[used] if used.size else np.zeros(1),
        )
        self.biases_ = biases
        self._n_support = np.array([len(used)], dtype=np.int32)
        intercept, _ = plan.hyperplane(problem, solution.f, biases)
        weights = np.zeros(data.count)
        weights[rows] = self._weighted_rows(data)[1]
        self._remember(self._targets(data), weights, [solution])
        self._publish(X, rows[used], self.multipliers_[used][None, :], np.array([intercept]))
        self._count_steps([solution])
        self.n_iter_ = solution.statistics.iterations
        self._warn([solution])

    def _judge_training(self, training: Training) -> list[Certificate]:
        points, targets = training.points, training.targets
        return [judge_function(self, self.kernel_, points, targets, training.weights)]

    def _targets(self, data: FitData) -> Any:
        """Return a number for each row, None where there is nothing but the rows."""
        return None

    def _weighted_rows(self, data: FitData) -> tuple[IntArray, Array]:
        """Return the rows with a weight > 0, and their weights."""

        def make() -> tuple[IntArray, Array]:
            weights = self._weights(data.sample_weight, data.count)
            rows = np.flatnonzero(weights > 0)
            return rows, weights[rows]

        return data.once("weights", make)

    def _start_of(self, start: Model, problem: BoxQP) -> Array:
        check_is_fitted(start)
        if kind_of(start) != kind_of(self) or len(getattr(start, "_beta", ())) != len(problem):
            raise InvalidInput(
                f"{type(self).__name__}: start has to be a machine of the same kind, fitted on the "
                "same rows."
            )
        return problem.feasible(start._beta * self._start_scale(start, problem))

    def _start_scale(self, start: Model, problem: BoxQP) -> float:
        """Return the factor that turns the multipliers of an answer into a start."""
        # Where sums are fixed they say it.
        total = float(np.abs(start._beta[problem.group == 0]).sum())
        return abs(float(problem.sums[0])) / total if total > 0 else 1.0


@parameters
class _Regressor(DrawnRegressor, RegressorMixin, _OneFunction):
    """Regression by a function inside a tube."""

    _: KW_ONLY
    C: Parameter = 1.0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), StrOptions({"auto"})],
    }

    @with_callbacks
    def fit(
        self, X: Objects, y: Targets, sample_weight: SampleWeights = None, start: Model = None
    ) -> Self:
        """Fit the machine to the targets ``y``.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,), optional
            Factors of C; rows with a weight ≤ 0 are left out.
        start : fitted machine, optional
            A machine of the same kind, fitted on the same rows: the solver starts at its answer.
        """
        self._check_parameters()
        if open_parameters(self):
            tuner().fit_tuned(self, X, y, sample_weight)
            return self
        X = self._read_training(X, y)
        data = FitData(y, sample_weight, num_samples(X))
        plan = self.plan(data)
        self.kernel_, self._points = self._bind(X)
        self._fit_plan(X, data, plan, start)
        return self

    def predict(self, X: Objects) -> Array:
        """Return f(x) + b for each object."""
        return self._functions(self._read_new(X))[:, 0]

    def _drawn_places(self) -> Array:
        rows = plain_rows(self.support_vectors_)
        return np.empty(0) if rows is None else rows[:, 0]

    def plan(self, data: FitData) -> BoxPlan[ValueRule]:
        rows, weights = self._weighted_rows(data)
        problem = self._problem(self._targets(data)[rows], self.C * weights)
        return self._box_plan(ValueRule(), [(rows, problem)], mean_bias)

    def _targets(self, data: FitData) -> Array:
        return data.once("targets", lambda: _numbers(data.y))

    def _problem(self, targets: Array, C: Array) -> BoxQP:
        raise NotImplementedError


def _numbers(y: Targets) -> Array:
    """Return a copy of targets in float64; what is an array already needs no further look."""
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iuf"
    targets = np.array(y if plain else column_or_1d(y, warn=True), dtype=np.float64)
    largest = float(np.abs(targets).max(initial=0.0))
    if largest > _LARGEST_SUM / max(len(targets), 1):
        raise InvalidInput(
            f"y has numbers up to {largest:.2g}, whose sum leaves no room for computing in "
            f"floating-point numbers. Scale y, for example by {1 / largest:.0e}."
        )
    return targets


@parameters
class SVR(_Regressor):
    """ε-support vector regression with any kernel.

    min ½‖w‖² + C Σ max(0, ∣yᵢ − f(xᵢ) − b∣ − ε)

    A drop-in for ``sklearn.svm.SVR``; ``kernel``, ``time_limit``, ``strict``, ``approximation``,
    ``certificate_`` and ``residual_trace_`` as in :class:`SVC`, and so is ``C="auto"``.

    Parameters
    ----------
    C : float or "auto"
        The weight of the errors against the penalty.
    epsilon : float
        Errors up to this size cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RBF, SVR
    >>> x = np.linspace(0, 2 * np.pi, 40)[:, None]
    >>> machine = SVR(RBF(length_scale=1.0), C=100.0, epsilon=0.1).fit(x, np.sin(x).ravel())
    >>> float(np.abs(machine.predict(x) - np.sin(x).ravel()).max().round(2))
    0.1
    >>> len(machine.support_)  # of 40 points, those at the walls of the tube
    6
    """

    _path = ("epsilon", "C")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Regressor._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    _: KW_ONLY
    epsilon: float = 0.1

    def _tube_width(self) -> float | None:
        return float(self.epsilon)

    def _problem(self, targets: Array, C: Array) -> BoxQP:
        return qp.regressor(targets, C, self.epsilon)

    def _start_scale(self, start: Model, problem: BoxQP) -> float:
        return 1.0 if math.isinf(self.C) or math.isinf(start.C) else float(self.C / start.C)


@parameters
class NuSVR(_Regressor):
    """ν-support vector regression: the width of the tube is found, not given.

    ν bounds the share of points outside the tube from above and that of support vectors from
    below; the width found is ``epsilon_``. A drop-in for ``sklearn.svm.NuSVR``; the rest is as in
    :class:`SVR`, ``approximation`` included.

    Parameters
    ----------
    C : float or "auto"
        The weight of the errors against the penalty.
    nu : float or "auto"
        ν in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR, RBF
    >>> x = np.linspace(0, 2 * np.pi, 40)[:, None]
    >>> machine = NuSVR(RBF(length_scale=1.0), C=100.0, nu=0.2).fit(x, np.sin(x).ravel())
    >>> len(machine.support_) >= 0.2 * 40, machine.certificate_.optimal
    (True, True)
    """

    STATE: ClassVar[State] = {**_Regressor.STATE, "biases_": Numbers(2)}

    _path = ("nu", "C")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Regressor._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"auto"})],
    }

    _: KW_ONLY
    nu: Parameter = 0.5

    @property
    def epsilon_(self) -> float:
        """Half the width of the tube that was found."""
        upper, lower = self.biases_
        return float(upper - lower) / 2

    def _tube_width(self) -> float | None:
        return self.epsilon_

    def _problem(self, targets: Array, C: Array) -> BoxQP:
        return qp.nu_regressor(targets, C, self.nu)


_ROUNDING = 1e-12
"""What rounding leaves of a sum of up to some thousand kernel values, as a share of the sum."""


@parameters
class OneClassSVM(DrawnFrontier, OutlierMixin, _OneFunction):
    """One-class support vector machine: the region where the data live.

    min ½‖w‖² + Σ ξᵢ − νnρ  subject to  f(xᵢ) ≥ ρ − ξᵢ, ξᵢ ≥ 0; an outlier has f(x) < ρ

    A drop-in for ``sklearn.svm.OneClassSVM``; ``kernel``, ``time_limit``, ``strict``,
    ``approximation``, ``certificate_`` and ``residual_trace_`` as in :class:`SVC`.

    Parameters
    ----------
    nu : float
        ν in (0, 1]: at most this share of the training rows are outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> machine = OneClassSVM(nu=0.1).fit(X)
    >>> machine.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    >>> machine.certificate_.optimal
    True
    """

    STATE: ClassVar[State] = {**_OneFunction.STATE, "offset_": Numbers(1)}

    _path = ("nu",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    _: KW_ONLY
    nu: float = 0.5

    @with_callbacks
    def fit(
        self,
        X: Objects,
        y: Targets = None,
        sample_weight: SampleWeights = None,
        start: Model = None,
    ) -> Self:
        """Fit the machine to objects; ``y`` is ignored.

        ``sample_weight`` bounds the multiplier of each row, those with a weight ≤ 0 are left out;
        ``start`` is a one-class machine fitted on the same rows, at whose answer the solver starts.
        """
        del y
        self._check_parameters()
        X = self._read_training(X, None)
        data = FitData(None, sample_weight, num_samples(X))
        plan = self.plan(data)
        self.kernel_, self._points = self._bind(X)
        self._fit_plan(X, data, plan, start)
        self.offset_ = -self.intercept_
        return self

    def plan(self, data: FitData) -> BoxPlan[OutlierRule]:
        rows, weights = self._weighted_rows(data)
        problem = qp.one_class(weights, self.nu)
        return self._box_plan(OutlierRule(), [(rows, problem)], mean_bias)

    def decision_function(self, X: Objects) -> Array:
        """Return f(x) − ρ, negative for outliers."""
        return self._functions(self._read_new(X))[:, 0]

    def score_samples(self, X: Objects) -> Array:
        """Return f(x)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Objects) -> Labels:
        """Return +1 for inliers, −1 for outliers."""
        values = self._functions(self._read_new(X))
        return OutlierRule(_ROUNDING * float(np.abs(self.offset_).max())).predict(values)
