"""Gram matrices of k-mer counts against CountVectorizer and a sparse product."""

from functools import partial

from benchmarks.gram_cases import agree, scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Job
from benchmarks.string_cases import dna


def _mercer(rows, k):
    from mercer import Spectrum

    return partial(Spectrum(k), dna(rows))


def _sklearn(rows, k):
    from sklearn.feature_extraction.text import CountVectorizer

    def call():
        counter = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False)
        counts = counter.fit_transform(dna(rows)).astype(float)
        return (counts @ counts.T).toarray()

    return call


def _cases(scale):
    rows = scaled(500, scale)
    return [
        InProcess(
            label=f"k = {k}, {rows} strings of 200 letters",
            contenders={
                OURS: partial(_mercer, rows, k),
                "scikit-learn": partial(_sklearn, rows, k),
            },
            check=partial(agree, tolerance=0.0),
            scale=scale,
        )
        for k in (3, 4, 5, 6)
    ]


JOB = Job("string_spectrum", "Spectrum Gram matrix, 500 strings of 200 letters", _cases)
