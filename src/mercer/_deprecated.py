"""Old ways to give parameters: they work for a while, with a warning that gives the new ones."""

from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Real
from typing import Any, TypeVar, cast
from warnings import warn

import numpy as np

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


def ambiguous_first(ours: str, bounds: tuple[str, ...]) -> Callable[[Named], Named]:
    """Ask for the name of a first argument that scikit-learn's kernel of the same name has too.

    There it is the length scale. A list can only be length scales and is taken as such; a number
    is still taken as ``ours``, with a warning. ``bounds`` are parameters that only exist there.
    """

    def accept(owner: Named) -> Named:
        method, name = "__init__", owner.__name__
        make = getattr(owner, method)

        @wraps(make)
        def call(self: Any, *args: Any, **given: Any) -> None:
            if len(args) > 1 or given.keys() & set(bounds):
                raise InvalidParameter(
                    f"{name}: what scikit-learn's {name} takes beside the length scale has another "
                    f"place here. Write {name}(length_scale=…), and give bounds to the machine: "
                    "GaussianProcessRegressor(kernel, bounds=(low, high))."
                )
            scales = args and isinstance(args[0], list | tuple | np.ndarray)
            if scales and np.ndim(args[0]) == 1:
                make(self, **{"length_scale": args[0], **given})
                return
            if args and isinstance(args[0], Real):
                warn(
                    f"{name}({args[0]!r}): a number without its name means {ours} here and "
                    f"length_scale in scikit-learn, so it will be refused. Write "
                    f"{name}({ours}={args[0]!r}) or {name}(length_scale={args[0]!r}).",
                    FutureWarning,
                    stacklevel=2,
                )
            make(self, *args, **given)

        setattr(owner, method, call)
        return owner

    return accept
