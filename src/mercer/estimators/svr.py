"""Support vector regression and the one-class machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, IntArray
from mercer.estimators.auto import fit_tuned, is_tuned
from mercer.estimators.choice import check_definite
from mercer.estimators.progress import watching, with_callbacks
from mercer.estimators.support import SupportVectorMachine
from mercer.exceptions import InvalidInput
from mercer.gram.expansion import Expansion
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.certificate import Certificate
from mercer.problems.qp import BoxQP


class _OneFunction(SupportVectorMachine):
    """A machine with one function f(x) + b."""

    def _fit_function(self, X: Any, problem: BoxQP, rows: IntArray, start: Any) -> None:
        check_definite(self.kernel_, Definite.CONDITIONAL, self.strict, type(self).__name__)
        begin = None if start is None else [self._start_of(start, problem)]
        with watching(self, X, None, self.tol, bool(self.verbose)) as self._monitor:
            solution = self._solve([(rows, problem)], begin)[0]
        del self._monitor
        self._beta = solution.beta
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

    def _compose(
        self, problems: Sequence[tuple[IntArray, BoxQP]], answers: Sequence[Any], count: int
    ) -> tuple[Array, Array]:
        (rows, problem), answer = problems[0], answers[0]
        columns = np.zeros((count, 1))
        columns[rows, 0] = problem.coefficients(answer.beta, len(rows))
        return columns, np.array([problem.biases(answer.beta, answer.f).mean()])

    def _start_of(self, start: Any, problem: BoxQP) -> Array:
        check_is_fitted(start)
        same_kind = isinstance(start, _OneFunction) and start.certificate_.problem == problem.name
        if not same_kind or len(start._beta) != len(problem):
            raise InvalidInput(
                f"{type(self).__name__}: start has to be a machine of the same kind, fitted on the "
                "same rows."
            )
        return problem.feasible(start._beta * self._start_scale(start, problem))

    def _start_scale(self, start: Any, problem: BoxQP) -> float:
        """Return the factor that turns the multipliers of an answer into a start."""
        # Where sums are fixed they say it.
        total = float(np.abs(start._beta[problem.group == 0]).sum())
        return abs(float(problem.sums[0])) / total if total > 0 else 1.0


class _Regressor(RegressorMixin, _OneFunction):
    """Regression by a function inside a tube."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, start: Any = None) -> Self:
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
        if is_tuned(self):
            fit_tuned(self, X, y, sample_weight)
            return self
        X = self._read_training(X, y)
        targets = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        weights = self._weights(sample_weight, len(targets))
        rows = np.flatnonzero(weights > 0)
        self.kernel_, self._points = self._bind(X)
        problem = self._problem(targets[rows], self.C * weights[rows])
        self._fit_function(X, problem, rows, start)
        return self

    def predict(self, X: Any) -> Array:
        """Return f(x) + b for each object."""
        return self._functions(self._read_new(X))[:, 0]

    def _pose(
        self, y: Any, sample_weight: Any, count: int, like: Any = None
    ) -> list[tuple[IntArray, BoxQP]]:
        targets = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        weights = self._weights(sample_weight, count)
        rows = np.flatnonzero(weights > 0)
        return [(rows, self._problem(targets[rows], self.C * weights[rows]))]

    def _problem(self, targets: Array, C: Array) -> BoxQP:
        raise NotImplementedError


class SVR(_Regressor):
    """ε-support vector regression with any kernel.

    min ½‖w‖² + C Σ max(0, ∣yᵢ − f(xᵢ) − b∣ − ε)

    A drop-in for ``sklearn.svm.SVR``; ``kernel``, ``time_limit``, ``strict`` and ``certificate_``
    as in :class:`SVC`, and so is ``C="auto"``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), StrOptions({"auto"})],
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
        C: Any = 1.0,
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

    def _start_scale(self, start: Any, problem: BoxQP) -> float:
        return 1.0 if math.isinf(self.C) or math.isinf(start.C) else float(self.C / start.C)


class NuSVR(_Regressor):
    """ν-support vector regression: the width of the tube is found, not given.

    ν bounds the share of points outside the tube from above and that of support vectors from
    below; the width found is ``epsilon_``. A drop-in for ``sklearn.svm.NuSVR``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), StrOptions({"auto"})],
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        nu: Any = 0.5,
        C: Any = 1.0,
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, start: Any = None) -> Self:
        """Fit the machine to objects; ``y`` is ignored.

        ``sample_weight`` bounds the multiplier of each row, those with a weight ≤ 0 are left out;
        ``start`` is a one-class machine fitted on the same rows, at whose answer the solver starts.
        """
        del y
        self._check_parameters()
        X = self._read_training(X, None)
        self.kernel_, self._points = self._bind(X)
        weights = self._weights(sample_weight, len(self._points))
        rows = np.flatnonzero(weights > 0)
        self._fit_function(X, qp.one_class(weights[rows], self.nu), rows, start)
        self.offset_ = -self.intercept_
        return self

    def _pose(
        self, y: Any, sample_weight: Any, count: int, like: Any = None
    ) -> list[tuple[IntArray, BoxQP]]:
        del y
        weights = self._weights(sample_weight, count)
        rows = np.flatnonzero(weights > 0)
        return [(rows, qp.one_class(weights[rows], self.nu))]

    def _compose(
        self, problems: Sequence[tuple[IntArray, BoxQP]], answers: Sequence[Any], count: int
    ) -> tuple[Array, Array]:
        columns, intercept = super()._compose(problems, answers, count)
        self.offset_ = -intercept
        return columns, intercept

    def decision_function(self, X: Any) -> Array:
        """Return f(x) − ρ, negative for outliers."""
        return self._functions(self._read_new(X))[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Return f(x)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """Return +1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
