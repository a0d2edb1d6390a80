"""What happens beside a fit: warnings become notes, and someone may watch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watch = Callable[[int, int, float], None]
"""Called as watch(done, total, best_score)."""
Stage = Callable[[str], None]
"""Called with what is done next, in a word or two."""


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


def as_part(callback: Watch | None, part: int, parts: int) -> Watch | None:
    """Return a watch that counts what is done in a part as that of all parts, of equal size."""
    if callback is None:
        return None

    def watch(done: int, total: int, best: float) -> None:
        callback(part * total + done, parts * total, best)

    return watch
