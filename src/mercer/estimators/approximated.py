"""Machines on landmarks: the features that they are solved on, and what that may cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _memory
from mercer._typing import Array
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.gram.operator import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate, landmark_cost

_AFFORDABLE = 8
"""As many times the kernel values of the landmarks may be computed once more to know a cost."""


@dataclass(frozen=True, eq=False)
class LandmarkView:
    """Points as a kernel on landmarks sees them.

    Attributes
    ----------
    features : array of shape (n, r)
        Z with ZZᵀ = K̃.
    unseen : array of shape (n,)
        k(xᵢ, xᵢ) − ‖zᵢ‖², the diagonal of K − K̃.
    """

    kernel: NystromKernel
    points: Points
    features: Array
    unseen: Array

    @classmethod
    def of(cls, kernel: NystromKernel, points: Points) -> LandmarkView:
        """Map points."""
        n, r = len(points), len(kernel)
        _memory.require(
            2 * n * r * points.dtype.itemsize,
            f"The features of {n:,} rows through {r:,} landmarks",
            "Use fewer landmarks, or float32 data.",
        )
        Z = kernel.basis.features(points)
        return cls(kernel, points, Z, kernel.basis.residual(points, Z))

    @property
    def residual_trace(self) -> float:
        """tr(K − K̃)."""
        return float(self.unseen.sum())

    def linear(self) -> tuple[Kernel, Points]:
        """Return the linear kernel and the features as points: the same matrix K̃."""
        kernel = Linear()
        return kernel, kernel.encode(self.features)

    def declare(
        self, certificate: Certificate, coefficients: Array, other: float = 0.0
    ) -> Certificate:
        """Say in a certificate which problem was solved, and what that may cost.

        ``coefficients`` are the signed multipliers β of all rows, one column for each function, of
        a dual problem as :func:`landmark_cost` has it; ``other`` is a further square in it, as βᵀΛβ
        for the noise Λ of a regression.
        """
        B = coefficients.reshape(len(self.features), -1)
        projected = self.features.T @ B
        seen = float(np.vdot(projected, projected))
        cost = landmark_cost(certificate.dual, seen + other, self._unseen_square(B, seen))
        return certificate.on_landmarks(len(self.kernel), cost)

    def _unseen_square(self, B: Array, seen: float) -> float:
        """Bound Σ βᵀ(K − K̃)β over the columns β of B.

        Where βᵀKβ takes about as many values of k as the landmarks took it is computed. Else the
        diagonal of K − K̃ gives the bound.
        """
        bound = float(np.sum((np.sqrt(self.unseen) @ np.abs(B)) ** 2))
        used = np.flatnonzero(B.any(axis=1))
        if not 0 < len(used) ** 2 <= _AFFORDABLE * self.features.size:
            return bound
        K = Gram(self.kernel.kernel, self.points.take(used), dtype=np.float64)
        return min(bound, max(float(np.vdot(B[used], K @ B[used])) - seen, 0.0))
