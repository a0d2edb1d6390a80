"""Kernels with a decay λ, and how their values change with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import Values
from mercer.kernels.points import Points
from mercer.kernels.statistics import Side, Statistic


class Decaying(Kernel):
    """A kernel that counts what two objects share, larger things less: each step costs λ.

    A subclass gives λ ∂k/∂λ of all pairs by the recursion that gives k.
    """

    decay: float

    def free_parameters(self) -> dict[str, float]:
        return {"decay": float(self.decay)} if self.decay > 0 else {}

    def parameter_limits(self, points: Points) -> dict[str, float]:
        return {"decay": 1.0}

    def gradient(self, values: Values, name: str) -> Array:
        if name not in self.free_parameters():
            return super().gradient(values, name)
        return values.fresh(DecaySlope(self.encoder, self))

    def prepare_slopes(self, a: Any, b: Any) -> tuple[Side, Side]:
        """Return both leaves in the form that ``compare_slopes`` wants."""
        return self.prepare(a, b)

    def compare_slopes(self, a: Any, b: Any) -> Array:
        """Return λ ∂k/∂λ of all pairs of two leaves."""
        raise NotImplementedError

    def own_slopes(self, a: Any) -> Array:
        """Return λ ∂k(x, x)/∂λ for every x of a leaf."""
        raise NotImplementedError


@dataclass(frozen=True)
class DecaySlope(Statistic):
    """λ ∂k/∂λ."""

    kernel: Decaying

    def prepare(self, A: Points, B: Points) -> tuple[Side, Side]:
        return self.kernel.prepare_slopes(A[self.encoder], B[self.encoder])

    def compute(self, a: Any, b: Any, out: Array | None = None) -> Array:
        return self.kernel.compare_slopes(a, b)

    def diagonal(self, a: Any) -> Array:
        return self.kernel.own_slopes(a)
