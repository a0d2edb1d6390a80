"""Ctrl-C while there is nothing to keep."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def heeded() -> Iterator[None]:
    """Interrupt a block at its end at the latest.

    Python raises the interrupt wherever it happens to be; inside a library that takes every
    exception for an answer, as some do while they are imported, it would be lost.
    """
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = False

    def remember(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = True
        usual(number, frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if pressed:
        raise KeyboardInterrupt
