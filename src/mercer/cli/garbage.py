"""Cyclic garbage: to look for it takes longer than it is worth while a command starts and ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Import modules, which all stay, without looking for garbage among them again and again."""
    used = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if used:
            gc.enable()


def leave_to_the_system() -> None:
    """End the process without looking at all its objects once more: its memory goes with it."""
    gc.freeze()
