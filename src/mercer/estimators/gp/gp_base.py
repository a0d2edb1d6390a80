"""What Gaussian processes for regression and classification share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as TheirKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from mercer._sklearn import Interval, StrOptions, check_kernel_bounds
from mercer._typing import Array, Objects, Seed
from mercer.estimators.base import KernelMachine
from mercer.estimators.constructor import parameters
from mercer.estimators.gp.gp_kernels import (
    Bounds,
    Parameters,
    is_periodic,
    parameters_of,
    prior_kernel,
    unlearnt_parameters,
)
from mercer.estimators.kernel_argument import GivenKernel, KernelArgument, caller_level
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.choose import Nystrom
from mercer.solvers.base import Budget, Status
from mercer.solvers.gp.evidence import EvidenceSolver, is_flat
from mercer.solvers.gp.evidence_ascent import GAIN, Optimizer, Optimum, maximise

Likelihood = Callable[[Array, bool], Any]
"""The evidence as a function of θ, with its gradient if asked for."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Means and standard deviations of Gaussian predictions."""

    mean: Array
    std: Array

    def interval(self, probability: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of the central intervals that hold a share of the probability."""
        reach = ndtri(0.5 + probability / 2) * self.std
        return self.mean - reach, self.mean + reach


@dataclass(frozen=True, eq=False)
class LikelihoodProblem:
    """An evidence that is given as a function, for ascents by gradients."""

    likelihood: Likelihood

    def value(self, theta: Array) -> float:
        """Return the evidence."""
        return float(self.likelihood(theta, False))

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the evidence and its gradient."""
        value, slope = self.likelihood(theta, True)
        return value, slope

    def climb(self, starts: Sequence[Array], bounds: Array, budget: Budget) -> Optimum:
        """Maximise the evidence within bounds from several starts."""
        return maximise(self.value_and_gradient, starts, bounds, budget=budget)


@parameters
class GaussianProcess(KernelMachine):
    """A prior over functions given by a kernel whose parameters are learnt from the evidence.

    Parameters
    ----------
    optimizer : {"fmin_l_bfgs_b"}, function or None
        The default is scikit-learn's word; the ascent takes damped Newton steps with the average
        information as curvature, which need far fewer evaluations than L-BFGS. None keeps the
        parameters as they are.
    n_restarts_optimizer : int
        Further starts of the ascent, drawn between the bounds.
    copy_X_train : bool
        Whether the training data are copied.
    random_state : int, RandomState or None
        Draws the further starts.
    fixed : sequence of str
        Names of parameters of the kernel (see ``kernel.free_parameters()``) that are not learnt.
    bounds : (low, high) or dict
        Bounds of the parameters of mercer's kernels, for all or by name.
    time_limit : float, optional
        Seconds after which the ascent of the evidence stops, at the best parameters until then.
    """

    kernel: Kernel | TheirKernel | None = None
    _: KW_ONLY
    optimizer: str | Optimizer | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    copy_X_train: bool = True  # noqa: N815 - scikit-learn's name
    random_state: Seed = None
    fixed: Sequence[str] = ()
    bounds: Bounds = (1e-5, 1e5)
    time_limit: float | None = None
    approximation: int | Nystrom | None = None

    learns_kernel = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [None, Kernel, TheirKernel],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "fixed": ["array-like"],
        "bounds": [tuple, list, dict],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "approximation": "no_validation",
    }

    @property
    def kernel_argument(self) -> KernelArgument:
        return GivenKernel(self._prior_kernel())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags

    def _check_parameters(self) -> None:
        self._validate_params()
        self._prior_kernel()

    def _prior_kernel(self) -> Kernel:
        """Return the kernel as one of mercer's, before it is settled on data."""
        return prior_kernel(self.kernel)

    def _predict_prior(self, X: Objects, count: int, return_std: bool, return_cov: bool) -> Any:
        """Return what the prior says of ``count`` targets, before anything was learnt."""
        if self._takes_vectors():
            X = validate_data(self, X, ensure_2d=True, dtype="numeric", reset=False)
        kernel = self._prior_kernel()
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

    def white_noise(self, X: Objects) -> Array:
        """Return what White() in the kernel adds to the variance of new objects."""
        kernel: Kernel = vars(self).get("_kernel", self._prior_kernel())
        points, others = kernel.encode(X), kernel.encode(X)
        kernel = kernel.resolve(points)
        variances = Evaluator(kernel, Pairs(points, None, None, np.float64)).diagonal()
        # Equal objects that are not the same one share all but the noise.
        apart = Evaluator(kernel, Pairs(points, others, None, np.float64)).dense()
        spread = np.atleast_1d(vars(self).get("_y_train_std", 1.0))[0]
        return np.asarray(spread**2 * (variances - np.diagonal(apart)))

    def _free(self, kernel: Kernel, points: Points) -> Parameters:
        """Return what there is to learn of a kernel that is settled on training points."""
        return parameters_of(self.kernel, kernel, points, self.fixed, self.bounds)

    def _warn_of_unlearnt(self, kernel: Kernel) -> None:
        """Say which parameters of a settled kernel stay as they are, though nobody fixed them."""
        names = [name for name in unlearnt_parameters(kernel) if name not in self.fixed]
        if self.optimizer is None or not names:
            return
        warnings.warn(
            f"{type(self).__name__}: {' and '.join(names)} of {str(kernel)[:80]} stay as they are: "
            "the evidence has no derivative for them. Choose them by GridSearchCV, let "
            f"GP(X, y, kernel) search them, or say that this is meant: fixed={names}.",
            UserWarning,
            stacklevel=caller_level(),
        )

    def _budget(self) -> Budget:
        return Budget.within(self.time_limit, tol=GAIN)

    def _solver(self, free: Parameters) -> EvidenceSolver[Any]:
        """Return the solver that learns the parameters as this machine was asked to."""
        starts, bounds = [free.theta], free.bounds
        if self.optimizer is not None and len(free.names) and self.n_restarts_optimizer > 0:
            if not np.isfinite(bounds).all():
                raise ValueError(
                    "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds "
                    "are finite."
                )
            random = check_random_state(self.random_state)
            starts += [
                random.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(self.n_restarts_optimizer)
            ]
        own = self.optimizer if callable(self.optimizer) else None
        return EvidenceSolver(starts, bounds, own, self.optimizer is not None)

    def _warn_of(self, best: Optimum, free: Parameters, value: Callable[[Array], float]) -> None:
        """Say where the ascent ended, if that is no top; ``value`` is the evidence."""
        if best.status is Status.TIME_LIMIT:
            self._warn(best.status.advice)
        for message in best.messages:
            self._warn(
                f"an ascent of the evidence did not converge ({message}). Scale the data, or "
                "raise alpha."
            )
        if self.optimizer is not None and len(best.theta):
            self._warn_at_bounds(best, free, value)

    def _warn(self, message: str) -> None:
        warnings.warn(
            f"{type(self).__name__}: {message}", ConvergenceWarning, stacklevel=caller_level()
        )

    def _warn_at_bounds(
        self, best: Optimum, free: Parameters, value: Callable[[Array], float]
    ) -> None:
        """Say which parameters ended at a bound, and whether the evidence is flat there."""
        if free.original is not None:
            # scikit-learn's kernels say it themselves.
            free.original.theta = best.theta
            check_kernel_bounds(free.original)
            return
        for j, (name, (low, high)) in enumerate(zip(free.names, free.bounds, strict=True)):
            near = [e for e in (low, high) if abs(best.theta[j] - e) < 1e-6 * max(1.0, abs(e))]
            if near == [high] and high == np.log(free.limits.get(name, np.inf)):
                continue  # there is nothing beyond
            if not near:
                continue
            flat = is_flat(value, best.theta, best.value, j)
            what = "the evidence is flat there" if flat else "the evidence still rises"
            self._warn(
                f"{name} ended at its bound {np.exp(near[0]):.3g}; {what}. Fix it "
                f"(fixed=[{name!r}]), or widen the bounds."
            )

    def _check_columns(self, X: Objects) -> None:
        """Refuse a translated periodic kernel where it means something else."""
        if is_periodic(self.kernel) and np.shape(X)[1] > 1:
            raise InvalidParameter(
                f"{type(self).__name__}: scikit-learn's ExpSineSquared has no counterpart for "
                f"{np.shape(X)[1]} columns. Use mercer's Periodic, a product over columns."
            )


def noise_variances(alpha: float | Array, n: int, owner: str) -> Array:
    """Return the variance of the noise of each of n rows."""
    noise = np.asarray(alpha, dtype=np.float64)
    if noise.ndim and noise.shape[0] != n and noise.shape[0] != 1:
        raise ValueError(
            "alpha must be a scalar or an array with same number of entries as y. "
            f"({noise.shape[0]} != {n})"
        )
    if not np.isfinite(noise).all() or noise.min() < 0:
        raise InvalidParameter(f"{owner}: alpha has to be finite and ≥ 0.")
    return np.broadcast_to(noise, n).copy()


def center_and_spread(targets: Array, normalize: bool) -> tuple[Any, Any]:
    """Return the mean and the spread of the targets; both are trivial where nobody asked."""
    if not normalize:
        shape = (targets.shape[1],) if targets.ndim == 2 else (1,)
        return np.zeros(shape), np.ones(shape)
    spread = np.asarray(targets.std(axis=0))
    constant = spread <= 10 * np.finfo(np.float64).eps * np.abs(targets).max(axis=0)
    return targets.mean(axis=0), np.where(constant, 1.0, spread)[()]


def one_or_all(values: Array) -> Array:
    """Drop the axis of targets where there is one."""
    return values[..., 0] if values.ndim > 1 and values.shape[-1] == 1 else values
