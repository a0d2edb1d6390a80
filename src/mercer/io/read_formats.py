"""Readers of data files, and how to tell which of them a file is for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np
from scipy import sparse

from mercer._typing import Objects, Parameter
from mercer.exceptions import InvalidInput, shown
from mercer.io.read_csv import read_csv
from mercer.io.read_excel import is_excel, read_excel
from mercer.io.read_fasta import read_fasta
from mercer.io.read_graphs import is_graphs, read_graph_table
from mercer.io.read_series import is_ts, is_ucr, read_series_table
from mercer.io.table_source import RawTable, Source, arrow, decode, is_text

_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_JSON = re.compile(r'\{\s*"|\[\s*\{\s*"')
_LIBSVM_SUFFIXES = (".libsvm", ".svm", ".svmlight")
_ATTRIBUTES = (".arff",)
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
"""How compound files of Microsoft begin, such as .xls."""
_LABEL = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_LIBSVM = re.compile(rf"{_LABEL}(,{_LABEL})*(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?\Z")
_PAIR = re.compile(rf"\d+:({_LABEL}|[+-]?(inf|nan))\Z", re.IGNORECASE)


@dataclass(frozen=True)
class FormatReader:
    """One format: its name, the suffixes it goes by, a test of the content, and the reader."""

    name: str
    suffixes: tuple[str, ...]
    fits: Callable[[Source], bool]
    read: Callable[..., RawTable]


def read_raw(source: Source, **options: Any) -> RawTable:
    """Read a file with the reader that its content and its suffix ask for."""
    fitting = [reader for reader in READERS if reader.fits(source)]
    if not fitting or _is_no_table(source):
        raise _not_readable(source)
    reader = fitting[0]
    usual = next((r.name for r in READERS if source.suffix in r.suffixes), reader.name)
    raw = reader.read(source, **options)
    if reader.suffixes and usual != reader.name:
        note = f"The suffix {source.suffix} is that of {usual}, but the content is {reader.name}."
        return replace(raw, notes=(note, *raw.notes))
    return raw


def _is_no_table(source: Source) -> bool:
    """Tell texts that are tables to no one: they would be read as separated values."""
    return _is_page(source) or source.suffix in _ATTRIBUTES


def _is_page(source: Source) -> bool:
    return source.start().lstrip("\ufeff \t\r\n").lower().startswith(("<!doctype html", "<html"))


def _not_readable(source: Source) -> InvalidInput:
    if _is_page(source):
        what = "a web page, perhaps of the address where the file is; download the file itself"
    elif source.suffix in _ATTRIBUTES:
        what = "a file of Weka; save it as CSV"
    elif source.content.startswith(_OLD_OFFICE):
        what = "an old file of Excel (.xls); save it as .xlsx or CSV"
    elif source.content.startswith(b"PK\x03\x04"):
        what = "a spreadsheet or an archive of other files; save it as CSV"
    elif source.content.startswith(b"\x28\xb5\x2f\xfd"):
        what = "packed in a way that is not read here; unpack it"
    else:
        what = "binary data of an unknown kind; give CSV, Excel, Parquet, JSON lines or LIBSVM"
    return InvalidInput(f"{source.name} is not a table: it is {what}.")


def _first_lines(source: Source, count: int = 20) -> list[str]:
    lines = source.start().splitlines()
    # The last line may be cut.
    whole = lines[:-1] if len(lines) > 1 and len(source.content) > len(source.start()) else lines
    return [line.strip() for line in whole if line.strip()][:count]


# ---- Parquet -----------------------------------------------------------------------------------


def _read_parquet(source: Source, **options: Any) -> RawTable:
    pa = arrow()
    import pyarrow.parquet as pq

    try:
        frame = pq.read_table(BytesIO(source.content))
    except (pa.ArrowException, OSError, ValueError) as error:
        cause = str(error).splitlines()[0][:150].rstrip(".")
        raise InvalidInput(f"{source.name} is a damaged Parquet file: {cause}.") from None
    return RawTable(frame, lambda row: f"row {row}")


# ---- JSON --------------------------------------------------------------------------------------


def _is_json(source: Source) -> bool:
    start = source.start().lstrip("\ufeff \t\r\n")
    named = source.suffix in _JSON_SUFFIXES and start[:1] in ("{", "[")
    return is_text(source.content) and (named or bool(_JSON.match(start)))


def _read_json(source: Source, encoding: str | None = None, **options: Any) -> RawTable:
    text = decode(source, encoding).lstrip("\ufeff")
    if text.lstrip().startswith("["):
        rows = _parse_json(text, source.name, 1)
        places = [f"entry {i}" for i in range(len(rows))]
    else:
        lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
        rows = [_parse_json(line, source.name, i) for i, line in lines]
        places = [f"line {i}" for i, _ in lines]
    for row, place in zip(rows, places, strict=True):
        if not isinstance(row, dict):
            raise InvalidInput(
                f'{source.name}, {place}: expected an object such as {{"age": 61}}, found '
                f"{type(row).__name__}."
            )
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _json_column([row.get(name) for row in rows], name, places, source.name)
               for name in names}  # fmt: skip
    return RawTable(arrow().table(columns), places.__getitem__)


def _parse_json(text: str, name: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = f"line {line + error.lineno - 1}, character {error.colno}"
        raise InvalidInput(f"{name}, {at}: not valid JSON: {error.msg}.") from None
    except (RecursionError, ValueError):
        raise InvalidInput(f"{name}, line {line}: JSON that is nested too deeply.") from None


def _json_column(values: list[Any], name: str, places: list[str], source: str) -> Any:
    pa = arrow()
    kinds = {_json_kind(value) for value in values if value is not None}
    if kinds == {"number", "text"}:
        odd = "text" if sum(isinstance(v, str) for v in values) * 2 <= len(values) else "number"
        at = next(i for i, v in enumerate(values) if v is not None and _json_kind(v) == odd)
        raise InvalidInput(
            f"{source}, {places[at]}: column {shown(name)} holds {values[at]!r}, {odd} among other "
            "values. Write them all in one way."
        )
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        if kinds == {"number"}:
            return pa.array([None if v is None else float(v) for v in values], pa.float64())
        return pa.array([None if v is None else json.dumps(v) for v in values])


def _json_kind(value: Parameter) -> str:
    if isinstance(value, bool):
        return "bool"
    return {int: "number", float: "number", str: "text"}.get(type(value), "nested")


# ---- LIBSVM ------------------------------------------------------------------------------------


def _is_libsvm(source: Source) -> bool:
    if not is_text(source.content):
        return False
    if source.suffix in _LIBSVM_SUFFIXES:
        return True
    lines = [line for line in _first_lines(source) if not line.startswith("#")]
    fits = bool(lines) and all(_LIBSVM.match(line) for line in lines)
    return fits and any(":" in line for line in lines)


def _read_libsvm(
    source: Source, zero_based: bool | None = None, width: int | None = None, **options: Any
) -> RawTable:
    from sklearn.datasets import load_svmlight_file

    text = decode(source, None).lstrip("\ufeff")
    numbers = [i for i, line in enumerate(text.split("\n"), 1) if line.partition("#")[0].strip()]
    if not numbers:
        raise InvalidInput(f"{source.name} has no rows. Give a line for each object.")
    first = "auto" if zero_based is None else zero_based
    try:
        X, y = load_svmlight_file(BytesIO(text.encode()), zero_based=first)
    except (ValueError, OverflowError, MemoryError) as error:
        raise bad_libsvm(text, source.name) or InvalidInput(
            f"{source.name} is not a LIBSVM file: {error}."
        ) from None
    if width is not None:
        X = _of_width(X, width)
    if not np.isfinite(X.data).all():
        row = int(np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], "right")) - 1
        raise InvalidInput(
            f"{source.name}, line {numbers[row]}: a value is not finite. Leave it out."
        )
    if zero_based is None:
        zero_based = re.search(r"[ \t]0:", re.sub("#.*", "", text)) is not None
    return RawTable(
        sparse.csr_array(X),
        lambda row: f"line {numbers[row]}",
        target=y,
        extra={"zero_based": zero_based},
    )


def _of_width(X: Objects, width: int) -> Any:
    """Give a matrix as many columns as the training data had; columns not seen there go."""
    if X.shape[1] > width:
        return X.tocsc()[:, :width].tocsr()
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def bad_libsvm(text: str, name: str, before: int = 0) -> InvalidInput | None:
    """Return what is wrong with the first bad line; ``before`` lines stand above the text."""
    for i, line in enumerate(text.split("\n"), before + 1):
        plain = line.partition("#")[0].split()
        if not plain:
            continue
        if not re.fullmatch(_LABEL, plain[0]):
            return InvalidInput(
                f"{name}, line {i}: {plain[0][:30]!r} is not a label. A line reads "
                "'label column:value column:value …'."
            )
        last = -1
        for word in plain[1:]:
            column = word.partition(":")[0]
            if column == "qid":
                continue
            if not _PAIR.match(word):
                return InvalidInput(
                    f"{name}, line {i}: {word[:30]!r} is not column:value with two numbers."
                )
            if int(column) <= last:
                return InvalidInput(
                    f"{name}, line {i}: column {column} comes after column {last}. Columns have to "
                    "go up within a line."
                )
            last = int(column)
    return None


# ---- others ------------------------------------------------------------------------------------


def _is_fasta(source: Source) -> bool:
    lines = [line for line in _first_lines(source) if not line.startswith(";")]
    return len(lines) >= 2 and lines[0].startswith(">") and is_text(source.content)


READERS = (
    FormatReader(
        "Parquet",
        (".parquet", ".pq"),
        lambda source: source.content.startswith(b"PAR1"),
        _read_parquet,
    ),
    FormatReader("JSON", _JSON_SUFFIXES, _is_json, _read_json),
    FormatReader("FASTA", (".fasta", ".fa", ".fna", ".faa"), _is_fasta, read_fasta),
    FormatReader("Excel", (".xlsx", ".xlsm"), is_excel, read_excel),
    FormatReader("graphs", (".zip",), is_graphs, read_graph_table),
    FormatReader("time series", (".ts",), is_ts, read_series_table),
    FormatReader("series of the UCR archive", (), is_ucr, read_series_table),
    FormatReader("LIBSVM", _LIBSVM_SUFFIXES, _is_libsvm, _read_libsvm),
    FormatReader(
        "separated values",
        (".csv", ".tsv", ".tab"),
        lambda source: is_text(source.content),
        lambda source, zero_based=None, width=None, **options: read_csv(source, **options),
    ),
)
"""All formats, the surest tests first; a new format is one row."""
