"""Two routines of LAPACK as scipy has them, called so that other Python threads go on meanwhile.

scipy's own wrappers hold all threads up, and a search runs on several.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_void_p, py_object
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from mercer._typing import Array

_BLOCK = 64


def tridiagonalise(A: Array) -> tuple[Array, Array, Array]:
    """Reduce a symmetric matrix to QTQᵀ; return diagonal and side of T, and what Q needs besides A.

    ``A`` is C-contiguous and is overwritten with the reflections that make up Q.
    """
    n = len(A)
    diagonal, side, tau = np.empty(n), np.empty(max(n - 1, 1)), np.empty(max(n - 1, 1))
    work = np.empty(n * _BLOCK)
    _call("dsytrd", b"L", n, A, n, diagonal, side, tau, work, len(work))
    return diagonal, side[: n - 1], tau


def turn(A: Array, tau: Array, V: Array, back: bool) -> None:
    """Overwrite the columns of V, in Fortran's order, with QᵀV, or with QV on the way ``back``."""
    n, columns = V.shape
    work = np.empty(max(1, columns) * _BLOCK + _BLOCK * (_BLOCK + 1))
    how = b"N" if back else b"T"
    _call("dormtr", b"L", b"L", how, n, columns, A, n, tau, V, n, work, len(work))


def _call(name: str, *arguments: Any) -> None:
    """Call a routine, which takes everything by its address and says last how it went."""
    info = c_int(0)
    kept = [c_int(a) if isinstance(a, int) else a for a in arguments]
    _routine(name)(*[_address(a) for a in kept], byref(info))
    if info.value != 0:
        raise ArithmeticError(f"LAPACK's {name} failed with code {info.value}.")


def _address(argument: Any) -> Any:
    if isinstance(argument, bytes):
        return c_char_p(argument)
    return c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else byref(argument)


@cache
def _routine(name: str) -> Any:
    capsule = cython_lapack.__pyx_capi__[name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = c_char_p, [py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = c_void_p, [py_object, c_char_p]
    return ctypes.CFUNCTYPE(None)(pointer_of(capsule, name_of(capsule)))
