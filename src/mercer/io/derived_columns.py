"""Columns that are made of others: the parts of a date, and whether a value is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any, Literal

from mercer._typing import Column, Frame
from mercer.exceptions import InvalidInput, shown
from mercer.io.table_cells import Place, plain, without_markers
from mercer.io.table_source import arrow

ISO = "iso"
_DAYS = (
    "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d",
    "%b %d %Y", "%b %d, %Y", "%d %b %Y", "%d-%b-%Y", "%d. %b %Y", "%a %b %d %Y",
    "%B %d %Y", "%B %d, %Y", "%d %B %Y", "%d. %B %Y",
    "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
COMPACT = "%Y%m%d"
FORMS = (ISO, *(day + time for day, time in product(_DAYS, _TIMES)), COMPACT)
"""How dates are written: ISO 8601, or as ``strptime`` takes it."""
_MONTHS = ("%Y-%m", "%m/%Y", "%b %Y", "%B %Y")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
ALL_FORMS = (*FORMS, *_MONTHS, *_CLOCKS)
"""The same with months alone, and times of the day alone."""
_SEVERAL = 10
"""Values that have to be dates before others are taken for misspelt ones, or numbers for dates."""
_NEARLY_ALL = 0.9
"""The share of dates from which a column was meant to hold dates."""
_LOOKED_AT = 50
"""About how many of them tell in which form they are written."""
_FIRST_YEAR = 1000
"""Years of fewer digits are those of a century."""
_LIKE_A_DATE = re.compile(
    r"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d\S*)?\Z"
    r"|(\w{3} )?(\d{1,4}|[A-Za-z]{3,9})\.?[-/. ](\d{1,2}|[A-Za-z]{3,9}),?[-/. ]\d{2,4}"
    r"( \d{1,2}:\d\d(:\d\d)?( [AaPp][Mm])?)?\Z"
    r"|\d{4}-\d\d\Z|\d\d?/\d{4}\Z|[A-Za-z]{3,9} \d{4}\Z|\d{1,2}:\d\d(:\d\d)?( [AaPp][Mm])?\Z"
)
PARTS = ("year", "month", "weekday", "hour", "time")
"""What a date says; ``time`` is the time that went by, in years: 2000.5 is July 2000."""
CLOCK = "time of day"
"""What a time without a date says: the hours since midnight."""
MISSING_PART = "is missing"
_EXAMPLE = datetime(2000, 12, 31, 13, 45)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Derivation:
    """How a column is made of another one, ``column``.

    ``part`` is one of the :data:`PARTS` of a date, which is written in the ``form``, or the time of
    the day, or tells whether a value is missing.
    """

    column: str
    part: str
    form: str = ""

    @property
    def kind(self) -> Literal["number", "category"]:
        """What the column holds."""
        return "category" if self.part in ("weekday", MISSING_PART) else "number"

    def name(self, taken: set[str]) -> str:
        """Return what the column is called, by a name that is not taken."""
        joint = " " if self.part == MISSING_PART else ": "
        name = f"{self.column}{joint}{self.part}"
        while name in taken:
            name += "_"
        return name

    def of(self, column: Column, place: Place) -> Any:
        """Return the values of the column, made of those of the other one."""
        import pyarrow.compute as pc

        if self.part == MISSING_PART:
            return pc.if_else(pc.is_null(column), "yes", "no")
        return part_of(dates(column, self.column, place, self.form), self.part)


def are_dates(texts: Sequence[str]) -> bool:
    """Tell whether texts are dates, with or without a time of the day, all in one form."""
    if not all(map(_LIKE_A_DATE.match, texts)):
        return False
    return any(all(_fits(text, form) for text in texts) for form in ALL_FORMS)


def nearly_dates(texts: Sequence[str]) -> bool:
    """Tell whether nearly all of several texts look like dates."""
    like = sum(bool(_LIKE_A_DATE.match(text)) for text in texts)
    return like >= max(_SEVERAL, _NEARLY_ALL * len(texts))


def no_dates(texts: Sequence[str]) -> list[int]:
    """Return the places of texts that are no dates, where nearly all others are."""
    like = [text for text in texts if _LIKE_A_DATE.match(text)]
    if not nearly_dates(texts):
        return []
    few = like[:: max(1, len(like) // _LOOKED_AT)]
    form = max(ALL_FORMS, key=lambda form: sum(_fits(text, form) for text in few))
    wrong = [place for place, text in enumerate(texts) if not _fits(text, form)]
    return wrong if len(wrong) <= (1 - _NEARLY_ALL) * len(texts) else []


def _compact(values: Any) -> bool:
    """Tell whole numbers that are dates, such as 20001231."""
    import pyarrow.compute as pc

    return _parsed(pc.cast(values, arrow().string()), COMPACT) is not None


def are_compact_dates(numbers: Sequence[int]) -> bool:
    """Tell whether all of several different numbers are dates such as 20001231."""
    if len(set(numbers)) < _SEVERAL or not all(19000101 <= n <= 21001231 for n in numbers):
        return False
    return all(_fits(str(number), COMPACT) for number in numbers)


def _fits(text: str, form: str) -> bool:
    try:
        datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def form_of(column: Column) -> tuple[str, str]:
    """Return how the dates of a column are written, and a note where that is a guess.

    There is no form for a column that holds other things, too. Where month and day could change
    places, dates that then go up from row to row decide, else the month comes first.
    """
    pa = arrow()
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        return (COMPACT if _compact(column) else ""), ""
    if not pa.types.is_string(column.type):
        return ISO, ""
    values = without_markers(column)
    fitting = [form for form in ALL_FORMS if _parsed(values, form) is not None]
    if not fitting:
        return "", ""
    if len(fitting) == 1:
        return fitting[0], ""
    growing = [form for form in fitting if _grows(_parsed(values, form))]
    chosen = growing[0] if len(growing) == 1 else fitting[0]
    if growing or not chosen.startswith("%m"):
        return chosen, ""
    first = pc.drop_null(values)[0].as_py()
    return chosen, f"dates such as {first} are read with the month first, as nothing tells"


def dates(column: Column, name: str, place: Place, form: str) -> Any:
    """Return a column as timestamps; a cell that is no date in this form is an error."""
    pa = arrow()
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type) and form == COMPACT:
        column = pc.cast(column, pa.string())
    if not pa.types.is_string(column.type):
        try:
            return pc.cast(column, pa.timestamp("us"), safe=False)
        except pa.ArrowException:
            raise InvalidInput(
                f"Column {shown(name)} has to hold dates and holds {column.type}."
            ) from None
    values = without_markers(column)
    found = _parsed(values, form)
    if found is None:
        each = (row for row in range(len(values)) if _parsed(values.slice(row, 1), form) is None)
        row = next(each)
        wanted = "2000-12-31" if form == ISO else _EXAMPLE.strftime(form)
        raise InvalidInput(
            f"{place(row)}, column {shown(name)}: {values[row].as_py()[:40]!r} is not a date as in "
            f"training ({wanted}). Correct it, or leave it empty."
        )
    return found


def date_parts(column: Column, name: str, place: Place, form: str) -> list[Derivation]:
    """Return the parts of the dates of a column that differ between rows."""
    import pyarrow.compute as pc

    when = dates(column, name, place, form)
    parts: tuple[str, ...] = (CLOCK,) if form in _CLOCKS else PARTS
    return [
        Derivation(name, part, form)
        for part in parts
        if not (part == "weekday" and form in _MONTHS)
        and len(pc.unique(pc.drop_null(part_of(when, part)))) > 1
    ]


def part_of(when: Any, part: str) -> Any:
    """Return a part of timestamps."""
    pa = arrow()
    import pyarrow.compute as pc

    if part == "weekday":
        return pa.array(_WEEKDAYS).take(pc.day_of_week(when))
    if part == CLOCK:
        minutes = pc.add(pc.divide(pc.cast(pc.second(when), pa.float64()), 60.0), pc.minute(when))
        return pc.add(pc.divide(minutes, 60.0), pc.hour(when))
    if part != "time":
        return getattr(pc, part)(when)
    # In days of its year, so that a year is a unit.
    start = pc.floor_temporal(when, unit="year")
    days = pc.divide(pc.cast(pc.subtract(when, start), pa.int64()), 86_400e6)
    return pc.add(pc.cast(pc.year(when), pa.float64()), pc.divide(days, 366.0))


def with_derived(frame: Frame, derived: dict[str, Derivation], place: Place) -> Any:
    """Return a pyarrow table with derived columns at its end, where what they are made of is."""
    for name, derivation in derived.items():
        if name not in frame.column_names and derivation.column in frame.column_names:
            source = plain(frame[derivation.column])
            frame = frame.append_column(name, derivation.of(source, place))
    return frame


def _parsed(values: Any, form: str) -> Any:
    """Return timestamps if all texts are dates in a form, else None."""
    pa = arrow()
    import pyarrow.compute as pc

    if form == ISO:
        for unit in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                return pc.cast(pc.cast(values, unit), pa.timestamp("us"))
            except pa.ArrowException:
                continue
        return None
    found = pc.strptime(values, format=form, unit="us", error_is_null=True)
    if found.null_count > values.null_count or found.null_count == len(found):
        return None
    if form in _CLOCKS:
        return found
    return found if pc.min(pc.year(found)).as_py() >= _FIRST_YEAR else None


def _grows(when: Any) -> bool:
    import pyarrow.compute as pc

    known = pc.drop_null(when)
    return len(known) > 2 and bool(pc.all(pc.greater_equal(known[1:], known[:-1])).as_py())
