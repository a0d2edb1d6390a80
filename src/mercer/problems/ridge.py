"""The problem of kernel ridge regression, its dual and its certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.certificate import ROUNDING, Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.products import BoundedProduct, Products


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
        """Judge coefficients and constants.

        ``product`` is Kc where it is known: then its rounding and the curvature of the matrix are
        not looked at.
        """
        n, found = gram.shape[0], None
        if product is None:
            found = Products(gram, value.coef)
            product = found.F
        errors = self.Y - value.intercepts - product
        images = np.zeros_like(errors)
        unpenalised = self.alphas == 0
        if unpenalised.any():
            images[:, unpenalised] = gram.multiply(self.weights[:, None] * errors[:, unpenalised])
        rows, judged = np.arange(n), []
        groups = np.zeros(n, np.intp) if self.intercept else None
        needs = Definite.CONDITIONAL if self.intercept else Definite.POSITIVE
        for j in range(self.Y.shape[1]):
            part = self._judge(j, value, product[:, j], errors[:, j], images[:, j])
            if found is not None:
                seen = found.part(rows, j, groups, needs)
                part = self._proven(part, j, value, seen, errors[:, j], images[:, j])
            judged.append(part)
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

    def _proven(
        self,
        judged: Certificate,
        j: int,
        value: RidgeFunctions,
        seen: BoundedProduct,
        errors: Array,
        image: Array,
    ) -> Certificate:
        """Bound what rounding does to the values, and move c where it breaks a constraint.

        For λ = 0 the dual point is feasible up to the rounding of Ku, whose price is that of the
        coefficients; 0 is a bound there too.
        """
        c, w, f, n = value.coef[:, j], self.weights, seen.f, len(errors)
        y, b, alpha = self.Y[:, j], float(value.intercepts[j]), float(self.alphas[j])
        few = (n + 8) * EPSILON
        off = seen.errors + 4 * EPSILON * (np.abs(y) + abs(b) + np.abs(f))
        squares = float(np.abs(c) @ seen.errors) + few * float(np.abs(c * f).sum())
        above = float(w @ (np.abs(errors) * off + off**2 / 2)) + few * float(w @ errors**2)
        above += alpha * squares / 2
        if alpha == 0:
            u = w * errors
            below = float(w @ (np.abs(errors) * off)) * 2 + few * float(np.abs(u * y).sum())
            size = seen.roots * float(np.abs(u) @ seen.roots)
            # Of Ku only what is beyond its rounding is known to be there.
            lack = np.maximum(np.abs(image) - few * size, 0.0)
            below += float((np.abs(image) + few * size - lack) @ np.abs(c))
            vanishes = (np.abs(image) <= ROUNDING * size).all()
            dual = judged.paying(float(lack @ np.abs(c)) if vanishes else math.inf).dual
        else:
            change = self._change(c)
            per_weight = np.divide(c, w, out=np.zeros_like(c), where=w > 0)
            slopes = y - f - alpha * per_weight
            moved = float(np.abs(change) @ seen.roots)
            bend = np.divide(change**2, w, out=np.zeros_like(c), where=w > 0)
            square = moved * moved  # where a power would raise an error for what overflows
            shift = float(slopes @ change) - square / 2 - alpha * float(bend.sum()) / 2
            # Where b is free its price is that of a sum that is not 0, which the change mends.
            dual = alpha * (float(c @ y) - float(c @ f) / 2 + shift)
            dual -= alpha * (alpha * float(c @ per_weight)) / 2
            terms = np.abs(c * y).sum() + alpha * np.abs(c * per_weight).sum()
            below = alpha * (squares / 2 + few * (float(terms) + square))
            below += alpha * float(np.abs(change) @ (off + few * np.abs(slopes)))
            if self.intercept:
                left = abs(math.fsum((c + change).tolist())) if np.isfinite(c).all() else math.inf
                below += alpha * left * float(np.abs(slopes).max(initial=0.0))
        bent = seen.curvature
        if bent.shift:  # ½λσ‖c − c*‖² at most, with c* at the optimum
            above += alpha * bent.shift * (float(c @ c) + self._reach(alpha, y))
        return replace(judged, dual=dual, rounding=max(above, below), curvature=bent.verdict)

    def _change(self, c: Array) -> Array:
        """Return what makes c a point of the dual: 0 where there is no weight, a sum of 0."""
        change = np.where(self.weights > 0, 0.0, -c)
        if self.intercept:
            change -= (c + change).sum() * self.weights / float(self.weights.sum())
        return change

    def _reach(self, alpha: float, y: Array) -> float:
        """Bound ‖c‖² at the optimum, where c = W(y − f − b)/λ and f = 0 has no smaller errors."""
        largest = float(self.weights.max(initial=0.0))
        return largest * float(self.weights @ y**2) / alpha / alpha if alpha > 0 else 0.0
