"""Kernels of categories: text labels, whole numbers, booleans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import CategoryEncoder
from mercer.kernels.evaluation import Values
from mercer.kernels.features import Features, Keys, combine_codes
from mercer.kernels.points import Categories, Points
from mercer.kernels.statistics import Matches, Statistic


class _Categorical(Kernel):
    encoder = CategoryEncoder()

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    @property
    def bounded(self) -> bool:
        return True

    @property
    def has_features(self) -> bool:
        return True

    def statistics(self) -> Sequence[Statistic]:
        return [Matches(self.encoder)]

    def _codes(self, points: Points) -> Keys:
        """Return the codes, different for the same category in different columns."""
        codes = cast(Categories, points[self.encoder]).codes
        return combine_codes(codes, np.arange(codes.shape[1], dtype=np.uint64)[None, :])


class Delta(_Categorical):
    """Equality of categories; of several columns, of all of them.

    k(x, z) = 1 if x = z, else 0
    """

    @property
    def divisible(self) -> bool:
        return True

    def evaluate(self, values: Values) -> Array:
        return np.asarray(values[Matches(self.encoder)] == 1, dtype=values.dtype)

    def feature_map(self, points: Points) -> Features:
        columns = self._codes(points)
        code = columns[:, 0]
        for j in range(1, columns.shape[1]):
            code = combine_codes(code, columns[:, j])
        return Features.hashed(code[:, None], 1.0)


class Overlap(_Categorical):
    """Share of the columns in which two rows of categories agree.

    k(x, z) = (1/d) Σⱼ [xⱼ = zⱼ]
    """

    def evaluate(self, values: Values) -> Array:
        return values.fresh(Matches(self.encoder)).astype(values.dtype, copy=False)

    def feature_map(self, points: Points) -> Features:
        columns = self._codes(points)
        return Features.hashed(columns, columns.shape[1] ** -0.5)
