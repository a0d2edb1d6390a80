"""What happens beside a fit: warnings become notes, Ctrl-C waits for what is nearly done."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def noted(notes: list[str]) -> Iterator[None]:
    """Add the warnings of a block to the notes, and give them after it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            notes.append(" ".join(str(warning.message).split()))
        warnings.warn(warning.message, warning.category, stacklevel=4)


@contextmanager
def finishing() -> Iterator[None]:
    """Finish what is short now that there is a model; only a second Ctrl-C breaks it off."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.getsignal(signal.SIGINT)

    def once(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
