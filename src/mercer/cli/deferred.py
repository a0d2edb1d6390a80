"""A module that scikit-learn imports and commands do not use: there at once, loaded when needed.

scikit-learn takes a few names from ``scipy.stats`` when it is imported, and no command calls what
is behind them. To load it took a seventh of ``mercer fit heart``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import Lock
from types import ModuleType
from typing import Any

NAME = "scipy.stats"
LATER = frozenset({"rankdata", "gmean", "spearmanr", "chi2"})
"""What scikit-learn takes by name; all other names load the module when they are asked for."""


def defer_statistics() -> None:
    """Let ``scipy.stats`` be imported without being loaded, until something of it is used."""
    if NAME not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds a stand-in for the module, and the module itself before any part of it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.startswith(f"{NAME}."):
            _loaded()
        if name != NAME:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = _Loader()
        return spec


class _Loader(Loader):
    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Deferred


class _Deferred(ModuleType):
    """Stands for the module."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # who inspects all modules needs nothing of this one
            raise AttributeError(f"module {NAME!r} has no attribute {name!r}")
        return _Later(name) if name in LATER else getattr(_loaded(), name)


class _Later:
    """Stands for a function or a distribution of the module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *values: Any, **named: Any) -> Any:
        return getattr(_loaded(), self._name)(*values, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(_loaded(), self._name), name)


_lock = Lock()


def _loaded() -> ModuleType:
    """Return the module itself. Who holds the stand-in or a name of it is served as before."""
    with _lock:  # not while it is imported, which has locks of its own
        if type(sys.modules.get(NAME)) is _Deferred:
            sys.meta_path[:] = [found for found in sys.meta_path if type(found) is not _Finder]
            del sys.modules[NAME]
    return import_module(NAME)
