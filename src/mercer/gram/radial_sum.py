"""Sums of radial kernels, noise and constants on a few vectors, as a function of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from math import prod
from typing import TypeAlias, cast

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array
from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.parameters import inverse_power
from mercer.kernels.points import Points
from mercer.kernels.vectors.constant import Constant, White
from mercer.kernels.vectors.radial import Radial

_MOST_ROWS = 1024
"""Rows up to which a few matrices of all pairs are no burden: 8 MB each."""
_MOST_DIFFERENCES = 1 << 23
"""Differences of coordinates, n²d, up to which the evidence with its slopes takes no longer than
the general way, as measured, but for single length scales on hundreds of columns."""
_MOST_NEW = 1 << 21
"""The same for the values of new rows: beyond it several threads share them."""
_SHARED = 1 << 18
"""Pairs of rows from which on threads share the derivatives by the length scales: one column takes
about a quarter of a millisecond then, ten times what it takes to hand it over."""

Parameters: TypeAlias = dict[str, float]
"""Values of free parameters, by their nested names."""


class RadialSum:
    """K(θ) = Σ cₜ kₜ(‖x − z‖²/ℓₜ²) + b + wδ on a few vectors, in a few compiled calls.

    No kernel is made for a new θ, and the derivatives by the length scales of all columns come from
    one pass over the pairs. ``RadialSum.of`` gives None for kernels and points of other kinds.

    Parameters
    ----------
    terms : sequence of terms
    rows : array of shape (n, d)
    names : sequence of str
        The parameters that derivatives are taken by.
    known : dict
        Values of all parameters; those of ``names`` change.
    """

    def __init__(
        self, terms: Sequence[_Term], rows: Array, names: Sequence[str], known: Parameters
    ) -> None:
        self._terms, self._rows = terms, rows
        self._at = {name: j for j, name in enumerate(names)}
        self._known = known

    @classmethod
    def of(cls, kernel: Kernel, points: Points, names: Sequence[str]) -> RadialSum | None:
        """Return the sum that a kernel is on some points, None where it is none."""
        rows = points.rows
        if rows is None or len(rows) > _MOST_ROWS or len(rows) * rows.size > _MOST_DIFFERENCES:
            return None
        if len(np.unique(points.ids)) < len(rows):  # noise would be shared
            return None
        terms = _terms_on(kernel, rows)
        return None if terms is None else cls(terms, rows, names, kernel.free_parameters())

    def matrix(self, values: Parameters) -> tuple[Array, list[TermValues]]:
        """Return K(θ), in memory of its own, and what its derivatives need."""
        values = self._known | values
        parts = [term.part(self._rows, self._rows, values) for term in self._terms]
        K = _total(parts, (len(self._rows), len(self._rows)))
        K.flat[:: len(K) + 1] += sum(part.factor for part in parts if part.K is None)
        return K, parts

    def contract(self, parts: list[TermValues], M: Array, V: Array) -> tuple[Array, Array]:
        """Return Σᵢⱼ Mᵢⱼ ∂Kᵢⱼ/∂log p and the products ∂K/∂log p V for every parameter p.

        M is symmetric and given by its lower triangle.
        """
        sums, products = np.zeros(len(self._at)), np.zeros((len(self._at), *V.shape))
        for term, part in zip(self._terms, parts, strict=True):
            for name, total, product in term.contracted(part, M, V, self._at):
                # A factor of a sum belongs to several terms.
                sums[self._at[name]] += total
                products[self._at[name]] += product
        return sums, products


def values_between(kernel: Kernel, X: Array, rows: Array) -> tuple[Array, float] | None:
    """Return k of new and of known rows, and k(x, x), which is the same for all new rows x.

    None where that is no sum of radial kernels, noise and constants, where there are many values,
    or where they are not finite.
    """
    if X.size * len(rows) > _MOST_NEW or X.dtype != np.float64 or not X.flags.c_contiguous:
        return None
    terms = _terms_on(kernel, rows)
    if terms is None:
        return None
    known = kernel.free_parameters()
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [term.part(X, rows, known) for term in terms]
        K = _total(parts, (len(X), len(rows)))
        own = sum(part.factor for part in parts)
        return (K, own) if np.isfinite(own + np.add.reduce(K, axis=None)) else None


def _total(parts: Sequence[TermValues], shape: tuple[int, int]) -> Array:
    """Return the sum of all parts but noise."""
    K: Array | None = None
    for part in parts:
        if part.K is not None:
            K = part.K * part.factor if K is None else K + part.K * part.factor
    return np.zeros(shape) if K is None else K


@dataclass(eq=False)
class TermValues:
    """A term at one θ: its factor, its values (None of noise), and what derivatives need.

    ``s`` are the scaled squared distances, where k′ is not a multiple of k or all columns have one
    length scale; ``scaled`` the rows in units of the length scales.
    """

    factor: float
    K: Array | None
    s: Array | None = None
    scaled: Array | None = None


@dataclass(frozen=True, eq=False)
class _Term:
    """A kernel that is no sum, times parameters and a number; ``prefix`` leads to its names."""

    kernel: Kernel
    prefix: str
    fixed: float
    factors: list[str]

    def factor(self, values: Parameters) -> float:
        return prod((values[name] for name in self.factors), start=self.fixed)

    def fits(self, rows: Array) -> bool:
        return True

    def part(self, a: Array, b: Array, values: Parameters) -> TermValues:
        """Return the term for all pairs of two batches of rows, which may be one and the same."""
        raise NotImplementedError

    def contracted(
        self, part: TermValues, M: Array, V: Array, wanted: dict[str, int]
    ) -> Iterator[tuple[str, float, Array]]:
        """Yield the name, the sum and the product of each parameter that somebody wants."""
        raise NotImplementedError


class _Noise(_Term):
    """White noise: its variance is one of the factors."""

    def part(self, a: Array, b: Array, values: Parameters) -> TermValues:
        return TermValues(self.factor(values), None)

    def contracted(
        self, part: TermValues, M: Array, V: Array, wanted: dict[str, int]
    ) -> Iterator[tuple[str, float, Array]]:
        total = part.factor * float(np.trace(M))
        for name in self.factors:
            if name in wanted:
                yield name, total, part.factor * V


class _Same(_Term):
    """A constant: its value is one of the factors."""

    def part(self, a: Array, b: Array, values: Parameters) -> TermValues:
        return TermValues(self.factor(values), np.ones((len(a), len(b))))

    def contracted(
        self, part: TermValues, M: Array, V: Array, wanted: dict[str, int]
    ) -> Iterator[tuple[str, float, Array]]:
        assert part.K is not None
        names = [name for name in self.factors if name in wanted]
        if names:
            total = part.factor * _fast.contractions.dot_below(M, part.K)
            product = part.factor * (part.K @ V)
        for name in names:
            yield name, total, product


class _Distance(_Same):
    """A radial kernel, whose only parameters of its own are length scales."""

    kernel: Radial

    def fits(self, rows: Array) -> bool:
        kernel = self.kernel
        own = type(kernel)
        widths = ("gamma", "sigma", "length_scale")
        return (
            own.statistic is Radial.statistic
            and own.derivative is not Radial.derivative
            and all(name.partition("[")[0] in widths for name in kernel.free_parameters())
            and (kernel.scales is None or len(kernel.scales) == rows.shape[1])
        )

    @cached_property
    def _widths(self) -> list[str]:
        return [self.prefix + name for name in self.kernel.free_parameters()]

    @cached_property
    def _many(self) -> bool:
        """Whether each column has a length scale of its own."""
        return self.kernel.scales is not None

    @cached_property
    def _is_exponential(self) -> bool:
        """Whether k = exp(−s/2)."""
        return self.kernel.as_exponential is not None

    def part(self, a: Array, b: Array, values: Parameters) -> TermValues:
        kernel, widths = self.kernel, self._widths
        found = [values[name] for name in widths]
        if self._many:
            scaled, rate = a / found, 1.0
            b = scaled if b is a else b / found
        elif widths[0].endswith("gamma"):
            scaled, rate = a, 2 * found[0]
        else:
            scaled, rate = a, inverse_power(kernel, float(found[0]), 2)
        s = _fast.pairwise.scaled_distances(scaled, b, rate, b is scaled)
        if self._many and self._is_exponential:
            return TermValues(self.factor(values), kernel.profile(s), None, scaled)
        return TermValues(self.factor(values), kernel.profile(s.copy()), s, scaled)

    def contracted(
        self, part: TermValues, M: Array, V: Array, wanted: dict[str, int]
    ) -> Iterator[tuple[str, float, Array]]:
        yield from super().contracted(part, M, V, wanted)
        kernel, widths = self.kernel, self._widths
        if not any(name in wanted for name in widths):
            return
        assert part.K is not None
        if self._is_exponential:
            slope, factor = part.K, -0.5 * part.factor
        else:
            assert part.s is not None
            slope, factor = kernel.derivative(part.s.copy()), part.factor
        if not self._many:
            factor *= 1.0 if widths[0].endswith("gamma") else -2.0
            assert part.s is not None
            slope = slope * part.s
            yield widths[0], factor * _fast.contractions.dot_below(M, slope), factor * (slope @ V)
            return
        assert part.scaled is not None
        columns = np.ascontiguousarray(part.scaled.T)
        sums = np.empty(len(columns))
        products = np.zeros((len(columns), V.shape[1], len(V)))
        Vt = np.ascontiguousarray(V.T)

        def contract(k: int) -> None:
            one = slice(k, k + 1)
            _fast.contractions.contract_columns(
                columns[one], slope, M, Vt, sums[one], products[one]
            )

        threads = _parallel.thread_count() if slope.size > _SHARED else 1
        if threads == 1:
            _fast.contractions.contract_columns(columns, slope, M, Vt, sums, products)
        else:
            _parallel.run(contract, range(len(columns)), threads)
        sums *= -2 * factor
        products *= -2 * factor
        for name, total, product in zip(widths, sums, products, strict=True):
            if name in wanted:
                yield name, total, product.T


def _terms_on(kernel: Kernel, rows: Array) -> list[_Term] | None:
    found = list(_terms(kernel, "", 1.0, []))
    good = [term for term in found if term is not None and term.fits(rows)]
    return good if len(good) == len(found) else None


@singledispatch
def _terms(kernel: Kernel, prefix: str, fixed: float, factors: list[str]) -> Iterator[_Term | None]:
    """Yield the terms of a sum; None for a kernel of another kind."""
    yield None


@_terms.register
def _(kernel: Sum, prefix: str, fixed: float, factors: list[str]) -> Iterator[_Term | None]:
    yield from _terms(kernel.left, f"{prefix}left__", fixed, factors)
    yield from _terms(kernel.right, f"{prefix}right__", fixed, factors)


@_terms.register
def _(kernel: Scaled, prefix: str, fixed: float, factors: list[str]) -> Iterator[_Term | None]:
    times = _times(kernel.factor, f"{prefix}factor", fixed, factors)
    yield from _terms(kernel.kernel, f"{prefix}kernel__", *times)


@_terms.register
def _(kernel: Product, prefix: str, fixed: float, factors: list[str]) -> Iterator[_Term | None]:
    sides = {"left": kernel.left, "right": kernel.right}
    constant = next((side for side, inner in sides.items() if type(inner) is Constant), None)
    if constant is None:
        yield None
        return
    other = "right" if constant == "left" else "left"
    times = _times(
        cast(Constant, sides[constant]).value, f"{prefix}{constant}__value", fixed, factors
    )
    yield from _terms(sides[other], f"{prefix}{other}__", *times)


@_terms.register
def _(kernel: White, prefix: str, fixed: float, factors: list[str]) -> Iterator[_Term | None]:
    yield _Noise(kernel, prefix, *_times(kernel.noise, f"{prefix}noise", fixed, factors))


@_terms.register
def _(kernel: Constant, prefix: str, fixed: float, factors: list[str]) -> Iterator[_Term | None]:
    yield _Same(kernel, prefix, *_times(kernel.value, f"{prefix}value", fixed, factors))


@_terms.register
def _(kernel: Radial, prefix: str, fixed: float, factors: list[str]) -> Iterator[_Term | None]:
    yield _Distance(kernel, prefix, fixed, factors)


def _times(value: float, name: str, fixed: float, factors: list[str]) -> tuple[float, list[str]]:
    """Take in one more factor; 0 is no parameter that could be learnt."""
    return (fixed, [*factors, name]) if value > 0 else (0.0, factors)
