"""The columns and cells of whatever the data are: arrays, frames, sparse matrices, lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mercer._typing import IntArray, Objects
from mercer.estimators.base import take_objects
from mercer.kernels.encoders import as_narwhals, is_frame, row_count
from mercer.report import text


def column_names(X: Objects, given: Sequence[Any] | None) -> list[str]:
    """Return the names of the columns; a list of texts or other objects has one."""
    if given is not None:
        return [text.clean(name, 48) for name in given]
    if is_frame(X):
        return [text.clean(name, 48) for name in as_narwhals(X).columns]
    width = _width(X)
    return ["object"] if width == 0 else [f"column {j + 1}" for j in range(width)]


def cells(X: Objects, rows: IntArray, count: int) -> list[list[str]]:
    """Return the first ``count`` values of some rows as texts."""
    part = take_objects(X, rows)
    # A text that is the whole object gets more room than one among many columns.
    limit = max(60, 480 // (count + 1))
    if is_frame(part):
        frame = as_narwhals(part)
        lists = [frame.get_column(name).to_list() for name in frame.columns[:count]]
        return [[text.cell(value, limit) for value in row] for row in zip(*lists, strict=True)]
    if sparse.issparse(part):
        part = part[:, :count].toarray()
    if _width(part) == 0:
        return [[text.cell(part[i], limit)] for i in range(row_count(part))]
    return [
        [text.cell(value, limit) for value in list(row)[:count]]
        for row in np.asarray(part).tolist()
    ]


def row_names(X: Objects, given: Sequence[Any] | None, rows: IntArray) -> list[str]:
    """Return what some rows are called: given names, the index of a pandas frame, or numbers."""
    if given is None and hasattr(X, "iloc"):
        given = X.index
    names = (rows + 1).tolist() if given is None else [given[i] for i in rows.tolist()]
    return [text.clean(name, 32) for name in names]


def _width(X: Objects) -> int:
    """Return the number of columns, 0 for a plain list of objects."""
    if hasattr(X, "shape"):
        return int(X.shape[1]) if len(X.shape) == 2 else 0
    rows = [row for row in X if isinstance(row, list | tuple | np.ndarray)]
    widths = {len(row) for row in rows}
    return widths.pop() if len(rows) == len(X) and len(widths) == 1 else 0
