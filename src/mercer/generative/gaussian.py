"""Gaussian densities with covariances of several shapes: estimates, log densities, scores.

A covariance is handled through its factor: the lower triangular L with Σ = LLᵀ, or the standard
deviations where Σ is diagonal. z = L⁻¹(x − μ) is a whitened difference.

The score of a covariance is the derivative for a symmetric matrix E in Σ = L exp(E) Lᵀ, taken at
E = 0. For a diagonal Σ that is the derivative for the logarithms of the variances, for Σ = σ²I the
one for log σ².
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from mercer._files.fields import Numbers, WrongState
from mercer._typing import Array
from mercer.exceptions import InvalidParameter

_LOG_2PI = math.log(2 * math.pi)
NO_MASS = 10 * float(np.finfo(np.float64).eps)
"""Added to the mass of each component, as in scikit-learn, so that one without rows divides."""


class FullCovariance:
    """A matrix of its own for each component."""

    shared: ClassVar[bool] = False

    @staticmethod
    def shape(k: int, d: int) -> tuple[int, ...]:
        return k, d, d

    @staticmethod
    def estimate(X: Array, shares: Array, totals: Array, means: Array, floor: float) -> Array:
        covariances = np.empty((len(means), X.shape[1], X.shape[1]))
        for k, mean in enumerate(means):
            covariances[k] = _clipped(_scatter(X - mean, shares[:, k]) / totals[k], floor)
        return covariances

    @staticmethod
    def factors(covariances: Array) -> Array:
        return np.linalg.cholesky(covariances)

    @staticmethod
    def slots(d: int) -> int:
        return d * (d + 1) // 2

    @staticmethod
    def slopes(z: Array) -> Array:
        """Return ∂ log N/∂E of the entries E_ij, i ≤ j; each off the diagonal stands twice."""
        rows, columns = np.triu_indices(z.shape[1])
        products = z[:, rows] * z[:, columns]
        diagonal = rows == columns
        products[:, diagonal] = (products[:, diagonal] - 1) / 2
        return products

    @staticmethod
    def slope_variances(d: int) -> Array:
        """Return the variances of the slopes, which are uncorrelated."""
        rows, columns = np.triu_indices(d)
        return np.where(rows == columns, 0.5, 1.0)


class TiedCovariance(FullCovariance):
    """One matrix for all components."""

    shared = True

    @staticmethod
    def shape(k: int, d: int) -> tuple[int, ...]:
        return d, d

    @staticmethod
    def estimate(X: Array, shares: Array, totals: Array, means: Array, floor: float) -> Array:
        parts = [_scatter(X - mean, shares[:, k]) for k, mean in enumerate(means)]
        scatter: Array = np.sum(parts, axis=0)
        return _clipped(scatter / totals.sum(), floor)


class DiagonalCovariance:
    """A variance for each component and column."""

    shared: ClassVar[bool] = False

    @staticmethod
    def shape(k: int, d: int) -> tuple[int, ...]:
        return k, d

    @staticmethod
    def estimate(X: Array, shares: Array, totals: Array, means: Array, floor: float) -> Array:
        variances = [shares[:, k] @ (X - mean) ** 2 for k, mean in enumerate(means)]
        return np.maximum(np.array(variances) / totals[:, None], floor)

    @staticmethod
    def factors(covariances: Array) -> Array:
        return np.sqrt(covariances)

    @staticmethod
    def slots(d: int) -> int:
        return d

    @staticmethod
    def slopes(z: Array) -> Array:
        """Return ∂ log N/∂ log σⱼ²."""
        return (z**2 - 1) / 2

    @staticmethod
    def slope_variances(d: int) -> Array:
        """Return the variances of the slopes, which are uncorrelated."""
        return np.full(d, 0.5)


class SphericalCovariance(DiagonalCovariance):
    """One variance for each component."""

    @staticmethod
    def shape(k: int, d: int) -> tuple[int, ...]:
        return (k,)

    @staticmethod
    def estimate(X: Array, shares: Array, totals: Array, means: Array, floor: float) -> Array:
        variances = DiagonalCovariance.estimate(X, shares, totals, means, 0.0)
        return np.asarray(np.maximum(variances.mean(axis=1), floor))

    @staticmethod
    def slots(d: int) -> int:
        return 1

    @staticmethod
    def slopes(z: Array) -> Array:
        """Return ∂ log N/∂ log σ²."""
        return np.asarray(DiagonalCovariance.slopes(z).sum(axis=1, keepdims=True))

    @staticmethod
    def slope_variances(d: int) -> Array:
        """Return the variance of the slope."""
        return np.full(1, d / 2)


SHAPES: dict[str, type[FullCovariance] | type[DiagonalCovariance]] = {
    "full": FullCovariance,
    "tied": TiedCovariance,
    "diag": DiagonalCovariance,
    "spherical": SphericalCovariance,
}


def check_axes(covariances: object, kind: str) -> None:
    """Raise :class:`WrongState` unless these are numbers with as many axes as their kind has."""
    dimensions = len(SHAPES[kind].shape(1, 1))
    Numbers(*[f"axis {i}" for i in range(dimensions)]).check(covariances, {})
    if getattr(covariances, "dtype", None) == np.float16:
        raise WrongState("its covariances are of half precision, which nothing factorises")


class Gaussians:
    """K Gaussians with covariances of one shape."""

    def __init__(self, means: Array, covariances: Array, kind: str) -> None:
        self.means, self.kind = means, SHAPES[kind]
        factors = self.kind.factors(covariances)
        self._factors = [factors if self.kind.shared else factors[k] for k in range(len(means))]

    def log_densities(self, X: Array) -> Array:
        """Return log N(x | μₖ, Σₖ), one column for each component."""
        d = X.shape[1]
        result = np.empty((len(X), len(self.means)))
        for k, factor in enumerate(self._factors):
            z = self.whitened(X, k)
            sizes = np.diagonal(factor) if factor.ndim == 2 else np.broadcast_to(factor, d)
            constant = d * _LOG_2PI / 2 + np.log(sizes).sum()
            result[:, k] = -np.einsum("ij,ij->i", z, z) / 2 - constant
        return result

    def whitened(self, X: Array, k: int) -> Array:
        """Return z = L⁻¹(x − μ) of one component."""
        return self._solve(X - self.means[k], k)

    def mean_slopes(self, z: Array, k: int) -> Array:
        """Return ∂ log N/∂μ = Σ⁻¹(x − μ) from whitened differences."""
        return self._solve(z, k, transposed=True)

    def coloured(self, noise: Array, k: int) -> Array:
        """Return μ + Lz, the inverse of ``whitened``."""
        factor = self._factors[k]
        moved = noise @ factor.T if factor.ndim == 2 else noise * factor
        return np.asarray(self.means[k] + moved)

    def _solve(self, rows: Array, k: int, transposed: bool = False) -> Array:
        factor = self._factors[k]
        if factor.ndim < 2:
            return np.asarray(rows / factor)
        solved: Array = solve_triangular(
            factor, rows.T, lower=True, trans="T" if transposed else "N", check_finite=False
        )
        return solved.T


def variance_floor(X: Array, fraction: float) -> float:
    """Return a floor of variances that is a fraction of the mean variance of the columns."""
    return fraction * (float(X.var(axis=0).mean()) or 1.0)


def check_covariances(covariances: ArrayLike, kind: str, k: int, d: int, owner: str) -> Array:
    """Return given covariances as an array, or raise :class:`InvalidParameter`."""
    given = np.asarray(covariances, dtype=np.float64)
    wanted = SHAPES[kind].shape(k, d)
    if given.shape != wanted:
        raise InvalidParameter(
            f"{owner}: {kind} covariances of {k} components in {d} columns have the shape "
            f"{wanted}, not {given.shape}."
        )
    if not is_positive(given, kind):
        raise InvalidParameter(f"{owner}: the covariances have to be positive definite.")
    return given


def is_positive(covariances: Array, kind: str) -> bool:
    """Tell whether covariances are finite, symmetric and positive definite."""
    if not np.isfinite(covariances).all():
        return False
    if kind not in ("full", "tied"):
        return bool((covariances > 0).all())
    try:
        np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        return False
    return bool(np.allclose(covariances, covariances.swapaxes(-1, -2)))


def _scatter(differences: Array, shares: Array) -> Array:
    scatter: Array = (shares[:, None] * differences).T @ differences
    return (scatter + scatter.T) / 2


def _clipped(covariance: Array, floor: float) -> Array:
    """Return the likeliest covariance with no eigenvalue below ``floor``, given the free one."""
    values, vectors = np.linalg.eigh(covariance)
    if values[0] >= floor:
        return covariance
    clipped: Array = (vectors * np.maximum(values, floor)) @ vectors.T
    return (clipped + clipped.T) / 2
