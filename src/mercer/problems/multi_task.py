"""Least squares of several targets that share which columns are in use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate


@dataclass(frozen=True, eq=False)
class MultiTaskProblem:
    r"""Least squares with a penalty on the lengths of the rows of W, one row for each column of X.

    primal: min ½‖Y − XW‖² + λ₁ Σⱼ ‖Wⱼ‖ + ½λ₂‖W‖²

    dual:   max ⟨Y, N⟩ − ½‖N‖² − Σⱼ max(0, ‖xⱼᵀN‖ − λ₁)² / 2λ₂

    With λ₂ = 0 the last sum is a constraint. At the optimum N = Y − XW; a dual point is this
    residual, scaled down until it is feasible. With one target it is the elastic net.
    """

    Y: Array
    l1: float
    l2: float = 0.0

    name = "multi-task elastic net"

    def with_penalty(self, l1: float, l2: float) -> MultiTaskProblem:
        """Return the problem with other penalties on the same data."""
        return replace(self, l1=l1, l2=l2)

    def penalty(self, W: Array) -> float:
        """Return the price of the weights."""
        lengths = np.linalg.norm(W, axis=1)
        return self.l1 * float(lengths.sum()) + self.l2 * float(lengths @ lengths) / 2

    def bounds(self, W: Array, R: Array, c: Array) -> tuple[float, float]:
        """Return the primal value, and the best dual value of the residual R; c is XᵀR."""
        rr = float(np.vdot(R, R))
        worst = float(np.linalg.norm(c - self.l2 * W, axis=1).max(initial=0.0))
        inside = 1.0 if worst <= self.l1 else self.l1 / worst
        values = []
        for share in {inside, 1.0} if self.l2 > 0 else {inside}:
            value = share * float(np.vdot(self.Y, R)) - share**2 * rr / 2
            if self.l2 > 0:
                excess = np.maximum(share * np.linalg.norm(c, axis=1) - self.l1, 0.0)
                value -= float(excess @ excess) / (2 * self.l2)
            values.append(value)
        return rr / 2 + self.penalty(W), max(values)

    def target(self, primal: float, tol: float) -> float:
        """Return the gap at which weights are optimal within ``tol``, or within rounding."""
        return max(tol * primal, 1e-14 * float(np.vdot(self.Y, self.Y)))

    def certify(self, value: Array, gram: GramMatrix, product: Array | None = None) -> Certificate:
        """Judge the weights, columns × targets; ``product`` is XW."""
        X = gram.features()
        R = self.Y - (X @ value if product is None else product)
        c = np.asarray(X.T @ R)
        primal, dual = self.bounds(value, R, c)
        lengths = np.linalg.norm(value, axis=1)
        slopes = c - self.l2 * value
        directions = value / np.where(lengths > 0, lengths, 1.0)[:, None]
        pulled = np.linalg.norm(slopes - self.l1 * directions, axis=1)
        still = np.maximum(np.linalg.norm(slopes, axis=1) - self.l1, 0.0)
        return Certificate(
            problem=self.name,
            primal=primal,
            dual=dual,
            stationarity=float(np.where(lengths > 0, pulled, still).max(initial=0.0)),
        )
