"""How a data file is to be read, where its content does not say so: options of several commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mercer.io.tables import Table

Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Of a text file, if not UTF-8: latin-1."),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="SIGN", help="What separates values, if it is not found."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave a column out; may be given again."),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="What a column holds: number, category, text, phrase, sequence or date; repeatable.",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing", metavar="TEXT", help="A text for missing values; may be given again."
    ),
]
_SIGNS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "blank": " ", "bar": "|"}
"""Separators that a shell makes hard to type, in words."""


def read(
    data: str,
    target: str | bool | None,
    *,
    task: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    drop: list[str] | None = None,
    kind: list[str] | None = None,
    missing: list[str] | None = None,
) -> Table:
    """Read a table to learn from, as the options say."""
    from mercer.io.tables import read_table

    return read_table(
        data,
        target,
        task=task,
        kinds=_kinds(kind or []),
        missing=missing or (),
        drop=drop or (),
        delimiter=_SIGNS.get(delimiter or "", delimiter),
        encoding=encoding,
    )


def read_new(
    data: str,
    schema: Any,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: list[str] | None = None,
    target: Any = False,
) -> Table:
    """Read new rows as the training rows of a model were read."""
    from mercer.io.tables import read_table

    sign = _SIGNS.get(delimiter or "", delimiter)
    return read_table(
        data, target, like=schema, missing=missing or (), delimiter=sign, encoding=encoding
    )


def _kinds(given: list[str]) -> dict[str, str]:
    """Return what columns hold, from texts such as age=category."""
    from mercer.exceptions import InvalidParameter

    found = {}
    for text in given:
        name, sign, kind = text.rpartition("=")
        if not (sign and name and kind):
            raise InvalidParameter(
                f"--kind {text!r} has to name a column and what it holds, such as age=category."
            )
        found[name] = kind
    return found


def costs(given: list[str]) -> dict[str, float]:
    """Return what errors cost, from texts such as disease=5."""
    from mercer.exceptions import InvalidParameter

    found = {}
    for text in given:
        label, sign, value = text.rpartition("=")
        try:
            found[label] = float(value)
        except ValueError:
            sign = ""
        if not (sign and label):
            raise InvalidParameter(
                f"--cost {text!r} has to name a class and a number, such as disease=5."
            )
    return found
