"""How the time of a fit grows with the number of rows, against both peers."""

from functools import partial

from benchmarks.job import Job
from benchmarks.svm_cases import classification, fit_case, sizes

ROWS = (2_000, 5_000, 10_000, 20_000, 50_000)


def _cases(scale):
    cases = []
    for rows in ROWS:
        n = sizes(rows, scale)
        data = partial(classification, n, 20)
        cases.append(fit_case(f"SVC {n:,} × 20, C = 1", "SVC", data, scale))
    n = sizes(100_000, scale)
    data = partial(classification, n, 20)
    cases.append(fit_case(f"SVC {n:,} × 20, C = 1, alone", "SVC", data, scale, ()))
    return cases


JOB = Job("svc_growth", "Fits of SVC from 2,000 to 100,000 rows", _cases, repeats=5)
