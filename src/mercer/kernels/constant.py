"""Kernels that do not look at the objects: a constant, and white noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import Encoder
from mercer.kernels.evaluation import Values
from mercer.kernels.features import Features
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points
from mercer.kernels.statistics import SameObject, Statistic


class Constant(Kernel):
    """The same value for all pairs.

    k(x, z) = c, c ≥ 0
    """

    def __init__(self, value: float = 1.0) -> None:
        self.value = value
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "value", low=0)

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    @property
    def divisible(self) -> bool:
        return True

    @property
    def has_features(self) -> bool:
        return True

    def encoders(self) -> dict[Encoder, str]:
        return {}

    def statistics(self) -> Sequence[Statistic]:
        return []

    def evaluate(self, values: Values) -> Array:
        return np.full(values.shape, self.value, dtype=values.dtype)

    def free_parameters(self) -> dict[str, float]:
        return {"value": float(self.value)} if self.value > 0 else {}

    def gradient(self, values: Values, name: str) -> Array:
        return self.evaluate(values)

    def feature_map(self, points: Points) -> Features:
        column = np.full((len(points), 1), math.sqrt(self.value), dtype=points.dtype)
        return Features.numbered(column)


class White(Kernel):
    """White noise: correlated with nothing but itself.

    k(x, z) = s where x and z are the very same object, else 0. An equal object in another batch
    is not the same: ``k(X)`` is s times the identity, ``k(X, X.copy())`` is zero.
    """

    def __init__(self, noise: float = 1.0) -> None:
        self.noise = noise
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "noise", low=0)

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    @property
    def divisible(self) -> bool:
        return True

    def encoders(self) -> dict[Encoder, str]:
        return {}

    def statistics(self) -> Sequence[Statistic]:
        return [SameObject()]

    def evaluate(self, values: Values) -> Array:
        same: Array = values.fresh(SameObject()).astype(values.dtype)
        same *= self.noise
        return same

    def free_parameters(self) -> dict[str, float]:
        return {"noise": float(self.noise)} if self.noise > 0 else {}

    def gradient(self, values: Values, name: str) -> Array:
        return self.evaluate(values)
