"""Norms of vectors, their duals, and their unit balls."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer._deprecated import renamed
from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter, NotPositiveDefinite


class Norm:
    """A length ‖x‖ of vectors.

    ``is_norm`` is False for the lengths that break the triangle inequality or scale wrongly; they
    are here for their unit balls.

    Examples
    --------
    >>> from mercer import norms
    >>> x = [3.0, -4.0]
    >>> [float(norm(x)) for norm in (norms.l1, norms.l2, norms.linf)]
    [7.0, 5.0, 4.0]
    >>> norms.l1.dual()
    Lp(inf)
    """

    is_norm = True

    def __call__(self, x: ArrayLike) -> Any:
        """Return ‖x‖ of a vector, or of each row of a matrix."""
        rows = np.atleast_2d(np.asarray(x, np.float64))
        lengths = self._lengths(rows)
        return float(lengths[0]) if np.ndim(x) == 1 else lengths

    def _lengths(self, rows: Array) -> Array:
        raise NotImplementedError

    def dual(self) -> Norm:
        """Return the dual norm, ‖z‖* = max of x·z over ‖x‖ ≤ 1, so that x·z ≤ ‖x‖ ‖z‖*."""
        raise InvalidParameter(f"{self!r} is no norm, so it has no dual norm.")

    def steepest(self, g: ArrayLike) -> Array:
        """Return the v with ‖v‖ ≤ 1 along which g·v is least: −‖g‖*."""
        raise InvalidParameter(f"{self!r} is no norm, so it has no steepest direction.")

    def unit_ball(self, points: int = 400) -> Array:
        """Return the boundary of the ball {x : ‖x‖ ≤ 1} in the plane, as rows."""
        angles = np.linspace(0, 2 * np.pi, points)
        # Corners lie on the axes: the cosine of 90 degrees should be zero.
        directions = np.column_stack([np.cos(angles), np.sin(angles)])
        directions[np.abs(directions) < 1e-12] = 0.0
        return np.asarray(directions / np.asarray(self(directions))[:, None])

    @renamed(axes="ax")
    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the unit ball in the plane; return the axes."""
        from mercer._plot.unit_balls import draw_ball

        return draw_ball(self, ax, **style)


class Lp(Norm):
    """The norm (Σ|xᵢ|ᵖ)^(1/p); p = ∞ is max |xᵢ|. With p < 1 it is no norm.

    Parameters
    ----------
    p : float
        p > 0, or ``np.inf``.

    Examples
    --------
    >>> from mercer import norms
    >>> round(norms.Lp(3)([1.0, 2.0]) ** 3, 6), norms.Lp(3).dual()  # 1 + 8; 1/p + 1/q = 1
    (9.0, Lp(1.5))
    """

    def __init__(self, p: float = 2.0) -> None:
        if not (isinstance(p, Real) and float(p) > 0):
            raise InvalidParameter(
                f"Lp(p={p!r}): p has to be above 0, inf included; L0() counts what is not zero."
            )
        self.p: float = float(p)
        self.is_norm = self.p >= 1

    def _lengths(self, rows: Array) -> Array:
        size = np.abs(rows)
        most = size.max(axis=1, initial=0.0)
        if np.isinf(self.p):
            return np.asarray(most)
        # Scaled by the largest entry, powers neither overflow nor vanish.
        scale = np.where(most > 0, most, 1.0)
        return np.asarray(scale * ((size / scale[:, None]) ** self.p).sum(axis=1) ** (1 / self.p))

    def dual(self) -> Norm:
        """Return Lq with 1/p + 1/q = 1."""
        if not self.is_norm:
            return super().dual()
        if self.p == 1:
            return Lp(np.inf)
        return Lp(1.0) if np.isinf(self.p) else Lp(self.p / (self.p - 1))

    def steepest(self, g: ArrayLike) -> Array:
        """Return the steepest direction: a coordinate in L1, −g/‖g‖ in L2, signs in L∞."""
        if not self.is_norm:
            return super().steepest(g)
        g = np.asarray(g, np.float64)
        size = np.abs(g)
        most = float(size.max(initial=0.0))
        if most == 0.0:
            return np.zeros_like(g)
        if self.p == 1:
            v = np.zeros_like(g)
            v[np.argmax(size)] = 1.0
        else:
            v = (size / most) ** (0.0 if np.isinf(self.p) else 1 / (self.p - 1))
            v[size == 0] = 0.0
            v /= self(v)
        return np.asarray(-np.sign(g) * v)

    def __repr__(self) -> str:
        return f"Lp({self.p:g})" if self.is_norm else f"Lp({self.p:g}), no norm"


class L0(Norm):
    """The number of entries that are not zero; no norm, since ‖2x‖ = ‖x‖.

    Examples
    --------
    >>> from mercer import norms
    >>> norms.L0()([3.0, 0.0, -1.0])
    2.0
    """

    is_norm = False

    def _lengths(self, rows: Array) -> Array:
        return np.asarray(np.count_nonzero(rows, axis=1), np.float64)

    def unit_ball(self, points: int = 400) -> Array:
        """Return the axes from −1 to 1: all vectors in the plane with one entry at most."""
        return np.array([[-1.0, 0], [1, 0], [0, 0], [0, 1], [0, -1]])

    def __repr__(self) -> str:
        return "L0(), no norm"


class Quadratic(Norm):
    """The norm √(xᵀPx) of a positive definite matrix P.

    Parameters
    ----------
    P : array of shape (n, n)
        A symmetric positive definite matrix.

    Examples
    --------
    >>> from mercer import norms
    >>> norm = norms.Quadratic([[4.0, 0.0], [0.0, 1.0]])
    >>> float(norm([1.0, 0.0])), float(norm.dual()([1.0, 0.0]))
    (2.0, 0.5)
    """

    def __init__(self, P: ArrayLike) -> None:
        self.P = np.asarray(P, np.float64)
        if self.P.ndim != 2 or self.P.shape[0] != self.P.shape[1]:
            raise InvalidParameter(f"P has the shape {self.P.shape}; it has to be a square matrix.")
        if not np.allclose(self.P, self.P.T):
            raise InvalidParameter("P is not symmetric; use (P + Pᵀ)/2, which has the same xᵀPx.")
        least = float(np.linalg.eigvalsh(self.P).min())
        if least <= 0:
            raise NotPositiveDefinite(
                f"P has the eigenvalue {least:.3g}, so √(xᵀPx) is no norm; all have to be above 0."
            )

    def _lengths(self, rows: Array) -> Array:
        if rows.shape[1] != len(self.P):
            raise InvalidInput(
                f"A vector has {rows.shape[1]} entries and P has {len(self.P)} rows; they must "
                "match."
            )
        most = np.abs(rows).max(axis=1, initial=0.0)
        scale = np.where(most > 0, most, 1.0)
        rows = rows / scale[:, None]
        return np.asarray(scale * np.sqrt(np.einsum("ij,jk,ik->i", rows, self.P, rows)))

    def dual(self) -> Norm:
        """Return the quadratic norm of P⁻¹."""
        inverse = np.linalg.inv(self.P)
        return Quadratic((inverse + inverse.T) / 2)

    def steepest(self, g: ArrayLike) -> Array:
        """Return −P⁻¹g, scaled to length 1."""
        v = -np.linalg.solve(self.P, np.asarray(g, np.float64))
        length = self(v)
        return np.asarray(v / length) if length > 0 else v

    def __repr__(self) -> str:
        return f"Quadratic(P={self.P.tolist()})"


def as_norm(norm: Any) -> Norm:
    """Return a norm for a norm, the p of an Lp norm, or the matrix P of a quadratic norm."""
    if hasattr(norm, "steepest"):
        return norm  # type: ignore[no-any-return]
    if isinstance(norm, Real) and not isinstance(norm, bool):
        return Lp(float(norm))
    if np.ndim(norm) == 2:
        return Quadratic(norm)
    raise InvalidParameter(
        f"norm={norm!r} has to be a norm of mercer.norms, 1, 2, inf, or a square matrix."
    )


def mahalanobis(x: ArrayLike, z: ArrayLike, covariance: ArrayLike) -> float:
    """Return the Mahalanobis distance √((x − z)ᵀ Σ⁻¹ (x − z)).

    Parameters
    ----------
    x, z : array of shape (n,)
        Two vectors.
    covariance : array of shape (n, n)
        Σ, positive definite.

    Examples
    --------
    >>> from mercer import norms
    >>> norms.mahalanobis([2.0, 0.0], [0.0, 0.0], [[4.0, 0.0], [0.0, 1.0]])  # one deviation away
    1.0
    """
    return float(Quadratic(covariance).dual()(np.asarray(x, float) - np.asarray(z, float)))


def inner(X: ArrayLike, Y: ArrayLike) -> float:
    """Return the inner product of two matrices, tr(XᵀY).

    Parameters
    ----------
    X, Y : array
        Two matrices of one shape.

    Examples
    --------
    >>> from mercer import norms
    >>> norms.inner([[1, 2], [3, 4]], [[1, 0], [0, 1]])  # the trace
    5.0
    """
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    if X.shape != Y.shape:
        raise InvalidInput(f"The shapes {X.shape} and {Y.shape} differ; they must be equal.")
    return float((X * Y).sum())


l1, l2, linf = Lp(1.0), Lp(2.0), Lp(np.inf)
