"""What a judge is given, and what it finds of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.report.verifier.page import Array, NoProof

FEASIBLE = 1e-6
"""How far multipliers may be out of their constraints, as a share of their sum: beyond it they are
no point of the dual problem, and bound nothing."""
EPSILON = 2.0**-52
"""Rounding of one operation in float64."""
ROUNDING = 64 * EPSILON
"""What rounding may do to a sum, as a share of the sizes that it adds up: 64 times that of one
operation, which sums of thousands of terms stay below."""
HARD = 1e-3
"""How far a constraint that no price softens may be broken; beyond it an answer is none."""

Tree = Mapping[str, Any]
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Found:
    """What was computed of a problem, and what rounding may have done to it.

    ``mass`` is the sum of the multipliers, of which ``broken`` says how far they are out of their
    constraints: the dual feasibility, where nothing else is said. ``faults`` are reasons why it is
    no proof.
    """

    primal: float
    dual: float
    stationarity: float
    value_rounding: float
    residual_rounding: float
    mass: float
    primal_feasibility: float = 0.0
    dual_feasibility: float = 0.0
    complementarity: float = 0.0
    product_rounding: float = 0.0
    broken: float | None = None
    faults: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


class Multiplied(NamedTuple):
    """A product with a matrix, and that of all sizes; a column for each vector."""

    f: Array
    size: Array


@dataclass(frozen=True, eq=False)
class StatedRows:
    """The rows x̃ = (x − m, constant) of a linear machine."""

    X: Array
    constant: float = 0.0

    def dot(self, w: Array) -> Multiplied:
        """Return w·x̃ at all rows."""
        if len(w) != self.X.shape[1] + (self.constant != 0):
            raise NoProof("a linear machine has not one weight for each column")
        return Multiplied(self._wide @ w, np.abs(self._wide) @ np.abs(w))

    def combine(self, v: Array) -> Multiplied:
        """Return Σ vᵢx̃ᵢ."""
        if len(v) != len(self.X):
            raise NoProof("a problem has not as many multipliers as rows")
        return Multiplied(self._wide.T @ v, np.abs(self._wide).T @ np.abs(v))

    @property
    def _wide(self) -> Array:
        if not self.constant:
            return self.X
        return np.column_stack([self.X, np.full(len(self.X), self.constant)])


def top(values: Array) -> float:
    """Return the largest value, 0 at least."""
    return float(values.max(initial=0.0))


def labels_of(data: Arrays, classes: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which class is that of each row, a column for each, or refuse the targets."""
    places = np.arange(classes)
    own = data["targets"][:, None] == places
    if data["targets"].ndim != 1 or not own.any(axis=1).all():
        raise NoProof("rows are of classes that are not known")
    return np.asarray(own)


def require(good: bool, why: str) -> None:
    """Raise unless a condition holds."""
    if not good:
        raise NoProof(why)
