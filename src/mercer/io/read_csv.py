"""Text with a value for each column: CSV, TSV and the like, whatever separates the values."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from typing import Any

from mercer._typing import Frame
from mercer.exceptions import InvalidInput, shown
from mercer.io.table_source import RawTable, Source, arrow, decode

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_NO_DELIMITER = "\x1f"
_COUNTS = re.compile(r"(\d{1,12}),(\d{1,9})(,[^,]+)*\Z")
_END = re.compile(r"\r\n|\r|\n")
_SAMPLE_LINES, _SAMPLE_TEXT = 200, 1 << 20
_BLOCK = 1 << 24
"""Bytes that pyarrow reads at a time: 16 MB."""
NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^[+-]?[iI]nf(inity)?$"
_NUMBER = re.compile(NUMBER)
MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "?")


def read_csv(
    source: Source,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    names: Collection[str] = (),
) -> RawTable:
    """Read separated values; all cells stay text. ``names`` are columns that should be there."""
    text = decode(source, encoding)
    sample = [line for line in _first_lines(text) if line.strip()][:_SAMPLE_LINES]
    if not sample:
        raise _empty(source.name)
    notes: list[str] = []
    if header is None and _counts_come_first(text, sample):
        # A blank line in its place: places in the file stay what they are.
        text, sample = "\n" + _END.split(text.lstrip(), maxsplit=1)[1], sample[1:]
        notes.append("The first line counts rows and columns; it is no row.")
    if delimiter is None:
        delimiter = _sniff(sample)
    if delimiter is None and _in_blanks(sample):
        text = "\n".join("\t".join(line.split()) for line in _END.split(text))
        delimiter = "\t"
        sample = ["\t".join(line.split()) for line in sample]
        notes.append("Values are separated by blanks.")
    elif delimiter in _DELIMITERS and delimiter != ",":
        notes.append(f"Values are separated by {_DELIMITERS[delimiter]}.")
    style = _Style(delimiter or _NO_DELIMITER)
    frame = _parse(text, style, source.name)
    if not len(frame):  # marks of encodings alone are no line
        raise _empty(source.name)
    if _quotes_join_lines(text, style, len(frame)):
        style = _Style(style.delimiter, quoted=False)
        frame = _parse(text, style, source.name)
        notes.append("Quotes are ordinary characters here: with them, lines would be joined.")
    _check_quotes(text, style, frame, source.name)
    named = _has_header(sample, style, names) if header is None else header
    frame = _name_columns(frame, named, source.name, notes)
    lines = _Lines(text, style, named)
    return RawTable(frame, lines, tuple(notes), untyped=True, separator=style.delimiter)


def _empty(name: str) -> InvalidInput:
    return InvalidInput(f"{name} is empty. Give a file with a line for each object.")


def _first_lines(text: str) -> list[str]:
    """Return whole lines at the beginning, at least one."""
    if len(text) <= _SAMPLE_TEXT:
        return _END.split(text)
    return _END.split(text[:_SAMPLE_TEXT])[:-1] or _END.split(text, maxsplit=1)[:1]


def _counts_come_first(text: str, sample: list[str]) -> bool:
    """Tell a first line "rows,columns,names of classes …", as scikit-learn's own files have it."""
    counts = _COUNTS.match(sample[0].strip())
    if counts is None or len(sample) < 2:
        return False
    rows, columns = int(counts[1]), int(counts[2])
    first = sample[0].split(",")
    if len(first) == columns + 1 and all(_NUMBER.match(cell.strip()) for cell in first):
        return False  # a row of numbers like the others
    if any(len(record) != columns + 1 for record in _Style(",").records(sample[1:])):
        return False
    return sum(1 for line in _END.split(text) if line.strip()) == rows + 1


@dataclass(frozen=True)
class _Style:
    """What separates values, and whether quotes can hold separators and ends of lines."""

    delimiter: str
    quoted: bool = True

    def reader(self, lines: Iterable[str]) -> Any:
        if self.quoted:
            return csv.reader(lines, delimiter=self.delimiter)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)

    def records(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the records that are not empty; stop where Python's reader cannot go on."""
        try:
            yield from (record for record in self.reader(lines) if record)
        except csv.Error:
            return


def _quotes_join_lines(text: str, style: _Style, rows: int) -> bool:
    """Tell whether each line between tabs is a record of its own once quotes mean nothing."""
    if '"' not in text or style.delimiter != "\t":
        return False
    lines = [line for line in _END.split(text) if line]
    if rows >= len(lines):
        return False
    return len({line.count(style.delimiter) for line in lines}) == 1


def _sniff(sample: list[str]) -> str | None:
    """Return the separator that cuts (nearly) all lines into equally many values."""
    best, best_score = None, (0.5, 1)
    for delimiter in _DELIMITERS:
        counts = Counter(len(record) for record in _Style(delimiter).records(sample))
        first = len(next(_Style(delimiter).records(sample), []))
        share = counts[first] / max(1, counts.total())
        if first > 1 and (share, first) > best_score:
            best, best_score = delimiter, (share, first)
    return best


def _in_blanks(sample: list[str]) -> bool:
    """Tell whether lines are numbers (and words) in columns, separated by blanks."""
    rows = [line.split() for line in sample]
    if len(rows) < 2 or len(rows[0]) < 2 or len({len(row) for row in rows}) > 1:
        return False
    return any(all(_NUMBER.match(row[j]) for row in rows[1:]) for j in range(len(rows[0])))


def _has_header(sample: list[str], style: _Style, names: Collection[str]) -> bool:
    """Tell names of columns from a first row of values."""
    records = list(islice(style.records(sample), _SAMPLE_LINES))
    first, rest = records[0], records[1:]
    if not {cell.strip() for cell in first}.isdisjoint(names):
        return True
    numeric = [bool(_NUMBER.match(cell.strip())) for cell in first]
    if not rest:
        return not any(numeric)
    if all(numeric):
        return False
    columns = [
        [row[j].strip() for row in rest if j < len(row) and row[j].strip().lower() not in MISSING]
        for j in range(len(first))
    ]
    for cell, number, column in zip(first, numeric, columns, strict=True):
        if not number and cell.strip() and column and all(map(_NUMBER.match, column)):
            return cell.strip().lower() not in MISSING
    if any(numeric):
        return False
    # Only texts: names differ from each other and do not come again as values.
    cells = [cell.strip() for cell in first]
    again = any(cell in column for cell, column in zip(cells, columns, strict=True))
    return len(set(cells)) == len(cells) and all(cells) and not again


def _parse(text: str, style: _Style, name: str) -> Any:
    pa = arrow()
    import pyarrow.csv as pv

    width = len(next(style.records(StringIO(text, newline="")), [""]))
    names = [f"f{i}" for i in range(width)]
    try:
        frame = pv.read_csv(
            pa.BufferReader(text.encode("utf-8", "surrogatepass")),
            read_options=pv.ReadOptions(
                # One block has no work for threads, which take a stack and an arena each.
                use_threads=len(text) > _BLOCK,
                column_names=names,
                block_size=_BLOCK,
            ),
            parse_options=pv.ParseOptions(
                delimiter=style.delimiter,
                quote_char='"' if style.quoted else False,
                newlines_in_values=style.quoted,
            ),
            convert_options=pv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        raise _ragged(text, style, width, name) or InvalidInput(
            f"{name} cannot be read as separated values: {str(error).splitlines()[0][:200]}."
        ) from None
    return frame


def _ragged(text: str, style: _Style, width: int, name: str) -> InvalidInput | None:
    reader = style.reader(StringIO(text, newline=""))
    try:
        for record in reader:
            if record and len(record) != width:
                values = "1 value" if len(record) == 1 else f"{len(record)} values"
                return InvalidInput(
                    f"{name}, line {reader.line_num}: {values}, while the first line "
                    f"has {width}. Correct the line, or put quotes around values that contain "
                    f"{style.delimiter!r}."
                )
    except csv.Error as error:
        return InvalidInput(f"{name}, line {reader.line_num}: {error}.")
    return None


def _check_quotes(text: str, style: _Style, frame: Frame, name: str) -> None:
    """Refuse a file whose last value runs to the end because a quote was never closed."""
    if not style.quoted or text.count('"') % 2 == 0 or not len(frame):
        return
    last = [str(column[-1].as_py()) for column in frame.columns]
    if any("\n" in cell for cell in last):
        line = _Lines(text, style, header=False).number(len(frame) - 1)
        raise InvalidInput(f"{name}, line {line}: a quote is opened here and never closed.")


def _name_columns(frame: Frame, header: bool, name: str, notes: list[str]) -> Any:
    if not header:
        notes.append("The first line is data, so columns are called column_1, column_2, ….")
        return frame.rename_columns([f"column_{j + 1}" for j in range(frame.num_columns)])
    names = [str(column[0].as_py()).strip() for column in frame.columns]
    names = [given or f"column_{j + 1}" for j, given in enumerate(names)]
    twice = next((given for given, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        at = [str(j + 1) for j, given in enumerate(names) if given == twice]
        raise InvalidInput(
            f"{name}: columns {' and '.join(at[:4])} are both called {shown(twice)}. Rename all "
            "but one."
        )
    if len(frame) == 1:
        raise InvalidInput(f"{name} has names of columns and no rows. Add a line for each object.")
    return frame.slice(1).rename_columns(names)


class _Lines:
    """The places of rows in words; lines are counted only when someone asks."""

    def __init__(self, text: str, style: _Style, header: bool) -> None:
        self._text, self._style, self._header = text, style, header

    def __call__(self, row: int) -> str:
        return f"line {self.number(row + self._header)}"

    def number(self, record: int) -> int:
        """Return the line in which a record begins."""
        reader = self._style.reader(StringIO(self._text, newline=""))
        seen, before = -1, 0
        try:
            for found in reader:
                seen += bool(found)
                if found and seen == record:
                    break
                before = reader.line_num
        except csv.Error:
            pass
        return before + 1
