"""Products of a design matrix with weights and with multipliers, and bounds of their rounding.

This is all that the certificate of a linear machine sees of its data. A sum of s products in
float64 is off by at most γ_s Σⱼ ∣xⱼwⱼ∣, γ_s = su/(1 − su).

References
----------
Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mercer._typing import Array, Matrix
from mercer.problems.certificate import ROUNDING
from mercer.problems.curvature import EPSILON

SPARE_TERMS = 16
"""Operations that a value may take besides those of its longest sum: differences, sums of blocks,
the few steps from a product to the price of a row."""
_BLOCK_VALUES = 1 << 20
"""Values of a dense matrix that are looked at in one go (8 MB)."""


class Bounded(NamedTuple):
    """Values, a bound on the error of each, and the sums of the sizes of their terms."""

    values: Array
    errors: Array
    sizes: Array

    def vanishes(self, share: float = ROUNDING) -> bool:
        """Whether all values are 0 up to a share of their terms: else no price makes up for them.

        The price of a dual point that breaks a constraint is that of weights as large as those
        found, which says nothing where these are far from the best ones.
        """
        return bool((np.abs(self.values) <= share * self.sizes + self.errors).all())


@dataclass(frozen=True, eq=False)
class DesignProducts:
    """The rows x̃ᵢ = (xᵢ − m, s) of a dense or sparse matrix X in float64.

    Parameters
    ----------
    X : array or sparse matrix
        One row for each sample.
    means : array, optional
        What dense columns count from; any numbers, so that their own rounding is none of ours.
    constant : float
        One more column of this value, 0 for none.
    """

    X: Matrix
    means: Array | None = None
    constant: float = 0.0

    def dot(self, W: Array) -> Bounded:
        """Return w·x̃ᵢ for every row; ``W`` may have several columns, one for each function."""
        n, p = self.X.shape
        V = W[:p]
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(self.X):
                F, sizes = self.X @ V, abs(self.X) @ np.abs(V)
                terms = _longest(self.X.tocsr())
            else:
                F, sizes, terms = np.empty((n, *V.shape[1:])), np.empty((n, *V.shape[1:])), p
                for part, Z in self._blocks():
                    F[part], sizes[part] = Z @ V, np.abs(Z) @ np.abs(V)
            if self.constant:
                F, sizes = F + self.constant * W[-1], sizes + np.abs(self.constant * W[-1])
            return _bounded(F, sizes, terms)

    def combine(self, B: Array) -> Bounded:
        """Return Σ βᵢx̃ᵢ; ``B`` may have several columns, one for each function."""
        n, p = self.X.shape
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(self.X):
                V, sizes = self.X.T @ B, abs(self.X).T @ np.abs(B)
                terms = n if self.constant else _longest(self.X.tocsc())
            else:
                V, sizes, terms = np.zeros((p, *B.shape[1:])), np.zeros((p, *B.shape[1:])), n
                for part, Z in self._blocks():
                    V += Z.T @ B[part]
                    sizes += np.abs(Z).T @ np.abs(B[part])
            if self.constant:
                last = self.constant * B.sum(axis=0, keepdims=True)
                most = abs(self.constant) * np.abs(B).sum(axis=0, keepdims=True)
                V, sizes = np.concatenate([V, last]), np.concatenate([sizes, most])
            return _bounded(V, sizes, terms)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        n, p = self.X.shape
        step = max(1, _BLOCK_VALUES // max(p, 1))
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            block = self.X[part]
            yield part, block if self.means is None else block - self.means


def _bounded(values: Array, sizes: Array, terms: int) -> Bounded:
    return Bounded(np.asarray(values), (terms + SPARE_TERMS) * EPSILON * sizes, np.asarray(sizes))


def _longest(X: Matrix) -> int:
    """Return the most stored numbers of a row of CSR data, or of a column of CSC data."""
    return int(np.diff(X.indptr).max(initial=0))


def sum_bound(sizes: Array) -> float:
    """Return what rounding may do to a sum of terms of these sizes, each of a few operations."""
    return (sizes.size + SPARE_TERMS) * EPSILON * float(sizes.sum())


def square_bound(found: Bounded) -> float:
    """Return what rounding may have done to the sum of the squares of products."""
    size = np.abs(found.values)
    moved = float(np.vdot(found.errors, 2 * size + found.errors))
    return moved + sum_bound(size * size)
