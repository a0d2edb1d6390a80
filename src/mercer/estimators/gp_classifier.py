"""Gaussian process classification."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import ClassifierMixin
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel as TheirKernel
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from mercer._typing import Array, IntArray
from mercer.estimators.choice import check_definite
from mercer.estimators.gp_base import GaussianProcess
from mercer.estimators.machine import _check_rows
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.solvers.evidence import KernelFamily
from mercer.solvers.laplace import LaplaceEvidence, logistic_mean


@dataclass(frozen=True, eq=False)
class Latent:
    """The latent function of one class against others, given its training rows.

    ``weights`` is y − π, ``root`` √W and ``factor`` the L of B = I + √W K √W.
    """

    kernel: Kernel
    published: Any
    points: Points
    rows: IntArray
    labels: Array
    names: list[str]
    scales: Array
    weights: Array
    root: Array
    factor: Array
    mode: Array
    value: float

    def moments(self, points: Points) -> tuple[Array, Array]:
        """Return the means and the variances of the latent function at new points."""
        K = Evaluator(self.kernel, Pairs(self.points, points, None, np.float64)).dense()
        half = solve_triangular(self.factor, self.root[:, None] * K, lower=True, check_finite=False)
        own = Evaluator(self.kernel, Pairs(points, None, None, np.float64)).diagonal()
        return K.T @ self.weights, own - np.einsum("ij,ij->j", half, half)

    def evidence(self, max_iter: int) -> LaplaceEvidence:
        """Return the evidence as a function of the parameters of the kernel."""
        return LaplaceEvidence(
            KernelFamily(self.kernel, self.points, self.names), self.labels, max_iter
        )


class GaussianProcessClassifier(ClassifierMixin, GaussianProcess):
    """Gaussian process classification with any kernel on any data, by Laplace's approximation.

    f ~ GP(0, k), P(y = 1 | x) = σ(f(x)); several classes one against the rest, or in pairs

    A drop-in for ``sklearn.gaussian_process.GaussianProcessClassifier``, with its defaults.
    Probabilities are averages of σ over the latent function, by quadrature.

    Parameters
    ----------
    kernel : Kernel, optional
        ``1.0 * RBF(length_scale=1.0)`` with both parameters fixed by default.
    optimizer, n_restarts_optimizer, max_iter_predict, warm_start, copy_X_train, random_state
        As in scikit-learn.
    multi_class : {"one_vs_rest", "one_vs_one"}
    n_jobs
        Taken for scikit-learn's sake; all cores work on each fit.
    fixed, bounds
        As in :class:`GaussianProcessRegressor`.

    Attributes
    ----------
    classes_, n_classes_
    log_marginal_likelihood_value_ : float
        The approximate evidence, the mean of all where there are several classes.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [None, Kernel, TheirKernel],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "max_iter_predict": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "copy_X_train": ["boolean"],
        "random_state": ["random_state"],
        "multi_class": [StrOptions({"one_vs_rest", "one_vs_one"})],
        "n_jobs": [Integral, None],
        "fixed": ["array-like"],
        "bounds": [tuple, list, dict],
    }
    strict = False

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_predict: int = 100,
        warm_start: bool = False,
        copy_X_train: bool = True,
        random_state: Any = None,
        multi_class: str = "one_vs_rest",
        n_jobs: int | None = None,
        fixed: Any = (),
        bounds: Any = (1e-5, 1e5),
    ) -> None:
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_predict = max_iter_predict
        self.warm_start = warm_start
        self.copy_X_train = copy_X_train
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.fixed = fixed
        self.bounds = bounds

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the parameters of the kernel, and find the mode of the posterior.

        Parameters
        ----------
        X : array, frame or list of shape (n, …)
        y : array of shape (n,)
            The classes.
        """
        self._check_parameters()
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._read_training(X, None)
        labels = _check_y(y, multi_output=False, estimator=self)
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        _check_rows(X, type(self).__name__)
        if self._takes_vectors():
            self._check_columns(X)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        if self.n_classes_ == 1:
            raise ValueError(
                "GaussianProcessClassifier requires 2 or more distinct classes; got 1 class (only "
                f"class {self.classes_[0]} is present)"
            )
        kernel, points = self._bind(X)
        check_definite(kernel, Definite.POSITIVE, False, type(self).__name__)
        self.latents_ = [
            self._fit_latent(kernel, points, rows, positive)
            for rows, positive in self._problems(codes)
        ]
        self.log_marginal_likelihood_value_ = float(np.mean([part.value for part in self.latents_]))
        return self

    def predict(self, X: Any) -> Any:
        """Return the class of each object."""
        mean, _ = self._moments(X)
        if self.n_classes_ == 2:
            return self.classes_[(mean[0] > 0).astype(int)]
        if self.multi_class == "one_vs_rest":
            # σ averaged keeps the order of classes better than the mean of f alone.
            return self.classes_[self._shares(X).argmax(axis=1)]
        votes = np.zeros((mean.shape[1], self.n_classes_))
        for (a, b), part in zip(combinations(range(self.n_classes_), 2), mean, strict=True):
            votes[np.arange(len(part)), np.where(part > 0, b, a)] += 1
            # Doubt decides between classes with as many votes.
            votes[:, b] += 1e-6 * np.tanh(part)
            votes[:, a] -= 1e-6 * np.tanh(part)
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. "
                "Use one_vs_rest mode instead."
            )
        shares = self._shares(X)
        if self.n_classes_ == 2:
            return np.column_stack([1 - shares[:, 0], shares[:, 0]])
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Return the mean and the variance of the latent function (two classes)."""
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for "
                f"binary classification, received {self.n_classes_} classes."
            )
        mean, variance = self._moments(X)
        return mean[0], variance[0]

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Return the approximate evidence of log parameters θ, with its gradient if asked for.

        For several classes it is the mean over the latent functions, and θ is for each of them or
        for all one after the other.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        at = np.asarray(theta, dtype=np.float64)
        count, size = len(self.latents_), len(self.latents_[0].names)
        if count > 1 and eval_gradient:
            raise NotImplementedError(
                "Gradient of log-marginal-likelihood not implemented for multi-class GPC."
            )
        if at.shape not in ((size,), (size * count,)):
            raise ValueError(
                f"Shape of theta must be either {size} or {size * count}. Obtained theta with "
                f"shape {at.shape}."
            )
        parts = np.resize(at, (count, size)) if at.size == size else at.reshape(count, size)
        if not clone_kernel and self.latents_[0].published is not self.latents_[0].kernel:
            for latent, part in zip(self.latents_, parts, strict=True):
                latent.published.theta = part
        values = [self._likelihood(latent, part, eval_gradient) for latent, part in
                  zip(self.latents_, parts, strict=True)]  # fmt: skip
        return values[0] if count == 1 else np.mean(values)

    @property
    def kernel_(self) -> Any:
        """The kernel with the parameters that were learnt, or the kernels of several classes."""
        if not hasattr(self, "latents_"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet.")
        kernels = [latent.published for latent in self.latents_]
        if len(kernels) == 1:
            return kernels[0]
        return CompoundKernel(kernels) if isinstance(kernels[0], TheirKernel) else kernels

    # ---- inside ------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel")
        self._validate_params()
        self._prior_kernel()

    def _free(self, kernel: Kernel) -> Any:
        if self.kernel is not None:
            return super()._free(kernel)
        # scikit-learn's default kernel has nothing to learn.
        from mercer.estimators.gp_kernels import parameters_of

        return parameters_of(kernel, list(kernel.free_parameters()))

    def _problems(self, codes: IntArray) -> list[tuple[IntArray, Any]]:
        """Return the rows of each binary problem, and which of them are its positive class."""
        everything = np.arange(len(codes))
        if self.n_classes_ == 2:
            return [(everything, codes == 1)]
        if self.multi_class == "one_vs_rest":
            return [(everything, codes == c) for c in range(self.n_classes_)]
        pairs = []
        for a, b in combinations(range(self.n_classes_), 2):
            rows = np.flatnonzero((codes == a) | (codes == b))
            pairs.append((rows, codes[rows] == b))
        return pairs

    def _fit_latent(self, kernel: Kernel, points: Points, rows: IntArray, positive: Any) -> Latent:
        inside = points if len(rows) == len(points) else points.take(rows)
        free = self._free(kernel)
        labels = positive.astype(np.float64)
        evidence = LaplaceEvidence(
            KernelFamily(free.kernel, inside, free.names), labels, self.max_iter_predict
        )

        def likelihood(theta: Array, gradient: bool) -> Any:
            if not gradient:
                return evidence.value(theta * free.scales)
            value, slope = evidence.value_and_gradient(theta * free.scales)
            return value, slope * free.scales

        best = self._learn(free, likelihood)
        if not np.isfinite(best.value):
            raise InvalidParameter(
                f"{type(self).__name__}: the kernel {kernel} is not positive definite on these "
                "data. Check it with check_kernel."
            )
        settled = evidence.family.at(best.theta * free.scales)
        published = settled if free.original is None else free.original.clone_with_theta(best.theta)
        mode = evidence.mode(evidence.family.matrix(settled))
        return Latent(
            settled, published, inside, rows, labels, list(free.names), free.scales,
            labels - mode.pi, mode.root, mode.factor.lower(), mode.f, best.value,
        )  # fmt: skip

    def _likelihood(self, latent: Latent, theta: Array, gradient: bool) -> Any:
        evidence = latent.evidence(self.max_iter_predict)
        if not gradient:
            return np.float64(evidence.value(theta * latent.scales))
        value, slope = evidence.value_and_gradient(theta * latent.scales)
        return value, slope * latent.scales

    def _moments(self, X: Any) -> tuple[Array, Array]:
        X = self._read_new(X)
        points = self.latents_[0].kernel.encode(X)
        found = [latent.moments(points) for latent in self.latents_]
        return np.array([mean for mean, _ in found]), np.array([var for _, var in found])

    def _shares(self, X: Any) -> Array:
        mean, variance = self._moments(X)
        pairs = zip(mean, variance, strict=True)
        return np.column_stack([logistic_mean(m, v) for m, v in pairs])
