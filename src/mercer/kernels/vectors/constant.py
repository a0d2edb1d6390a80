"""Kernels that do not look at the objects: a constant, and white noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import Game, ProductGame
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import Encoder
from mercer.kernels.features import Features
from mercer.kernels.pairs import Values
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Objects, Points
from mercer.kernels.statistics import Statistic


@dataclass(frozen=True)
class SameObject(Statistic):
    """1 where both are the very same object of one batch, 0 elsewhere."""

    encoder: Encoder = Encoder()

    def cost(self, points: Points) -> float:
        return 1.0

    def prepare(self, A: Points, B: Points) -> tuple[Objects, Objects]:
        return Objects(A.ids), Objects(B.ids)

    def compute(self, a: Objects, b: Objects, out: Array | None = None) -> Array:
        return np.asarray(a.items[:, None] == b.items, dtype=np.float32)

    def diagonal(self, a: Objects) -> Array:
        return np.ones(len(a), dtype=np.float32)

    def within(self, columns: tuple[Any, ...]) -> SameObject:
        return self


class Constant(Kernel):
    """The same value for all pairs.

    k(x, z) = c, c ≥ 0

    Parameters
    ----------
    value : float
        c.

    Examples
    --------
    A constant beside another kernel is a prior of the intercept:

    >>> from mercer import Constant, Linear
    >>> (Linear() + Constant(2.0))([[1.0], [3.0]])
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    definite = Definite.POSITIVE
    divisible = True
    has_features = True

    def __init__(self, value: float = 1.0) -> None:
        self.value = value
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "value", low=0)

    def encoders(self) -> dict[Encoder, str]:
        return {}

    def statistics(self) -> Sequence[Statistic]:
        return []

    def evaluate(self, values: Values) -> Array:
        return np.full(values.shape, self.value, dtype=values.dtype)

    def games(self, a: Points, b: Points) -> list[Game]:
        return [ProductGame((), np.empty((len(a), len(b), 0)), float(self.value))]

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

    Parameters
    ----------
    noise : float
        The variance s ≥ 0.

    Examples
    --------
    >>> from mercer import RBF, White
    >>> noisy = RBF(gamma=1.0) + White(noise=0.1)
    >>> noisy([[0.0], [0.0]])  # two measurements at one place
    array([[1.1, 1. ],
           [1. , 1.1]])
    >>> noisy([[0.0]], [[0.0]])  # the same place in another batch
    array([[1.]])
    """

    definite = Definite.POSITIVE
    divisible = True

    def __init__(self, noise: float = 1.0) -> None:
        self.noise = noise
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "noise", low=0)

    def encoders(self) -> dict[Encoder, str]:
        return {}

    def statistics(self) -> Sequence[Statistic]:
        return [SameObject()]

    def evaluate(self, values: Values) -> Array:
        return np.asarray(np.multiply(values[SameObject()], self.noise, dtype=values.dtype))

    def games(self, a: Points, b: Points) -> list[Game]:
        return []  # no new object is one of the training objects

    def free_parameters(self) -> dict[str, float]:
        return {"noise": float(self.noise)} if self.noise > 0 else {}

    def gradient(self, values: Values, name: str) -> Array:
        return self.evaluate(values)
