"""Kernel ridge regression against scikit-learn: one fit, and a search over widths and λ."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

GRID = {"gamma": np.geomspace(1e-3, 1e1, 20), "alpha": np.geomspace(1e-6, 1e2, 20)}


@cache
def _data(rows):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 20))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * random.standard_normal(rows)


def _machine(library):
    if library == OURS:
        from mercer import KernelRidge
    else:
        from sklearn.kernel_ridge import KernelRidge
    return KernelRidge(kernel="rbf")


def _fit(library, rows):
    X, y = _data(rows)
    machine = _machine(library)
    return lambda: machine.fit(X, y)


def _search(library, rows):
    from sklearn.model_selection import GridSearchCV, KFold

    X, y = _data(rows)
    kind = GridSearchCV
    if library == OURS:
        import mercer

        kind = partial(mercer.GridSearchCV, exhaustive=True)
    search = kind(_machine(library), GRID, cv=KFold(5), n_jobs=2)
    # Two processes with two threads of BLAS each would take ten times as long.
    return lambda: _with_single_threads(search.fit, X, y)


def _with_single_threads(fit, X, y):
    from joblib import parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        return fit(X, y)


def _same_residual(models, *, rows):
    """Compare residuals, all computed by ``certify`` from the data."""
    from mercer import certify

    X, y = _data(rows)
    worst = {name: certify(model, X, y).stationarity for name, model in models.items()}
    if worst[OURS] > 2 * worst["scikit-learn"] + 1e-14:
        raise Disagreement(f"our residual is {worst[OURS]:.1e}: {worst}")
    return "Largest residuals: " + ", ".join(f"{n} {value:.1e}" for n, value in worst.items())


def _same_winner(searches):
    ours, theirs = searches[OURS], searches["scikit-learn"]
    if ours.best_params_ != theirs.best_params_:
        raise Disagreement(f"we chose {ours.best_params_}, scikit-learn {theirs.best_params_}")
    return f"Same winner, score {ours.best_score_:.6f} and {theirs.best_score_:.6f}."


def _cases(scale):
    libraries = (OURS, "scikit-learn")
    rows, few = max(200, scaled(10_000, scale)), max(100, scaled(1_000, scale))
    return [
        InProcess(
            label=f"KernelRidge RBF, {rows:,} × 20",
            contenders={name: partial(_fit, name, rows) for name in libraries},
            check=partial(_same_residual, rows=rows),
            scale=scale,
        ),
        InProcess(
            label=f"20 × 20 grid, 5 folds, {few:,} × 20",
            contenders={name: partial(_search, name, few) for name in libraries},
            check=_same_winner,
            scale=scale,
        ),
    ]


JOB = Job("kernel_ridge", "Kernel ridge: 10,000 rows, and a 20 × 20 grid", _cases, repeats=3)
