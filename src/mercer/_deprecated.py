"""Old ways to give parameters: they work for a while, with a warning that gives the new ones."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast
from warnings import warn

from mercer.exceptions import InvalidParameter

Named = TypeVar("Named", bound=Callable[..., Any])


def renamed(**names: str) -> Callable[[Named], Named]:
    """Let a class or a function take parameters by their old names too.

    ``names`` says what each is called now. An old name is no parameter any more: it is in no
    signature and in no ``get_params``.
    """

    def accept(owner: Named) -> Named:
        if not isinstance(owner, type):
            return cast(Named, _with_old_names(owner, owner.__qualname__, names))
        owner.OLD_NAMES = names  # type: ignore[attr-defined]
        for method in ("__init__", "set_params", "replace"):
            if hasattr(owner, method):
                call = _with_old_names(getattr(owner, method), owner.__name__, names)
                setattr(owner, method, call)
        return owner

    return accept


def current_names(cls: type, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a file has of a machine, under the names that they have now."""
    names: Mapping[str, str] = getattr(cls, "OLD_NAMES", {})
    return {names.get(name, name): value for name, value in params.items()}


def _with_old_names(
    function: Callable[..., Any], owner: str, names: Mapping[str, str]
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for old in names.keys() & given.keys():
            new = names[old]
            if new in given:
                raise InvalidParameter(
                    f"{owner}: {old!r} is the old name of {new!r}. Give {new!r} alone."
                )
            warn(
                f"{owner}: {old!r} is now called {new!r}, as everywhere; the old name will be "
                "removed.",
                FutureWarning,
                stacklevel=2,
            )
            given[new] = given.pop(old)
        return function(*args, **given)

    return call
