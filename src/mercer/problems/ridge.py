"""The problem of kernel ridge regression, its dual and its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.problems.certificate import Certificate


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """Kernel ridge regression of one target.

    min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖², f = Σ cᵢ k(xᵢ, ·)

    For λ > 0 every c gives a value of the dual, λ(cᵀy − ½cᵀKc − ½λ Σ cᵢ²/wᵢ), and the gap is half
    the weighted square of the residual y − Kc − λc/w. For λ = 0 the dual variables are the weighted
    errors u = w(y − Kc), which have to satisfy Ku = 0. A free constant b asks Σc = 0 of the dual;
    ``intercept`` is None where b = 0 is given.
    """

    y: Array
    alpha: float
    weights: Array
    intercept: float | None = None

    @property
    def above(self) -> Array:
        """The targets, less the constant."""
        return self.y - (self.intercept or 0.0)

    def residual(self, c: Array, f: Array) -> Array:
        """Return y − b − Kc − λc/w, given f = Kc; rows without weight have none."""
        used = self.weights > 0
        per_weight = np.divide(c, self.weights, out=np.zeros_like(c), where=used)
        return np.where(used, self.above - f - self.alpha * per_weight, 0.0)

    def certify(
        self, c: Array, f: Array, multiply: Callable[[Array], Array], **cost: Any
    ) -> Certificate:
        """Judge c, given f = Kc in float64; ``multiply`` gives products with K where λ = 0."""
        errors = self.above - f
        square = float(c @ f)
        primal = 0.5 * float(self.weights @ errors**2) + 0.5 * self.alpha * square
        broken = 0.0
        if self.alpha > 0:
            residual = self.residual(c, f)
            used = self.weights > 0
            ridge = self.alpha * float((c[used] ** 2 / self.weights[used]).sum())
            dual = self.alpha * (float(c @ self.above) - 0.5 * square - 0.5 * ridge)
            broken = float(np.abs(c[~used]).max(initial=0.0))
        else:
            u = self.weights * errors
            dual = float(u @ self.above) - 0.5 * float(u @ errors)
            residual = multiply(u)
            broken = float(np.abs(residual).max(initial=0.0))
        if self.intercept is not None:
            broken = max(broken, abs(float(c.sum())))
        return Certificate(
            problem="kernel ridge regression",
            primal=primal,
            dual=dual,
            stationarity=float(np.abs(residual).max(initial=0.0)),
            primal_feasibility=0.0,
            dual_feasibility=broken,
            complementarity=0.0,
            **cost,
        )
