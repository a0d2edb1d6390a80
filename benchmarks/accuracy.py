"""How good the answers for small tables are, beside published scores of other methods.

A folder holds tables, ``NAME.csv`` or ``NAME.csv.gz`` with the target in a column ``Class``, and
``published.csv``: a row for each table and a column for each model. The protocol is that of the
published scores: four stratified folds, average precision, weighted by classes where there are
more than two. All choices are made inside the training rows. Methods are to be chosen on one half
of the tables, ``--tables choice``, and reported on the other, ``--tables report``.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environment import limit_threads
from benchmarks.options import positive

if TYPE_CHECKING:
    import pandas

FOLDS = 4
"""As the published scores have it."""
SEED = 0
"""Of the folds, as published, and of the halves of the tables."""
TARGET = "Class"
"""The column to predict."""


@dataclass(frozen=True)
class TableScore:
    """What mercer reached on one table: means over the folds, seconds of wall and of CPU."""

    name: str
    rows: int
    columns: int
    score: float
    log_loss: float
    seconds: float
    cpu_seconds: float


def halves(names: list[str]) -> tuple[list[str], list[str]]:
    """Return the tables for choosing methods and those for reporting, by a fixed shuffle."""
    order = np.random.default_rng(SEED).permutation(len(names))
    ordered = sorted(names)
    middle = (len(names) + 1) // 2
    return (
        sorted(ordered[i] for i in order[:middle]),
        sorted(ordered[i] for i in order[middle:]),
    )


def score_table(name: str, frame: pandas.DataFrame, time_limit: float | None) -> TableScore:
    """Run the protocol on one table."""
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold

    from mercer import AutoClassifier

    labels, y = np.unique(frame[TARGET].to_numpy(), return_inverse=True)
    X = frame.drop(columns=TARGET)
    scores, losses = [], []
    began, cpu = time.perf_counter(), time.process_time()
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for train, test in splitter.split(X, y):
        model = AutoClassifier(time_limit=time_limit).fit(X.iloc[train], y[train])
        found = model.predict_proba(X.iloc[test])
        p = np.zeros((len(test), len(labels)))
        p[:, model.classes_] = found
        scores.append(average_precision(y[test], p))
        losses.append(log_loss(y[test], p, labels=range(len(labels))))
    return TableScore(
        name,
        len(X),
        X.shape[1],
        float(np.mean(scores)),
        float(np.mean(losses)),
        (time.perf_counter() - began) / FOLDS,
        (time.process_time() - cpu) / FOLDS,
    )


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
    scores = []
    for name in wanted:
        files = [p for p in (options.data / f"{name}.csv.gz", options.data / f"{name}.csv")]
        found = next((path for path in files if path.exists()), None)
        if found is None:
            parser.error(f"{options.data} has no table {name}.csv or {name}.csv.gz")
        score = score_table(name, pandas.read_csv(found), options.time_limit)
        scores.append(score)
        beside = "  ".join(f"{other} {published.loc[name, other]:.4f}" for other in others)
        print(
            f"{name:36} {score.rows:5} × {score.columns:<4} mercer {score.score:.4f}  {beside}  "
            f"log loss {score.log_loss:.3f}  {score.seconds:.1f} s, {score.cpu_seconds:.1f} s CPU",
            flush=True,
        )
    print(summary(scores, published).round(4).to_string())
    seconds = np.array([score.seconds for score in scores])
    print(f"seconds for a fold: median {np.median(seconds):.1f}, most {seconds.max():.1f}")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(score) for score in scores], indent=1))
    return 0
