"""Global alignment kernel of all pairs."""

from benchmarks.job import Job
from benchmarks.series_cases import series_case

SIGMA = 2.0


def _mercer():
    from mercer import GlobalAlignment

    return GlobalAlignment(SIGMA)


def _tslearn():
    from tslearn.metrics import cdist_gak

    # One job, its default: a brief try of two looked slower.
    return lambda X: cdist_gak(X.transpose(0, 2, 1), sigma=SIGMA)


def _cases(scale):
    contenders = {"mercer": _mercer, "tslearn": _tslearn}
    return [
        series_case(
            "Global alignment", contenders, rows=300, length=100, scale=scale, tolerance=1e-10
        )
    ]


JOB = Job(
    "global_alignment", "Global alignment kernel, 300 × 300 series of length 100", _cases, repeats=3
)
