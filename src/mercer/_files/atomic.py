"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: str | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Write buffers to ``path``: whoever opens it sees the old file or the whole new one.

    The bytes go to a temporary file in the same folder, reach the disk, and take the name in one
    step. A link keeps pointing where it did; a file that is replaced hands on its permissions.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    mode = _permissions(target)
    new = target.parent / f".{secrets.token_hex(8)}.tmp"
    handle = os.open(new, _CREATE, 0o666 if mode is None else mode)
    try:
        with open(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(new, mode)
        os.replace(new, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    _sync_folder(target.parent)


_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
"""A new file, never one that is there; Windows would change line ends without O_BINARY."""


def _permissions(target: Path) -> int | None:
    """Return the permissions of the file that is replaced, None where there is none."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
