"""What people use instead: a linear model and a random forest, on the same rows as the machine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from mercer import _parallel
from mercer._typing import Array, Column, Model, Objects, Targets
from mercer.estimators.base import take_objects
from mercer.report.paired import FittedReference
from mercer.study.plan import Plan
from mercer.study.split_rows import draw

MOST_ROWS = 20_000
"""Rows that references learn from, drawn from more: a forest takes seconds for these."""
MOST_SECONDS = 10.0
"""Seconds for all references together, where no time limit was given."""
SHARE_OF_LIMIT = 0.1
"""The share of a time limit that references may take."""
TREES = 100
"""Trees of a forest: scikit-learn's default."""
FEWEST_TREES = 20
"""Fewer trees are not what people call a forest."""
UNTRIED = "The usual methods were not tried beside the model: "
NO_TIME = f"{UNTRIED}there was no time left."
"""A doubt about a model: nobody knows what else would have reached."""
SAMPLED = "The usual methods learnt from "
"""How a note begins which says that they saw a part of the training rows alone."""
_FIRST_TREES = 4
"""Trees that are grown to see how long a tree takes."""
_DENSE_CELLS = 5_000_000
"""Cells up to which a table is kept dense, which is faster: 40 MB."""
_MOST_WORDS = 20_000
"""Different words or pieces of a column of texts that are counted, the most frequent ones."""


class NoReference(Exception):
    """Why the usual methods cannot take these columns, in words."""


def usual_methods(
    plan: Plan, X: Objects, y: Targets, stopped: str, time_limit: float | None, notes: list[str]
) -> list[FittedReference]:
    """Fit references to the training rows, or note why they were not tried.

    A contest that reached its limit has left some of the time for them. Of many rows they see
    some, and their names say so.
    """
    seconds = MOST_SECONDS
    if time_limit is not None:
        seconds = min(seconds, SHARE_OF_LIMIT * time_limit)
    late = time_limit is not None and time.perf_counter() > plan.began + time_limit
    if stopped == "interrupted" or (stopped and late):
        notes.append(NO_TIME)
        return []
    try:
        some = draw(y, plan.table.task != "number", MOST_ROWS, plan.random_state)
        fitted = fit_references(
            take_objects(X, some), np.asarray(y)[some], plan.prepared.schema.kinds,
            classes=plan.table.task != "number", seconds=seconds, random_state=plan.random_state,
        )  # fmt: skip
    except NoReference as why:
        notes.append(f"{UNTRIED}{why}.")
        return []
    if len(fitted) < 2:
        notes.append(
            "A random forest was not tried beside the model: it would take more than "
            f"{seconds:.2g} s."
        )
    if len(some) == len(y):
        return fitted
    notes.append(
        f"{SAMPLED}{len(some):,} of the {len(y):,} training rows, drawn at random; the rows that "
        "judge them are the same."
    )
    return [replace(r, name=f"{r.name} on {len(some):,} rows") for r in fitted]


def fit_references(
    X: Objects, y: Targets, kinds: Mapping[str, str], *, classes: bool, seconds: float,
    random_state: int,
) -> list[FittedReference]:  # fmt: skip
    """Fit a linear model and a forest to prepared rows, within about so many seconds.

    Numbers are standardised; categories become columns of zeros and ones, as do the letters at
    each place of sequences of equal length; of texts, words are counted, of other strings pieces of
    up to three letters. Raises :class:`NoReference` where columns have no such form.
    """
    began = time.perf_counter()
    columns = UsualColumns(dict(kinds)).fit(X)
    E = columns.transform(X)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a reference that did not converge
        for name, model in _fitted(E, y, classes, began + seconds, random_state):
            pipeline = Pipeline([("columns", columns), ("model", model)])
            found.append(FittedReference(name, pipeline, time.perf_counter() - began))
            began = time.perf_counter()
    return found


def _fitted(
    E: Any, y: Targets, classes: bool, deadline: float, random_state: int
) -> Iterator[tuple[str, Model]]:
    from sklearn.linear_model import LogisticRegression, Ridge

    linear, name = (LogisticRegression(), "logistic regression") if classes else (
        Ridge(), "ridge regression",
    )  # fmt: skip
    yield name, linear.fit(E, y)
    forest = _grow(E, y, classes, deadline, random_state)
    if forest is not None:
        trees = len(forest.estimators_)
        yield "random forest" if trees == TREES else f"random forest of {trees} trees", forest


def _grow(E: Any, y: Targets, classes: bool, deadline: float, random_state: int) -> Any:
    """Grow as many trees as there is time for; None if they are too few."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    began = time.perf_counter()
    kind = RandomForestClassifier if classes else RandomForestRegressor
    forest = kind(
        _FIRST_TREES, warm_start=True, n_jobs=_parallel.thread_count(), random_state=random_state
    ).fit(E, y)
    each = (time.perf_counter() - began) / _FIRST_TREES
    count = min(TREES, int((deadline - began) / each))
    return None if count < FEWEST_TREES else forest.set_params(n_estimators=count).fit(E, y)


class UsualColumns(TransformerMixin, BaseEstimator):
    """Columns of a prepared table in the form that the usual methods take: numbers alone.

    Parameters
    ----------
    kinds : dict
        What each column holds, as in the schema of a table; a sparse matrix needs none.
    """

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds = kinds

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Learn means, categories, places and words."""
        if sparse.issparse(X):
            from sklearn.preprocessing import MaxAbsScaler

            self.parts_: Any = MaxAbsScaler().fit(X)
            return self
        self.parts_ = {name: _part(name, kind, X[name]) for name, kind in self.kinds.items()}
        return self

    def transform(self, X: Objects) -> Any:
        """Return a matrix of numbers, dense where it is small."""
        if sparse.issparse(X):
            E = sparse.csr_matrix(self.parts_.transform(X))
        else:
            blocks = [part.transform(_cells(kind, X[name])) for name, kind, part in self._each()]
            if sum(block.shape[0] * block.shape[1] for block in blocks) <= _DENSE_CELLS:
                dense = [b.toarray() if sparse.issparse(b) else b for b in blocks]
                return np.hstack(dense).astype(np.float64)
            E = sparse.hstack([sparse.csr_matrix(block) for block in blocks], format="csr")
        small = E.shape[0] * E.shape[1] <= _DENSE_CELLS
        return E.toarray() if small else E

    def _each(self) -> Iterator[tuple[str, str, Any]]:
        for name, part in self.parts_.items():
            yield name, self.kinds[name], part

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "parts_")


def _part(name: str, kind: str, column: Column) -> Any:
    """Return a fitted transformer for the cells of one column."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import OneHotEncoder

    if kind == "graph":
        raise NoReference(f"{name} holds graphs, which they do not take")
    cells = _cells(kind, column)
    if kind == "series" and cells.dtype == object:
        raise NoReference(f"the series of {name} differ in length, which they do not take")
    if kind in ("number", "series"):
        return _Standardised(cells)
    if kind == "category":
        return OneHotEncoder(handle_unknown="ignore").fit(cells)
    if kind == "sequence" and len({len(cell) for cell in cells}) == 1:
        return _Places().fit(cells)
    of_words = kind in ("text", "phrase")
    words = of_words and any(len(cell) > 1 for text in cells for cell in text.split())
    counter = CountVectorizer(max_features=_MOST_WORDS) if words else CountVectorizer(
        analyzer="char", ngram_range=(1, 3), lowercase=False, max_features=_MOST_WORDS,
    )  # fmt: skip
    try:
        return counter.fit(cells)
    except ValueError:
        raise NoReference(f"the texts of {name} have no words") from None


def _cells(kind: str, column: Column) -> Any:
    """Return a column as its transformer takes it: an array with columns, or a list of texts."""
    if kind == "number":
        return np.asarray(column.to_numpy(), dtype=float)[:, None]
    values = column.to_pylist()
    if kind == "category":
        return np.array([str(value) for value in values], dtype=object)[:, None]
    if kind == "series":
        return _flat(values)
    return values


def _flat(series: list[Any]) -> Array:
    """Return series as rows of one matrix; an array of objects where their lengths differ."""
    try:
        return np.array(series, dtype=float).reshape(len(series), -1)
    except ValueError:
        return np.array([None] * len(series), dtype=object)


class _Standardised:
    """Numbers less their mean, over their deviation: (x − x̄)/s.

    scikit-learn's scaler checks so much that thousands of columns take it seconds.
    """

    def __init__(self, cells: Array) -> None:
        self.mean = cells.mean(axis=0)
        deviation = cells.std(axis=0)
        tiny = 10 * np.finfo(np.float64).eps * np.abs(cells).max(axis=0, initial=0.0)
        self.scale = np.where(deviation > tiny, deviation, 1.0)

    def transform(self, cells: Array) -> Array:
        return np.asarray((cells - self.mean) / self.scale)


class _Places(TransformerMixin, BaseEstimator):
    """The letter at each place of sequences of one length, as zeros and ones."""

    def fit(self, X: list[str], y: Targets = None) -> Self:
        from sklearn.preprocessing import OneHotEncoder

        self.length_ = len(X[0])
        self.encoder_ = OneHotEncoder(handle_unknown="ignore").fit(self._letters(X))
        return self

    def transform(self, X: list[str]) -> Any:
        return self.encoder_.transform(self._letters(X))

    def _letters(self, X: list[str]) -> Any:
        # What is longer is cut, what is shorter ends in blanks: no place of training is a blank.
        return np.array([list(text[: self.length_].ljust(self.length_)) for text in X], dtype="U1")
