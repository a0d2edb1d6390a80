"""What else people use, each with its default settings: to be compared on the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from mercer import _parallel
from mercer._typing import Objects, Targets
from mercer.report.paired import Said, of_all_classes
from mercer.study.references import UsualColumns

_SMALL = 2_500
"""Rows up to which threads of boosting mostly wait for each other: with 300 rows on two busy cores
two threads took fifty times as long as one."""

Maker = Callable[[int, int], Any]
"""From a seed and a number of threads to an estimator that is not fitted."""


@dataclass(frozen=True)
class Method:
    """A method of another library: its name, the library, and how it is made for each task.

    ``spins`` says that its threads wait for each other in loops, as those of OpenMP do.
    """

    name: str
    library: str
    classifier: Maker
    regressor: Maker
    takes_sparse: bool = True
    spins: bool = False

    @property
    def installed(self) -> bool:
        """Whether the library is there."""
        return find_spec({"scikit-learn": "sklearn"}.get(self.library, self.library)) is not None


def _of(path: str, threads: str = "", **settings: Any) -> Maker:
    """Return how an estimator is made; nothing is imported before. ``threads`` is a parameter."""

    def make(random_state: int, count: int) -> Any:
        from importlib import import_module

        module, _, name = path.rpartition(".")
        seeded = {} if name == "Ridge" else {"random_state": random_state}
        parallel = {threads: count} if threads else {}
        return getattr(import_module(module), name)(**settings, **parallel, **seeded)

    return make


def _boosted(name: str, prefix: str, threads: str, spins: bool, **settings: Any) -> Method:
    """Return boosting by a library of its own, whose package has its name in small letters."""
    package = name.lower()
    classifier, regressor = (
        _of(f"{package}.{prefix}{kind}", threads=threads, **settings)
        for kind in ("Classifier", "Regressor")
    )
    return Method(name, package, classifier, regressor, spins=spins)


METHODS = (
    Method(
        "linear model", "scikit-learn",
        _of("sklearn.linear_model.LogisticRegression", max_iter=1000),
        _of("sklearn.linear_model.Ridge"),
    ),
    Method(
        "random forest", "scikit-learn",
        _of("sklearn.ensemble.RandomForestClassifier", threads="n_jobs"),
        _of("sklearn.ensemble.RandomForestRegressor", threads="n_jobs"),
    ),
    Method(
        "histogram boosting", "scikit-learn",
        _of("sklearn.ensemble.HistGradientBoostingClassifier"),
        _of("sklearn.ensemble.HistGradientBoostingRegressor"),
        takes_sparse=False, spins=True,
    ),
    _boosted(
        "CatBoost", "CatBoost", "thread_count", False, verbose=False, allow_writing_files=False
    ),
    _boosted("LightGBM", "LGBM", "n_jobs", True, verbose=-1),
    _boosted("XGBoost", "XGB", "n_jobs", True, verbosity=0),
)  # fmt: skip
"""All of them; those of libraries that are not installed are left out."""


def answers(
    method: Method,
    kinds: Mapping[str, str],
    train: tuple[Objects, Targets],
    X: Objects,
    classes: Any,
    random_state: int,
) -> Said:
    """Fit a method to training rows and return what it says of others.

    All methods see the columns that a linear model does: standardised numbers, zeros and ones for
    categories and letters, counts of words. ``classes`` are all labels, None for numbers.
    """
    columns = UsualColumns(dict(kinds)).fit(train[0])
    E, new = columns.transform(train[0]), columns.transform(X)
    if not method.takes_sparse and sparse.issparse(E):
        E, new = E.toarray(), new.toarray()
    alone = method.spins and len(train[1]) <= _SMALL
    threads = 1 if alone else _parallel.thread_count()
    limit = threadpool_limits(1, user_api="openmp") if alone else nullcontext()
    with warnings.catch_warnings(), limit:
        warnings.simplefilter("ignore")  # of other libraries
        if classes is None:
            model = method.regressor(random_state, threads).fit(E, train[1])
            return Said(np.asarray(model.predict(new), dtype=float).ravel())
        seen, codes = np.unique(train[1], return_inverse=True)
        model = method.classifier(random_state, threads).fit(E, codes)
        found = np.asarray(model.predict_proba(new), dtype=float)
    probabilities = of_all_classes(found, seen, classes, 0.0)
    decisions = probabilities[:, 1] if len(classes) == 2 else probabilities
    return Said(probabilities.argmax(axis=1), decisions, probabilities)
