"""A table as rows of numbers: standardised numbers and one-hot categories in one joint distance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._files.fields import COUNT, FLAG, TEXT, A, ListOf, Number, State, WrongState
from mercer._typing import Array, Column, IntArray, Objects
from mercer.exceptions import InvalidInput
from mercer.kernels.encoders import as_narwhals, is_frame, is_missing
from mercer.kernels.strings.kmers import Spectrum

MOST_LEVELS = 200
"""Categories of one column that get a coordinate, the frequent first: more are mostly single rows,
which are alike only in that they are rare."""
FEW_VALUES = 10
"""Whole numbers of so many different values at most may be codes of categories: 10 digits."""
SHORTEST_SEQUENCE = 8
"""Letters of the shortest texts that are sequences: codes of fewer letters are categories."""
_MANY_LEVELS = 20
"""Texts of a column beyond which some of them may be spellings or kinds of one thing."""
_FEWEST_LETTERS = 4
"""Letters of texts, on average, from which pieces of three letters tell something."""
_FAR = 6.0
"""Deviations from the mean beyond which a value is far out: none of a million normal ones is."""
_SKEWED = 2.0
"""The skewness of a column beyond which its logarithm may tell more: that of an exponential law."""
_KNOTS = 100
"""Values between which ranks and logarithms are interpolated, at most."""
_LETTERS = re.compile(r"[A-Za-z*-]+\Z")
"""Letters of sequences, with the signs for a stop and for a gap."""
_FEWEST_VALUES = 3
"""Two values are the same as a number and as categories, up to a scale."""


class NamedColumn(NamedTuple):
    """A column: floats with NaN, or texts with None, where a value is missing."""

    name: str
    values: Any

    @property
    def is_number(self) -> bool:
        """Whether it holds floats."""
        return bool(self.values.dtype.kind == "f")


@dataclass(frozen=True)
class ColumnCode:
    """How one column becomes coordinates.

    A number is standardised, (x − centre)/scale, with ``fill`` where it is missing; a category has
    a coordinate of 0 or 1 for each of its ``levels``, and none for a level that was never seen.
    With ``missing`` there is one more coordinate, which tells where a value is missing. With a
    ``place`` from 1 on, the levels are letters that stand there in a sequence. With ``similar`` a
    coordinate is no more 0 or 1 but the cosine of the pieces of three letters in a text and in the
    level, so that a level that was never seen is near to those that are written like it. With
    ``knots`` a number is replaced by its rank among the training values, from 0 to 1, before it is
    standardised: ``ranks`` are those of the knots, and those between are interpolated. A number of
    great skewness may have log(1 + x/m) there in the place of ranks, m the median of what is > 0.

    References
    ----------
    P. Cerda, G. Varoquaux and B. Kégl, Similarity encoding for learning with dirty categorical
    variables, Machine Learning 107 (2018).
    """

    name: str
    levels: list[str]
    missing: bool
    fill: float = 0.0
    centre: float = 0.0
    scale: float = 1.0
    place: int = 0
    similar: bool = False
    knots: list[float] = field(default_factory=list)
    ranks: list[float] = field(default_factory=list)

    STATE: ClassVar[State] = {
        "name": TEXT,
        "levels": ListOf(TEXT),
        "missing": FLAG,
        "place": COUNT,
        "similar": FLAG,
        "knots": ListOf(Number()),
        "ranks": ListOf(Number()),
        **dict.fromkeys(("fill", "centre", "scale"), Number()),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where knots and ranks do not fit."""
        if len(self.knots) != len(self.ranks) or (np.diff(self.knots) <= 0).any():
            raise WrongState("it has not one rank for each knot, in order")

    @classmethod
    def of(
        cls,
        column: NamedColumn,
        as_category: bool = False,
        similar: bool = False,
        ranked: bool = False,
        logged: bool = False,
    ) -> ColumnCode:
        """Learn the code of a column from training rows."""
        values = column.values
        if not column.is_number or as_category:
            texts = _texts(values)
            known = np.array([text for text in texts if text is not None], dtype=object)
            levels, counts = np.unique(known.astype(str), return_counts=True)
            # Of equally frequent levels any, not the first of the alphabet.
            order = np.random.default_rng(0).permutation(len(levels))
            frequent = np.sort(order[np.argsort(-counts[order], kind="stable")][:MOST_LEVELS])
            chosen = [str(v) for v in levels[frequent]]
            return cls(column.name, chosen, len(known) < len(texts), similar=similar)
        known = values[~np.isnan(values)]
        missing = len(known) < len(values)
        if not len(known):
            return cls(column.name, [], missing)
        fill = float(np.median(known))
        filled = np.where(np.isnan(values), fill, values)
        knots, ranks = _ranks_of(filled) if ranked else ([], [])
        if logged:
            knots, ranks = _logarithms_of(filled)
        if knots:
            filled = np.interp(filled, knots, ranks)
        scale = float(filled.std())
        tiny = 10 * np.finfo(np.float64).eps * float(np.abs(filled).max())
        return cls(
            column.name, [], missing, fill, float(filled.mean()), scale if scale > tiny else 1.0,
            knots=knots, ranks=ranks,
        )  # fmt: skip

    @classmethod
    def places_of(cls, column: NamedColumn) -> list[ColumnCode]:
        """Learn a code for each place of a column of sequences, which all have one length."""
        known = [text for text in column.values if text]
        letters = np.array([list(text) for text in known])
        gaps = len(known) < len(column.values)
        return [
            # Where a sequence is missing is told once.
            cls(column.name, np.unique(at).tolist(), gaps and place == 1, place=place)
            for place, at in enumerate(letters.T, 1)
        ]

    @property
    def owner(self) -> str:
        """What the column is called, or its place: ``dna[31]``."""
        return f"{self.name}[{self.place}]" if self.place else self.name

    @property
    def names(self) -> list[str]:
        """What the coordinates are called."""
        sign = "≈" if self.similar else "="
        levels = [f"{self.owner} {sign} {level}" for level in self.levels] or [self.owner]
        return [*levels, f"{self.name} is missing"] if self.missing else levels

    def coordinates(self, values: Column) -> Array:
        """Return the coordinates of a column: an array of shape (rows, len(names))."""
        if self.levels:
            texts = _texts(values)
            gone = np.array([text is None for text in texts])
            if self.place:
                # A slice: a sequence that ends before has nothing there.
                at = slice(self.place - 1, self.place)
                texts = np.array([(text or "")[at] for text in texts], dtype=object)
                gone = texts == ""
            if self.similar:
                main = _likeness(texts, self.levels)
            else:
                main = texts[:, None] == np.array(self.levels, dtype=object)
        else:
            gone = np.isnan(values)
            filled = np.where(gone, self.fill, values)
            if self.knots:
                filled = np.interp(filled, self.knots, self.ranks)
            main = ((filled - self.centre) / self.scale)[:, None]
        parts = [main, gone[:, None]] if self.missing else [main]
        return np.hstack(parts).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TableCoding:
    """How a table becomes rows of numbers, learnt from training rows alone.

    Columns of frames (pandas, polars, pyarrow) may hold numbers, truth values, dates, texts or
    categories; arrays hold numbers. NaN and nulls are missing values. Sequences of one length, such
    as aligned DNA, are a category for each place.
    """

    codes: list[ColumnCode]

    STATE: ClassVar[State] = {"codes": ListOf(A(ColumnCode))}

    @classmethod
    def of(
        cls,
        X: Objects,
        as_category: Sequence[str] = (),
        similar: Sequence[str] = (),
        ranked: bool = False,
        logged: Sequence[str] = (),
    ) -> TableCoding:
        """Learn the codes.

        ``as_category`` names columns of numbers that are categories, ``similar`` columns of texts
        that are compared by their spelling; with ``ranked`` numbers are replaced by their ranks,
        those of the columns that ``logged`` names by their logarithms.
        """
        codes: list[ColumnCode] = []
        for column in columns_of(X):
            if not column.is_number and are_aligned(column.values):
                codes += ColumnCode.places_of(column)
            else:
                is_code, is_similar = column.name in as_category, column.name in similar
                is_logged = column.name in logged
                codes.append(ColumnCode.of(column, is_code, is_similar, ranked, is_logged))
        if not codes:
            raise InvalidInput("The table has no columns; at least one is needed.")
        return cls(codes)

    @property
    def names(self) -> list[str]:
        """What the coordinates are called."""
        return [name for code in self.codes for name in code.names]

    @property
    def owners(self) -> list[str]:
        """The column, or the place in a column of sequences, that each coordinate belongs to."""
        return [code.owner for code in self.codes for _ in code.names]

    def transform(self, X: Objects) -> Array:
        """Return the rows as numbers, in the order of the training columns."""
        given = {column.name: column for column in columns_of(X)}
        parts = []
        for code in self.codes:
            if code.name not in given:
                raise InvalidInput(
                    f"The table has no column {code.name!r}, which was there in fit. Give a table "
                    "with the same columns."
                )
            column = given[code.name]
            if not code.levels and not column.is_number:
                raise InvalidInput(
                    f"Column {code.name!r} held numbers in fit and holds texts now. Give numbers."
                )
            parts.append(code.coordinates(column.values))
        return np.ascontiguousarray(np.hstack(parts))


def columns_of(X: Objects) -> Iterator[NamedColumn]:
    """Give the columns of a frame, or of an array of numbers, one by one."""
    if not is_frame(X):
        for j, values in enumerate(np.asarray(X, dtype=np.float64).T):
            yield NamedColumn(str(j), values)
        return
    for column in as_narwhals(X).iter_columns():
        yield NamedColumn(str(column.name), _plain_values(column))


def are_aligned(texts: Sequence[str | None]) -> bool:
    """Whether texts are sequences of letters that can be compared place by place.

    They have one length, unless they are empty, and most of them are different: as categories they
    would say nothing.
    """
    known = [text for text in texts if text]
    lengths = {len(text) for text in known}
    return (
        len(lengths) == 1
        and lengths.pop() >= SHORTEST_SEQUENCE
        and len(set(known)) > len(known) / 2
        and all(_LETTERS.match(text) for text in known)
    )


def codes_of_categories(X: Objects) -> list[str]:
    """Return the columns of few different whole numbers, which may stand for categories."""
    found = []
    for name, values in columns_of(X):
        if values.dtype.kind != "f":
            continue
        different = np.unique(values[~np.isnan(values)])
        whole = bool((different == np.rint(different)).all())
        if whole and _FEWEST_VALUES <= len(different) <= FEW_VALUES:
            found.append(name)
    return found


def has_far_values(X: Objects) -> bool:
    """Whether a column of many different numbers has values that are far from all others.

    Standardised, most of its values are nearly the same.
    """
    for column in columns_of(X):
        if not column.is_number:
            continue
        known = column.values[~np.isnan(column.values)]
        if len(np.unique(known)) <= FEW_VALUES:
            continue
        if float(np.abs(known - known.mean()).max()) > _FAR * float(known.std()):
            return True
    return False


def skewed_columns(X: Objects) -> list[str]:
    """Return the columns of many different numbers, none below 0, with a long tail: incomes, say.

    Standardised, most of their values are nearly the same.
    """
    found = []
    for column in columns_of(X):
        if not column.is_number:
            continue
        known = column.values[~np.isnan(column.values)]
        if len(np.unique(known)) <= FEW_VALUES or known.min() < 0:
            continue
        if float(((known - known.mean()) ** 3).mean()) > _SKEWED * float(known.std()) ** 3:
            found.append(column.name)
    return found


def varied_texts(X: Objects) -> list[str]:
    """Return the columns of many different texts, whose spelling may tell what is alike."""
    found = []
    for column in columns_of(X):
        if column.is_number or are_aligned(column.values):
            continue
        different = {text for text in column.values if text}
        letters = sum(map(len, different))
        if len(different) > _MANY_LEVELS and letters >= _FEWEST_LETTERS * len(different):
            found.append(column.name)
    return found


def _ranks_of(values: Array) -> tuple[list[float], list[float]]:
    """Return different values, and the share of all that is below them; equals count half."""
    different, counts = np.unique(values, return_counts=True)
    shares = (np.cumsum(counts) - counts / 2) / len(values)
    at = _spread(len(different))
    return different[at].tolist(), shares[at].tolist()


def _logarithms_of(values: Array) -> tuple[list[float], list[float]]:
    """Return different values ≥ 0, and log(1 + x/m) of them, m the median of the positive ones."""
    different = np.unique(values)
    knots = different[_spread(len(different))]
    return knots.tolist(), np.log1p(knots / np.median(values[values > 0])).tolist()


def _spread(count: int) -> IntArray:
    """Return the places of knots among so many values, the first and the last included."""
    return np.unique(np.rint(np.linspace(0, count - 1, _KNOTS)).astype(np.intp))


def _likeness(texts: Sequence[str | None], levels: Sequence[str]) -> Array:
    """Return the cosines of the pieces of three letters, in small letters and with both ends."""
    different, place = np.unique([text or "" for text in texts], return_inverse=True)
    kernel = Spectrum(3).normalized()
    values = kernel([f" {t.lower()} " for t in different], [f" {t.lower()} " for t in levels])
    return np.asarray(values[place])


def _plain_values(column: Column) -> Any:
    """Return a column of a frame as floats with NaN, or as texts with None."""
    import narwhals.stable.v2 as nw

    kind = column.dtype
    if kind.is_temporal() and str(kind) != "Time":
        # Days: the joint distance standardises them anyway.
        gone = column.is_null().to_numpy()
        ticks = column.cast(nw.Datetime("us")).cast(nw.Int64).fill_null(0).to_numpy()
        return np.where(gone, np.nan, np.asarray(ticks, dtype=np.float64) / 86_400e6)
    numeric = kind.is_numeric() or kind == nw.Boolean
    whole = numeric and not column.null_count()
    values = [] if whole else column.to_list()
    if numeric:
        floats: Any = (
            column.to_numpy()
            if whole
            else [np.nan if is_missing(value) else float(value) for value in values]
        )
        found = np.array(floats, dtype=np.float64)
        if np.isinf(found).any():
            row = int(np.flatnonzero(np.isinf(found))[0])
            raise InvalidInput(
                f"Column {column.name!r} holds infinity in row {row}. Leave the value empty, or "
                "give a number."
            )
        return found
    return np.array([None if is_missing(value) else str(value) for value in values], dtype=object)


def _texts(values: Column) -> Any:
    """Return levels as texts, whole numbers without a point, None where a value is missing."""
    if values.dtype.kind != "f":
        return values
    written = [None if np.isnan(v) else f"{v:g}" for v in values]
    return np.array(written, dtype=object)
