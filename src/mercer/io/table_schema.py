"""The schema of a table: what a model has to know of its training data to read new data."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np
from scipy import sparse

from mercer._typing import Column, Objects, Parameter
from mercer.exceptions import InvalidInput, shown
from mercer.io.column_kinds import USED, Kind
from mercer.io.derived_columns import (
    ALL_FORMS,
    CLOCK,
    MISSING_PART,
    PARTS,
    Derivation,
    with_derived,
)
from mercer.io.table_cells import Place, as_numbers, as_text, in_row, plain
from mercer.io.table_source import arrow, as_arrow
from mercer.io.table_target import Task, listed
from mercer.kernels.encoders import as_narwhals, is_frame

_VERSION = 1
"""The version of written schemas; a reader refuses others."""
_MOST_COLUMNS = 1_000_000
"""A file with more columns than any table has was not written by mercer."""
_MOST_LEVELS = 10_000
"""Categories that are kept to tell those that were never seen."""
_NESTED = ("series", "graph")
_NEVER_FILLED = (*_NESTED, "molecule")
Label = str | int | float


@dataclass(frozen=True)
class ColumnSchema:
    """A column: its name, its kind, and what stands in for a missing value (None: nothing).

    ``made_of`` says how it is made of another column, such as the month of a date; ``seen`` are the
    least and the greatest number of training, or its categories, where they are known.
    """

    name: str
    kind: Kind
    fill: float | str | None = None
    made_of: Derivation | None = None
    seen: tuple[float | str, ...] = ()

    @property
    def origin(self) -> str:
        """The column that data have to have."""
        return self.name if self.made_of is None else self.made_of.column


@dataclass(frozen=True)
class Schema:
    """Columns, target and fillings as they were in training; plain data, so it fits in a file.

    A sparse table has no columns but a ``width``, and ``zero_based`` says how its file counts.

    Attributes
    ----------
    columns : tuple of ColumnSchema
        The columns in training.
    target : str or None
        The name of the target.
    task : {"two classes", "many classes", "number", "none"}
        What there is to learn.
    labels : tuple
        The classes.
    width : int or None
        The number of columns of a sparse table.
    zero_based : bool
        Whether its file counts columns from 0.
    markers : tuple of str
        More ways in which training data wrote missing values.

    Examples
    --------
    >>> from mercer import read_table
    >>> schema = read_table("penguins").prepare().schema
    >>> schema.labels, len(schema.columns)
    (('Adelie', 'Chinstrap', 'Gentoo'), 6)
    """

    columns: tuple[ColumnSchema, ...] = ()
    target: str | None = None
    task: Task = "none"
    labels: tuple[Label, ...] = ()
    width: int | None = None
    zero_based: bool = False
    markers: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns that are used."""
        return [column.name for column in self.columns]

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return {column.name: column.kind for column in self.columns}

    def align(self, X: Objects, place: Place = in_row) -> Any:
        """Return new data with the columns, types and fillings of the training data.

        Columns that are missing are an error, others are left out; categories that were never seen
        are allowed. ``X`` is a table (:class:`Table`), a data frame, or a sparse matrix.
        """
        source = "The table"
        if hasattr(X, "place"):
            source, where = X.source, X.place
            place = lambda row: f"{source}, {where(row)}"  # noqa: E731
            X = X.frame
        if self.width is not None:
            return self._align_sparse(X)
        if sparse.issparse(X) or not is_frame(X):
            raise InvalidInput(
                f"The model was trained on a table with the columns {listed(self.names)}. Give "
                "such a table, not an array without names."
            )
        pa = arrow()
        frame = as_arrow(as_narwhals(X))
        derived = {c.name: c.made_of for c in self.columns if c.made_of is not None}
        frame = with_derived(frame, derived, place)
        there = set(frame.column_names)
        missing = list(dict.fromkeys(c.origin for c in self.columns if c.name not in there))
        if missing:
            raise InvalidInput(
                f"{source} lacks {'columns' if len(missing) > 1 else 'the column'} "
                f"{listed(missing)}, which the model was trained on. It has "
                f"{listed(frame.column_names)}."
            )
        columns = {c.name: _aligned(plain(frame[c.name]), c, place) for c in self.columns}
        return pa.table(columns)

    def _align_sparse(self, X: Objects) -> Any:
        matrix = sparse.csr_array(X) if sparse.issparse(X) else None
        if matrix is None or matrix.shape[1] != self.width:
            got = "a table" if matrix is None else f"{matrix.shape[1]} columns"
            raise InvalidInput(
                f"The model was trained on a sparse table of {self.width} columns, got {got}."
            )
        return matrix

    # ---- plain data --------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain data for ``json``."""
        return {"version": _VERSION, **asdict(self), "labels": list(self.labels),
                "markers": list(self.markers),
                "columns": [{**asdict(c), "seen": list(c.seen)} for c in self.columns]}  # fmt: skip

    @classmethod
    def from_json(cls, plain_data: Any) -> Schema:
        """Make a schema of plain data; anything unexpected is refused."""
        if not isinstance(plain_data, dict) or {"markers", *plain_data} != _FIELDS:
            raise InvalidInput("Not the schema of a table: it has other fields than expected.")
        data = {"markers": [], **plain_data}
        if data.pop("version") != _VERSION:
            raise InvalidInput(
                f"The schema has version {plain_data['version']!r}; this mercer reads {_VERSION}."
            )
        columns, labels, markers = (data.pop(name) for name in ("columns", "labels", "markers"))
        _check(isinstance(markers, list) and all(isinstance(m, str) for m in markers), "markers")
        _check(isinstance(columns, list) and len(columns) <= _MOST_COLUMNS, "columns")
        _check(isinstance(labels, list) and all(map(_is_label, labels)), "labels")
        read = tuple(map(_column_from_json, columns))
        schema = cls(read, labels=tuple(labels), markers=tuple(markers), **data)
        _check(len(set(schema.names)) == len(schema.names), "columns")
        _check(schema.target is None or isinstance(schema.target, str), "target")
        _check(schema.task in get_args(Task), "task")
        whole = isinstance(schema.width, int) and not isinstance(schema.width, bool)
        _check(schema.width is None or (whole and 0 < schema.width < 2**31), "width")
        _check(isinstance(schema.zero_based, bool), "zero_based")
        return schema


_FIELDS = {"version", *Schema.__dataclass_fields__}
_COLUMN_FIELDS = set(ColumnSchema.__dataclass_fields__)


def _column_from_json(data: Objects) -> ColumnSchema:
    _check(isinstance(data, dict) and {"made_of", "seen", *data} == _COLUMN_FIELDS, "columns")
    _check(isinstance(data["name"], str) and data["kind"] in USED, "columns")
    fill = data["fill"]
    numeric = _is_number(fill) and math.isfinite(fill)
    fits = numeric if data["kind"] == "number" else isinstance(fill, str)
    _check(fill is None or fits, "fill")
    made_of = _derivation_from_json(data.get("made_of"))
    _check(made_of is None or made_of.kind == data["kind"], "made_of")
    seen = data.get("seen", [])
    good = (lambda v: _is_number(v) and math.isfinite(v)) if data["kind"] == "number" else _is_text
    _check(isinstance(seen, list) and all(map(good, seen)), "seen")
    _check(data["kind"] != "number" or len(seen) in (0, 2), "seen")
    return ColumnSchema(**{**data, "made_of": made_of, "seen": tuple(seen)})


def _derivation_from_json(data: Objects) -> Derivation | None:
    if data is None:
        return None
    _check(isinstance(data, dict) and set(data) == {"column", "part", "form"}, "made_of")
    known = isinstance(data["column"], str) and data["part"] in (*PARTS, CLOCK, MISSING_PART)
    _check(known and data["form"] in ("", *ALL_FORMS), "made_of")
    return Derivation(**data)


def _is_number(value: Parameter) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Parameter) -> bool:
    return isinstance(value, str)


def _is_label(value: Parameter) -> bool:
    return isinstance(value, str) or (_is_number(value) and math.isfinite(value))


def _check(good: bool, name: str) -> None:
    if not good:
        raise InvalidInput(f"Not the schema of a table: {name} is not what it should be.")


# ---- filling -----------------------------------------------------------------------------------


def learn_fill(column: Column, kind: Kind) -> float | str | None:
    """Return what stands in for missing values: a median, a category of its own, no text."""
    if kind in _NEVER_FILLED:
        return None
    if kind != "number":
        return "missing" if kind == "category" else ""
    values = column.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else 0.0


def learn_seen(column: Column, kind: Kind) -> tuple[float | str, ...]:
    """Return the ends of the numbers of training, or its categories; nothing for other kinds."""
    if kind == "number":
        values = column.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
        values = values[np.isfinite(values)]
        return (float(values.min()), float(values.max())) if len(values) else ()
    if kind != "category":
        return ()
    levels = as_text(plain(column.unique()), "").to_pylist()
    return tuple(sorted(level for level in levels if level is not None)[:_MOST_LEVELS])


def fill_in_words(name: str, count: int, total: int, fill: float | str) -> str:
    """Say what happened to the missing values of a column."""
    if isinstance(fill, float):
        what = f"the median, {fill:g}"
    else:
        what = "the category 'missing'" if fill else "an empty text"
    return f"{name}: {count} of {total} values are missing and become {what}."


def _aligned(values: Any, column: ColumnSchema, place: Place) -> Any:
    import pyarrow.compute as pc

    numeric = column.kind == "number"
    if column.kind not in _NESTED:
        values = as_numbers(values, column.name, place) if numeric else as_text(values, column.name)
    if not values.null_count:
        return values
    if column.fill is None:
        row = pc.index(pc.is_null(values), True).as_py()
        raise InvalidInput(
            f"{place(row)}, column {shown(column.name)}: the value is missing. Fill it in, "
            "drop the row, or train with missing='fill'."
        )
    return pc.fill_null(values, float(column.fill) if numeric else column.fill)
