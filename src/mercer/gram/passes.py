"""Products with the kernel values of many rows and few landmarks, of which few exist at a time.

Φ has one row for each row of the data: its kernel values with the M landmarks and, where a machine
has a constant, a 1. Solvers ask for two things only, each one pass over the data:

* ``sweep``: U = ΦV, a rule that turns U and the targets of a row into R and some sums, and ΦᵀR;
  by the way, what the landmarks do not see of the rows, weighted by ∣R∣;
* ``square``: ΨᵀDΨ with Ψ = ΦR⁻¹ from a random part of the rows, D being weights that a rule gives.

Both are sums over rows, so they can be spread over threads, pieces of a file or machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mercer._typing import Array
from mercer.gram.chunks import Chunk, Chunks


@dataclass(frozen=True, eq=False)
class Reaction:
    """What a rule makes of some rows: R, whose products with Φᵀ are summed, and other sums."""

    R: Array
    totals: Array


class Rule(Protocol):
    """What a sweep does at each row; small and picklable, since it may travel."""

    def __call__(self, U: Array, chunk: Chunk) -> Reaction:
        """Return R, of shape (rows, columns), and sums, given U = ΦV in float64."""
        ...


@dataclass(frozen=True, eq=False)
class Affine:
    """R = O + D[U, 0], with the diagonal of D; O may have more columns than U."""

    offsets: Array
    factors: Array


@runtime_checkable
class AffineRule(Rule, Protocol):
    """A rule whose R is an affine function of U, so that it is known before U is."""

    def affine(self, chunk: Chunk, columns: int) -> Affine:
        """Return the function, for U with some columns."""
        ...


class Weighting(Protocol):
    """Weights of rows at which squares are taken."""

    def __call__(self, U: Array, chunk: Chunk) -> Array:
        """Return D ≥ 0, one column for each square, given U = ΦV in float64."""
        ...


@dataclass(frozen=True, eq=False)
class Swept:
    """ΦᵀR and the other sums of a sweep; ``unseen`` is Σᵢ ∣Rᵢ∣√uᵢ, where it was asked for."""

    sums: Array
    totals: Array
    unseen: Array | None = None

    def __add__(self, other: Swept) -> Swept:
        unseen = None
        if self.unseen is not None and other.unseen is not None:
            unseen = self.unseen + other.unseen
        return Swept(self.sums + other.sums, self.totals + other.totals, unseen)


@dataclass(frozen=True, eq=False)
class Squared:
    """ΨᵀDΨ over some rows, and how many they are."""

    sums: Array
    rows: int

    def __add__(self, other: Squared) -> Squared:
        return Squared(self.sums + other.sums, self.rows + other.rows)


Progress = Callable[[int, Swept], None]
"""Told after each piece how many are done, and the sums until there."""


class LandmarkProducts:
    """The face that solvers see of Φ, wherever its rows are.

    ``rows`` is their number, ``columns`` that of the columns of Φ: the landmarks, and one more
    where there is a ``constant``.
    """

    rows: int
    columns: int
    constant: bool
    evaluations: int = 0
    """Kernel values computed so far."""

    def sweep(
        self, V: Array, rule: Rule, precise: bool = False, whitener: Array | None = None
    ) -> Swept:
        """Return ΦᵀR and the sums of a rule at U = ΦV, for V of shape (columns, any).

        Blocks are float32 and sums float64; ``precise`` asks for blocks in float64 too.

        A ``whitener``, upper triangular, turns the kernel values of a row with the first m
        landmarks into features z of their span. It asks for Σᵢ ∣Rᵢ∣√uᵢ, where
        uᵢ = k(xᵢ, xᵢ) − ‖zᵢ‖² is what they do not see of a row; the sweep has to be precise. Fewer
        landmarks see less, so that their sum bounds that of more.
        """
        raise NotImplementedError

    def square(
        self, V: Array, weighting: Weighting, R: Array, share: float = 1.0, precise: bool = False
    ) -> Array:
        """Return ΨᵀDΨ, of shape (squares, columns, columns), estimated from a share of the rows.

        Ψ = ΦR⁻¹ for an upper triangular R, which leaves the constant alone. In these terms rounding
        does much less harm than if it was applied to ΦᵀDΦ afterwards.
        """
        raise NotImplementedError


class PiecewiseProducts(LandmarkProducts):
    """Products of rows that come in pieces: a sweep can go on where another one was stopped."""

    chunks: Chunks

    def sweep(
        self,
        V: Array,
        rule: Rule,
        precise: bool = False,
        whitener: Array | None = None,
        done: int = 0,
        start: Swept | None = None,
        progress: Progress | None = None,
    ) -> Swept:
        """Return ΦᵀR and sums; ``start`` holds those of the first ``done`` pieces."""
        raise NotImplementedError
