"""What a kernel is worth to a coalition of columns: the games that its summands are.

A kernel that is a product over columns has a value for every set S of known columns: the factors
of the others are 1. A sum over columns leaves the others out. Shapley values of such games have
closed forms, and those of a sum of games are the sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Self

import numpy as np

from mercer import _fast
from mercer._typing import Array, IntArray

Player = Hashable
"""A column by its position or name, a group of columns, or the whole object (``WHOLE``)."""

WHOLE: Player = ()
"""The player of kernels that look at an object as one thing."""


_FEW = 4
"""Nodes below which there is nothing to save."""
_ELLIPSES = np.logspace(0.1, 3, 30)
"""Sizes ρ of ellipses, from which the one with the best bound is taken."""
_AXES = 0.5 * (_ELLIPSES + 1 / _ELLIPSES)
_DIGITS = float(np.log(64 / 15 * 2.0**54))
"""The bound has to be below half of the rounding of 1."""


_TOGETHER = 1 << 19
"""Factors of a mixture that are held at a time: 4 MB."""
_NOTHING = 54 * float(np.log(2.0))
"""A factor e^−x from this x on is below half of the rounding of 1."""


class Over(StrEnum):
    """How the values of single columns make that of a row."""

    PRODUCT = "product"
    SUM = "sum"


@dataclass(frozen=True, eq=False)
class Game(ABC):
    """A summand of a kernel, for some rows and points, as a function of the known columns.

    Attributes
    ----------
    players : tuple
        Who takes part.
    values : array of shape (rows, points, players)
        What each player brings: a factor or a term.
    weight : float
        A factor of the whole summand.
    error : float
        By how much the worth of a coalition may be off, besides rounding.
    """

    players: tuple[Player, ...]
    values: Array
    weight: float = 1.0
    error: float = 0.0

    def renamed(self, names: Mapping[Player, Player]) -> Self:
        """Return the game with other names of the players."""
        return replace(self, players=tuple(names.get(player, player) for player in self.players))

    def scaled(self, factor: float) -> Self:
        """Return the game times a number."""
        return replace(self, weight=self.weight * factor, error=self.error * abs(factor))

    @abstractmethod
    def grouped(self, owners: Mapping[Player, Player]) -> Game:
        """Return the game of owners, who know all their players or none of them."""

    @abstractmethod
    def products(self) -> list[ProductGame] | None:
        """Return the game as a sum of products, None where it is none."""

    @abstractmethod
    def raised(self, exponent: float) -> Game | None:
        """Return the game to a power, None where that is no game of this kind."""

    def exponential(self) -> Game | None:
        """Return the exponential of the game, None where that is no product."""
        return None

    @abstractmethod
    def empty(self) -> Array:
        """Return the worth of nobody, for all rows and points."""

    @abstractmethod
    def full(self) -> Array:
        """Return the worth of all, which is the summand of the kernel."""

    @abstractmethod
    def mixed(self, others: Game, player: int) -> Array:
        """Return the sum over the rows of another game with one player of each row of this one.

        The result has the shape (rows of this game, points).
        """

    @abstractmethod
    def shapley(self, row: int, other: Game | None = None, other_row: int = 0) -> Array:
        """Return the Shapley values of the players, of shape (points, players).

        Who is not known brings 1 to a product and 0 to a sum, or what he brings in a row of
        another game of this kind.
        """


@dataclass(frozen=True, eq=False)
class ProductGame(Game):
    """w · Π_{j∈S} a_j · Π_{j∉S} c_j; the c are 1 unless ``absent`` says otherwise."""

    absent: tuple[float, ...] = ()

    @property
    def floors(self) -> Array:
        """The factors of unknown players."""
        return np.array(self.absent) if self.absent else np.ones(len(self.players))

    @property
    def bound(self) -> float:
        """The largest worth that any coalition can have."""
        largest = np.abs(self.values).max(axis=(0, 1), initial=0.0)
        return abs(self.weight) * float(np.prod(np.maximum(largest, np.abs(self.floors))))

    def empty(self) -> Array:
        return np.full(self.values.shape[:2], self.weight * float(np.prod(self.floors)))

    def full(self) -> Array:
        return np.asarray(self.weight * self.values.prod(axis=2))

    def shapley(self, row: int, other: Game | None = None, other_row: int = 0) -> Array:
        present = np.ascontiguousarray(self.values[row])
        absent = None if other is None else np.ascontiguousarray(other.values[other_row])
        return self.weight * _integrals(present, absent, self.floors)

    def mixed(self, others: Game, player: int) -> Array:
        rest = np.delete(others.values, player, axis=2).prod(axis=2).sum(axis=0)
        return np.asarray(self.weight * self.values[:, :, player] * rest)

    def times(self, other: ProductGame) -> ProductGame:
        """Return the product of two games; a player of both brings both factors."""
        players = tuple(dict.fromkeys(self.players + other.players))
        values = np.ones((*self.values.shape[:2], len(players)))
        floors = np.ones(len(players))
        for game in (self, other):
            at = [players.index(player) for player in game.players]
            values[:, :, at] *= game.values
            floors[at] *= game.floors
        absent = () if (floors == 1).all() else tuple(floors.tolist())
        error = self.error * other.bound + other.error * self.bound
        return ProductGame(players, values, self.weight * other.weight, error, absent)

    def grouped(self, owners: Mapping[Player, Player]) -> ProductGame:
        names, order, starts = _groups(self.players, owners)
        values = np.multiply.reduceat(self.values[:, :, order], starts, axis=2)
        floors = np.multiply.reduceat(self.floors[order], starts)
        absent = () if (floors == 1).all() else tuple(floors.tolist())
        return ProductGame(names, values, self.weight, self.error, absent)

    def products(self) -> list[ProductGame]:
        return [self]

    def raised(self, exponent: float) -> ProductGame:
        absent = tuple(floor**exponent for floor in self.absent)
        error = 0.0 if not self.error else exponent * self.bound ** (exponent - 1) * self.error
        weight = self.weight**exponent
        return ProductGame(self.players, self.values**exponent, weight, error, absent)


@dataclass(frozen=True, eq=False)
class MixtureGame(Game):
    """w · Σ_k w_k Π_{j∈S} exp(−t_k s_j/2): many widths that share the differences s of columns."""

    rates: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()

    def empty(self) -> Array:
        return np.full(self.values.shape[:2], self.weight * sum(self.shares))

    def full(self) -> Array:
        total, result = self.values.sum(axis=2), np.zeros(self.values.shape[:2])
        for rate, share in zip(self.rates, self.shares, strict=True):
            result += share * np.exp(-0.5 * rate * total)
        return self.weight * result

    def shapley(self, row: int, other: Game | None = None, other_row: int = 0) -> Array:
        here = self.values[row]
        there = None if other is None else other.values[other_row]
        rates, shares = self._different(here if there is None else np.stack([here, there]))
        result = np.zeros_like(here)
        step = max(1, _TOGETHER // max(1, here.size))
        for begin in range(0, len(rates), step):
            some = slice(begin, begin + step)
            present = self._factors(here, rates[some])
            absent = None if there is None else self._factors(there, rates[some])
            out = self.weight * _integrals(present, absent, np.ones(here.shape[1]))
            result += np.tensordot(shares[some], out.reshape(-1, *here.shape), axes=1)
        return np.asarray(result)

    def _different(self, squares: Array) -> tuple[Array, Array]:
        """Return rates and shares; all rates at which every factor is 0 or 1 are one rate."""
        rates, shares = np.array(self.rates), np.array(self.shares)
        apart = squares[squares > 0].min(initial=np.inf)
        same = rates * apart > 2 * _NOTHING
        if np.count_nonzero(same) < 2:
            return rates, shares
        first = rates[same].min()
        return np.append(rates[~same], first), np.append(shares[~same], shares[same].sum())

    @staticmethod
    def _factors(squares: Array, rates: Array) -> Array:
        """Return exp(−t_k s_ij/2), the points of all rates one below the other."""
        factors = np.multiply.outer(-0.5 * rates, squares)
        return np.asarray(np.exp(factors, out=factors)).reshape(-1, squares.shape[1])

    def grouped(self, owners: Mapping[Player, Player]) -> MixtureGame:
        names, order, starts = _groups(self.players, owners)
        values = np.add.reduceat(self.values[:, :, order], starts, axis=2)
        return replace(self, players=names, values=values)

    def mixed(self, others: Game, player: int) -> Array:
        pairs = zip(self.products(), others.products() or (), strict=True)
        return np.asarray(sum(mine.mixed(theirs, player) for mine, theirs in pairs))

    def products(self) -> list[ProductGame]:
        games = [
            ProductGame(self.players, np.exp(-0.5 * rate * self.values), self.weight * share)
            for rate, share in zip(self.rates, self.shares, strict=True)
        ]
        return [replace(games[0], error=self.error), *games[1:]]

    def raised(self, exponent: float) -> None:
        return None


@dataclass(frozen=True, eq=False)
class PowerGame(Game):
    """w · (c + Σ_{j∈S} t_j)^p with a whole p ≥ 1."""

    constant: float = 0.0
    degree: int = 1

    def empty(self) -> Array:
        return np.full(self.values.shape[:2], self.weight * self.constant**self.degree)

    def full(self) -> Array:
        return np.asarray(self.weight * (self.values.sum(axis=2) + self.constant) ** self.degree)

    def shapley(self, row: int, other: Game | None = None, other_row: int = 0) -> Array:
        terms = self.values[row]
        constants = np.full(len(terms), self.constant)
        if other is not None:
            terms = terms - other.values[other_row]
            constants += other.values[other_row].sum(axis=1)
        if self.degree == 1:
            return np.asarray(self.weight * terms)
        out = np.empty(terms.shape)
        nodes, weights = gauss(-(-self.degree // 2))
        _fast.shapley.power_values(
            np.ascontiguousarray(terms), constants, self.degree, nodes, self.weight * weights, out
        )
        return out

    def grouped(self, owners: Mapping[Player, Player]) -> PowerGame:
        names, order, starts = _groups(self.players, owners)
        values = np.add.reduceat(self.values[:, :, order], starts, axis=2)
        return replace(self, players=names, values=values)

    def mixed(self, others: Game, player: int) -> Array:
        rest = np.delete(others.values, player, axis=2).sum(axis=2) + self.constant
        own = self.values[:, :, player]
        if self.degree == 1:
            return np.asarray(self.weight * (len(rest) * own + rest.sum(axis=0)))
        result = np.zeros_like(own)
        for row in rest:
            result += (own + row) ** self.degree
        return self.weight * result

    @property
    def is_sum(self) -> bool:
        """Whether it is a plain sum."""
        return self.degree == 1 and self.constant == 0

    def raised(self, exponent: float) -> PowerGame | None:
        if exponent < 1 or not float(exponent).is_integer():
            return None
        degree = self.degree * int(exponent)
        return replace(self, weight=self.weight**exponent, degree=degree)

    def products(self) -> list[ProductGame] | None:
        # In a product with others, a player of a sum who is not known brings 0.
        if not self.is_sum:
            return None
        return [
            ProductGame((player,), self.values[:, :, j : j + 1], self.weight, absent=(0.0,))
            for j, player in enumerate(self.players)
        ]

    def exponential(self) -> ProductGame | None:
        if not self.is_sum:
            return None
        return ProductGame(self.players, np.exp(self.weight * self.values))


def _integrals(present: Array, absent: Array | None, floors: Array) -> Array:
    """Return (a_j − c_j) ∫₀¹ Π_{l≠j} (c_l + q (a_l − c_l)) dq for the factors a of each point.

    The c are the ``floors`` of all points, or a row of ``absent`` for each.
    """
    out = np.empty_like(present)
    if not present.shape[1]:
        return out
    nodes, weights = gauss(product_nodes(present, floors[None, :] if absent is None else absent))
    if absent is None:
        _fast.shapley.product_values(present, floors, nodes, weights, out)
    else:
        _fast.shapley.product_values_against(present, absent, nodes, weights, out)
    return out


def _groups(
    players: tuple[Player, ...], owners: Mapping[Player, Player]
) -> tuple[tuple[Player, ...], IntArray | slice, IntArray]:
    """Return the owners, each once, the players by owner, and where each owner begins."""
    each = [owners[player] for player in players]
    names = tuple(dict.fromkeys(each))
    place = {name: i for i, name in enumerate(names)}
    places = np.array([place[name] for name in each], dtype=np.intp)
    starts = np.searchsorted(np.sort(places), np.arange(len(names)))
    in_order = bool((np.diff(places) >= 0).all())  # as the coordinates of a table are
    return names, slice(None) if in_order else np.argsort(places, kind="stable"), starts


def product_nodes(present: Array, absent: Array) -> int:
    """Return how many nodes integrate Π (c_l + q (a_l − c_l)) over q in [0, 1] to rounding.

    Half as many as there are factors make no error at all. In the ellipse of analyticity with
    the sum of half-axes ρ, whose larger one is A, no factor is larger than 1 + ½(A − 1)∣a − c∣ if a
    and c are at most 1, so that N nodes are off by at most (64/15) e^{½(A − 1)T} ρ^{−2N}/(1 − ρ⁻²)
    with T the largest Σ ∣a − c∣ of a point (Trefethen, SIAM Review 50, 2008, theorem 4.5).
    """
    enough = int(-(-present.shape[1] // 2))
    if enough <= _FEW:
        return enough
    beyond, farthest = _fast.shapley.spread(present, absent)
    if beyond:
        return enough
    needed = _DIGITS - np.log1p(-(_ELLIPSES**-2.0)) + 0.5 * (_AXES - 1) * farthest
    return min(enough, int(np.ceil((needed / (2 * np.log(_ELLIPSES))).min())))


@cache
def gauss(count: int) -> tuple[Array, Array]:
    """Return nodes and weights on [0, 1], exact for polynomials of degree 2·count − 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1), 0.5 * weights
