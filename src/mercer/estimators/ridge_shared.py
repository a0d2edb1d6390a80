"""Kernel ridge regressions on matrices that the fits of a search share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, _check_y

from mercer._typing import Array, IntArray
from mercer.estimators.machine import Functions, KernelMachine
from mercer.estimators.ridge_choice import is_open
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.definite import Definite
from mercer.solvers.paths import Workshop
from mercer.solvers.shifts import solve_shifts

_TOL = 1e-11
"""Relative residual of fits that only a score is asked of."""
_STRIP = 64
"""Rows copied at once, which the next copy finds in the cache."""


@dataclass(frozen=True, eq=False)
class RidgeTask:
    """What one fit has to solve: targets and weights of its rows, and λ for each target."""

    Y: Array
    weights: Array
    alphas: Array


class SharedRidge(MultiOutputMixin, RegressorMixin, KernelMachine):
    """The part of kernel ridge regression that reads targets and works in a search."""

    alpha: Any
    fit_intercept: bool
    dual_coef_: Array
    intercept_: Any
    time_limit: float | None
    _one_target = False

    _costs: ClassVar[dict[str, Any]] = {"alpha": tuple(10.0**e for e in range(-6, 3))}
    """What an automatic grid looks at besides widths."""
    _needs = Definite.POSITIVE

    @property
    def _shares_matrix(self) -> bool:
        """Whether a search may solve this machine's problem on a matrix that many fits share."""
        fixed = not is_open(self) and self.time_limit is None and self._mode != "function"
        if self.approximation is not None:
            return False
        # Without λ the matrix may be singular, which is a case for the whole of ``fit``.
        return fixed and bool(np.min(self.alpha) > 0)

    def _path_position(self) -> tuple[Any, ...]:
        return ()

    def _pose(
        self, y: Any, sample_weight: Any, count: int, like: Any = None
    ) -> list[tuple[IntArray, RidgeTask]]:
        """Return the problem of a fit to ``count`` rows, with the rows it is about."""
        if like is None:
            targets, weights = read_targets(y), read_weights(sample_weight, count)
            rows = np.flatnonzero(weights > 0)
            Y, weights = targets.reshape(len(targets), -1)[rows], weights[rows]
        else:
            rows, task = like._posed
            Y, weights = task.Y, task.weights
        self._one_target = np.ndim(y) == 1
        self._posed = rows, RidgeTask(Y, weights, spread_alphas(self.alpha, Y.shape[1]))
        return [self._posed]

    def _solve_together(
        self, K: Array, train: IntArray, posed: Sequence[Any], workshop: Workshop, ends: float
    ) -> list[Functions | None]:
        """Solve the problems of machines that differ in λ alone, from one factorisation."""
        began = time.perf_counter()
        rows, first = posed[0][1][0]
        at = train[rows]
        A = workshop.matrix(len(at), -2)
        strip = np.empty((_STRIP, len(K)))
        for s in range(0, len(at), _STRIP):
            some = at[s : s + _STRIP]
            whole = np.take(K, some, axis=0, out=strip[: len(some)], mode="clip")
            np.take(whole, at, axis=1, out=A[s : s + _STRIP], mode="clip")
        scale = np.sqrt(first.weights)[:, None]
        if (scale != 1).any():
            A *= scale
            A *= scale.T
        B = scale * first.Y
        if any(machine.fit_intercept for machine, _ in posed):
            B = np.hstack([B, scale])
        grid = np.unique([problems[0][1].alphas for _, problems in posed])
        answers = scale * solve_shifts(A, B, grid, _TOL)
        seconds = (time.perf_counter() - began) / len(posed)
        found: list[Functions | None] = []
        for machine, problems in posed:
            alphas = problems[0][1].alphas
            columns, intercepts = np.zeros((len(train), len(alphas))), np.zeros(len(alphas))
            for j, place in enumerate(np.searchsorted(grid, alphas)):
                x = answers[place, :, j]
                if machine.fit_intercept:
                    x, intercepts[j] = _without_bias(x, answers[place, :, -1])
                columns[rows, j] = x
            fine = np.isfinite(columns).all()
            found.append(Functions(columns, intercepts, "optimal", seconds) if fine else None)
        return found

    def _expansion(self) -> tuple[Array, Array]:
        """Return the coefficients of all training rows and the constants, one for each target."""
        return self.dual_coef_.reshape(len(self.dual_coef_), -1), np.atleast_1d(self.intercept_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the share of the variance of ``y`` that is explained."""
        if self._told is not None and sample_weight is None and np.ndim(y) == 1:
            # A search asks thousands of times, and has checked everything before.
            known = np.asarray(y, dtype=np.float64)
            total = float(((known - known.mean()) ** 2).sum())
            if total > 0 and self._told.ndim == 1:
                return 1.0 - float(((known - self._told) ** 2).sum()) / total
        return float(super().score(X, y, sample_weight))

    def _telling(self, values: Array) -> Self:
        return super()._telling(values[:, 0] if self._one_target else values)


def _without_bias(x: Array, ones: Array) -> tuple[Array, float]:
    """Return the coefficients and the intercept from (K + λW⁻¹)⁻¹y and (K + λW⁻¹)⁻¹1."""
    intercept = float(x.sum() / ones.sum())
    return x - intercept * ones, intercept


def read_targets(y: Any) -> Array:
    """Return checked targets."""
    return np.asarray(_check_y(y, multi_output=True, y_numeric=True), dtype=np.float64)


def read_weights(sample_weight: Any, count: int) -> Array:
    """Return checked weights, one for each row."""
    if sample_weight is None or isinstance(sample_weight, Real):
        weights = np.full(count, 1.0 if sample_weight is None else float(sample_weight))
    else:
        rows = np.empty((count, 0))
        weights = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64))
    if (weights < 0).any() or not (weights > 0).any():
        raise InvalidInput(
            f"KernelRidge: sample_weight has to be ≥ 0 and not 0 everywhere; row "
            f"{int(weights.argmin())} has {weights.min():g}."
        )
    return weights


def check_alphas(given: Any) -> Array:
    """Return λ as an array; raise where it holds no numbers ≥ 0."""
    alphas = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if alphas.ndim != 1 or not alphas.size or not np.isfinite(alphas).all() or alphas.min() < 0:
        raise InvalidParameter(
            f"KernelRidge: alpha={given!r} has to be a number ≥ 0, or a list of them."
        )
    return alphas


def spread_alphas(given: Any, targets: int) -> Array:
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
