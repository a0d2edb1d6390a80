"""The choice of λ and of kernel widths by leave-one-out, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.estimators.auto import Axes
from mercer.estimators.landmark_fits import LandmarkFrame
from mercer.exceptions import InvalidInput
from mercer.gram.operator import FeatureGram, Gram
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
    """A kernel, λ for each target, and the errors of all λ with that kernel."""

    kernel: Kernel
    alphas: Array
    path: RidgePath
    error: float


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
        spectrum = spectrum_of(machine, kernel, points, weights, gram)
        grid = usual_alphas(spectrum) if np.isnan(alphas).any() else np.unique(alphas)
        path = ridge_path(spectrum, Y, grid, weights, machine.fit_intercept)
        at = path.errors.argmin(axis=0)
        if not np.isnan(alphas).any():
            at = np.searchsorted(grid, alphas)
        error = path.errors[at, np.arange(len(at))] / _spreads(Y)
        return Choice(kernel, grid[at], path, float(error.mean()))

    if not _has_open_width(machine):
        return judged(machine.kernel_)
    axes = Axes.of(machine, objects, only_auto=True)
    cells, choices = axes.cells(), []
    more = cells
    while more:
        choices += [judged(_changed(machine.kernel, cell)) for cell in more]
        more = axes.extended(cells, [-choice.error for choice in choices])
        cells = cells + more
    return min(choices, key=lambda choice: choice.error)


def spectrum_of(
    machine: Any, kernel: Kernel, points: Points, weights: Array, gram: Gram | None = None
) -> Spectrum | FeatureSpectrum:
    """Return the spectrum of √W K √W, with K as the machine sees it: exact, or through landmarks.

    ``gram`` has the same points, and perhaps statistics that are known already.
    """
    if machine.approximation is not None:
        frame = LandmarkFrame.of(machine, kernel, points)
        return FeatureSpectrum(np.sqrt(weights)[:, None] * frame.features(points))
    whole = machine._gram(kernel, points)
    if isinstance(whole, FeatureGram):
        return FeatureSpectrum(np.sqrt(weights)[:, None] * whole.dense_features())
    if gram is not None:
        whole = gram.with_kernel(kernel)
    return Spectrum(RidgeSystem(whole, weights).dense())


def _has_open_width(machine: Any) -> bool:
    inside = [v for name, v in machine.get_params().items() if name.startswith("kernel__")]
    return any(isinstance(value, str) and value == "auto" for value in inside)


def _changed(kernel: Kernel, cell: dict[str, Any]) -> Kernel:
    return kernel.replace(**{name.removeprefix("kernel__"): v for name, v in cell.items()})


def _spreads(Y: Array) -> Array:
    spreads = Y.var(axis=0)
    return np.where(spreads > 0, spreads, 1.0)
