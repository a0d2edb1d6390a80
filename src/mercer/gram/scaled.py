"""A Gram matrix whose rows and columns are scaled by weights of the points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import Array, Index, Rows
from mercer.gram.base import Definite, GramMatrix, row_numbers


class ScaledGram(GramMatrix):
    """The matrix SKS with S = √W, for weights W > 0 of the points.

    (K + λW⁻¹)c = y is (SKS + λI)c̃ = Sy with c = Sc̃, which is symmetric.

    Attributes
    ----------
    scale : array of shape (n,)
        The diagonal of S.
    """

    def __init__(self, gram: GramMatrix, weights: Array) -> None:
        self.gram, self.weights = gram, weights
        self.scale: Array = np.sqrt(weights)
        self.shape, self.dtype = gram.shape, gram.dtype
        self._plain = bool((self.scale == 1).all())

    @property
    def definite(self) -> Definite:
        return self.gram.definite

    @property
    def symmetric(self) -> bool:
        return self.gram.symmetric

    def diag(self) -> Array:
        return np.asarray(self.gram.diag(), dtype=np.float64) * self.weights

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        part = self.gram.block(rows, columns, out)
        return self._scaled(part, self.scale[rows], self.scale[columns])

    def rows(self, index: Rows) -> Array:
        at = row_numbers(index, self.shape[0])
        part = np.asarray(self.gram.rows(at), dtype=np.float64)
        return part if self._plain else part * self.scale[at, None] * self.scale

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        # What was given stays as it is: solvers work in this matrix.
        whole = np.ascontiguousarray(self.gram.own_dense(dtype or np.float64))
        return self._scaled(whole, self.scale, self.scale)

    def multiply(self, V: Array) -> Array:
        product: Array = self.gram.multiply(self.scale[:, None] * V)
        product *= self.scale[:, None]
        return product

    def take(self, rows: Rows, columns: Rows | None = None) -> ScaledGram:
        if columns is not None:
            raise NotImplementedError("A scaled matrix stays square.")
        return ScaledGram(self.gram.take(rows), self.weights[row_numbers(rows, self.shape[0])])

    def in_precision(self, dtype: DTypeLike) -> ScaledGram:
        return ScaledGram(self.gram.in_precision(dtype), self.weights)

    def features(self) -> Any:
        phi = self.gram.features()
        if phi is None or self._plain:
            return phi
        scale = self.scale[:, None]
        return phi.multiply(scale).tocsr() if hasattr(phi, "tocsr") else phi * scale

    def _scaled(self, part: Array, left: Array, right: Array) -> Array:
        if not self._plain:
            part *= left.astype(part.dtype)[:, None]
            part *= right.astype(part.dtype)
        return part
