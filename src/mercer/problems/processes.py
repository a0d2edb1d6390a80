"""What a Gaussian process finds for given parameters of its kernel: convex problems."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit

from mercer._typing import Array
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.products import BoundedProduct, Products


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
        """Judge the coefficients c, a column for each target.

        ``product`` is Kc where it is known: then its rounding and the curvature of the matrix are
        not looked at.
        """
        found = Products(gram, value) if product is None else None
        F: Array = found.F if found is not None else np.asarray(product)
        rows, parts = np.arange(len(value)), []
        for j, (y, c) in enumerate(zip(self.Y.T, value.T, strict=True)):
            part = self._judge(y, c, F[:, j])
            if found is not None:
                part = self._proven(part, y, c, found.part(rows, j, None, Definite.POSITIVE))
            parts.append(part)
        return Certificate.total(parts)

    def _judge(self, y: Array, c: Array, f: Array) -> Certificate:
        noise, noisy = self.noise, self.noise > 0
        residual = np.abs(y - f - noise * c)
        square = float(c @ f)
        misfit = float(((y - f)[noisy] ** 2 / noise[noisy]).sum())
        return Certificate(
            problem=self.name,
            primal=0.5 * misfit + 0.5 * square,
            dual=float(c @ y) - 0.5 * square - 0.5 * float(noise @ c**2),
            stationarity=float(residual[noisy].max(initial=0.0)),
            primal_feasibility=float(residual[~noisy].max(initial=0.0)),
        )

    def _proven(self, judged: Certificate, y: Array, c: Array, seen: BoundedProduct) -> Certificate:
        """Bound what rounding does to the values."""
        f, noise, noisy = seen.f, self.noise, self.noise > 0
        few = (len(c) + 8) * EPSILON
        off = seen.errors + 4 * EPSILON * (np.abs(y) + np.abs(f))
        squares = float(np.abs(c) @ seen.errors) + few * float(np.abs(c * f).sum())
        gaps = np.abs(y - f)
        misfit = (gaps * off + off**2 / 2 + few * gaps**2)[noisy] / noise[noisy]
        above = squares / 2 + float(misfit.sum())
        below = squares / 2 + few * float(np.abs(c * y).sum() + noise @ c**2)
        bent = seen.curvature
        if bent.shift:  # ½σ‖c − c*‖² at most; c* = (y − f)/noise, and f = 0 has no smaller errors
            least = float(noise.min(initial=math.inf))
            reach = float(c @ c) + float(y @ y) / least**2 if least > 0 else math.inf
            above += bent.shift * reach
        return replace(judged, rounding=max(above, below), curvature=bent.verdict)


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
