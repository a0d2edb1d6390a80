"""Tables of data: read from files, described, and prepared for a machine."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer._notebook import table_in_html
from mercer._typing import DataSource, Frame, Targets
from mercer.exceptions import LONGEST_NAME, InvalidInput, InvalidParameter, meant, shown
from mercer.io.column_kinds import USED, Column, describe_columns, measured_columns
from mercer.io.derived_columns import Derivation, with_derived
from mercer.io.read_formats import read_raw
from mercer.io.table_cells import Place, in_row, plain, typed
from mercer.io.table_dates import with_dates
from mercer.io.table_gaps import telling_gaps
from mercer.io.table_schema import ColumnSchema, Schema, fill_in_words, learn_fill, learn_seen
from mercer.io.table_source import RawTable, Source, arrow, find_source, raw_frame
from mercer.io.table_target import Target, Task, choose_target, find_task, listed
from mercer.kernels.encoders import is_frame

_TITLES = 20
"""Lines of titles and remarks that may stand above the names of the columns."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data that a machine can take: ``X`` without missing values, ``y``, and the schema of both.

    ``notes`` say in words what was filled in.

    Attributes
    ----------
    X : frame or CSR matrix
        The columns that are used, without missing values.
    y : array or None
        The target.
    schema : Schema
        What new data have to look like.
    notes : tuple of str
        What was filled in.

    Examples
    --------
    >>> from mercer import read_table
    >>> data = read_table("penguins").prepare()
    >>> len(data.y), data.notes[0]
    (344, 'bill_length_mm: 2 of 344 values are missing and become the median, 44.45.')
    """

    X: Any
    y: np.ndarray[Any, Any] | None
    schema: Schema
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table of data with what was found out about it; printing it tells.

    Attributes
    ----------
    source : str
        Where it came from.
    frame : pyarrow table or CSR matrix
        All columns but the target.
    columns : tuple of Column
        What each of them holds and why; those that are not ``used`` are set aside.
    target, target_name
        The values to predict and the name of their column, or None.
    task : {"two classes", "many classes", "number", "none"}
        What there is to learn, and ``reason`` in words.
    missing : dict
        How many values are missing in each column that lacks some.
    notes : tuple of str
        What was noticed or decided while reading.
    reason : str
        Why this is the task.
    place : function
        Says where in the source a row stands, for messages.
    zero_based : bool
        Whether a sparse file counts its columns from 0.
    derived : dict
        How columns are made of others: the parts of dates.
    markers : tuple of str
        More ways in which missing values were written.

    Examples
    --------
    >>> from mercer import read_table
    >>> table = read_table("penguins")
    >>> table.missing
    {'bill_length_mm': 2, 'bill_depth_mm': 2, 'flipper_length_mm': 2, 'body_mass_g': 2, 'sex': 11}
    """

    source: str
    frame: Any
    columns: tuple[Column, ...] = ()
    target: np.ndarray[Any, Any] | None = None
    target_name: str | None = None
    task: Task = "none"
    reason: str = ""
    missing: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    place: Place = in_row
    zero_based: bool = False
    derived: dict[str, Derivation] = field(default_factory=dict)
    markers: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.frame.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the columns are those of a sparse matrix, all of them numbers."""
        return bool(sparse.issparse(self.frame))

    @property
    def used(self) -> list[str]:
        """The names of the columns that are not set aside."""
        return [str(column.name) for column in self.columns if column.used]

    def take(self, rows: Any) -> Table:
        """Return some rows."""
        index = np.arange(len(self))[rows]
        frame = self.frame[index] if self.is_sparse else self.frame.take(arrow().array(index))
        y = None if self.target is None else self.target[index]
        place = self.place
        missing = {} if self.is_sparse else _missing_values(frame)
        return replace(
            self,
            frame=frame,
            target=y,
            missing=missing,
            place=lambda row: place(int(index[row])),
        )

    def prepare(self, rows: Any = None, *, missing: str = "fill") -> Prepared:
        """Return all rows in the form that machines take.

        Missing numbers become the median, missing categories a category of their own, missing
        texts empty ones; the medians are those of ``rows``, the training rows (default: all).
        With ``missing="error"`` a missing value is an error.
        """
        if missing not in ("fill", "error"):
            raise InvalidParameter(f"missing={missing!r} has to be 'fill' or 'error'.")
        schema = self._schema(self if rows is None else self.take(rows), missing == "fill")
        notes = [
            fill_in_words(column.name, self.missing[column.name], len(self), column.fill)
            for column in schema.columns
            if column.name in self.missing and column.fill is not None
        ]
        notes += [
            f"{column.name}, a column of its own: where the value is missing, answers differ."
            for column in schema.columns
            if column.made_of is not None and column.name not in self.derived
        ]
        return Prepared(schema.align(self), self.target, schema, tuple(notes))

    def _schema(self, training: Table, fill: bool) -> Schema:
        labels = () if self.target is None or self.task == "number" else np.unique(self.target)
        shared: dict[str, Any] = {
            "target": self.target_name,
            "task": self.task,
            "labels": tuple(label.item() for label in labels),
            "markers": self.markers,
        }
        if self.is_sparse:
            width = int(self.frame.shape[1])
            return Schema(width=width, zero_based=self.zero_based, **shared)
        columns = []
        for column in self.columns:
            if column.used:
                values = training.frame[column.name]
                given = learn_fill(values, column.kind) if fill else None
                name = str(column.name)
                made, seen = self.derived.get(name), learn_seen(values, column.kind)
                columns.append(ColumnSchema(name, column.kind, given, made, seen))
        if fill:
            gaps = telling_gaps(training.frame, columns, training.target, self.task)
            columns += [ColumnSchema(name, made.kind, None, made) for name, made in gaps.items()]
        if not columns:
            names = [str(column.name) for column in self.columns[:8]]
            short = [name if len(name) <= LONGEST_NAME else shown(name) for name in names]
            reasons = [column.reason for column in self.columns[:8]]
            aside = "; ".join(map(": ".join, zip(short, reasons, strict=True)))
            raise InvalidInput(
                f"{self.source}: no column is left to learn from ({aside}). Add columns."
            )
        return Schema(tuple(columns), **shared)

    def _repr_html_(self) -> str:
        """Show what each column holds in a notebook."""
        first, *_ = repr(self).splitlines()
        target = f"Target: {self.target_name}, {self.task} ({self.reason})."
        return table_in_html(
            ("column", "holds", "because", "missing"),
            [(c.name, c.kind, c.reason, self.missing.get(c.name, "")) for c in self.columns],
            title=first,
            below=[target if self.target_name is not None else "", *self.notes],
        )

    def __repr__(self) -> str:
        rows = f"{len(self):,} rows" if len(self) != 1 else "1 row"
        lines = [f"{self.source}: {rows}"]
        if self.is_sparse:
            lines.append(f"  {self.frame.shape[1]:,} sparse columns of numbers")
        for kind in USED:
            names = [str(c.name) for c in self.columns if c.kind == kind]
            if names:
                more = f" and {len(names) - 8} more" if len(names) > 8 else ""
                lines.append(f"  {kind}: {', '.join(names[:8])}{more}")
        aside = [column for column in self.columns if not column.used]
        lines += [f"  set aside: {column.name} ({column.reason})" for column in aside]
        if self.target_name is not None:
            lines.append(f"  target: {self.target_name}, {self.task} ({self.reason})")
        if self.missing:
            total = sum(self.missing.values())
            values = "1 value" if total == 1 else f"{total:,} values"
            lines.append(f"  missing: {values} in {', '.join(list(self.missing)[:8])}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def read_table(
    source: DataSource,
    target: str | int | bool | None = None,
    *,
    like: Schema | None = None,
    kinds: Mapping[str, str] | None = None,
    task: str | None = None,
    missing: Collection[str] = (),
    drop: Collection[str] = (),
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a table from a file, a data frame, or one of the data sets that come with mercer.

    Parameters
    ----------
    source : path, str or data frame
        A file of separated values (CSV and the like), Excel, Parquet, JSON lines or LIBSVM,
        plain or packed (gzip, bzip2, xz, a zip with one table), told apart by content; the name
        of a data set such as ``"heart"``; or a frame of pandas, polars or pyarrow.
    target : str, int or False, optional
        The column to predict, by name or position; a column called target, y, class, label or
        diagnosis is found by itself. False: there is none.
    like : Schema, optional
        The schema of the training data, for new data: columns get the types they had there, and
        the target may be missing.
    kinds : dict, optional
        What columns hold, where you know better: ``{"zip": "category"}``.
    task : {"classes", "number"}, optional
        What the target is, where you know better.
    missing : list of str
        More ways in which the file writes missing values, besides nothing, NA, N/A, NaN, null, ?.
    drop : list of str
        Columns to leave out.
    delimiter, header, encoding
        How a text file is written, where that cannot be found out.

    Examples
    --------
    >>> from mercer import read_table
    >>> table = read_table("penguins")
    >>> len(table), table.target_name, table.task
    (344, 'species', 'many classes')
    """
    missing = [missing] if isinstance(missing, str) else list(missing)
    drop = [drop] if isinstance(drop, str) else list(drop)
    if is_data_frame(source):
        found, raw = Source("data frame", "", b""), raw_frame(source)
    else:
        found = find_source(source)
        raw = _read(found, target, like, kinds, delimiter, header, encoding)
    if sparse.issparse(raw.frame):
        return _sparse_table(raw, found.name, target, like, task)
    _check_names("kinds", kinds or (), raw, found.name)
    _check_names("drop", drop, raw, found.name)
    raw = replace(raw, frame=raw.frame.drop_columns(drop))
    if like is not None:
        kinds = {**like.kinds, **(kinds or {})}
        missing = [*like.markers, *missing]
        target = target if target is not None else _known_target(raw, like)
    names = raw.frame.column_names
    if not len(raw.frame) or not names:
        raise InvalidInput(f"{found.name} has no rows. Give a line for each object.")
    if target is None and found.target is not None:
        target = found.target
    name, note = choose_target(names, target, found.name, [*raw.notes, *_named_below(raw, target)])
    if names == [name]:
        raise InvalidInput(
            f"{found.name} has no column besides the target {shown(name)}, so there is nothing to "
            "predict it from. Give the other columns, or their separator as delimiter=."
        )
    wanted = {**(kinds or {}), **({} if name is None else {name: _target_kind(task, like)})}
    frame = _typed_frame(raw, wanted, missing, found.name)
    y = Target(None, None, "none", "")
    if name is not None:
        asked = task if like is None else ("number" if like.task == "number" else "classes")
        cells = frame[name].combine_chunks()
        y = find_task(cells, name, found.name, raw.place, asked, learning=like is None)
        frame = frame.drop_columns([name])
    place = raw.place
    if y.kept is not None:
        kept = y.kept
        frame = frame.take(arrow().array(kept))
        place = lambda row: raw.place(int(kept[row]))  # noqa: E731
    there = set(frame.column_names)
    known = {key: kind for key, kind in (kinds or {}).items() if key in there}
    columns = describe_columns(frame, known)
    derived: dict[str, Derivation] = {}
    dated: list[str] = []
    if like is None:
        columns, derived, dated = with_dates(frame, columns, lambda r: f"{found.name}, {place(r)}")
        frame = with_derived(frame, derived, place)
        dated += measured_columns(frame, columns)
    return Table(
        source=found.name,
        frame=frame,
        columns=columns,
        target=y.values,
        target_name=name,
        task=y.task,
        reason=y.reason,
        missing=_missing_values(frame),
        notes=tuple(note for note in (*raw.notes, note, *y.notes, *dated) if note),
        place=place,
        derived=derived,
        markers=tuple(missing),
    )


def _check_names(setting: str, wanted: Collection[str], raw: RawTable, source: str) -> None:
    """Refuse names of columns that are not there."""
    names = raw.frame.column_names
    for name in wanted:
        if name not in names:
            raise InvalidParameter(
                f"{setting}: {source} has no column {shown(name)}.{meant(name, names)} It has "
                f"{listed(names)}."
            )


def is_data_frame(source: DataSource) -> bool:
    """Whether the source is a frame of pandas, polars or pyarrow, and no table of ours."""
    return is_frame(source) and not hasattr(source, "prepare")


def _read(
    found: Source,
    target: Targets,
    like: Schema | None,
    kinds: Mapping[str, str] | None,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
) -> RawTable:
    """Read a file as its format asks for."""
    expected = {*(kinds or {}), *(like.names if like else ()), *([target] if target else ())}
    options: dict[str, Any] = {
        "delimiter": delimiter, "header": header, "encoding": encoding, "names": expected,
    }  # fmt: skip
    if like is not None and like.width is not None:
        options |= {"zero_based": like.zero_based, "width": like.width}
    return read_raw(found, **options)


def _named_below(raw: RawTable, target: Any) -> Iterator[str]:
    """Say where the name of the target stands, if it is among the first rows."""
    for name in raw.frame.column_names if raw.untyped and isinstance(target, str) else ():
        cells = raw.frame[name].slice(0, _TITLES).to_pylist()
        for row, cell in enumerate(cells):
            if target in (part.strip() for part in re.split(r"[,;|\t]", cell or "")):
                yield (
                    f"{raw.place(row).capitalize()} holds {shown(target)}: if the names of the "
                    "columns stand there, delete what is above."
                )
                return


def _missing_values(frame: Frame) -> dict[str, int]:
    counts = {name: int(frame[name].null_count) for name in frame.column_names}
    return {name: count for name, count in counts.items() if count}


def _known_target(raw: RawTable, like: Schema) -> str | bool:
    target = like.target
    return target if target is not None and target in raw.frame.column_names else False


def _target_kind(task: str | None, like: Schema | None) -> str | None:
    """Return how the cells of the target are to be read: as numbers, as text, or as they look."""
    if like is None:
        return "number" if task == "number" else None
    textual = any(isinstance(label, str) for label in like.labels)
    return "category" if textual else "number"


def _typed_frame(
    raw: RawTable, kinds: Mapping[str, str | None], missing: Collection[str], source: str
) -> Any:
    def place(row: int) -> str:
        return f"{source}, {raw.place(row)}"

    columns = {}
    for name in raw.frame.column_names:
        column = raw.frame[name]
        if raw.untyped:
            kind = kinds.get(name)
            wanted = None if kind is None else "number" if kind == "number" else "text"
            columns[name] = typed(column, name, place, missing, wanted, raw.separator == ",")
        else:
            columns[name] = plain(column)
    return arrow().table(columns)


def _sparse_table(
    raw: RawTable, source: str, target: Targets, like: Schema | None, task: str | None
) -> Table:
    if target not in (None, False):
        raise InvalidInput(
            f"{source} is a LIBSVM file, whose target is the first value of each line; leave the "
            f"target {target!r} away."
        )
    asked = task if like is None else ("number" if like.task == "number" else "classes")
    labels = arrow().array(raw.target)
    y = (
        Target(None, None, "none", "")
        if target is False
        else find_task(labels, "label", source, raw.place, asked, learning=like is None)
    )
    return Table(
        source=source,
        frame=raw.frame,
        target=y.values,
        target_name=y.name,
        task=y.task,
        reason=y.reason,
        notes=raw.notes,
        place=raw.place,
        zero_based=raw.extra["zero_based"],
    )
