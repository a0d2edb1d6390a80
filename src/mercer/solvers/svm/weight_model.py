"""A small convex problem: a quadratic model of a function of weights, on a part of an ℓp-ball."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array

_STEPS = 80
"""Most steps; some 15 to 30 are usual, since each takes off nine tenths of what is left."""
_CENTRING = 0.1
"""The share of the complementarity that a step aims at."""
_TO_BOUNDARY = 0.99
"""The share of the way to the nearest bound that a step may go."""
_COMPLEMENTARITY, _RESIDUAL = 1e-13, 1e-9
"""What is left of the conditions at the end, for an objective of order 1."""
_NOTHING = 1e-10
"""Weights up to this share of the largest are those that the steps took towards 0, for p = 1: for
others only kernels that say nothing have no weight."""


def least_weights(gradient: Array, hessian: Array, weights: Array, p: float) -> Array:
    r"""Return the minimum of gᵀx + ½(x − d)ᵀH(x − d) over x ≥ 0, Σ x_m^p ≤ 1.

    A primal-dual interior-point method, whose steps solve systems of as many unknowns as there are
    weights. With multipliers z of x ≥ 0 and λ of the norm, its conditions are

    g + H(x − d) − z + λ p x^{p−1} = 0,  z_m x_m = μ,  λ(1 − Σ x_m^p) = μ,  μ → 0.

    Of equal kernels all get the same weight. H is positive semi-definite.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization, Cambridge 2004, section 11.7.
    """
    count, scale = len(gradient), float(np.abs(gradient).max()) or 1.0
    g, H = gradient / scale, hessian / scale
    x, z, multiplier = np.full(count, (0.5 / count) ** (1 / p)), np.ones(count), 1.0
    for _ in range(_STEPS):
        room = 1 - float((x**p).sum())
        left = (float(z @ x) + multiplier * room) / (count + 1)
        slope = p * x ** (p - 1)
        residual = g + H @ (x - weights) - z + multiplier * slope
        if left < _COMPLEMENTARITY and float(np.abs(residual).max()) < _RESIDUAL:
            break
        aim = _CENTRING * left
        bend = multiplier * p * (p - 1) * x ** (p - 2) + z / x
        system = H + np.diag(bend) + multiplier / room * np.outer(slope, slope)
        force = aim / x - z - residual - slope * (aim / room - multiplier)
        step = _solved(system, force)
        dz = (aim - z * x - z * step) / x
        turn = (aim - multiplier * room + multiplier * float(slope @ step)) / room
        t = min(_reach(x, step), _reach(z, dz), _reach(np.array([multiplier]), np.array([turn])))
        while 1 - float(((x + t * step) ** p).sum()) < (1 - _TO_BOUNDARY) * room:
            t *= 0.8
        x, z, multiplier = x + t * step, z + t * dz, multiplier + t * turn
    return np.where((x > _NOTHING * x.max()) | (p > 1), x, 0.0)


def _solved(system: Array, force: Array) -> Array:
    """Solve a positive definite system whose diagonal has entries of all sizes."""
    size = 1 / np.sqrt(np.diagonal(system))
    # Least squares: of equal kernels the system is singular but for rounding.
    found = np.linalg.lstsq(system * np.outer(size, size), size * force, rcond=1e-16)[0]
    return np.asarray(size * found)


def _reach(value: Array, step: Array) -> float:
    """Return how far positive values may go along a step, at most 1."""
    falls = step < 0
    if not falls.any():
        return 1.0
    return min(1.0, _TO_BOUNDARY * float((value[falls] / -step[falls]).min()))
