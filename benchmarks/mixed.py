"""Learnt weights of columns beside equal ones, on tables that mix numbers and categories.

``python -m benchmarks mixed --data FOLDER`` fits ``AutoClassifier`` or ``AutoRegressor`` as is,
and once more with equal weights only, on the same five folds. The gain is in AUC, or in R² for
numbers, with the standard error of Nadeau and Bengio, which knows that training sets overlap.
"""

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np

FOLDS = 5
MOST_ROWS = 1_500
"""Rows of a table, drawn with seed 0."""

CLASSES, NUMBERS = "tabular_classification", "tabular_regression"


def _german(folder):
    frame = _read(folder, CLASSES, "german/german.csv", header=None)
    return frame.drop(columns="20"), frame["20"].astype(str)


def _heart(folder):
    frame = _read(folder, CLASSES, "heart_cleveland/processed.cleveland.data", na_values="?")
    categories = dict.fromkeys(("Sex", "CPT", "FBS", "RER", "EIA", "SOPE", "Thal"), str)
    return frame.drop(columns="Target").astype(categories), (frame["Target"] > 0).astype(str)


def _titanic(folder):
    frame = _read(folder, CLASSES, "titanic/titanic.csv")
    # The other columns say the same in other words, alive even the target.
    columns = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked", "deck"]
    return frame[columns].astype({"pclass": str}), frame["survived"].astype(str)


def _penguins(folder):
    frame = _read(folder, CLASSES, "penguins/penguins.csv")
    return frame.drop(columns="species"), frame["species"]


def _abalone(folder):
    frame = _read(folder, NUMBERS, "abalone/abalone.csv", header=None)
    return frame.drop(columns="8"), frame["8"].astype(float)


def _miles(folder):
    frame = _read(folder, NUMBERS, "auto_mpg/mpg.csv")
    return frame.drop(columns=["mpg", "name"]), frame["mpg"].astype(float)


TABLES = {
    "german": _german,
    "heart_cleveland": _heart,
    "titanic": _titanic,
    "penguins": _penguins,
    "abalone": _abalone,
    "auto_mpg": _miles,
}


def _read(folder, kind, name, **options):
    import pandas as pd

    frame = pd.read_csv(folder / kind / name, **options)
    return frame.rename(columns=str)


def main(arguments):
    """Print a row for each table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks mixed")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the tables")
    parser.add_argument("--only", default="", metavar="TEXT", help="tables with TEXT in the name")
    parser.add_argument("--seed", type=int, default=0, help="shuffles the folds (default: 0)")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print("| table | rows × columns | equal weights | learnt weights | gain | s of CPU |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, load in TABLES.items():
        if options.only in name:
            _show(name, *load(options.data), options.seed)
    return 0


def _show(name, X, y, seed):
    from sklearn.model_selection import KFold, StratifiedKFold

    is_classes = y.dtype != np.float64
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X, y = X.iloc[rows], y.iloc[rows]
    kind = StratifiedKFold if is_classes else KFold
    folds = list(kind(FOLDS, shuffle=True, random_state=seed).split(X, y))
    began = process_time()
    learnt = [_score(X, y, *fold, is_classes) for fold in folds]
    seconds = (process_time() - began) / FOLDS
    with _equal_weights():
        equal = [_score(X, y, *fold, is_classes) for fold in folds]
    gains = np.subtract(learnt, equal)
    error = np.sqrt((1 / FOLDS + 1 / (FOLDS - 1)) * gains.var(ddof=1))
    print(
        f"| {name} | {len(y):,} × {X.shape[1]} | {np.mean(equal):.4f} | {np.mean(learnt):.4f} | "
        f"{gains.mean():+.4f} ± {error:.4f} | {seconds:.1f} |",
        flush=True,
    )


def _score(X, y, train, test, is_classes):
    from sklearn.metrics import roc_auc_score

    from mercer import AutoClassifier, AutoRegressor

    if not is_classes:
        machine = AutoRegressor().fit(X.iloc[train], y.iloc[train])
        return machine.score(X.iloc[test], y.iloc[test])
    machine = AutoClassifier().fit(X.iloc[train], y.iloc[train])
    shares = machine.predict_proba(X.iloc[test])
    shares = shares[:, 1] if shares.shape[1] == 2 else shares
    return roc_auc_score(y.iloc[test], shares, multi_class="ovr")


class _equal_weights:  # noqa: N801
    """Only equal weights contend within."""

    def __enter__(self):
        from mercer.estimators.automatic import contest

        self.before = contest.POWERS, contest.MOST_COLUMNS
        contest.POWERS, contest.MOST_COLUMNS = (0.0,), -1

    def __exit__(self, *_):
        from mercer.estimators.automatic import contest

        contest.POWERS, contest.MOST_COLUMNS = self.before
