"""Support vector regression and the one-class machine."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval

from mercer._typing import Array, IntArray
from mercer.estimators.choice import check_definite
from mercer.estimators.progress import watching, with_callbacks
from mercer.estimators.support import SupportVectorMachine
from mercer.gram.expansion import Expansion
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.certificate import Certificate
from mercer.problems.qp import BoxQP


class _OneFunction(SupportVectorMachine):
    """A machine with one function f(x) + b."""

    def _fit_function(self, X: Any, problem: BoxQP, rows: IntArray, start: Any) -> None:
        check_definite(self.kernel_, Definite.CONDITIONAL, self.strict, type(self).__name__)
        with watching(self, X, None, self.tol, bool(self.verbose)) as self._monitor:
            solution = self._solve([(rows, problem)], None if start is None else [start])[0]
        del self._monitor
        biases = problem.biases(solution.beta, solution.f)
        self.certificate_: Certificate = self._certify(problem, solution, biases)
        self.multipliers_ = problem.coefficients(solution.beta, len(rows))
        used = np.flatnonzero(self.multipliers_)
        self.expansion_ = Expansion(
            self.kernel_,
            self._points.take(rows[used] if used.size else rows[:1]),
            self.multipliers_[used] if used.size else np.zeros(1),
        )
        self.biases_ = biases
        self._n_support = np.array([len(used)], dtype=np.int32)
        intercept = np.array([biases.mean()])
        self._publish(X, rows[used], self.multipliers_[used][None, :], intercept)
        self.n_iter_ = int(self._num_iter[0])
        self._warn([solution], [self.certificate_])


class _Regressor(RegressorMixin, _OneFunction):
    """Regression by a function inside a tube."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to the targets ``y``; ``sample_weight`` scales C row by row."""
        self._check_parameters()
        X = self._read_training(X, y)
        targets = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        weights = self._weights(sample_weight, len(targets))
        rows = np.flatnonzero(weights > 0)
        self.kernel_, self._points = self._bind(X)
        problem = self._problem(targets[rows], self.C * weights[rows])
        self._fit_function(X, problem, rows, None)
        return self

    def predict(self, X: Any) -> Array:
        """Return f(x) + b for each object."""
        return self._functions(self._read_new(X))[:, 0]

    def _problem(self, targets: Array, C: Array) -> BoxQP:
        raise NotImplementedError


class SVR(_Regressor):
    """ε-support vector regression with any kernel.

    min ½‖w‖² + C Σ max(0, ∣yᵢ − f(xᵢ) − b∣ − ε)

    A drop-in for ``sklearn.svm.SVR``; ``kernel``, ``time_limit``, ``strict`` and ``certificate_``
    as in :class:`SVC`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
        strict: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.strict = strict

    def _problem(self, targets: Array, C: Array) -> BoxQP:
        return qp.regressor(targets, C, self.epsilon)


class NuSVR(_Regressor):
    """ν-support vector regression: the width of the tube is found, not given.

    ν bounds the share of points outside the tube from above and that of support vectors from
    below; the width found is ``epsilon_``. A drop-in for ``sklearn.svm.NuSVR``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        nu: float = 0.5,
        C: float = 1.0,
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
        strict: bool = False,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.C = C
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.strict = strict

    @property
    def epsilon_(self) -> float:
        """Half the width of the tube that was found."""
        upper, lower = self.biases_
        return float(upper - lower) / 2

    def _problem(self, targets: Array, C: Array) -> BoxQP:
        return qp.nu_regressor(targets, C, self.nu)


class OneClassSVM(OutlierMixin, _OneFunction):
    """One-class support vector machine: the region where the data live.

    min ½‖w‖² + Σ ξᵢ − νnρ  subject to  f(xᵢ) ≥ ρ − ξᵢ, ξᵢ ≥ 0; an outlier has f(x) < ρ

    A drop-in for ``sklearn.svm.OneClassSVM``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
        strict: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.strict = strict

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine to objects; ``y`` is ignored."""
        del y
        self._check_parameters()
        X = self._read_training(X, None)
        self.kernel_, self._points = self._bind(X)
        weights = self._weights(sample_weight, len(self._points))
        rows = np.flatnonzero(weights > 0)
        self._fit_function(X, qp.one_class(weights[rows], self.nu), rows, None)
        self.offset_ = -self.intercept_
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f(x) − ρ, negative for outliers."""
        return self._functions(self._read_new(X))[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Return f(x)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """Return +1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
