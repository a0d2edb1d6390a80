"""Kernel logistic regression: probabilities of classes with any kernel on any data."""

from __future__ import annotations

import math
import time
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import _check_y, _num_samples, check_consistent_length

from mercer import _memory
from mercer._typing import Array
from mercer.estimators.choice import check_definite, check_name
from mercer.estimators.landmark_fits import LandmarkFrame, fit_logistic
from mercer.estimators.logistic import read_classes, read_weights, warn_unfinished
from mercer.estimators.machine import KernelMachine, _check_rows
from mercer.gram.landmarks import Nystrom
from mercer.gram.operator import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.problems.logistic import LogisticProblem
from mercer.solvers import logistic
from mercer.solvers.logistic import FunctionSpace


class KernelLogisticRegression(ClassifierMixin, KernelMachine):
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
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [str, callable, Kernel],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "strict": ["boolean"],
        "approximation": "no_validation",
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        max_iter: int = 100,
        time_limit: float | None = None,
        strict: bool = False,
        approximation: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.strict = strict
        self.approximation = approximation

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._read_training(X, None)
        y = _check_y(y, multi_output=False, estimator=self)
        check_consistent_length(X, y)
        _check_rows(X, type(self).__name__)
        self.classes_, labels = read_classes(y)
        n = _num_samples(X)
        weights = read_weights(
            np.empty((n, 0)), y, sample_weight, self.class_weight, self.classes_, labels
        )
        kept = np.flatnonzero(weights > 0)
        self.kernel_, points = self._bind(X)
        check_definite(self.kernel_, Definite.POSITIVE, self.strict, type(self).__name__)
        inside = points if len(kept) == n else points.take(kept)
        if self.approximation is not None:
            frame = LandmarkFrame.of(self, self.kernel_, inside)
            on = fit_logistic(self, frame, inside, labels[kept], weights[kept], ends)
            self.dual_coef_ = np.ascontiguousarray(on.coefficients.T)
            self.intercept_, self.certificate_ = on.constants, on.certificate
            self.n_iter_, self._fit_points = on.certificate.iterations, frame.points
            self.shape_fit_ = (len(frame.points), *self.shape_fit_[1:])
            warn_unfinished(self, self.certificate_, self.tol)
            return self
        problem = LogisticProblem(
            labels[kept], self.C * weights[kept], len(self.classes_), bool(self.fit_intercept)
        )
        start = np.zeros((len(kept), problem.functions))
        found = logistic.solve(
            problem, space(self.kernel_, inside), start, self.tol, self.max_iter, ends
        )
        self.certificate_ = found.certificate
        self.dual_coef_ = np.zeros((problem.functions, n))
        self.dual_coef_[:, kept] = found.coef.T
        self.intercept_ = found.bias
        self.n_iter_ = found.certificate.iterations
        self._fit_points = points
        warn_unfinished(self, self.certificate_, self.tol)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f + b: shape (m,) for two classes, else (m, classes)."""
        X = self._read_new(X)
        values = self._told
        if values is None:
            everything = np.arange(self.dual_coef_.shape[1])
            values = self._expand(X, everything, self._fit_points, self.dual_coef_.T)
            values = values + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each object."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(softmax(scores, copy=True))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def _check_parameters(self) -> None:
        self._validate_params()
        check_name(self.kernel)
        Nystrom.of(self.approximation, type(self).__name__)


def space(kernel: Kernel, points: Points) -> FunctionSpace:
    """Return the functions of a kernel on some points, with their matrix where it fits."""
    gram = Gram(kernel, points, dtype=np.float64)
    there = _memory.available_bytes()
    if there is not None and 16 * len(points) ** 2 > there:
        return FunctionSpace(gram)
    return FunctionSpace(gram.dense())
