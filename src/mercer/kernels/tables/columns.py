"""Some columns of a table, and what becomes of values that are missing there."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer._files.fields import A, ListOf, State
from mercer._typing import BoolArray, Column, Frame, IntArray, Object, Objects
from mercer.exceptions import InvalidInput, shown
from mercer.kernels.encoders import (
    Encoder,
    as_array,
    as_narwhals,
    column_names,
    is_frame,
    is_missing,
    not_a_table,
)
from mercer.kernels.points import Leaf, Vectors


@dataclass(frozen=True)
class Gappy:
    """A column in which values may be missing: others stand in for them, and do not count."""

    column: Any

    STATE: ClassVar[State] = {"column": A((str, int, np.integer))}


@dataclass(frozen=True)
class ColumnEncoder(Encoder):
    """Some columns of a table or an array, looked at by ``inner``."""

    inner: Encoder  # type: ignore[misc]
    columns: tuple[Any, ...]  # type: ignore[misc]

    STATE: ClassVar[State] = {
        "inner": A(Encoder),
        "columns": ListOf(A((str, int, np.integer, Gappy)), tuple),
    }

    def is_own(self, leaf: Any) -> bool:
        return self.inner.is_own(leaf)

    def identity(self, leaf: Any, row: int) -> Hashable:
        return self.inner.identity(leaf, row)

    @property
    def by_column(self) -> bool:  # type: ignore[override]
        return self.inner.by_column

    def encode(self, X: Objects, owner: str) -> Leaf:
        plain = tuple(c.column if isinstance(c, Gappy) else c for c in self.columns)
        part = select_columns(X, plain, owner)
        if plain != self.columns:
            part = _patched(part, self.inner.stand_in, owner)
        return self.inner.encode(part, owner)


@dataclass(frozen=True)
class PresenceEncoder(Encoder):
    """Whether all values of a row are there: 1, or 0."""

    makes = Vectors

    def is_own(self, leaf: Any) -> bool:
        one = super().is_own(leaf) and leaf.dimension == 1 and not leaf.is_sparse
        return one and bool(np.isin(leaf.values, (0, 1)).all())

    def encode(self, X: Objects, owner: str) -> Vectors:
        del owner
        complete = ~_gaps(X).any(axis=1, keepdims=True)
        # float32 leaves the type of the other columns alone.
        return Vectors(np.asarray(complete, dtype=np.float32))


def select_columns(X: Objects, columns: tuple[Any, ...], owner: str) -> Any:
    """Return the part of ``X`` that has ``columns`` only, always as a table."""
    if is_frame(X):
        frame = as_narwhals(X)
        known = column_names(frame)
        chosen = [_column_name(column, known, owner) for column in columns]
        return frame.select(chosen).to_native()
    kind = None if hasattr(X, "dtype") else object
    table: Any = X if sparse.issparse(X) else as_array(X, owner, kind)
    if table.ndim != 2:
        raise InvalidInput(not_a_table(owner, table))
    for column in columns:
        if not isinstance(column, numbers.Integral):
            raise InvalidInput(
                f"{owner}: column {shown(column)} was asked for by name, but X is an array without "
                "names. Pass a data frame, or give the position of the column."
            )
        if not -table.shape[1] <= column < table.shape[1]:
            raise InvalidInput(
                f"{owner}: there is no column {column}: X has {table.shape[1]} columns."
            )
    part = table.tocsc() if sparse.issparse(table) else table
    return part[:, [int(column) for column in columns]]


def _column_name(column: Column, names: Sequence[Any], owner: str) -> Any:
    if column in names:
        return column
    if isinstance(column, numbers.Integral) and -len(names) <= int(column) < len(names):
        return names[int(column)]
    known = ", ".join(map(shown, names[:8])) + (", …" if len(names) > 8 else "")
    raise InvalidInput(f"{owner}: there is no column {shown(column)}. The table has {known}.")


def single_column(X: Objects, owner: str, what: str, remedy: str) -> Any:
    """Return the objects in a table of one column; what is no table stays as it is.

    ``what`` names them in messages, and ``remedy`` is what to do about more columns.
    """
    frame = as_narwhals(X) if is_frame(X) else None
    if frame is not None:
        check_single(len(frame.columns), owner, what, remedy)
        return frame.get_column(frame.columns[0]).to_list()
    if isinstance(X, np.ndarray) and X.ndim > 1:
        check_single(X.shape[1] if X.ndim == 2 else 0, owner, what, remedy)
        return X[:, 0].tolist()
    return X.to_pylist() if hasattr(X, "to_pylist") else X


def check_single(columns: int, owner: str, what: str, remedy: str) -> None:
    """Refuse tables with more columns than one."""
    if columns != 1:
        raise InvalidInput(
            f"{owner}: expected one column of {what}, got a table of {columns} columns. {remedy}"
        )


# ---- gaps --------------------------------------------------------------------------------------


def _gaps(table: Frame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell for each cell of a table whether its value is missing."""
    if is_frame(table):
        frame = as_narwhals(table)
        return np.column_stack([_is_gone(frame.get_column(c).to_list()) for c in frame.columns])
    if sparse.issparse(table):
        gaps = np.isnan(table.data) if table.dtype.kind == "f" else np.zeros(table.nnz, bool)
        where = sparse.csc_array((gaps, table.indices, table.indptr), table.shape)
        return np.asarray(where.toarray())
    if table.dtype.kind == "f":
        return np.asarray(np.isnan(table))
    if table.dtype.kind != "O":
        return np.zeros(table.shape, dtype=bool)
    return np.column_stack([_is_gone(column) for column in table.T])


def _is_gone(values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    # What has a length (texts, series, trees) is there, whatever it compares to.
    return np.array([not hasattr(value, "__len__") and is_missing(value) for value in values], bool)


def _patched(table: Frame, stand_in: Object, owner: str) -> Any:
    """Put another value of the column, or ``stand_in``, wherever one is missing."""
    gaps = _gaps(table)
    holed = np.flatnonzero(gaps.any(axis=0))
    if not holed.size:
        return table
    if stand_in is None and gaps.all(axis=0).any():
        raise InvalidInput(f"{owner}: a column holds no value at all. Leave the column out.")
    if is_frame(table):
        return _patched_frame(as_narwhals(table), gaps, holed, stand_in)
    part = table.copy()
    if sparse.issparse(table):
        part.data = np.nan_to_num(part.data, nan=0.0)
        return part
    for j in holed:
        part[gaps[:, j], j] = _known(part[:, j], gaps[:, j], stand_in)
    return part


def _patched_frame(frame: Frame, gaps: BoolArray, holed: IntArray, stand_in: Object) -> Any:
    import narwhals.stable.v2 as nw

    patched = []
    for j in holed:
        column = frame.get_column(frame.columns[j])
        values, gone = column.to_list(), gaps[:, j]
        known = _known(values, gone, stand_in)
        filled = [known if lost else value for value, lost in zip(values, gone, strict=True)]
        kind = column.dtype if column.dtype.is_float() else None
        patched.append(nw.new_series(column.name, filled, kind, backend=frame.implementation))
    return frame.with_columns(*patched).to_native()


def _known(values: Sequence[Any], gone: BoolArray, stand_in: Object) -> Any:
    return stand_in if gone.all() else values[int(np.argmin(gone))]
