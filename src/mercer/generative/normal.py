"""The Gaussian distribution: all that can be done with it in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaincinv

from mercer._plot.ellipses import draw_conditional, draw_density, draw_ellipses, draw_marginal
from mercer._typing import Array, Axes
from mercer.exceptions import InvalidInput, InvalidParameter, NotPositiveDefinite

_LOG_2PI = math.log(2 * math.pi)
_ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """The eigen-axes of a covariance, longest first: σⱼ² = ``variances[j]`` along column j."""

    variances: Array
    directions: Array


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a symmetric matrix for coordinates b and the others, a."""

    aa: Array
    ab: Array
    ba: Array
    bb: Array


@dataclass(frozen=True, eq=False)
class Weighted:
    """exp(``log_scale``) times the density of ``gaussian``."""

    gaussian: Gaussian
    log_scale: float


@dataclass(frozen=True, eq=False)
class Inference:
    """What an observation tells: the ``posterior`` of x, and the ``evidence``, that of y before."""

    posterior: Gaussian
    evidence: Gaussian
    log_evidence: float


class Gaussian:
    """A Gaussian distribution of d numbers.

    N(x | μ, Σ) = exp(−½(x−μ)ᵀΣ⁻¹(x−μ)) / √det(2πΣ)

    The covariance may be singular: the density is then one on the subspace μ + range Σ, and 0
    elsewhere. It is held as a factor, Σ = RRᵀ: the Cholesky factor where Σ is regular, else one
    with as many columns as Σ has rank.

    Parameters
    ----------
    mean : array of shape (d,)
    covariance : array of shape (d, d), or a number or variances of shape (d,)
        Symmetric and positive semi-definite.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> both = Gaussian([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]])
    >>> seen = both.condition([0], [2.0])  # the second number, where the first is 2
    >>> seen.mean.round(4), seen.covariance.round(4)  # ρ·2 and 1 − ρ²
    (array([1.6]), array([[0.36]]))
    """

    def __init__(self, mean: ArrayLike, covariance: ArrayLike = 1.0) -> None:
        self.mean: Array = np.atleast_1d(np.asarray(mean, dtype=np.float64))
        if self.mean.ndim != 1 or not self.mean.size or not np.isfinite(self.mean).all():
            raise InvalidParameter(
                "Gaussian: mean has to be a list of finite numbers, one for each coordinate."
            )
        self.covariance = _covariance(covariance, len(self.mean))
        self._root, self._left = _factor(self.covariance)

    @classmethod
    def estimate(cls, X: ArrayLike, *, unbiased: bool = False) -> Self:
        """Return the likeliest Gaussian for rows of data: Σ with 1/n, or 1/(n−1) if unbiased."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or len(rows) < (2 if unbiased else 1) or not np.isfinite(rows).all():
            raise InvalidInput(
                f"Gaussian.estimate: X of shape {rows.shape} has to be rows of finite numbers, at "
                "least one, and two for the unbiased estimate."
            )
        centred = rows - rows.mean(axis=0)
        return cls(rows.mean(axis=0), centred.T @ centred / (len(rows) - unbiased))

    def __len__(self) -> int:
        return len(self.mean)

    def __repr__(self) -> str:
        rank = "" if self.rank == len(self) else f", rank={self.rank}"
        return f"Gaussian(mean={np.array2string(self.mean, threshold=6, precision=4)}{rank})"

    @property
    def rank(self) -> int:
        """The dimension of the subspace that the distribution lives on."""
        return int(self._root.shape[1])

    @property
    def factor(self) -> Array:
        """R with Σ = RRᵀ; lower triangular where Σ is regular."""
        return self._root

    @property
    def precision(self) -> Array:
        """Λ = Σ⁻¹; Λᵢⱼ = 0 where i and j are independent given all others."""
        if self.rank < len(self):
            raise NotPositiveDefinite(
                f"Gaussian.precision: the covariance is singular, of rank {self.rank} in "
                f"{len(self)} coordinates, and has no inverse. Take the marginal of fewer "
                "coordinates, or add a little variance."
            )
        inverse = solve_triangular(self._root, np.eye(len(self)), lower=True, check_finite=False)
        return np.asarray(inverse.T @ inverse)

    def covariance_blocks(self, coordinates: Sequence[int]) -> Blocks:
        """Return Σaa, Σab, Σba, Σbb for some coordinates b and the others, a."""
        return self._blocks(self.covariance, coordinates)

    def precision_blocks(self, coordinates: Sequence[int]) -> Blocks:
        """Return Λaa, Λab, Λba, Λbb of Λ = Σ⁻¹ for some coordinates b and the others, a.

        Given x_b, the others have the mean μₐ − Λaa⁻¹Λab(x_b − μ_b) and the covariance Λaa⁻¹: what
        ``condition`` returns, without Σbb⁻¹.

        Examples
        --------
        >>> from mercer import Gaussian
        >>> g = Gaussian([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]])
        >>> blocks = g.precision_blocks([1])
        >>> (1 / blocks.aa).round(2), (-blocks.ab / blocks.aa).round(2)
        (array([[0.36]]), array([[0.8]]))
        >>> given = g.condition([1], [1.0])
        >>> given.covariance.round(2), given.mean.round(2)
        (array([[0.36]]), array([0.8]))
        """
        return self._blocks(self.precision, coordinates)

    def _blocks(self, matrix: Array, coordinates: Sequence[int]) -> Blocks:
        b = self._numbers(coordinates)
        a = np.setdiff1d(np.arange(len(self)), b)
        return Blocks(
            matrix[np.ix_(a, a)],
            matrix[np.ix_(a, b)],
            matrix[np.ix_(b, a)],
            matrix[np.ix_(b, b)],
        )

    # ---- values ------------------------------------------------------------------------------

    def mahalanobis(self, X: ArrayLike) -> Array:
        """Return √((x−μ)ᵀΣ⁻¹(x−μ)) of each row; ∞ outside the subspace of a singular Σ."""
        rows = self._rows(X)
        z, inside = self._whitened(rows)
        return np.where(inside, np.linalg.norm(z, axis=1), np.inf).reshape(np.shape(X)[:-1])

    def log_density(self, X: ArrayLike) -> Array:
        """Return log N(x | μ, Σ) of each row; −∞ outside the subspace of a singular Σ."""
        return -0.5 * (self.mahalanobis(X) ** 2 + self.rank * _LOG_2PI + self._log_determinant())

    def density(self, X: ArrayLike) -> Array:
        """Return N(x | μ, Σ) of each row."""
        return np.exp(self.log_density(X))

    def entropy(self) -> float:
        """Return −E log N(x | μ, Σ), on the subspace where Σ is singular."""
        return 0.5 * (self.rank * (1 + _LOG_2PI) + self._log_determinant())

    def kl(self, other: Gaussian) -> float:
        """Return KL(p‖q) = E_p log(p/q) ≥ 0; ∞ where they live on different subspaces."""
        self._check_size(other)
        if self.rank != other.rank:
            return math.inf
        turned, inside = other._whitened(other.mean + self._root.T)
        shift, there = other._whitened(self.mean[None])
        if not (inside.all() and there.all()):
            return math.inf
        traces = float((turned**2).sum() + (shift**2).sum())
        logs = other._log_determinant() - self._log_determinant()
        return max(0.0, 0.5 * (traces - self.rank + logs))

    def sample(self, size: int = 1, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw rows x = μ + Rz."""
        random = np.random.default_rng(random_state)
        return self.mean + random.standard_normal((size, self.rank)) @ self._root.T

    def principal_axes(self) -> PrincipalAxes:
        """Return the eigen-axes of the covariance, longest first."""
        values, vectors = np.linalg.eigh(self.covariance)
        return PrincipalAxes(np.maximum(values[::-1], 0.0), vectors[:, ::-1])

    def contour(self, probability: float = 0.95, points: int = 181) -> Array:
        """Return points of the ellipse that holds a share of the probability (d = 2)."""
        if len(self) != 2:
            raise InvalidParameter(f"Gaussian.contour is for 2 coordinates, not {len(self)}.")
        if not 0 < probability < 1:
            raise InvalidParameter(f"probability={probability!r} has to be between 0 and 1.")
        radius = math.sqrt(2 * float(gammaincinv(1.0, probability)))
        angle = np.linspace(0, 2 * np.pi, points)
        axes = self.principal_axes()
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        return np.asarray(
            self.mean + radius * (circle * np.sqrt(axes.variances)) @ axes.directions.T
        )

    def plot(
        self,
        X: ArrayLike | None = None,
        y: Any = None,
        ax: Axes = None,
        *,
        given: Mapping[int, float] | None = None,
    ) -> Any:
        """Draw the density of one number, or the ellipses that hold 50 and 95 % of two.

        Two numbers are drawn with their principal axes, one deviation long, and their marginals
        along the edges.

        Parameters
        ----------
        X : array of shape (n, d), optional
            Points to draw too.
        y
            Ignored.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        given : dict, optional
            The value of one coordinate, such as ``{0: 1.5}``: the density of the other one is drawn
            along that line.
        """
        del y
        rows = None if X is None else self._rows(X)
        if len(self) == 1:
            return draw_density(self, rows, ax)
        if len(self) > 2:
            raise InvalidInput(
                f"Gaussian.plot draws one or two numbers, and there are {len(self)}. Draw two of "
                "them: gaussian.marginal([0, 1]).plot()."
            )
        axes = self.principal_axes()
        ax = draw_ellipses(self, axes.variances, axes.directions, rows, ax)
        for coordinate in (0, 1):
            draw_marginal(ax, self.marginal([coordinate]), coordinate)
        for coordinate, value in (given or {}).items():
            draw_conditional(ax, self.condition([coordinate], [value]), coordinate, value)
        return ax

    # ---- other Gaussians ---------------------------------------------------------------------

    def marginal(self, coordinates: Sequence[int]) -> Gaussian:
        """Return the distribution of some coordinates."""
        at = self._numbers(coordinates)
        return Gaussian(self.mean[at], self.covariance[np.ix_(at, at)])

    def condition(self, coordinates: Sequence[int], values: ArrayLike) -> Gaussian:
        """Return the distribution of the other coordinates a, given those of some, x_b.

        μₐ + ΣabΣbb⁻¹(x_b − μ_b), Σaa − ΣabΣbb⁻¹Σba
        """
        b = self._numbers(coordinates)
        a = np.setdiff1d(np.arange(len(self)), b)
        if not len(a):
            raise InvalidParameter("Gaussian.condition: no coordinate is left.")
        pick = np.eye(len(self))
        return self.affine(pick[a])._given(
            self.covariance[np.ix_(a, b)], self.marginal(b), values, "condition"
        )

    def affine(self, A: ArrayLike, b: ArrayLike = 0.0) -> Gaussian:
        """Return the distribution of Ax + b."""
        matrix = np.atleast_2d(np.asarray(A, dtype=np.float64))
        if matrix.ndim != 2 or matrix.shape[1] != len(self) or not np.isfinite(matrix).all():
            raise InvalidParameter(
                f"Gaussian.affine: A of shape {matrix.shape} has to have {len(self)} columns of "
                "finite numbers."
            )
        image = matrix @ self._root
        return Gaussian(matrix @ self.mean + np.asarray(b, dtype=np.float64), image @ image.T)

    def __add__(self, other: Gaussian) -> Gaussian:
        """Return the distribution of the sum of two independent variables."""
        self._check_size(other)
        return Gaussian(self.mean + other.mean, self.covariance + other.covariance)

    def __mul__(self, other: Gaussian) -> Weighted:
        """Return the product of two densities: a Gaussian times a number."""
        self._check_size(other)
        total = Gaussian(self.mean, self.covariance + other.covariance)
        joint = self._given(self.covariance, total, other.mean, "product")
        return Weighted(joint, float(total.log_density(other.mean)))

    def observe(
        self, y: ArrayLike, A: ArrayLike, noise: ArrayLike, b: ArrayLike = 0.0
    ) -> Inference:
        """Apply Bayes' rule to y = Ax + b + ε, ε ~ N(0, noise).

        The posterior of x has the mean μ + ΣAᵀS⁻¹(y − Aμ − b) and the covariance
        Σ − ΣAᵀS⁻¹AΣ, where the evidence is y ~ N(Aμ + b, S), S = AΣAᵀ + noise.
        """
        matrix = np.atleast_2d(np.asarray(A, dtype=np.float64))
        clean = self.affine(matrix, b)
        spread = Gaussian(np.zeros(len(clean)), noise)
        evidence = clean + spread
        posterior = self._given(self.covariance @ matrix.T, evidence, y, "observe")
        return Inference(posterior, evidence, float(evidence.log_density(np.atleast_1d(y))))

    # ---- inside ------------------------------------------------------------------------------

    def _given(self, cross: Array, seen: Gaussian, values: ArrayLike, what: str) -> Gaussian:
        """Return this distribution after ``values`` of ``seen``, given Cov(this, seen)."""
        x = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if x.shape != seen.mean.shape or not np.isfinite(x).all():
            raise InvalidInput(
                f"Gaussian.{what}: {seen.mean.size} finite numbers are needed, got shape {x.shape}."
            )
        z, inside = seen._whitened(x[None])
        if not inside.all():
            raise InvalidInput(
                f"Gaussian.{what}: these values have probability 0: the covariance is singular and "
                "they lie outside its subspace."
            )
        gain, _ = seen._whitened(seen.mean + cross)
        covariance = self.covariance - gain @ gain.T
        return Gaussian(self.mean + gain @ z[0], _rounded(covariance, self.covariance))

    def _whitened(self, rows: Array) -> tuple[Array, Any]:
        """Return R⁺(x − μ), and which rows lie on the subspace."""
        centred = rows - self.mean
        if self.rank == len(self):
            solved = solve_triangular(self._root, centred.T, lower=True, check_finite=False)
            return np.asarray(solved).T, np.ones(len(rows), dtype=bool)
        z: Array = centred @ self._left.T
        outside = np.linalg.norm(centred - z @ self._root.T, axis=1)
        size = np.linalg.norm(centred, axis=1) + np.linalg.norm(self.mean)
        return z, outside <= 1e-7 * np.maximum(size, np.sqrt(np.abs(self.covariance).max()))

    def _log_determinant(self) -> float:
        """Return the logarithm of the product of the eigenvalues that are not 0."""
        if self.rank == len(self):
            return 2 * float(np.log(np.diagonal(self._root)).sum())
        return float(np.log((self._root**2).sum(axis=0)).sum())

    def _rows(self, X: ArrayLike) -> Array:
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim not in (1, 2) or rows.shape[-1] != len(self):
            raise InvalidInput(
                f"Gaussian: data of shape {rows.shape}; rows of {len(self)} numbers are needed."
            )
        return np.atleast_2d(rows)

    def _numbers(self, coordinates: Sequence[int]) -> Any:
        at = np.atleast_1d(np.asarray(coordinates))
        fine = at.ndim == 1 and at.size and at.dtype.kind in "iu"
        if not fine or len(np.unique(at)) < len(at) or at.min() < 0 or at.max() >= len(self):
            raise InvalidParameter(
                f"Gaussian: coordinates={coordinates!r} have to be different numbers from 0 to "
                f"{len(self) - 1}."
            )
        return at

    def _check_size(self, other: Gaussian) -> None:
        if len(self) != len(other):
            raise InvalidInput(
                f"Gaussians of {len(self)} and of {len(other)} coordinates do not go together."
            )


def _covariance(given: ArrayLike, d: int) -> Array:
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.ndim < 2:
        matrix = np.diag(np.broadcast_to(matrix, d)) if matrix.size in (1, d) else matrix
    if matrix.shape != (d, d) or not np.isfinite(matrix).all():
        raise InvalidParameter(
            f"Gaussian: the covariance of shape {matrix.shape} has to be {d} × {d} finite numbers."
        )
    if np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
        raise InvalidParameter("Gaussian: the covariance is not symmetric.")
    return np.asarray((matrix + matrix.T) / 2)


def _factor(covariance: Array) -> tuple[Array, Array]:
    """Return R with Σ = RRᵀ, and its left inverse where Σ is singular."""
    d = len(covariance)
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    scale[scale == 0] = 1.0
    # Judged on correlations, so that units do not matter.
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    least = 8 * d * _ROUNDING * max(float(values[-1]), 0.0)
    if values[0] > least:
        return np.asarray(cholesky(covariance, lower=True)), np.empty((0, d))
    if values[0] < -1e-8 * max(float(values[-1]), 1e-300):
        raise NotPositiveDefinite(
            f"Gaussian: the covariance has the negative eigenvalue {values[0]:.3g} (of the "
            "correlations). repair(...) finds the nearest matrix that is positive semi-definite."
        )
    # Columns that are orthogonal, so that lengths multiply to the determinant.
    keep = values > least
    root = scale[:, None] * vectors[:, keep] * np.sqrt(values[keep])
    left, sizes, _ = np.linalg.svd(root, full_matrices=False)
    return left * sizes, (left / np.where(sizes > 0, sizes, 1.0)).T


def _rounded(covariance: Array, before: Array) -> Array:
    """Return a difference of covariances without the negative eigenvalues of rounding."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    least = 8 * len(before) * _ROUNDING * float(np.abs(before).max(initial=0.0))
    if values[0] > least:
        return np.asarray((covariance + covariance.T) / 2)
    clipped: Array = (vectors * np.where(values > least, values, 0.0)) @ vectors.T
    return (clipped + clipped.T) / 2
