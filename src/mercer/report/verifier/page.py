"""What the page of a report holds: its proof as JSON, and the numbers that it prints."""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from html.parser import HTMLParser
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
PRINTED_DIGITS = 6
"""Digits that a page prints at least: zeros beyond them in a whole number come from rounding."""
_MOST_NUMBERS = 1 << 28
"""Numbers of an array that a report may hold (2 GB)."""


class NoProof(Exception):
    """The data of a report are not what they should be, so that they prove nothing."""


class Printed(NamedTuple):
    """A number on the page: what it is of, and its text."""

    name: str
    text: str


class Page(HTMLParser):
    """The proof of a page and the numbers that it prints."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.proof: str | None = None
        self.printed: list[Printed] = []
        self._open: tuple[str, str] | None = None
        self._text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script" and given.get("id") == "proof":
            self._open, self._text = (tag, ""), []
        elif given.get("data-claim"):
            self._open, self._text = (tag, str(given["data-claim"])), []

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._open is None or tag != self._open[0]:
            return
        (_, name), text = self._open, "".join(self._text).strip()
        self._open = None
        if name:
            self.printed.append(Printed(name, text))
        else:
            self.proof = text


_NUMBER = re.compile(r"(-?\d+(?:\.(\d*))?)(?:e([+-]?\d+))?\Z")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def read_number(text: str) -> tuple[float, float]:
    """Return a printed number, and half a unit of its last digit."""
    plain = text.replace(",", "").replace("−", "-").replace("\u00a0", " ").strip()
    if plain.endswith("%"):
        value, half = read_number(plain[:-1])
        return value / 100, half / 100
    head, power, tail = plain.partition(" × 10")
    if power:
        plain = f"{head}e{tail.translate(_SUPERSCRIPTS)}"
    found = _NUMBER.match(plain)
    if found is None:
        raise NoProof(f"{text[:40]!r} is no number")
    exponent = int(found[3] or 0)
    if abs(exponent) > 400:
        raise NoProof(f"{text[:40]!r} is no number of float64")
    places = len(found[2] or "")
    if "." not in plain and not exponent:
        whole = found[1].lstrip("-")
        zeros = len(whole) - len(whole.rstrip("0"))
        places = -min(zeros, max(0, len(whole) - PRINTED_DIGITS))
    return float(plain), 0.5 * 10.0 ** (exponent - places)


def read_array(stored: Any, shape: tuple[int | None, ...] | None = None) -> Array:
    """Return an array: base64 of the deflated bytes of little-endian float64, and its shape."""
    try:
        sizes = [int(size) for size in stored["shape"]]
        packed = base64.b64decode(stored["data"], validate=True)
    except (TypeError, KeyError, ValueError, binascii.Error):
        raise NoProof("an array is not as it should be") from None
    count = math.prod(sizes)
    if min(sizes, default=1) < 0 or count > _MOST_NUMBERS:
        raise NoProof("an array is too large")
    if shape is not None and not (
        len(shape) == len(sizes)
        and all(want in (None, size) for want, size in zip(shape, sizes, strict=True))
    ):
        raise NoProof(f"an array of shape {sizes} stands where {list(shape)} is wanted")
    try:
        inflate = zlib.decompressobj()
        raw = inflate.decompress(packed, 8 * count + 1)
    except zlib.error:
        raise NoProof("an array cannot be inflated") from None
    if len(raw) != 8 * count or not inflate.eof or inflate.unused_data:
        raise NoProof("an array has not as many numbers as its shape")
    values = np.frombuffer(raw, "<f8").astype(np.float64).reshape(sizes)
    if not np.isfinite(values).all():
        raise NoProof("an array holds what is no finite number")
    return values
