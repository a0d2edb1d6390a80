r"""A file of arrays and one JSON document, in a form that can be checked before it is believed.

======== ======= ==============================================================
bytes    type    what
======== ======= ==============================================================
0 … 7    bytes   ``\x89mercer\n``
8 … 11   uint32  version of the format
12 … 15  uint32  0
16 … 23  uint64  length of the JSON text
24 … 31  uint64  length of the file
32 … 63  bytes   SHA-256 of all other bytes, in their order
64 …     UTF-8   JSON: ``{"arrays": [[type, shape, order], …], "document": …}``
then     raw     the arrays in the order of the table, each padded to 64 bytes by zeros before it
======== ======= ==============================================================

Integers and floats are little-endian. Places of arrays are not stored but follow from the table:
arrays cannot overlap, and the sum of their sizes has to be the length of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from mercer._files import atomic
from mercer.exceptions import CannotSave, InvalidModelFile

MAGIC = b"\x89mercer\n"
"""A byte that no text begins with, the name, and an end of line that bad copies change."""
VERSION = 1
"""Readers refuse any other."""
TYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}
LARGEST_TEXT = 1 << 25
"""32 MB: parsed JSON takes several times its text, and models have their numbers in arrays."""
MOST_MARKS = 1_500_000
"""Commas, brackets and colons of the JSON text: they bound the memory and time that it takes."""
LARGEST_FILE = 1 << 40
"""A terabyte: sums of sizes up to it cannot overflow 64 bits."""

_FIXED = struct.Struct("<8sIIQQ32s")
_ALIGN = 64
"""A cache line: loaded arrays are views of the file and begin at one."""
_MOST_DIMENSIONS = 8
"""No array of a model has more than three."""

AnyArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Content:
    """What a file holds: a JSON document and the arrays that it speaks of."""

    document: Any
    arrays: Sequence[AnyArray]


def write(path: str | os.PathLike[str], content: Content) -> None:
    """Write a file, whole or not at all."""
    atomic.write(path, _parts(content))


def read(path: str | os.PathLike[str]) -> Content:
    """Read a file and check everything that can be checked without knowing what it means.

    Raises :class:`InvalidModelFile` for anything that ``write`` has not written.
    """
    try:
        buffer = _bytes_of(path)
    except InvalidModelFile:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidModelFile(f"{path!s}: the file cannot be read: {reason}.") from None
    try:
        return parse(buffer)
    except InvalidModelFile as error:
        raise InvalidModelFile(f"{path!s}: {error}") from None


def to_bytes(content: Content) -> bytes:
    """Return the bytes of a file."""
    return b"".join(bytes(part) for part in _parts(content))


def parse(buffer: AnyArray) -> Content:
    """Return what the bytes of a file (uint8) hold; the arrays are views of them."""
    if len(buffer) < _FIXED.size:
        _refuse(f"it ends after {len(buffer)} bytes, so it is no model file or was cut off")
    magic, version, zero, text_length, length, digest = _FIXED.unpack(
        buffer[: _FIXED.size].tobytes()
    )
    if magic != MAGIC:
        _refuse("it is no model file of mercer (it begins with other bytes)")
    if version != VERSION or zero:
        _refuse(
            f"it has version {version} of the format and this mercer reads version {VERSION}. "
            "Install a newer mercer, or save the model again with this one"
        )
    if length != len(buffer):
        _refuse(f"it should have {length:,} bytes and has {len(buffer):,}: it was cut off or added")
    if text_length > min(LARGEST_TEXT, len(buffer) - _FIXED.size):
        _refuse(f"its JSON text cannot have {text_length:,} bytes")
    if _digest(buffer) != digest:
        _refuse("its checksum is wrong: the file was damaged. Copy or save it again")
    text = buffer[_FIXED.size : _FIXED.size + text_length].tobytes()
    top = _parse_json(text)
    if not isinstance(top, dict) or set(top) != {"arrays", "document"}:
        _refuse("its JSON text has not the two parts 'arrays' and 'document'")
    return Content(top["document"], _arrays(top["arrays"], buffer, _FIXED.size + text_length))


def fresh_arrays(content: Content) -> Content:
    """Return what a reader of the file would see, without a file."""
    text = _text(content)
    arrays = [_plain(array) for array in content.arrays]
    return Content(_parse_json(text)["document"], arrays)


# ---- writing ---------------------------------------------------------------------------------


def _parts(content: Content) -> Iterator[Any]:
    text = _text(content)
    arrays = [_plain(array) for array in content.arrays]
    length = _FIXED.size + len(text)
    for array in arrays:
        length += _gap(length) + array.nbytes
    body: list[Any] = [text]
    at = _FIXED.size + len(text)
    for array in arrays:
        body.append(bytes(_gap(at)))
        body.append(_memory(array))
        at += _gap(at) + array.nbytes
    start = _FIXED.pack(MAGIC, VERSION, 0, len(text), length, bytes(32))[:32]
    digest = hashlib.sha256(start)
    for part in body:
        digest.update(part)
    yield start + digest.digest()
    yield from body


def _text(content: Content) -> bytes:
    table = [[array.dtype.name, list(array.shape), _order(array)] for array in content.arrays]
    for name, _, _ in table:
        if name not in TYPES:
            raise CannotSave(f"An array of type {name} cannot be saved; use one of {_names()}.")
    top = {"arrays": table, "document": content.document}
    try:
        text = json.dumps(top, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise CannotSave(f"A text cannot be written as UTF-8: {error.object[:40]!r}.") from None
    except RecursionError:
        raise CannotSave("The data to be saved are nested too deeply.") from None
    if len(encoded) > LARGEST_TEXT or _marks(encoded) > MOST_MARKS:
        raise CannotSave(
            f"The model has too many parts to be saved ({len(encoded):,} bytes of description, "
            f"{_marks(encoded):,} values). Save fewer classes or a smaller record; arrays may be "
            "as large as they like."
        )
    return encoded


def _order(array: AnyArray) -> str:
    """Return how an array lies in memory: sums in another order would differ in the last digit."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _plain(array: AnyArray) -> AnyArray:
    """Return an array in little-endian order, in one piece."""
    array = np.asarray(array, dtype=array.dtype.newbyteorder("<"))
    return array if _order(array) == "F" else np.asarray(array, order="C")


def _memory(array: AnyArray) -> memoryview:
    flat = array.T if _order(array) == "F" else array
    return flat.reshape(-1).view(np.uint8).data


# ---- reading ---------------------------------------------------------------------------------


def _bytes_of(path: str | os.PathLike[str]) -> AnyArray:
    # A pipe would block when it is opened, a device would never end.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb", buffering=0) as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise InvalidModelFile(f"{path!s} is {kind}, so it is no model file of mercer.")
        if status.st_size > LARGEST_FILE:
            raise InvalidModelFile(f"{path!s} is too large to be a model file.")
        start = file.read(_FIXED.size)
        # A large file of another kind is not worth reading.
        if len(start) < _FIXED.size or start[: len(MAGIC)] != MAGIC:
            return np.frombuffer(start, dtype=np.uint8)
        buffer = _aligned(status.st_size)
        buffer[: len(start)] = np.frombuffer(start, dtype=np.uint8)
        at = len(start)
        while at < len(buffer):
            count = file.readinto(buffer.data[at:])
            if not count:
                break
            at += count
        return buffer[:at]


def _aligned(size: int) -> AnyArray:
    """Return writable bytes that begin at a multiple of 64, so that the arrays do."""
    room = np.empty(size + _ALIGN, dtype=np.uint8)
    start = -room.ctypes.data % _ALIGN
    return room[start : start + size]


def _digest(buffer: AnyArray) -> bytes:
    digest = hashlib.sha256(buffer[:32].data)
    digest.update(buffer[64:].data)
    return digest.digest()


def _arrays(table: object, buffer: AnyArray, at: int) -> list[AnyArray]:
    if not isinstance(table, list):
        _refuse("its table of arrays is not a list")
    arrays = []
    for number, row in enumerate(table):
        dtype, shape, order = _row(row, number)
        size = math.prod(shape) * dtype.itemsize
        if at + _gap(at) + size > len(buffer):
            _refuse(f"array {number} of {size:,} bytes would end after the file")
        if buffer[at : at + _gap(at)].any():
            _refuse(f"there are bytes between its arrays, before array {number}")
        at += _gap(at)
        flat = buffer[at : at + size]
        if dtype == np.bool_ and (flat > 1).any():
            _refuse(f"array {number} holds bytes that are neither true nor false")
        arrays.append(flat.view(dtype).reshape(shape, order="F" if order == "F" else "C"))
        at += size
    if at != len(buffer):
        _refuse(f"{len(buffer) - at:,} bytes at its end belong to no array")
    return arrays


def _row(row: object, number: int) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    if not (isinstance(row, list) and len(row) == 3):
        _refuse(f"array {number} is not described by type, shape and order")
    name, shape, order = row
    if not (isinstance(name, str) and name in TYPES):
        _refuse(f"array {number} has the type {str(name)[:40]!r}; there are {_names()}")
    good = isinstance(shape, list) and len(shape) <= _MOST_DIMENSIONS
    if not good or any(type(n) is not int or not 0 <= n <= LARGEST_FILE for n in shape):
        _refuse(f"array {number} has an impossible shape")
    if not (isinstance(order, str) and order in ("C", "F")):
        _refuse(f"array {number} has neither order 'C' nor 'F'")
    return TYPES[name], tuple(shape), order


def _parse_json(text: bytes) -> Any:
    if _marks(text) > MOST_MARKS:
        _refuse("its JSON text has too many values")
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        _refuse("its JSON text is not UTF-8")
    try:
        return json.loads(decoded, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except InvalidModelFile:
        raise
    except (ValueError, RecursionError):
        _refuse("its JSON text is broken or nested too deeply")


def _marks(text: bytes) -> int:
    return sum(text.count(mark) for mark in (b",", b"[", b"{", b":"))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse("its JSON text gives a name twice")
    return found


def _no_constant(name: str) -> Any:
    _refuse(f"its JSON text holds {name}, which is not JSON")


def _gap(at: int) -> int:
    return -at % _ALIGN


def _names() -> str:
    return ", ".join(TYPES)


def _refuse(cause: str) -> NoReturn:
    raise InvalidModelFile(f"{cause}.")
