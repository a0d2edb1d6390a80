"""Machines that find their own parameters: ``C="auto"``, by cross-validation on a growing grid.

Machines reach this module by its name, when they have such parameters: see
:func:`mercer.estimators.base.tuner`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from mercer._files.fields import A, ListOf, Numbers, State
from mercer._interrupts import interruptible
from mercer._sklearn import num_samples, safe_indexing, safe_split
from mercer._typing import Array, IntArray, Model, Objects, SampleWeights, Targets
from mercer.exceptions import InvalidParameter
from mercer.tuning.grids import Axes
from mercer.tuning.race import Race
from mercer.tuning.ridge_choice import choose_ridge
from mercer.tuning.shared_fits import Fitted, Fold, SharedFits, fits_memory

__all__ = ["Tuned", "choose_ridge", "fit_tuned"]

_FOLDS = 5
"""As many as scikit-learn's searches take."""


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

    STATE: ClassVar[State] = {
        "candidates": ListOf(A(dict)),
        "scores": Numbers("candidates", "folds", finite=False),
        "best": A(dict),
    }


def fit_tuned(machine: Model, X: Objects, y: Targets, sample_weight: SampleWeights) -> None:
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
    machine.__dict__.update({k: v for k, v in vars(chosen).items() if k not in given})
    for name in axes.values:
        if "__" not in name:
            setattr(machine, f"{name}_", tuned.best[name])
    machine.search_ = tuned


def _search(
    machine: Model, axes: Axes, X: Objects, y: Targets, sample_weight: SampleWeights
) -> Tuned:
    splits = list(check_cv(_FOLDS, y, classifier=is_classifier(machine)).split(X, y))
    race = Race(len(splits), 1.0)
    calm = {"probability": False} if "probability" in machine.get_params() else {}
    known: list[dict[str, Any]] = []
    more = axes.cells()
    while more:
        made = [clone(machine).set_params(**cell, **calm) for cell in more]
        cells = dict(enumerate(made, len(known)))
        known += more
        race.enter(len(more))
        _race(cells, race, splits, X, y, sample_weight)
        more = axes.extended(known, race.scores.mean(axis=1))
    means = race.scores.mean(axis=1)
    return Tuned(known, race.scores, known[int(np.nanargmax(means))])


def _race(
    cells: Mapping[int, Model],
    race: Race,
    splits: Sequence[tuple[IntArray, IntArray]],
    X: Objects,
    y: Targets,
    sample_weight: SampleWeights,
) -> None:
    """Score machines on folds, on shared matrices where they can."""

    def weights(rows: IntArray) -> SampleWeights:
        return None if sample_weight is None else np.asarray(sample_weight)[rows]

    def targets(rows: IntArray) -> Targets:
        return safe_indexing(y, rows)

    def score(fits: Sequence[Fitted]) -> None:
        test = splits[fits[0].fold][1]
        known, heavy = targets(test), weights(test)
        for fitted in fits:
            race.record(fitted.cell, fitted.fold, fitted.on_test.score(test, known, heavy))

    alone = [(c, k) for c in cells for k in range(len(splits))]
    if next(iter(cells.values())).fits_by_plan and fits_memory(num_samples(X)):
        folds = [Fold.of(X, targets(a), weights(a), a, b) for a, b in splits]
        fits = SharedFits(cells, folds, score, race, between=race.settle)
        fits.run()
        alone = fits.failed
    for c, k in alone:
        train, test = splits[k]
        fitted = clone(cells[c])
        with interruptible():
            fitted.fit(*safe_split(fitted, X, y, train), weights(train))
        inside, known = safe_split(fitted, X, y, test, train)
        race.record(c, k, fitted.score(inside, known, weights(test)))
    race.settle()
