"""The first run after an installation: compiling on two cores, and words for what takes so long."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer._interrupts import interruptible

STEPPING = frozenset({"svc", "nusvc", "svr", "nusvr"})
"""Machines whose solver takes active-set steps."""
_LONG = 1.0
"""Seconds of compiling that need no words: about as long as one waits without wondering."""


@contextmanager
def compiling_ahead(machine: str) -> Iterator[None]:
    """Let a second process compile, once, a part of what a machine is going to need.

    Without it everything is compiled all the same, one after the other: nothing waits for it, and
    nothing but Numba's cache on disk connects the two. It ends with the block at the latest.
    """
    from mercer import _parallel

    process = _begin() if machine in STEPPING and _parallel.thread_count() > 1 else None
    try:
        yield
    finally:
        if process is not None:
            process.terminate()  # does nothing where it has ended
            process.wait()


def _begin() -> subprocess.Popen[bytes] | None:
    """Start the process if there is anything to compile."""
    with interruptible():
        from mercer._fast import warm
    if not sys.executable or getattr(sys, "frozen", False) or not warm.are_steps_missing():
        return None
    # The same modules as here, and none that happen to lie in the folder of the data.
    code = f"import sys; sys.path[:] = {sys.path!r}; from mercer._fast import warm"
    try:
        return subprocess.Popen(
            [sys.executable, "-c", f"{code}; warm.compile_steps()"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:  # no memory, or no right to start one
        return None


@contextmanager
def compiling_in_words() -> Iterator[Callable[[], str]]:
    """Give a function that says for how long Numba has been compiling, while it does."""
    with interruptible():
        from numba.core import event

    class Watch(event.Listener):
        """Adds up the time of compiling; a function that another one calls is part of that."""

        depth, began, seconds = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.perf_counter() - self.began

        def words(self) -> str:
            if self.depth == 0:
                return ""
            seconds = self.seconds + time.perf_counter() - self.began
            return f"compiling, once: {seconds:.0f} s" if seconds > _LONG else ""

    watch = Watch()
    event.register("numba:compile", watch)  # type: ignore[no-untyped-call]
    try:
        yield watch.words
    finally:
        event.unregister("numba:compile", watch)  # type: ignore[no-untyped-call]
