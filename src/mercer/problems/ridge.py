"""The problem of kernel ridge regression, its dual and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate


@dataclass(frozen=True, eq=False)
class RidgeFunctions:
    """The coefficients c of f = Σ cᵢ k(xᵢ, ·), a column for each target, and the constants b."""

    coef: Array
    intercepts: Array


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """Kernel ridge regression of one or several targets, each with a λ of its own.

    min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖², f = Σ cᵢ k(xᵢ, ·)

    For λ > 0 every c gives a value of the dual, λ(cᵀy − ½cᵀKc − ½λ Σ cᵢ²/wᵢ), and the gap is half
    the weighted square of the residual y − Kc − λc/w. For λ = 0 the dual variables are the weighted
    errors u = w(y − Kc), which have to satisfy Ku = 0. A free constant b asks Σc = 0 of the dual.

    Parameters
    ----------
    Y : array of shape (n, targets)
    alphas : array of shape (targets,)
        λ of each target.
    weights : array of shape (n,)
    intercept : bool
        Whether the constants b are free; else they are 0.
    """

    Y: Array
    alphas: Array
    weights: Array
    intercept: bool = False

    name: ClassVar[str] = "kernel ridge regression"

    def certify(
        self, value: RidgeFunctions, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge coefficients and constants; ``product`` is Kc."""
        F = gram.multiply(value.coef) if product is None else product
        errors = self.Y - value.intercepts - F
        images = np.zeros_like(errors)
        unpenalised = self.alphas == 0
        if unpenalised.any():
            images[:, unpenalised] = gram.multiply(self.weights[:, None] * errors[:, unpenalised])
        judged = [
            self._judge(j, value, F[:, j], errors[:, j], images[:, j])
            for j in range(self.Y.shape[1])
        ]
        return judged[0] if len(judged) == 1 else Certificate.total(judged)

    def _judge(
        self, j: int, value: RidgeFunctions, f: Array, errors: Array, image: Array
    ) -> Certificate:
        """Judge one target, given f = Kc, y − b − f and, for λ = 0, Ku."""
        c, alpha, w = value.coef[:, j], float(self.alphas[j]), self.weights
        above = self.Y[:, j] - value.intercepts[j]
        square = float(c @ f)
        if alpha > 0:
            used = w > 0
            per_weight = np.divide(c, w, out=np.zeros_like(c), where=used)
            residual = np.where(used, errors - alpha * per_weight, 0.0)
            penalty = alpha * float(c @ per_weight)
            dual = alpha * (float(c @ above) - 0.5 * square - 0.5 * penalty)
            broken = float(np.abs(c[~used]).max(initial=0.0))
        else:
            u = w * errors
            residual, dual = image, float(u @ above) - 0.5 * float(u @ errors)
            broken = float(np.abs(image).max(initial=0.0))
        if self.intercept:
            broken = max(broken, abs(float(c.sum())))
        return Certificate(
            problem=self.name,
            primal=0.5 * float(w @ errors**2) + 0.5 * alpha * square,
            dual=dual,
            stationarity=float(np.abs(residual).max(initial=0.0)),
            dual_feasibility=broken,
        )
