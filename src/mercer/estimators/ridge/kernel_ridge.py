"""Kernel ridge regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._files.fields import (
    COUNT,
    TEXT,
    A,
    Maybe,
    Number,
    Numbers,
    OneOf,
    Plain,
    State,
    WrongState,
)
from mercer._sklearn import Interval, StrOptions, num_samples
from mercer._typing import Array, IntArray, Objects, Parameter, SampleWeights, Targets
from mercer.estimators.base import FitData, NamedKernelMachine, _check_rows, open_parameters, tuner
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import (
    KernelArgument,
    check_definite,
    check_name,
    ridge_argument,
)
from mercer.estimators.on_landmarks import (
    judge_targets,
    landmark_objects,
    publish_regression,
    warn_early,
)
from mercer.estimators.ridge.ridge_judge import judge_rows
from mercer.estimators.ridge.ridge_matrix import (
    RidgeChoice,
    frame_of,
    matrix_of,
    spectrum_of,
)
from mercer.estimators.ridge.ridge_plan import (
    RidgePlan,
    RidgeTargets,
    TargetRule,
    check_alphas,
    read_targets,
    read_weights,
    spread_alphas,
)
from mercer.estimators.state import BY_ROW, CONSTANTS, KERNEL, check_points
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.direct import DirectGram
from mercer.gram.expansion import Expansion
from mercer.gram.feature_gram import gram_of
from mercer.gram.scaled import ScaledGram
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.landmarks.choose import Nystrom
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.linalg.cholesky import Cholesky
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.ridge import RidgeFunctions, RidgeProblem
from mercer.solvers.base import Budget, Solution, Status
from mercer.solvers.landmarks.landmark_ridge import solve_targets
from mercer.solvers.ridge_path import RidgePath, ridge_path, usual_alphas
from mercer.solvers.ridge_systems import METHODS, RidgeSolver


@parameters
class KernelRidge(
    DrawnRegressor, MultiOutputMixin, RegressorMixin, JudgedMachine, NamedKernelMachine
):
    """Kernel ridge regression with any kernel on any data.

    min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖², solved by (K + λW⁻¹)c + b = y, f = Σ cᵢ k(xᵢ, ·)

    A drop-in for ``sklearn.kernel_ridge.KernelRidge``; λ is its ``alpha``.

    Parameters
    ----------
    alpha : float, array of shape (targets,) or "auto"
        λ ≥ 0, one for all targets or one for each. ``"auto"`` takes the best by leave-one-out, for
        each target; so does ``kernel=RBF("auto")`` for the width. Landmarks stay the same when a
        row is left out.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two rows.
    gamma, degree, coef0, kernel_params
        As in scikit-learn: parameters of kernels given by name, and of functions.
    fit_intercept : bool
        Whether there is a constant b, which costs nothing; else b = 0, as in scikit-learn.
    solver : {"auto", "cholesky", "mixed", "cg", "eigen"}
        ``"mixed"`` refines a float32 factor in float64, ``"cg"`` never forms K and uses a randomly
        pivoted Cholesky factor of low rank as preconditioner.
    tol : float
        Relative residual at which iterative solvers stop.
    max_iter : int
        Most steps of iterative solvers.
    time_limit : float, optional
        Seconds after which iterative solvers stop.
    approximation : None, int or Nystrom
        A number M of landmarks, or how to choose them: f is then a function of the landmarks,
        found by preconditioned conjugate gradients in time n·M and memory M². ``X_fit_`` and
        ``dual_coef_`` speak of the landmarks. ``certificate_.approximation_cost`` bounds how far
        the optimum is from that of the exact machine.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, targets)
        The coefficients c.
    intercept_ : float or array of shape (targets,)
        The constant b.
    X_fit_ : data
        The training objects.
    alpha_ : float or array
        λ, chosen or given.
    kernel_ : Kernel
        The kernel, settled on the training data.
    certificate_ : Certificate
        How far the answer is from the best one.
    solver_ : str
        The method that was used.
    path_ : RidgePath
        The errors of all values of λ, where one was chosen.

    Examples
    --------
    >>> from mercer import KernelRidge, Polynomial
    >>> squares = KernelRidge(1e-6, kernel=Polynomial(degree=2))
    >>> squares = squares.fit([[0], [1], [2], [3]], [0, 1, 4, 9])
    >>> squares.predict([[4.0], [10.0]]).round(2)
    array([ 16., 100.])
    >>> squares.certificate_.optimal
    True
    """

    dual_coef_: Array = field(init=False)
    intercept_: Any = field(init=False)

    STATE: ClassVar[State] = {
        **KERNEL,
        "X_fit_": Plain(),
        "_fit_points": A(Points, size="rows"),
        "_fit_weights": Numbers("rows", low=0),
        "dual_coef_": BY_ROW,
        "intercept_": CONSTANTS,
        "alpha_": OneOf(Number(low=0), Numbers("targets", low=0)),
        "certificate_": A(Certificate),
        "solver_": TEXT,
        "n_iter_": COUNT,
        "path_": Maybe(A(RidgePath)),
    }

    @property
    def expansion_points(self) -> Points:
        """The points that the functions are sums over: the training rows, or landmarks."""
        return self._fit_points

    def check_state(self) -> None:
        """Raise :class:`WrongState` where coefficients, rows and targets do not fit."""
        check_points(self, self._fit_points, len(self.dual_coef_))
        count = 1 if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1]
        if np.size(self.alpha_) not in (1, count):
            raise WrongState("it has not one alpha for each target")
        if np.size(self.intercept_) != count:
            raise WrongState("it has not one intercept for each target")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NamedKernelMachine._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"auto"})],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "kernel_params": [dict, None],
        "solver": [StrOptions(set(METHODS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    usual_values: ClassVar[Mapping[str, Sequence[float]]] = {
        "alpha": tuple(10.0**e for e in range(-6, 3))
    }

    alpha: Parameter = 1
    _: KW_ONLY
    kernel: Parameter = "linear"
    gamma: float | None = None
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    fit_intercept: bool = False
    solver: str = "auto"
    tol: float = 1e-13
    max_iter: int = 1000

    # ---- fit and predict ---------------------------------------------------------------------

    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Self:
        """Fit the machine to the targets ``y``.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,) or (n, targets)
        sample_weight : float or array of shape (n,), optional
            The weights wᵢ ≥ 0.
        """
        self._check_parameters()
        X, targets, weights = self._read(X, y, sample_weight)
        Y = targets.reshape(len(targets), -1)
        used = np.flatnonzero(weights > 0)
        self.kernel_, points = self._bind(X)
        inside = points if len(used) == len(weights) else points.take(used)
        alphas = spread_alphas(self.alpha, Y.shape[1])
        frame = None
        if self.is_open:
            choice: RidgeChoice = tuner().choose_ridge(
                self, X, inside, Y[used], weights[used], alphas
            )
            self.kernel_, self.path_, alphas = choice.kernel, choice.path, choice.alphas
            frame = choice.frame
        check_definite(self.kernel_, Definite.POSITIVE, False, type(self).__name__)
        if self.approximation is not None:
            frame = frame or frame_of(self, self.kernel_, inside)
        if frame is not None:
            return self._fit_landmarks(frame, X, points, used, targets, weights, alphas)
        c = np.zeros_like(Y)
        found = self._solve(inside, Y[used], weights[used], alphas)
        c[used], b = found.value.coef, found.value.intercepts
        if not np.isfinite(c).all():
            raise InvalidInput(
                "KernelRidge: the coefficients are not finite numbers. Scale the data and targets."
            )
        self.alpha_ = float(alphas[0]) if (alphas == alphas[0]).all() else alphas
        self.dual_coef_ = c.reshape(targets.shape)
        self.intercept_ = float(b[0]) if targets.ndim == 1 else b
        self.n_iter_ = found.statistics.iterations
        self.X_fit_ = X
        self._fit_points = points
        self._fit_weights = weights
        runs = [(found.statistics, found.status)]
        self._await_judgement(Training(points, targets, weights, runs, OPTIMAL_GAP))
        return self

    def _judge_training(self, training: Training) -> list[Certificate]:
        points, targets, weights = training.points, training.targets, training.weights
        if self.solver_ == "landmarks":
            return [judge_targets(self, self._fit_points, self.alpha_, points, targets, weights)]
        return [judge_rows(self, gram_of(self.kernel_, points), targets, weights)]

    def _fit_landmarks(
        self,
        frame: LandmarkGram,
        X: Objects,
        points: Points,
        used: IntArray,
        targets: Array,
        weights: Array,
        alphas: Array,
    ) -> Self:
        Y = targets.reshape(len(targets), -1)[used]
        if alphas.min() <= 0:
            raise InvalidParameter("KernelRidge: an approximation by landmarks needs alpha > 0.")
        budget = Budget.within(
            self.time_limit, tol=max(self.tol**0.5, 1e-9), max_iter=self.max_iter
        )
        constant = bool(self.fit_intercept)
        found = solve_targets(frame, Y, weights[used], constant, alphas, budget)
        runs = [(found.statistics, found.status)]
        self._await_judgement(Training(points, targets, weights, runs, OPTIMAL_GAP))
        warn_early("KernelRidge", found.status)
        self.alpha_ = float(alphas[0]) if (alphas == alphas[0]).all() else alphas
        publish_regression(self, found, frame, targets.ndim == 1)
        self.n_iter_, self.solver_ = found.statistics.iterations, "landmarks"
        self.X_fit_ = landmark_objects(frame, X, used)
        landmarks = frame.basis.points
        self.shape_fit_ = (len(landmarks), *self.shape_fit_[1:])
        self._fit_points, self._fit_weights = landmarks, np.ones(len(landmarks))
        return self

    def predict(self, X: Objects) -> Array:
        """Return f(x) for each object: shape (m,) or (m, targets)."""
        X = self._read_new(X)
        columns = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        values = self._expand(X, self._fit_points, columns)
        values += self.intercept_
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    # ---- all λ from one factorisation ----------------------------------------------------------

    def path(
        self,
        X: Objects,
        y: Targets,
        alphas: Parameter = None,
        sample_weight: SampleWeights = None,
    ) -> RidgePath:
        """Return coefficients and leave-one-out residuals for a grid of λ; one factorisation.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; all weights have to be positive.
        alphas : array, optional
            The values of λ; a logarithmic grid by default.
        """
        self._check_parameters()
        twin = copy(self)
        X, targets, weights = twin._read(X, y, sample_weight)
        if (weights <= 0).any():
            raise InvalidInput("KernelRidge.path: rows without weight have to be left away.")
        kernel, points = twin._bind(X)
        K = matrix_of(kernel, points, frame_of(twin, kernel, points))
        spectrum = spectrum_of(K, weights)
        grid = usual_alphas(spectrum) if alphas is None else check_alphas(alphas)
        Y = targets.reshape(len(targets), -1)
        found = ridge_path(spectrum, Y, grid, weights, self.fit_intercept)
        return found if targets.ndim == 2 else found.of_one()

    def leave_one_out(self) -> Array:
        """Return for each training row the residual of the machine that never saw it.

        y minus the prediction, in closed form: cᵢ/((K + λW⁻¹)⁻¹)ᵢᵢ where b = 0. NaN for rows
        without weight, which no machine saw.
        """
        check_is_fitted(self)
        if self.approximation is not None:
            raise InvalidParameter(
                "KernelRidge: leave_one_out needs the machine without an approximation."
            )
        used = np.flatnonzero(self._fit_weights > 0)
        weights = self._fit_weights[used]
        c = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        residuals = np.full(c.shape, np.nan)
        gram = gram_of(self.kernel_, self._fit_points.take(used))
        alphas = np.broadcast_to(self.alpha_, c.shape[1])
        for alpha in np.unique(alphas):
            mine = np.flatnonzero(alphas == alpha)
            if alpha <= 0:
                raise InvalidParameter("KernelRidge: leave_one_out needs alpha > 0.")
            system = ScaledGram(gram, weights)
            factor = Cholesky(system.dense(), float(alpha))
            ones = factor.solve(system.scale) if self.fit_intercept else np.zeros(len(weights))
            total = float(ones @ system.scale) or 1.0
            diagonal = weights * (factor.inverse_diagonal() - ones**2 / total)
            residuals[np.ix_(used, mine)] = c[np.ix_(used, mine)] / diagonal[:, None]
        return residuals.reshape(self.dual_coef_.shape)

    # ---- the plan ------------------------------------------------------------------------------

    def plan(self, data: FitData) -> RidgePlan:
        targets = data.once("targets", lambda: RidgeTargets.of(data))
        alphas = spread_alphas(self.alpha, targets.Y.shape[1])
        return RidgePlan(TargetRule(np.ndim(data.y) == 1), targets, alphas, self.fit_intercept)

    @property
    def solves_paths_together(self) -> bool:
        return True

    @property
    def fits_by_plan(self) -> bool:
        if self.is_open or self.time_limit is not None or self.approximation is not None:
            return False
        # Without λ the matrix may be singular, which is a case for the whole of ``fit``.
        return self.kernel_argument.divisible and bool(np.min(self.alpha) > 0)

    @property
    def is_open(self) -> bool:
        """Whether λ or a width of the kernel is to be chosen."""
        return isinstance(self.alpha, str) or self.has_open_width

    @property
    def has_open_width(self) -> bool:
        """Whether a width of the kernel is to be chosen."""
        return any(name.startswith("kernel__") for name in open_parameters(self))

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the functions of the machine as sums over points, and their constants."""
        coefficients, constants = self.expansion_of_rows()
        return Expansion(self.kernel_, self.expansion_points, coefficients), constants

    def least_squares_system(self) -> tuple[Expansion, Array, Array] | None:
        """Return f, b and the D of (K + D) a = y − b; None where D or b depends on the rows."""
        exact = self.approximation is None and not self.fit_intercept
        if not exact or np.min(self.alpha_) <= 0 or np.min(self._fit_weights) <= 0:
            return None
        return *self.function_expansion(), np.ravel(self.alpha_)[0] / self._fit_weights

    def expansion_of_rows(self) -> tuple[Array, Array]:
        """Return the coefficients of all training rows and the constants, one for each target."""
        return self.dual_coef_.reshape(len(self.dual_coef_), -1), np.atleast_1d(self.intercept_)

    # ---- inside ------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        self._validate_params()
        if isinstance(self.kernel, str):
            check_name(self.kernel)
        given = np.ones(1) if isinstance(self.alpha, str) else check_alphas(self.alpha)
        if self.approximation is not None:
            Nystrom.of(self.approximation, "KernelRidge")  # refuses what is none
        if self.fit_intercept and not given.all():
            raise InvalidParameter("KernelRidge: fit_intercept needs alpha > 0.")

    def _read(
        self, X: Objects, y: Targets, sample_weight: SampleWeights
    ) -> tuple[Objects, Array, Array]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._read_training(X, None)
        # Sparse and dense data may meet: their products exist.
        self._sparse = True
        targets = read_targets(y)
        check_consistent_length(X, targets)
        _check_rows(X, type(self).__name__)
        weights = read_weights(sample_weight, num_samples(X))
        return X, targets, weights

    @property
    def kernel_argument(self) -> KernelArgument:
        return ridge_argument(self)

    def _solve(
        self, points: Points, Y: Array, weights: Array, alphas: Array
    ) -> Solution[RidgeFunctions]:
        problem = RidgeProblem(Y, alphas, weights, bool(self.fit_intercept))
        argument = self.kernel_argument
        method = RidgeSolver(self.solver, argument.takes_vectors and argument.compares_objects)
        budget = Budget.within(self.time_limit, tol=self.tol, max_iter=self.max_iter)
        gram = DirectGram.of(self.kernel_, points) or gram_of(self.kernel_, points)
        found = method.solve(problem, gram, budget)
        if found.status is not Status.OPTIMAL:
            warn_early("KernelRidge", found.status)
        self.solver_ = found.statistics.details["method"]
        return found
