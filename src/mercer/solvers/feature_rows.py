"""The Gram matrix K = ΦΦᵀ of a finite feature map, as a decomposition solver needs it.

No row of K is ever computed: with w = Φᵀc a product with K costs one pass over Φ, however many
rows take part. Everything is float64, so that what the solver sees on its way is exact.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer import _parallel
from mercer._typing import Array, IntArray
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import products
from mercer.solvers.interior import FeatureSystem, System
from mercer.solvers.rows import small_system

WIDE = 2048
"""Numbers in a row of Φ past which the few hundred rows of K that a round wants cost less."""
FEW = 256
"""Features up to which linear systems with K = ΦΦᵀ cost less than pairwise steps do."""


class FeatureRows:
    """Rows of K = ΦΦᵀ."""

    def __init__(self, vectors: Vectors, threads: int | None) -> None:
        self._vectors = vectors
        self.threads = _parallel.thread_count(threads)
        self.shape = (len(vectors), len(vectors))
        self.evaluations = 0

    @classmethod
    def if_cheaper(
        cls, kernel: Kernel, points: Points, budget: int, threads: int | None = None
    ) -> Self | None:
        """Bind a kernel to points, where it has features that cost less than rows of K do."""
        if not kernel.has_features:
            return None
        width = kernel.feature_width(points)
        fit = width <= WIDE and 16 * width * len(points) <= budget
        if not fit and not _are_the_data(kernel, points, width):
            return None
        vectors = Vectors(kernel.feature_map(points).values)
        return cls(vectors.astype(np.dtype(np.float64)), threads)

    def take(self, rows: IntArray) -> FeatureRows:
        """Return the Gram matrix of some of the points."""
        return FeatureRows(self._vectors.take(rows), self.threads)

    def diag(self) -> Array:
        return self._vectors.squared_norms

    def square(self, index: IntArray, out: Array) -> None:
        part = self._vectors.values[index].astype(out.dtype)
        self.evaluations += out.size
        out[...] = products(part[: len(out)], part)

    def multiply(self, coefficients: Array, columns: IntArray) -> Array:
        weights = self._vectors.values[columns].T @ coefficients
        return np.asarray(self._vectors.values @ weights)

    def system(self, budget: int) -> System | None:
        variables = 2 * self.shape[0]
        few = self._vectors.dimension <= FEW and 200 * variables <= budget
        if few and not self._vectors.is_sparse:
            return FeatureSystem(self._vectors.values)
        return small_system(self.shape[0], self._dense, budget)

    def products(self, budget: int, threads: int | None) -> FeatureProducts:
        del budget, threads  # there is nothing to keep
        return FeatureProducts(self)

    def _dense(self) -> Array:
        self.evaluations += self.shape[0] ** 2
        return products(self._vectors.values, self._vectors.values)


class FeatureProducts:
    """Products with rows of K = ΦΦᵀ over the columns in play. They keep no rows."""

    width: int = 1

    def __init__(self, rows: FeatureRows) -> None:
        self._rows = rows
        self.count = rows.shape[0]
        self.hits = self.misses = 0
        self.restart(np.arange(self.count), precise=False)

    def restart(self, columns: IntArray, precise: bool) -> None:
        """Change the columns."""
        self.columns, self.precise = columns, precise
        self.store: Array = np.empty(1, np.float64 if precise else np.float32)

    def slots(self, rows: IntArray) -> IntArray:
        """Return −1 for each row: none is there."""
        return np.full(len(rows), -1, np.intp)

    def offsets(self, columns: IntArray) -> Any:
        """Return where in ``store`` columns would begin."""
        return np.zeros(len(columns), np.uint64)

    def add(self, rows: IntArray, coefficients: Array, keep: Any, f: Array) -> None:
        """Add coefficients @ K[rows, columns] to ``f``."""
        del keep
        f += self._rows.multiply(coefficients, rows)[self.columns]


def _are_the_data(kernel: Kernel, points: Points, width: float) -> bool:
    """Tell whether the features are the data themselves, which cost neither time nor memory."""
    sizes = [leaf.values.size for leaf in points.leaves.values() if hasattr(leaf, "values")]
    if 0.1 * width * len(points) > max(sizes, default=0):
        return False  # and computing even one row of them may take long
    one = points.take(slice(0, 1))
    features = kernel.feature_map(one).values
    return any(getattr(leaf, "values", None) is features for leaf in one.leaves.values())
