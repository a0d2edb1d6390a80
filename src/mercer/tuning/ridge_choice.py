"""The choice of λ and of kernel widths by leave-one-out, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array, Objects
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.estimators.ridge.ridge_matrix import RidgeChoice, frame_of, matrix_of, spectrum_of
from mercer.exceptions import InvalidInput
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.solvers.ridge_path import ridge_path, usual_alphas
from mercer.tuning.grids import Axes

_STATISTIC_BYTES = 1 << 30
"""Memory for the distances that all widths share: those of 11,000 rows."""


def choose_ridge(
    machine: KernelRidge, objects: Objects, points: Points, Y: Array, weights: Array, alphas: Array
) -> RidgeChoice:
    """Return the kernel and λ with the least leave-one-out error.

    ``alphas`` is NaN where λ is open: then each target has its own. Errors of several targets are
    compared as shares of their variances. Kernels of one statistic share it.
    """
    if len(points) < 2:
        raise InvalidInput("KernelRidge: 'auto' needs at least 2 rows with weight.")
    gram = Gram(machine.kernel_, points, statistic_bytes=_STATISTIC_BYTES, dtype=np.float64)

    def judged(kernel: Kernel) -> RidgeChoice:
        kernel = gram.with_kernel(kernel).kernel
        frame = frame_of(machine, kernel, points)
        K = matrix_of(kernel, points, frame)
        spectrum = spectrum_of(gram.with_kernel(kernel) if K.features() is None else K, weights)
        grid = usual_alphas(spectrum) if np.isnan(alphas).any() else np.unique(alphas)
        path = ridge_path(spectrum, Y, grid, weights, machine.fit_intercept)
        at = path.errors.argmin(axis=0)
        if not np.isnan(alphas).any():
            at = np.searchsorted(grid, alphas)
        error = path.errors[at, np.arange(len(at))] / _spreads(Y)
        return RidgeChoice(kernel, grid[at], path, float(error.mean()), frame)

    if not machine.has_open_width:
        return judged(machine.kernel_)
    axes = Axes.of(machine, objects, only_auto=True)
    cells, scores = axes.cells(), []
    best: RidgeChoice | None = None
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


def _changed(kernel: Kernel, cell: dict[str, Any]) -> Kernel:
    return kernel.replace(**{name.removeprefix("kernel__"): v for name, v in cell.items()})


def _spreads(Y: Array) -> Array:
    spreads = Y.var(axis=0)
    return np.where(spreads > 0, spreads, 1.0)
