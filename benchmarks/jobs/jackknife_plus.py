"""Jackknife+ intervals of kernel ridge regression in closed form against MAPIE's n fits."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

ALPHA, GAMMA = 0.5, 0.05


@cache
def _data(rows):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows + 100, 10))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * random.standard_normal(len(X))
    return X[:rows], y[:rows], X[rows:]


def _ours(rows):
    from mercer import Conformal, KernelRidge

    X, y, new = _data(rows)
    machine = Conformal(
        KernelRidge(ALPHA, kernel="rbf", gamma=GAMMA), level=0.9, method="jackknife+"
    )
    return lambda: machine.fit(X, y).predict_interval(new)


def _mapie(rows):
    from mapie.regression import CrossConformalRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import LeaveOneOut

    X, y, new = _data(rows)

    def intervals():
        machine = CrossConformalRegressor(
            KernelRidge(alpha=ALPHA, kernel="rbf", gamma=GAMMA),
            confidence_level=0.9,
            cv=LeaveOneOut(),
            method="plus",
        )
        machine.fit_conformalize(X, y)
        return machine.predict_interval(new)[1][:, :, 0]

    return intervals


def _agree(intervals):
    if "MAPIE" not in intervals:
        return "No peer is installed."
    apart = float(np.abs(intervals[OURS] - intervals["MAPIE"]).max())
    if apart > 1e-6:
        raise Disagreement(f"the intervals are {apart:.1e} apart")
    return f"Largest difference of the ends: {apart:.1e}."


def _cases(scale):
    rows = max(50, scaled(1_000, scale))
    return [
        InProcess(
            label=f"KernelRidge RBF, {rows:,} rows, 100 intervals",
            contenders={OURS: partial(_ours, rows), "MAPIE": partial(_mapie, rows)},
            check=_agree,
            scale=scale,
        )
    ]


JOB = Job("jackknife_plus", "Jackknife+ of kernel ridge, 1,000 rows", _cases, repeats=3)
