"""The Gram matrix of a finite feature map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import Array, Index, IntArray, Matrix, Objects, Rows
from mercer.gram.base import EvaluationCount, GramMatrix, placed, taken
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.features import Features
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import products

_FEW_ROWS = 500
"""Rows below which the matrix itself costs next to nothing."""
_WIDE = 2048
"""Numbers in a row of Φ past which the few hundred rows of K that a round of steps wants cost
less."""


class FeatureGram(GramMatrix):
    """The matrix ΦΨᵀ of a finite feature map, never formed unless asked for.

    With w = Ψᵀv a product costs one pass over the features, however many rows take part.

    Parameters
    ----------
    left : Features
        Φ, of the rows.
    right : Features, optional
        Ψ, of the columns; the same as the rows by default.
    dtype : numpy type, optional
        Type of the values; that of the features by default.
    count : EvaluationCount, optional
        Where values that were computed are counted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FeatureGram, Spectrum
    >>> gram = FeatureGram(Spectrum(k=1).features(["AAC", "CG", "GG"]))
    >>> gram.multiply(np.ones(3))  # the sums of its rows, without the matrix
    array([6., 5., 6.])
    >>> gram.dense()
    array([[5., 1., 0.],
           [1., 2., 2.],
           [0., 2., 4.]])
    """

    def __init__(
        self,
        left: Features,
        right: Features | None = None,
        *,
        dtype: DTypeLike | None = None,
        count: EvaluationCount | None = None,
    ) -> None:
        self.left = left
        self.right = left if right is None else right.aligned(left.keys)
        self.shape = (len(self.left), len(self.right))
        self.dtype = np.dtype(dtype or np.result_type(self.left.dtype, self.right.dtype))
        self._count = count or EvaluationCount()

    @classmethod
    def of(cls, kernel: Kernel, X: Objects, Y: Objects = None) -> Self:
        """Map data with the features of a kernel."""
        right = kernel.encode(X if Y is None else Y)
        settled = kernel.resolve(right)
        psi = settled.features(right)
        return cls(psi) if Y is None else cls(settled.features(X), psi)

    @classmethod
    def of_rows(cls, X: Matrix) -> Self:
        """Take the rows of a matrix, dense or sparse, as the features of a linear machine."""
        return cls(Features.numbered(X))

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    @property
    def symmetric(self) -> bool:
        return self.right is self.left

    @property
    def evaluations(self) -> int:
        return self._count.total

    def diag(self) -> Array:
        self.check_symmetric()
        return Vectors(self.left.values).squared_norms.astype(self.dtype, copy=False)

    def features(self) -> Any:
        return self.left.values.astype(self.dtype, copy=False) if self.symmetric else None

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        # Only the rows that are asked for are rounded.
        left = self.left.values[rows].astype(self.dtype, copy=False)
        right = self.right.values[columns].astype(self.dtype, copy=False)
        self._count.add(left.shape[0] * right.shape[0])
        return placed(products(left, right, out), out)

    def take(self, rows: Rows, columns: Rows | None = None) -> FeatureGram:
        left = self._rounded(self.left.take(taken(rows, self.shape[0])))
        if columns is not None and columns is not rows:
            right: Features | None = self._rounded(self.right.take(taken(columns, self.shape[1])))
        else:
            right = None if self.symmetric else self.right
        return FeatureGram(left, right, dtype=self.dtype, count=self._count)

    def _rounded(self, features: Features) -> Features:
        """Return features in the precision of the matrix: blocks of them round nothing again."""
        if features.dtype == self.dtype:
            return features
        return replace(features, values=features.values.astype(self.dtype))

    def in_precision(self, dtype: DTypeLike) -> FeatureGram:
        """Return the same matrix, of features that are rounded when they are asked for."""
        right = None if self.symmetric else self.right
        return FeatureGram(self.left, right, dtype=dtype, count=self._count)

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        wanted = np.dtype(dtype or self.dtype)
        self._check_size(wanted)
        self._count.add(self.shape[0] * self.shape[1])
        return products(self.left.values, self.right.values).astype(wanted, copy=False)

    def multiply(self, V: Array) -> Array:
        return np.asarray(self.left.values @ (self.right.values.T @ V))

    def multiply_columns(self, columns: IntArray, V: Array) -> Array:
        return np.asarray(self.left.values @ (self.right.values[columns].T @ V))


def gram_of(kernel: Kernel, points: Points) -> GramMatrix:
    """Return the Gram matrix of some points in float64, through features where they are few."""
    n = len(points)
    if n >= _FEW_ROWS and kernel.has_features and 4 * kernel.feature_width(points) <= n:
        phi = kernel.feature_map(points)
        if 4 * phi.values.shape[1] <= n:
            return FeatureGram(phi)
    return Gram(kernel, points, dtype=np.float64)


def gram_for_steps(
    kernel: Kernel,
    points: Points,
    cache_bytes: int,
    threads: int | None = None,
    whole: bool = False,
) -> GramMatrix:
    """Return the Gram matrix of some points for a solver that reads a few rows at a time.

    Of features in float64 where these cost less than rows of K do: whatever that solver sees on
    its way is exact then. ``whole`` says that all values will be asked for at once.
    """
    if kernel.has_features and not whole:
        width = kernel.feature_width(points)
        fit = width <= _WIDE and 16 * width * len(points) <= cache_bytes
        if fit or _are_the_data(kernel, points, width):
            phi = kernel.feature_map(points)
            return FeatureGram(replace(phi, values=phi.values.astype(np.float64, copy=False)))
    return Gram.by_products(kernel, points, threads)


def _are_the_data(kernel: Kernel, points: Points, width: float) -> bool:
    """Tell whether the features are the data themselves, which cost neither time nor memory."""
    sizes = [leaf.values.size for leaf in points.leaves.values() if hasattr(leaf, "values")]
    if 0.1 * width * len(points) > max(sizes, default=0):
        return False  # and computing even one row of them may take long
    one = points.take(slice(0, 1))
    features = kernel.feature_map(one).values
    return any(getattr(leaf, "values", None) is features for leaf in one.leaves.values())
