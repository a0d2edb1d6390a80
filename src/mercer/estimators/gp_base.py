"""What Gaussian processes for regression and classification share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as TheirKernel
from sklearn.utils import check_random_state

from mercer._typing import Array
from mercer.estimators.choice import caller_level
from mercer.estimators.gp_kernels import Parameters, is_periodic, parameters_of, usual_kernel
from mercer.estimators.machine import KernelMachine
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import VectorEncoder
from mercer.kernels.points import Points
from mercer.solvers.evidence import Optimum, is_flat, maximise

Likelihood = Callable[..., Any]


class GaussianProcess(KernelMachine):
    """A prior over functions given by a kernel whose parameters are learnt from the evidence."""

    optimizer: Any
    n_restarts_optimizer: int
    random_state: Any
    fixed: Any
    bounds: Any

    @property
    def _mode(self) -> str:
        return "kernel"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags

    def _prior_kernel(self) -> Kernel:
        """Return the kernel as one of mercer's, before it is settled on data."""
        if self.kernel is None:
            return usual_kernel()
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if not isinstance(self.kernel, TheirKernel):
            raise InvalidParameter(
                f"{type(self).__name__}: kernel={self.kernel!r} has to be a kernel of mercer's "
                "such as RBF(), Matern() or 2.0 * RBF() + White()."
            )
        return parameters_of(self.kernel).kernel

    def _takes_vectors(self) -> bool:
        encoders = self._prior_kernel().encoders()
        return all(isinstance(encoder, VectorEncoder) for encoder in encoders)

    def _encode(self, X: Any) -> tuple[Kernel, Points]:
        twin = copy(self)
        twin.kernel = self._prior_kernel()
        return KernelMachine._encode(twin, X)

    def _free(self, kernel: Kernel) -> Parameters:
        """Return what there is to learn of a settled kernel."""
        if self.kernel is None or isinstance(self.kernel, Kernel):
            return parameters_of(kernel, self.fixed, self.bounds)
        return parameters_of(clone(self.kernel))

    def _learn(self, free: Parameters, likelihood: Likelihood) -> Optimum:
        """Maximise the evidence over θ from several starts.

        ``likelihood(theta, gradient)`` gives the evidence, with its gradient if asked for.
        """
        best = self._ascend(free, likelihood)
        if self.optimizer is not None and len(best.theta):
            self._warn_at_bounds(best, free, likelihood)
        return best

    def _ascend(self, free: Parameters, likelihood: Likelihood) -> Optimum:
        start, bounds = free.theta, free.bounds
        if self.optimizer is None or not len(start):
            return Optimum(start, float(likelihood(start, False)), True, 1)
        starts = [start]
        if self.n_restarts_optimizer > 0:
            if not np.isfinite(bounds).all():
                raise ValueError(
                    "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds "
                    "are finite."
                )
            random = check_random_state(self.random_state)
            starts += [
                random.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(self.n_restarts_optimizer)
            ]
        return self._climb(starts, bounds, likelihood)

    def _climb(self, starts: list[Array], bounds: Array, likelihood: Likelihood) -> Optimum:
        if not callable(self.optimizer):
            found = maximise(lambda theta: likelihood(theta, True), starts, bounds)
            for message in found.messages:
                warnings.warn(
                    f"{type(self).__name__}: an ascent of the evidence did not converge "
                    f"({message}). Scale the data, or raise alpha.",
                    ConvergenceWarning,
                    stacklevel=caller_level(),
                )
            return found

        def objective(theta: Array, eval_gradient: bool = True) -> Any:
            result = likelihood(np.asarray(theta, dtype=float), eval_gradient)
            return (-result[0], -result[1]) if eval_gradient else -result

        best: Optimum | None = None
        for start in starts:
            theta, value = self.optimizer(objective, start, bounds=bounds)
            if best is None or -value > best.value:
                best = Optimum(np.asarray(theta, dtype=float), -float(value), True, 0)
        assert best is not None
        return best

    def _warn_at_bounds(self, best: Optimum, free: Parameters, likelihood: Likelihood) -> None:
        """Say which parameters ended at a bound, and whether the evidence is flat there."""
        if free.original is not None:
            # scikit-learn's kernels say it themselves.
            free.original.theta = best.theta
            free.original._check_bounds_params()
            return
        for j, (name, (low, high)) in enumerate(zip(free.names, free.bounds, strict=True)):
            near = [e for e in (low, high) if abs(best.theta[j] - e) < 1e-6 * max(1.0, abs(e))]
            if not near:
                continue
            flat = is_flat(lambda theta: likelihood(theta, False), best.theta, j)
            what = "the evidence is flat there" if flat else "the evidence still rises"
            warnings.warn(
                f"{type(self).__name__}: {name} ended at its bound {np.exp(near[0]):.3g}; {what}. "
                f"Fix it (fixed=[{name!r}]), or widen the bounds.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def _publish_kernel(self, free: Parameters, theta: Array) -> None:
        """Set the kernel with the parameters that were learnt."""
        values = {n: float(np.exp(s * t)) for n, s, t in zip(free.names, free.scales, theta,
                                                            strict=True)}  # fmt: skip
        self._kernel = free.kernel.with_parameters(values) if values else free.kernel
        self.kernel_: Any = self._kernel
        if free.original is not None:
            self.kernel_ = free.original.clone_with_theta(theta)

    def _check_columns(self, X: Any) -> None:
        """Refuse a translated periodic kernel where it means something else."""
        if is_periodic(self.kernel) and np.shape(X)[1] > 1:
            raise InvalidParameter(
                f"{type(self).__name__}: scikit-learn's ExpSineSquared has no counterpart for "
                f"{np.shape(X)[1]} columns. Use mercer's Periodic, a product over columns."
            )
