"""The regression with the least largest residual, its dual and its certificate."""

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
