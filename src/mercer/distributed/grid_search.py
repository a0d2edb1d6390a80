"""A search for parameters whose fits run on many machines."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from dask.base import is_dask_collection

from mercer._typing import Array, Client, IntArray, Model, Objects, Targets
from mercer.distributed.cluster import Cluster
from mercer.distributed.pieces import DistributedChunks, partitions
from mercer.landmarks.chunks import Chunk, join_rows
from mercer.tuning.grids import Axes
from mercer.tuning.race import Race, Scorer
from mercer.tuning.scoring import Evaluation, Result, Stopped
from mercer.tuning.search import GridSearchCV

_TASKS_A_THREAD = 3
"""Tasks of a search for each thread of the cluster, at least, where there are as many."""


def fit_search(
    search: GridSearchCV, X: Objects, y: Targets, client: Client, params: dict[str, Any]
) -> GridSearchCV:
    """Fit a search with one task for each kernel and some folds; return the search.

    The tasks run the code of one machine on all rows of a fold. Every score is computed, as
    ``exhaustive=True`` does here.
    """
    cluster = Cluster(client)
    params = {name: _here(cluster, value) for name, value in params.items()}
    if is_dask_collection(X):
        chunks = DistributedChunks(cluster, X, y)
        data = cluster.submit(_join, *chunks.pieces)
        if y is not None:
            y = np.concatenate(chunks.each(_targets))
        # Splitters ask how many rows there are, and look at y.
        X = np.empty((chunks.rows, 0))
    else:
        y = _here(cluster, y)
        data = cluster.put(X)
    with search.using(evaluation=partial(DistributedEvaluation, cluster, data)):
        search.fit(X, y, **params)
    return search


class DistributedEvaluation(Evaluation):
    """The results of all candidates of a search; all fits are tasks for workers."""

    def __init__(self, cluster: Cluster, data: Objects, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cluster, self.data = cluster, data
        study = _Study(
            self.estimator,
            self.y,
            self.splits,
            self.scorers,
            self.fit_params,
            self.score_params,
            self.metric,
            {**self.options, "verbose": 0},
        )
        self.study = cluster.put(study)

    def axes(self) -> Axes:
        axes: Axes = self.cluster.fetch(self.cluster.submit(Axes.of, self.estimator, self.data))
        return axes

    def fitted(self, estimator: Model) -> Any:
        return self.cluster.fetch(self.cluster.submit(_fit, self.study, self.data, estimator))

    def _share(self, cells: Sequence[int]) -> list[tuple[int, int]]:
        """Do all fits; those of one kernel on some folds share its matrix."""
        groups = self._groups(cells)
        # Folds that stay together share one matrix, if there is enough to do without cutting them.
        wanted = -(-_TASKS_A_THREAD * self.cluster.threads() // max(1, len(groups)))
        folds = np.array_split(np.arange(len(self.splits)), min(wanted, len(self.splits)))
        jobs = [(some.tolist(), group) for some in folds for group in groups]
        many = len(jobs)
        tasks = self.cluster.map(
            _evaluate,
            [self.study] * many,
            [self.data] * many,
            [some for some, _ in jobs],
            [[self.candidates[cell] for cell in group] for _, group in jobs],
        )
        for (some, group), task in zip(jobs, tasks, strict=True):
            try:
                results, early_stops = self.cluster.fetch(task, self._deadline)
            except TimeoutError:
                raise Stopped from None
            self.early_stops |= early_stops
            for cell, row in zip(group, results, strict=True):
                for fold, result in zip(some, row, strict=True):
                    self._keep(cell, fold, result)
            self._between()
        return []

    def _groups(self, cells: Sequence[int]) -> list[list[int]]:
        """Return cells that a worker had better fit together."""
        groups: dict[Any, list[int]] = defaultdict(list)
        for cell in cells:
            parts = self._parts(cell)
            if parts is None:
                groups[cell].append(cell)
            else:
                machine = parts.machine
                groups[parts.key, machine.kernel_argument, machine.strict].append(cell)
        return list(groups.values())


@dataclass(frozen=True, eq=False)
class _Study:
    """All that the fits of a search have in common, but for the objects."""

    estimator: Model
    y: Targets
    splits: Sequence[tuple[IntArray, IntArray]]
    scorers: Scorer
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    metric: str | None
    options: dict[str, Any]

    def on(self, X: Objects, folds: Sequence[int]) -> _Part:
        """Return the evaluation of some folds, on one thread: Dask runs several at a time."""
        return _Part(
            self.estimator,
            X,
            self.y,
            [self.splits[fold] for fold in folds],
            self.scorers,
            self.fit_params,
            self.score_params,
            Race(len(folds), math.inf),
            self.metric,
            options=self.options,
            n_jobs=1,
            ends=math.inf,
            watch=None,
        )


class _Part(Evaluation):
    """An evaluation that leaves it to others to warn."""

    def _warn_early_stops(self) -> None:
        pass


def _evaluate(
    study: _Study, X: Objects, folds: list[int], candidates: list[dict[str, Any]]
) -> tuple[list[list[Result]], set[str]]:
    part = study.on(X, folds)
    part.add(candidates)
    return [
        [result for result in row if result is not None] for row in part.results
    ], part.early_stops


def _fit(study: _Study, X: Objects, estimator: Model) -> Any:
    return study.on(X, range(len(study.splits))).fitted(estimator)


def _join(*chunks: Chunk) -> Any:
    return join_rows([chunk.X for chunk in chunks])


def _targets(chunk: Chunk) -> Array:
    targets: Array = chunk.y
    return targets


def _here(cluster: Cluster, value: Targets) -> Any:
    """Bring numbers that belong to rows here, where they are elsewhere."""
    if not is_dask_collection(value):
        return value
    parts = partitions(value, "y")
    with cluster.client.as_current():
        return np.concatenate([np.asarray(p) for p in cluster.fetch(cluster.client.compute(parts))])
