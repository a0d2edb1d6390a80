"""Kernel machines for any data, with a proof for every answer."""

import ast
from importlib import import_module, resources
from typing import Any


def _public_names() -> dict[str, str]:
    """Read the stub beside this file, which says for type checkers where each name lives."""
    stub = resources.files("mercer").joinpath("__init__.pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names}


_MODULE_OF = _public_names()

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name == "__version__":
        from importlib.metadata import version

        return version("mercer")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
