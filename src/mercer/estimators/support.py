"""What all support vector machines share: parameters, weights, the solver, the attributes."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, IntArray
from mercer.estimators.approximated import LandmarkView
from mercer.estimators.choice import caller_level, check_name
from mercer.estimators.machine import Functions, KernelMachine, take_objects
from mercer.estimators.progress import CallbackSupportMixin, Monitor
from mercer.exceptions import InvalidParameter, NumericalOverflow
from mercer.gram.expansion import Expansion
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.dot import Linear
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.problems.qp import BoxQP
from mercer.solvers.family import solve_all
from mercer.solvers.multiclass import MulticlassSolution
from mercer.solvers.paths import Workshop, solve_path
from mercer.solvers.smo import Settings
from mercer.solvers.solution import Solution


class SupportVectorMachine(CallbackSupportMixin, KernelMachine):
    """A kernel machine that is fitted by solving box QPs."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": "no_validation",
        "degree": [Interval(Real, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "strict": ["boolean"],
    }

    def _check_parameters(self) -> None:
        self._validate_params()
        try:
            check_name(self.kernel)
        except InvalidParameter as error:
            raise InvalidParameter(f"{type(self).__name__}: {error}") from None

    _monitor: Monitor | None = None
    _view: LandmarkView | None = None
    """The training data through landmarks, during a fit with an approximation."""

    @property
    def _shares_matrix(self) -> bool:
        """Whether a search may solve this machine's problems on a matrix that many fits share."""
        limited = self.max_iter >= 0 or self.time_limit is not None
        return not limited and self._mode != "function" and self.approximation is None

    @property
    def _needs(self) -> Definite:
        """What the problem needs of a kernel: a fixed sum makes conditional definiteness enough."""
        return Definite.CONDITIONAL

    def _path_position(self) -> tuple[Any, ...]:
        """Return where this machine stands on a path of machines with the same kernel."""
        names = [n for n in ("epsilon", "nu", "C") if hasattr(self, n)]
        return tuple(getattr(self, name) for name in names)

    def _pose(
        self, y: Any, sample_weight: Any, count: int, like: Any = None
    ) -> list[tuple[IntArray, BoxQP]]:
        """Return the problems of a fit to ``count`` rows, each with the rows it is about.

        ``like`` is a machine of the same class that has posed its own for the same rows, so that
        what they share need not be read again.
        """
        raise NotImplementedError

    def _compose(
        self, problems: Sequence[tuple[IntArray, BoxQP]], answers: Sequence[Any], count: int
    ) -> tuple[Array, Array]:
        """Turn the answers to the problems into coefficients (rows × functions) and biases."""
        raise NotImplementedError

    def _solve_together(
        self, K: Array, train: IntArray, posed: Sequence[Any], workshop: Workshop, ends: float
    ) -> list[Functions | None]:
        """Solve the problems of machines of one kind, along a path; K is shared with others.

        ``posed`` has pairs of a machine and its problems. The answers end where the time does.
        """
        answers: list[list[Any]] = []
        for j, (rows, _) in enumerate(posed[0][1]):
            path = [problems[j][1] for _, problems in posed]
            answers.append(solve_path(K, train[rows], path, self.tol, workshop, ends))
        found: list[Functions | None] = []
        for at in range(min(map(len, answers))):
            machine, problems = posed[at]
            parts = [path[at] for path in answers]
            columns, intercepts = machine._compose(problems, parts, len(train))
            bad = [part.status for part in parts if part.status != "optimal"]
            seconds = sum(part.seconds for part in parts)
            found.append(Functions(columns, intercepts, bad[0] if bad else "optimal", seconds))
        return found

    def _settings(self, tol: float | None = None) -> Settings:
        return Settings(
            tol=self.tol if tol is None else tol,
            max_iter=self.max_iter,
            time_limit=math.inf if self.time_limit is None else self.time_limit,
            cache_bytes=int(self.cache_size * 2**20),
            shrinking=self.shrinking,
            monitor=self._monitor,
        )

    def _weights(self, sample_weight: Any, count: int) -> Array:
        if sample_weight is None:
            return np.ones(count)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (count,):
            raise ValueError(
                f"sample_weight and X have incompatible shapes: {weights.shape} vs {count} rows"
            )
        if not np.isfinite(weights).all():
            raise ValueError("sample_weight contains NaN or infinity")
        if not (weights > 0).any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return weights

    kernel_: Kernel

    def _bind_landmarks(self) -> None:
        """Put the kernel on landmarks in place of the kernel, where that is asked for."""
        for name in ("_view", "_condensed", "residual_trace_"):
            self.__dict__.pop(name, None)
        kernel = self._approximated(self.kernel_, self._points)
        if kernel is not self.kernel_:
            self.kernel_ = kernel
            self._view = LandmarkView.of(cast(NystromKernel, kernel), self._points)
            self.residual_trace_ = self._view.residual_trace

    def _solved_on(self) -> tuple[Kernel, Points]:
        """Return a kernel and points with the matrix of the problem, in the form solved fastest."""
        return (self.kernel_, self._points) if self._view is None else self._view.linear()

    def _solve(
        self,
        problems: Sequence[tuple[IntArray, BoxQP]],
        start: Sequence[Array] | None,
        tol: float | None = None,
        ends: float = math.inf,
    ) -> list[Solution]:
        if not self.kernel_.bounded:
            self._refuse_large_values()
        settings = replace(self._settings(tol), pairwise_first=self._view is not None)
        if ends < math.inf:
            settings = replace(settings, time_limit=max(ends - time.perf_counter(), 1e-3))
        solutions = solve_all(*self._solved_on(), problems, settings, start)
        self.fit_status_ = int(any(solution.status != "optimal" for solution in solutions))
        self._num_iter = np.array([solution.iterations for solution in solutions], dtype=np.int32)
        return solutions

    def _refuse_large_values(self) -> None:
        kernel, points = self._solved_on()
        largest = float(np.abs(kernel.diag(points)).max())
        if largest > _LARGEST_VALUE:
            raise NumericalOverflow(
                f"{type(self).__name__}: the kernel {self.kernel_} has values as large as "
                f"{largest:.2g}, too large for the solver's float32 steps. Scale the data."
            )

    def _certify(self, problem: BoxQP, solution: Solution, biases: Array) -> Certificate:
        return problem.certify(
            solution.beta,
            solution.f,
            biases,
            iterations=solution.iterations,
            seconds=solution.seconds,
            kernel_evaluations=solution.kernel_evaluations,
            status="nonconvex" if solution.nonconvex else solution.status,
        )

    def _warn(
        self,
        solutions: Sequence[Solution | MulticlassSolution],
        certificates: Sequence[Certificate],
    ) -> None:
        """Say how far the worst answer is from the optimum where the solver stopped early."""
        early = [
            (c.relative_gap, c.primal_feasibility, s)
            for s, c in zip(solutions, certificates, strict=True)
            if s.status != "optimal"
        ]
        if early:
            gap, broken, worst = max(early, key=lambda entry: entry[:2])
            text = f"{type(self).__name__}: {worst.advice}"
            if worst.status == "max_iter" and self.max_iter >= 0:
                text = (
                    f"Solver terminated early (max_iter={self.max_iter}).  Consider "
                    "pre-processing your data with StandardScaler or MinMaxScaler."
                )
            far = f"is within {gap:.2g} of the optimum (relative duality gap)"
            if broken > self.tol:
                far = f"breaks a hard constraint by {broken:.2g}"
            warnings.warn(
                f"{text} The answer {far}.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        if any(solution.nonconvex for solution in solutions):
            warnings.warn(
                f"{type(self).__name__}: the kernel {self.kernel_} showed negative curvature on "
                "these data: the answer is a stationary point, perhaps not the best one.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def _publish(self, X: Any, support: IntArray, dual_coef: Array, intercept: Array) -> None:
        if not (np.isfinite(dual_coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The input data may contain "
                "large values and need to be preprocessed."
            )
        self.support_ = support.astype(np.int32)
        self._support_points = self._points.take(support)
        if self._mode == "matrix":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = take_objects(X, support)
        self.intercept_ = intercept
        self.dual_coef_ = sparse.csr_matrix(dual_coef) if self._sparse else dual_coef
        self._dual_coef_, self._intercept_ = self.dual_coef_, self.intercept_
        if self._view is not None:
            self._condensed = self._view.kernel.condensed(
                self._support_points, self._coefficients(), self._view.features[support]
            )
            del self._view
        del self._points

    _condensed: Expansion | None = None
    """The functions as sums over landmarks, without their biases."""

    def _coefficients(self) -> Array:
        """Return the coefficients of each support vector, one column for each function."""
        return _dense(self._dual_coef_).T

    def _functions(self, X: Any) -> Array:
        """Return f_j(x) + b_j for read data, one column for each function."""
        if self._told is not None:
            return self._told
        coefficients = self._coefficients()
        if self._condensed is not None:
            return np.asarray(self._condensed(X) + self._intercept_)
        if not len(self.support_):
            return np.tile(self._intercept_, (_count(X), 1))
        values = self._expand(X, self.support_.astype(np.intp), self._support_points, coefficients)
        return values + self._intercept_

    @property
    def coef_(self) -> Any:
        """The weights of the columns, for the linear kernel."""
        if not (
            self.kernel == Linear() or (isinstance(self.kernel, str) and self.kernel == "linear")
        ):
            raise AttributeError("coef_ is only available when using a linear kernel")
        if self.approximation is not None:
            raise AttributeError("coef_ is not available with an approximation by landmarks")
        check_is_fitted(self)
        coef = self._primal_coefficients()
        (coef.data if sparse.issparse(coef) else coef).flags.writeable = False
        return coef

    def _primal_coefficients(self) -> Any:
        coef = self._dual_coef_ @ self.support_vectors_
        return sparse.csr_matrix(coef) if sparse.issparse(coef) else np.asarray(coef)

    @property
    def n_support_(self) -> Any:
        """The number of support vectors, for each class where there are classes."""
        if not hasattr(self, "_n_support"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet.")
        return self._n_support

    def _check_untouched(self) -> None:
        if (
            self._told is None
            and self._mode != "matrix"
            and int(np.sum(self._n_support)) != len(self.support_)
        ):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")


_LARGEST_VALUE = 1e30


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
