"""Kernel ridge on landmarks at 200,000 rows against scikit-learn's Nystroem and Ridge."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

GAMMA, ALPHA = 1 / 40, 1e-6


@cache
def _data(rows):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows + 20_000, 20))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.standard_normal(len(X))
    return X[:rows], y[:rows], X[rows:], y[rows:]


def _fit(library, rows, count):
    X, y, *_ = _data(rows)
    if library == OURS:
        from mercer import RBF, Nystrom, StreamedRidge

        machine = StreamedRidge(
            ALPHA * rows, kernel=RBF(gamma=GAMMA), approximation=Nystrom(count, "uniform")
        )
    else:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline

        features = Nystroem(gamma=GAMMA, n_components=count, random_state=0)
        machine = make_pipeline(features, Ridge(ALPHA * rows))
    return lambda: machine.fit(X, y)


def _same_error(models, *, rows):
    """Compare errors on rows that no machine has seen."""
    *_, X, y = _data(rows)
    errors = {name: float(((m.predict(X) - y) ** 2).mean() ** 0.5) for name, m in models.items()}
    if errors[OURS] > 1.01 * min(errors.values()):
        raise Disagreement(f"our error is larger: {errors}")
    return "Errors on new rows: " + ", ".join(f"{n} {e:.5f}" for n, e in errors.items())


def _cases(scale):
    rows, count = max(500, scaled(200_000, scale)), max(50, scaled(2_000, scale))
    return [
        InProcess(
            label=f"ridge, {rows:,} × 20, {count:,} landmarks",
            contenders={n: partial(_fit, n, rows, count) for n in (OURS, "scikit-learn")},
            check=partial(_same_error, rows=rows),
            scale=scale,
        )
    ]


JOB = Job("streamed_ridge", "Kernel ridge on landmarks, 200,000 rows", _cases, repeats=3)
