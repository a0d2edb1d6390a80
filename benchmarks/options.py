"""Kinds of options that several commands have."""

from collections.abc import Callable
from typing import TypeVar

Number = TypeVar("Number", int, float)


def positive(kind: type[Number]) -> Callable[[str], Number]:
    """Return a converter for ``argparse`` that takes numbers above 0 only."""

    def convert(text: str) -> Number:
        value = kind(text)
        if value <= 0:
            raise ValueError(text)
        return value

    convert.__name__ = f"positive {kind.__name__}"
    return convert
