"""What rounding may do to the values of machines on landmarks.

A row enters by kernel values with landmarks, ∣k(x, m)∣ ≤ √k(x, x) √k(m, m); sums over landmarks and
over rows are off by at most γ_s of the sizes of their terms. What is seen through L⁻¹, LLᵀ = K_MM,
grows by its entries, and L itself is the factor of K_MM + E, ∣E_jl∣ ≤ γ_{M+1} √K_jj √K_ll.

References
----------
Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapters 3, 8 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from mercer._typing import Array
from mercer.landmarks.basis import LandmarkBasis
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import SPARE_TERMS


@dataclass(frozen=True, eq=False)
class LandmarkRounding:
    """Bounds of what rounding does to functions of landmarks at many rows, and to their duals.

    Parameters
    ----------
    basis : LandmarkBasis
        The span of the landmarks.
    rows : int
        How many rows there are.
    root : float
        The largest √k(x, x) of a row.
    mass : float
        The sum of the weights of the rows.
    """

    basis: LandmarkBasis
    rows: int
    root: float
    mass: float

    @cached_property
    def of_sum(self) -> float:
        """What rounding does to a sum over the rows, as a share of the sizes of its terms.

        Four times, since terms that have to add up to 0 are moved in proportion until they do.
        """
        return 4 * (self.rows + SPARE_TERMS) * EPSILON

    @cached_property
    def _of_landmarks(self) -> float:
        return 4 * (len(self.basis) + SPARE_TERMS) * EPSILON

    @cached_property
    def _lengths(self) -> Array:
        """√k(m, m) of the landmarks: the lengths of the rows of L."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.basis.factor, self.basis.factor)))

    @cached_property
    def _inverse(self) -> Array:
        """∣L⁻¹∣."""
        inverse = solve_triangular(self.basis.factor, np.eye(len(self.basis)), lower=True)
        return np.asarray(np.abs(inverse))

    def sizes(self, W: Array) -> Array:
        """Return Σ √K_jj ∣aⱼ∣ of the coefficients a that weights W of the features stand for."""
        return np.asarray(self._lengths @ np.abs(self.basis.coefficients(W)))

    def of_values(self, W: Array, constants: Array) -> Array:
        """Return by how much the values of each function at any row may be off."""
        return self._of_landmarks * (self.root * self.sizes(W) + np.abs(constants))

    def of_norms(self, W: Array) -> Array:
        """Return by how much ‖f‖² of each function may be off."""
        return np.asarray(self._of_landmarks * self.sizes(W) ** 2)

    def of_combined(self, G: Array, multipliers: Array) -> Array:
        """Return by how much ‖Σ qᵢ φ(xᵢ)‖² may be off, seen through G = L⁻¹K_Mn q.

        ``multipliers`` bound Σ ∣qᵢ∣ of each function.
        """
        sums = self.of_sum * self.root * np.outer(self._lengths, multipliers)
        solved = self._of_landmarks * (np.abs(self.basis.factor) @ np.abs(G))
        off = self._inverse @ (sums + solved)
        factored = 2 * self._of_landmarks * self.sizes(G) ** 2
        return np.asarray((off * (2 * np.abs(G) + off)).sum(axis=0) + factored)
