"""The kernel of the projections on landmarks, which machines use in place of the one given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidParameter
from mercer.gram.expansion import Expansion
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.encoders import Encoder
from mercer.kernels.evaluation import Values
from mercer.kernels.features import Features
from mercer.kernels.points import Points, Vectors, is_points
from mercer.kernels.statistics import Statistic, products
from mercer.kernels.vectors.explicit import Mapped
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.choose import Nystrom, choose_landmarks


class NystromKernel(Mapped):
    """The kernel of the projections of φ(x) and φ(x′) on the span of landmarks m₁, …, m_r.

    k̃(x, x′) = k(x, M) K_MM⁻¹ k(M, x′) = z(x)·z(x′),  z(x) = L⁻¹ k(M, x),  LLᵀ = K_MM

    It has r features, on any data that k takes, and K − K̃ is positive semi-definite.

    Parameters
    ----------
    kernel : Kernel
        k, with settled parameters.
    points : Points
        The landmarks.
    factor : array of shape (r, r)
        L, lower triangular.

    References
    ----------
    Williams and Seeger, Using the Nyström method to speed up kernel machines, NIPS 2000.

    Examples
    --------
    >>> from mercer import NystromMap, Polynomial
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> k = NystromMap(Polynomial(degree=1), 2).fit(X).approximation_
    >>> k(X).round(6)  # 1 + xz lies in a plane, which two landmarks span
    array([[ 1.,  1.,  1.,  1.],
           [ 1.,  2.,  3.,  4.],
           [ 1.,  3.,  5.,  7.],
           [ 1.,  4.,  7., 10.]])
    """

    def __init__(self, kernel: Kernel, points: Points, factor: Array) -> None:
        self.kernel = kernel
        self.points = points
        self.factor = factor
        super().__init__()

    @classmethod
    def of(cls, kernel: Kernel, points: Points, spec: Nystrom) -> NystromKernel:
        """Choose landmarks among points."""
        return cls.on_landmarks(kernel, choose_landmarks(kernel, points, spec).points)

    @classmethod
    def on_landmarks(cls, kernel: Kernel, landmarks: Points) -> NystromKernel:
        """Take these landmarks, without those that the others explain."""
        basis = LandmarkBasis(kernel, landmarks)
        return cls(kernel, basis.points, basis.factor)

    def check_parameters(self) -> None:
        given: tuple[object, object] = self.kernel, self.points
        if not (is_kernel(given[0]) and is_points(given[1])):
            raise InvalidParameter("NystromKernel needs a kernel and landmarks encoded for it.")
        if set(self.points.leaves) != set(self.kernel.encoders()):
            raise InvalidParameter(
                f"NystromKernel: the landmarks were not encoded for {self.kernel}."
            )
        L, r = np.asarray(self.factor), len(self.points)
        if L.shape != (r, r) or L.dtype != np.float64 or not np.isfinite(L).all():
            raise InvalidParameter(
                f"NystromKernel: the factor has shape {L.shape} and type {L.dtype}; {r} landmarks "
                f"need {r} × {r} finite numbers."
            )
        if not (np.diagonal(L) > 0).all() or np.triu(L, 1).any():
            raise InvalidParameter(
                "NystromKernel: the factor has to be lower triangular, with a positive diagonal."
            )

    @property
    def basis(self) -> LandmarkBasis:
        """The map z."""
        return LandmarkBasis.restored(self.kernel, self.points, np.asarray(self.factor))

    def __len__(self) -> int:
        return len(self.points)

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.kernel, self.points, self.factor)

    def encoders(self) -> dict[Encoder, str]:
        return self.kernel.encoders()

    @property
    def bounded(self) -> bool:
        return self.kernel.bounded

    def feature_map(self, points: Points) -> Features:
        return Features.numbered(self.basis.features(points))

    def feature_width(self, points: Points) -> float:
        del points
        return float(len(self))

    def statistics(self) -> list[Statistic]:
        return [Projection(next(iter(self.encoders())), self)]

    def evaluate(self, values: Values) -> Array:
        return values.fresh(Projection(next(iter(self.encoders())), self))

    def condensed(
        self, points: Points, coefficients: Array, features: Array | None = None
    ) -> Expansion:
        """Return Σ aᵢ k̃(xᵢ, ·) as a sum over the landmarks: Σ cⱼ k(mⱼ, ·).

        ``features`` are those of the points, where they are known.
        """
        Z = self.basis.features(points) if features is None else features
        return Expansion(self.kernel, self.points, self.basis.coefficients(Z.T @ coefficients))

    def __repr__(self) -> str:
        return f"NystromKernel({self.kernel!r}, {len(self):,} landmarks)"


@dataclass(frozen=True)
class Projection(Statistic):
    """z(x)·z(x′), with z computed once for each side."""

    kernel: NystromKernel

    def prepare(self, A: Points, B: Points) -> tuple[Vectors, Vectors]:
        left = Vectors(self.kernel.basis.features(A))
        return left, left if B is A else Vectors(self.kernel.basis.features(B))

    def compute(self, a: Vectors, b: Vectors, out: Array | None = None) -> Array:
        return products(a.values, b.values, out)

    def diagonal(self, a: Vectors) -> Array:
        return a.squared_norms.copy()
