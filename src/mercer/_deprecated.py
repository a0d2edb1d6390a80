"""Old names of keywords: they work for a while, with a warning that gives the new ones."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from warnings import warn

from mercer.exceptions import InvalidParameter

Given = ParamSpec("Given")
Result = TypeVar("Result")


def renamed(old: str, new: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Let a function take the keyword ``new`` by its ``old`` name too."""

    def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
        name = function.__qualname__

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Result:
            if old in kwargs:
                if new in kwargs:
                    raise InvalidParameter(
                        f"{name}: {old!r} is the old name of {new!r}. Give {new!r} alone."
                    )
                warn(
                    f"{name}: {old!r} is now called {new!r}, as everywhere; the old name will be "
                    "removed.",
                    FutureWarning,
                    stacklevel=2,
                )
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
