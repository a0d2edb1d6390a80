"""Automatic grids: which parameters to tune, over which values; machines that tune themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from mercer._typing import Array
from mercer.estimators.race import Race
from mercer.estimators.scaling import NumericScaler
from mercer.estimators.shared import Fitted, Fold, SharedFits, fits_memory
from mercer.exceptions import InvalidParameter

COSTS = tuple(10.0**e for e in range(-2, 4))
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
WIDTHS = tuple(4.0**e for e in range(-3, 4))
"""Factors of the width that the heuristic gives."""
MOST_GROWTH = 3
"""How often a grid may grow."""
_FOLDS = 5
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
    def of(cls, estimator: Any, X: Any, only_auto: bool = False) -> Self:
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
            fixed = {"C": COSTS, **getattr(machine, "_costs", {})}
            values[full] = fixed.get(name) or _around(machine, name, bool(prefix), X)
        if not values:
            raise InvalidParameter(
                f"{type(machine).__name__} has no parameter for an automatic grid (C, nu, or the "
                "width of a kernel). Give param_grid."
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


def _costs(machine: Any, parameters: Mapping[str, Any], only_auto: bool) -> list[str]:
    """Return C, or ν where there is no C, or what the machine names; of automatic ones all."""
    own = list(getattr(machine, "_costs", ()))
    if only_auto:
        # What a machine names itself it chooses by itself.
        return [n for n in ("C", "nu") if _is_auto(parameters.get(n))]
    if own:
        return own
    if "nu" in parameters:
        return ["nu"]
    return ["C"] if "C" in parameters else []


def _widths(machine: Any, parameters: Mapping[str, Any], only_auto: bool) -> list[str]:
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


def _around(machine: Any, name: str, transformed: bool, X: Any) -> list[float]:
    """Return widths around the one of the heuristic on these data.

    Before a pipeline has run nobody knows its output; it is taken for that of a scaler of numbers.
    """
    try:
        twin = machine._untold()
        if _is_auto(getattr(twin, "C", None)):
            twin.C = 1.0
        if isinstance(twin.kernel, str):
            twin.gamma = "scale"
        read = twin._read_training(NumericScaler().fit_transform(X) if transformed else X, None)
        kernel, points = twin._encode(read)
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


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


@dataclass(frozen=True, eq=False)
class Tuned:
    """How a machine found the values of its parameters ``"auto"``.

    Attributes
    ----------
    candidates : list of dict
        The points of the grid, as it was in the end.
    scores : array of shape (candidates, folds)
        NaN where a candidate was out of the race before that fold.
    best : dict
        The values chosen: those with the best mean score, the first of equals.
    """

    candidates: list[dict[str, Any]]
    scores: Array
    best: dict[str, Any]


def is_tuned(machine: Any) -> bool:
    """Whether a machine is to find some of its own parameters."""
    values = machine.get_params().items()
    return any(_is_auto(v) and name != "gamma" for name, v in values)


def fit_tuned(machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a machine whose parameters ``"auto"`` are chosen by five-fold cross-validation."""
    if not hasattr(machine, "score"):
        raise InvalidParameter(
            f"{type(machine).__name__}: 'auto' needs a score to choose by, which this machine does "
            "not have. Give numbers, or search with a scoring of your own."
        )
    axes = Axes.of(machine, X, only_auto=True)
    tuned = _search(machine, axes, X, y, sample_weight)
    chosen = clone(machine).set_params(**tuned.best)
    chosen.fit(X, y, sample_weight)
    given = set(machine.get_params(deep=False))
    vars(machine).update({k: v for k, v in vars(chosen).items() if k not in given})
    for name in axes.values:
        if "__" not in name:
            setattr(machine, f"{name}_", tuned.best[name])
    machine.search_ = tuned


def _search(machine: Any, axes: Axes, X: Any, y: Any, sample_weight: Any) -> Tuned:
    splits = list(check_cv(_FOLDS, y, classifier=is_classifier(machine)).split(X, y))
    race = Race(len(splits), 1.0)
    calm = {"probability": False} if "probability" in machine.get_params() else {}
    known: list[dict[str, Any]] = []
    more = axes.cells()
    while more:
        first = len(known)
        known += more
        race.enter(len(more))
        cells = [clone(machine).set_params(**cell, **calm) for cell in more]
        _race(cells, first, race, splits, X, y, sample_weight)
        more = axes.extended(known, race.scores.mean(axis=1))
    means = race.scores.mean(axis=1)
    return Tuned(known, race.scores, known[int(np.nanargmax(means))])


def _race(
    cells: list[Any], first: int, race: Race, splits: Any, X: Any, y: Any, sample_weight: Any
) -> None:
    """Score machines on folds, on shared matrices where they can."""

    def weights(rows: Any) -> Any:
        return None if sample_weight is None else np.asarray(sample_weight)[rows]

    def targets(rows: Any) -> Any:
        return _safe_indexing(y, rows)

    def tell(fitted: Fitted) -> None:
        test = splits[fitted.fold][1]
        score = fitted.on_test.score(test, targets(test), weights(test))
        race.record(first + fitted.cell, fitted.fold, score)

    alone = [(c, k) for c in range(len(cells)) for k in range(len(splits))]
    if cells[0]._shares_matrix and fits_memory(_num_samples(X)):
        folds = [Fold(X, targets(a), weights(a), a, b) for a, b in splits]
        fits = SharedFits(
            cells,
            folds,
            tell,
            lambda c: race.can_win(first + c),
            between=race.settle,
            promise=lambda c: race.bound(first + c),
        )
        fits.run(every_fold=False)
        alone = fits.failed
    for c, k in alone:
        train, test = splits[k]
        fitted = clone(cells[c])
        fitted.fit(*_safe_split(fitted, X, y, train), weights(train))
        inside, known = _safe_split(fitted, X, y, test, train)
        race.record(first + c, k, fitted.score(inside, known, weights(test)))
    race.settle()
