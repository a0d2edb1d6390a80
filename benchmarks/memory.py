"""The most memory that a call adds to the process while it runs."""

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak_growth(call: Callable[[], Any]) -> int:
    """Return by how many bytes the resident memory rose at most above its level before ``call``.

    The high-water mark of the kernel is exact. It is set back first, because the imports or an
    earlier call may have been higher. Where that is not possible, memory is sampled.
    """
    gc.collect()
    try:
        _CLEAR.write_text("5")
        before = _kilobytes("VmRSS")
    except OSError:
        return _sampled_growth(call)
    result = call()
    peak = _kilobytes("VmHWM")
    del result
    return max(0, peak - before) * 1024


def _kilobytes(entry: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{entry}:"):
            return int(line.split()[1])
    raise OSError(f"{_STATUS} has no {entry}")


def _sampled_growth(call: Callable[[], Any], interval: float = 0.002) -> int:
    try:
        import psutil
    except ModuleNotFoundError as error:
        raise SystemExit(
            "This system does not tell the peak memory of a process, and psutil, which would "
            "sample it, is not installed: pip install '.[bench]'"
        ) from error
    process = psutil.Process()
    before = peak = process.memory_info().rss
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(interval):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        result = call()
        peak = max(peak, process.memory_info().rss)
    finally:
        done.set()
        watcher.join()
    del result
    return peak - before
