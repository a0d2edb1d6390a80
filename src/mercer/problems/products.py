"""Products of a matrix with the coefficients of answers, and how far rounding may have taken them.

This is all that a certificate sees of a matrix. A sum of s products in float64 is off by at most
γ_s Σⱼ ∣K_ij cⱼ∣, γ_s = su/(1 − su); for a positive semi-definite K, ∣K_ij∣ ≤ √K_ii √K_jj.

References
----------
Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer._typing import Array, IntArray
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.curvature import (
    EPSILON,
    REFUTED,
    Curvature,
    dense_curvature,
    searched_curvature,
)

DENSE = 4000
"""Rows up to which a matrix whose definiteness is not known is looked at as a whole: it has 128 MB,
and its Cholesky factor takes about a second."""
_SPARE_TERMS = 16
"""Operations that a product may take besides those of its sum, such as for sums of blocks."""
_BLOCK_VALUES = 1 << 22
"""Values of the matrix that are looked at in one go (32 MB)."""


@dataclass(frozen=True, eq=False)
class BoundedProduct:
    """f = Kc at some rows, with a bound on the error of each value.

    ``roots`` bound the matrix: ∣K_ij∣ ≤ rootsᵢ rootsⱼ. ``curvature`` is what is known of it on the
    vectors that a problem compares.
    """

    f: Array
    errors: Array
    roots: Array
    curvature: Curvature

    def scaled(self, factor: float) -> BoundedProduct:
        """Return the product of the coefficients times a factor."""
        bound = abs(factor) * (self.errors + EPSILON * np.abs(self.f))
        return replace(self, f=factor * self.f, errors=bound)


class Products:
    """K V in float64 for a matrix of coefficients, one column for each function."""

    def __init__(self, gram: GramMatrix, V: Array) -> None:
        exact = gram if gram.dtype == np.float64 else gram.in_precision(np.float64)
        self.gram, n = exact, exact.shape[0]
        features = exact.features()
        width = 0 if features is None else features.shape[1]
        terms = np.count_nonzero(V, axis=0) + width + _SPARE_TERMS
        self._matrix: Array | None = None
        if exact.definite is Definite.POSITIVE:
            self.F = exact.multiply(V)
            self.roots = np.sqrt(np.maximum(exact.diag().astype(np.float64), 0.0))
            sums = np.outer(self.roots, self.roots @ np.abs(V))
        else:
            if n <= DENSE:
                K = exact.dense(np.float64)
                # Both halves of a matrix that is not quite symmetric count alike.
                self._matrix = (K + K.T) / 2
            self.F, sums, largest = self._by_blocks(V)
            self.roots = np.full(n, np.sqrt(largest))
        self.errors = terms * EPSILON * sums

    def part(
        self,
        rows: IntArray,
        column: int | slice,
        groups: IntArray | None = None,
        needs: Definite = Definite.CONDITIONAL,
    ) -> BoundedProduct:
        """Return the product of some rows and columns.

        ``groups`` are groups of the rows in each of which the coefficients of all answers have the
        same sum; without any they are free, and ``needs`` is ``Definite.POSITIVE``.
        """
        return BoundedProduct(
            self.F[rows, column],
            self.errors[rows, column],
            self.roots[rows],
            self.curvature(rows, groups, needs),
        )

    def curvature(self, rows: IntArray, groups: IntArray | None, needs: Definite) -> Curvature:
        """Return what is known of the matrix of some rows on vectors that answers differ by."""
        if self.gram.definite >= needs:
            return Curvature()
        if self.whole.verdict != REFUTED or (len(rows) == len(self.F) and groups is None):
            return self.whole
        if self._matrix is not None:
            return dense_curvature(self._matrix[np.ix_(rows, rows)], groups)
        part = self.gram.take(rows)
        return searched_curvature(part.multiply, len(rows), float(self.roots.max()) ** 2, groups)

    @cached_property
    def whole(self) -> Curvature:
        """What is known of the whole matrix on all vectors."""
        if self._matrix is not None:
            return dense_curvature(self._matrix)
        largest = float(self.roots.max(initial=0.0)) ** 2
        return searched_curvature(self.gram.multiply, len(self.F), largest)

    def _by_blocks(self, V: Array) -> tuple[Array, Array, float]:
        """Return KV, ∣K∣∣V∣ and the largest value of K."""
        n = len(V)
        F, sums, largest, size = np.empty(V.shape), np.empty(V.shape), 0.0, np.abs(V)
        step = max(1, _BLOCK_VALUES // n)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            block = self._matrix[part] if self._matrix is not None else None
            if block is None:
                block = self.gram.block(part, slice(0, n))
            F[part], block = block @ V, np.abs(block)
            sums[part], largest = block @ size, max(largest, float(block.max(initial=0.0)))
        return F, sums, largest


def curvature_of(gram: GramMatrix) -> Curvature:
    """Return what is known of a matrix on all vectors."""
    if gram.definite is Definite.POSITIVE:
        return Curvature()
    return Products(gram, np.zeros((gram.shape[0], 1))).whole
