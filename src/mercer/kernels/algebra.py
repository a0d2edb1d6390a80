"""New kernels from old: sums, products, powers, exponentials, power series.

Nodes are binary and never flattened: ``(a * b) + c`` is a sum whose left side is a product.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter, NoExplanation
from mercer.kernels import definite
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.coalitions import Game
from mercer.kernels.definite import Definite
from mercer.kernels.features import Features
from mercer.kernels.nodes import Pair, Wrapper, bracketed, short_number
from mercer.kernels.pairs import Values
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points
from mercer.kernels.vectors.constant import Constant

_MODEST = 1e6
"""Factors up to this one cannot make bounded values overflow, in sums and products of a few."""


def as_kernel(value: object) -> Kernel | None:
    """Return a kernel for a kernel or a number, None for anything else."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(float(value))
    return value if is_kernel(value) else None


def product(kernel: Kernel, other: object) -> Any:
    """Return k₁ · k₂, or c · k for a number."""
    if is_kernel(other):
        return Product(kernel, other)
    if isinstance(other, numbers.Real) and not isinstance(other, bool):
        return Scaled(kernel, float(other))
    return NotImplemented


class Sum(Pair):
    """Sum of two kernels.

    k(x, z) = k₁(x, z) + k₂(x, z)
    """

    binds = 0

    @property
    def definite(self) -> Definite:
        return definite.of_sum(self.left.definite, self.right.definite)

    def evaluate(self, values: Values) -> Array:
        return _add(self.left.evaluate(values), self.right.evaluate(values))

    def chain(self, values: Values, child: str, inner: Array) -> Array:
        return inner

    def feature_map(self, points: Points) -> Features:
        return Features.concatenate(self.left.feature_map(points), self.right.feature_map(points))

    def place_shares(self, point: Points) -> Features:
        left, right = self.left.place_shares(point), self.right.place_shares(point)
        if self.left.encoders().keys() != self.right.encoders().keys() or len(left) != len(right):
            raise NoExplanation(
                f"{self}: its summands look at different things, such as two columns, so their "
                "places are not those of one object."
            )
        return Features.concatenate(left, right)

    def feature_width(self, points: Points) -> float:
        return self.left.feature_width(points) + self.right.feature_width(points)

    def games(self, a: Points, b: Points) -> list[Game]:
        return self.left.games(a, b) + self.right.games(a, b)

    def terms(self) -> list[tuple[float, Kernel]]:
        return self.left.terms() + self.right.terms()

    def __repr__(self) -> str:
        return f"{self.left!r} + {bracketed(self.right, 1)}"


class Product(Pair):
    """Product of two kernels; of kernels on different columns, their tensor product.

    k(x, z) = k₁(x, z) · k₂(x, z)
    """

    binds = 1

    @property
    def definite(self) -> Definite:
        return definite.of_product(self.left.definite, self.right.definite)

    @property
    def divisible(self) -> bool:
        return self.left.divisible and self.right.divisible

    def evaluate(self, values: Values) -> Array:
        return _multiply(self.left.evaluate(values), self.right.evaluate(values))

    @property
    def is_exponential(self) -> bool:
        return self.left.is_exponential and self.right.is_exponential

    def log_values(self, values: Values) -> Array:
        return _add(self.left.log_values(values), self.right.log_values(values))

    def log_gradient(self, values: Values, name: str) -> Array:
        child, _, rest = name.partition("__")
        part: Kernel = getattr(self, child)
        return part.log_gradient(values, rest)

    def games(self, a: Points, b: Points) -> list[Game]:
        both = [[game.products() for game in side.games(a, b)] for side in (self.left, self.right)]
        if any(products is None for side in both for products in side):
            return super().games(a, b)
        left, right = ([game for products in side for game in products or ()] for side in both)
        return [one.times(two) for one in left for two in right]

    def chain(self, values: Values, child: str, inner: Array) -> Array:
        other = self.right if child == "left" else self.left
        return inner * other.evaluate(values)

    def feature_map(self, points: Points) -> Features:
        return Features.outer(self.left.feature_map(points), self.right.feature_map(points))

    def feature_width(self, points: Points) -> float:
        return self.left.feature_width(points) * self.right.feature_width(points)

    def __repr__(self) -> str:
        return f"{bracketed(self.left, 1)} * {bracketed(self.right, 2)}"


class Scaled(Wrapper):
    """A kernel times a number.

    c · k(x, z), c ≥ 0
    """

    binds = 1
    chain_is_product = True

    def __init__(self, kernel: Kernel, factor: float = 1.0) -> None:
        self.factor = factor
        super().__init__(kernel)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number(self, "factor", low=0)

    @property
    def definite(self) -> Definite:
        return definite.of_scaling(self.kernel.definite, self.factor)

    @property
    def bounded(self) -> bool:
        return self.kernel.bounded and self.factor <= _MODEST

    @property
    def divisible(self) -> bool:
        return self.kernel.divisible

    def evaluate(self, values: Values) -> Array:
        return _multiply(self.kernel.evaluate(values), self.factor)

    @property
    def is_exponential(self) -> bool:
        return self.factor > 0 and self.kernel.is_exponential

    def log_values(self, values: Values) -> Array:
        return self.kernel.log_values(values)

    def log_gradient(self, values: Values, name: str) -> Array:
        if name == "factor":
            return np.ones(values.shape, dtype=values.dtype)
        return self.kernel.log_gradient(values, name.partition("__")[2])

    def games(self, a: Points, b: Points) -> list[Game]:
        return [game.scaled(self.factor) for game in self.kernel.games(a, b)]

    def terms(self) -> list[tuple[float, Kernel]]:
        return [(self.factor * weight, term) for weight, term in self.kernel.terms()]

    def free_parameters(self) -> dict[str, float]:
        own = {"factor": float(self.factor)} if self.factor > 0 else {}
        return own | super().free_parameters()

    def gradient(self, values: Values, name: str) -> Array:
        return self.evaluate(values) if name == "factor" else super().gradient(values, name)

    def chain(self, values: Values, child: str, inner: Array) -> Array:
        return inner * self.factor

    def feature_map(self, points: Points) -> Features:
        return self.kernel.feature_map(points).scaled(math.sqrt(self.factor))

    def place_shares(self, point: Points) -> Features:
        return self.kernel.place_shares(point)

    def __repr__(self) -> str:
        return f"{short_number(self.factor)} * {bracketed(self.kernel, 2)}"


class Power(Wrapper):
    """Power of a kernel.

    k(x, z)^p, p ≥ 0; a fractional power is positive semi-definite only of infinitely divisible
    kernels and exists only where k ≥ 0.
    """

    binds = 2

    def __init__(self, kernel: Kernel, exponent: float = 2) -> None:
        self.exponent = exponent
        super().__init__(kernel)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number(self, "exponent", low=0)

    @property
    def _whole(self) -> bool:
        return float(self.exponent).is_integer()

    @property
    def definite(self) -> Definite:
        return definite.of_power(self.kernel.definite, self.exponent, self.divisible)

    @property
    def divisible(self) -> bool:
        return self.kernel.divisible

    @property
    def has_features(self) -> bool:
        return self._whole and self.exponent >= 1 and self.kernel.has_features

    def evaluate(self, values: Values) -> Array:
        return power(self.kernel.evaluate(values), self.exponent, self)

    @property
    def is_exponential(self) -> bool:
        return self.kernel.is_exponential

    def log_values(self, values: Values) -> Array:
        return _multiply(self.kernel.log_values(values), self.exponent)

    def log_gradient(self, values: Values, name: str) -> Array:
        inner = self.kernel.log_gradient(values, name.partition("__")[2])
        return inner * inner.dtype.type(self.exponent)

    def games(self, a: Points, b: Points) -> list[Game]:
        inner = self.kernel.games(a, b)
        game = inner[0].raised(self.exponent) if len(inner) == 1 else None
        return super().games(a, b) if game is None else [game]

    def chain(self, values: Values, child: str, inner: Array) -> Array:
        if self.exponent == 0:
            return np.zeros_like(inner)
        lower = power(self.kernel.evaluate(values), self.exponent - 1, self)
        # A value that is 0 and stays 0 has no slope, even where the power has an infinite one.
        lower[inner == 0] = 0
        return inner * lower * self.exponent

    def feature_map(self, points: Points) -> Features:
        once = self.kernel.feature_map(points)
        result = once
        for _ in range(int(self.exponent) - 1):
            result = Features.outer(result, once)
        return result

    def feature_width(self, points: Points) -> float:
        return float(self.kernel.feature_width(points) ** self.exponent)

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, 3)} ** {short_number(self.exponent)}"


class Exp(Wrapper):
    """Exponential of a kernel.

    exp(k(x, z))
    """

    has_features = False
    bounded = False
    chain_is_product = True
    is_exponential = True

    @property
    def definite(self) -> Definite:
        return definite.of_exponential(self.kernel.definite)

    @property
    def divisible(self) -> bool:
        return self.definite is Definite.POSITIVE

    def evaluate(self, values: Values) -> Array:
        inner = self.kernel.evaluate(values)
        return np.exp(inner, out=inner)

    def log_values(self, values: Values) -> Array:
        return self.kernel.evaluate(values)

    def log_gradient(self, values: Values, name: str) -> Array:
        return self.kernel.gradient(values, name.partition("__")[2])

    def games(self, a: Points, b: Points) -> list[Game]:
        inner = self.kernel.games(a, b)
        game = inner[0].exponential() if len(inner) == 1 else None
        return super().games(a, b) if game is None else [game]

    def chain(self, values: Values, child: str, inner: Array) -> Array:
        return inner * self.evaluate(values)

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, 3)}.exp()"


class PowerSeries(Wrapper):
    """Power series of a kernel.

    Σᵢ aᵢ k(x, z)ⁱ with aᵢ ≥ 0, valid where ∣k∣ < R, the radius of convergence. By Cauchy–Schwarz
    it is enough to look at the diagonal of a positive semi-definite k.
    """

    bounded = False

    def __init__(
        self, kernel: Kernel, coefficients: Sequence[float], radius: float = math.inf
    ) -> None:
        self.coefficients, self.radius = coefficients, radius
        super().__init__(kernel)

    def check_parameters(self) -> None:
        super().check_parameters()
        terms = np.asarray(self.coefficients)
        if terms.ndim != 1 or not terms.size or terms.dtype.kind not in "fiu":
            raise InvalidParameter(
                f"PowerSeries: coefficients={self.coefficients!r} has to be a list of numbers, "
                "a₀ first."
            )
        bad = np.flatnonzero(~np.isfinite(terms) | (terms < 0))
        if bad.size:
            raise InvalidParameter(
                f"PowerSeries: coefficient {bad[0]} is {terms[bad[0]]:g}; all have to be finite "
                "and ≥ 0, or the result would not be a kernel."
            )
        if self.radius != math.inf:
            check_number(self, "radius", low=0, open_low=True)

    @property
    def definite(self) -> Definite:
        return definite.of_power_series(self.kernel.definite)

    def evaluate(self, values: Values) -> Array:
        return self._horner(self._checked(values), np.asarray(self.coefficients, dtype=float))

    def chain(self, values: Values, child: str, inner: Array) -> Array:
        terms = np.asarray(self.coefficients, dtype=float)
        slope = np.append(terms[1:] * np.arange(1, len(terms)), 0.0)
        outer: Array = self._horner(self._checked(values), slope)
        return inner * outer

    def feature_map(self, points: Points) -> Features:
        once = self.kernel.feature_map(points)
        term = Constant(1.0).feature_map(points)
        parts = []
        for i, coefficient in enumerate(self.coefficients):
            term = term if i == 0 else Features.outer(term, once)
            if coefficient:
                parts.append(term.scaled(math.sqrt(coefficient)))
        result = parts[0] if parts else term.scaled(0.0)
        for part in parts[1:]:
            result = Features.concatenate(result, part)
        return result

    def feature_width(self, points: Points) -> float:
        once = self.kernel.feature_width(points)
        return sum(once**i for i in range(len(self.coefficients)))

    def _checked(self, values: Values) -> Array:
        if self.radius != math.inf:
            for side in (values.left, values.right):
                diagonal = np.abs(self.kernel.evaluate(side)).ravel()
                worst = int(diagonal.argmax())
                if diagonal[worst] >= self.radius:
                    raise InvalidInput(
                        f"{self}: k(x, x) = {diagonal[worst]:g} of row {side.number(worst)} is not "
                        f"below {self.radius:g}, the radius of convergence. Normalise or scale the "
                        "inner kernel."
                    )
        return self.kernel.evaluate(values)

    @staticmethod
    def _horner(inner: Array, terms: Array) -> Array:
        result = np.full_like(inner, terms[-1])
        for coefficient in terms[-2::-1]:
            result *= inner
            result += inner.dtype.type(coefficient)
        return result

    def __repr__(self) -> str:
        radius = "" if self.radius == math.inf else f", radius={short_number(self.radius)}"
        inner = bracketed(self.kernel, 3)
        return f"{inner}.power_series({np.asarray(self.coefficients).tolist()}{radius})"


def power(base: Array, exponent: float, owner: Kernel) -> Array:
    """Return base^exponent, by multiplication for small whole exponents."""
    whole = float(exponent).is_integer()
    if not whole and base.size and base.min() < 0:
        at = np.unravel_index(int(base.argmin()), base.shape)
        raise InvalidInput(
            f"{owner}: a fractional power of the negative value {base[at]:g} does not exist. "
            "Use a whole exponent or a kernel with values ≥ 0."
        )
    if not whole or exponent < 0:
        return np.asarray(base ** base.dtype.type(exponent))
    result = np.ones_like(base)
    square, rest = base, int(exponent)
    while rest:
        if rest & 1:
            result = result * square
        rest >>= 1
        if rest:
            square = square * square
    return result


def _add(a: Array, b: Array) -> Array:
    return np.add(a, b, out=a) if a.dtype == np.result_type(a, b) else a + b


def _multiply(a: Array, b: Array | float) -> Array:
    return np.multiply(a, b, out=a) if a.dtype == np.result_type(a, b) else a * b
