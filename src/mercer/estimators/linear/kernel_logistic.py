"""Kernel logistic regression: probabilities of classes with any kernel on any data."""

from __future__ import annotations

import math
import time
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import check_consistent_length

from mercer._files.fields import COUNT, LABELS, A, Numbers, State
from mercer._sklearn import Interval, check_targets, num_samples
from mercer._typing import Array, ClassWeights, IntArray, Objects, SampleWeights, Targets
from mercer.estimators.base import NamedKernelMachine, _check_rows
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnProbabilities
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import check_definite
from mercer.estimators.linear.logistic_regression import read_classes, read_weights, warn_unfinished
from mercer.estimators.on_landmarks import judge_labels, publish_classes, solve_classes
from mercer.estimators.state import KERNEL, check_classes, check_points
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.landmarks.choose import Nystrom
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.landmark_losses import Logistic
from mercer.problems.logistic import LogisticAnswer, LogisticProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear.logistic_newton import KernelLogisticNewton


@parameters
class KernelLogisticRegression(
    DrawnProbabilities, ClassifierMixin, JudgedMachine, NamedKernelMachine
):
    r"""Logistic regression with any kernel on any data, exact and certified.

    min ½ Σ_c ‖f_c‖² + C Σ sᵢ (log Σ_c exp(f_c(xᵢ) + b_c) − f_y(xᵢ) − b_y),  y = yᵢ

    Functions are f_c = Σ aᵢ_c k(xᵢ, ·), and at the optimum aᵢ_c = C sᵢ ([c = yᵢ] − pᵢ_c): what a
    row pulls is the error of its probability. Two classes share one function, the logarithm of the
    odds. Unlike the scores of a support vector machine, the probabilities need no calibration.

    Parameters
    ----------
    C : float
        The weight of the losses against the penalty.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    tol : float
        The largest slope of the mean loss at the end. The relative gap is at most tol/10,000.
    fit_intercept : bool
        Whether there are biases b, which have no penalty.
    class_weight : dict or "balanced" or None
        Factors of C for each class.
    max_iter : int
        The most steps of Newton's method.
    time_limit : float, optional
        Seconds after which it stops.
    strict : bool
        Whether a kernel that is not known to be positive definite is an error.
    approximation : None, int or Nystrom
        A number M of landmarks, or how to choose them: f is then a function of the landmarks,
        found in time n·M and memory M², and ``dual_coef_`` speaks of them.
        ``certificate_.approximation_cost`` bounds how far the optimum is from that of the exact
        machine.

    Attributes
    ----------
    dual_coef_ : array of shape (functions, n)
        The coefficients a.
    intercept_ : array of shape (functions,)
        The biases.
    classes_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    kernel_ : Kernel
        The kernel, settled on the training data.
    certificate_ : Certificate
        How far the answer is from the best one.

    References
    ----------
    S. S. Keerthi, K. B. Duan, S. K. Shevade and A. N. Poo, A fast dual algorithm for kernel
    logistic regression, Machine Learning 61 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> machine = KernelLogisticRegression(C=10.0).fit(X, [0, 1, 1, 0])  # no line separates them
    >>> machine.predict(X), machine.predict_proba([[1.5]]).round(2)
    (array([0, 1, 1, 0]), array([[0.11, 0.89]]))
    """

    STATE: ClassVar[State] = {
        **KERNEL,
        "classes_": LABELS,
        "_fit_points": A(Points, size="rows"),
        "dual_coef_": Numbers("functions", "rows", any_order=True),
        "intercept_": Numbers("functions"),
        "certificate_": A(Certificate),
        "n_iter_": COUNT,
    }

    @property
    def expansion_points(self) -> Points:
        """The points that the functions are sums over: the training rows, or landmarks."""
        return self._fit_points

    def check_state(self) -> None:
        """Raise :class:`WrongState` where functions, classes and rows do not fit."""
        check_points(self, self._fit_points, self.dual_coef_.shape[1])
        check_classes(self.classes_, len(self.dual_coef_))

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        **NamedKernelMachine._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-4
    fit_intercept: bool = True
    class_weight: ClassWeights = None
    max_iter: int = 100
    strict: bool = False

    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Self:
        """Fit the functions to the classes ``y``.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,)
            The classes.
        sample_weight : array of shape (n,), optional
            Factors of C for each row.
        """
        self._check_parameters()
        ends = math.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        self._require_targets(y)
        X = self._read_training(X, None)
        y = check_targets(y, multi_output=False, estimator=self)
        check_consistent_length(X, y)
        _check_rows(X, type(self).__name__)
        self.classes_, labels = read_classes(y)
        n = num_samples(X)
        weights = read_weights(
            np.empty((n, 0)), y, sample_weight, self.class_weight, self.classes_, labels
        )
        kept = np.flatnonzero(weights > 0)
        self.kernel_, points = self._bind(X)
        check_definite(self.kernel_, Definite.POSITIVE, self.strict, type(self).__name__)
        inside = points if len(kept) == n else points.take(kept)
        if self.approximation is not None:
            return self._fit_landmarks(inside, labels[kept], weights[kept], ends)
        problem = LogisticProblem(
            labels[kept], self.C * weights[kept], len(self.classes_), bool(self.fit_intercept)
        )
        gram = Gram(self.kernel_, inside, dtype=np.float64)
        budget = Budget(tol=self.tol, max_iter=self.max_iter, deadline=ends)
        found = KernelLogisticNewton().solve(problem, gram, budget)
        self.dual_coef_ = np.zeros((problem.functions, n))
        self.dual_coef_[:, kept] = found.value.coef.T
        self.intercept_ = found.value.bias
        self.n_iter_ = found.statistics.iterations
        self._fit_points = points
        runs = [(found.statistics, found.status)]
        self._await_judgement(Training(points, labels, weights, runs, OPTIMAL_GAP))
        warn_unfinished(self, found.status, found.certificate, self.tol)
        return self

    def _judge_training(self, training: Training) -> list[Certificate]:
        points, labels, weights = training.points, training.targets, training.weights
        if self.approximation is None:
            return [judge_rows(self, points, labels, weights)]
        loss = Logistic(len(self.classes_))
        return [judge_labels(self, self._fit_points, loss, points, labels, weights)]

    def _fit_landmarks(self, points: Points, labels: IntArray, weights: Array, ends: float) -> Self:
        chosen = self._approximated(self.kernel_, points, by_passes=True)
        assert chosen is not None
        gram = chosen.with_targets(labels, weights, bool(self.fit_intercept))
        # The relative gap that the machine promises without landmarks.
        tol = float(min(max((1e-4 * self.tol) ** 0.5, 1e-7), 0.1))
        budget = Budget(tol, 100 * max(self.max_iter, 1), ends)
        found = solve_classes(gram, Logistic(len(self.classes_)), float(self.C), budget)
        publish_classes(self, found, gram)
        runs = [(found.statistics, found.status)]
        self._await_judgement(Training(points, labels, weights, runs, OPTIMAL_GAP))
        self.n_iter_, self._fit_points = found.statistics.iterations, gram.basis.points
        self.shape_fit_ = (len(gram.basis), *self.shape_fit_[1:])
        warn_unfinished(self, found.status, found.certificate, self.tol)
        return self

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the functions of the machine as sums over points, and their constants."""
        return Expansion(self.kernel_, self._fit_points, self.dual_coef_.T), self.intercept_

    def decision_function(self, X: Objects) -> Array:
        """Return f + b: shape (m,) for two classes, else (m, classes)."""
        X = self._read_new(X)
        values = self._expand(X, self._fit_points, self.dual_coef_.T) + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Objects) -> Any:
        """Return the most probable class of each object."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(softmax(scores, copy=True))

    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        Nystrom.of(self.approximation, type(self).__name__)


def judge_rows(
    model: KernelLogisticRegression, points: Points, labels: IntArray, weights: Array
) -> Certificate:
    """Judge the functions of a machine on its training rows; ``labels`` count from 0."""
    kept = np.flatnonzero(weights > 0)
    problem = LogisticProblem(
        labels[kept], model.C * weights[kept], len(model.classes_), bool(model.fit_intercept)
    )
    gram = Gram(model.kernel_, points.take(kept), dtype=np.float64)
    return problem.certify(LogisticAnswer(model.dual_coef_.T[kept], model.intercept_), gram)
