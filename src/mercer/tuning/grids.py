"""Automatic grids: which parameters to tune, over which values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer._typing import Model, Objects
from mercer.estimators.scaling import NumericScaler
from mercer.exceptions import InvalidParameter

COSTS = tuple(10.0**e for e in range(-2, 4))
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
WIDTHS = tuple(4.0**e for e in range(-3, 4))
"""Factors of the width that the heuristic gives."""
MOST_GROWTH = 3
"""How often a grid may grow."""
_WIDTH_NAMES = ("gamma", "sigma", "length_scale")


class Axes:
    """The axes of a grid: names of parameters and their values, in order.

    ``growing`` names those that may go on beyond their ends, by the ratio of their neighbours.
    """

    def __init__(self, values: Mapping[str, Sequence[Any]], growing: Sequence[str]) -> None:
        self.values = {name: list(axis) for name, axis in values.items()}
        self.growing = set(growing)
        self._grown = 0

    @classmethod
    def of(cls, estimator: Model, X: Objects, only_auto: bool = False) -> Self:
        """Return the axes for an estimator; with ``only_auto``, of its parameters ``"auto"``."""
        last = getattr(estimator, "steps", [("", None)])[-1][0]
        prefix = f"{last}__" if last else ""
        machine = estimator.steps[-1][1] if last else estimator
        values: dict[str, Sequence[Any]] = {}
        growing: list[str] = []
        parameters = machine.get_params() if hasattr(machine, "get_params") else {}
        for name in [
            *_costs(machine, parameters, only_auto),
            *_widths(machine, parameters, only_auto),
        ]:
            full = prefix + name
            if name == "nu":
                values[full] = SHARES
                continue
            growing.append(full)
            fixed = {"C": COSTS, **getattr(machine, "usual_values", {})}
            values[full] = fixed.get(name) or _around(machine, name, bool(prefix), X)
        if not values:
            raise InvalidParameter(
                f"{type(machine).__name__} has no parameter for an automatic grid (C, nu, alpha or "
                "the width of a kernel; a Gaussian process learns its own when it is fitted, and "
                "tune chooses the form of its kernel). Give the values to try: grid of tune, "
                "param_grid of GridSearchCV."
            )
        return cls(values, growing)

    def cells(self) -> list[dict[str, Any]]:
        """Return all points of the grid."""
        return [
            dict(zip(self.values, point, strict=True)) for point in product(*self.values.values())
        ]

    def extended(
        self, known: Sequence[Mapping[str, Any]], scores: Sequence[float]
    ) -> list[dict[str, Any]]:
        """Return the points to add because the best one lies on an edge; none where it does not.

        The best point counts as inside if a point as good lies away from the edge.
        """
        means = np.asarray(scores, dtype=np.float64)
        if self._grown >= MOST_GROWTH or not np.isfinite(means).any():
            return []
        best = [known[i] for i in np.flatnonzero(means == np.nanmax(means)).tolist()]
        grew = False
        for name in self.growing:
            axis = self.values[name]
            for end, step in ((0, axis[0] / axis[1]), (-1, axis[-1] / axis[-2])):
                if all(point[name] == axis[end] for point in best):
                    new = axis[end] * step
                    axis.insert(0 if end == 0 else len(axis), new)
                    grew = True
        if not grew:
            return []
        self._grown += 1
        there = {tuple(point.values()) for point in known}
        return [cell for cell in self.cells() if tuple(cell.values()) not in there]


def _costs(machine: Model, parameters: Mapping[str, Any], only_auto: bool) -> list[str]:
    """Return ν and C where they are there, or what the machine names; of automatic ones all."""
    own = list(getattr(machine, "usual_values", ()))
    if only_auto:
        # What a machine names itself it chooses by itself.
        return [n for n in ("C", "nu") if _is_auto(parameters.get(n))]
    if own:
        return own
    return [name for name in ("nu", "C") if name in parameters]


def _widths(machine: Model, parameters: Mapping[str, Any], only_auto: bool) -> list[str]:
    """Return the names of the kernel's widths."""
    kernel = parameters.get("kernel")
    if isinstance(kernel, str):
        takes = kernel not in ("linear", "precomputed") and not only_auto
        return ["gamma"] if takes and "gamma" in parameters else []
    found = []
    for name, value in parameters.items():
        inside, _, own = name.rpartition("__")
        if not inside.startswith("kernel") or own not in _WIDTH_NAMES:
            continue
        if _is_auto(value) or (not only_auto and isinstance(value, str | float | int)):
            found.append(name)
    if not found and not only_auto and hasattr(kernel, "get_params"):
        # A width that is not given at all is the kernel's default rule.
        found = [n for n in ("kernel__gamma", "kernel__length_scale") if n in parameters][:1]
    return found


def _around(machine: Model, name: str, transformed: bool, X: Objects) -> list[float]:
    """Return widths around the one of the heuristic on these data.

    Before a pipeline has run nobody knows its output; it is taken for that of a scaler of numbers.
    """
    try:
        plain = clone(machine)
        if isinstance(plain.kernel, str):
            plain.set_params(gamma="scale")
        read = plain.read(NumericScaler().fit_transform(X) if transformed else X)
        kernel, points = plain.kernel_argument.encode(read)
        settled = kernel.resolve(points)
        inner = name.removeprefix("kernel__")
        centre = settled.get_params().get(inner)
        if centre is None and inner == "gamma":
            centre = settled.get_params()["gamma"]
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        centre = None
    if not isinstance(centre, float | int) or not centre > 0:
        centre = 1.0
    return [float(centre) * factor for factor in WIDTHS]


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"
