"""Files that are packed: gzip, bzip2, xz, and a zip archive with one table in it."""

from __future__ import annotations

import bz2
import lzma
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any

from mercer import _memory
from mercer.exceptions import InvalidInput

_CHUNK = 1 << 22
"""Bytes that are unpacked at a time: 4 MB."""
TABLES = (
    ".csv", ".tsv", ".tab", ".txt", ".data", ".parquet", ".pq", ".json", ".jsonl", ".ndjson",
    ".xlsx", ".xlsm", ".libsvm", ".svm", ".fasta", ".fa", ".ts",
)  # fmt: skip
"""Endings by which a table is told from a readme or a licence beside it."""
PACKED = (".gz", ".bz2", ".xz", ".zip")
"""Endings that say how a file is packed, and nothing of what is in it."""


def unpacked(content: bytes, name: str, suffixes: list[str]) -> tuple[bytes, list[str]]:
    """Return what is in a packed file, and its suffixes; any other file as it is."""
    for start, kind, unpacker in _STREAMS:
        if content.startswith(start):
            kept = [suffix for suffix in suffixes if suffix not in PACKED]
            return _stream(content, name, kind, unpacker), kept
    if content.startswith(b"PK\x03\x04") and suffixes[-1:] == [".zip"]:
        return _only_table(content, name) or (content, suffixes)
    return content, suffixes


_STREAMS: tuple[tuple[bytes, str, Callable[[], Any]], ...] = (
    (b"\x1f\x8b", "gzip", lambda: _Gzip()),
    (b"BZh", "bzip2", bz2.BZ2Decompressor),
    (b"\xfd7zXZ", "xz", lzma.LZMADecompressor),
)
"""How files begin (RFC 1952 and the formats of bzip2 and xz), and what unpacks them."""


class _Gzip:
    """The unpacker of zlib with the face of the other two."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    def decompress(self, content: bytes, most: int) -> bytes:
        """Return up to ``most`` bytes more."""
        return self._inner.decompress(self._inner.unconsumed_tail + content, most)

    @property
    def eof(self) -> bool:
        """Whether the end was reached."""
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """What comes after the end."""
        return self._inner.unused_data


def _stream(content: bytes, name: str, kind: str, make: Callable[[], Any]) -> bytes:
    """Unpack, but stop before a file that unpacks to more than the memory there is."""
    limit = (_memory.available_bytes() or 1 << 34) // 4
    parts: list[bytes] = []
    size = 0
    rest = content
    try:
        while rest:
            unpacker = make()
            part = unpacker.decompress(rest, _CHUNK)
            while part or not unpacker.eof:
                if not part:
                    raise InvalidInput(f"{name} breaks off: the compressed data are incomplete.")
                size += len(part)
                if size > limit:
                    raise InvalidInput(
                        f"{name} unpacks to more than {_memory.readable(limit)}, a quarter of the "
                        "free memory. Give a part of it."
                    )
                parts.append(part)
                part = b"" if unpacker.eof else unpacker.decompress(b"", _CHUNK)
            rest = unpacker.unused_data.lstrip(b"\0")
    except (zlib.error, OSError, lzma.LZMAError) as error:
        raise InvalidInput(f"{name} is a damaged {kind} file: {error}.") from None
    return b"".join(parts)


def _only_table(content: bytes, name: str) -> tuple[bytes, list[str]] | None:
    """Return the one table of an archive; nothing for a set of graphs, or a workbook of Excel."""
    if not zipfile.is_zipfile(BytesIO(content)):
        return None
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if _is_shown(entry)]
            tables = [entry for entry in entries if _suffix(entry) in TABLES]
            found = tables or entries
            if not found or any(e.filename.endswith(("_A.txt", "workbook.xml")) for e in entries):
                return None
            if len(found) > 1:
                listed = ", ".join(entry.filename for entry in found[:5])
                more = f" and {len(found) - 5} more" if len(found) > 5 else ""
                raise InvalidInput(
                    f"{name} holds {len(found)} files ({listed}{more}). Unpack it, and give one of "
                    "them."
                )
            [entry] = found
            _memory.require(4 * entry.file_size, f"Reading {name}", "Give a part of it.")
            inner = archive.read(entry)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, zlib.error) as error:
        raise InvalidInput(f"{name} is a damaged zip file, or a locked one: {error}.") from None
    suffixes = [suffix.lower() for suffix in PurePosixPath(entry.filename).suffixes]
    return unpacked(inner, name, suffixes) if suffixes[-1:] != [".zip"] else (inner, suffixes)


def _suffix(entry: zipfile.ZipInfo) -> str:
    """Return the ending that says what is in a file of an archive."""
    suffixes = [s.lower() for s in PurePosixPath(entry.filename).suffixes]
    return next((s for s in reversed(suffixes) if s not in PACKED), "")


def _is_shown(entry: zipfile.ZipInfo) -> bool:
    """Leave out folders and what file managers put beside the files."""
    parts = PurePosixPath(entry.filename).parts
    return not entry.is_dir() and not any(part.startswith((".", "__MACOSX")) for part in parts)
