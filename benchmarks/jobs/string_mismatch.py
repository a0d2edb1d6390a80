"""Mismatch (4, 1) Gram matrix against strkernel.

strkernel needs an environment of its own (it wants Biopython); elsewhere it is left out. It takes
about 24 s for this job, on two cores of the machine on which the others were measured.
"""

from functools import partial

import numpy as np

from benchmarks.gram_cases import agree, scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Job
from benchmarks.string_cases import dna


def _mercer(rows):
    from mercer import Mismatch

    return partial(Mismatch(4, 1), dna(rows))


def _strkernel(rows):
    from strkernel.mismatch_kernel import MismatchKernel, preprocess

    def call():
        codes = preprocess(dna(rows))
        features = MismatchKernel(l=4, k=4, m=1).get_kernel(codes, normalize=False)
        counts = np.asarray(features.leaf_kmers if features.kernel is None else features.kernel)
        return counts.astype(float)

    return call


def _cases(scale):
    rows = scaled(500, scale)
    return [
        InProcess(
            label=f"k = 4, m = 1, {rows} strings of 200 letters",
            contenders={OURS: partial(_mercer, rows), "strkernel": partial(_strkernel, rows)},
            check=partial(agree, tolerance=0.0),
            scale=scale,
        )
    ]


JOB = Job("string_mismatch", "Mismatch Gram matrix, 500 strings of 200 letters", _cases, repeats=1)
