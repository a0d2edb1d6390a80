"""The search surface, read from results in scikit-learn's format."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mercer._typing import Array, Model, Parameter
from mercer.report import text
from mercer.report.record import Surface

LIMIT = 1000
"""Candidates in a report, the best first: more than these nobody reads."""


def surface(search: Model) -> Surface | None:
    """Return the scores of a fitted search; None where nothing was varied."""
    if search is None:
        return None
    results = search.cv_results_ if hasattr(search, "cv_results_") else _results(search)
    mean = _floats(results["mean_test_score"])
    names = [key for key in results if key.startswith("param_")]
    columns = {name: [_plain(value) for value in results[name]] for name in names}
    varied = [name for name in names if len({_key(value) for value in columns[name]}) > 1]
    if not varied or not np.isfinite(mean).any():
        return None
    dropped = np.asarray(results.get("dropped", np.zeros(len(mean))), dtype=bool)
    bound = _floats(results["bound"]) if "bound" in results else np.full(len(mean), np.nan)
    # The first of equals, as searches choose.
    best = int(getattr(search, "best_index_", np.nanargmax(mean)))
    kept = _kept(mean, best)
    values, places = [], []
    for name in varied:
        known = _ordered(columns[name])
        position = {_key(value): i for i, value in enumerate(known)}
        values.append([_value(value) for value in known])
        places.append([position[_key(columns[name][i])] for i in kept])
    return Surface(
        scoring=_scoring(search),
        folds=sum(key.startswith("split") for key in results),
        parameters=_short_names(varied),
        values=values,
        places=np.array(places, dtype=np.intp).T,
        mean=mean[kept],
        std=_floats(results.get("std_test_score", np.full(len(mean), np.nan)))[kept],
        dropped=dropped[kept],
        bound=bound[kept],
        best=int(np.flatnonzero(kept == best)[0]),
        total=len(mean),
    )


def _results(tuned: Model) -> dict[str, Any]:
    """Return what a machine found out about its own parameters, in scikit-learn's format."""
    scores = np.asarray(tuned.scores, dtype=float)
    return {
        **{f"param_{name}": [cell[name] for cell in tuned.candidates] for name in tuned.best},
        **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "dropped": np.isnan(scores).any(axis=1),
    }


def _kept(mean: Array, best: int) -> Any:
    """Return the entries to keep: all, or the best ones of very many, always with the winner."""
    if len(mean) <= LIMIT:
        return np.arange(len(mean))
    order = np.argsort(-np.nan_to_num(mean, nan=-np.inf), kind="stable")[:LIMIT]
    return np.sort(order) if best in order else np.sort(np.append(order[:-1], best))


def _short_names(names: list[str]) -> list[str]:
    """Return names as people say them: the last part, with the side of a sum where it is needed."""
    paths = [name.removeprefix("param_").split("__") for name in names]
    short = [path[-1] for path in paths]
    if len(set(short)) < len(short):
        short = [
            " ".join([*(part for part in path[:-1] if part in ("left", "right")), path[-1]])
            for path in paths
        ]
    if len(set(short)) < len(short):
        short = [" ".join(path) for path in paths]
    return [text.clean(name, 60) for name in short]


def _scoring(search: Model) -> str:
    scoring = getattr(search, "scoring", None)
    if isinstance(scoring, str):
        return text.clean(scoring.replace("_", " "), 40)
    estimator = getattr(search, "best_estimator_", getattr(search, "estimator", None))
    if scoring is not None or estimator is None:
        return "score"
    return "accuracy" if hasattr(estimator, "classes_") else "R²"


def _value(value: Parameter) -> str:
    """Write a value short enough for an axis."""
    plain = isinstance(value, float) and not isinstance(value, bool)
    return text.number(value, 3) if plain else text.cell(value, 40)


def _floats(values: Any) -> Array:
    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)


def _plain(value: Parameter) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _key(value: Parameter) -> Any:
    return value if isinstance(value, numbers.Real | str) else repr(value)


def _ordered(column: list[Any]) -> list[Any]:
    """Return the distinct values, numbers in their order, others as they came."""
    known = list({_key(value): value for value in column}.values())
    numeric = all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in known)
    return sorted(known) if numeric else known
