"""The one decorator of compiled functions: cached on disk, without the GIL, with types kept."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on its first call; later processes load it from the disk cache."""
    return _compiled(function)


def jit_formulas(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` so that a product and a sum may be rounded once, as one operation."""
    return _compiled(function, fastmath={"contract"})


def jit_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` so that sums may be taken in any order, which lets them use vectors."""
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"})


def _compiled(function: Callable[P, R], **more: Any) -> Callable[P, R]:
    options = {"nogil": True, "error_model": "numpy", **more}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder to write to: each process compiles for itself
        compiled = njit(**options)(function)
    return cast(Callable[P, R], compiled)
