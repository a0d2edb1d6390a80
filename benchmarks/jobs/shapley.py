"""Exact Shapley values of an RBF machine against shapiq's exact explainer and shap's sampling."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

ROWS = 10
"""Rows that are explained: the peers take them one by one."""


@cache
def _fitted(points, columns):
    from sklearn.svm import SVC

    random = np.random.default_rng(0)
    X = random.standard_normal((points, columns))
    y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    return X, y, SVC(gamma=1 / columns).fit(X, y), random.standard_normal((ROWS, columns))


def _ours(points, columns):
    from mercer import SVC, explain

    X, y, theirs, new = _fitted(points, columns)
    machine = SVC(gamma=theirs.gamma, tol=1e-6).fit(X, y)
    return lambda: explain(machine, new).values


def _shapiq(points, columns):
    from shapiq.explainer.product_kernel import ProductKernelExplainer

    _, _, machine, new = _fitted(points, columns)
    explainer = ProductKernelExplainer(model=machine, max_order=1)
    return lambda: np.array([
        explainer.explain(row).get_n_order_values(1) for row in new
    ])  # fmt: skip


def _shap(points, columns):
    import shap

    X, _, machine, new = _fitted(points, columns)
    explainer = shap.KernelExplainer(machine.decision_function, X[:20], silent=True)
    return lambda: np.array(explainer.shap_values(new, nsamples=2 * columns + 64, silent=True))


def _agree(values):
    """Compare with the exact peer; shap plays another game, by sampling."""
    if "shapiq" not in values:
        return "No exact peer is installed."
    apart = float(np.abs(values[OURS] - values["shapiq"]).max())
    if apart > 1e-2:
        raise Disagreement(f"the values are {apart:.1e} apart")
    return f"Largest difference to shapiq: {apart:.1e}, that of two fits."


def _cases(scale):
    points = max(60, scaled(500, scale))
    return [
        InProcess(
            label=f"{ROWS} rows, {points:,} training rows, {columns} columns",
            contenders={
                OURS: partial(_ours, points, columns),
                "shapiq": partial(_shapiq, points, columns),
                "shap, sampled": partial(_shap, points, columns),
            },
            check=_agree,
            scale=scale,
        )
        for columns in (5, 10, 20, 50, 100)
    ]


JOB = Job("shapley", "Shapley values of an RBF machine, 5 to 100 columns", _cases, repeats=3)
