"""Spreadsheets of Excel (.xlsx): one of the sheets, its first row the names."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Collection
from datetime import date, datetime
from io import BytesIO
from typing import Any

from mercer import _memory
from mercer.exceptions import InvalidInput, MissingDependency, shown
from mercer.io.table_source import RawTable, Source, arrow

_WORKBOOK = "xl/workbook.xml"
"""What every .xlsx file holds (ECMA-376)."""


def is_excel(source: Source) -> bool:
    """Tell whether a file is a spreadsheet of Excel."""
    if not source.content.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(BytesIO(source.content)) as archive:
            return _WORKBOOK in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def read_excel(source: Source, names: Collection[str] = (), **options: Any) -> RawTable:
    """Read a spreadsheet; all cells become text, which is typed as that of a CSV file is.

    Of several sheets it is the first with columns that are in ``names``, else the first.
    """
    try:
        import openpyxl
    except ImportError:
        raise MissingDependency(
            f"{source.name}: spreadsheets are read with openpyxl, which is not installed. Install "
            "it with pip install 'mercer[excel]', or save the sheet as CSV."
        ) from None
    with zipfile.ZipFile(BytesIO(source.content)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    _memory.require(8 * size, f"Reading {source.name}", "Save the sheet as CSV.")
    try:
        book = openpyxl.load_workbook(BytesIO(source.content), read_only=True, data_only=True)
        sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets}
    except Exception as error:  # what a damaged file raises is up to zipfile, xml and openpyxl
        cause = f"{type(error).__name__}: {error}".splitlines()[0][:150].rstrip(".")
        raise InvalidInput(f"{source.name} is a damaged spreadsheet: {cause}.") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    named = [n for n, rows in filled.items() if not {*map(str.strip, rows[0][1])}.isdisjoint(names)]
    name = next(iter([*named, *filled]), "")
    rows = filled.get(name, [])
    if len(rows) < 2:
        raise InvalidInput(
            f"{source.name} has no sheet with names in its first row and values below. Add them."
        )
    others = len(sheets) - 1
    listed = ", ".join(map(repr, sheets))
    note = f"The sheet {name!r} is read, of {others + 1} ({listed[:200]})." if others else ""
    return RawTable(
        _table(rows, source.name),
        lambda row: f"row {rows[row + 1][0]}",
        (note,) if note else (),
        untyped=True,
    )


def _rows(sheet: Any) -> list[tuple[int, list[str]]]:
    """Return rows that are not empty, each with its number in the sheet."""
    found = []
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells = [_text(value) for value in row]
        if any(cells):
            found.append((number, cells))
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        midnight = value.hour == value.minute == value.second == 0
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    if isinstance(value, date):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


def _table(rows: list[tuple[int, list[str]]], source: str) -> Any:
    width = max(len(cells) for _, cells in rows)
    filled = [cells + [""] * (width - len(cells)) for _, cells in rows]
    used = [j for j in range(width) if any(cells[j] for cells in filled)]
    names = [filled[0][j].strip() or f"column_{j + 1}" for j in used]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InvalidInput(f"{source}: two columns are called {shown(twice)}. Rename one of them.")
    pa = arrow()
    cells = zip(used, names, strict=True)
    return pa.table({n: pa.array([row[j] for row in filled[1:]], pa.string()) for j, n in cells})
