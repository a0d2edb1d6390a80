"""L1 regression to the exact optimum against statsmodels and HiGHS."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Job
from benchmarks.linear_cases import compare

COLUMNS = 50


@cache
def _data(rows):
    random = np.random.default_rng(0)
    A = np.column_stack([random.normal(size=(rows, COLUMNS - 1)), np.ones(rows)])
    return A, A @ random.normal(size=COLUMNS) + random.standard_t(2, size=rows)


def _fit(library, rows):
    A, b = _data(rows)
    if library == OURS:
        from mercer import NormRegressor

        return lambda: NormRegressor(1, fit_intercept=False).fit(A, b).coef_
    if library == "statsmodels":
        from statsmodels.regression.quantile_regression import QuantReg

        return lambda: np.asarray(QuantReg(b, A).fit(0.5, p_tol=1e-10, max_iter=10_000).params)
    from scipy import sparse
    from scipy.optimize import linprog

    one = sparse.eye_array(rows)
    program = sparse.hstack([sparse.csc_array(A), one, -one], format="csc")
    costs = np.r_[np.zeros(COLUMNS), np.ones(2 * rows)]
    bounds = [(None, None)] * COLUMNS + [(0, None)] * 2 * rows
    method = {"HiGHS": "highs", "HiGHS interior point": "highs-ipm"}[library]
    return lambda: linprog(costs, A_eq=program, b_eq=b, bounds=bounds, method=method).x[:COLUMNS]


def _compare(weights, *, rows):
    from mercer import NormRegressor

    A, b = _data(rows)
    values = {name: float(np.abs(b - A @ w).sum()) for name, w in weights.items()}
    gap = NormRegressor(1, fit_intercept=False).fit(A, b).certificate_.relative_gap
    return compare(values, 1e-12, gap)


def _cases(scale):
    rows = max(200, scaled(5_000, scale))
    names = (OURS, "statsmodels", "HiGHS", "HiGHS interior point")
    return [
        InProcess(
            label=f"{rows:,} × {COLUMNS}",
            contenders={name: partial(_fit, name, rows) for name in names},
            check=partial(_compare, rows=rows),
            scale=scale,
        )
    ]


JOB = Job("l1_regression", "L1 regression, 5,000 × 50, exact", _cases, repeats=3)
