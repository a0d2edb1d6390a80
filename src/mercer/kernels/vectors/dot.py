"""Kernels of the dot product."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np

from mercer import _memory
from mercer._typing import Array
from mercer.exceptions import InvalidParameter
from mercer.kernels.algebra import power
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import Game, Over, PowerGame
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import VectorEncoder
from mercer.kernels.features import Features
from mercer.kernels.pairs import Values
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import DotProduct, Statistic
from mercer.kernels.vectors.radial import total_variance


class _Dot(Kernel):
    """A kernel of t = ⟨x, z⟩."""

    encoder = VectorEncoder()

    def statistics(self) -> Sequence[Statistic]:
        return [DotProduct(self.encoder)]

    def dot(self, values: Values) -> Array:
        """Return t in an array of its own."""
        return values.fresh(DotProduct(self.encoder))


class Linear(_Dot):
    """Linear kernel, the dot product itself.

    k(x, z) = ⟨x, z⟩

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    definite = Definite.POSITIVE
    has_features = True
    over_columns = Over.SUM

    def evaluate(self, values: Values) -> Array:
        return self.dot(values)

    def feature_map(self, points: Points) -> Features:
        return Features.numbered(cast(Vectors, points[self.encoder]).values)


class Cosine(_Dot):
    """Cosine of the angle between two vectors; 0 where one of them is 0.

    k(x, z) = ⟨x, z⟩/(‖x‖ ‖z‖)

    Examples
    --------
    >>> from mercer import Cosine
    >>> Cosine()([[3.0, 4.0]], [[6.0, 8.0], [4.0, -3.0], [1.0, 0.0], [0.0, 0.0]])
    array([[1. , 0. , 0.6, 0. ]])
    """

    definite = Definite.POSITIVE
    has_features = True

    def evaluate(self, values: Values) -> Array:
        return Linear().normalized().evaluate(values)

    def feature_map(self, points: Points) -> Features:
        return Linear().feature_map(points).normalized()


class _AffineDot(_Dot):
    """A kernel of γ⟨x, z⟩ + c, where γ may be ``"scale"``: 1/(d·Var X)."""

    gamma: float | str
    coef0: float

    def check_parameters(self) -> None:
        if isinstance(self.gamma, str):
            if self.gamma != "scale":
                raise InvalidParameter(
                    f"{type(self).__name__}: gamma={self.gamma!r} has to be a number or 'scale'."
                )
        else:
            check_number(self, "gamma")
        check_number(self, "coef0")

    def resolve(self, points: Points) -> Self:
        if not isinstance(self.gamma, str):
            return self
        vectors = cast(Vectors, points[self.encoder])
        variance = total_variance(vectors)
        return self.replace(gamma=1 / (vectors.dimension * variance) if variance else 1.0)

    def free_parameters(self) -> dict[str, float]:
        own: dict[str, Any] = {"gamma": self.gamma, "coef0": self.coef0}
        return {n: float(v) for n, v in own.items() if not isinstance(v, str) and v > 0}

    def affine(self, values: Values) -> Array:
        """Return γ⟨x, z⟩ + c."""
        if isinstance(self.gamma, str):
            raise InvalidParameter(
                f"{self}: gamma has to be settled first: kernel.resolve(points)."
            )
        t = self.dot(values)
        t *= t.dtype.type(self.gamma)
        t += t.dtype.type(self.coef0)
        return t

    def _inner_gradient(self, values: Values, name: str) -> Array | float:
        if name == "coef0":
            return float(self.coef0)
        return self.affine(values) - self.coef0


class Polynomial(_AffineDot):
    """Polynomial kernel.

    k(x, z) = (γ⟨x, z⟩ + c)^d; positive semi-definite for γ, c ≥ 0 and a whole d

    Parameters
    ----------
    degree : float
        The exponent d.
    gamma : float or str
        γ; a number, or ``"scale"``: 1/(d·Var X) with d columns.
    coef0 : float
        The constant c.

    Examples
    --------
    >>> from mercer import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[1.0, 2.0], [2.0, -1.0]])  # (5 + 1)² and (0 + 1)²
    array([[36.,  1.]])
    """

    def __init__(self, degree: float = 3, gamma: float | str = 1.0, coef0: float = 1.0) -> None:
        self.degree, self.gamma, self.coef0 = degree, gamma, coef0
        super().__init__()

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number(self, "degree", low=0)

    @property
    def definite(self) -> Definite:
        positive = (isinstance(self.gamma, str) or self.gamma >= 0) and self.coef0 >= 0
        whole = float(self.degree).is_integer()
        return Definite.POSITIVE if positive and whole else Definite.INDEFINITE

    @property
    def has_features(self) -> bool:
        return self.definite is Definite.POSITIVE

    def evaluate(self, values: Values) -> Array:
        return power(self.affine(values), self.degree, self)

    def gradient(self, values: Values, name: str) -> Array:
        if name not in self.free_parameters():
            return super().gradient(values, name)
        if self.degree == 0:
            return np.zeros(values.shape, dtype=values.dtype)
        lower = power(self.affine(values), self.degree - 1, self)
        return np.asarray(lower * self._inner_gradient(values, name) * self.degree)

    def games(self, a: Points, b: Points) -> list[Game]:
        if self.degree < 1 or not float(self.degree).is_integer():
            return super().games(a, b)
        (dots,) = Linear().games(a, b)
        terms = dots.values * cast(float, self.gamma)
        return [PowerGame(dots.players, terms, constant=self.coef0, degree=int(self.degree))]

    def feature_map(self, points: Points) -> Features:
        """Return √(d!/(a₀! a₁! …)) √c^a₀ √γ^∣a∣ x^a for all ∣a∣ + a₀ = d."""
        vectors = cast(Vectors, points[self.encoder])
        scaled = vectors.dense() * math.sqrt(cast(float, self.gamma))
        if self.coef0 > 0:
            constant = np.full((len(vectors), 1), math.sqrt(self.coef0), dtype=vectors.dtype)
            scaled = np.hstack([constant, scaled])
        return Features.numbered(monomials(scaled.astype(vectors.dtype), int(self.degree), True))

    def feature_width(self, points: Points) -> float:
        d = cast(Vectors, points[self.encoder]).dimension + (self.coef0 > 0)
        return float(math.comb(d + int(self.degree) - 1, int(self.degree)))


class Sigmoid(_AffineDot):
    """Sigmoid kernel, of neural networks; not positive semi-definite in general.

    k(x, z) = tanh(γ⟨x, z⟩ + c)

    Parameters
    ----------
    gamma : float or str
        γ; a number, or ``"scale"``: 1/(d·Var X) with d columns.
    coef0 : float
        The constant c.

    Examples
    --------
    >>> from mercer import Sigmoid
    >>> k = Sigmoid(gamma=0.5, coef0=-1.0)
    >>> k([[2.0]], [[1.0], [5.0]]).round(4)  # tanh 0 and tanh 4
    array([[0.    , 0.9993]])
    >>> k.definite.name
    'INDEFINITE'
    """

    definite = Definite.INDEFINITE

    def __init__(self, gamma: float | str = 1.0, coef0: float = 0.0) -> None:
        self.gamma, self.coef0 = gamma, coef0
        super().__init__()

    def evaluate(self, values: Values) -> Array:
        t = self.affine(values)
        return np.tanh(t, out=t)

    def gradient(self, values: Values, name: str) -> Array:
        if name not in self.free_parameters():
            return super().gradient(values, name)
        slope = 1 - self.evaluate(values) ** 2
        return np.asarray(slope * self._inner_gradient(values, name))


def monomials(columns: Array, degree: int, weighted: bool) -> Array:
    """Return all products of ``degree`` columns, weighted by √(multinomial) if asked for."""
    n, d = columns.shape
    count = math.comb(d + degree - 1, degree)
    _memory.require(
        n * count * columns.dtype.itemsize * 2,
        f"A feature map of {count:,} coordinates for {n:,} rows",
        "Use the kernel itself, which needs none of them, or a lower degree.",
    )
    chosen = itertools.combinations_with_replacement(range(d), degree)
    factors = np.array(list(chosen), dtype=np.intp).reshape(count, degree)
    result = np.ones((n, count), dtype=columns.dtype)
    for t in range(degree):
        result *= columns[:, factors[:, t]]
    if weighted:
        result *= np.sqrt(_multinomials(factors)).astype(columns.dtype)
    return result


def _multinomials(factors: np.ndarray[Any, np.dtype[np.intp]]) -> Array:
    """Return d!/(a₁! a₂! …) for rows of sorted column numbers that stand aᵢ times each."""
    count, degree = factors.shape
    weights = np.full(count, float(math.factorial(degree)))
    run = np.ones(count)
    for t in range(1, degree):
        run = np.where(factors[:, t] == factors[:, t - 1], run + 1, 1.0)
        weights /= run
    return weights
