"""Paths of 100 lassos on wide and on tall data against celer and scikit-learn."""

import warnings
from functools import partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Job
from benchmarks.linear_cases import compare, regression

LAST = 1e-2
"""The smallest penalty as a share of the largest."""


def _path(library, shape):
    X, y = regression(*shape)
    alphas = np.abs(X.T @ y).max() / len(y) * np.geomspace(1, LAST, 100)
    if library == "celer":
        from celer import celer_path

        run = partial(celer_path, X, y, "lasso", alphas=alphas)
    else:
        if library == OURS:
            from mercer import lasso_path
        else:
            from sklearn.linear_model import lasso_path
        run = partial(lasso_path, X, y, alphas=alphas)

    def call():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of peers that stop before their tolerance
            return run()

    return call


def _compare(results, *, shape):
    X, y = regression(*shape)
    values, gap = {}, 0.0
    for name, (alphas, coefs, gaps) in results.items():
        R = y[:, None] - X @ coefs
        penalties = np.asarray(alphas) * np.abs(coefs).sum(axis=0)
        objectives = (R**2).sum(axis=0) / (2 * len(y)) + penalties
        values[name] = float(objectives.sum())
        if name == OURS:
            gap = float((gaps / objectives).max())
    return compare(values, 1e-6, gap)


def _cases(scale):
    wide, tall = (500, scaled(20_000, scale)), (scaled(20_000, scale), 500)
    return [
        InProcess(
            label=f"{shape[0]:,} × {shape[1]:,}",
            contenders={name: partial(_path, name, shape) for name in (OURS, peer)},
            check=partial(_compare, shape=shape),
            scale=scale,
        )
        for shape, peer in ((wide, "celer"), (tall, "scikit-learn"))
    ]


JOB = Job("lasso_path", "Lasso paths of 100 penalties, wide and tall", _cases, repeats=5)
