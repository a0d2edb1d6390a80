"""Readers of series: ``.ts`` files (aeon, sktime) and tables of the UCR archive."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.io.table_source import RawTable, Source, arrow, decode, find_source, is_text

_MISSING = ("?", "", "nan", "na")
_UCR_NOTE = (
    "Series of the UCR archive: each line is a label and the values of a series. To have a column "
    "for each value instead, name the file .csv."
)
_SAMPLE_LINES, _FEWEST_VALUES = 50, 8


@dataclass(frozen=True, eq=False)
class SeriesSet:
    """Series ``X``, each an array (channels, time), and what to predict, ``y`` (or None)."""

    X: list[Array]
    y: np.ndarray[Any, Any] | None
    lines: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.X)


def read_series(source: str | PathLike[str]) -> SeriesSet:
    """Read series from a ``.ts`` file, or from a table of the UCR archive (label, then values).

    NaN at the end of a series is padding and goes. Labels that are numbers become numbers.

    Parameters
    ----------
    source : str or path
        The file, or the name of a data set: ``"gunpoint"``.

    Examples
    --------
    >>> from mercer import read_series
    >>> data = read_series("gunpoint")
    >>> len(data), data.X[0].shape
    (200, (1, 150))
    """
    return parse_series(find_source(source))


def is_ts(source: Source) -> bool:
    """Tell whether a file is of the ``.ts`` format."""
    start = source.start()
    if source.suffix == ".ts":
        return True
    return re.search(r"(?mi)^@(problemname|timestamps)\b", start) is not None


def is_ucr(source: Source) -> bool:
    """Tell whether a ``.tsv`` file is of the UCR archive: no header, a label, then the values.

    The label is a whole number and not that of the row. Some of the values are not whole, unless
    the file is named as in the archive, ``…_TRAIN.tsv`` or ``…_TEST.tsv``.
    """
    if source.suffix != ".tsv" or not is_text(source.content):
        return False
    rows = _first_cells(source)
    if not rows or not all(len(row) > _FEWEST_VALUES and all(map(_is_number, row)) for row in rows):
        return False
    labels, values = zip(*((x[0], x[1:]) for x in map(_floats, rows)), strict=True)
    if not all(label.is_integer() for label in labels):
        return False
    if len(labels) > 2 and all(b - a == 1 for a, b in pairwise(labels)):
        return False
    if re.search(r"_(TRAIN|TEST)\.tsv\b", source.name):
        return True
    return any(math.isfinite(v) and not v.is_integer() for row in values for v in row)


def _first_cells(source: Source) -> list[list[str]]:
    """Return the cells of the first lines, without what the end of the sample cuts."""
    start = source.start()
    lines = [line for line in start.splitlines() if line.strip()]
    if lines and len(start) < len(source.content):
        last = lines.pop()
        lines = lines or [last.rpartition("\t")[0]]
    return [line.split("\t") for line in lines[:_SAMPLE_LINES]]


def read_series_table(source: Source, **options: Any) -> RawTable:
    """Return the series of a file as a table with a column of lists for each channel."""
    found = parse_series(source)
    pa = arrow()
    channels = len(found.X[0])
    names = ["series"] if channels == 1 else [f"channel {c + 1}" for c in range(channels)]
    columns = {
        name: pa.array([x[c].tolist() for x in found.X], pa.list_(pa.float64()))
        for c, name in enumerate(names)
    }
    if found.y is not None:
        columns["class"] = pa.array(found.y)
    notes = () if is_ts(source) else (_UCR_NOTE,)
    return RawTable(pa.table(columns), lambda row: f"line {found.lines[row]}", notes)


def parse_series(source: Source) -> SeriesSet:
    """Read the text of a file in either format."""
    text = decode(source, None)
    rows = list(enumerate(text.splitlines(), 1))
    return _parse_ts(rows, source.name) if is_ts(source) else _parse_ucr(rows, source.name)


def _parse_ts(rows: list[tuple[int, str]], name: str) -> SeriesSet:
    labelled, at_data = False, None
    for at, (number, row) in enumerate(rows):
        word, *values = row.strip().lower().split() or [""]
        if word in ("@classlabel", "@targetlabel"):
            labelled = values[:1] == ["true"]
        elif word == "@timestamps" and values[:1] == ["true"]:
            raise InvalidInput(
                f"{name}, line {number}: series with time stamps are not read. Write the values "
                "at regular times."
            )
        elif word == "@data":
            at_data = at + 1
            break
    if at_data is None:
        raise InvalidInput(f"{name} has no line @data, after which the series of a .ts file come.")
    X: list[Array] = []
    labels, lines = [], []
    for number, row in rows[at_data:]:
        if not row.strip() or row.startswith("#"):
            continue
        parts = row.strip().split(":")
        if labelled:
            labels.append(parts.pop().strip())
        channels = [_values(part.split(","), name, number) for part in parts]
        X.append(_checked(channels, X, name, number))
        lines.append(number)
    return _set(X, labels if labelled else None, lines, name)


def _parse_ucr(rows: list[tuple[int, str]], name: str) -> SeriesSet:
    X: list[Array] = []
    labels, lines = [], []
    for number, row in rows:
        if not row.strip():
            continue
        words = re.split(r"\t" if "\t" in row else r"[,; ]+", row.strip())
        labels.append(words[0].strip())
        X.append(_checked([_values(words[1:], name, number)], X, name, number))
        lines.append(number)
    return _set(X, labels, lines, name)


def _values(words: list[str], name: str, number: int) -> list[float]:
    try:
        return _floats(words)
    except ValueError:
        wrong = next(word.strip() for word in words if not _is_number(word))
        raise InvalidInput(f"{name}, line {number}: {wrong[:30]!r} is not a number.") from None


def _floats(words: list[str]) -> list[float]:
    return [math.nan if w.strip().lower() in _MISSING else float(w) for w in words]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return word.strip().lower() in _MISSING
    return True


def _checked(channels: list[list[float]], before: list[Array], name: str, number: int) -> Array:
    if len({len(channel) for channel in channels}) != 1:
        raise InvalidInput(
            f"{name}, line {number}: the channels of the series have different lengths."
        )
    values = np.array(channels)
    there = np.flatnonzero(~np.isnan(values).all(axis=0))
    if not there.size:
        raise InvalidInput(f"{name}, line {number}: the series has no values.")
    if before and len(before[0]) != len(values):
        raise InvalidInput(
            f"{name}, line {number}: the series has {len(values)} channels, the first one "
            f"{len(before[0])}."
        )
    return values[:, : there[-1] + 1]


def _set(X: list[Array], labels: list[str] | None, lines: list[int], name: str) -> SeriesSet:
    if not X:
        raise InvalidInput(f"{name} has no series. Give a line for each of them.")
    return SeriesSet(X, None if labels is None else _labels(labels), tuple(lines))


def _labels(labels: list[str]) -> np.ndarray[Any, Any]:
    """Return labels as whole numbers or numbers where all are, else as text."""
    try:
        numbers = np.array(labels, dtype=np.float64)
    except ValueError:
        return np.array(labels)
    whole = np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all()
    return numbers.astype(np.int64) if whole else numbers
