"""Regressions that are linear programs, with their duals and certificates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mercer._typing import Array, IntArray
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate


class VertexAnswer(NamedTuple):
    """A vertex: weights, dual point, and the rows it interpolates."""

    x: Array
    nu: Array
    rows: IntArray


@dataclass(frozen=True, eq=False)
class TiltedProblem:
    r"""Least absolute deviations, and quantile regression.

    primal: min Σᵢ max(τ rᵢ, (τ − 1) rᵢ)·2,  r = b − Ax

    dual:   max bᵀν  subject to  Aᵀν = 0,  2(τ − 1) ≤ νᵢ ≤ 2τ

    With τ = ½ the primal is ‖b − Ax‖₁ and the box is |νᵢ| ≤ 1. A is the design matrix.
    """

    b: Array
    tau: float = 0.5

    @property
    def name(self) -> str:
        """What the problem is called."""
        return "L1 regression" if self.tau == 0.5 else f"quantile regression, {self.tau:g}"

    @property
    def low(self) -> float:
        """The slope for negative residuals."""
        return 2 * (self.tau - 1)

    @property
    def high(self) -> float:
        """The slope for positive residuals."""
        return 2 * self.tau

    def slopes(self, r: Array) -> Array:
        """Return the slope of each residual that is not zero."""
        return np.where(r > 0, self.high, self.low)

    def certify(
        self, value: VertexAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge x and ν from the data alone; ``product`` is Ax."""
        A, nu = gram.features(), value.nu
        r = self.b - (A @ value.x if product is None else product)
        outside = max(float((nu - self.high).max()), float((self.low - nu).max()), 0.0)
        slack = np.where(r > 0, self.high - nu, nu - self.low) * np.abs(r)
        return Certificate(
            problem=self.name,
            primal=float((self.slopes(r) * r).sum()),
            dual=float(self.b @ nu),
            stationarity=float(np.abs(A.T @ nu).max(initial=0.0)),
            dual_feasibility=outside,
            complementarity=float(slack.max(initial=0.0)),
        )


@dataclass(frozen=True, eq=False)
class ChebyshevProblem:
    r"""Least largest deviation.

    primal: min ‖b − Ax‖∞

    dual:   max bᵀν  subject to  Aᵀν = 0,  ‖ν‖₁ ≤ 1
    """

    b: Array
    name: str = field(default="L∞ regression", init=False)

    def certify(
        self, value: VertexAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge x and ν from the data alone; ``product`` is Ax."""
        A, nu = gram.features(), value.nu
        r = self.b - (A @ value.x if product is None else product)
        most = float(np.abs(r).max(initial=0.0))
        return Certificate(
            problem=self.name,
            primal=most,
            dual=float(self.b @ nu),
            stationarity=float(np.abs(A.T @ nu).max(initial=0.0)),
            dual_feasibility=max(float(np.abs(nu).sum()) - 1, 0.0),
            complementarity=float((np.abs(nu) * (most - np.sign(nu) * r)).max(initial=0.0)),
        )
