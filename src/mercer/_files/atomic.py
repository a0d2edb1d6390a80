"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: str | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Write buffers to ``path``: whoever opens it sees the old file or the whole new one.

    The bytes go to a file without a name in the same folder, reach the disk, and take the name in
    one step, so that a process that is killed leaves nothing behind. A link keeps pointing where it
    did; a file that is replaced hands on its permissions. What is written to a device such as the
    null device goes into it.
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if mode is not None and stat.S_ISCHR(mode):
        with open(target, "wb") as device:
            device.writelines(parts)
        return
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(f"{path} is a pipe, a socket or a disk and no file; give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}. Make it first.")
    new = target.parent / f".{secrets.token_hex(8)}.tmp"
    permissions = None if mode is None else mode & 0o777
    handle, named = _open(new, 0o666 if permissions is None else permissions)
    try:
        with open(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(handle)
            if not named:
                # Only with a folder does Python ask the system to follow the link to the file.
                os.link(f"/proc/self/fd/{handle}", new, src_dir_fd=handle, follow_symlinks=True)
        if permissions is not None:
            os.chmod(new, permissions)
        os.replace(new, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    _sync_folder(target.parent)


_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
"""A new file, never one that is there; Windows would change line ends without O_BINARY."""


def _open(new: Path, permissions: int) -> tuple[int, bool]:
    """Return a new file, and whether it has its name yet; few systems know files without one."""
    with contextlib.suppress(AttributeError, OSError):
        if os.path.exists("/proc/self/fd"):
            return os.open(new.parent, os.O_WRONLY | os.O_TMPFILE, permissions), False
    return os.open(new, _CREATE, permissions), True


def _mode(target: Path) -> int | None:
    """Return what kind of file is there and its permissions, None where there is none."""
    try:
        return target.stat().st_mode
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
