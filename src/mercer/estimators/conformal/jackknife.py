"""Machines that never saw one of their rows, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from mercer._typing import Array, Model, Objects
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion


@dataclass(frozen=True, eq=False)
class Jackknife:
    """The n machines f₋ᵢ of a least-squares machine f(x) = k(x)ᵀa + b with (K + D) a = y − b.

    With G = (K + D)⁻¹ the machine without row i is f₋ᵢ(x) = f(x) − (aᵢ/Gᵢᵢ) (G k(x))ᵢ, and its
    residual at that row is aᵢ/Gᵢᵢ. What depends on all targets, b and D, stays as it is.

    Attributes
    ----------
    expansion, constant
        f, and its b.
    inverse : array of shape (n, n)
        G.
    diagonal : array of shape (n,)
        D, the penalty of each row.
    """

    expansion: Expansion
    constant: float
    inverse: Array
    diagonal: Array

    @classmethod
    def of(cls, model: Model) -> Self | None:
        """Return the machines, None where the model is not of that form."""
        system = getattr(model, "least_squares_system", None)
        parts = system() if system is not None else None
        if parts is None:
            return None
        expansion, constants, diagonal = parts
        if expansion.coefficients.reshape(len(expansion), -1).shape[1] != 1:
            return None
        K = Gram(expansion.kernel, expansion.points, dtype=np.float64).dense()
        K[np.diag_indices_from(K)] += diagonal
        inverse = linalg.cho_solve(linalg.cho_factor(K, lower=True), np.eye(len(K)))
        return cls(expansion, float(constants[0]), inverse, diagonal)

    @property
    def coefficients(self) -> Array:
        """The a of the whole machine."""
        return self.expansion.coefficients.reshape(-1)

    @property
    def residuals(self) -> Array:
        """Y − f₋ᵢ(xᵢ) for each row."""
        return np.asarray(self.coefficients / np.diagonal(self.inverse))

    def predictions(self, X: Objects) -> Array:
        """Return f₋ᵢ(x), one row for each object and one column for each row left out."""
        values = self.values(X)
        whole = values @ self.coefficients + self.constant
        return np.asarray(whole[:, None] - (values @ self.inverse) * self.residuals)

    def values(self, X: Objects) -> Array:
        """Return k(x, xᵢ)."""
        kernel, points = self.expansion.kernel, self.expansion.points
        return Gram(kernel, kernel.encode(X), points, dtype=np.float64).dense()

    def full_intervals(self, X: Objects, level: float) -> Array:
        """Return the hulls of the full conformal sets, one row for each object.

        With the new row and a candidate t for its target, all residuals of the machine on n + 1
        rows are A + tB; t is in the set where at least (1 − level)(n + 1) residuals are not smaller
        than that of the new row.
        """
        kernel, points = self.expansion.kernel, self.expansion.points
        encoded = kernel.encode(X)
        values = Gram(kernel, encoded, points, dtype=np.float64).dense()
        own = np.asarray(kernel.diag(encoded), dtype=np.float64)
        inverse_values = values @ self.inverse
        means = values @ self.coefficients
        added = float(np.median(self.diagonal))
        intervals = np.empty((len(values), 2))
        for row, (k, u) in enumerate(zip(values, inverse_values, strict=True)):
            room = own[row] + added - float(k @ u)
            # (K + D)⁻¹ of n + 1 rows, times the targets (y, t): its residuals are D times that.
            slope = np.append(-u, 1.0) / room
            level_part = np.append(self.coefficients, 0.0) - means[row] * slope
            scale = np.append(self.diagonal, added)
            intervals[row] = _hull(scale * level_part, scale * slope, level)
        return intervals + self.constant


def _hull(A: Array, B: Array, level: float) -> tuple[float, float]:
    """Return the least and the largest t at which enough of the ∣A + tB∣ reach the last one."""
    needed = int(np.floor((1 - level) * len(A) + 1e-9)) + 1
    a, b = A[-1], B[-1]
    ends: list[float] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for sign in (1.0, -1.0):
            crossing = -(A[:-1] - sign * a) / (B[:-1] - sign * b)
            ends.extend(crossing[np.isfinite(crossing)])
    places = np.unique(ends)
    middles = np.concatenate(
        [[places[0] - 1.0], 0.5 * (places[:-1] + places[1:]), [places[-1] + 1.0]]
    )

    def enough(t: Array) -> Array:
        sizes = np.abs(A[:, None] + B[:, None] * t)
        count = (sizes >= sizes[-1] * (1 - 1e-12)).sum(axis=0)
        return np.asarray(count >= needed)

    between, at = enough(middles), enough(places)
    if between[0] or between[-1]:
        return (-np.inf if between[0] else np.inf, np.inf if between[-1] else -np.inf)
    inside = np.flatnonzero(at)
    return float(places[inside[0]]), float(places[inside[-1]])
