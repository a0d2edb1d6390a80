"""Gaussian process regression."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.gaussian_process.kernels import Kernel as TheirKernel
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from mercer._typing import Array
from mercer.estimators.choice import caller_level, check_definite
from mercer.estimators.gp_base import GaussianProcess
from mercer.estimators.gp_judge import judge_mean
from mercer.estimators.gp_kernels import Parameters
from mercer.estimators.gp_landmarks import LandmarkLearner, LandmarkPosterior, likelihood_of
from mercer.estimators.machine import _check_rows
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.generative.normal import Gaussian
from mercer.gram.landmarks import Nystrom
from mercer.gram.operator import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.problems.certificate import Certificate
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.evidence import KernelFamily, RegressionEvidence, is_flat
from mercer.solvers.landmark_evidence import LandmarkEvidence


@dataclass(frozen=True, eq=False)
class Prediction:
    """Means and standard deviations of Gaussian predictions."""

    mean: Array
    std: Array

    def interval(self, probability: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of the central intervals that hold a share of the probability."""
        from scipy.stats import norm

        reach = norm.ppf(0.5 + probability / 2) * self.std
        return self.mean - reach, self.mean + reach


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, GaussianProcess):
    """Gaussian process regression with any kernel on any data.

    f ~ GP(0, k), y = f(x) + ε; the parameters of k maximise log N(y | 0, K + αI)

    A drop-in for ``sklearn.gaussian_process.GaussianProcessRegressor``, with its defaults;
    ``GP(X, y)`` has better ones. ``kernel`` is one of mercer's; the common kernels of scikit-learn
    are translated.

    Parameters
    ----------
    kernel : Kernel, optional
        ``1.0 * RBF(length_scale=1.0)`` by default.
    alpha : float or array of shape (n,)
        Variance of the noise, added to the diagonal of K.
    optimizer : {"fmin_l_bfgs_b"}, function or None
        None keeps the parameters as they are.
    n_restarts_optimizer : int
        Further starts of the ascent, drawn between the bounds.
    normalize_y : bool
        Learn from targets of mean 0 and variance 1.
    fixed : sequence of str
        Names of parameters of the kernel (see ``kernel.free_parameters()``) that are not learnt.
    bounds : (low, high) or dict
        Bounds of the parameters of mercer's kernels, for all or by name.
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
    evidence_bounds_ : tuple of float
        With an approximation only: a lower and an upper bound of the evidence without it.
    residual_trace_ : float
        With an approximation only: tr(K − Q).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [None, Kernel, TheirKernel],
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "normalize_y": ["boolean"],
        "copy_X_train": ["boolean"],
        "n_targets": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "fixed": ["array-like"],
        "bounds": [tuple, list, dict],
        "approximation": "no_validation",
    }
    strict = False

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = 1e-10,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
        fixed: Any = (),
        bounds: Any = (1e-5, 1e5),
        approximation: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state
        self.fixed = fixed
        self.bounds = bounds
        self.approximation = approximation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the parameters of the kernel, and condition on the data.

        Parameters
        ----------
        X : array, frame or list of shape (n, …)
        y : array of shape (n,) or (n, targets)
        """
        self._check_parameters()
        X, targets = self._read(X, y)
        noise = self._noise(len(targets))
        self._scale(targets)
        self.y_train_ = (targets - self._y_train_mean) / self._y_train_std
        kernel, self._train_points = self._bind(X)
        check_definite(kernel, Definite.POSITIVE, False, type(self).__name__)
        self.X_train_ = X.copy() if self.copy_X_train and hasattr(X, "copy") else X
        free = self._free(kernel)
        self._kernel = free.kernel
        self._names, self._scales, self._bounds = free.names, free.scales, free.bounds
        self._noise_variances = np.broadcast_to(noise, len(targets)).copy()
        for name in ("_posterior", "L_", "evidence_bounds_", "residual_trace_"):
            self.__dict__.pop(name, None)
        spec = Nystrom.of(self.approximation, type(self).__name__)
        if spec is not None:
            self._fit_landmarks(free, spec)
            return self
        if isinstance(self.optimizer, str):
            start = self._evidence().head_start(free.theta, free.bounds, free.scales)
            free = replace(free, start=start)
        best = self._learn(free, self._likelihood)
        self.log_marginal_likelihood_value_ = best.value
        self._publish_kernel(free, best.theta)
        evidence = self._evidence()
        factor, self.jitter_ = evidence.factor(best.theta * self._scales)
        if self.jitter_ > 0:
            warnings.warn(
                f"{type(self).__name__}: the kernel matrix is singular to working precision; "
                f"{self.jitter_:.2g} was added to its diagonal. Raise alpha, or add White().",
                UserWarning,
                stacklevel=caller_level(),
            )
        a = factor.solve(evidence.Y)
        self.alpha_ = a.reshape(self.y_train_.shape)
        self.L_ = factor.lower()
        gram = Gram(self._kernel, self._train_points, dtype=np.float64)
        noises = self._noise_variances + self.jitter_
        self.certificate_ = judge_mean(gram, evidence.Y, a, noises, status="optimal")
        return self

    def _fit_landmarks(self, free: Parameters, spec: Nystrom) -> None:
        """Learn and condition through landmarks."""
        columns = self.y_train_.reshape(len(self.y_train_), -1)
        learner = LandmarkLearner(free, self._train_points, columns, self._noise_variances, spec)
        learns = isinstance(self.optimizer, str) and len(free.names) > 0
        evidence, best = learner.learn(self._ascend, learns)
        if self.optimizer is not None and len(free.names):
            self._warn_at_bounds(best, free, likelihood_of(evidence, free.scales))
        self._publish_kernel(free, best.theta)
        here = evidence.condition(self._kernel)
        self._posterior = LandmarkPosterior.of(self._kernel, here)
        dual = here.dual(columns)
        self.alpha_ = dual.reshape(self.y_train_.shape)
        self.jitter_ = 0.0
        self.evidence_bounds_ = evidence.ends(best.theta * free.scales)
        self.log_marginal_likelihood_value_ = self.evidence_bounds_[0]
        self.residual_trace_ = float(here.unseen.sum())
        self.certificate_ = self._posterior.judge(
            self._train_points, columns, dual, status="optimal"
        )

    _posterior: LandmarkPosterior | None = None

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return the means, with standard deviations or covariances if asked for.

        Before ``fit`` these are those of the prior.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not hasattr(self, "alpha_"):
            return self._predict_prior(X, return_std, return_cov)
        X = self._read_new(X)
        new = self._kernel.encode(X)
        posterior = self._posterior
        added: Any = None
        if posterior is None:
            pairs = Pairs(new, self._train_points, None, np.float64)
            K = Evaluator(self._kernel, pairs).dense()
            values = K @ self.alpha_
        else:
            values = posterior.mean(new).reshape(len(new), *self.alpha_.shape[1:])
        mean = _flat(self._y_train_std * values + self._y_train_mean)
        if not (return_std or return_cov):
            return mean
        if posterior is None:
            V = _half_solved(self.L_, K.T)
        else:
            V, added = posterior.reduction(new)
        own = Evaluator(self._kernel, Pairs(new, None, None, np.float64))
        if return_cov:
            covariance = own.dense()
            covariance -= V.T @ V
            if added is not None:
                covariance += added.T @ added
            return mean, _flat(np.multiply.outer(covariance, np.atleast_1d(self._y_train_std) ** 2))
        variance = own.diagonal() - np.einsum("ij,ij->j", V, V)
        if added is not None:
            variance += np.einsum("ij,ij->j", added, added)
        # Where the data leave no doubt, rounding decides about the sign.
        variance = np.maximum(variance, 0.0)
        return mean, np.sqrt(_flat(np.outer(variance, np.atleast_1d(self._y_train_std) ** 2)))

    def distribution(self, X: Any) -> Gaussian:
        """Return the joint distribution of the predictions (of one target) as a Gaussian."""
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim > 1:
            raise InvalidInput("distribution is for one target; ask predict(X, return_cov=True).")
        spread = np.abs(np.diagonal(covariance)).max(initial=0.0)
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        values = np.where(values > 1e-12 * spread, values, 0.0)
        return Gaussian(mean, (vectors * values) @ vectors.T)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
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
        return Prediction(
            mean * self._y_train_std + self._y_train_mean,
            np.array(np.broadcast_to(std, mean.shape)),
        )

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
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
        values = self._kernel.free_parameters()
        return {name: values[name] for name in self._names}

    def flat_parameters(self) -> list[str]:
        """Return the parameters that the data say next to nothing about.

        A factor of e, up or down, changes the evidence by less than 0.01.
        """
        check_is_fitted(self, "alpha_")
        theta = np.log(list(self.theta_.values())) / self._scales
        return [
            name
            for j, name in enumerate(self._names)
            if is_flat(lambda at: float(self._likelihood(at, False)), theta, j)
        ]

    # ---- inside ------------------------------------------------------------------------------

    def _judge(self, X: Any, y: Any, sample_weight: Any) -> Certificate:
        """Judge the mean from the training data alone."""
        gram = Gram(self._kernel, self._read_new(X), dtype=np.float64)
        scaled = (np.asarray(y, dtype=np.float64) - self._y_train_mean) / self._y_train_std
        if sample_weight is not None or scaled.shape != self.alpha_.shape:
            raise InvalidInput(
                "certify: a Gaussian process is judged on the data that it was fitted on, without "
                f"weights; y of shape {scaled.shape} is not theirs, {self.alpha_.shape}."
            )
        n = len(scaled)
        if self._posterior is not None:
            columns, dual = scaled.reshape(n, -1), self.alpha_.reshape(n, -1)
            return self._posterior.judge(gram.points, columns, dual)
        noises = self._noise_variances + self.jitter_
        return judge_mean(gram, scaled.reshape(n, -1), self.alpha_.reshape(n, -1), noises)

    def _expansion(self) -> tuple[Array, Array]:
        """Return the coefficients of all training rows and the constants, one for each target."""
        columns = self.alpha_.reshape(len(self.alpha_), -1)
        return columns * self._y_train_std, np.atleast_1d(self._y_train_mean)

    def _check_parameters(self) -> None:
        self._validate_params()
        self._prior_kernel()

    def _evidence(self) -> RegressionEvidence:
        family = KernelFamily(self._kernel, self._train_points, self._names)
        columns = self.y_train_.reshape(len(self.y_train_), -1)
        return RegressionEvidence(family, columns, self._noise_variances)

    def _likelihood(self, theta: Array, gradient: bool) -> Any:
        if self._posterior is not None:
            return likelihood_of(self._landmark_evidence(), self._scales)(theta, gradient)
        evidence = self._evidence()
        if not gradient:
            return np.float64(evidence.value(theta * self._scales))
        value, slope = evidence.value_and_gradient(theta * self._scales)
        return value, slope * self._scales

    def _landmark_evidence(self) -> LandmarkEvidence:
        assert self._posterior is not None
        return LandmarkEvidence(
            self._kernel,
            self._train_points,
            self._posterior.approximation.points,
            self._names,
            self.y_train_.reshape(len(self.y_train_), -1),
            self._noise_variances,
        )

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._read_training(X, None)
        targets = np.asarray(_check_y(y, multi_output=True, y_numeric=True), dtype=np.float64)
        check_consistent_length(X, targets)
        _check_rows(X, type(self).__name__)
        if self._takes_vectors():
            self._check_columns(X)
        seen = targets.shape[1] if targets.ndim > 1 else 1
        if self.n_targets is not None and seen != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {seen} != {self.n_targets}."
            )
        return X, targets

    def _noise(self, n: int) -> Any:
        noise = np.asarray(self.alpha, dtype=np.float64)
        if noise.ndim and noise.shape[0] != n and noise.shape[0] != 1:
            raise ValueError(
                "alpha must be a scalar or an array with same number of entries as y. "
                f"({noise.shape[0]} != {n})"
            )
        if not np.isfinite(noise).all() or noise.min() < 0:
            raise InvalidParameter(f"{type(self).__name__}: alpha has to be finite and ≥ 0.")
        return noise if noise.ndim and noise.shape[0] == n else float(noise.ravel()[0])

    def _scale(self, targets: Array) -> None:
        """Find the mean and the spread of the targets; both are trivial where nobody asked."""
        shape: Any = (targets.shape[1],) if targets.ndim == 2 else 1
        if not self.normalize_y:
            self._y_train_mean: Any = np.zeros(shape)
            self._y_train_std: Any = np.ones(shape)
            return
        self._y_train_mean = targets.mean(axis=0)
        spread = np.asarray(targets.std(axis=0))
        constant = spread <= 10 * np.finfo(np.float64).eps * np.abs(targets).max(axis=0)
        self._y_train_std = np.where(constant, 1.0, spread)[()]

    def _predict_prior(self, X: Any, return_std: bool, return_cov: bool) -> Any:
        if self._takes_vectors():
            from sklearn.utils.validation import validate_data

            X = validate_data(self, X, ensure_2d=True, dtype="numeric", reset=False)
        kernel = self._prior_kernel()
        count = self.n_targets or 1
        points = kernel.encode(X)
        kernel = kernel.resolve(points)
        mean = np.zeros((len(points), count)).squeeze()
        evaluator = Evaluator(kernel, Pairs(points, None, None, np.float64))
        if return_cov:
            covariance = evaluator.dense()
            return mean, np.repeat(covariance[..., None], count, -1) if count > 1 else covariance
        if return_std:
            deviation = np.sqrt(evaluator.diagonal())
            return mean, np.repeat(deviation[:, None], count, -1) if count > 1 else deviation
        return mean


def _half_solved(L: Array, B: Array) -> Array:
    from scipy.linalg import solve_triangular

    half: Array = solve_triangular(L, B, lower=True, check_finite=False)
    return half


def _flat(values: Any) -> Any:
    """Drop the axis of targets where there is one."""
    return values[..., 0] if values.ndim > 1 and values.shape[-1] == 1 else values
