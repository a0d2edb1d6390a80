"""Leave-one-out of a support vector machine: small systems against warm starts and n fits."""

from dataclasses import replace
from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

GAMMA, TOL = 0.1, 1e-6
"""The width, and the tolerance of the fits without a row: values agree to about it."""
WARM, PLAIN = "mercer, warm starts", "scikit-learn, n fits"


@cache
def _data(rows):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * random.standard_normal(rows) > 0
    return X, y.astype(int)


@cache
def _fitted(rows, cost):
    from mercer import SVC

    return SVC(C=cost, gamma=GAMMA).fit(*_data(rows))


def _ours(rows, cost):
    from mercer import leave_one_out

    machine, (X, y) = _fitted(rows, cost), _data(rows)
    return lambda: leave_one_out(machine, X, y).decisions


def _warm(rows, cost):
    """Solve each problem without a row by the solver of the machine, from its answer."""
    from mercer.gram.given import GivenGram
    from mercer.solvers.base import Budget
    from mercer.solvers.svm.box_qp import BoxQPSolver

    machine, (X, y) = _fitted(rows, cost), _data(rows)
    fit = machine.restate(X, y, None, "benchmark")
    ((_, problem),), coefficients = fit.plan.problems, fit.coefficients[:, 0]
    K = fit.gram.dense()

    def values():
        found = machine.decision_function(X)
        for i in machine.support_:
            lo, hi, start = problem.lo.copy(), problem.hi.copy(), coefficients.copy()
            lo[i] = hi[i] = start[i] = 0.0
            part = replace(problem, lo=lo, hi=hi)
            budget = Budget(tol=TOL, max_iter=-1)
            beta = BoxQPSolver().run(part, GivenGram(K), budget, part.feasible(start)).value
            F = problem.p - K @ beta
            free = (beta > lo) & (beta < hi)
            found[i] = K[i] @ beta + (F[free].mean() if free.any() else np.median(F))
        return found

    return values


def _plain(rows, cost):
    from sklearn.model_selection import LeaveOneOut, cross_val_predict
    from sklearn.svm import SVC

    X, y = _data(rows)
    machine = SVC(C=cost, gamma=GAMMA, tol=TOL)
    return lambda: cross_val_predict(
        machine, X, y, cv=LeaveOneOut(), method="decision_function", n_jobs=1
    )


def _agree(values):
    others = [found for name, found in values.items() if name != OURS]
    apart = max((float(np.abs(values[OURS] - found).max()) for found in others), default=0.0)
    if apart > 1e-3:
        raise Disagreement(f"the values are {apart:.1e} apart")
    return f"Largest difference of the values: {apart:.1e}."


def _cases(scale):
    rows = max(100, scaled(1_000, scale))
    return [
        InProcess(
            label=f"SVC, RBF, {rows:,} rows, C = {cost:g}",
            contenders={
                OURS: partial(_ours, rows, cost),
                WARM: partial(_warm, rows, cost),
                PLAIN: partial(_plain, rows, cost),
            },
            check=_agree,
            scale=scale,
        )
        for cost in (0.1, 1.0, 10.0, 100.0)
    ]


JOB = Job("leave_one_out", "Leave-one-out of a support vector machine", _cases, repeats=1)
