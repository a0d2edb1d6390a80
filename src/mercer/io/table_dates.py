"""Dates of a table as what they mean: year, month, weekday, hour, and the time that went by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mercer._typing import Frame
from mercer.exceptions import InvalidInput, shown
from mercer.io.column_kinds import Column
from mercer.io.derived_columns import Derivation, date_parts, form_of
from mercer.io.table_cells import Place, plain
from mercer.io.table_source import arrow


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


def _parts(frame: Frame, column: Column, place: Place) -> tuple[list[Derivation], str]:
    """Return what the dates of a column say; nothing for times of the day and durations."""
    types = arrow().types
    cells = plain(frame[column.name])
    if not any(fits(cells.type) for fits in (types.is_string, types.is_timestamp, types.is_date)):
        return [], ""
    form, note = form_of(cells)
    if not form:
        raise InvalidInput(
            f"Column {shown(column.name)} holds dates that cannot be read, all in one form. Write "
            f"them as 2000-12-31, or say that it holds categories (kinds={{{shown(column.name)}: "
            "'category'})."
        )
    return date_parts(cells, str(column.name), place, form), note
