"""What happens beside a fit: warnings become notes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


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
