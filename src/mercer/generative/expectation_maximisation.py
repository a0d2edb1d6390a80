"""Expectation maximisation: several starts, the trace of each, and the proof that it ascends."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._atomic_fit import AtomicFit
from mercer._files.fields import COUNT, FLAG, Maybe, Numbers, State
from mercer._typing import Array, Objects, Targets
from mercer.exceptions import NumericalOverflow

Parameters = TypeVar("Parameters")
Step = Callable[[Parameters], tuple[float, Callable[[], Parameters]]]
"""The E-step: takes parameters, returns their objective and the M-step, which makes the next."""

_ROUNDING = 1e-10
"""A relative drop that sums over rows may show in float64 where the objective stands still."""
_logger = logging.getLogger(__name__)


FIT: State = {"trace_": Maybe(Numbers("steps")), "converged_": Maybe(FLAG), "n_iter_": Maybe(COUNT)}
"""What a model keeps of its fit; a model of given parameters has none of it."""


@dataclass(frozen=True, eq=False)
class Ascent:
    """Evidence that every step of EM raised the objective.

    Attributes
    ----------
    trace : array
        The objective before the first step and after every step.
    """

    trace: Array

    @property
    def largest_drop(self) -> float:
        """The largest decrease in one step; zero, up to rounding, for a correct EM."""
        return float(max(0.0, -np.diff(self.trace).min(initial=0.0)))

    @property
    def gain(self) -> float:
        """The increase by the last step."""
        return float(self.trace[-1] - self.trace[-2]) if len(self.trace) > 1 else 0.0

    @property
    def is_monotone(self) -> bool:
        """Whether no step lowered the objective by more than rounding does."""
        return self.largest_drop <= _ROUNDING * max(1.0, float(np.abs(self.trace).max()))


@dataclass(frozen=True, eq=False)
class LocalMaximum(Generic[Parameters]):
    """What EM reached from one start."""

    parameters: Parameters
    trace: Array
    converged: bool

    @property
    def steps(self) -> int:
        return len(self.trace) - 1

    @property
    def bound(self) -> float:
        """The objective before the last step, by which scikit-learn chooses among starts."""
        return float(self.trace[-2 if self.steps else -1])


class FittedByEM(AtomicFit, DensityMixin, BaseEstimator):
    """What models share that are fitted by expectation maximisation.

    Attributes
    ----------
    trace_ : array
        The objective before the first step and after every step.
    converged_ : bool
        Whether the last step gained less than ``tol``.
    n_iter_ : int
        The number of steps.
    """

    tol: float
    max_iter: int
    trace_: Array
    converged_: bool
    n_iter_: int

    @property
    def ascent_(self) -> Ascent:
        """The proof that every step of EM raised the objective."""
        check_is_fitted(self, "trace_")
        return Ascent(self.trace_)

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that it cannot have."""
        self._validate_params()

    def score_samples(self, X: Objects) -> Array:
        """Return log p(x) of each object."""
        raise NotImplementedError

    def score(self, X: Objects, y: Targets = None) -> float:
        """Return the mean of log p(x)."""
        return float(self.score_samples(X).mean())

    def _fit_by_em(
        self, starts: Iterable[Parameters], step: Step[Parameters], before: float = -np.inf
    ) -> Parameters:
        """Return the best parameters from several starts, and publish how EM got there.

        ``before`` is the objective one step before the start, where a fit goes on from another.
        """
        found = [self._ascend(number, start, step, before) for number, start in enumerate(starts)]
        best = max(found, key=lambda local: local.bound)
        if not np.isfinite(best.trace[-1]):
            raise NumericalOverflow(
                f"{type(self).__name__}: the densities of these data are too large or too small "
                "for floats. Scale the columns, and look for odd values."
            )
        self.trace_, self.converged_, self.n_iter_ = best.trace, best.converged, best.steps
        if not best.converged and self.max_iter:
            warnings.warn(
                f"{type(self).__name__}: Best performing initialization did not converge. Try "
                "different init parameters, or increase max_iter, tol, or check for degenerate "
                f"data. It was still gaining {best.trace[-1] - best.trace[-2]:.2g} a step after "
                f"max_iter={self.max_iter} steps.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return best.parameters

    def _ascend(
        self, number: int, start: Parameters, step: Step[Parameters], before: float
    ) -> LocalMaximum[Parameters]:
        found = expectation_maximisation(start, step, self.max_iter, self.tol, before)
        _logger.debug(
            "start %d: %.6g after %d steps, %s",
            number,
            found.trace[-1],
            found.steps,
            "converged" if found.converged else "not converged",
        )
        return found


def expectation_maximisation(
    parameters: Parameters,
    step: Step[Parameters],
    max_iter: int,
    tol: float,
    before: float = -np.inf,
) -> LocalMaximum[Parameters]:
    """Run EM from one start until a step, perhaps that to the start, gains less than ``tol``."""
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        value, maximise = step(parameters)
        trace.append(value)
        parameters = maximise()
        # The step is taken even where it hardly matters, as scikit-learn does.
        converged = abs(value - before) < tol
        before = value
        if converged:
            break
    trace.append(step(parameters)[0])
    return LocalMaximum(parameters, np.array(trace), converged)
