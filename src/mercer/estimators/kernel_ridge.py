"""Kernel ridge regression."""

from __future__ import annotations

import math
import time
import warnings
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    check_is_fitted,
)

from mercer._typing import Array, IntArray
from mercer.estimators.choice import caller_level, check_definite, check_name, kernel_named
from mercer.estimators.landmark_fits import LandmarkFrame, fit_ridge
from mercer.estimators.machine import _check_rows
from mercer.estimators.ridge_choice import choose, frame_of, is_open, matrix_of, spectrum_of
from mercer.estimators.ridge_shared import (
    SharedRidge,
    check_alphas,
    read_targets,
    read_weights,
    spread_alphas,
)
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.landmarks import Nystrom
from mercer.gram.operator import FeatureGram, GramMatrix, gram_of
from mercer.kernels import registry
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.problems.ridge import RidgeProblem
from mercer.solvers import ridge
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.ridge import RidgeSystem
from mercer.solvers.ridge_path import RidgePath, Spectrum, ridge_path, usual_alphas

_MANY_ALPHAS = 8
ADVICE = {
    "max_iter": "it stopped at max_iter: raise it, raise alpha, or loosen tol",
    "time_limit": "it stopped at the time limit: raise it, raise alpha, or loosen tol",
    "interrupted": "it was interrupted; the answer is the best one until then",
    "stalled": "rounding keeps it from its tolerance: raise alpha, scale the data, or loosen tol",
    "nonconvex": "K + alpha·I has negative eigenvalues: the answer is a stationary point only",
}


class KernelRidge(SharedRidge):
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
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"auto"})],
        "kernel": [str, callable, Kernel],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions(set(ridge.METHODS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "approximation": "no_validation",
    }
    strict = False

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = False,
        solver: str = "auto",
        tol: float = 1e-13,
        max_iter: int = 1000,
        time_limit: float | None = None,
        approximation: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.approximation = approximation

    # ---- fit and predict ---------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        if is_open(self):
            choice = choose(self, X, inside, Y[used], weights[used], alphas)
            self.kernel_, self.path_, alphas = choice.kernel, choice.path, choice.alphas
            frame = choice.frame
        check_definite(self.kernel_, Definite.POSITIVE, False, type(self).__name__)
        frame = frame or frame_of(self, self.kernel_, inside)
        if frame is not None:
            return self._fit_landmarks(frame, X, inside, used, targets, weights, alphas)
        c = np.zeros_like(Y)
        c[used], b, self.certificate_ = self._solve(inside, Y[used], weights[used], alphas)
        if not np.isfinite(c).all():
            raise InvalidInput(
                "KernelRidge: the coefficients are not finite numbers. Scale the data and targets."
            )
        self.alpha_ = float(alphas[0]) if (alphas == alphas[0]).all() else alphas
        self.dual_coef_ = c.reshape(targets.shape)
        self.intercept_ = float(b[0]) if targets.ndim == 1 else b
        self.n_iter_ = self.certificate_.iterations
        self.X_fit_ = X
        self._fit_points = points
        self._fit_weights = weights
        return self

    def _fit_landmarks(
        self,
        frame: LandmarkFrame,
        X: Any,
        points: Points,
        used: IntArray,
        targets: Array,
        weights: Array,
        alphas: Array,
    ) -> Self:
        Y = targets.reshape(len(targets), -1)[used]
        c, b, self.certificate_ = fit_ridge(self, frame, points, Y, weights[used], alphas)
        self._warn(self.certificate_.status)
        self.alpha_ = float(alphas[0]) if (alphas == alphas[0]).all() else alphas
        self.dual_coef_ = c[:, 0].copy() if targets.ndim == 1 else c
        self.intercept_ = float(b[0]) if targets.ndim == 1 else b
        self.n_iter_, self.solver_ = self.certificate_.iterations, "landmarks"
        self.X_fit_ = frame.objects(X, used)
        self.shape_fit_ = (len(c), *self.shape_fit_[1:])
        self._fit_points, self._fit_weights = frame.points, np.ones(len(c))
        return self

    def _ends(self) -> float:
        return math.inf if self.time_limit is None else time.perf_counter() + self.time_limit

    def predict(self, X: Any) -> Array:
        """Return f(x) for each object: shape (m,) or (m, targets)."""
        X = self._read_new(X)
        if self._told is not None:
            return self._told
        columns = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        everything = np.arange(len(columns))
        values = self._expand(X, everything, self._fit_points, columns)
        values += self.intercept_
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    # ---- all λ from one factorisation ----------------------------------------------------------

    def path(self, X: Any, y: Any, alphas: Any = None, sample_weight: Any = None) -> RidgePath:
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
        K = matrix_of(twin, kernel, points, frame_of(twin, kernel, points))
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
        gram = self._gram(self.kernel_, self._fit_points.take(used))
        alphas = np.broadcast_to(self.alpha_, c.shape[1])
        for alpha in np.unique(alphas):
            mine = np.flatnonzero(alphas == alpha)
            if alpha <= 0:
                raise InvalidParameter("KernelRidge: leave_one_out needs alpha > 0.")
            system = RidgeSystem(gram, weights)
            factor = Cholesky(system.dense(), float(alpha))
            ones = factor.solve(system.scale) if self.fit_intercept else np.zeros(len(weights))
            total = float(ones @ system.scale) or 1.0
            diagonal = weights * (factor.inverse_diagonal() - ones**2 / total)
            residuals[np.ix_(used, mine)] = c[np.ix_(used, mine)] / diagonal[:, None]
        return residuals.reshape(self.dual_coef_.shape)

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
        Nystrom.of(self.approximation, "KernelRidge")  # refuses what is none
        if self.fit_intercept and not given.all():
            raise InvalidParameter("KernelRidge: fit_intercept needs alpha > 0.")

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
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
        weights = read_weights(sample_weight, _num_samples(X))
        return X, targets, weights

    def _encode(self, X: Any) -> tuple[Kernel, Points]:
        if not isinstance(self.kernel, str):
            return super()._encode(X)
        twin = copy(self)
        twin.kernel = ridge_kernel(self.kernel, self.gamma, self.degree, self.coef0, X.shape[1])
        return twin._encode(X)

    def _takes_vectors(self) -> bool:
        return self._mode == "function" or super()._takes_vectors()

    def _function_values(self, X: Any, Z: Any) -> Array:
        params = self.kernel_params or {}
        values = pairwise_kernels(X, Z, metric=self.kernel, filter_params=True, **params)
        return np.asarray(values, dtype=np.float64)

    def _gram(self, kernel: Kernel, points: Points) -> GramMatrix:
        """Return the Gram matrix, through features where they are few."""
        return gram_of(kernel, points)

    def _solve(
        self, points: Points, Y: Array, weights: Array, alphas: Array
    ) -> tuple[Array, Array, Certificate]:
        gram = self._gram(self.kernel_, points)
        system = RidgeSystem(gram, weights)
        features = None
        if isinstance(gram, FeatureGram):
            features = gram.dense_features() * system.scale[:, None]
        different = np.unique(alphas)
        method = self.solver
        if method == "auto" and features is None and len(different) > _MANY_ALPHAS:
            method = "eigen"
        spectrum = Spectrum(system.dense()) if method == "eigen" else None
        ends = math.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        C, intercepts, parts = np.empty_like(Y), np.zeros(Y.shape[1]), []
        for alpha in different:
            mine = np.flatnonzero(alphas == alpha)
            answer = ridge.solve(
                system,
                Y[:, mine],
                float(alpha),
                method,
                intercept=self.fit_intercept,
                cheap=self._takes_vectors() and self._mode == "kernel",
                features=features,
                spectrum=spectrum,
                tol=self.tol,
                max_iter=self.max_iter,
                ends=ends,
            )
            C[:, mine], intercepts[mine] = answer.c, answer.intercepts
            self._warn(answer.status)
            self.solver_ = answer.method
            for j, target in enumerate(mine):
                bias = answer.intercepts[j] if self.fit_intercept else None
                problem = RidgeProblem(Y[:, target], float(alpha), weights, bias)
                parts.append(
                    problem.certify(
                        answer.c[:, j],
                        answer.f[:, j],
                        lambda u: gram @ u,
                        iterations=answer.iterations,
                        seconds=answer.seconds / len(mine),
                        kernel_evaluations=answer.evaluations // len(mine),
                        status=answer.status,
                    )
                )
        return C, intercepts, Certificate.total(parts)

    def _warn(self, status: str) -> None:
        if status != "optimal":
            warnings.warn(
                f"KernelRidge: {ADVICE[status]}.", ConvergenceWarning, stacklevel=caller_level()
            )


def ridge_kernel(name: str, gamma: Any, degree: float, coef0: float, columns: int) -> Kernel:
    """Return the kernel of a name, with the defaults of scikit-learn's pairwise kernels."""
    if gamma is None and registry.find(name).name in ("rbf", "laplacian", "polynomial", "sigmoid"):
        return kernel_named(name, 1.0 / columns, degree, coef0, columns)
    if gamma is None:
        made: Any = registry.find(name).kernel
        return made()  # type: ignore[no-any-return]
    return kernel_named(name, gamma, degree, coef0, columns)
