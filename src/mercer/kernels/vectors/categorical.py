"""Kernels of categories: text labels, whole numbers, booleans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from mercer import _fast
from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import Game, Over
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import CategoryEncoder, Encoder
from mercer.kernels.features import Features, Keys, combine_codes
from mercer.kernels.pairs import Values
from mercer.kernels.points import Categories, Points
from mercer.kernels.statistics import Statistic


@dataclass(frozen=True)
class Matches(Statistic):
    """The share of columns in which two rows of categories are equal."""

    encoder: Encoder = CategoryEncoder()

    def prepare(self, A: Points, B: Points) -> tuple[Categories, Categories]:
        a, b = cast(Categories, A[self.encoder]), cast(Categories, B[self.encoder])
        if a.codes.shape[1] != b.codes.shape[1]:
            raise InvalidInput(
                f"X has {a.codes.shape[1]} columns of categories and Y has {b.codes.shape[1]}."
            )
        return a, b

    def compute(self, a: Categories, b: Categories, out: Array | None = None) -> Array:
        result = np.zeros((len(a), len(b)))
        _fast.pairwise.count_matches(a.codes, np.ascontiguousarray(b.codes.T), result)
        result /= a.codes.shape[1]
        return result

    def diagonal(self, a: Categories) -> Array:
        return np.ones(len(a))


class _Categorical(Kernel):
    definite = Definite.POSITIVE
    bounded = True
    has_features = True
    encoder = CategoryEncoder()

    def statistics(self) -> Sequence[Statistic]:
        return [Matches(self.encoder)]

    def _codes(self, points: Points) -> Keys:
        """Return the codes, different for the same category in different columns."""
        codes = cast(Categories, points[self.encoder]).codes
        return combine_codes(codes, np.arange(codes.shape[1], dtype=np.uint64)[None, :])


class Delta(_Categorical):
    """Equality of categories; of several columns, of all of them.

    k(x, z) = 1 if x = z, else 0

    Examples
    --------
    >>> from mercer import Delta
    >>> Delta()([["red"], ["blue"], ["red"]])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    divisible = True
    over_columns = Over.PRODUCT

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

    Examples
    --------
    >>> from mercer import Overlap
    >>> Overlap()([["red", "large"]], [["red", "small"], ["blue", "small"]])
    array([[0.5, 0. ]])
    """

    over_columns = Over.SUM

    def games(self, a: Points, b: Points) -> list[Game]:
        codes = cast(Categories, a[self.encoder])
        return [game.scaled(1 / codes.dimension) for game in super().games(a, b)]

    def evaluate(self, values: Values) -> Array:
        return values.fresh(Matches(self.encoder)).astype(values.dtype, copy=False)

    def feature_map(self, points: Points) -> Features:
        columns = self._codes(points)
        return Features.hashed(columns, columns.shape[1] ** -0.5)
