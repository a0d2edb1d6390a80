"""Dates of a table as what they mean: year, month, weekday, hour, and the time that went by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mercer._typing import Column as Cells, Frame
from mercer.exceptions import InvalidInput, shown
from mercer.io.column_kinds import SAID, Column
from mercer.io.derived_columns import Derivation, date_parts, form_of, nearly_dates, no_dates
from mercer.io.table_cells import Place, odd_cell, plain, without_markers
from mercer.io.table_source import arrow

_SAMPLE = 1000
"""About how many cells show whether a column of text was meant to hold dates."""


def with_dates(
    frame: Frame, columns: Sequence[Column], place: Place
) -> tuple[tuple[Column, ...], dict[str, Derivation], list[str]]:
    """Return the columns with the parts of dates among them, how these are made, and notes.

    A column of dates itself is set aside: its parts stand for it.
    """
    taken = set(frame.column_names)
    found: list[Column] = []
    derived: dict[str, Derivation] = {}
    notes = []
    for column in columns:
        if column.kind != "date":
            if column.reason != SAID and str(frame[column.name].type) == "string":
                _check_dates(frame[column.name], column, place)
            found.append(column)
            continue
        parts, note = _parts(frame, column, place)
        names = {part.name(taken): part for part in parts}
        taken |= set(names)
        derived |= names
        notes += [f"{column.name}: {note}."] if note else []
        if parts:
            *before, last = [part.part for part in parts]
            words = f"{', '.join(before)} and {last}" if before else last
            column = replace(column, reason=f"its {words} stand{'' if before else 's'} for it")
        found.append(column)
        found += [Column(name, part.kind, f"the {part.part}") for name, part in names.items()]
    return tuple(found), derived, notes


def _check_dates(cells: Cells, column: Column, place: Place) -> None:
    """Refuse a cell that is no date where nearly all others of the column are."""
    import pyarrow.compute as pc

    step = max(1, len(cells) // _SAMPLE)
    if not nearly_dates(pc.drop_null(cells.take(list(range(0, len(cells), step)))).to_pylist()):
        return
    texts = without_markers(cells)
    there = pc.indices_nonzero(pc.is_valid(texts)).to_pylist()
    known = pc.drop_null(texts).to_pylist()
    wrong = no_dates(known)
    if wrong:
        at, good = place(there[wrong[0]]), len(known) - len(wrong)
        raise odd_cell(known[wrong[0]], str(column.name), at, good, len(known), "date")


def _parts(frame: Frame, column: Column, place: Place) -> tuple[list[Derivation], str]:
    """Return what the dates of a column say; nothing for times of the day and durations."""
    types = arrow().types
    cells = plain(frame[column.name])
    kinds = (types.is_string, types.is_integer, types.is_timestamp, types.is_date)
    if not any(fits(cells.type) for fits in kinds):
        return [], ""
    form, note = form_of(cells)
    if not form and types.is_string(cells.type):
        _check_dates(cells, column, place)
    if not form:
        raise InvalidInput(
            f"Column {shown(column.name)} holds dates that cannot be read, all in one form. Write "
            f"them as 2000-12-31, or say that it holds categories (kinds={{{shown(column.name)}: "
            "'category'})."
        )
    return date_parts(cells, str(column.name), place, form), note
