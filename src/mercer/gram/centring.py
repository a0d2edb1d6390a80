"""Centring in feature space, fitted on training rows and applied to new ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import Array, Index, Rows
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix, row_numbers
from mercer.kernels import definite
from mercer.kernels.definite import Definite


@dataclass(frozen=True, eq=False)
class Centring:
    """The mean φ̄ of the training points in feature space, known by its inner products.

    k̃(x, z) = ⟨φ(x) − φ̄, φ(z) − φ̄⟩ = k(x, z) − k̄(x) − k̄(z) + k̄

    Attributes
    ----------
    column_means : array of shape (n,)
        ⟨φ(xᵢ), φ̄⟩ for each training point.
    total_mean : float
        ‖φ̄‖².

    Examples
    --------
    >>> from mercer import Centring, Gram, Linear
    >>> centring = Centring.fit(Gram(Linear(), [[1.0], [2.0], [6.0]]))
    >>> centring.column_means, centring.total_mean  # the mean is 3
    (array([ 3.,  6., 18.]), 9.0)
    """

    column_means: Array
    total_mean: float

    @classmethod
    def fit(cls, gram: GramMatrix) -> Centring:
        """Fit on the Gram matrix of the training points with themselves."""
        if not gram.symmetric:
            raise InvalidInput(
                "Centring is fitted on the Gram matrix of training points with themselves; this "
                f"one has {gram.shape[0]:,} rows and other columns."
            )
        n = gram.shape[0]
        means = gram @ np.full(n, 1 / n)
        return cls(means, float(means.mean()))

    def apply(self, gram: GramMatrix) -> CentredGram:
        """Centre the Gram matrix of any rows with the training points as columns."""
        if gram.shape[1] != len(self.column_means):
            raise InvalidInput(
                f"Centring was fitted on {len(self.column_means):,} points, and this Gram matrix "
                f"has {gram.shape[1]:,} columns. Its columns have to be the training points."
            )
        row_means = gram @ np.full(gram.shape[1], 1 / gram.shape[1])
        return CentredGram(gram, self.total_mean, row_means, self.column_means)


class CentredGram(GramMatrix):
    """A Gram matrix around the mean of the training points.

    Parameters
    ----------
    gram : GramMatrix
        K.
    total_mean : float
        The mean of all values of K on the training points.
    row_means, column_means : array
        The means k̄ of the rows and of the columns over the training points.

    Examples
    --------
    >>> from mercer import Centring, Gram, Linear
    >>> gram = Gram(Linear(), [[1.0], [2.0], [6.0]])
    >>> Centring.fit(gram).apply(gram).dense()  # products of −2, −1 and 3
    array([[ 4.,  2., -6.],
           [ 2.,  1., -3.],
           [-6., -3.,  9.]])
    """

    def __init__(
        self, gram: GramMatrix, total_mean: float, row_means: Array, column_means: Array
    ) -> None:
        self._gram, self._total_mean = gram, total_mean
        self._row_means, self._column_means = row_means, column_means
        self.shape, self.dtype = gram.shape, gram.dtype

    @property
    def definite(self) -> Definite:
        return definite.of_centring(self._gram.definite)

    @property
    def symmetric(self) -> bool:
        return self._gram.symmetric

    def diag(self) -> Array:
        shifted = self._gram.diag() - 2 * self._row_means + self._total_mean
        return shifted.astype(self.dtype, copy=False)

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        shift = self._row_means[rows, None] + (self._column_means[columns] - self._total_mean)
        block = self._gram.block(rows, columns)
        return np.subtract(block, shift.astype(block.dtype, copy=False), out=out)

    def rows(self, index: Rows) -> Array:
        return self._centred(
            self._gram.rows(index), self._row_means[row_numbers(index, self.shape[0])]
        )

    @property
    def evaluations(self) -> int:
        return self._gram.evaluations

    def in_precision(self, dtype: DTypeLike) -> CentredGram:
        gram = self._gram.in_precision(dtype)
        return CentredGram(gram, self._total_mean, self._row_means, self._column_means)

    def take(self, rows: Rows, columns: Rows | None = None) -> CentredGram:
        part = self._gram.take(rows, columns)
        at = row_numbers(rows, self.shape[0])
        if columns is not None:
            other: Index = row_numbers(columns, self.shape[1])
        else:
            other = at if self.symmetric else slice(0, self.shape[1])
        return CentredGram(part, self._total_mean, self._row_means[at], self._column_means[other])

    def dense(self, dtype: DTypeLike | None = None) -> Array:
        return self._centred(self._gram.own_dense(dtype), self._row_means)

    def _centred(self, block: Array, row_means: Array) -> Array:
        block -= row_means[:, None].astype(block.dtype)
        block -= (self._column_means - self._total_mean).astype(block.dtype)
        return block

    def multiply(self, V: Array) -> Array:
        sums = V.sum(axis=0)
        result = self._gram @ V
        result -= self._row_means[:, None] * sums
        result -= self._column_means @ V - self._total_mean * sums
        return result
