"""Cells become values: numbers where all cells are numbers, missing values where none is there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from mercer._typing import Column
from mercer.exceptions import InvalidInput, shown
from mercer.io.read_csv import MISSING, NUMBER
from mercer.io.table_source import arrow

Place = Callable[[int], str]
"""Names the place of a row, as errors show it."""

_CODE = r"^0\d"
_BEFORE = r"[+-]?([$€£¥]|USD|EUR|GBP|CHF)?[\s\x{a0}]?[+-]?"
_AFTER = r"[\s\x{a0}]?([%€$£¥]|USD|EUR|GBP|CHF)?"
_AMOUNT = rf"^{_BEFORE}(\d+|\d{{1,3}}(,\d{{3}})+)(\.\d*)?{_AFTER}$"
"""Amounts as people write them: $1,234.50, −3 €, 45 %, 1,234,567, 5 USD."""
_LOSS = r"^\(([^()+-]*\d[^()+-]*)\)$"
"""Amounts below zero as accountants write them: (1,234)."""
_AROUND_AMOUNTS = r"[,$€£¥%A-Z\s\x{a0}]"
_COMMA_AMOUNT = rf"^{_BEFORE}(\d+|\d{{1,3}}([.'\s\x{{a0}}\x{{202f}}]\d{{3}})+)(,\d+)?{_AFTER}$"
"""The same where a comma comes before the decimals: 1.234,50 €, 1 234,5, 0,7 %."""
_AROUND_COMMA_AMOUNTS = r"[.'$€£¥%A-Z\s\x{a0}\x{202f}]"
_FEW = 0.1
"""Up to this share of cells that are no numbers, a column was meant to hold numbers."""


def in_row(number: int) -> str:
    """Name the place of a row of a table that comes from no file."""
    return f"row {number}"


def typed(
    cells: Any,
    name: str,
    place: Place,
    missing: Collection[str],
    wanted: str | None,
    thousands: bool = False,
) -> Any:
    """Return a column of text as numbers where it holds numbers.

    ``wanted`` is ``"number"`` where every cell has to be one, ``"text"`` where cells stay text,
    None where the cells tell. With ``thousands``, a comma in front of three digits groups digits:
    it is no decimal comma in a file whose values are separated by commas.
    """
    pa = arrow()
    import pyarrow.compute as pc

    values = without_markers(cells, missing)
    if wanted == "text":
        return values
    known = len(values) - values.null_count
    if known == 0:
        return pa.nulls(len(values), pa.float64()) if wanted else values
    numbers = _as_plain_numbers(values, codes=wanted is None)
    if numbers is not None:
        return numbers
    amounts = _as_amounts(values, known, thousands)
    if amounts is None and pc.any(_matches(values, _LOSS)).as_py():
        signed = pc.replace_substring_regex(values, _LOSS, r"-\1")
        amounts = _as_plain_numbers(signed, codes=False)
        amounts = _as_amounts(signed, known, thousands) if amounts is None else amounts
    if amounts is not None:
        return amounts
    numeric = _matches(values, NUMBER)
    good = pc.sum(numeric).as_py() or 0
    if good < known and (wanted or known - good < _FEW * known):
        row = pc.index(pc.fill_null(numeric, True), False).as_py()
        cell, at = values[row].as_py(), place(row)
        raise _not_wanted(cell, name, at) if wanted else odd_cell(cell, name, at, good, known)
    return values


def _as_amounts(values: Any, known: int, thousands: bool) -> Any:
    """Return numbers if all values are amounts, such as $1,234.50."""
    import pyarrow.compute as pc

    signs = r"[$€£¥%A-Z,]" if thousands else r"[$€£¥%A-Z]"
    amounts = pc.sum(_matches(values, _AMOUNT)).as_py() == known
    if amounts and pc.any(_matches(values, signs)).as_py():
        plain_text = pc.replace_substring_regex(values, _AROUND_AMOUNTS, "")
        return _as_plain_numbers(plain_text, codes=False)
    commas = pc.any(pc.match_substring(values, ",")).as_py()
    if commas and pc.sum(_matches(values, _COMMA_AMOUNT)).as_py() == known:
        plain_text = pc.replace_substring_regex(values, _AROUND_COMMA_AMOUNTS, "")
        return pc.cast(pc.replace_substring(plain_text, ",", "."), arrow().float64())
    return None


def _as_plain_numbers(values: Any, codes: bool) -> Any:
    """Return numbers if all values are such; with ``codes`` 007 is none, but a code."""
    pa = arrow()
    import pyarrow.compute as pc

    try:
        numbers = pc.cast(values, pa.float64())
    except pa.ArrowException:
        return None
    if not pc.all(pc.equal(pc.round(numbers), numbers)).as_py():
        return numbers
    if codes and pc.any(_matches(values, _CODE)).as_py():
        return None
    try:
        return pc.cast(values, pa.int64())
    except pa.ArrowException:
        return numbers


def without_markers(cells: Any, missing: Collection[str] = ()) -> Any:
    """Return text without blanks around it, and null where a value is missing."""
    pa = arrow()
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(_combined(cells))
    markers = pa.array(sorted({*MISSING, *(marker.strip().lower() for marker in missing)}))
    absent = pc.is_in(pc.utf8_lower(trimmed), value_set=markers)
    return pc.if_else(absent, pa.scalar(None, pa.string()), trimmed)


def plain(column: Column) -> Any:
    """Return a column of a typed file in one of few types: int64, float64, bool, text, or as is."""
    pa = arrow()
    import pyarrow.compute as pc

    column = _combined(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if pa.types.is_large_string(kind) or str(kind) == "string_view":
        return pc.cast(column, pa.string())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return pc.cast(column, pa.int64())
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind) or kind == pa.uint64():
        numbers = pc.cast(column, pa.float64(), safe=False)
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    return column


def as_numbers(column: Column, name: str, place: Place) -> Any:
    """Return a column as float64; text is read as numbers."""
    pa = arrow()
    import pyarrow.compute as pc

    if pa.types.is_string(column.type):
        column = typed(column, name, place, (), "number")
    try:
        return pc.cast(column, pa.float64(), safe=False)
    except pa.ArrowException:
        raise InvalidInput(
            f"Column {shown(name)} has to hold numbers and holds {column.type}. Turn it into "
            "numbers."
        ) from None


def as_text(column: Column, name: str) -> Any:
    """Return a column as text; whole numbers are written without a decimal point."""
    pa = arrow()
    import pyarrow.compute as pc

    if pa.types.is_string(column.type):
        return column
    if pa.types.is_floating(column.type):
        whole = pc.all(pc.equal(pc.round(column), column)).as_py()
        column = pc.cast(column, pa.int64()) if whole and _moderate(column) else column
    try:
        return pc.cast(column, pa.string())
    except pa.ArrowException:
        raise InvalidInput(
            f"Column {shown(name)} has to hold text or categories and holds {column.type}."
        ) from None


def _moderate(column: Column) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.less(pc.abs(column), 2.0**53)).as_py())


def _matches(values: Any, pattern: str) -> Any:
    import pyarrow.compute as pc

    return pc.match_substring_regex(values, pattern)


def _combined(column: Column) -> Any:
    """Return one array for the chunks of a column."""
    if not hasattr(column, "combine_chunks"):
        return column
    whole = column.combine_chunks()
    return whole.combine_chunks() if hasattr(whole, "num_chunks") else whole


def odd_cell(
    cell: str, name: str, place: str, good: int, known: int, what: str = "number"
) -> InvalidInput:
    """Return the error for a cell that is not what nearly all others of its column are."""
    return InvalidInput(
        f"{place}, column {shown(name)}: {cell[:40]!r} is not a {what}, while {good:,} of "
        f"{known:,} "
        f"values are. Correct it, or say that it stands for a missing value (missing=[{cell[:40]!r}"
        f"]) or that the column holds categories (kinds={{{shown(name)}: 'category'}})."
    )


def _not_wanted(cell: str, name: str, place: str) -> InvalidInput:
    """Return the error for a cell of a column that is said to hold numbers, or did in training."""
    return InvalidInput(
        f"{place}, column {shown(name)}: {cell[:40]!r} is not a number, and the column has to hold "
        f"numbers. Correct it, or say that it stands for a missing value (missing=[{cell[:40]!r}])."
    )
