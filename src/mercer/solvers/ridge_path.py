"""All λ of a ridge regression from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from mercer._files.fields import Numbers, State
from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidParameter


class MatrixSpectrum:
    """K = QΣQᵀ, from which every λ costs a few products.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric matrix; overwritten.
    """

    def __init__(self, K: Array) -> None:
        self.values, self.vectors = eigh(K, overwrite_a=True, check_finite=False)
        largest = float(np.abs(self.values[[0, -1]]).max())
        self.rounding = len(self.values) * float(np.finfo(np.float64).eps) * largest
        """What an eigenvalue may be off by; K + λI counts as singular below."""

    def solve(self, B: Array, alpha: float) -> Array:
        """Return (K + λI)⁺B, of least norm where the matrix is singular."""
        return np.asarray(self.path(B, np.array([alpha]))[0])

    def multiply(self, V: Array) -> Array:
        """Return KV."""
        return np.asarray(self.vectors @ (self.values[:, None] * (self.vectors.T @ V)))

    def path(self, B: Array, alphas: Array) -> Array:
        """Return (K + λI)⁺B for every λ: an array of shape (alphas, n, columns)."""
        turned = self.vectors.T @ B
        weights = self._inverse(alphas)
        scaled = weights[:, :, None] * turned[:, None, :]
        flat = self.vectors @ scaled.reshape(len(turned), -1)
        return np.asarray(flat.reshape(scaled.shape).transpose(1, 0, 2))

    def inverse_diagonals(self, alphas: Array) -> Array:
        """Return the diagonal of (K + λI)⁻¹ for every λ: an array of shape (alphas, n)."""
        if (np.abs(self.values[:, None] + alphas) <= self.rounding).any():
            raise InvalidParameter(
                "Leave-one-out needs K + alpha·I to be regular, and it is singular for "
                f"alpha={float(np.min(alphas)):g}. Give larger values of alpha."
            )
        squares = self.vectors**2
        return np.asarray((squares @ self._inverse(alphas)).T)

    def inverse_blocks(self, alphas: Array, rows: IntArray) -> Array:
        """Return (K + λI)⁻¹ between some rows for every λ: of shape (alphas, rows, rows)."""
        part = self.vectors[rows]
        return np.asarray((part * self._inverse(alphas).T[:, None, :]) @ part.T)

    def freedoms(self, alphas: Array) -> Array:
        """Return the effective degrees of freedom tr K(K + λI)⁻¹ for every λ."""
        return np.asarray((self.values[:, None] * self._inverse(alphas)).sum(axis=0))

    def _inverse(self, alphas: Array) -> Array:
        shifted = self.values[:, None] + alphas
        regular = np.abs(shifted) > self.rounding
        return np.asarray(np.divide(1.0, shifted, out=np.zeros_like(shifted), where=regular))


class FeatureSpectrum:
    """ZZᵀ for Z with few columns, in the place of :class:`MatrixSpectrum`.

    ZᵀZ = QΣQᵀ and T = ZQ give (ZZᵀ + λI)⁻¹ = (I − T(Σ + λI)⁻¹Tᵀ)/λ: time like n·r² once, and like
    n·r for every λ > 0.

    Parameters
    ----------
    Z : array of shape (n, r)
    """

    def __init__(self, Z: Array) -> None:
        values, Q = eigh(Z.T @ Z, overwrite_a=True, check_finite=False)
        self.values = np.maximum(values, 0.0)
        self.turned: Array = Z @ Q
        self.rounding = len(Z) * float(np.finfo(np.float64).eps) * float(self.values[-1])

    def path(self, B: Array, alphas: Array) -> Array:
        """Return (ZZᵀ + λI)⁻¹B for every λ: an array of shape (alphas, n, columns)."""
        self._require(alphas)
        onto = self.turned.T @ B
        answer = np.empty((len(alphas), *B.shape))
        for part, alpha in zip(answer, alphas, strict=True):
            part[:] = (B - self.turned @ (onto / (self.values + alpha)[:, None])) / alpha
        return answer

    def inverse_diagonals(self, alphas: Array) -> Array:
        """Return the diagonal of (ZZᵀ + λI)⁻¹ for every λ: an array of shape (alphas, n)."""
        self._require(alphas)
        explained = self.turned**2 @ (1 / (self.values[:, None] + alphas))
        return np.asarray(((1 - explained) / alphas).T)

    def inverse_blocks(self, alphas: Array, rows: IntArray) -> Array:
        """Return (ZZᵀ + λI)⁻¹ between some rows for every λ: of shape (alphas, rows, rows)."""
        self._require(alphas)
        part, shrunk = self.turned[rows], 1 / (self.values + alphas[:, None])
        explained = (part * shrunk[:, None, :]) @ part.T
        return np.asarray((np.eye(len(rows)) - explained) / alphas[:, None, None])

    def freedoms(self, alphas: Array) -> Array:
        """Return the effective degrees of freedom tr ZZᵀ(ZZᵀ + λI)⁻¹ for every λ."""
        return np.asarray((self.values[:, None] / (self.values[:, None] + alphas)).sum(axis=0))

    def _require(self, alphas: Array) -> None:
        if (alphas <= self.rounding).any():
            raise InvalidParameter(
                f"alpha={float(np.min(alphas)):g} is next to nothing beside the largest eigenvalue "
                f"{float(self.values[-1]):.3g} of a matrix of low rank. Give larger values of "
                "alpha."
            )


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Ridge regressions for a whole grid of λ.

    Attributes
    ----------
    alphas : array of shape (grid,)
    coefficients : array of shape (grid, n) or (grid, n, targets)
    residuals : array of the same shape
        y minus the prediction of the machine that was fitted without that row, or without all
        rows of its group.
    errors : array of shape (grid,) or (grid, targets)
        The (weighted) mean squares of the residuals.
    freedoms : array of shape (grid,)
        The effective degrees of freedom.
    intercepts : array of shape (grid,) or (grid, targets)
        The constants b.
    """

    alphas: Array
    coefficients: Array
    residuals: Array
    errors: Array
    freedoms: Array
    intercepts: Array

    STATE: ClassVar[State] = {
        "alphas": Numbers("grid"),
        **dict.fromkeys(
            ("coefficients", "residuals"), Numbers("grid", "n", "targets", any_order=True)
        ),
        **dict.fromkeys(("errors", "intercepts"), Numbers("grid", "targets", any_order=True)),
        "freedoms": Numbers("grid"),
    }

    def of_one(self) -> RidgePath:
        """Return the path without the axis of targets, of which there is one."""
        drop = {name: getattr(self, name)[..., 0] for name in ("coefficients", "residuals")}
        flat = {name: getattr(self, name)[:, 0] for name in ("errors", "intercepts")}
        return replace(self, **drop, **flat)


def ridge_path(
    spectrum: MatrixSpectrum | FeatureSpectrum,
    Y: Array,
    alphas: Array,
    weights: Array,
    intercept: bool = False,
    groups: IntArray | None = None,
) -> RidgePath:
    """Return coefficients and leave-one-out residuals for every λ.

    ``spectrum`` is that of √W K √W. A row left out has the residual cᵢ/Hᵢᵢ with
    H = (K + λW⁻¹)⁻¹, from which a constant takes H11ᵀH/1ᵀH1; rows G that are left out together,
    those with one number in ``groups``, have H_GG⁻¹ c_G.
    """
    scale = np.sqrt(weights)[:, None]
    inner = spectrum.path(scale * Y, alphas)
    diagonals, freedoms = spectrum.inverse_diagonals(alphas), spectrum.freedoms(alphas)
    intercepts = np.zeros((len(alphas), Y.shape[1]))
    constants = np.zeros((len(alphas), len(Y)))
    if intercept:
        ones = spectrum.path(scale, alphas)
        totals = np.einsum("aik,ik->a", ones, scale)
        constants = ones[:, :, 0] / np.sqrt(totals)[:, None]
        intercepts = np.einsum("aij,ik->aj", inner, scale) / totals[:, None]
        inner = inner - ones * intercepts[:, None, :]
        freedoms = freedoms + alphas * (constants**2).sum(axis=1)
    if groups is None:
        residuals = inner / (diagonals - constants**2)[:, :, None] / scale
    else:
        residuals = np.empty_like(inner)
        for rows in rows_of_groups(groups):
            blocks = spectrum.inverse_blocks(alphas, rows)
            blocks -= constants[:, rows, None] * constants[:, None, rows]
            residuals[:, rows] = np.linalg.solve(blocks, inner[:, rows]) / scale[rows]
    errors = np.einsum("i,aij->aj", weights / weights.sum(), residuals**2)
    return RidgePath(alphas, scale * inner, residuals, errors, freedoms, intercepts)


def rows_of_groups(groups: IntArray) -> list[IntArray]:
    """Return the rows of each group, in order."""
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    return np.split(order, ends)


def usual_alphas(spectrum: MatrixSpectrum | FeatureSpectrum, count: int = 57) -> Array:
    """Return a logarithmic grid of λ, from where rounding ends to where nothing is learnt."""
    top = max(float(spectrum.values[-1]), 1e-300)
    return np.geomspace(max(top * 1e-12, 10 * spectrum.rounding), top * 1e2, count)
