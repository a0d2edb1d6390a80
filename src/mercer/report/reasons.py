"""What a record says of why: a contest with its vote, the shares of columns and of places."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._typing import Array, IntArray
from mercer.report import codec


@dataclass(frozen=True, eq=False)
class VoteLine:
    """A candidate of a contest: what it was, and how it did on rows that were left out.

    ``behind`` is what it lacks to the best one, ``noise`` the standard error of that; ``power`` is
    that of the column weights aᵖ.
    """

    kernel: str
    power: float
    alpha: float
    score: float
    behind: float
    noise: float
    member: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class ColumnWeight:
    """A column: how well it agrees with the target by itself, and its mean factor in the members.

    Both are shares of the greatest one.
    """

    name: str
    alignment: float
    factor: float


@dataclass(frozen=True, eq=False)
class Vote:
    """A contest, the best candidate first, and what its members make of the columns."""

    scoring: str
    rows: int
    lines: list[VoteLine]
    columns: list[ColumnWeight]
    stopped: str

    def __post_init__(self) -> None:
        codec.check(bool(self.lines) and self.lines[0].member, "contest")

    @property
    def members(self) -> list[VoteLine]:
        """The candidates that vote."""
        return [line for line in self.lines if line.member]


@dataclass(frozen=True, eq=False)
class Effect:
    """The shares of one column in the answers to some rows, beside what the rows have there.

    ``places`` are the numbers of the column, or the positions of its ``categories``.
    """

    column: str
    categories: list[str]
    places: Array
    shares: Array

    def __post_init__(self) -> None:
        codec.check_lengths("effect", self.places, self.shares)
        known = (self.places >= 0) & (self.places < len(self.categories))
        codec.check(not self.categories or bool(known.all()), "effect")


@dataclass(frozen=True, eq=False)
class Shares:
    """How much each column gives to the answers: Shapley values, the strongest columns first.

    ``importance`` is the mean size of a column's share over ``counted`` rows, ``direction`` says
    what positive shares in ``effects`` speak for. For single rows ``values`` speak for the answer
    that was given (``question``): base, values and others add up to ``total``. ``standing`` says
    how many training rows would have to be wrong; it may be empty.
    """

    columns: list[str]
    importance: Array
    rest: float
    hidden: int
    counted: int
    direction: str
    effects: list[Effect]
    rows: list[str]
    question: list[str]
    cells: list[list[str]]
    values: Array
    others: Array
    base: Array
    total: Array
    standing: list[str]

    def __post_init__(self) -> None:
        codec.check_lengths("shares", self.columns, self.importance)
        codec.check(self.values.shape == (len(self.rows), len(self.columns)), "shares")
        per_row = (self.rows, self.question, self.cells, self.others, self.base, self.total)
        codec.check_lengths("shares", *per_row, self.standing)
        codec.check({len(cells) for cells in self.cells} <= {len(self.columns)}, "shares")


@dataclass(frozen=True, eq=False)
class Inside:
    """How much each letter of a text, or node of a graph, gives to the answer to its row.

    ``values`` speak for ``question``; with ``base``, what the rest of the row says, and ``others``,
    the sum of the ``hidden`` letters at the end, they add up to ``total``. A graph has ``edges``
    and a ``layout``: a place in the plane for each node.
    """

    row: str
    question: str
    column: str
    labels: list[str]
    values: Array
    hidden: int
    others: float
    base: float
    total: float
    edges: IntArray
    layout: Array

    def __post_init__(self) -> None:
        codec.check_lengths("inside", self.labels, self.values)
        codec.check(len(self.labels) > 0, "inside")
        drawn = self.layout.shape == (len(self.labels), 2)
        codec.check(drawn or not self.layout.size + self.edges.size, "inside")
        known = (self.edges >= 0) & (self.edges < len(self.labels))
        codec.check(not self.edges.size or self.edges.shape[1:] == (2,), "inside")
        codec.check(bool(known.all()), "inside")

    @property
    def largest(self) -> float:
        """The share of the largest size."""
        return float(self.values[abs(self.values).argmax()])
