"""How much memory there is, asked before a large job starts."""

import os
from pathlib import Path

from mercer.exceptions import NotEnoughMemory

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Return the bytes that can still be allocated, or None where the system does not tell."""
    limits = [limit for limit in (_system_bytes(), _container_bytes()) if limit is not None]
    return min(limits, default=None)


def require(size: int, what: str, remedy: str) -> None:
    """Raise :class:`NotEnoughMemory` when ``size`` bytes for ``what`` are not there."""
    there = available_bytes()
    if there is not None and size > there:
        raise NotEnoughMemory(
            f"{what} needs {readable(size)}, and {readable(there)} of memory are free. {remedy}"
        )


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
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = (_CGROUP / "memory.current").read_text().strip()
        return None if limit == "max" else int(limit) - int(used)
    except (OSError, ValueError):
        return None
