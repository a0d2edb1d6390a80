"""All compiled code. Modules load on first use, so that importing mercer does not import Numba."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer._fast import pairwise as pairwise

_MODULES = frozenset({"pairwise"})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
