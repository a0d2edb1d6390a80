"""(A + λI)⁻¹B for many λ at the price of a few: one Krylov space, or one tridiagonal form."""

from __future__ import annotations

import ctypes
import math
from ctypes import byref, c_char_p, c_int, c_void_p, py_object
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from mercer import _fast, _parallel
from mercer._typing import Array

_CHECK_EVERY = 6
"""Steps after which the residual of a Krylov space is computed again."""
_FEW_STEPS = 0.12
"""Steps, as a share of the rows, up to which they are cheaper than a tridiagonal form."""
_TIGHTEST = 1e-13
"""The smallest relative residual that float64 can show."""
_BLOCK = 64
"""The block size of LAPACK, by which it measures the memory it works in; 64 is its largest."""


def solve_shifts(A: Array, B: Array, alphas: Array, tol: float) -> Array:
    """Return (A + λI)⁻¹B for every λ: an array of shape (alphas, n, columns); A is lost.

    NaN stands where A + λI is not positive definite, or singular to working precision.
    """
    n, columns = B.shape
    result = np.full((len(alphas), n, columns), np.nan)
    if columns == 1:
        space = Krylov(A, B[:, 0])
        if space.reaches(float(alphas.min()), max(tol, _TIGHTEST), int(_FEW_STEPS * n)):
            result[:, :, 0] = space.solve(alphas)
            return result
    return Tridiagonal(A).solve(B, alphas, result)


class Krylov:
    """The span of b, Ab, A²b, …, which is the same for all A + λI: Lanczos' method.

    Vectors are kept orthogonal by force, so that a small residual can be believed.
    """

    def __init__(self, A: Array, b: Array) -> None:
        self.A, self.length = A, float(np.linalg.norm(b))
        self.basis = np.empty((0, len(b)))
        self.diagonal: list[float] = []
        self.side: list[float] = []
        self._next = b / self.length if self.length > 0 else b

    def reaches(self, alpha: float, tol: float, most: int) -> bool:
        """Grow until the residual for λ is below ``tol`` times b; give up where that is far away.

        No λ that is larger has a larger residual.
        """
        if self.length == 0:
            return True
        self.basis = np.empty((most + 1, len(self._next)))
        before = 1.0
        for step in range(1, most + 1):
            self._grow(step)
            if step % _CHECK_EVERY and self.side[-1] > tol * abs(self.diagonal[0]):
                continue
            _parallel.check_stopped()
            size = self.residual(alpha)
            if size <= tol:
                return True
            rate = min(size / before, size ** (_CHECK_EVERY / step))
            if (
                not 0 < rate < 1
                or step + _CHECK_EVERY * math.log(tol / size) / math.log(rate) > most
            ):
                return False
            before = size
        return False

    def _grow(self, step: int) -> None:
        self.basis[step - 1] = self._next
        known = self.basis[:step]
        image = self.A @ self._next
        self.diagonal.append(float(self._next @ image))
        for _ in range(2):
            image -= (known @ image) @ known
        size = float(np.linalg.norm(image))
        self.side.append(size)
        self._next = image / size if size > 0 else image

    def residual(self, alpha: float) -> float:
        """Return |b − (A + λI)x| / |b| for the x that the space has for λ."""
        last = float(self._inner(np.array([alpha]))[-1, 0])
        return math.inf if math.isnan(last) else self.side[-1] * abs(last)

    def solve(self, alphas: Array) -> Array:
        """Return x for every λ: an array of shape (alphas, n)."""
        m = len(self.diagonal)
        if not m:
            return np.zeros((len(alphas), self.basis.shape[1]))
        return np.asarray((self.length * self._inner(alphas)).T @ self.basis[:m])

    def _inner(self, alphas: Array) -> Array:
        """Return (T + λI)⁻¹e₁ for every λ in the basis of the space: of shape (steps, alphas)."""
        unit = np.zeros((len(self.diagonal), 1))
        unit[0] = 1.0
        found = _solved(np.array(self.diagonal), np.array(self.side[:-1]), unit, alphas)
        return np.asarray(found[0])


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
        found = _solved(self.diagonal, self.side, turned, alphas)
        inner = np.asfortranarray(found.transpose(1, 2, 0).reshape(n, -1))
        _turn(self._reflections, self._tau, inner, back=True)
        out[...] = inner.reshape(n, len(alphas), columns).transpose(1, 0, 2)
        return out


def _solved(diagonal: Array, side: Array, B: Array, alphas: Array) -> Array:
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
