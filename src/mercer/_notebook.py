"""Small tables for notebooks: plain HTML that takes the style of the page around it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

_MOST_ROWS = 60
"""Rows that a notebook shows; the rest is counted."""


def table_in_html(
    names: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "",
    below: Iterable[str] = (),
) -> str:  # fmt: skip
    """Return a table as HTML; every text is escaped and cut to a bearable length."""
    head = "".join(f"<th style='text-align:left'>{_text(name)}</th>" for name in names)
    body = "".join(
        "<tr>"
        + "".join(f"<td style='text-align:left'>{_text(cell)}</td>" for cell in row)
        + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    left = len(rows) - _MOST_ROWS
    more = [f"{left:,} more rows are not shown."] if left > 0 else []
    notes = "".join(f"<p>{_text(line, 600)}</p>" for line in (*more, *below) if line)
    first = f"<p><b>{_text(title, 200)}</b></p>" if title else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div>{first}{table}{notes}</div>"


def _text(value: object, limit: int = 120) -> str:
    """Return a text of bounded length in which nothing acts on the page."""
    text = " ".join(str(value)[: 4 * limit].split())
    shown = "".join(c if unicodedata.category(c)[0] != "C" else "\ufffd" for c in text)
    return escape(shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…")
