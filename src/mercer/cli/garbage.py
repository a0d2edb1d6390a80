"""Cyclic garbage: to look for it takes longer than it is worth while a command starts and ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_alone: list[bool] = []
"""Holds a truth where the process is that of one command."""


def own_the_process() -> None:
    """Say that the process is there for one command, so that its garbage is ours to manage."""
    _alone.append(True)


@contextmanager
def importing() -> Iterator[None]:
    """Import modules, which all stay, without looking for garbage among them again and again."""
    used = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if _alone:
            gc.freeze()  # nor does any later search look at them
        if used:
            gc.enable()


def leave_to_the_system() -> None:
    """End the process without looking at all its objects once more: its memory goes with it."""
    gc.freeze()
