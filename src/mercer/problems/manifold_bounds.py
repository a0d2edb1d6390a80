"""What rounding may do to the values of machines on a graph of neighbours.

The problem is that of the float64 Gram matrix K and the exact Laplacian of the graph's float64
weights. Products with K come with bounds of their own (:mod:`mercer.problems.products`); those with
R = μLᵖ are off by at most a few ε of ∣L∣ᵖ∣f∣. A dual point that misses Σβ = 0 by Δ is moved
at one label until it does, and its value pays for that.

References
----------
Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter 3.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mercer._typing import Array
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import SPARE_TERMS, sum_bound
from mercer.problems.products import BoundedProduct

if TYPE_CHECKING:
    from mercer.problems.manifold import DualPoint, ManifoldProblem


def bounded(
    problem: ManifoldProblem,
    judged: Certificate,
    coef: Array,
    bias: float,
    point: DualPoint,
    f: BoundedProduct,
    image: BoundedProduct,
) -> Certificate:
    """Return a certificate whose interval has the optimum inside, rounding included.

    ``judged`` was made of the function values f = Kc and of ``image`` = Kγ.
    """
    above = _of_primal(problem, coef, bias, f)
    below = _of_dual(problem, point, image)
    spare = SPARE_TERMS * EPSILON * (abs(judged.primal) + abs(judged.dual))
    fits = bool(problem.allows(point.beta).all())
    judged = judged.paying(_price_of_sum(problem, point, image) if fits else math.inf)
    return replace(judged, rounding=max(above, below) + spare)


def _of_primal(problem: ManifoldProblem, coef: Array, bias: float, f: BoundedProduct) -> float:
    """Return how far the primal value of f = Kc may be off."""
    values, off = f.f, f.errors
    u = values[problem.rows]
    # y − f − b takes two operations.
    moved = off[problem.rows] + 2 * EPSILON * (np.abs(problem.y) + np.abs(u) + abs(bias))
    losses = problem.loss_change(u, bias, moved)
    sizes = problem.losses(u, bias)
    norms = np.abs(coef) * np.abs(values)
    rough, rough_off = problem.roughness.with_bound(values)
    bent = float(off @ (np.abs(rough) + rough_off)) + problem.roughness.norm() * float(off @ off)
    return (
        float(losses.sum())
        + sum_bound(sizes)
        + problem.penalty * (float(np.abs(coef) @ off) + sum_bound(norms)) / 2
        + bent
        + (float(np.abs(values) @ rough_off) + sum_bound(np.abs(values * rough))) / 2
    )


def _of_dual(problem: ManifoldProblem, point: DualPoint, image: BoundedProduct) -> float:
    """Return how far the dual value of β, s and γ = (β − Rs)/a may be off."""
    beta, s, gamma, a = point.beta, point.values, point.coef, problem.penalty
    rough, rough_off = problem.roughness.with_bound(s)
    off = (rough_off + 2 * EPSILON * np.abs(rough)) / a + 3 * EPSILON * np.abs(gamma)
    g = np.abs(image.f) + image.errors
    # γᵀKγ of the exact γ, which is within ``off`` of the computed one.
    norm = 2 * float(off @ g) + float(off @ image.roots) ** 2 + float(np.abs(gamma) @ image.errors)
    return (
        sum_bound(np.abs(problem.gains(beta)))
        + (float(np.abs(s) @ rough_off) + sum_bound(np.abs(s * rough))) / 2
        + a * (norm + sum_bound(np.abs(gamma * image.f))) / 2
    )


def _price_of_sum(problem: ManifoldProblem, point: DualPoint, image: BoundedProduct) -> float:
    """Return what the dual value loses where β is moved at one label until Σβ = 0; ∞ if it cannot.

    Moved by −Δ at label i it changes by −Δ(hᵢ − (Kγ)ᵢ) − ½Δ²(cᵢ + Kᵢᵢ/a), h and c being the slope
    and the curvature of the gains.
    """
    if not problem.intercept:
        return 0.0
    beta, rows = point.beta, problem.rows
    missing = math.fsum(beta)  # exact but for its last digit
    if missing == 0.0:
        return 0.0
    slopes, curvatures = problem.gain_slopes(beta)
    far = np.abs(slopes - image.f[rows]) + image.errors[rows]
    bend = curvatures + image.roots[rows] ** 2 / problem.penalty
    prices = abs(missing) * far + missing**2 * bend / 2
    free = problem.allows(beta - missing)
    return float(prices[free].min(initial=math.inf)) * (1 + 1e-6)
