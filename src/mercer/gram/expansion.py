"""Functions of a reproducing-kernel Hilbert space."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mercer._files.fields import A, Numbers, OneOf, State
from mercer._typing import Array, Objects
from mercer.exceptions import InvalidInput
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points


class Expansion:
    """A function f = Σᵢ aᵢ k(xᵢ, ·) of the space that the kernel reproduces.

    ``f(X)`` evaluates it; functions of one kernel form a vector space with an inner product:
    ``f + g``, ``2 * f``, ``f.inner(g)``, ``f.norm()``, ``f.distance(g)``. Evaluation is bounded by
    ∣f(x)∣ ≤ ‖f‖ √k(x, x).

    Parameters
    ----------
    kernel : Kernel
        Heuristic parameters are settled on ``points``.
    points : data, or what the kernel made of it
        The xᵢ.
    coefficients : array of shape (n,) or (n, outputs)
        The aᵢ; several columns make a function with several values.

    Examples
    --------
    >>> from mercer import Expansion, Linear
    >>> f = Expansion(Linear(), [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0])
    >>> f([[1.0, 1.0]]), f.norm()  # f(x) = 3x₁ + 4x₂
    (array([7.]), 5.0)
    >>> g = Expansion(Linear(), [[1.0, 0.0]], [3.0])
    >>> f.inner(g), f.distance(g)
    (9.0, 4.0)
    """

    STATE: ClassVar[State] = {
        "kernel": A(Kernel),
        "points": A(Points, size="n"),
        "coefficients": OneOf(Numbers("n"), Numbers("n", "outputs", any_order=True)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless the points were encoded for the kernel."""
        self.points.check_encoded_for(self.kernel)

    # Products with NumPy scalars are ours.
    __array_ufunc__ = None

    def __init__(self, kernel: Kernel, points: Objects, coefficients: ArrayLike) -> None:
        self.points: Points = kernel.encode(points)
        self.kernel = kernel.resolve(self.points)
        values = np.asarray(coefficients)
        if values.ndim not in (1, 2) or len(values) != len(self.points):
            raise InvalidInput(
                f"Expansion: coefficients of shape {values.shape} for {len(self.points):,} points; "
                "one (or one row) for each point is needed."
            )
        if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            raise InvalidInput("Expansion: coefficients have to be finite real numbers.")
        self.coefficients: Array = values if values.dtype.kind == "f" else values.astype(float)

    def __call__(self, X: Objects) -> Array:
        """Return f(x) for every x."""
        return Gram(self.kernel, self.kernel.encode(X), self.points) @ self.coefficients

    def __len__(self) -> int:
        return len(self.points)

    def inner(self, other: Expansion) -> Any:
        """Return ⟨f, g⟩ = Σᵢⱼ aᵢ bⱼ k(xᵢ, zⱼ), for each pair of columns of coefficients."""
        self._check_same_space(other)
        same = other.points is self.points
        gram = Gram(self.kernel, self.points, None if same else other.points)
        value = self.coefficients.T @ (gram @ other.coefficients)
        return float(value) if np.ndim(value) == 0 else value

    def norm(self) -> Any:
        """Return ‖f‖ = √⟨f, f⟩, for each column of coefficients."""
        square = np.asarray(self.inner(self))
        own = square if square.ndim == 0 else np.diagonal(square)
        norms = np.sqrt(np.maximum(own, 0))
        return float(norms) if norms.ndim == 0 else norms

    def distance(self, other: Expansion) -> Any:
        """Return ‖f − g‖."""
        return (self - other).norm()

    def __add__(self, other: Expansion) -> Expansion:
        if not isinstance(other, Expansion):
            return NotImplemented
        self._check_same_space(other)
        if other.points is self.points:
            return Expansion(self.kernel, self.points, self.coefficients + other.coefficients)
        points = self.points.join(other.points)
        return Expansion(
            self.kernel, points, np.concatenate([self.coefficients, other.coefficients])
        )

    def __mul__(self, factor: float) -> Expansion:
        if not isinstance(factor, numbers.Real):
            return NotImplemented
        return Expansion(self.kernel, self.points, self.coefficients * factor)

    __rmul__ = __mul__

    def __neg__(self) -> Expansion:
        return self * -1.0

    def __sub__(self, other: Expansion) -> Expansion:
        return self + other * -1.0

    def __repr__(self) -> str:
        outputs = "" if self.coefficients.ndim == 1 else f", {self.coefficients.shape[1]} outputs"
        return f"Expansion({self.kernel!r}, {len(self):,} points{outputs})"

    def _check_same_space(self, other: Expansion) -> None:
        if self.kernel != other.kernel:
            raise InvalidInput(
                "The functions live in different spaces: one has the kernel "
                f"{self.kernel!r}, the other {other.kernel!r}."
            )
        if self.coefficients.shape[1:] != other.coefficients.shape[1:]:
            raise InvalidInput("The functions have different numbers of values.")
