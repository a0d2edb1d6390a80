"""The drawings of places inside one object: letters with bars, graphs with coloured nodes."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from mercer.report.reasons import Inside
from mercer.report.svg import chart, label, line, tag
from mercer.report.text import number

LINE = 48
"""Letters on a line: as many as can be read in the width of a page."""
_CELL, _BAR, _LETTER = 12.0, 24.0, 18.0
"""Width of a letter, the largest bar above or below it, and its height."""
_NODE, _EDGE = 14.0, 52.0
"""Radius of a node, with room for a label of two letters, and the length of an edge."""
_LEAST, _WIDE = 420.0, 560.0
"""Width of the drawing of a graph: small ones are not blown up, large ones are made smaller."""
_FULLEST = 0.6
"""Opacity of the largest share: the label has to be read on it in light and dark pages."""


def places(inside: Inside) -> Markup:
    """Draw the object with the shares of its letters or nodes."""
    return _nodes(inside) if len(inside.layout) else _letters(inside)


def _letters(inside: Inside) -> Markup:
    """Draw each letter with a bar above it where it speaks for the answer, else below it."""
    reach = float(np.abs(inside.values).max(initial=0.0)) or 1.0
    up = _BAR * max(0.0, float(inside.values.max(initial=0.0))) / reach
    height = up + _BAR * max(0.0, float(-inside.values.min(initial=0.0))) / reach + _LETTER + 10
    parts = []
    for at, (letter, share) in enumerate(zip(inside.labels, inside.values.tolist(), strict=True)):
        x = 34.0 + _CELL * (at % LINE)
        middle = height * (at // LINE) + up + 4
        size = _BAR * abs(share) / reach
        top = middle - size if share >= 0 else middle + _LETTER
        tip = f"{letter or 'blank'} at {at + 1}: {number(share, 3)}"
        side = "for" if share >= 0 else "against"
        bar = tag("rect", x=x + 1, y=top, width=_CELL - 2, height=size, class_=side)
        shown = label(x + _CELL / 2, middle + 13, letter, "letter")
        parts.append(tag("g", tag("title", tip), bar, shown, class_="mark"))
        if at % LINE == 0:
            parts.append(label(28.0, middle + 13, str(at + 1), "tick end"))
    lines = -(-len(inside.labels) // LINE)
    said = f"{len(inside.labels)} letters: bars above speak for {inside.question}, below against."
    return chart(34.0 + _CELL * LINE, height * lines, said, *parts, class_="letters")


def _nodes(inside: Inside) -> Markup:
    """Draw a graph; a node that speaks against the answer has a dashed line around it."""
    low, high = inside.layout.min(axis=0), inside.layout.max(axis=0)
    scale = min(_EDGE, (_WIDE - 4 * _NODE) / max(float((high - low).max()), 1e-9))
    at = (inside.layout - low) * scale + 2 * _NODE
    reach = float(np.abs(inside.values).max(initial=0.0)) or 1.0
    ends = at[inside.edges.reshape(-1, 2)].reshape(-1, 4).tolist()
    parts = [line(x1, y1, x2, y2, "axis") for x1, y1, x2, y2 in ends]
    for i, ((x, y), share) in enumerate(zip(at.tolist(), inside.values.tolist(), strict=True)):
        side = "for" if share >= 0 else "against"
        tip = f"{inside.labels[i]}, node {i}: {number(share, 3)}"
        fill = round(_FULLEST * abs(share) / reach, 3)
        parts.append(tag(
            "g", tag("title", tip), tag("circle", cx=x, cy=y, r=_NODE, class_="ground"),
            tag("circle", cx=x, cy=y, r=_NODE, class_=f"node {side}", fill_opacity=fill),
            label(x, y + 4, inside.labels[i][:3], "number"), class_="mark",
        ))  # fmt: skip
    said = f"A graph of {len(inside.labels)} nodes; coloured ones speak for {inside.question}, "
    width, height = (float(size) for size in (high - low) * scale + 4 * _NODE)
    return chart(max(width, _LEAST), height, said + "dashed ones against.", *parts, class_="nodes")
