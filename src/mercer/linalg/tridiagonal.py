"""One tridiagonal form of a symmetric matrix, with which all (A + λI)⁻¹B cost little."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_void_p, py_object
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from mercer import _fast
from mercer._typing import Array

_BLOCK = 64
"""The block size of LAPACK, by which it measures the memory it works in; 64 is its largest."""


class Tridiagonal:
    """A = QTQᵀ with a tridiagonal T: a third of the work of an eigendecomposition.

    ``A`` is C-contiguous and symmetric; its memory is taken for Q.
    """

    def __init__(self, A: Array) -> None:
        self._reflections = A
        self.diagonal, self.side, self._tau = _tridiagonalise(A)

    def solve(self, B: Array, alphas: Array, out: Array) -> Array:
        """Write (A + λI)⁻¹B for every λ to ``out``, of shape (alphas, n, columns)."""
        n, columns = B.shape
        turned = np.array(B, order="F")
        _turn(self._reflections, self._tau, turned, back=False)
        found = solved(self.diagonal, self.side, turned, alphas)
        inner = np.asfortranarray(found.transpose(1, 2, 0).reshape(n, -1))
        _turn(self._reflections, self._tau, inner, back=True)
        out[...] = inner.reshape(n, len(alphas), columns).transpose(1, 0, 2)
        return out


def solved(diagonal: Array, side: Array, B: Array, alphas: Array) -> Array:
    """Return (T + λI)⁻¹B for every λ: an array of shape (columns, n, alphas).

    NaN stands where T + λI is not positive definite, or singular by rounding.
    """
    largest = float(np.abs(diagonal).max()) + 2 * float(np.abs(side).max(initial=0.0))
    found = np.empty((B.shape[1], len(diagonal), len(alphas)))
    _fast.shifted.solve(diagonal, side, np.ascontiguousarray(B), alphas, found)
    found[:, :, alphas <= len(diagonal) * np.finfo(np.float64).eps * largest] = np.nan
    return found


def _tridiagonalise(A: Array) -> tuple[Array, Array, Array]:
    """Reduce a symmetric matrix to QTQᵀ; return diagonal and side of T, and what Q needs besides A.

    ``A`` is C-contiguous and is overwritten with the reflections that make up Q.
    """
    n = len(A)
    diagonal, side, tau = np.empty(n), np.empty(max(n - 1, 1)), np.empty(max(n - 1, 1))
    work = np.empty(n * _BLOCK)
    _call("dsytrd", b"L", n, A, n, diagonal, side, tau, work, len(work))
    return diagonal, side[: n - 1], tau


def _turn(A: Array, tau: Array, V: Array, back: bool) -> None:
    """Overwrite the columns of V, in Fortran's order, with QᵀV, or with QV on the way ``back``."""
    n, columns = V.shape
    work = np.empty(max(1, columns) * _BLOCK + _BLOCK * (_BLOCK + 1))
    how = b"N" if back else b"T"
    _call("dormtr", b"L", b"L", how, n, columns, A, n, tau, V, n, work, len(work))


def _call(name: str, *arguments: Any) -> None:
    """Call a routine, which takes everything by its address and says last how it went.

    Other Python threads go on meanwhile; scipy's own wrappers hold them up.
    """
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
