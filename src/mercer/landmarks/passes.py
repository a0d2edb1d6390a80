"""Passes over the kernel values of many rows and few landmarks, of which few exist at a time.

Φ has one row for each row of the data: its kernel values with the M landmarks and, where a machine
has a constant, a 1. Solvers ask for two things only, each one pass over the data:

* ``sums``: U = ΦV, a rule that turns U and the targets of a row into R and some totals, and ΦᵀR;
  by the way, what the landmarks do not see of the rows, weighted by ∣R∣;
* ``square``: ΨᵀDΨ with Ψ = ΦR⁻¹ from a random part of the rows, D being weights that a rule gives.

Both are sums over rows, so they can be spread over threads, pieces of a file or machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar

from mercer._typing import Array
from mercer.landmarks.chunks import Chunk, Chunks


@dataclass(frozen=True, eq=False)
class RowTerms:
    """What a rule makes of some rows: R, whose products with Φᵀ are summed, and other totals."""

    R: Array
    totals: Array


@dataclass(frozen=True, eq=False)
class AffineTerms:
    """R = O + D[U, 0], with the diagonal of D; O may have more columns than U."""

    offsets: Array
    factors: Array


class Rule:
    """What a pass does at each row; small and picklable, since it may travel."""

    def __call__(self, U: Array, chunk: Chunk) -> RowTerms:
        """Return R, of shape (rows, columns), and totals, given U = ΦV in float64."""
        raise NotImplementedError

    def affine(self, chunk: Chunk, columns: int) -> AffineTerms | None:
        """Return R as an affine function of U with some columns, None where it is not one.

        Then R is known before U is, and no block of kernel values has to be kept in between.
        """
        del chunk, columns
        return None


Weighting = Callable[[Array, Chunk], Array]
"""Returns weights D ≥ 0 of rows, one column for each square, given U = ΦV in float64."""


@dataclass(frozen=True, eq=False)
class PassSums:
    """ΦᵀR and the other sums of a pass; ``unseen`` is Σᵢ ∣Rᵢ∣√uᵢ, where it was asked for."""

    products: Array
    totals: Array
    unseen: Array | None = None

    def __add__(self, other: PassSums) -> PassSums:
        unseen = None
        if self.unseen is not None and other.unseen is not None:
            unseen = self.unseen + other.unseen
        return PassSums(self.products + other.products, self.totals + other.totals, unseen)


@dataclass(frozen=True, eq=False)
class SquareSums:
    """ΨᵀDΨ over some rows, and how many they are."""

    sums: Array
    rows: int

    def __add__(self, other: SquareSums) -> SquareSums:
        return SquareSums(self.sums + other.sums, self.rows + other.rows)


class Passes:
    """All that solvers see of Φ, wherever its rows are.

    ``rows`` is their number, ``columns`` that of the columns of Φ: the landmarks, and one more
    where there is a ``constant``.
    """

    rows: int
    columns: int
    constant: bool
    chunks: Chunks
    evaluations: int = 0
    """Kernel values computed so far."""
    holds_features: ClassVar[bool] = False
    """Whether the features of all rows are in memory, so that no pass computes kernel values."""

    def sums(
        self, V: Array, rule: Rule, precise: bool = False, whitener: Array | None = None
    ) -> PassSums:
        """Return ΦᵀR and the totals of a rule at U = ΦV, for V of shape (columns, any).

        Blocks are float32 and sums float64; ``precise`` asks for blocks in float64 too.

        A ``whitener``, upper triangular, turns the kernel values of a row with the first m
        landmarks into features z of their span. It asks for Σᵢ ∣Rᵢ∣√uᵢ, where
        uᵢ = k(xᵢ, xᵢ) − ‖zᵢ‖² is what they do not see of a row; the pass has to be precise. Fewer
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

    def close(self) -> None:
        """End the work; passes that keep a checkpoint write it."""


class PiecewisePasses(Passes):
    """Passes over rows in pieces: one can go on where another one was stopped."""

    def sums(
        self, V: Array, rule: Rule, precise: bool = False, whitener: Array | None = None
    ) -> PassSums:
        return reduce(add, (part for _, part in self.pieces(V, rule, precise, whitener)))

    def pieces(
        self, V: Array, rule: Rule, precise: bool, whitener: Array | None, done: int = 0
    ) -> Iterator[tuple[int, PassSums]]:
        """Yield the sums of pieces after the first ``done``, and how many are done then."""
        raise NotImplementedError
