"""What the problems of a machine are stated from, and why some have no proof."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array, IntArray, Model, Objects, SampleWeights, Targets
from mercer.estimators.linear.logistic_regression import read_weights
from mercer.exceptions import InvalidInput


class TrainingData(NamedTuple):
    """Rows, targets and weights of rows (None for equal ones), as a machine has seen them."""

    X: Objects
    y: Targets
    sample_weight: SampleWeights

    @property
    def weights(self) -> Array:
        """The weight of each row."""
        n = len(np.asarray(self.y)) if self.y is not None else len(self.X)
        given = 1.0 if self.sample_weight is None else np.asarray(self.sample_weight, np.float64)
        return np.array(np.broadcast_to(given, n), dtype=np.float64)

    def codes(self, machine: Model) -> IntArray:
        """Return the numbers of the classes of rows."""
        return np.asarray(np.searchsorted(machine.classes_, np.asarray(self.y).ravel()))

    def class_weights(self, machine: Model) -> Array:
        """Return the weights of rows, those of their classes included."""
        codes, labels = self.codes(machine), np.asarray(self.y).ravel()
        none: Any = np.empty((len(codes), 0))
        return read_weights(
            none, labels, self.sample_weight, machine.class_weight, machine.classes_, codes
        )

    def points(self, machine: Model) -> Any:
        """Return the rows as the kernel of a machine sees them."""
        return machine.kernel_.training_points(machine.read(self.X))


def unprovable(what: str) -> InvalidInput:
    """Return the error that says why there is no proof to carry."""
    return InvalidInput(f"There is no proof to carry: {what} Leave the proof away.")
