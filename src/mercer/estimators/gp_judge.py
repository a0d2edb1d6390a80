"""A judge for Gaussian processes: the mean is the answer of a convex problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.gram.operator import Gram
from mercer.problems.certificate import Certificate


def judge_mean(gram: Gram, Y: Array, C: Array, noise: Array, **cost: Any) -> Certificate:
    """Judge the coefficients C of the mean, for the parameters of the kernel as they are.

    min ½ Σ (yᵢ − f(xᵢ))²/noiseᵢ + ½‖f‖², f = Σ cᵢ k(xᵢ, ·); where there is no noise f(xᵢ) = yᵢ.

    Every c gives a value of the dual, cᵀy − ½cᵀKc − ½ Σ noiseᵢcᵢ².
    """
    F = gram @ C
    loud = noise > 0
    parts = []
    for y, c, f in zip(Y.T, C.T, F.T, strict=True):
        residual = np.abs(y - f - noise * c)
        square = float(c @ f)
        parts.append(
            Certificate(
                problem="mean of a Gaussian process",
                primal=0.5 * float(((y - f)[loud] ** 2 / noise[loud]).sum()) + 0.5 * square,
                dual=float(c @ y) - 0.5 * square - 0.5 * float(noise @ c**2),
                stationarity=float(residual[loud].max(initial=0.0)),
                primal_feasibility=float(residual[~loud].max(initial=0.0)),
                dual_feasibility=0.0,
                complementarity=0.0,
                **cost,
            )
        )
    return Certificate.total(parts)
