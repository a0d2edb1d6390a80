"""What should be known of single answers: values filled in or never seen, rows unlike training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._typing import BoolArray, Model, Objects
from mercer.gram.computed import Gram
from mercer.io.table_cells import plain
from mercer.io.table_schema import ColumnSchema, Schema
from mercer.kernels.encoders import as_narwhals, row_count
from mercer.report.text import clean

FAR = 0.01
"""A row is unlike training if its nearest row there is further away than for this share of them."""
_BLOCK = 2_000
"""Rows whose similarities are looked at together: 16 MB for 1,000 points."""
_ROUNDING = 1e-9
"""Training rows themselves are near enough, whatever the sum was in which order."""


def remarks_of(model: Model, schema: Schema, table: Any, aligned: Objects) -> list[str]:
    """Return a text for each row, empty where nothing is to be said.

    ``table`` holds the rows as they were given, ``aligned`` as the model takes them.
    """
    if schema.width is not None:  # columns of a sparse table are many, and none is ever missing
        return [""] * row_count(aligned)
    frame = as_narwhals(getattr(table, "frame", table) if hasattr(table, "place") else table)
    found: list[list[str]] = [[] for _ in range(len(frame))]
    for column in schema.columns:
        values = aligned[column.name].to_pylist()
        given = None
        if column.name in frame.columns:
            given = plain(frame.get_column(column.name).to_arrow())
        for row, text in _of_column(column, given, values):
            found[row].append(f"{clean(column.name, 60)} {text}")
    if hasattr(model, "voter_functions"):
        for far in np.flatnonzero(unlike_training(model, aligned)):
            found[far].append("unlike the training rows")
    return ["; ".join(texts) for texts in found]


def _of_column(column: ColumnSchema, given: Any, values: list[Any]) -> Iterator[tuple[int, str]]:
    """Yield rows with what is to be said of their value; ``given`` is it before gaps were filled.

    A column that is made of another one is given by that.
    """
    gone = np.zeros(len(values), bool)
    if given is not None:
        gone = np.asarray(given.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
    for row in np.flatnonzero(gone):
        yield int(row), f"is missing, taken as {_value(values[row])}"
    if not column.seen:
        return
    if column.kind == "number":
        low, high = (float(end) for end in column.seen)
        numbers = np.where(gone, low, np.array(values, dtype=float))
        for row in np.flatnonzero(numbers < low):
            yield int(row), f"{_value(values[row])} is below {low:.7g}, the least in training"
        for row in np.flatnonzero(numbers > high):
            yield int(row), f"{_value(values[row])} is above {high:.7g}, the most in training"
    else:
        known = set(column.seen)
        for place, text in enumerate(values):
            if not gone[place] and text not in known and text != column.fill:
                yield place, f"{_value(text)} was not seen in training"


def unlike_training(machine: Any, aligned: Objects) -> BoolArray:
    """Tell rows that no training row resembles, as the first machine of a vote sees them.

    A row resembles its nearest training row by max k(z, z′); rows of training that are nearest to
    others say how much is usual. None is, where the kernel measures no distance, as a linear one.
    """
    first = machine.voter_functions()[0][0]
    kernel, points = first.expansion.kernel, first.expansion.points
    own = np.array(Gram(kernel, points).dense(), dtype=float)
    rows = first.coordinates(aligned)
    if not np.allclose(np.diag(own), 1):
        return np.zeros(len(rows), bool)
    np.fill_diagonal(own, -np.inf)
    usual = np.quantile(own.max(axis=1), FAR)
    near = [
        np.asarray(Gram(kernel, rows[start : start + _BLOCK], points).dense()).max(axis=1)
        for start in range(0, len(rows), _BLOCK)
    ]
    return np.asarray(np.concatenate(near) < usual * (1 - _ROUNDING))


def _value(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, int | float) else repr(clean(value, 40))
