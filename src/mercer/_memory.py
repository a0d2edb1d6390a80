"""How much memory there is, asked before a large job starts."""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mercer.exceptions import NotEnoughMemory

try:
    import resource
except ImportError:  # Windows has no such limits
    _LIMITS = False
else:
    _LIMITS = True

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_OWN_PAGES = Path("/proc/self/statm")
_RESERVE = 160_000_000
"""Bytes for what is not data: two BLAS with buffers of 32 MB for each of two threads, and the pages
that LLVM loads compiled code into; measured by lowering the limit until fits were aborted."""
_LARGEST_KEPT = 31 << 20
"""Bytes of a block from which glibc learns: it does not from any of 32 MB or more."""
_NO_LIMIT = 1 << 60
"""Bytes; the first version of control groups writes none as the largest number of pages."""


def available_bytes() -> int | None:
    """Return the bytes that can still be allocated, or None where the system does not tell.

    The least of what the machine has, what a container may use, and what the process may.
    """
    told = (_system_bytes(), _container_bytes(), _process_bytes())
    return min((limit for limit in told if limit is not None), default=None)


def require(size: int, what: str, remedy: str) -> None:
    """Raise :class:`NotEnoughMemory` when ``size`` bytes for ``what`` are not there."""
    there = available_bytes()
    if there is not None and size > there:
        raise NotEnoughMemory(
            f"{what} needs {readable(size)}, and {readable(there)} of memory are free. {remedy}"
        )


def require_reserve(what: str) -> None:
    """Raise :class:`NotEnoughMemory` where a limit of the process leaves compiled code no room.

    BLAS and LLVM end the process when they get no memory; nobody could catch that.
    """
    if _process_bytes() == 0:
        raise NotEnoughMemory(
            f"{what}: the limit of this process (ulimit -v, RLIMIT_AS) leaves less than "
            f"{readable(_RESERVE)} of address space, which compiled code needs beside the data. "
            "Raise the limit, or free memory."
        )


def keep_freed(size: int) -> None:
    """Let the C library keep up to ``size`` bytes that are freed, for the next arrays.

    glibc gives large blocks back to the system, and arrays that are made anew in each step of an
    iteration then cost a page fault for every 4,096 bytes, up to half of the whole time. It learns
    from the largest block that was ever freed: here one that nobody writes to, which costs nothing.
    """
    with suppress(MemoryError):
        np.empty(min(size, _LARGEST_KEPT), np.uint8)


def readable(size: float) -> str:
    """Write a number of bytes as a person would: ``1.5 GB``."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"


def _system_bytes() -> int | None:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _container_bytes() -> int | None:
    """Return what is left below the limits of all control groups that this process is in."""
    left = (_room(version, group) for version, group in _limited_groups(_CGROUP, _OWN_GROUPS))
    return min((room for room in left if room is not None), default=None)


class _Version(NamedTuple):
    """How a version of control groups names what it tells."""

    limit: str
    used: str
    cache: str
    """The line of ``memory.stat`` with the pages of files, which give way when others need room."""


_UNIFIED = _Version("memory.max", "memory.current", "inactive_file")
_FIRST = _Version("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@cache  # the numbers change, the groups of a process do not
def _limited_groups(root: Path, own_groups: Path) -> list[tuple[_Version, Path]]:
    """Return the groups that tell a limit: those of the process, and all that they are part of.

    In a container its own group may be seen as the root.
    """
    groups = [(_UNIFIED, root), (_FIRST, root / "memory")]
    try:
        lines = own_groups.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = path.strip("/")
        if not controllers:
            groups += [(_UNIFIED, root / own), (_UNIFIED, root / "unified" / own)]
        elif "memory" in controllers.split(","):
            groups.append((_FIRST, root / "memory" / own))
    levels = {
        (version, level): None
        for version, group in groups
        for level in (group, *group.parents)
        if level.is_relative_to(root) and (level / version.limit).exists()
    }
    return list(levels)


def _room(version: _Version, group: Path) -> int | None:
    try:
        limit = (group / version.limit).read_text().strip()
        if limit == "max" or int(limit) >= _NO_LIMIT:
            return None
        used = int((group / version.used).read_text())
    except (OSError, ValueError):
        return None
    try:
        stated = (line.split() for line in (group / "memory.stat").read_text().splitlines())
        used -= next((int(words[1]) for words in stated if words[0] == version.cache), 0)
    except (OSError, ValueError, IndexError):
        pass
    return max(0, int(limit) - used)


def _process_bytes() -> int | None:
    """Return what arrays may still take of the address space of this process (``ulimit -v``)."""
    if not _LIMITS:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(_OWN_PAGES.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE") - _RESERVE)
