"""Ctrl-C at moments that are no good for it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Answer = Callable[[int, Any], Any]


@contextmanager
def interruptible() -> Iterator[None]:
    """Interrupt a block at its end at the latest.

    Python raises the interrupt wherever it happens to be; inside a library that takes every
    exception for an answer, as some do while they are imported, it would be lost.
    """
    usual = _usual()
    if usual is None:
        yield
        return
    pressed = False

    def remember(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = True
        usual(number, frame)

    with _answered(remember):
        yield
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def finishing() -> Iterator[None]:
    """Finish what is short now that there is a model; only a second Ctrl-C breaks it off."""
    usual = _usual()
    if usual is None:
        yield
        return
    with _answered(lambda number, frame: signal.signal(signal.SIGINT, usual)):
        yield


def _usual() -> Answer | None:
    """Return what answers Ctrl-C; None where nothing does, or where this thread has no say."""
    answer = signal.getsignal(signal.SIGINT)
    here = threading.current_thread() is threading.main_thread()
    return answer if here and callable(answer) else None


@contextmanager
def _answered(answer: Answer) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
