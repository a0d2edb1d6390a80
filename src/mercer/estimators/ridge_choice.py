"""The choice of λ and of kernel widths by leave-one-out, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.estimators.auto import Axes
from mercer.estimators.landmark_fits import LandmarkFrame
from mercer.exceptions import InvalidInput
from mercer.gram.operator import FeatureGram, Gram, GramMatrix
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.solvers.ridge import RidgeSystem
from mercer.solvers.ridge_path import (
    FeatureSpectrum,
    RidgePath,
    Spectrum,
    ridge_path,
    usual_alphas,
)

_STATISTIC_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Choice:
    """A kernel, λ for each target, and the errors of all λ with that kernel, on its landmarks."""

    kernel: Kernel
    alphas: Array
    path: RidgePath
    error: float
    frame: LandmarkFrame | None


def is_open(machine: Any) -> bool:
    """Whether λ or a width of the kernel is to be chosen."""
    return isinstance(machine.alpha, str) or _has_open_width(machine)


def choose(
    machine: Any, objects: Any, points: Points, Y: Array, weights: Array, alphas: Array
) -> Choice:
    """Return the kernel and λ with the least leave-one-out error.

    ``alphas`` is NaN where λ is open: then each target has its own. Errors of several targets are
    compared as shares of their variances. Kernels of one statistic share it.
    """
    if len(points) < 2:
        raise InvalidInput("KernelRidge: 'auto' needs at least 2 rows with weight.")
    gram = Gram(machine.kernel_, points, statistic_bytes=_STATISTIC_BYTES, dtype=np.float64)

    def judged(kernel: Kernel) -> Choice:
        kernel = gram.with_kernel(kernel).kernel
        frame = frame_of(machine, kernel, points)
        K = matrix_of(machine, kernel, points, frame)
        spectrum = spectrum_of(gram.with_kernel(kernel) if isinstance(K, Gram) else K, weights)
        grid = usual_alphas(spectrum) if np.isnan(alphas).any() else np.unique(alphas)
        path = ridge_path(spectrum, Y, grid, weights, machine.fit_intercept)
        at = path.errors.argmin(axis=0)
        if not np.isnan(alphas).any():
            at = np.searchsorted(grid, alphas)
        error = path.errors[at, np.arange(len(at))] / _spreads(Y)
        return Choice(kernel, grid[at], path, float(error.mean()), frame)

    if not _has_open_width(machine):
        return judged(machine.kernel_)
    axes = Axes.of(machine, objects, only_auto=True)
    cells, scores = axes.cells(), []
    best: Choice | None = None
    more = cells
    while more:
        for cell in more:
            choice = judged(_changed(machine.kernel, cell))
            scores.append(-choice.error)
            if best is None or choice.error < best.error:
                best = choice
        more = axes.extended(cells, scores)
        cells = cells + more
    assert best is not None
    return best


def frame_of(machine: Any, kernel: Kernel, points: Points) -> LandmarkFrame | None:
    """Return the landmarks of a machine, None where it has no approximation."""
    return None if machine.approximation is None else LandmarkFrame.of(machine, kernel, points)


def matrix_of(
    machine: Any, kernel: Kernel, points: Points, frame: LandmarkFrame | None
) -> GramMatrix:
    """Return K as a machine sees it: exact, or through landmarks."""
    matrix: GramMatrix = machine._gram(kernel, points) if frame is None else frame.gram(points)
    return matrix


def spectrum_of(K: GramMatrix, weights: Array) -> Spectrum | FeatureSpectrum:
    """Return the spectrum of √W K √W, without that matrix where there are few features."""
    if isinstance(K, FeatureGram):
        return FeatureSpectrum(np.sqrt(weights)[:, None] * K.dense_features())
    return Spectrum(RidgeSystem(K, weights).dense())


def _has_open_width(machine: Any) -> bool:
    inside = [v for name, v in machine.get_params().items() if name.startswith("kernel__")]
    return any(isinstance(value, str) and value == "auto" for value in inside)


def _changed(kernel: Kernel, cell: dict[str, Any]) -> Kernel:
    return kernel.replace(**{name.removeprefix("kernel__"): v for name, v in cell.items()})


def _spreads(Y: Array) -> Array:
    spreads = Y.var(axis=0)
    return np.where(spreads > 0, spreads, 1.0)
