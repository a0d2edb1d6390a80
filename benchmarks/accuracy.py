"""How good the answers for small tables are, beside published scores of other methods.

A folder holds tables, ``NAME.csv`` or ``NAME.csv.gz`` with the target in a column ``Class``, and
``published.csv``: a row for each table and a column for each model. The protocol is that of the
published scores: four stratified folds, average precision, weighted by classes where there are
more than two. All choices are made inside the training rows. Methods are to be chosen on one half
of the tables, ``--tables choice``, and reported on the other, ``--tables report``. Probabilities
have no published scores: ``--machine catboost`` measures those of CatBoost, and ``--beside FILE``
prints the log loss and the calibration error of an earlier run next to ours.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environment import limit_threads
from benchmarks.options import positive
from benchmarks.shipped_tables import halves

if TYPE_CHECKING:
    import pandas

FOLDS = 4
"""As the published scores have it."""
SEED = 0
"""Of the folds, as published."""
TARGET = "Class"
"""The column to predict."""


BINS = 10
"""Of confidences in the calibration error, as is usual."""
FLOOR = 1e-15
"""Probabilities below count as this in the log loss: scikit-learn's for float64."""


@dataclass(frozen=True)
class TableScore:
    """What a machine reached on one table, and its seconds of wall and of CPU for a fold.

    The score is the mean over the folds; log loss and calibration error are those of all rows,
    each answered by the machine of the fold that left it out.
    """

    name: str
    rows: int
    columns: int
    score: float
    log_loss: float
    calibration_error: float
    seconds: float
    cpu_seconds: float


def score_table(
    name: str, frame: pandas.DataFrame, make: Callable[[pandas.DataFrame], Any]
) -> TableScore:
    """Run the protocol on one table, with the machines that ``make`` gives for its columns."""
    from sklearn.model_selection import StratifiedKFold

    labels, y = np.unique(frame[TARGET].to_numpy(), return_inverse=True)
    X = frame.drop(columns=TARGET)
    scores, p = [], np.zeros((len(y), len(labels)))
    began, cpu = time.perf_counter(), time.process_time()
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for train, test in splitter.split(X, y):
        model = make(X).fit(X.iloc[train], y[train])
        p[np.ix_(test, model.classes_)] = model.predict_proba(X.iloc[test])
        scores.append(average_precision(y[test], p[test]))
    return TableScore(
        name,
        len(X),
        X.shape[1],
        float(np.mean(scores)),
        float(-np.log(np.maximum(p[np.arange(len(y)), y], FLOOR)).mean()),
        calibration_error(y, p),
        (time.perf_counter() - began) / FOLDS,
        (time.process_time() - cpu) / FOLDS,
    )


def calibration_error(y: np.ndarray, p: np.ndarray) -> float:
    """Return the mean of |confidence − accuracy| over ten bins of the confidence."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    off = np.bincount(places, confidence - right, minlength=BINS)
    return float(np.abs(off).sum() / len(y))


def _mercer(time_limit: float | None) -> Callable[[pandas.DataFrame], Any]:
    from mercer import AutoClassifier

    return lambda X: AutoClassifier(time_limit=time_limit)


def _catboost(iterations: int | None) -> Callable[[pandas.DataFrame], Any]:
    """Return CatBoost with its default settings, but for the number of trees where it is given."""
    from catboost import CatBoostClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    def make(X: pandas.DataFrame) -> Any:
        texts = list(X.select_dtypes(exclude="number"))
        model = CatBoostClassifier(
            iterations=iterations, cat_features=texts, verbose=False, thread_count=1,
            allow_writing_files=False,
        )  # fmt: skip
        known = FunctionTransformer(
            lambda part: part.assign(**part[texts].astype(object).fillna("missing"))
        )
        return make_pipeline(known, model)

    return make


def average_precision(y: np.ndarray, p: np.ndarray) -> float:
    """Return the published measure: of the second class, or weighted by classes."""
    from sklearn.metrics import average_precision_score
    from sklearn.preprocessing import label_binarize

    if p.shape[1] == 2:
        return float(average_precision_score(y, p[:, 1]))
    one_hot = label_binarize(y, classes=range(p.shape[1]))
    return float(average_precision_score(one_hot, p, average="weighted"))


def summary(scores: list[TableScore], published: pandas.DataFrame) -> pandas.DataFrame:
    """Return mean score, mean rank and wins of all models on the tables that were run."""
    table = published.loc[[score.name for score in scores]].copy()
    table.insert(0, "mercer", [score.score for score in scores])
    ranks = table.rank(axis=1, ascending=False)
    best = table.eq(table.max(axis=1), axis=0)
    return _frame(
        {
            "mean score": table.mean(),
            "mean rank": ranks.mean(),
            "wins": best.sum(),
            "beaten by mercer": table.lt(table["mercer"], axis=0).sum(),
        }
    ).sort_values("mean score", ascending=False)


def probabilities(ours: pandas.DataFrame, other: pandas.DataFrame) -> pandas.DataFrame:
    """Return the mean log loss and calibration error of two machines on the tables of both."""
    beside = other.set_index("name").add_suffix(" beside")
    both = ours.set_index("name").join(beside, how="inner")
    measures = ["log_loss", "calibration_error"]
    return _frame(
        {
            "ours": [both[each].mean() for each in measures],
            "beside": [both[f"{each} beside"].mean() for each in measures],
            "ours not above": [int((both[m] <= both[f"{m} beside"]).sum()) for m in measures],
            "tables": len(both),
        }
    ).set_axis(measures)


def _frame(columns: dict[str, Any]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(columns)


def main(arguments: list[str]) -> int:
    """Print the scores table by table, then the summary."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks accuracy", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--tables",
        nargs="+",
        default=["all"],
        metavar="NAME",
        help="choice, report, all, or names of tables (default: all)",
    )
    parser.add_argument("--time-limit", type=positive(float), help="seconds for each fold")
    parser.add_argument("--machine", choices=["mercer", "catboost"], default="mercer")
    parser.add_argument("--iterations", type=positive(int), help="trees of CatBoost")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="results of another machine")
    parser.add_argument("--threads", type=positive(int), default=2, help="threads (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    options = parser.parse_args(arguments)
    limit_threads(options.threads)
    import pandas

    source = options.data / "published.csv"
    if not source.exists():
        parser.error(f"{options.data} has no published.csv with the scores of other models")
    published = pandas.read_csv(source, index_col=0)
    choice, report = halves(list(published.index))
    groups = {"choice": choice, "report": report, "all": sorted(published.index)}
    wanted = [name for given in options.tables for name in groups.get(given, [given])]
    unknown = [name for name in wanted if name not in published.index]
    if unknown:
        parser.error(f"published.csv has no table {unknown[0]!r}")
    others = [name for name in ("catboost", "random_forest") if name in published]
    make = (
        _mercer(options.time_limit)
        if options.machine == "mercer"
        else _catboost(options.iterations)
    )
    scores = []
    for name in wanted:
        files = [p for p in (options.data / f"{name}.csv.gz", options.data / f"{name}.csv")]
        found = next((path for path in files if path.exists()), None)
        if found is None:
            parser.error(f"{options.data} has no table {name}.csv or {name}.csv.gz")
        score = score_table(name, pandas.read_csv(found), make)
        scores.append(score)
        beside = "  ".join(f"{other} {published.loc[name, other]:.4f}" for other in others)
        print(
            f"{name:36} {score.rows:5} × {score.columns:<4} {options.machine} {score.score:.4f}  "
            f"{beside}  log loss {score.log_loss:.3f}, calibration error "
            f"{score.calibration_error:.3f}  {score.seconds:.1f} s, {score.cpu_seconds:.1f} s CPU",
            flush=True,
        )
    print(summary(scores, published).round(4).to_string())
    seconds = np.array([score.seconds for score in scores])
    print(f"seconds for a fold: median {np.median(seconds):.1f}, most {seconds.max():.1f}")
    if options.beside is not None:
        other = pandas.DataFrame(json.loads(options.beside.read_text()))
        print(probabilities(pandas.DataFrame(map(asdict, scores)), other).round(4).to_string())
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(score) for score in scores], indent=1))
    return 0
