"""Pictures of a matrix as PNG with a palette, written by hand: a few lines and no library."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]

LIGHT: tuple[Colour, ...] = ((251, 251, 249), (190, 222, 222), (74, 150, 160), (10, 62, 84))
DARK: tuple[Colour, ...] = ((24, 28, 32), (25, 78, 92), (66, 160, 168), (226, 246, 240))


def data_uri(levels: NDArray[np.uint8], colours: tuple[Colour, ...]) -> str:
    """Return the picture of an array of bytes, coloured from the first colour to the last."""
    height, width = levels.shape
    stops = np.linspace(0, 255, len(colours))
    palette = np.column_stack([
        np.interp(np.arange(256), stops, [colour[channel] for colour in colours])
        for channel in range(3)
    ]).round().astype(np.uint8)  # fmt: skip
    lines = np.hstack([np.zeros((height, 1), np.uint8), np.asarray(levels, dtype=np.uint8)])
    body = b"".join([
        b"\x89PNG\r\n\x1a\n",
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", palette.tobytes()),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
        _chunk(b"IEND", b""),
    ])  # fmt: skip
    return "data:image/png;base64," + base64.b64encode(body).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
