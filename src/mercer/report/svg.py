"""Small building blocks of drawings: elements, scales, axes, marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from mercer._typing import Array
from mercer.report.text import number

# One shape for each group, so that colour is never the only difference; all about equally large.
SHAPES = (
    "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0Z",
    "M-3.8-3.8H3.8V3.8H-3.8Z",
    "M0-5.2L4.8 3.6H-4.8Z",
    "M0-5.4L4.6 0L0 5.4L-4.6 0Z",
    "M0 5.2L4.8-3.6H-4.8Z",
    "M-1.6-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    "M0-5.2L5-1.2L3.1 4.4H-3.1L-5-1.2Z",
    "M-5.2-1.7L-1.7-1.7L0-5.4L1.7-1.7L5.2-1.7L2.5 1L3.4 5L0 2.7L-3.4 5L-2.5 1Z",
)


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element; names lose a last underscore, others become hyphens."""
    written = ""
    for key, value in attributes.items():
        if value is None:
            continue
        shown = _coordinate(value) if isinstance(value, float) else escape(value)
        attribute = key.rstrip("_").replace("_", "-")
        written += f' {attribute}="{shown}"'
    # Plain strings of what is escaped: a page has thousands of elements.
    return Markup(f"<{name}{written}>{''.join(map(escape, children))}</{name}>")


def _coordinate(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"


@dataclass(frozen=True)
class Scale:
    """A linear map from values to places on the page."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Return round values within the scale."""
        rough = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]


def scale_of(values: Sequence[float] | Array, start: float, end: float, pad: float = 0.04) -> Scale:
    """Return a scale that holds all values, with some room around them."""
    finite = [float(v) for v in values if math.isfinite(v)] or [0.0]
    low, high = min(finite), max(finite)
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        low, high = low - (abs(low) or 1) * 0.5, high + (abs(high) or 1) * 0.5
    room = pad * (high - low)
    return Scale(low - room, high + room, start, end)


def chart(
    width: float, height: float, label: str, *children: Any, columns: int = 0, class_: str = ""
) -> Markup:
    """Return a drawing; its ``.mark`` elements can be walked through with the arrow keys."""
    return tag(
        "svg",
        *children,
        class_=f"chart {class_}".strip(),
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        data_columns=columns or None,
    )


def axes(x: Scale, y: Scale, x_name: str, y_name: str, percent: bool = False) -> Markup:
    """Return grid lines, tick labels and names of both axes."""
    write = _percent if percent else _tick
    parts = []
    for value in y.ticks():
        parts.append(line(x.start, y(value), x.end, y(value), "grid"))
        parts.append(label(x.start - 8, y(value) + 4, write(value), "tick end"))
    for value in x.ticks():
        parts.append(line(x(value), y.start, x(value), y.start + 5, "axis"))
        parts.append(label(x(value), y.start + 19, write(value), "tick middle"))
    parts.append(line(x.start, y.start, x.end, y.start, "axis"))
    parts.append(names(x, y, x_name, y_name))
    return tag("g", *parts)


def names(x: Scale, y: Scale, x_name: str, y_name: str) -> Markup:
    """Return the names of both axes: below, and above the upper left corner."""
    across = label((x.start + x.end) / 2, y.start + 40, x_name, "name middle")
    return Markup("").join([across, label(2.0, min(y.start, y.end) - 12, y_name, "name")])


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def label(x: float, y: float, text: str, class_: str) -> Markup:
    """Return a text."""
    return tag("text", text, x=float(x), y=float(y), class_=class_)


def mark(
    x: float, y: float, group: int, tip: str, class_: str = "", ring: bool = False, **more: Any
) -> Markup:
    """Return a point with the shape of its group and a text that appears on it."""
    colour = f"g{group % len(SHAPES)}"
    children = [tag("path", d=SHAPES[group % len(SHAPES)], class_=f"shape {colour}")]
    if ring:
        children.append(tag("circle", r=7.5, class_=f"ringed {colour}"))
    return tag(
        "g",
        tag("title", tip),
        *children,
        class_=f"mark {class_}".strip(),
        transform=f"translate({_coordinate(x)} {_coordinate(y)})",
        **more,
    )


def _tick(value: float) -> str:
    return number(value, 6)


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"
