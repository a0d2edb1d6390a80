"""Layers of neurons: what is done to each number between two products of matrices."""

import math
from typing import Any, TypeAlias

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array

Real: TypeAlias = np.floating[Any]
"""A number in the precision of the weights."""

IDENTITY, LOGISTIC, TANH, RELU = 0, 1, 2, 3
SQUARES, TWO_CLASSES, CLASSES, COUNTS = 0, 1, 2, 3


@jit
def add_bias(Z: Array, b: Array, rectify: bool) -> None:
    """Add the bias to each row, and set what is negative to zero if asked for, in place."""
    rows, columns = Z.shape
    for i in range(rows):
        for j in range(columns):
            value = Z[i, j] + b[j]
            Z[i, j] = 0 if rectify and value < 0 else value


@jit
def back(D: Array, A: Array, kind: int, sums: Array) -> None:
    """Multiply slopes D by the derivative of the activation, given by its values A, in place.

    ``sums`` becomes the sum of each column, the slope of the bias.
    """
    rows, columns = D.shape
    for j in range(columns):
        sums[j] = 0
    for i in range(rows):
        if kind == RELU:
            for j in range(columns):
                D[i, j] = D[i, j] if A[i, j] != 0 else A[i, j]
        elif kind == TANH:
            for j in range(columns):
                D[i, j] *= 1 - A[i, j] * A[i, j]
        elif kind == LOGISTIC:
            for j in range(columns):
                D[i, j] *= A[i, j] * (1 - A[i, j])
        for j in range(columns):
            sums[j] += D[i, j]


@jit
def loss_gradient(Z: Array, Y: Array, weights: Array, kind: int, sums: Array) -> float:
    """Turn the last layer into slopes of the loss, in place; return the sum of losses.

    ``Z`` has the bias, not the activation. ``weights`` are those of the rows, or empty. ``sums``
    becomes the sum of each column of slopes.
    """
    rows, columns = Z.shape
    for j in range(columns):
        sums[j] = 0
    total = 0.0
    for i in range(rows):
        weight = weights[i] if len(weights) else 1.0
        loss = 0.0
        if kind == CLASSES:
            most = Z[i, 0]
            for j in range(1, columns):
                most = max(most, Z[i, j])
            mass = 0.0
            for j in range(columns):
                loss -= Y[i, j] * (Z[i, j] - most)
                Z[i, j] = math.exp(Z[i, j] - most)
                mass += Z[i, j]
            loss += math.log(mass)
            for j in range(columns):
                Z[i, j] = Z[i, j] / mass - Y[i, j]
        elif kind == TWO_CLASSES:
            for j in range(columns):
                z = Z[i, j]
                tail = math.exp(-abs(z))
                loss += max(z, 0.0) - z * Y[i, j] + math.log1p(tail)
                Z[i, j] = (1 / (1 + tail) if z >= 0 else tail / (1 + tail)) - Y[i, j]
        elif kind == COUNTS:
            for j in range(columns):
                mean = math.exp(Z[i, j])
                y = Y[i, j]
                loss += mean - y
                if y > 0:
                    loss += y * (math.log(y) - Z[i, j])
                Z[i, j] = mean - y
        else:
            for j in range(columns):
                Z[i, j] -= Y[i, j]
                loss += 0.5 * Z[i, j] * Z[i, j]
        total += weight * loss
        for j in range(columns):
            Z[i, j] *= weight
            sums[j] += Z[i, j]
    return total


@jit
def adam(
    w: Array, g: Array, m: Array, v: Array, decayed: int, shrink: Real, scale: Real, rate: Real,
    beta_1: Real, beta_2: Real, epsilon: Real, rest_1: Real, rest_2: Real,
) -> None:  # fmt: skip
    """Take a step of Adam in place.

    The slope of weight k is (g + shrink·w)·scale, the first ``decayed`` weights having the penalty;
    ``rest`` are 1 − beta. All scalars are of the type of the weights, so that float32 stays that.
    """
    for k in range(len(w)):
        slope = (g[k] + shrink * w[k]) * scale if k < decayed else g[k] * scale
        m[k] = beta_1 * m[k] + rest_1 * slope
        v[k] = beta_2 * v[k] + rest_2 * (slope * slope)
        w[k] -= rate * m[k] / (math.sqrt(v[k]) + epsilon)


@jit
def momentum(
    w: Array, g: Array, u: Array, decayed: int, shrink: Real, scale: Real, rate: Real, keep: Real,
    ahead: bool,
) -> None:  # fmt: skip
    """Take a step with momentum in place, with the step ahead of Nesterov if asked for."""
    for k in range(len(w)):
        slope = (g[k] + shrink * w[k]) * scale if k < decayed else g[k] * scale
        u[k] = keep * u[k] - rate * slope
        w[k] += keep * u[k] - rate * slope if ahead else u[k]
