"""(A + λI)⁻¹B for many λ at the price of a few: one Krylov space, or one tridiagonal form."""

from __future__ import annotations

import math

import numpy as np

from mercer import _parallel
from mercer._typing import Array
from mercer.linalg.tridiagonal import Tridiagonal, solved

_CHECK_EVERY = 6
"""Steps after which the residual of a Krylov space is computed again."""
_FEW_STEPS = 0.12
"""Steps, as a share of the rows, up to which they are cheaper than a tridiagonal form."""
_TIGHTEST = 1e-13
"""The smallest relative residual that float64 can show."""


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
        found = solved(np.array(self.diagonal), np.array(self.side[:-1]), unit, alphas)
        return np.asarray(found[0])
