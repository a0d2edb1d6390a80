"""The one decorator of compiled functions: cached on disk, without the GIL, with types kept."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on its first call; later processes load it from the disk cache."""
    return cast(Callable[P, R], njit(cache=True, nogil=True, error_model="numpy")(function))


def jit_formulas(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` so that a product and a sum may be rounded once, as one operation."""
    compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
    return cast(Callable[P, R], compiled(function))


def jit_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` so that sums may be taken in any order, which lets them use vectors."""
    compiled = njit(
        cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )
    return cast(Callable[P, R], compiled(function))
