"""Kernels of histograms and other vectors with entries ≥ 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import Over
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import VectorEncoder
from mercer.kernels.pairs import Values
from mercer.kernels.parameters import check_number
from mercer.kernels.statistics import CoordinateSum, Statistic


class _Histogram(Kernel):
    definite = Definite.POSITIVE
    encoder = VectorEncoder(nonnegative=True)
    variant: int

    @property
    def statistic(self) -> CoordinateSum:
        """The sum over coordinates that this is a kernel of."""
        return CoordinateSum(self.encoder, self.variant)

    def statistics(self) -> Sequence[Statistic]:
        return [self.statistic]


class Intersection(_Histogram):
    """Histogram intersection.

    k(x, z) = Σⱼ min(xⱼ, zⱼ), x, z ≥ 0

    Examples
    --------
    >>> from mercer import Intersection
    >>> Intersection()([[3.0, 1.0, 0.0]], [[1.0, 1.0, 5.0], [3.0, 1.0, 0.0]])
    array([[2., 4.]])
    """

    variant = 1
    over_columns = Over.SUM

    def evaluate(self, values: Values) -> Array:
        return values.fresh(self.statistic)


class AdditiveChi2(_Histogram):
    """Additive χ² kernel, conditionally positive definite.

    k(x, z) = −Σⱼ (xⱼ − zⱼ)²/(xⱼ + zⱼ), x, z ≥ 0, with 0/0 = 0

    Examples
    --------
    >>> from mercer import AdditiveChi2
    >>> AdditiveChi2()([[3.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])  # −2²/4 and −(3 + 1)
    array([[-1., -4.]])
    """

    definite = Definite.CONDITIONAL
    variant = 2
    over_columns = Over.SUM

    def evaluate(self, values: Values) -> Array:
        s = values.fresh(self.statistic)
        return np.negative(s, out=s)


class Chi2(_Histogram):
    """Exponential χ² kernel.

    k(x, z) = exp(−γ Σⱼ (xⱼ − zⱼ)²/(xⱼ + zⱼ)), x, z ≥ 0, with 0/0 = 0

    Parameters
    ----------
    gamma : float
        γ > 0.

    Examples
    --------
    >>> from mercer import Chi2
    >>> Chi2(gamma=0.5)([[2.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]]).round(4)  # exp(0), exp(−½(2 + 2))
    array([[1.    , 0.1353]])
    """

    divisible = True
    variant = 2
    over_columns = Over.PRODUCT

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "gamma", low=0, open_low=True)

    def evaluate(self, values: Values) -> Array:
        s = values.fresh(self.statistic)
        s *= s.dtype.type(-self.gamma)
        return np.exp(s, out=s)

    def free_parameters(self) -> dict[str, float]:
        return {"gamma": float(self.gamma)}

    def gradient(self, values: Values, name: str) -> Array:
        s = values[self.statistic]
        return self.evaluate(values) * s * s.dtype.type(-self.gamma)
