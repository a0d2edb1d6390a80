"""Independent components of Laplace sources and of real recordings, to a slope of 1e-7."""

import os
from functools import partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.job import Job
from benchmarks.source_cases import laplace, source_case, speech

ECG = "MERCER_ECG"
"""Names a text file with the time and the leads of an ECG in columns, if there is one."""


def _leads():
    return np.loadtxt(os.environ[ECG])[:, 1:], None


def _cases(scale):
    rows = max(4_000, scaled(50_000, scale))
    cases = [
        source_case(f"ICA {rows:,} × 20, Laplace", partial(laplace, rows, 20), scale),
        source_case("ICA 3,540 × 16, speech", partial(speech, 16), scale),
        source_case("ICA 28,320 × 2, speech", partial(speech, 2), scale),
    ]
    if ECG in os.environ:
        cases.append(source_case("ICA, leads of an ECG", _leads, scale))
    return cases


JOB = Job("ica", "ICA to a slope of 1e-7: 20 Laplace sources, recorded speech", _cases)
