"""Kernels of a distance and their widths: one class and one method each."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from typing import Any, Self, cast

import numpy as np
from scipy import sparse

from mercer import _fast
from mercer._typing import Array, Parameter
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import Game, MixtureGame, Over, ProductGame
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import VectorEncoder
from mercer.kernels.pairs import Values
from mercer.kernels.parameters import ambiguous_first, check_number, inverse_power
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import CoordinateSum, SquaredDistance, Statistic

HEURISTICS = ("scale", "median", "auto")
_WIDTHS = ("gamma", "sigma", "length_scale")
_MEDIAN_SAMPLE = 1000
"""Rows whose distances give the median: half a million pairs."""


class Bandwidth(Kernel):
    """A kernel of s = d/ℓᵖ, where d is a distance to the power p and ℓ the length scale.

    ``sigma`` is another name for ℓ; ``gamma`` is 1/(2ℓ²) for p = 2 and 1/ℓ for p = 1. ℓ may be a
    list with one length scale for each column. None of the three means ``"scale"``.

    ``"scale"`` takes γ = 1/(d·Var X) for p = 2 and ℓ = d·√(Var X) for p = 1 (d columns),
    ``"median"`` takes ℓ as the median distance of the training points; ``resolve`` settles both.
    ``"auto"`` asks the machine to tune the width; where nobody tunes it means ``"scale"``.

    Parameters
    ----------
    gamma, sigma : float or str, optional
        γ or σ, two ways to give the width; a number, ``"scale"``, ``"median"`` or ``"auto"``.
    length_scale : float, list or str, optional
        ℓ, a third way; a list has one length scale for each column.
    """

    power = 2
    gamma: float | str | None
    sigma: float | str | None
    length_scale: Any

    def check_parameters(self) -> None:
        given = [name for name in _WIDTHS if getattr(self, name) is not None]
        if len(given) > 1:
            raise InvalidParameter(
                f"{type(self).__name__}: {' and '.join(given)} are names of one width. Give one."
            )
        for name in given:
            value = getattr(self, name)
            if isinstance(value, str):
                if value not in HEURISTICS:
                    raise InvalidParameter(
                        f"{type(self).__name__}: {name}={value!r} has to be a number > 0, "
                        "'scale', 'median' or 'auto'."
                    )
            elif name == "length_scale" and not isinstance(value, numbers.Real):
                self._check_list(name)
            else:
                check_number(self, name, low=0, open_low=True)

    def resolve(self, points: Points) -> Self:
        for name in _WIDTHS:
            value = getattr(self, name)
            if value is not None:
                break
        else:
            name, value = "gamma", "scale"
        if not isinstance(value, str):
            return self
        vectors = cast(Vectors, points[self.encoder])
        length = self._median(vectors) if value == "median" else self._scale(vectors)
        return self.replace(**{name: length if name != "gamma" else self._gamma(length)})

    def free_parameters(self) -> dict[str, float]:
        for name in _WIDTHS:
            value: Any = getattr(self, name)
            if value is not None:
                break
        if value is None or isinstance(value, str):
            return {}
        if isinstance(value, numbers.Real):
            return {name: float(value)}
        return {f"{name}[{j}]": float(scale) for j, scale in enumerate(value)}

    def with_parameters(self, values: dict[str, float]) -> Self:
        changed: dict[str, Any] = {}
        for key, value in values.items():
            name, _, column = key.rstrip("]").partition("[")
            if not column:
                changed[name] = value
                continue
            if name not in changed:
                changed[name] = [float(entry) for entry in getattr(self, name)]
            changed[name][int(column)] = value
        return self.replace(**changed)

    @property
    def scales(self) -> tuple[float, ...] | None:
        """The length scales of the columns, or None where all have one, as in a list of one."""
        given = self.length_scale
        if given is None or isinstance(given, numbers.Real | str) or len(given) == 1:
            return None
        return tuple(float(scale) for scale in given)

    @property
    def rate(self) -> float:
        """1/ℓᵖ, the factor between a distance and s; 1 where columns have their own scales."""
        if isinstance(self.gamma, numbers.Real):
            return 2 * float(self.gamma) if self.power == 2 else float(self.gamma)
        width: Any = self.length_scale if self.sigma is None else self.sigma
        if width is not None and not isinstance(width, str):
            one = width if isinstance(width, numbers.Real) else width[0]
            return inverse_power(self, float(one), self.power) if self.scales is None else 1.0
        raise InvalidParameter(
            f"{self}: the width has to be settled on training points first: kernel.resolve(points)."
        )

    def width_gradient(self, name: str, slope: Array) -> Array:
        """Return ∂k/∂log θ of the width ``name``, given s·k′(s) of its columns."""
        slope *= 1 if name == "gamma" else -self.power
        return slope

    def _check_list(self, name: str, heuristics: str = ", 'scale' or 'median'") -> None:
        value = getattr(self, name)
        entries = np.asarray(value)
        if entries.ndim != 1 or not entries.size or entries.dtype.kind not in "fiu":
            raise InvalidParameter(
                f"{type(self).__name__}: {name}={value!r} has to be a number > 0, a list of "
                f"them (one for each column){heuristics}."
            )
        bad = np.flatnonzero(~np.isfinite(entries) | (entries <= 0))
        if bad.size:
            raise InvalidParameter(
                f"{type(self).__name__}: {name}[{bad[0]}]={entries[bad[0]]!r} has to be a "
                "number > 0."
            )

    def _gamma(self, length: float) -> float:
        return 1 / (2 * length**2) if self.power == 2 else 1 / length

    def _scale(self, vectors: Vectors) -> float:
        variance = total_variance(vectors)
        if variance == 0:
            return 1 / np.sqrt(2) if self.power == 2 else 1.0
        d = vectors.values.shape[1]
        return float(np.sqrt(d * variance / 2) if self.power == 2 else d * np.sqrt(variance))

    def _median(self, vectors: Vectors) -> float:
        rows = np.unique(np.linspace(0, len(vectors) - 1, _MEDIAN_SAMPLE).astype(np.intp))
        sample = vectors.take(rows).dense().astype(np.float64)
        distances = self._sample_distances(sample)
        positive = distances[distances > 0]
        return float(np.median(positive)) if positive.size else 1.0

    def _sample_distances(self, sample: Array) -> Array:
        from scipy.spatial.distance import pdist

        return np.asarray(pdist(sample, "euclidean" if self.power == 2 else "cityblock"))


def total_variance(vectors: Vectors) -> float:
    """Return the variance of all numbers of the rows."""
    values = vectors.values
    if not sparse.issparse(values):
        return float(values.var(dtype=np.float64))
    size = values.shape[0] * values.shape[1]
    mean = values.sum(dtype=np.float64) / size
    return float(values.multiply(values).sum(dtype=np.float64) / size - mean**2)


_MOST_DIRECT = 1 << 23
"""Differences of coordinates up to which one loop is faster than a matrix product and what that
needs: about a millisecond."""


class Radial(Bandwidth):
    """A kernel k(s) of the scaled squared distance s = ‖x − z‖²/ℓ².

    A new one defines ``profile``; ``derivative`` brings gradients, ``frequencies`` random Fourier
    features.

    Examples
    --------
    A kernel of one's own, 1/(1 + s), which is positive semi-definite:

    >>> from mercer import Radial
    >>> class Cauchy(Radial):
    ...     def profile(self, s):
    ...         return 1 / (1 + s)
    >>> Cauchy(length_scale=2.0)([[0.0]], [[0.0], [2.0], [6.0]])
    array([[1. , 0.5, 0.1]])
    """

    definite = Definite.POSITIVE
    divisible = True
    bounded = True
    encoder = VectorEncoder()

    def __init__(
        self,
        gamma: float | str | None = None,
        *,
        sigma: float | str | None = None,
        length_scale: Parameter = None,
    ) -> None:
        self.gamma, self.sigma, self.length_scale = gamma, sigma, length_scale
        super().__init__()

    def profile(self, s: Array) -> Array:
        """Return k(s) with k(0) = 1; ``s`` may be overwritten."""
        raise NotImplementedError

    def derivative(self, s: Array) -> Array:
        """Return k′(s), and any finite value at s = 0; ``s`` may be overwritten."""
        raise NotImplementedError

    def frequencies(self, random: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Draw rows ω from the spectral density: E cos(ω·(x−z)) = k at ℓ = 1."""
        raise NotImplementedError

    @property
    def has_spectrum(self) -> bool:
        """Whether frequencies can be drawn."""
        return type(self).frequencies is not Radial.frequencies

    @property
    def statistic(self) -> SquaredDistance | CoordinateSum:
        """The distance that this is a kernel of."""
        scales = None if self.length_scale is None else self.scales
        return SquaredDistance(self.encoder, scales)

    def along(self, column: int) -> Radial:
        scales = self.scales
        return self if scales is None else self.replace(length_scale=scales[column])

    def mixture(self) -> tuple[Array, Array] | None:
        """Return rates t and weights w with k(s) ≈ Σ w exp(−t s/2), None where nobody knows."""
        return None

    def games(self, a: Points, b: Points) -> list[Game]:
        mixture, split = self.mixture(), self.over_columns is Over.PRODUCT
        if mixture is None and not split:
            return super().games(a, b)
        # All widths share the differences of the columns.
        squares = self._powers_of_columns(*(cast(Vectors, s[self.encoder]) for s in (a, b)))
        players = tuple(range(squares.shape[2]))
        if mixture is None or split or len(mixture[0]) == 1:
            return [ProductGame(players, self.profile(squares))]
        rates, weights = (tuple(part.tolist()) for part in mixture)
        return [MixtureGame(players, squares, 1.0, self._mixture_error(*mixture), rates, weights)]

    def _powers_of_columns(self, a: Vectors, b: Vectors) -> Array:
        """Return ∣aⱼ − bⱼ∣ᵖ/ℓⱼᵖ, of shape (len(a), len(b), columns)."""
        if a.dimension != b.dimension:
            raise InvalidInput(
                f"{self}: the rows have {a.dimension} columns, the points {b.dimension}."
            )
        lengths = self.rate ** (-1 / self.power) if self.scales is None else np.array(self.scales)
        A, B = (side.dense().astype(np.float64) / lengths for side in (a, b))
        apart: Array = A[:, None, :] - B[None, :, :]
        return np.abs(apart, out=apart) if self.power == 1 else np.square(apart, out=apart)

    def _mixture_error(self, rates: Array, weights: Array) -> float:
        """Return the largest distance between k and its mixture, over distances of all sizes."""
        s = np.concatenate([[0.0], np.logspace(-12, 8, 2000)])
        found = np.exp(-0.5 * np.outer(s, rates)) @ weights
        return float(np.abs(found - self.profile(s)).max())

    @property
    def isotropic(self) -> bool:
        plain = self.statistic == SquaredDistance(self.encoder)
        return plain and type(self).derivative is not Radial.derivative

    def statistics(self) -> Sequence[Statistic]:
        return [self.statistic]

    def evaluate(self, values: Values) -> Array:
        return self.profile(self._scaled(values))

    def is_direct(self, differences: int) -> bool:
        euclidean = type(self).statistic is Radial.statistic and self.scales is None
        return differences <= _MOST_DIRECT and euclidean and self.bounded

    def direct(self, a: Array, b: Array) -> Array:
        return self.profile(_fast.pairwise.scaled_distances(a, b, self.rate, a is b))

    def gradient(self, values: Values, name: str) -> Array:
        if name not in self.free_parameters():
            return super().gradient(values, name)
        s = self._scaled(values)
        if self.scales is None:
            slope = self.derivative(s.copy())
            slope *= s
        else:
            slope = self.derivative(s)
            column = int(name[len("length_scale[") : -1])
            part = values[self.statistic.along(column)]
            slope *= part * part.dtype.type(self._column_rate(column))
        return self.width_gradient(name.partition("[")[0], slope)

    def slopes(
        self, values: Values, names: Sequence[str], factor: Any = 1.0
    ) -> Iterator[tuple[str, Array]]:
        if self.scales is None or len(names) < 2:
            yield from super().slopes(values, names, factor)
            return
        shared = self.derivative(self._scaled(values))
        shared *= factor
        for name in names:
            if not name.startswith("length_scale["):
                yield from super().slopes(values, [name], factor)
                continue
            column = int(name[len("length_scale[") : -1])
            slope = values[self.statistic.along(column)] * shared
            slope *= slope.dtype.type(-self.power * self._column_rate(column))
            yield name, slope

    def _column_rate(self, column: int) -> float:
        """Return 1/ℓᵖ of a column that has a scale of its own."""
        assert self.scales is not None
        return inverse_power(self, self.scales[column], self.power)

    def _scaled(self, values: Values) -> Array:
        rate = self.rate
        return values.fresh(self.statistic) if rate == 1 else values.scaled(self.statistic, rate)


@ambiguous_first("gamma", ("length_scale_bounds",))
class RBF(Radial):
    """Gaussian kernel (radial basis function).

    k(x, z) = exp(−γ‖x − z‖²), γ = 1/(2σ²) = 1/(2ℓ²)

    Give the width by its name, as in ``RBF(gamma=0.5)`` or ``RBF(length_scale=1.0)``; a list alone
    has the length scale of each column.

    Examples
    --------
    >>> from mercer import RBF
    >>> RBF(length_scale=5.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)  # exp(−25/50)
    array([[0.6065]])
    >>> RBF([3.0, 4.0])([[0.0, 0.0]], [[3.0, 4.0]]).round(4)  # exp(−(1 + 1)/2)
    array([[0.3679]])
    """

    over_columns = Over.PRODUCT

    @property
    def as_exponential(self) -> tuple[Statistic, float]:
        return self.statistic, -0.5 * self.rate

    def evaluate(self, values: Values) -> Array:
        # One multiplication fewer than profile(scaled): this is the kernel that people wait for.
        s = values.scaled(self.statistic, -0.5 * self.rate)
        return np.exp(s, out=s)

    def direct(self, a: Array, b: Array) -> Array:
        return _fast.pairwise.gaussians(a, b, -0.5 * self.rate, a is b)

    def profile(self, s: Array) -> Array:
        s *= s.dtype.type(-0.5)
        return np.exp(s, out=s)

    def derivative(self, s: Array) -> Array:
        k = self.profile(s)
        k *= k.dtype.type(-0.5)
        return k

    def frequencies(self, random: np.random.Generator, shape: tuple[int, int]) -> Array:
        return random.standard_normal(shape)


class Laplacian(Radial):
    """Laplacian kernel, of the L1 distance.

    k(x, z) = exp(−γ‖x − z‖₁), γ = 1/ℓ

    Examples
    --------
    >>> from mercer import Laplacian
    >>> Laplacian(gamma=0.1)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)  # exp(−0.1·(3 + 4))
    array([[0.4966]])
    """

    power = 1
    over_columns = Over.PRODUCT

    @property
    def statistic(self) -> CoordinateSum:
        return CoordinateSum(self.encoder, 0, self.scales)

    def profile(self, s: Array) -> Array:
        np.negative(s, out=s)
        return np.exp(s, out=s)

    def derivative(self, s: Array) -> Array:
        k = self.profile(s)
        return np.negative(k, out=k)

    def frequencies(self, random: np.random.Generator, shape: tuple[int, int]) -> Array:
        return random.standard_cauchy(shape)


class NegativeDistance(Kernel):
    """Negative power of the Euclidean distance, without a width; conditionally positive definite.

    k(x, z) = −‖x − z‖^p, 0 < p ≤ 2

    Parameters
    ----------
    power : float
        The exponent p.

    Examples
    --------
    >>> from mercer import NegativeDistance
    >>> NegativeDistance()([[0.0, 0.0]], [[3.0, 4.0], [0.0, 2.0]])
    array([[-5., -2.]])
    """

    definite = Definite.CONDITIONAL
    encoder = VectorEncoder()

    def __init__(self, power: float = 1.0) -> None:
        self.power = power
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "power", low=0, high=2, open_low=True)

    def statistics(self) -> Sequence[Statistic]:
        return [SquaredDistance(self.encoder)]

    def evaluate(self, values: Values) -> Array:
        s = values.fresh(SquaredDistance(self.encoder))
        if self.power != 2:
            np.power(s, s.dtype.type(self.power / 2), out=s)
        return np.negative(s, out=s)
