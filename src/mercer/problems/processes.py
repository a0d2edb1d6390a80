"""What a Gaussian process finds for given parameters of its kernel: convex problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate


@dataclass(frozen=True, eq=False)
class MeanProblem:
    """The mean of a Gaussian process, given targets with noise.

    min ½ Σ (yᵢ − f(xᵢ))²/noiseᵢ + ½‖f‖², f = Σ cᵢ k(xᵢ, ·); where there is no noise f(xᵢ) = yᵢ

    Every c gives a value of the dual, cᵀy − ½cᵀKc − ½ Σ noiseᵢcᵢ².

    Parameters
    ----------
    Y : array of shape (n, targets)
    noise : array of shape (n,)
        Variances.
    """

    Y: Array
    noise: Array

    name: ClassVar[str] = "mean of a Gaussian process"

    def certify(self, value: Array, gram: GramMatrix, product: Array | None = None) -> Certificate:
        """Judge the coefficients c, a column for each target."""
        F = gram.multiply(value) if product is None else product
        noise, noisy = self.noise, self.noise > 0
        parts = []
        for y, c, f in zip(self.Y.T, value.T, F.T, strict=True):
            residual = np.abs(y - f - noise * c)
            square = float(c @ f)
            misfit = float(((y - f)[noisy] ** 2 / noise[noisy]).sum())
            parts.append(
                Certificate(
                    problem=self.name,
                    primal=0.5 * misfit + 0.5 * square,
                    dual=float(c @ y) - 0.5 * square - 0.5 * float(noise @ c**2),
                    stationarity=float(residual[noisy].max(initial=0.0)),
                    primal_feasibility=float(residual[~noisy].max(initial=0.0)),
                )
            )
        return Certificate.total(parts)


@dataclass(frozen=True, eq=False)
class ModeProblem:
    """The mode of the posterior of a Gaussian process, given labels 0 and 1.

    min Σ log(1 + exp(−sᵢf(xᵢ))) + ½‖f‖², s = 2y − 1, f = Σ cᵢ k(xᵢ, ·)

    The dual is max Σ H(sᵢβᵢ) − ½βᵀKβ over 0 ≤ sᵢβᵢ ≤ 1, H(p) = −p log p − (1 − p) log(1 − p). At
    the mode β = c = y − σ(f).

    Parameters
    ----------
    y : array of shape (n,)
    """

    y: Array

    name: ClassVar[str] = "mode of a Gaussian process"

    def certify(self, value: Array, gram: GramMatrix, product: Array | None = None) -> Certificate:
        """Judge the coefficients c; where they are no point of the dual, the nearest one is."""
        f = gram.multiply(value[:, None])[:, 0] if product is None else product
        s = 2 * self.y - 1
        share = np.clip(s * value, 0.0, 1.0)
        beta = s * share
        image = f if np.array_equal(beta, value) else gram.multiply(beta[:, None])[:, 0]
        return Certificate(
            problem=self.name,
            primal=float(np.logaddexp(0, -s * f).sum()) + 0.5 * float(value @ f),
            dual=float((entr(share) + entr(1 - share)).sum()) - 0.5 * float(beta @ image),
            stationarity=float(np.abs(value - (self.y - expit(f))).max(initial=0.0)),
        )
