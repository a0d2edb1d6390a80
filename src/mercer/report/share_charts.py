"""The drawings of shares: importance, effects of columns, the bars of a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from mercer._typing import Array
from mercer.report.reasons import Effect, Shares
from mercer.report.svg import axes, chart, label, line, mark, names, scale_of, tag
from mercer.report.text import fixed, number

_ROW = 24.0
"""Height of a bar with its name."""
_NAME = 22
"""Letters of a name that fit beside a bar."""


def importance(shares: Shares) -> Markup:
    """Draw the mean size of each column's share as a bar."""
    x = scale_of([0.0, *shares.importance], 170, 540, 0.0)
    parts = []
    for i, (name, size) in enumerate(zip(shares.columns, shares.importance, strict=True)):
        top = 6.0 + i * _ROW
        bar = tag("rect", x=x.start, y=top, width=max(x(float(size)) - x.start, 1.0), height=15.0,
                  class_="for")  # fmt: skip
        parts.append(label(x.start - 8, top + 12, _short(name), "tick end"))
        parts.append(tag("g", tag("title", f"{name}: {number(float(size))}"), bar, class_="mark"))
        parts.append(label(x(float(size)) + 6, top + 12, number(float(size), 3), "tick"))
    text = f"Mean size of the shares of {len(shares.columns)} columns, the strongest first."
    return chart(600, 12 + _ROW * len(shares.columns), text, *parts, class_="importance")


def effect(column: Effect, direction: str) -> Markup:
    """Draw the shares of a column against its values."""
    y = scale_of([0.0, *column.shares], 300, 30)
    upward = f"share towards {direction}"
    upward = upward if len(upward) <= 60 else upward[:59] + "…"
    if column.categories:
        x = scale_of([-0.5, len(column.categories) - 0.5], 62, 418, 0.0)
        parts = [line(x.start, y.start, x.end, y.start, "axis")]
        for share in y.ticks():
            parts.append(line(x.start, y(share), x.end, y(share), "grid"))
            parts.append(label(x.start - 8, y(share) + 4, number(share, 6), "tick end"))
        room = max(3, 60 // len(column.categories))
        for at, name in enumerate(column.categories):
            parts.append(label(x(at), y.start + 19, _short(name, room), "tick middle"))
        parts.append(names(x, y, _short(column.column, 40), upward))
    else:
        x = scale_of(column.places, 62, 418)
        parts = [axes(x, y, _short(column.column, 40), upward)]
    parts.append(line(x.start, y(0.0), x.end, y(0.0), "ideal"))
    for place, share in zip(column.places, column.shares, strict=True):
        said = column.categories[int(place)] if column.categories else number(float(place))
        tip = f"{column.column} {said}: {fixed(float(share))}"
        parts.append(mark(x(float(place)), y(float(share)), 0, tip))
    text = f"Shares of {column.column} in {len(column.shares)} answers, by its value."
    return chart(440, 346, text, *parts, class_="effect")


def row_bars(columns: Sequence[str], cells: Sequence[str], values: Array, others: float) -> Markup:
    """Draw the shares of one row as bars to both sides, the strongest first."""
    order = np.argsort(-np.abs(values), kind="stable")
    lines = [(columns[j], cells[j], float(values[j])) for j in order]
    if others:
        lines.append(("all others", "", others))
    x = scale_of([0.0, *(share for _, _, share in lines)], 290, 540, 0.0)
    parts = []
    for i, (name, cell, share) in enumerate(lines):
        top = 6.0 + i * _ROW
        said = f"{_short(name)} = {_short(cell, 14)}" if cell else _short(name)
        left, right = sorted((x(0.0), x(share)))
        bar = tag("rect", x=left, y=top, width=max(right - left, 1.0), height=15.0,
                  class_="for" if share >= 0 else "against")  # fmt: skip
        parts.append(label(x.start - 12, top + 12, said, "tick end"))
        parts.append(tag("g", tag("title", f"{name}: {fixed(share)}"), bar, class_="mark"))
        parts.append(label(x.end + 8, top + 12, fixed(share), "tick"))
    parts.append(line(x(0.0), 2, x(0.0), 4 + _ROW * len(lines), "axis"))
    text = f"Shares of {len(lines)} columns in this answer, the strongest first."
    return chart(600, 12 + _ROW * len(lines), text, *parts, class_="shares")


def _short(name: str, count: int = _NAME) -> str:
    return name if len(name) <= count else name[: count - 1] + "…"
