"""What all support vector machines share: parameters, weights, the solver, the attributes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, field
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._files.fields import (
    COUNT,
    CSR,
    A,
    Maybe,
    Number,
    Numbers,
    OneOf,
    Plain,
    State,
    WrongState,
)
from mercer._sklearn import Interval, num_samples
from mercer._typing import Array, IntArray, Objects, Parameter, SampleWeights, Targets
from mercer.estimators.base import (
    DecisionRule,
    FitData,
    NamedKernelMachine,
    open_parameters,
    take_objects,
)
from mercer.estimators.constructor import parameters
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import caller_level, check_name
from mercer.estimators.progress import CallbackSupportMixin, Monitor, watching
from mercer.estimators.state import KERNEL, check_points
from mercer.estimators.svm.box_plan import BoxPlan, Hyperplane, Problems
from mercer.estimators.svm.left_out_functions import LeftOutFunctions, RestatedFit, leave_out
from mercer.exceptions import InvalidInput, InvalidParameter, NumericalOverflow
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.direct import DirectGram
from mercer.gram.expansion import Expansion
from mercer.gram.feature_gram import gram_for_steps
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.kernels.vectors.dot import Linear
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.solvers.base import Budget, Solution, Status
from mercer.solvers.svm.box_qp import BoxQPSolver, share_matrix

Decides = TypeVar("Decides", bound=DecisionRule)


@parameters
class SupportVectorMachine(CallbackSupportMixin, JudgedMachine, NamedKernelMachine):
    """A kernel machine that is fitted by solving box QPs.

    Parameters
    ----------
    tol : float
        The largest violation of the KKT conditions, and the largest gap beside the objective, when
        the solver stops.
    shrinking, cache_size, verbose
        Accepted for scikit-learn: the solver shrinks by itself and takes the memory that it needs.
    max_iter : int
        The most steps of the solver, −1 for as many as it takes.
    strict : bool
        Refuse kernels that are not known to be (conditionally) positive definite.

    Attributes
    ----------
    certificate_ : Certificate
        How far the answer is from the best one, computed from the attributes below when it is read.
    kernel_ : Kernel
        The kernel, with its widths settled.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn.
    residual_trace_ : float
        tr(K − K̃), with an approximation only.
    """

    kernel: Parameter = "rbf"
    _: KW_ONLY
    tol: float = 1e-3
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    strict: bool = False

    STATE: ClassVar[State] = {
        **KERNEL,
        "fit_status_": COUNT,
        "_num_iter": Maybe(Numbers("problems", types="i")),
        "n_iter_": OneOf(COUNT, Numbers("solves", types="i")),
        "support_": Numbers("support", types="i", low=0),
        "_support_points": A(Points, size="support"),
        "support_vectors_": Plain(),
        **dict.fromkeys(("intercept_", "_intercept_"), Numbers("functions")),
        **dict.fromkeys(
            ("dual_coef_", "_dual_coef_"), OneOf(Numbers("rows", "support", any_order=True), CSR)
        ),
        "_condensed": Maybe(A(Expansion)),
        "residual_trace_": Maybe(Number(low=0)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where the support vectors and their coefficients do not fit."""
        rows = self.shape_fit_[0] if self.shape_fit_ else 0
        check_points(self, self._support_points, rows)
        support, vectors = self.support_, self.support_vectors_
        if support.size and not int(support.max()) < rows:
            raise WrongState("a support vector is none of its training rows")
        count = vectors.shape[0] if hasattr(vectors, "shape") else len(vectors)
        # Without a library for frames, columns come as a dictionary.
        if (
            count != len(support)
            and not self.kernel_argument.precomputed
            and not isinstance(vectors, dict)
        ):
            raise WrongState("its support vectors are not as many as their row numbers")
        for matrix in (self.dual_coef_, self._dual_coef_):
            if matrix.shape[1] != len(support):
                raise WrongState("it has not one coefficient for each support vector")
        if self._condensed is not None:
            check_points(self, self._condensed.points)
            if self._condensed.coefficients.shape[1:] != self._intercept_.shape:
                raise WrongState("it has not one column of coefficients for each function")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NamedKernelMachine._parameter_constraints,
        "kernel": "no_validation",
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
    }

    def _check_parameters(self) -> None:
        self._validate_params()
        try:
            check_name(self.kernel)
        except InvalidParameter as error:
            raise InvalidParameter(f"{type(self).__name__}: {error}") from None

    _monitor: Monitor | None = field(init=False, default=None)
    _view: LandmarkGram | None = field(init=False, default=None)
    """The training data through landmarks, during a fit with an approximation."""

    @property
    def fits_by_plan(self) -> bool:
        limited = self.max_iter >= 0 or self.time_limit is not None
        return not limited and self.approximation is None and self.kernel_argument.divisible

    @property
    def needed_definite(self) -> Definite:
        return Definite.CONDITIONAL  # a fixed sum of the multipliers makes it enough

    _path: ClassVar[tuple[str, ...]] = ("C",)
    """The numbers that say where this machine stands among machines with the same kernel."""

    def _box_plan(self, rule: Decides, problems: Problems, plane: Hyperplane) -> BoxPlan[Decides]:
        position = tuple(map(vars(self).__getitem__, self._path))
        return BoxPlan(rule, problems, plane, self.tol, position)

    def _watching(self, X: Objects, y: Targets) -> AbstractContextManager[Monitor | None]:
        """Return what yields a monitor for the solver, or None where nobody watches."""
        if not self.verbose and not vars(self).get("_skl_callbacks"):
            return nullcontext()
        return watching(self, X, y, self.tol, bool(self.verbose))

    def _budget(self) -> Budget:
        """Return the limits of a fit that begins now."""
        return Budget.within(
            self.time_limit,
            tol=self.tol,
            gap=_SHARE_OF_TOL * self.tol,
            max_iter=self.max_iter,
            cache_bytes=int(self.cache_size * 2**20),
            monitor=self._monitor,
        )

    def _weights(self, sample_weight: SampleWeights, count: int) -> Array:
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

    def _bind_landmarks(self) -> None:
        """Put the kernel on landmarks in place of the kernel, where that is asked for."""
        for name in ("_view", "_condensed", "residual_trace_"):
            self.__dict__.pop(name, None)
        view = self._approximated(self.kernel_, self._points)
        if view is not None:
            self.kernel_, self._view = view.kernel, view
            self.residual_trace_ = view.residual_trace

    def _matrix_for(self, problems: Problems, budget: Budget) -> GramMatrix:
        """Return the matrix of the problems in the form that is solved fastest."""
        if self._view is not None:
            return self._view
        few = DirectGram.of(self.kernel_, self._points)
        if few is not None:
            return few
        rows = self._points.rows
        whole = share_matrix(len(self._points), problems, budget.cache_bytes)
        if whole and rows is not None and _WIDE * rows.shape[1] >= len(rows):
            return Gram(self.kernel_, self._points, dtype=np.float64)
        return gram_for_steps(self.kernel_, self._points, budget.cache_bytes, whole=whole)

    def _largest_value(self) -> float:
        """Return the largest k(xᵢ, xᵢ) of the matrix that is solved on."""
        view = self._view
        diagonal = self.kernel_.diag(self._points) if view is None else view.diag()
        return float(np.abs(diagonal).max())

    def _solve(
        self,
        problems: Problems,
        start: Sequence[Array] | None,
        budget: Budget | None = None,
    ) -> list[Solution[Array]]:
        if not self.kernel_.bounded:
            self._refuse_large_values()
        budget = budget or self._budget()
        solver = BoxQPSolver(self.shrinking, pairwise_first=self._view is not None)
        return solver.solve_all(problems, self._matrix_for(problems, budget), budget, start)

    def _count_steps(self, solutions: Sequence[Solution[Any]]) -> None:
        self.fit_status_ = int(any(found.status is not Status.OPTIMAL for found in solutions))
        self._num_iter = np.array([s.statistics.iterations for s in solutions], dtype=np.int32)

    def _refuse_large_values(self) -> None:
        largest = self._largest_value()
        if largest > _LARGEST_VALUE:
            raise NumericalOverflow(
                f"{type(self).__name__}: the kernel {self.kernel_} has values as large as "
                f"{largest:.2g}, too large for the solver's float32 steps. Scale the data."
            )

    def _remember(self, targets: Any, weights: Array, solutions: Sequence[Solution[Any]]) -> None:
        """Keep what the certificate is to be made of."""
        self.__dict__.pop("certificate_", None)  # that of an earlier fit
        runs = [(solution.statistics, solution.status) for solution in solutions]
        self._training = Training(self._points, targets, weights, runs, self.tol)

    def _warn(self, solutions: Sequence[Solution[Any]]) -> None:
        """Say how far the worst answer is from the optimum where the solver stopped early."""
        early = [
            (s.certificate.relative_gap, s.certificate.primal_feasibility, s)
            for s in solutions
            if s.status is not Status.OPTIMAL
        ]
        if early:
            gap, broken, worst = max(early, key=lambda entry: entry[:2])
            text = f"{type(self).__name__}: {worst.status.advice}"
            if worst.status is Status.MAX_ITER and self.max_iter >= 0:
                text = (
                    f"Solver terminated early (max_iter={self.max_iter}).  Consider "
                    "pre-processing your data with StandardScaler or MinMaxScaler."
                )
            far = f"is within {gap:.2g} of the optimum (relative duality gap)"
            if not gap < math.inf:
                far = "has no bound: its values are not finite numbers or break a constraint"
            if broken > self.tol:
                far = f"breaks a hard constraint by {broken:.2g}"
            warnings.warn(
                f"{text} The answer {far}.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        if any(solution.statistics.details["nonconvex"] for solution in solutions):
            warnings.warn(
                f"{type(self).__name__}: the kernel {self.kernel_} showed negative curvature on "
                "these data: the answer is a stationary point, perhaps not the best one.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def _publish(self, X: Objects, support: IntArray, dual_coef: Array, intercept: Array) -> None:
        if not (np.isfinite(dual_coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The input data may contain "
                "large values and need to be preprocessed."
            )
        self.support_ = support.astype(np.int32)
        self._support_points = self._points.take(support)
        if self.kernel_argument.precomputed:
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = take_objects(X, support)
        self.intercept_ = intercept
        self.dual_coef_ = sparse.csr_matrix(dual_coef) if self._sparse else dual_coef
        self._dual_coef_, self._intercept_ = self.dual_coef_, self.intercept_
        if self._view is not None:
            self._condensed = self._view.condensed(self.expansion_coefficients(), support)
            del self._view
        del self._points

    def expansion_coefficients(self) -> Array:
        """Return the coefficients of each support vector, one column for each function."""
        rows: Any = self._dual_coef_
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows).T

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the functions of the machine as sums over points, and their constants."""
        if self._condensed is not None:
            return self._condensed, self._intercept_
        coefficients = self.expansion_coefficients()
        return Expansion(self.kernel_, self._support_points, coefficients), self._intercept_

    def left_out_functions(
        self, X: Objects, y: Targets, sample_weight: SampleWeights, threads: int | None = None
    ) -> LeftOutFunctions:
        """Return what the functions say of each training row when they never saw it."""
        fit = self.restate(X, y, sample_weight, "leave_one_out")
        return leave_out(fit, self.certificate_, type(self).__name__, threads)

    def restate(
        self, X: Objects, y: Targets, sample_weight: SampleWeights, asker: str
    ) -> RestatedFit:
        """Return the problems of the fit again, from its data; errors name who asks for them."""
        name, count = type(self).__name__, num_samples(X)
        check_is_fitted(self)
        if count != self.shape_fit_[0]:
            raise InvalidInput(
                f"{asker}: X has {count} rows, but {name} was fitted on {self.shape_fit_[0]}. Give "
                "the rows of the fit."
            )
        found = {key: vars(self).get(f"{key}_") for key in open_parameters(self)}
        plan: Any = self.with_parameters(**found).plan(FitData(y, sample_weight, count))
        if not np.array_equal(getattr(plan.rule, "classes", []), getattr(self, "classes_", [])):
            raise InvalidInput(f"{asker}: y has other classes than {name} was fitted on.")
        points = self._encode(self._read_new(X))[1]
        coefficients = np.zeros((count, len(plan.problems)))
        coefficients[self.support_] = self.expansion_coefficients()
        return RestatedFit(plan, Gram(self.kernel_, points, dtype=np.float64), coefficients)

    def _functions(self, X: Objects) -> Array:
        """Return f_j(x) + b_j for read data, one column for each function."""
        coefficients = self.expansion_coefficients()
        if self._condensed is not None:
            return np.asarray(self._condensed(X) + self._intercept_)
        if not len(self.support_):
            return np.tile(self._intercept_, (_count(X), 1))
        values = self._expand(X, self._support_points, coefficients)
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
        counted = int(np.sum(self._n_support))
        if counted != len(self.support_) and not self.kernel_argument.precomputed:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")


_SHARE_OF_TOL = 0.9
"""The gap of a solver is this share of the tolerance, so that the judge, whose sums have other last
digits, finds none above it."""
_WIDE = 4
"""Rows for each column up to which copies of the data, by which distances become products, cost
more than they save (measured on 80 to 2,000 rows with 0.05 to 5 times as many columns)."""
_LARGEST_VALUE = 1e30
"""Kernel values up to this size leave room for sums and products in float32."""


def _count(X: Objects) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
