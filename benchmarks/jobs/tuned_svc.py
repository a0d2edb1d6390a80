"""Grid search for SVC against scikit-learn's, with scikit-learn's and intelex's machines."""

from functools import partial

from benchmarks.job import Job
from benchmarks.svm_cases import sizes
from benchmarks.tuned_cases import search_case


def _cases(scale):
    n = partial(sizes, scale=scale)
    return [
        search_case(
            f"SVC, 8 × 8 grid, 5 folds, {n(rows):,} × 20, {'all cells' if every else 'dropping'}",
            n(rows),
            scale,
            every,
        )
        for rows in (2_000, 5_000)
        for every in (True, False)
    ]


JOB = Job("tuned_svc", "Tuned SVC over an 8 × 8 grid, 2,000 and 5,000 rows", _cases, repeats=3)
