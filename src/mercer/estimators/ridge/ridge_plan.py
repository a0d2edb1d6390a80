"""The plan of a kernel ridge regression: (K + λW⁻¹)c + b = y; all λ from one factorisation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from mercer._sklearn import check_sample_weight, check_targets
from mercer._typing import Array, IntArray, Parameter, SampleWeights, Targets
from mercer.estimators.base import FitData, FitPlan, Functions
from mercer.estimators.linear.magnitudes import (
    LARGEST_SQUARES,
    check_squares,
    sum_of_squares,
)
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.linalg.krylov import ShiftedPart
from mercer.linalg.shifted import solve_shifts
from mercer.solvers.svm.box_qp import Scratch

_TOL = 1e-11
"""Relative residual of answers on a path, whose values are compared and not published."""


@dataclass(frozen=True, eq=False)
class TargetRule:
    """One function for each target, whose values are the answers."""

    one_target: bool

    def predict(self, values: Array) -> Array:
        """Return the values in the shape of the targets."""
        return values[:, 0] if self.one_target else values


@dataclass(frozen=True, eq=False)
class RidgeTargets:
    """Targets and weights of the rows that have a weight > 0."""

    rows: IntArray
    Y: Array
    weights: Array

    @classmethod
    def of(cls, data: FitData) -> RidgeTargets:
        """Read the targets and weights of a fit."""
        targets, weights = read_targets(data.y), read_weights(data.sample_weight, data.count)
        rows = np.flatnonzero(weights > 0)
        return cls(rows, targets.reshape(len(targets), -1)[rows], weights[rows])


@dataclass(frozen=True, eq=False)
class RidgePlan(FitPlan[TargetRule]):
    """One linear system for each target, with its own λ."""

    rule: TargetRule
    targets: RidgeTargets
    alphas: Array
    fit_intercept: bool
    position: tuple[float, ...] = ()

    def continues(self, other: RidgePlan) -> bool:
        return self.targets is other.targets

    @classmethod
    def solve_path(
        cls,
        plans: Sequence[RidgePlan],
        K: Array,
        train: IntArray,
        memory: Scratch,
        deadline: float,
    ) -> list[Functions | None]:
        return cls.solve_paths([(plans, train)], K, memory, deadline)[0]

    @classmethod
    def solve_paths(
        cls,
        paths: Sequence[tuple[Sequence[RidgePlan], IntArray]],
        K: Array,
        memory: Scratch,
        deadline: float,
    ) -> list[list[Functions | None]]:
        began = time.perf_counter()
        parts = [_part(plans, train) for plans, train in paths]
        answers = solve_shifts(K, parts, _TOL, lambda n: memory.matrix(n, -2))
        seconds = (time.perf_counter() - began) / sum(len(plans) for plans, _ in paths)
        return [
            _functions(plans, len(train), part, X, seconds)
            for (plans, train), part, X in zip(paths, parts, answers, strict=True)
        ]


def _part(plans: Sequence[RidgePlan], train: IntArray) -> ShiftedPart:
    """Return the matrix of a path, √W K √W, and its right-hand sides: √W times targets and ones."""
    targets = plans[0].targets
    scale = np.sqrt(targets.weights)
    B = scale[:, None] * targets.Y
    if any(plan.fit_intercept for plan in plans):
        B = np.column_stack([B, scale])
    alphas = np.unique([plan.alphas for plan in plans])
    return ShiftedPart(train[targets.rows], scale, B, alphas)


def _functions(
    plans: Sequence[RidgePlan], count: int, part: ShiftedPart, X: Array, seconds: float
) -> list[Functions | None]:
    """Return the function of each plan, from the answers for all λ; None where they are no use."""
    answers = part.scale[:, None] * X
    alphas = np.array([plan.alphas for plan in plans])
    # Of each plan and target: coefficients in a row, and the constant.
    place, targets = np.searchsorted(part.alphas, alphas), np.arange(alphas.shape[1])
    found = answers[place, :, targets]
    intercepts = np.zeros(alphas.shape)
    if X.shape[2] > len(targets):
        with_bias = np.array([plan.fit_intercept for plan in plans])
        ones = answers[place[with_bias], :, -1]
        biases = found[with_bias].sum(axis=2) / ones.sum(axis=2)
        found[with_bias] -= biases[:, :, None] * ones
        intercepts[with_bias] = biases
    fine = np.asarray(np.isfinite(found).all(axis=(1, 2)))
    columns = np.zeros((count, *alphas.shape))
    columns[plans[0].targets.rows] = found.transpose(2, 0, 1)
    return [
        Functions(columns[:, j], intercepts[j], "optimal", seconds) if fine[j] else None
        for j in range(len(plans))
    ]


def read_targets(y: Targets) -> Array:
    """Return checked targets; an array of numbers with finite squares needs no further look."""
    plain = type(y) is np.ndarray and y.dtype == np.float64 and y.ndim in (1, 2) and y.size
    if plain and sum_of_squares(y) <= LARGEST_SQUARES:
        return y  # type: ignore[no-any-return]
    targets = np.asarray(check_targets(y, multi_output=True, y_numeric=True), dtype=np.float64)
    check_squares(targets, "y")
    return targets


def read_weights(sample_weight: SampleWeights, count: int) -> Array:
    """Return checked weights, one for each row."""
    if sample_weight is None or isinstance(sample_weight, Real):
        weights = np.full(count, 1.0 if sample_weight is None else float(sample_weight))
    else:
        rows = np.empty((count, 0))
        weights = np.asarray(check_sample_weight(sample_weight, rows, dtype=np.float64))
    if (weights < 0).any() or not (weights > 0).any():
        raise InvalidInput(
            f"KernelRidge: sample_weight has to be ≥ 0 and not 0 everywhere; row "
            f"{int(weights.argmin())} has {weights.min():g}."
        )
    return weights


def check_alphas(given: Parameter) -> Array:
    """Return λ as an array; raise where it holds no numbers ≥ 0."""
    alphas = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if alphas.ndim != 1 or not alphas.size or not np.isfinite(alphas).all() or alphas.min() < 0:
        raise InvalidParameter(
            f"KernelRidge: alpha={given!r} has to be a number ≥ 0, or a list of them."
        )
    return alphas


def spread_alphas(given: Parameter, targets: int) -> Array:
    """Return λ for each target, NaN where it is to be chosen."""
    if isinstance(given, str):
        return np.full(targets, np.nan)
    if isinstance(given, Real) and 0 <= float(given) < np.inf:
        return np.full(targets, float(given))
    alphas = check_alphas(given)
    if len(alphas) not in (1, targets):
        raise InvalidParameter(
            f"KernelRidge: alpha has {len(alphas)} values for {targets} targets; one for all "
            "or one for each is needed."
        )
    return np.array(np.broadcast_to(alphas, targets))
