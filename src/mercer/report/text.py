"""Texts and numbers for people: short, clean, always in the same form."""

from __future__ import annotations

import math
import numbers
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer._typing import Parameter
from mercer.kernels.graphs.graph_forms import is_graph_mapping
from mercer.kernels.graphs.graph_points import Graph

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_JOINERS = "\u200c\u200d"
MISSING = "–"
_LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{6,}(?:e[+-]?\d+)?(?![\w.])")


def clean(value: Parameter, limit: int = 80) -> str:
    """Return a text without characters that act instead of being seen, of bounded length."""
    text = str(value)
    text = "".join(_visible(c) for c in text[: 4 * limit])
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def formula(value: Parameter, limit: int = 400) -> str:
    """Return a formula as text, with numbers of at most six digits."""
    return clean(_LONG_NUMBER.sub(lambda found: f"{float(found[0]):.6g}", str(value)), limit)


def _visible(character: str) -> str:
    # Control, format (they can turn the direction of a whole page) and lone surrogates.
    category = unicodedata.category(character)
    if category[0] != "C" or character in _JOINERS:
        return character
    return " " if character in "\t\n\r" else "\ufffd"


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with some significant digits: 1,234 or 0.01235 or 1.2 × 10⁻⁷."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if 1e-4 <= size < 1e7:
        rounded = float(f"{value:.{digits}g}")
        places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
        text = f"{rounded:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, _, exponent = f"{value:.{min(digits, 3) - 1}e}".partition("e")
        text = f"{mantissa} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return text.replace("-", "−")


def fixed(value: float | None, places: int = 3) -> str:
    """Write a number with a fixed count of decimals, so that columns line up."""
    if value is None or not math.isfinite(value) or abs(value) >= 1e6:
        return number(value)
    return _signed(f"{value:,.{places}f}")


def percent(value: float | None, places: int = 1) -> str:
    """Write a share as per cent."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{_signed(f'{100 * value:,.{places}f}')} %"


def _signed(digits: str) -> str:
    """Return digits with a true minus sign, and none before zero."""
    zero = not digits.strip("-0.,")
    return digits.replace("-", "" if zero else "−")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def cell(value: Parameter, limit: int = 60) -> str:
    """Write one value of a table."""
    if value is None or value is np.ma.masked:
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        whole = int(value)
        return f"{whole:,}".replace("-", "−") if abs(whole) < 10**15 else number(float(whole))
    if isinstance(value, numbers.Real):
        return "missing" if math.isnan(value) else number(float(value))
    if isinstance(value, Graph):
        labels = [] if value.labels is None else list(value.labels)
        value = {"edges": np.reshape(value.edges, (-1, 2)).tolist(), "labels": labels,
                 "size": value.size}  # fmt: skip
    if is_graph_mapping(value):
        return clean(_graph(value), limit)
    return clean(value, limit)


def _graph(value: Mapping[str, Any]) -> str:
    """Write a graph in the columns of a table: its size, and its most frequent labels."""
    edges, labels = value["edges"] or [], value.get("labels") or []
    size = value.get("size") or len(labels) or 1 + max((max(edge) for edge in edges), default=-1)
    most = ", ".join(f"{count} × {label}" for label, count in Counter(labels).most_common(5))
    words = f"{counted(size, 'node')}, {counted(len(edges), 'edge')}"
    return f"{words}: {most}" if most else words


def listed(names: Sequence[str]) -> str:
    """Write names one after the other: a, b and c."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last
