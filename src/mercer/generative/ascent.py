"""EM: several starts, the trace of each, and the proof that the likelihood went up."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._typing import Array

Parameters = TypeVar("Parameters")
_ROUNDING = 1e-10
_logger = logging.getLogger(__name__)


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
class Climb(Generic[Parameters]):
    """What EM reached from one start."""

    parameters: Parameters
    trace: Array
    converged: bool

    @property
    def steps(self) -> int:
        return len(self.trace) - 1


def climb(
    parameters: Parameters,
    step: Callable[[Parameters], tuple[float, Callable[[], Parameters]]],
    max_iter: int,
    tol: float,
) -> Climb[Parameters]:
    """Run EM from one start until a step gains less than ``tol``.

    ``step`` takes parameters and returns their objective and a function that makes the next ones.
    """
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        value, advance = step(parameters)
        trace.append(value)
        parameters = advance()
        # The step is taken even where it hardly matters, as scikit-learn does.
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol
        if converged:
            break
    trace.append(step(parameters)[0])
    return Climb(parameters, np.array(trace), converged)


def best_climb(
    owner: Any,
    starts: Iterator[Parameters],
    step: Callable[[Parameters], tuple[float, Callable[[], Parameters]]],
) -> Climb[Parameters]:
    """Run EM from several starts and return the highest of the climbs.

    ``owner`` has ``max_iter`` and ``tol`` and is named in the warning that none converged.
    """
    best: Climb[Parameters] | None = None
    for number, start in enumerate(starts):
        found = climb(start, step, owner.max_iter, owner.tol)
        _logger.debug(
            "start %d: %.6g after %d steps, %s",
            number,
            found.trace[-1],
            found.steps,
            "converged" if found.converged else "not converged",
        )
        if best is None or found.trace[-1] > best.trace[-1]:
            best = found
    assert best is not None
    if not best.converged and owner.max_iter:
        warnings.warn(
            f"{type(owner).__name__}: the best of its starts was still gaining "
            f"{best.trace[-1] - best.trace[-2]:.2g} a step after max_iter={owner.max_iter} steps. "
            "Raise max_iter or tol, or use fewer components.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return best
