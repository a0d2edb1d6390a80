"""Dynamic time warping distances of all pairs."""

from functools import partial

from benchmarks.job import Job
from benchmarks.series_cases import series_case


def _mercer(band=None):
    from mercer import dtw_distances

    return partial(dtw_distances, band=band)


def _aeon(band=None):
    import warnings

    from aeon.distances import dtw_pairwise_distance

    warnings.filterwarnings("ignore", module="aeon")
    warnings.filterwarnings("ignore", message="unsafe cast")
    return partial(dtw_pairwise_distance, window=band, n_jobs=2)


def _cases(scale):
    size = {"rows": 500, "length": 100, "scale": scale, "tolerance": 1e-9}
    return [
        series_case("DTW", {"mercer": _mercer, "aeon, 2 jobs": _aeon}, **size),
        series_case(
            "DTW, band of 10 steps",
            {"mercer": partial(_mercer, 10), "aeon, 2 jobs": partial(_aeon, 0.1)},
            **size,
        ),
    ]


JOB = Job("dtw", "DTW distances, 500 × 500 series of length 100", _cases, repeats=5)
