"""Lasso on wide and on tall data against skglm, celer and scikit-learn."""

import warnings
from functools import partial

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Job
from benchmarks.linear_cases import compare, largest_alpha, lasso_value, regression


def _fit(library, shape):
    if library == OURS:
        from mercer import Lasso
    elif library == "celer":
        from celer import Lasso
    elif library == "skglm":
        from skglm import Lasso
    else:
        from sklearn.linear_model import Lasso
    X, y = regression(*shape)
    alpha = largest_alpha(*shape) / 100

    def call():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of peers that stop before their tolerance
            return Lasso(alpha=alpha).fit(X, y)

    return call


def _compare(models, *, shape):
    X, y = regression(*shape)
    alpha = largest_alpha(*shape) / 100
    values = {name: lasso_value(X, y, model.coef_, alpha) for name, model in models.items()}
    return compare(values, 1e-6, models[OURS].certificate_.relative_gap)


def _cases(scale):
    wide, tall = (500, scaled(20_000, scale)), (scaled(20_000, scale), 500)
    peers = {wide: ("skglm", "celer"), tall: ("scikit-learn", "skglm", "celer")}
    return [
        InProcess(
            label=f"{shape[0]:,} × {shape[1]:,}",
            contenders={name: partial(_fit, name, shape) for name in (OURS, *peers[shape])},
            check=partial(_compare, shape=shape),
            scale=scale,
        )
        for shape in (wide, tall)
    ]


JOB = Job("lasso", "Lasso at a hundredth of the largest penalty, wide and tall", _cases, repeats=7)
