"""Functions of a vector with their derivatives, given or by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.exceptions import InvalidInput

_STEP = float(np.cbrt(np.finfo(float).eps))
"""The step of central differences at which their error and rounding are about equal."""
_SECOND_STEP = float(np.finfo(float).eps ** 0.25)
"""The same for differences of differences."""
_ROUNDING = 1e-9
"""What rounding may make of an eigenvalue of 0, as a share of the largest."""

GivenFunction: TypeAlias = Callable[[Array], Any]
"""A function that a user gives: it takes a vector and returns a number or several."""
GivenDerivative: TypeAlias = Callable[[Array], Any] | None
"""Derivatives that a user gives: a function of a vector, or None for differences."""


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """A quadratic function ½xᵀPx + qᵀx + r."""

    P: Array
    q: Array
    r: float

    def __add__(self, other: QuadraticForm) -> QuadraticForm:
        return QuadraticForm(self.P + other.P, self.q + other.q, self.r + other.r)

    @property
    def convex(self) -> bool:
        """Whether P has no negative eigenvalue, up to rounding."""
        values = np.linalg.eigvalsh(self.P)
        return not values.size or bool(values[0] >= -_ROUNDING * np.abs(values).max())


class Function:
    """A function of a vector x, with one value or several.

    Parameters
    ----------
    f : function
        Takes a vector, returns a number, or a vector of them.
    gradient : function, optional
        Returns the gradient, or the matrix of gradients (one row a value); by central differences
        where it is not given.
    hessian : function, optional
        Returns the second derivatives of a function with one value; by differences where it is not
        given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import optimize
    >>> f = optimize.Function(lambda x: x[0] ** 2 * x[1])
    >>> f([3.0, 2.0]), f.gradient(np.array([3.0, 2.0])).round(4)  # (2x₀x₁, x₀²), by differences
    (18.0, array([12.,  9.]))
    """

    def __init__(
        self, f: GivenFunction, gradient: GivenDerivative = None, hessian: GivenDerivative = None
    ) -> None:
        self.f, self._gradient, self._hessian = f, gradient, hessian

    def __call__(self, x: ArrayLike) -> float:
        """Return the only value at x."""
        values = self.values(np.asarray(x, np.float64))
        if len(values) != 1:
            raise InvalidInput(f"The function has {len(values)} values where one is needed.")
        return float(values[0])

    def values(self, x: Array) -> Array:
        """Return all values at x, as a vector."""
        return np.atleast_1d(np.asarray(self.f(x), np.float64)).ravel()

    def jacobian(self, x: Array) -> Array:
        """Return the gradients at x, one row a value."""
        if self._gradient is None:
            return _differences(self.values, x, _STEP)
        rows = np.asarray(self._gradient(x), np.float64)
        return rows.reshape(-1, len(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient of the only value at x."""
        return np.asarray(self.jacobian(x)[0])

    def hessian(self, x: Array, weights: Array | None = None) -> Array:
        """Return the second derivatives at x of the values' sum, weighted if they are several."""
        weights = np.ones(1) if weights is None else weights
        if self._hessian is not None and len(weights) == 1:
            return np.asarray(weights[0] * np.asarray(self._hessian(x), np.float64))
        step = _STEP if self._gradient is not None else _SECOND_STEP
        H = _differences(lambda z: np.asarray(weights @ self.jacobian(z)), x, step)
        return np.asarray((H + H.T) / 2)

    def form(self, weights: Array, n: int) -> QuadraticForm | None:
        """Return the values' weighted sum as a quadratic function of n entries, if it is one."""
        return None

    @property
    def affine(self) -> bool:
        """Whether the function is known to be Ax − b."""
        return False

    @property
    def convex(self) -> bool | None:
        """Whether the function is convex; None where nothing is known."""
        return None

    @property
    def size(self) -> int | None:
        """How many entries x has, where the function tells."""
        return None


class QuadraticFunction(Function):
    """½xᵀPx + qᵀx + r with a symmetric matrix P.

    Parameters
    ----------
    P : array of shape (n, n)
        A symmetric matrix.
    q : array of shape (n,), optional
        The slope at 0; 0 by default.
    r : float
        The value at 0.

    Examples
    --------
    >>> from mercer import optimize
    >>> f = optimize.QuadraticFunction([[2.0, 0.0], [0.0, 4.0]], [-2.0, 0.0])
    >>> f([1.0, 0.0]), f.convex  # x² + 2y² − 2x
    (-1.0, True)
    """

    def __init__(self, P: ArrayLike, q: ArrayLike | None = None, r: float = 0.0) -> None:
        self.P = np.asarray(P, np.float64)
        if self.P.ndim != 2 or self.P.shape[0] != self.P.shape[1]:
            raise InvalidInput(f"P has the shape {self.P.shape}; it has to be a square matrix.")
        if not np.allclose(self.P, self.P.T, atol=1e-12 * float(np.abs(self.P).max(initial=0.0))):
            raise InvalidInput("P is not symmetric; use (P + Pᵀ)/2, which has the same xᵀPx.")
        self.q = np.zeros(len(self.P)) if q is None else np.asarray(q, np.float64)
        if self.q.shape != (len(self.P),):
            raise InvalidInput(f"q has the shape {self.q.shape} and P has {len(self.P)} rows.")
        self.r = float(r)

    @property
    def size(self) -> int | None:
        return len(self.P)

    @property
    def affine(self) -> bool:
        return not self.P.any()

    @cached_property
    def _bent_upwards(self) -> bool:
        return QuadraticForm(self.P, self.q, self.r).convex

    @property
    def convex(self) -> bool | None:
        return self._bent_upwards

    def values(self, x: Array) -> Array:
        return np.array([x @ self.P @ x / 2 + self.q @ x + self.r])

    def jacobian(self, x: Array) -> Array:
        return np.asarray(self.P @ x + self.q)[None]

    def hessian(self, x: Array, weights: Array | None = None) -> Array:
        return self.P if weights is None else np.asarray(self.P * weights[0])

    def form(self, weights: Array, n: int) -> QuadraticForm | None:
        w = float(weights[0])
        return QuadraticForm(w * self.P, w * self.q, w * self.r)


class Affine(Function):
    """Ax − b, one value a row: as a constraint Ax ≤ b, or Ax = b.

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix, or a vector for one row.
    b : float or array of shape (m,)
        The right-hand side.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import optimize
    >>> optimize.Affine([[1.0, 2.0], [0.0, 1.0]], [3.0, 5.0]).values(np.array([1.0, 1.0]))
    array([ 0., -4.])
    """

    def __init__(self, A: ArrayLike, b: ArrayLike = 0.0) -> None:
        self.A = np.atleast_2d(np.asarray(A, np.float64))
        try:
            self.b = np.array(np.broadcast_to(np.asarray(b, np.float64), len(self.A)))
        except ValueError:
            raise InvalidInput(
                f"b has the shape {np.shape(b)} and A has {len(self.A)} rows; they must match."
            ) from None

    @property
    def size(self) -> int | None:
        return int(self.A.shape[1])

    def values(self, x: Array) -> Array:
        return np.asarray(self.A @ x - self.b)

    def jacobian(self, x: Array) -> Array:
        return self.A

    def hessian(self, x: Array, weights: Array | None = None) -> Array:
        return np.zeros((len(x), len(x)))

    def form(self, weights: Array, n: int) -> QuadraticForm | None:
        return QuadraticForm(np.zeros((n, n)), self.A.T @ weights, -float(weights @ self.b))

    @property
    def affine(self) -> bool:
        return True

    @property
    def convex(self) -> bool | None:
        return True


def _differences(f: Callable[[Array], Array], x: Array, step: float) -> Array:
    """Return the derivatives of a vector at x by central differences, a column an entry of x."""
    columns = []
    for j, h in enumerate(step * (1 + np.abs(x))):
        ahead, behind = x.copy(), x.copy()
        ahead[j] += h
        behind[j] -= h
        columns.append((f(ahead) - f(behind)) / (ahead[j] - behind[j]))
    return np.stack(columns, axis=1)


def as_function(
    f: Function | GivenFunction, gradient: GivenDerivative = None, hessian: GivenDerivative = None
) -> Function:
    """Return ``f`` as a :class:`Function`; what is one already stays as it is."""
    if isinstance(f, Function) and gradient is None and hessian is None:
        return f
    if not callable(f):
        raise InvalidInput(f"{f!r} is no function of a vector.")
    return Function(f, gradient, hessian)


def as_point(x: ArrayLike) -> Array:
    """Return a finite vector to start from."""
    point = np.array(x, np.float64, ndmin=1)
    if point.ndim != 1 or not np.isfinite(point).all():
        raise InvalidInput("The starting point has to be a vector of finite numbers.")
    return point


def values_of(functions: Sequence[Function], x: Array) -> Array:
    """Return the values of all functions, one after the other."""
    parts = [f.values(x) for f in functions]
    return np.concatenate(parts) if parts else np.zeros(0)


def values_or_nan(f: Function, x: Array) -> Array:
    """Return the values at a point that may be outside of the domain."""
    try:
        with np.errstate(all="ignore"):
            values = f.values(x)
    except (ArithmeticError, ValueError):
        return np.full(1, np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def jacobian_of(functions: Sequence[Function], x: Array) -> Array:
    """Return the gradients of all values, as rows."""
    parts = [f.jacobian(x) for f in functions]
    return np.vstack(parts) if parts else np.zeros((0, len(x)))
