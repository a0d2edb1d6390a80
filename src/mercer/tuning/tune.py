"""One call from data to a tuned machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from mercer._typing import Model, Objects, Parameter, SampleWeights, Seed, Targets
from mercer.estimators.scaling import NumericScaler
from mercer.exceptions import InvalidParameter
from mercer.kernels.encoders import as_narwhals, is_frame
from mercer.tuning.criteria import Criterion, criterion_of
from mercer.tuning.scoring import Watch
from mercer.tuning.search import GridSearchCV


def tune(
    estimator: Model,
    X: Objects,
    y: Targets = None,
    *,
    grid: Parameter = "auto",
    scale: bool = True,
    cv: Parameter = 5,
    scoring: Parameter = None,
    groups: Parameter = None,
    sample_weight: SampleWeights = None,
    exhaustive: bool = False,
    time_limit: float | None = None,
    random_state: Seed = None,
    verbose: bool = False,
    callback: Callable[[int, int, float], None] | None = None,
) -> GridSearchCV:
    """Choose the parameters of a machine by cross-validation and fit it; return the search.

    Parameters
    ----------
    estimator : estimator
        One of mercer's machines, or any other estimator with a ``grid``.
    X, y : data
    grid : dict, list of dict or "auto"
        Values of the machine's parameters; ``"auto"`` makes a logarithmic grid, which grows where
        the best point lies on an edge. Gaussian processes learn their parameters from the
        evidence; their grid is the form of the kernel, where none is given.
    scale : bool
        Standardise the numeric columns inside each training fold: the machine becomes the last
        step, ``machine``, of a pipeline. Pipelines, precomputed kernels and series stay as they
        are.
    cv : int, splitter or iterable
        The folds.
    scoring : str, callable or list, optional
        What decides; accuracy or R² by default. Gaussian processes have the log density of
        left-out targets. ``OneClassSVM`` has the area under the ROC curve where ``y`` tells rows
        that belong (1) from others (−1); without ``y`` its width is the one whose regions around
        left-out rows take the least room (the area under the mass-volume curve), and ν stays.
    groups, sample_weight : array of shape (n,), optional
        Rows of one group stay together (with a splitter for groups); weights of the rows.
    exhaustive : bool
        Compute every score, also of points that provably cannot win.
    time_limit : float, optional
        Seconds after which the best point so far is taken, with a warning; Ctrl-C does the same,
        and ends as usual where there is no score yet.
    random_state : int, optional
        Shuffle the rows before they are cut into ``cv`` folds.
    verbose : bool
        Show a bar.
    callback : function, optional
        Called as ``callback(done, total, best_score)`` while the search runs.

    Returns
    -------
    GridSearchCV
        Fitted: ``best_params_``, ``best_score_``, ``best_estimator_``, ``cv_results_``; it predicts
        as the best estimator does.

    Examples
    --------
    >>> from mercer import SVC, load_data, tune
    >>> heart = load_data("heart")
    >>> search = tune(SVC(), heart.X, heart.y, grid={"C": [0.1, 1.0, 10.0]}, cv=3, random_state=0)
    >>> bool(search.best_score_ > 0.75), sorted(search.best_params_)
    (True, ['machine__C'])
    """
    machine = estimator
    scaled = scale and not hasattr(estimator, "steps") and _has_numbers(estimator, X)
    if scaled:
        estimator = Pipeline([("scale", NumericScaler()), ("machine", machine)])
    chosen = criterion_of(estimator, X, y, Criterion(grid, scoring, cv), random_state)
    grid, scoring, cv = chosen.grid, chosen.scoring, chosen.cv
    if scoring is None and not hasattr(estimator, "score"):
        raise InvalidParameter(
            f"tune: {type(machine).__name__} has no score to choose by. Give scoring, and y for a "
            "scoring that compares with it: scoring='balanced_accuracy' with y of 1 and −1."
        )
    if scaled:
        grid = _renamed(grid, estimator)
    if random_state is not None and isinstance(cv, int):
        kind = StratifiedKFold if is_classifier(machine) else KFold
        cv = kind(cv, shuffle=True, random_state=random_state)
    search = GridSearchCV(
        estimator, grid, scoring=scoring, cv=cv, exhaustive=exhaustive, time_limit=time_limit
    )
    params = {} if groups is None else {"groups": groups}
    if sample_weight is not None:
        name = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
        params[f"{name}sample_weight"] = sample_weight
    with _shown(type(machine).__name__, verbose, callback) as watch, search.using(watch):
        search.fit(X, y, **params)
    return search


def _has_numbers(estimator: Model, X: Objects) -> bool:
    """Whether there are columns of numbers to scale."""
    kernel = getattr(estimator, "kernel", None)
    if isinstance(kernel, str) and kernel == "precomputed":
        return False
    encoders: Any = getattr(kernel, "encoders", dict)()
    if encoders and not any(encoder.by_column for encoder in encoders):
        return False
    if is_frame(X):
        return any(dtype.is_numeric() for dtype in as_narwhals(X).schema.values())
    if sparse.issparse(X):
        return True
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return False
    return array.ndim == 2 and array.dtype.kind in "fiub"


def _renamed(grid: Parameter, pipeline: Pipeline) -> Any:
    """Let the names of the machine's parameters mean those of the last step."""
    if isinstance(grid, str):
        return grid
    if isinstance(grid, list):
        return [_renamed(part, pipeline) for part in grid]
    known = pipeline.get_params()
    return {
        f"machine__{name}" if name not in known and f"machine__{name}" in known else name: values
        for name, values in grid.items()
    }


@contextmanager
def _shown(name: str, verbose: bool, callback: Watch | None) -> Iterator[Watch | None]:
    """Yield what a search is to call while it runs."""
    if not verbose:
        yield callback
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f}, best {task.fields[best]:.4g}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(f"tuning {name}", total=1, best=math.nan)

        def show(done: int, total: int, best: float) -> None:
            progress.update(task, completed=done, total=total, best=best)
            if callback is not None:
                callback(done, total, best)

        yield show
