"""Which kernel, which machine: scores on the data that come with mercer.

``python -m benchmarks.choosing [DATA …]`` prints a table for the guide. All kernels stand in one
machine, kernel ridge with λ by exact leave-one-out inside each training fold; all machines share
one kernel. Ten folds (five beyond 1,000 rows), shuffled with seed 0; the spread is the standard
error of the mean.
"""

import argparse
import warnings
from time import process_time

import numpy as np


def _numbers(name):
    from sklearn.preprocessing import scale

    from mercer import load_data

    data = load_data(name)
    return scale(data.X), data.y


def _column(name, column):
    from mercer import read_table

    table = read_table(name)
    return table.frame[column].to_pylist(), np.asarray(table.target)


def _series():
    from mercer import read_series

    data = read_series("gunpoint")
    return list(data.X), np.asarray(data.y)


def _graphs():
    from mercer import read_graphs

    data = read_graphs("solubility")
    return list(data.graphs), np.asarray(data.target)


def kernels_of_vectors():
    """Yield kernels of rows of numbers."""
    from mercer import RBF, Laplacian, Linear, Matern, Polynomial

    yield "Linear()", Linear()
    yield "Polynomial(2)", Polynomial(degree=2, gamma=0.1, coef0=1.0)
    yield 'RBF("auto")', RBF("auto")
    yield 'Matern(nu=1.5, "auto")', Matern(nu=1.5, length_scale="auto")
    yield 'Laplacian("auto")', Laplacian("auto")


def kernels_of_dna():
    """Yield kernels of strings of one length over four letters."""
    from mercer import GappyKmer, Mismatch, Spectrum, Subsequence

    for k in (2, 3, 4, 6):
        yield f"Spectrum({k})", Spectrum(k).normalized()
    yield "Mismatch(5, 1)", Mismatch(5, 1, alphabet="ACGT").normalized()
    yield "GappyKmer(4, 2)", GappyKmer(4, 2).normalized()
    yield "Subsequence(3, decay=0.5)", Subsequence(3, decay=0.5).normalized()


def kernels_of_texts():
    """Yield kernels of sentences."""
    from mercer import BagOfWords, Spectrum

    yield "BagOfWords()", BagOfWords().normalized()
    yield "BagOfWords(k=2)", BagOfWords(k=2).normalized()
    yield "BagOfWords() + BagOfWords(k=2)", BagOfWords().normalized() + BagOfWords(k=2).normalized()
    for k in (3, 5):
        yield f"Spectrum({k}) of letters", Spectrum(k).normalized()


def kernels_of_series():
    """Yield kernels of series."""
    from mercer import DTW, GlobalAlignment

    yield "DTW(band=0)", DTW(band=0)
    yield "DTW(band=10)", DTW(band=10)
    yield "GlobalAlignment()", GlobalAlignment()
    yield "GlobalAlignment(band=30)", GlobalAlignment(band=30)


def kernels_of_graphs():
    """Yield kernels of molecules."""
    from mercer import (
        RandomWalk,
        ShortestPath,
        WeisfeilerLehman,
        WeisfeilerLehmanOptimalAssignment,
    )

    for rounds in (1, 3):
        yield f"WeisfeilerLehman({rounds})", WeisfeilerLehman(rounds)
    yield "WeisfeilerLehman(3), normalised", WeisfeilerLehman(3).normalized()
    yield "WeisfeilerLehmanOptimalAssignment(3)", WeisfeilerLehmanOptimalAssignment(3)
    yield "ShortestPath()", ShortestPath()
    yield "RandomWalk(0.3)", RandomWalk(0.3, degree_normalized=True)


def with_ridge(kernels, *, classes):
    """Yield kernel ridge machines with these kernels, λ by leave-one-out."""
    from mercer import KernelRidge, KernelRidgeClassifier

    for name, kernel in kernels:
        if classes:
            yield name, KernelRidgeClassifier(kernel=kernel)
        else:
            yield name, KernelRidge("auto", kernel=kernel, fit_intercept=True)


def machines_for_classes():
    """Yield machines with the Gaussian kernel, tuned inside each fold."""
    from mercer import (
        RBF,
        AutoClassifier,
        GaussianProcessClassifier,
        KernelRidgeClassifier,
        LogisticRegression,
    )

    yield "LogisticRegression()", LogisticRegression()
    yield "SVC, C and γ by folds", _Tuned("SVC")
    yield "KernelRidgeClassifier", KernelRidgeClassifier(kernel=RBF("auto"))
    yield "GaussianProcessClassifier", GaussianProcessClassifier(RBF(gamma=0.05))
    yield "AutoClassifier()", AutoClassifier()


def machines_for_numbers():
    """Yield machines for a number with the Gaussian kernel, tuned inside each fold."""
    from mercer import RBF, AutoRegressor, KernelRidge, Lasso, Ridge

    yield "Ridge()", Ridge()
    yield "Lasso(1)", Lasso(1.0)
    yield "SVR, C and γ by folds", _Tuned("SVR")
    yield "KernelRidge", KernelRidge("auto", kernel=RBF("auto"), fit_intercept=True)
    yield "AutoRegressor()", AutoRegressor()


class _Tuned:
    """A support vector machine whose C and width ``tune`` chooses."""

    def __init__(self, name):
        self.name = name

    def fit(self, X, y):
        import mercer

        self.search = mercer.tune(getattr(mercer, self.name)(), X, y)
        return self

    def score(self, X, y):
        return self.search.score(X, y)


def studies():
    """Return data and contenders by title."""
    return {
        "heart": (
            lambda: _numbers("heart"),
            lambda: with_ridge(kernels_of_vectors(), classes=True),
        ),
        "diabetes": (
            lambda: _numbers("diabetes"),
            lambda: with_ridge(kernels_of_vectors(), classes=False),
        ),
        "promoters": (
            lambda: _column("promoters", "dna"),
            lambda: with_ridge(kernels_of_dna(), classes=True),
        ),
        "reviews": (
            lambda: _column("reviews", "text"),
            lambda: with_ridge(kernels_of_texts(), classes=True),
        ),
        "gunpoint": (_series, lambda: with_ridge(kernels_of_series(), classes=True)),
        "solubility": (_graphs, lambda: with_ridge(kernels_of_graphs(), classes=False)),
        "heart, machines": (lambda: _numbers("heart"), machines_for_classes),
        "diabetes, machines": (lambda: _numbers("diabetes"), machines_for_numbers),
    }


def scores(X, y, machine, folds):
    """Return the score on each fold."""
    from sklearn.base import clone

    found = []
    for train, test in folds:
        fresh = clone(machine) if hasattr(machine, "get_params") else machine
        take = [[X[i] for i in rows] if isinstance(X, list) else X[rows] for rows in (train, test)]
        found.append(fresh.fit(take[0], y[train]).score(take[1], y[test]))
    return np.array(found)


def main(arguments=None):
    """Print a table for each set of data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choosing", description=__doc__)
    parser.add_argument("data", nargs="*", help="names of data sets; all without them")
    options = parser.parse_args(arguments)
    from sklearn.model_selection import KFold, StratifiedKFold

    warnings.simplefilter("ignore")
    for title, (data, contenders) in studies().items():
        if options.data and title not in options.data:
            continue
        X, y = data()
        kind = KFold if np.issubdtype(np.asarray(y).dtype, np.floating) else StratifiedKFold
        count = 10 if len(y) <= 1000 else 5
        folds = list(kind(count, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
        print(f"\n| {title} | score | s |\n| --- | --- | --- |")
        for name, machine in contenders():
            start = process_time()
            found = scores(X, y, machine, folds)
            spread = found.std(ddof=1) / len(found) ** 0.5
            seconds = (process_time() - start) / len(found)
            print(f"| `{name}` | {found.mean():.3f} ± {spread:.3f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
