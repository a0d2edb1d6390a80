"""Jackknife+ intervals of kernel ridge and Gaussian processes against MAPIE's n fits."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

ALPHA, GAMMA = 0.5, 0.05
RIDGE, GP = "KernelRidge", "GaussianProcessRegressor"


@cache
def _data(rows):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows + 100, 10))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * random.standard_normal(len(X))
    return X[:rows], y[:rows], X[rows:]


def _our_machine(name):
    from mercer import RBF, GaussianProcessRegressor, KernelRidge

    if name == GP:
        return GaussianProcessRegressor(RBF(gamma=GAMMA), alpha=ALPHA, optimizer=None)
    return KernelRidge(ALPHA, kernel="rbf", gamma=GAMMA)


def _their_machine(name):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.kernel_ridge import KernelRidge

    class MeanOnly(GaussianProcessRegressor):
        """A process that forgets its factor: MAPIE keeps all n of them, 8 GB for 1,000 rows."""

        def fit(self, X, y):
            super().fit(X, y)
            del self.L_
            return self

    if name == GP:
        return MeanOnly(RBF((0.5 / GAMMA) ** 0.5), alpha=ALPHA, optimizer=None)
    return KernelRidge(alpha=ALPHA, kernel="rbf", gamma=GAMMA)


def _ours(name, rows):
    from mercer import Conformal

    X, y, new = _data(rows)
    machine = Conformal(_our_machine(name), level=0.9, method="jackknife+")
    return lambda: machine.fit(X, y).predict_interval(new)


def _mapie(name, rows):
    from mapie.regression import CrossConformalRegressor
    from sklearn.model_selection import LeaveOneOut

    X, y, new = _data(rows)

    def intervals():
        machine = CrossConformalRegressor(
            _their_machine(name), confidence_level=0.9, cv=LeaveOneOut(), method="plus"
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
            label=f"{name} RBF, {rows:,} rows, 100 intervals",
            contenders={OURS: partial(_ours, name, rows), "MAPIE": partial(_mapie, name, rows)},
            check=_agree,
            scale=scale,
        )
        for name in (RIDGE, GP)
    ]


JOB = Job("jackknife_plus", "Jackknife+ in closed form, 1,000 rows", _cases, repeats=3)
