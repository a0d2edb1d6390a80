"""FASTA files: sequences under header lines, as a table of strings."""

from __future__ import annotations

import re
from typing import Any

from mercer.exceptions import InvalidInput
from mercer.io.table_source import RawTable, Source, arrow, decode

_PAIR = re.compile(r"([^\s=,;|]+)=([^\s,;]*)[,;]?(?=\s|\Z)")
_SPACE = re.compile(r"\s+")


def read_fasta(source: Source, encoding: str | None = None, **options: Any) -> RawTable:
    """Read records into the columns ``name``, ``sequence`` and those that headers define.

    A header is ``>name`` and anything; ``key=value`` in it fills a column ``key``, where a record
    without that key has a missing value. Sequences keep their case; spaces and line ends in them
    go, and so does a ``*`` that marks the end of a protein. Lines that start with ``;`` are
    comments.
    """
    headers: list[str] = []
    parts: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(decode(source, encoding).lstrip("\ufeff").splitlines(), 1):
        if line.startswith(">"):
            headers.append(line[1:].strip())
            parts.append([])
            lines.append(number)
        elif line.strip() and not line.startswith(";"):
            if not headers:
                raise InvalidInput(
                    f"{source.name}, line {number}: letters before the first header. A record "
                    "starts with a line '>name'."
                )
            parts[-1].append(_SPACE.sub("", line))
    sequences = ["".join(part).removesuffix("*") for part in parts]
    empty = next((i for i, sequence in enumerate(sequences) if not sequence), None)
    if empty is not None:
        raise InvalidInput(
            f"{source.name}, line {lines[empty]}: the record {headers[empty][:40]!r} has no "
            "letters. Give it a sequence, or drop it."
        )
    return RawTable(
        arrow().table(_columns(headers, sequences, source.name)),
        lambda row: f"line {lines[row]}",
        untyped=True,
    )


def _columns(headers: list[str], sequences: list[str], source: str) -> dict[str, Any]:
    text = arrow().string()
    pairs = [dict(_PAIR.findall(header)) for header in headers]
    names = [_PAIR.sub("", header).split(None, 1)[:1] for header in headers]
    columns = {"name": arrow().array([n[0].strip(",;") if n else None for n in names], text)}
    for key in dict.fromkeys(key for row in pairs for key in row):
        if key in ("name", "sequence"):
            raise InvalidInput(
                f"{source}: the headers have a key {key!r}, which is the name of a column that "
                "every FASTA file has. Rename the key."
            )
        columns[key] = arrow().array([row.get(key) for row in pairs], text)
    columns["sequence"] = arrow().array(sequences, text)
    return columns
