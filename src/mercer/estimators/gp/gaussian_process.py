"""Gaussian process regression."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtrs
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._files.fields import (
    TEXT,
    A,
    ListOf,
    Maybe,
    Number,
    Numbers,
    OneOf,
    Plain,
    State,
    WrongState,
)
from mercer._sklearn import Interval
from mercer._typing import Array, Objects, SampleWeights, Seed, Targets
from mercer.estimators.base import _check_rows
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnProcess
from mercer.estimators.gp.gp_base import (
    GaussianProcess,
    Likelihood,
    LikelihoodProblem,
    Prediction,
    center_and_spread,
    noise_variances,
    one_or_all,
)
from mercer.estimators.gp.gp_kernels import Parameters
from mercer.estimators.gp.gp_landmarks import LandmarkLearner, LandmarkPosterior, likelihood_of
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import caller_level, check_definite
from mercer.estimators.ridge.ridge_plan import read_targets
from mercer.estimators.state import BY_ROW, KERNEL, check_points
from mercer.exceptions import InvalidInput
from mercer.generative.normal import Gaussian
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.gram.kernel_family import KernelFamily
from mercer.gram.radial_sum import values_between
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.choose import Nystrom
from mercer.landmarks.landmark_evidence import LandmarkEvidence
from mercer.linalg.cholesky import Cholesky
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.processes import MeanProblem
from mercer.solvers.base import Budget, Statistics, Status
from mercer.solvers.gp.evidence import RegressionEvidence, is_flat
from mercer.solvers.gp.evidence_ascent import Optimum


@parameters
class GaussianProcessRegressor(
    DrawnProcess, MultiOutputMixin, RegressorMixin, JudgedMachine, GaussianProcess
):
    """Gaussian process regression with any kernel on any data.

    f ~ GP(0, k), y = f(x) + ε; the parameters of k maximise log N(y | 0, K + αI)

    A drop-in for ``sklearn.gaussian_process.GaussianProcessRegressor``, with its defaults;
    ``GP(X, y)`` has better ones. The common kernels of scikit-learn are taken, too.

    Parameters
    ----------
    kernel : Kernel, optional
        ``1.0 * RBF(length_scale=1.0)`` by default.
    alpha : float or array of shape (n,)
        Variance of the noise, added to the diagonal of K.
    normalize_y : bool
        Learn from targets of mean 0 and variance 1.
    n_targets : int, optional
        The number of targets, which samples from the prior need before a fit.
    approximation : None, int or Nystrom
        Condition through so many landmarks: time grows with n·M², memory with n·M. What is
        maximised, and published as the evidence, is Titsias' bound, which is never above the
        evidence. Variances away from the landmarks are those of the prior. It needs noise:
        ``alpha``, or ``White()`` in the kernel.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with the parameters that were learnt.
    log_marginal_likelihood_value_ : float
        The evidence.
    jitter_ : float
        What rounding forced to add to the diagonal besides ``alpha``; 0 as a rule.
    certificate_ : Certificate
        How far the mean is from the best one, for the parameters that were learnt.
    X_train_, y_train_, L_, alpha_
        As in scikit-learn: the data, the Cholesky factor and (K + αI)⁻¹y. With an approximation
        Q of K, ``alpha_`` is (Q + αI)⁻¹y and there is no ``L_``.
    evidence_bounds_, residual_trace_
        With an approximation only: bounds of the evidence without it, and tr(K − Q).

    Examples
    --------
    >>> from mercer import RBF, GaussianProcessRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, -1.0]
    >>> model = GaussianProcessRegressor(RBF(length_scale=1), alpha=0.01, optimizer=None).fit(X, y)
    >>> mean, std = model.predict([[1.0], [10.0]], return_std=True)
    >>> abs(mean).round(2), std.round(2)  # far from the data the prior is left: 0 ± 1
    (array([0.98, 0.  ]), array([0.1, 1. ]))
    """

    STATE: ClassVar[State] = {
        **KERNEL,
        "_kernel": A(Kernel),
        "X_train_": Plain(),
        "y_train_": BY_ROW,
        "_train_points": A(Points, size="rows"),
        "_noise_variances": Numbers("rows", low=0),
        "alpha_": BY_ROW,
        "L_": Maybe(Numbers("rows", "rows", any_order=True)),
        "_posterior": Maybe(A(LandmarkPosterior)),
        "evidence_bounds_": Maybe(ListOf(Number(finite=False), tuple)),
        "residual_trace_": Maybe(Number(low=0)),
        "_names": ListOf(TEXT),
        "_scales": Numbers("free"),
        "_bounds": Numbers("free", 2, finite=False),
        "log_marginal_likelihood_value_": Number(finite=False),
        "jitter_": Number(low=0),
        "certificate_": A(Certificate),
        **dict.fromkeys(
            ("_y_train_mean", "_y_train_std"), OneOf(Numbers("targets"), Numbers(1), Number())
        ),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where kernel, factor and targets do not fit."""
        check_points(self, self._train_points)
        free = self._kernel.free_parameters()
        if len(self._names) != len(self._scales) or any(name not in free for name in self._names):
            raise WrongState("its kernel has not the parameters that were learnt")
        sound = (np.diagonal(self.L_) > 0).all() if hasattr(self, "L_") else self._posterior
        if self.alpha_.shape != self.y_train_.shape or not sound:
            raise WrongState("its factor or its coefficients do not fit its targets")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GaussianProcess._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray],
        "n_targets": [Interval(Integral, 1, None, closed="left"), None],
    }

    _: KW_ONLY
    alpha: float | Array = 1e-10
    normalize_y: bool = False
    n_targets: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.target_tags.required = True
        return tags

    def fit(self, X: Objects, y: Targets) -> Self:
        """Learn the parameters of the kernel, and condition on the data.

        Parameters
        ----------
        X : array, frame or list of shape (n, …)
        y : array of shape (n,) or (n, targets)
        """
        budget = self._budget()
        self._check_parameters()
        X, targets = self._read(X, y)
        noise = noise_variances(self.alpha, len(targets), type(self).__name__)
        self._y_train_mean, self._y_train_std = center_and_spread(targets, self.normalize_y)
        self.y_train_ = (targets - self._y_train_mean) / self._y_train_std
        kernel, self._train_points = self._bind(X)
        check_definite(kernel, Definite.POSITIVE, False, type(self).__name__)
        self.X_train_ = X.copy() if self.copy_X_train and hasattr(X, "copy") else X
        self._warn_of_unlearnt(kernel)
        free = self._free(kernel, self._train_points)
        self._kernel = free.kernel
        self._names, self._scales, self._bounds = free.names, free.scales, free.bounds
        self._noise_variances = noise
        for name in ("_posterior", "L_", "evidence_bounds_", "residual_trace_", "certificate_"):
            self.__dict__.pop(name, None)
        runs = [(Statistics(), Status.OPTIMAL)]
        self._training = Training(self._train_points, self.y_train_, noise, runs, OPTIMAL_GAP)
        spec = Nystrom.of(self.approximation, type(self).__name__)
        if spec is not None:
            self._fit_landmarks(free, spec, budget)
            return self
        evidence = self._evidence()
        found = self._solver(free).solve(evidence, evidence.family.gram(free.theta), budget)
        posterior, best = found.value, found.statistics.details["optimum"]
        self._warn_of(best, free, evidence.value)
        self.log_marginal_likelihood_value_ = best.value
        self._kernel, self.kernel_ = free.named(best.theta), free.published(best.theta)
        self.alpha_ = posterior.coef.reshape(self.y_train_.shape)
        self.L_, self.jitter_ = posterior.factor, posterior.jitter
        if self.jitter_ > 0:
            warnings.warn(
                f"{type(self).__name__}: the kernel matrix is singular to working precision; "
                f"{self.jitter_:.2g} was added to its diagonal. Raise alpha, or add White().",
                UserWarning,
                stacklevel=caller_level(),
            )
        return self

    def _judge_training(self, training: Training) -> list[Certificate]:
        return [self._judge_mean(training.points, self.y_train_)]

    def _fit_landmarks(self, free: Parameters, spec: Nystrom, budget: Budget) -> None:
        """Learn and condition through landmarks."""
        columns = self.y_train_.reshape(len(self.y_train_), -1)
        learner = LandmarkLearner(free, self._train_points, columns, self._noise_variances, spec)
        learns = isinstance(self.optimizer, str) and len(free.names) > 0

        def ascend(free: Parameters, likelihood: Likelihood) -> Optimum:
            return self._solver(free).ascend(LikelihoodProblem(likelihood), budget)

        evidence, best = learner.learn(ascend, learns)
        likelihood = likelihood_of(evidence, free.scales)
        self._warn_of(best, free, lambda theta: float(likelihood(theta, False)))
        self._kernel, self.kernel_ = free.named(best.theta), free.published(best.theta)
        here = evidence.condition(self._kernel)
        self._posterior = LandmarkPosterior.of(self._kernel, here)
        dual = here.dual(columns)
        self.alpha_ = dual.reshape(self.y_train_.shape)
        self.jitter_ = 0.0
        self.evidence_bounds_ = evidence.ends(best.theta * free.scales)
        self.log_marginal_likelihood_value_ = self.evidence_bounds_[0]
        self.residual_trace_ = float(here.unseen.sum())

    _posterior: LandmarkPosterior | None = field(init=False, default=None)

    def predict(self, X: Objects, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return the means, with standard deviations or covariances if asked for.

        Before ``fit`` these are those of the prior.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not hasattr(self, "alpha_"):
            return self._predict_prior(X, self.n_targets or 1, return_std, return_cov)
        X = self._read_new(X)
        posterior, rows = self._posterior, self._train_points.rows
        if posterior is None and rows is not None and not return_cov and type(X) is np.ndarray:
            found = values_between(self._kernel, X, rows)
            if found is not None:
                return self._predict_few(*found, return_std)
        new = self._kernel.encode(X)
        if posterior is None:
            pairs = Pairs(new, self._train_points, None, np.float64)
            K = Evaluator(self._kernel, pairs).dense()
            values = K @ self.alpha_
        else:
            values = posterior.mean(new).reshape(len(new), *self.alpha_.shape[1:])
        mean = self._in_units(values)
        if not (return_std or return_cov):
            return mean
        if posterior is None:
            V = solve_triangular(self.L_, K.T, lower=True, check_finite=False)
            added = V[:0]
        else:
            V, added = posterior.reduction(new)
        own = Evaluator(self._kernel, Pairs(new, None, None, np.float64))
        if return_cov:
            factors = np.atleast_1d(self._y_train_std) ** 2
            covariance = own.dense()
            covariance -= V.T @ V
            covariance += added.T @ added
            return mean, one_or_all(np.multiply.outer(covariance, factors))
        variance = own.diagonal() - np.einsum("ij,ij->j", V, V)
        variance += np.einsum("ij,ij->j", added, added)
        return mean, self._deviation(variance)

    def _predict_few(self, K: Array, own: float, return_std: bool) -> Any:
        """Predict from the values of new and training rows and the variance of the prior."""
        mean = self._in_units(K @ self.alpha_)
        if not return_std:
            return mean
        V, _ = dtrtrs(self.L_.T, K.T, lower=0, trans=1, overwrite_b=1)
        return mean, self._deviation(own - np.einsum("ij,ij->j", V, V))

    def _in_units(self, values: Array) -> Array:
        """Return means in the units of the targets."""
        return one_or_all(self._y_train_std * values + self._y_train_mean)

    def _deviation(self, variance: Array) -> Array:
        """Return standard deviations in the units of the targets."""
        factors = np.atleast_1d(self._y_train_std) ** 2
        # Where the data leave no doubt, rounding decides about the sign.
        return np.sqrt(one_or_all(np.outer(np.maximum(variance, 0.0), factors)))

    def distribution(self, X: Objects) -> Gaussian:
        """Return the joint distribution of the predictions (of one target) as a Gaussian."""
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim > 1:
            raise InvalidInput("distribution is for one target; ask predict(X, return_cov=True).")
        spread = np.abs(np.diagonal(covariance)).max(initial=0.0)
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        values = np.where(values > 1e-12 * spread, values, 0.0)
        return Gaussian(mean, (vectors * values) @ vectors.T)

    def sample_y(self, X: Objects, n_samples: int = 1, random_state: Seed = 0) -> Array:
        """Draw functions and return their values: (m, n_samples) or (m, targets, n_samples)."""
        random = check_random_state(random_state)
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return np.asarray(random.multivariate_normal(mean, covariance, n_samples).T)
        draws = [
            random.multivariate_normal(mean[:, j], covariance[..., j], n_samples).T[:, None]
            for j in range(mean.shape[1])
        ]
        return np.hstack(draws)

    def leave_one_out(self) -> Prediction:
        """Return for each training row what the process predicts from all others, in closed form.

        With G = (K + αI)⁻¹ the mean is yᵢ − aᵢ/Gᵢᵢ and the variance 1/Gᵢᵢ, noise included.
        """
        check_is_fitted(self, "alpha_")
        shape = (-1, *[1] * (self.alpha_.ndim - 1))
        if self._posterior is None:
            precision: Array = Cholesky(self.L_ @ self.L_.T).inverse_diagonal()
            variance: Array = 1 / precision
        else:
            precision, variance = self._posterior.leave_one_out()
        mean = self.y_train_ - self.alpha_ / precision.reshape(shape)
        std = np.sqrt(variance).reshape(shape) * self._y_train_std
        values = mean * self._y_train_std + self._y_train_mean
        return Prediction(values, np.array(np.broadcast_to(std, mean.shape)))

    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Return the evidence of log parameters θ, with its gradient if asked for."""
        check_is_fitted(self, "alpha_")
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        at = np.asarray(theta, dtype=np.float64)
        if not clone_kernel and self.kernel_ is not self._kernel:
            self.kernel_.theta = at
        return self._likelihood(at, eval_gradient)

    @property
    def theta_(self) -> dict[str, float]:
        """The parameters that were learnt, by name."""
        check_is_fitted(self, "alpha_")
        return {name: self._kernel.free_parameters()[name] for name in self._names}

    def flat_parameters(self) -> list[str]:
        """Return the parameters that the data say next to nothing about.

        A factor of e, up or down, changes the evidence by less than 0.01.
        """
        check_is_fitted(self, "alpha_")
        theta = np.log(list(self.theta_.values())) / self._scales
        here = float(self._likelihood(theta, False))
        return [
            name
            for j, name in enumerate(self._names)
            if is_flat(lambda at: float(self._likelihood(at, False)), theta, here, j)
        ]

    # ---- inside ------------------------------------------------------------------------------

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        """Judge the mean from the training data alone."""
        points = self._kernel.encode(self._read_new(X))
        scaled = (np.asarray(y, dtype=np.float64) - self._y_train_mean) / self._y_train_std
        if sample_weight is not None or scaled.shape != self.alpha_.shape:
            raise InvalidInput(
                "certify: a Gaussian process is judged on the data that it was fitted on, without "
                f"weights; y of shape {scaled.shape} is not theirs, {self.alpha_.shape}."
            )
        return self._judge_mean(points, scaled).under("")

    def _judge_mean(self, points: Points, targets: Array) -> Certificate:
        """Judge the mean from points and targets as the process sees them."""
        columns, dual = (a.reshape(len(targets), -1) for a in (targets, self.alpha_))
        if self._posterior is not None:
            return self._posterior.judge(points, columns, dual)
        kernel, noise = self.covariance()
        return MeanProblem(columns, noise).certify(dual, Gram(kernel, points, dtype=np.float64))

    def covariance(self) -> tuple[Kernel, Array]:
        """Return the kernel, that of landmarks where there are some, and the noise of each row."""
        if self._posterior is not None:
            return self._posterior.approximation, self._posterior.noise
        return self._kernel, np.broadcast_to(self._noise_variances + self.jitter_, len(self.alpha_))

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the means of the targets as sums over points, and their constants."""
        columns, constants = self.expansion_of_rows()
        return Expansion(self._kernel, self._train_points, columns), constants

    def least_squares_system(self) -> tuple[Expansion, Array, Array] | None:
        """Return f, b and the D of (K + D) a = y − b; None on landmarks."""
        system = (*self.function_expansion(), self.covariance()[1])
        return None if self._posterior is not None else system

    def expansion_of_rows(self) -> tuple[Array, Array]:
        """Return the coefficients of all training rows and the constants, one for each target."""
        columns = self.alpha_.reshape(len(self.alpha_), -1)
        if self._posterior is not None:
            columns = self._posterior.on_rows(self._train_points)
        return columns * self._y_train_std, np.atleast_1d(self._y_train_mean)

    def _evidence(self) -> RegressionEvidence:
        family = KernelFamily(self._kernel, self._train_points, self._names, self._scales)
        columns = self.y_train_.reshape(len(self.y_train_), -1)
        return RegressionEvidence(family, columns, self._noise_variances)

    def _likelihood(self, theta: Array, gradient: bool) -> Any:
        if self._posterior is not None:
            points, columns = self._train_points, self.y_train_.reshape(len(self.y_train_), -1)
            named = self._kernel, points, self._posterior.approximation.points, self._names
            through = LandmarkEvidence(*named, columns, self._noise_variances)
            return likelihood_of(through, self._scales)(theta, gradient)
        evidence = self._evidence()
        return evidence.value_and_gradient(theta) if gradient else np.float64(evidence.value(theta))

    def _read(self, X: Objects, y: Targets) -> tuple[Objects, Array]:
        self._require_targets(y)
        X = self._read_training(X, None)
        targets = read_targets(y)
        check_consistent_length(X, targets)
        _check_rows(X, type(self).__name__)
        if self._takes_vectors():
            self._check_columns(X)
        if self.n_targets not in (None, seen := targets.shape[1] if targets.ndim > 1 else 1):
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {seen} != {self.n_targets}."
            )
        return X, targets
