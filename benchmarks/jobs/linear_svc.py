"""Linear support vector machines against LIBLINEAR, judged by the objective they reach."""

import warnings
from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

COLUMNS = 50


@cache
def _data(rows):
    from sklearn.datasets import make_classification
    from sklearn.preprocessing import StandardScaler

    X, y = make_classification(rows, COLUMNS, n_informative=20, flip_y=0.05, random_state=0)
    return StandardScaler().fit_transform(X), y


def _fit(library, rows, loss, dual):
    if library == OURS:
        from mercer import LinearSVC
    else:
        from sklearn.svm import LinearSVC
    X, y = _data(rows)

    def call():
        with warnings.catch_warnings():
            # LIBLINEAR does not converge on the hinge loss within these passes.
            warnings.simplefilter("ignore")
            return LinearSVC(loss=loss, dual=dual, random_state=0).fit(X, y)

    return call


def _compare(results, *, rows, loss):
    """Our objective must be LIBLINEAR's or better."""
    X, y = _data(rows)
    values = {}
    for name, model in results.items():
        excess = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
        penalty = float((model.coef_**2).sum() + (model.intercept_**2).sum()) / 2
        values[name] = penalty + float((excess if loss == "hinge" else excess**2).sum())
    best = min(values.values())
    if values[OURS] > best * (1 + 1e-9):
        raise Disagreement(f"{OURS} reaches {values[OURS]:.6f}, the best is {best:.6f}")
    gap = results[OURS].certificate_.relative_gap
    shown = ", ".join(f"{name} {value:.4f}" for name, value in values.items())
    return f"Objectives: {shown}; our relative gap is {gap:.1e}."


def _cases(scale):
    rows = scaled(200_000, scale)
    return [
        InProcess(
            label=f"{loss}, {rows:,} × {COLUMNS}",
            contenders={
                OURS: partial(_fit, OURS, rows, loss, dual),
                "scikit-learn": partial(_fit, "scikit-learn", rows, loss, dual),
            },
            check=partial(_compare, rows=rows, loss=loss),
            scale=scale,
        )
        for loss, dual in (("hinge", True), ("squared_hinge", False))
    ]


JOB = Job("linear_svc", "LinearSVC, 200,000 × 50, hinge and squared hinge", _cases, repeats=3)
