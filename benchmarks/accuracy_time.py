"""Accuracy against time of classifiers on a9a and USPS: ``python -m benchmarks.accuracy_time``.

Takes the folder of the data (``a9a/adult.trn.bz2`` …, ``usps/zip.train.gz`` …) and the picture to
write. Training is timed, predictions are not; times are medians of three fits.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import numpy as np

COUNTS = (100, 300, 1000)
TICKS = (0.3, 1, 3, 10, 20)
TREES = (10, 30, 100)


def a9a(folder):
    """32,561 and 16,281 people, 123 binary columns, two classes."""
    from sklearn.datasets import load_svmlight_file

    read = [
        load_svmlight_file(str(folder / name), n_features=123, zero_based=True)
        for name in ("adult.trn.bz2", "adult.tst.bz2")
    ]
    (X, y), (T, u) = ((X.toarray(), y) for X, y in read)
    return X, y, T, u, 0.05, 1.0


def usps(folder):
    """7,291 and 2,007 digits of 16 × 16, ten classes."""
    train, test = (np.loadtxt(folder / f"zip.{part}.gz") for part in ("train", "test"))
    return train[:, 1:], train[:, 0].astype(int), test[:, 1:], test[:, 0].astype(int), 1 / 128, 10.0


def contenders(gamma, C):
    """Yield a family, a size, and a machine."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from mercer import RBF, SVC, StreamedClassifier

    for count in COUNTS:
        yield (
            "landmarks (mercer)",
            count,
            StreamedClassifier(C, kernel=RBF(gamma=gamma), approximation=count, tol=1e-2),
        )
    for count in COUNTS:
        features = Nystroem(gamma=gamma, n_components=count, random_state=0)
        linear = LogisticRegression(C=C, max_iter=300)
        yield "Nystroem + linear (scikit-learn)", count, make_pipeline(features, linear)
    for trees in TREES:
        yield (
            "gradient boosting (scikit-learn)",
            trees,
            HistGradientBoostingClassifier(max_iter=trees, random_state=0, early_stopping=False),
        )
    yield "exact SVC (mercer)", 0, SVC(C=C, kernel=RBF(gamma=gamma))


def seconds_of_fit(machine, X, y):
    """Return how long a fit takes, once the threads of the fit before have fallen asleep."""
    sleep(0.3)
    start = perf_counter()
    machine.fit(X, y)
    return perf_counter() - start


def measure(sets):
    """Return rows of set, family, size, seconds and accuracy."""
    rows = []
    for name, (X, y, T, u, gamma, C) in sets.items():
        for family, size, machine in contenders(gamma, C):
            machine.fit(X[:3000], y[:3000])  # compiled code and imports do not count
            seconds = median(seconds_of_fit(machine, X, y) for _ in range(3))
            score = float(machine.score(T, u))
            rows.append([name, family, size, round(seconds, 3), round(score, 4)])
            print(*rows[-1], flush=True)
    return rows


def draw(rows, path):
    """Draw one picture for each set, time on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    names = list(dict.fromkeys(row[0] for row in rows))
    figure, all_axes = plt.subplots(1, len(names), figsize=(10, 4), layout="constrained")
    for axes, name in zip(np.atleast_1d(all_axes), names, strict=True):
        families = dict.fromkeys(row[1] for row in rows)
        for family, marker, colour in zip(families, "osD*", ("C0", "C1", "C2", "C3"), strict=False):
            part = [row for row in rows if row[0] == name and row[1] == family]
            axes.semilogx(
                [row[3] for row in part], [100 * row[4] for row in part],
                marker=marker, color=colour, label=family, markersize=11 if marker == "*" else 6,
            )  # fmt: skip
            for row in part:
                if row[2]:
                    place = (row[3], 100 * row[4])
                    axes.annotate(f"{row[2]:,}", place, (4, -11), textcoords="offset points",
                                  fontsize=7, color=colour)  # fmt: skip
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.set_xlim(0.25, 25)
        axes.set_title(name)
        axes.set_xlabel("seconds of training")
        axes.set_ylabel("accuracy on the test set in %")
        axes.grid(alpha=0.3)
    np.atleast_1d(all_axes)[0].legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    """Measure, or draw what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a9a", type=Path)
    parser.add_argument("usps", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--results", type=Path, help="a JSON file, read where it is there")
    given = parser.parse_args()
    if given.results and given.results.exists():
        rows = json.loads(given.results.read_text())
    else:
        sets = {"a9a, 32,561 × 123": a9a(given.a9a), "USPS, 7,291 × 256": usps(given.usps)}
        rows = measure(sets)
        if given.results:
            given.results.write_text(json.dumps(rows))
    draw(rows, given.picture)


if __name__ == "__main__":
    main()
