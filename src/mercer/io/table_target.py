"""What is to be predicted: which column it is, and what kind of task that makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._typing import Column
from mercer.exceptions import InvalidInput, InvalidParameter, meant, shown
from mercer.io.column_kinds import first_measured
from mercer.io.table_cells import Place, as_numbers, as_text
from mercer.io.table_source import arrow

Task = Literal["two classes", "many classes", "number", "none"]
_USUAL = ("target", "y", "class", "label", "diagnosis")
_FEW = 20
"""Up to so many distinct values are taken for classes, as a person would."""
_SOME = 6
"""Distinct values from which whole numbers may be counts: fewer are more often codes or grades."""
_LONELY = 2
"""Rows of the greatest count: of 68 such columns in public tables, nearly all hold counts."""
_MANY = 60
"""Distinct whole numbers up to which they may be codes of classes, such as those of letters."""
_OF_EACH = 10
"""Rows of each value, on average, that so many classes would need, and how many times as frequent
the most frequent count is."""


@dataclass(frozen=True, eq=False)
class Target:
    """The values to predict, the task, and why it is that task; ``kept`` are rows with a value."""

    name: str | None
    values: np.ndarray[Any, Any] | None
    task: Task
    reason: str
    kept: np.ndarray[Any, np.dtype[np.intp]] | None = None
    notes: tuple[str, ...] = ()


def choose_target(
    names: Sequence[str], wanted: Any, source: str, hints: Sequence[str] = ()
) -> tuple[str | None, str]:
    """Return the name of the target column and a note on how it was found.

    ``hints`` say what may be the matter where it is not there.
    """
    if wanted is False:
        return None, ""
    if wanted is None:
        usual = [name for name in names if name.strip().lower() in _USUAL]
        if len(usual) == 1:
            return usual[0], f"The target is {shown(usual[0])}, by its name."
        found = f"{' and '.join(map(shown, usual))} could be it" if usual else "none is named so"
        raise InvalidInput(
            f"{source}: which column is the target? A column called {', '.join(_USUAL[:-1])} or "
            f"{_USUAL[-1]} is taken by itself, but {found}. Choose by target= one of "
            f"{listed(names)}."
        )
    if wanted in names:
        return str(wanted), ""
    position = _position(wanted)
    if position is not None and -len(names) <= position < len(names):
        return names[position], f"The target is {shown(names[position])}."
    raise InvalidInput(
        f"{source} has no column {shown(wanted)}.{meant(wanted, names)} It has {listed(names)}."
        + "".join(f" {hint}" for hint in hints)
    )


def find_task(
    column: Column,
    name: str,
    source: str,
    place: Place,
    wanted: str | None = None,
    *,
    learning: bool = True,
) -> Target:
    """Turn the target column into classes or numbers; to learn, there has to be a choice."""
    import pyarrow.compute as pc

    kept = np.flatnonzero(pc.is_valid(column).to_numpy(zero_copy_only=False))
    dropped = len(column) - len(kept)
    if not len(kept):
        raise InvalidInput(f"{source}: the target {shown(name)} has no value in any row.")
    notes = []
    if dropped:
        first = int(np.flatnonzero(~np.isin(np.arange(len(column)), kept))[0])
        notes.append(
            f"{dropped} of {len(column)} rows have no value of {shown(name)} (the first: "
            f"{place(first)}) and are left out."
        )
        column = column.take(arrow().array(kept))
    if learning:
        _check_labels(column, name, source, wanted)
    values, task, reason = _task(column, name, wanted)
    if learning and wanted is None:
        notes += _other_choice(values, name, task)
    if learning:
        notes += _alike(values, name)
    return Target(name, values, task, reason, kept if dropped else None, tuple(notes))


def _other_choice(values: Any, name: str, task: Task) -> list[str]:
    """Say what was made of whole numbers that could be classes or numbers, and how to overrule."""
    if task == "two classes" or values.dtype.kind not in "iuf" or np.any(values != np.rint(values)):
        return []
    distinct = len(np.unique(values))
    words = f"{shown(name)} holds {distinct} different whole numbers"
    if task == "many classes":
        return [
            f"{words}, which are taken for classes; if they are counts or grades, task='number' "
            "predicts a number."
        ]
    if _are_counts(values):
        return [
            f"{words}, the greatest of them rare, which are taken for counts; if they are classes, "
            "task='classes' predicts a class."
        ]
    if distinct <= _MANY and len(values) >= _OF_EACH * distinct:
        return [
            f"{words}, which are taken for numbers; if they are codes of classes, task='classes' "
            "predicts a class."
        ]
    return []


def _are_counts(values: Any) -> bool:
    """Whether whole numbers look like counts: from 0 or 1 on, and the greatest is hardly there."""
    different, rows = np.unique(values, return_counts=True)
    rare = rows[-1] <= min(_LONELY, rows.max() / _OF_EACH)
    return bool(_SOME <= len(different) <= _FEW and different[0] in (0, 1) and rare)


def _check_labels(column: Column, name: str, source: str, wanted: str | None) -> None:
    import pyarrow.compute as pc

    n, distinct = len(column), len(pc.unique(column))
    if distinct == 1:
        raise InvalidInput(
            f"{source}: the target {shown(name)} has the value {column[0].as_py()!r} in all "
            f"{n} rows, so there is nothing to learn. Choose another column."
        )
    types = arrow().types
    named = types.is_string(column.type) or types.is_temporal(column.type)
    if named and wanted != "number" and distinct > max(_FEW, n / 2):
        raise InvalidInput(
            f"{source}: the target {shown(name)} has {distinct} different labels in {n} rows, "
            f"too many to learn from. {_remedy(column)}"
        )


def _remedy(labels: Column) -> str:
    """Say what to do about a target of many labels: write numbers without their units."""
    import pyarrow.compute as pc

    texts = pc.drop_null(labels).to_pylist() if arrow().types.is_string(labels.type) else []
    measured = first_measured(texts)
    if not measured:
        return "Choose another column."
    return f"They are numbers with a unit, such as {measured!r}: write the numbers alone."


def _alike(labels: Any, name: str) -> list[str]:
    """Name classes that differ only in capital letters, and may be one class."""
    spelt: dict[str, list[str]] = {}
    for label in np.unique(labels).tolist() if labels.dtype.kind == "U" else []:
        spelt.setdefault(" ".join(label.casefold().split()), []).append(label)
    several = next((found for found in spelt.values() if len(found) > 1), None)
    if several is None:
        return []
    return [
        f"{shown(name)} has the classes {', '.join(map(shown, several[:4]))}, which differ in "
        "capital letters or blanks alone; if they are one class, write them in one way."
    ]


def _task(column: Column, name: str, wanted: str | None) -> tuple[Any, Task, str]:
    pa = arrow()
    import pyarrow.compute as pc

    if wanted not in (None, "classes", "number"):
        raise InvalidParameter(f"task={wanted!r} has to be 'classes' or 'number'.")
    n, distinct = len(column), len(pc.unique(column))
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _number_task(column, name, n, distinct, wanted)
    if wanted == "number":
        return as_numbers(column, name, str).to_numpy(zero_copy_only=False), "number", "said so"
    labels = np.array(as_text(column, name).to_pylist())
    return labels, _classes(distinct), f"{name!r} holds {distinct} labels"


def _number_task(
    column: Column, name: str, n: int, distinct: int, wanted: str | None
) -> tuple[Any, Task, str]:
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidInput(
            f"The target {shown(name)} is not finite in row {row}. Correct or remove it."
        )
    whole = bool(np.all(values == np.rint(values)) and np.all(np.abs(values) < 2.0**53))
    if wanted == "number":
        return values, "number", "said so"
    labels = values.astype(np.int64) if whole else values
    if wanted == "classes":
        return labels, _classes(distinct), "said so"
    if whole and distinct <= max(2, min(_FEW, n / 3)):
        if _are_counts(values):
            return values, "number", f"{name!r} holds counts up to {int(values.max())}"
        return labels, _classes(distinct), f"{name!r} holds {distinct} different whole numbers"
    what = f"{distinct} different whole numbers" if whole else "numbers with fractions"
    return values, "number", f"{name!r} holds {what}"


def _classes(distinct: int) -> Task:
    return "two classes" if distinct == 2 else "many classes"


def _position(wanted: Any) -> int | None:
    try:
        return int(wanted) if not isinstance(wanted, bool | float) else None
    except (TypeError, ValueError):
        return None


def listed(names: Sequence[str]) -> str:
    """Write the first names, and how many more there are."""
    first = ", ".join(map(shown, names[:12]))
    return f"{first} and {len(names) - 12} more" if len(names) > 12 else first
