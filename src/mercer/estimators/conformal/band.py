"""The band around a machine's answers that the errors of numbers are measured from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer._sklearn import num_samples
from mercer._typing import Array, Model, Objects, Targets

_LEAST_SCALE = 0.1
"""Share of the usual residual below which no scale goes: one near 0 would promise nothing."""


@dataclass(frozen=True, eq=False)
class Band:
    """A fitted machine and its band [low, high]; y has the score max(low − y, y − high)/scale.

    Attributes
    ----------
    machine : estimator
        What answers.
    ends : pair of estimators, optional
        The machines of the lower and the upper end; without them both are the answer itself.
    second : estimator, optional
        The machine that predicts ∣residual∣, the scale.
    usual : float
        The mean ∣residual∣ of the training rows.
    own_scale : bool
        Whether the scale is the standard deviation that the machine itself gives.
    """

    machine: Any
    ends: tuple[Any, Any] | None = None
    second: Any = None
    usual: float = 1.0
    own_scale: bool = False

    @classmethod
    def fitted(
        cls, machine: Model, X: Objects, y: Targets, measure: str, others: dict[str, Any]
    ) -> Self:
        """Fit to some rows; ``others`` has the ``ends`` of a band, and who predicts its ``scale``.

        Parameters are as in ``Conformal``.
        """
        machine = clone(machine).fit(X, y)
        if measure == "quantiles":
            low, high = others["ends"]
            return cls(machine, (clone(low).fit(X, y), clone(high).fit(X, y)))
        if measure != "local":
            return cls(machine)
        if hasattr(machine, "sample_y"):
            return cls(machine, own_scale=True)
        residuals = np.abs(y - np.asarray(machine.predict(X), dtype=float))
        second = clone(others["scale"]).fit(X, residuals)
        return cls(machine, second=second, usual=float(residuals.mean()) or 1.0)

    def at(self, X: Objects) -> tuple[Array, Array, Array]:
        """Return the lower ends, the upper ends and the scales."""
        if self.own_scale:
            centre, deviation = self.machine.predict(X, return_std=True)
            return centre, centre, np.asarray(deviation, dtype=float)
        if self.ends is not None:
            low, high = (np.asarray(end.predict(X), dtype=float) for end in self.ends)
            # Two machines may cross; their answers in order are a band again.
            return np.minimum(low, high), np.maximum(low, high), np.ones(len(low))
        centre = np.asarray(self.machine.predict(X), dtype=float)
        if self.second is None:
            return centre, centre, np.ones(num_samples(X))
        scale = np.maximum(self.second.predict(X), _LEAST_SCALE * self.usual)
        return centre, centre, np.asarray(scale, dtype=float)

    def scores(self, X: Objects, y: Targets) -> Array:
        """Return how far targets lie outside, as multiples of the scale; below 0 inside."""
        low, high, scale = self.at(X)
        return np.asarray(np.maximum(low - y, y - high) / scale)

    def widened(self, X: Objects, scores: Array) -> tuple[Array, Array]:
        """Return both ends for each object (rows) and each score (columns)."""
        low, high, scale = self.at(X)
        reach = scale[:, None] * scores
        return low[:, None] - reach, high[:, None] + reach
