"""Classification by kernel ridge regression on labels, with exact leave-one-out decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length

from mercer._files.fields import LABELS, A, Number, Numbers, OneOf, State, WrongState
from mercer._sklearn import Interval, StrOptions, check_targets, num_samples
from mercer._typing import (
    Array,
    ClassWeights,
    IntArray,
    Objects,
    Parameter,
    SampleWeights,
    Targets,
)
from mercer.estimators.base import NamedKernelMachine, _check_rows, open_parameters, tuner
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnClassifier
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import check_definite
from mercer.estimators.linear.logistic_regression import read_classes, read_weights
from mercer.estimators.on_landmarks import judge_targets, warn_early
from mercer.estimators.ridge.changed_labels import harmless_labels, smoother_of
from mercer.estimators.ridge.ridge_matrix import RidgeChoice, frame_of, matrix_of, spectrum_of
from mercer.estimators.state import KERNEL, check_classes, check_points
from mercer.estimators.svm.calibration import fit_slope, probabilities
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.landmarks.choose import Nystrom
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.ridge import RidgeFunctions, RidgeProblem
from mercer.solvers.base import Budget, Statistics, Status
from mercer.solvers.landmarks.landmark_ridge import solve_targets
from mercer.solvers.ridge_path import ridge_path, usual_alphas

_TOL = 3e-7
"""Relative residual of machines on landmarks: that of KernelRidge by default."""
_STEPS = 1000
"""Most steps of conjugate gradients on landmarks: those of KernelRidge by default."""


@parameters
class KernelRidgeClassifier(DrawnClassifier, ClassifierMixin, JudgedMachine, NamedKernelMachine):
    """Classes by kernel ridge regression on labels of ±1, one function for each class.

    min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖² with yᵢ = 1 in the class and −1 elsewhere

    Two classes share one function. The answers to all λ, and the decision value of each row by the
    machine that never saw it, come from one eigendecomposition of K: λ is chosen by these values,
    and the probabilities are calibrated on them, so that no fold is ever fitted. With a constant b
    the values of the functions are those for labels 0 and 1, twice, less 1.

    Parameters
    ----------
    alpha : float or "auto"
        λ > 0. ``"auto"`` takes the one with the least squares of leave-one-out; so does
        ``kernel=RBF("auto")`` for the width. Landmarks stay the same when a row is left out.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    fit_intercept : bool
        Whether there are constants b, which cost nothing.
    class_weight : dict or "balanced" or None
        Factors of the weights of each class.
    time_limit : float, optional
        Seconds after which a solver on landmarks stops.
    approximation : None, int or Nystrom
        A number M of landmarks, or how to choose them: f is then a function of the landmarks,
        found in time n·M² and memory n·M, and ``dual_coef_`` speaks of them.

    Attributes
    ----------
    dual_coef_ : array of shape (functions, n)
        The coefficients of f = Σ cᵢ k(xᵢ, ·).
    intercept_ : array of shape (functions,)
        The constants b.
    alpha_ : float
        λ, chosen or given.
    loo_decision_ : array of shape (n,) or (n, c)
        The decision values of each training row by the machine that was fitted without it; NaN for
        rows without weight.
    calibration_ : float
        The factor a of the probabilities σ(a·f), or softmax(a·f) of several classes: the most
        likely one for ``loo_decision_``.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    kernel_ : Kernel
        The kernel, settled on the training data.
    certificate_ : Certificate
        How far the answer is from the best one.

    References
    ----------
    R. Rifkin and A. Klautau, In defense of one-vs-all classification, Journal of Machine Learning
    Research 5 (2004); R. Rifkin and R. Lippert, Notes on regularized least squares, MIT (2007).

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier, load_data
    >>> heart = load_data("heart")
    >>> machine = KernelRidgeClassifier().fit(heart.X, heart.y)
    >>> left_out = machine.classes_[(machine.loo_decision_ > 0).astype(int)]
    >>> round(float((left_out == heart.y).mean()), 2)  # leave-one-out, without a second fit
    0.83
    """

    STATE: ClassVar[State] = {
        **KERNEL,
        "classes_": LABELS,
        "_fit_points": A(Points, size="rows"),
        "dual_coef_": Numbers("functions", "rows", any_order=True),
        "intercept_": Numbers("functions"),
        "alpha_": Number(low=0),
        "loo_decision_": OneOf(
            Numbers("seen", finite=False),
            Numbers("seen", "functions", any_order=True, finite=False),
        ),
        "calibration_": Number(low=0),
        "certificate_": A(Certificate),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NamedKernelMachine._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }
    usual_values: ClassVar[Mapping[str, Sequence[float]]] = {
        "alpha": tuple(10.0**e for e in range(-4, 3))
    }

    alpha: Parameter = "auto"
    _: KW_ONLY
    fit_intercept: bool = True
    class_weight: ClassWeights = None
    dual_coef_: Array = field(init=False)
    intercept_: Array = field(init=False)

    @property
    def expansion_points(self) -> Points:
        """The points that the functions are sums over: the training rows, or landmarks."""
        return self._fit_points

    def check_state(self) -> None:
        """Raise :class:`WrongState` where functions, classes and rows do not fit."""
        check_points(self, self._fit_points, self.dual_coef_.shape[1])
        check_classes(self.classes_, len(self.dual_coef_))
        if self.approximation is None and len(self.loo_decision_) != self.dual_coef_.shape[1]:
            raise WrongState("it has not one leave-one-out value for each training row")

    # ---- fit -----------------------------------------------------------------------------------

    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Self:
        """Fit the functions to the classes ``y``.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,)
            The classes.
        sample_weight : array of shape (n,), optional
            The weights wᵢ ≥ 0.
        """
        self._check_parameters()
        self._require_targets(y)
        X = self._read_training(X, None)
        y = check_targets(y, multi_output=False, estimator=self)
        check_consistent_length(X, y)
        _check_rows(X, type(self).__name__)
        self.classes_, labels = read_classes(y)
        weights = self._weights(y, labels, sample_weight)
        used = np.flatnonzero(weights > 0)
        Y = signs_of(labels, len(self.classes_))[used]
        self.kernel_, points = self._bind(X)
        inside = points if len(used) == len(weights) else points.take(used)
        frame = None
        if self.has_open_width:
            alphas = np.full(Y.shape[1], np.nan if self.alpha == "auto" else float(self.alpha))
            choice: RidgeChoice = tuner().choose_ridge(self, X, inside, Y, weights[used], alphas)
            self.kernel_, frame = choice.kernel, choice.frame
        check_definite(self.kernel_, Definite.POSITIVE, False, type(self).__name__)
        runs = self._solve(inside, used, Y, weights, frame or frame_of(self, self.kernel_, inside))
        self._await_judgement(Training(points, labels, weights, runs, OPTIMAL_GAP))
        if self.approximation is None:
            self._fit_points = points
        self.calibration_ = fit_slope(self.loo_decision_[used], labels[used], weights[used])
        return self

    def _solve(
        self,
        points: Points,
        used: IntArray,
        Y: Array,
        weights: Array,
        frame: LandmarkGram | None,
    ) -> list[tuple[Statistics, Status]]:
        """Set λ, the coefficients and the values of leave-one-out; return what it cost."""
        inside, constant = weights[used], bool(self.fit_intercept)
        spectrum = spectrum_of(matrix_of(self.kernel_, points, frame), inside)
        grid = usual_alphas(spectrum) if self.alpha == "auto" else np.array([float(self.alpha)])
        path = ridge_path(spectrum, Y, grid, inside, constant)
        best = int(path.errors.mean(axis=1).argmin())
        self.alpha_ = float(grid[best])
        loo = np.full((len(weights), Y.shape[1]), np.nan)
        loo[used] = Y - path.residuals[best]
        self.loo_decision_ = _flat(loo)
        alphas = np.full(Y.shape[1], self.alpha_)
        if frame is None:
            found = RidgeFunctions(path.coefficients[best], path.intercepts[best])
            if not np.isfinite(found.coef).all():
                raise InvalidInput(
                    "KernelRidgeClassifier: the coefficients are not finite numbers. Scale the "
                    "data."
                )
            self.dual_coef_ = np.zeros((Y.shape[1], len(weights)))
            self.dual_coef_[:, used] = found.coef.T
            self.intercept_ = found.intercepts
            return [(Statistics(), Status.OPTIMAL)]
        budget = Budget.within(self.time_limit, tol=_TOL, max_iter=_STEPS)
        solved = solve_targets(frame, Y, inside, constant, alphas, budget)
        warn_early(type(self).__name__, solved.status)
        self.dual_coef_ = np.ascontiguousarray(solved.value.coefficients(frame).T)
        self.intercept_ = solved.value.constants
        self._fit_points = frame.basis.points
        self.shape_fit_ = (len(self._fit_points), *self.shape_fit_[1:])
        return Training.runs_of([solved])

    # ---- answers -------------------------------------------------------------------------------

    def decision_function(self, X: Objects) -> Array:
        """Return f + b: shape (m,) for two classes, else (m, classes)."""
        X = self._read_new(X)
        values = self._expand(X, self._fit_points, self.dual_coef_.T) + self.intercept_
        return _flat(values)

    def predict(self, X: Objects) -> Any:
        """Return the class with the greatest decision value."""
        places = winners(self.decision_function(X))
        return self.classes_[places]

    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        scores = self.decision_function(X)
        return probabilities(scores, winners(scores), self.calibration_)

    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the functions of the machine as sums over points, and their constants."""
        return Expansion(self.kernel_, self._fit_points, self.dual_coef_.T), self.intercept_

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Certificate:
        """Judge the fit from scratch on its training data, as :func:`certify` does."""
        labels = np.asarray(y).ravel()
        if not np.isin(labels, self.classes_).all():
            raise InvalidInput("certify: y has to hold the classes that the model was fitted on.")
        codes = np.searchsorted(self.classes_, labels)
        weights = self._weights(labels, codes, sample_weight)
        points = self.kernel_.training_points(X)
        fitted = len(points) if self.approximation is not None else self.dual_coef_.shape[1]
        if not len(labels) == len(points) == fitted:
            raise InvalidInput(
                f"certify: the model was fitted on {fitted} rows, X has {len(points)} and y "
                f"{len(labels)}. Pass the training data."
            )
        # No solver was asked, so there is no status to report but that of the kernel.
        return self._judge_rows(points, codes, weights).under("")

    def _judge_training(self, training: Training) -> list[Certificate]:
        return [self._judge_rows(training.points, training.targets, training.weights)]

    def _judge_rows(self, points: Points, labels: IntArray, weights: Array) -> Certificate:
        """Judge the functions on training rows; ``labels`` count from 0."""
        Y = signs_of(labels, len(self.classes_))
        if self.approximation is not None:
            view = _Regression(self.kernel_, self.dual_coef_.T, self.intercept_, self.fit_intercept)
            return judge_targets(view, self._fit_points, self.alpha_, points, Y, weights)
        alphas = np.full(Y.shape[1], self.alpha_)
        problem = RidgeProblem(Y, alphas, weights, bool(self.fit_intercept))
        found = RidgeFunctions(self.dual_coef_.T, self.intercept_)
        return problem.certify(found, Gram(self.kernel_, points, dtype=np.float64))

    def harmless_changes(
        self,
        X: Objects,
        y: Targets,
        new: Objects,
        sample_weight: SampleWeights,
        change: str,
    ) -> IntArray:
        """Return how many training rows may change before the class of each new row does."""
        if self.approximation is not None:
            raise InvalidParameter(
                "wrong_rows: on landmarks a row changes more than its own coefficient; fit "
                "KernelRidgeClassifier without approximation."
            )
        labels = np.asarray(y).ravel()
        if len(labels) != self.dual_coef_.shape[1] or set(labels) != set(self.classes_):
            raise InvalidInput(
                "wrong_rows: X and y have to be the rows and classes that KernelRidgeClassifier "
                "was fitted on."
            )
        codes = np.searchsorted(self.classes_, labels)
        weights = self._weights(labels, codes, sample_weight)
        used = np.flatnonzero(weights > 0)
        points, shift = self._fit_points.take(used), self.alpha_ / weights[used]
        rows = self._encode(self._read_new(new))[1]
        smoother = smoother_of(self.kernel_, points, rows, shift, bool(self.fit_intercept))
        Y = signs_of(codes, len(self.classes_))[used]
        return harmless_labels([smoother], Y, self.decision_function(new), change)

    # ---- inside --------------------------------------------------------------------------------

    @property
    def has_open_width(self) -> bool:
        """Whether a width of the kernel is to be chosen."""
        return any(name.startswith("kernel__") for name in open_parameters(self))

    def _weights(self, y: Targets, labels: IntArray, sample_weight: SampleWeights) -> Array:
        rows = np.empty((num_samples(labels), 0))
        return read_weights(rows, y, sample_weight, self.class_weight, self.classes_, labels)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        Nystrom.of(self.approximation, type(self).__name__)  # refuses what is none


@dataclass(eq=False)
class _Regression:
    """The functions of a classifier as those of a regression, which one judge knows."""

    kernel_: Kernel
    dual_coef_: Array
    intercept_: float | Array
    fit_intercept: bool


def signs_of(labels: IntArray, classes: int) -> Array:
    """Return ±1 for each row and class; of two classes the second alone."""
    signs = np.where(labels[:, None] == np.arange(classes), 1.0, -1.0)
    return signs[:, 1:] if classes == 2 else signs


def winners(scores: Array) -> IntArray:
    """Return the place of the class with the greatest decision value."""
    if scores.ndim == 1:
        return (scores > 0).astype(np.intp)
    return np.asarray(scores.argmax(axis=1))


def _flat(values: Array) -> Array:
    return values[:, 0].copy() if values.shape[1] == 1 else values
