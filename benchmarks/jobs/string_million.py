"""A million short strings through 6-mer features and LinearSVC, in less than 4 GB."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

LENGTH = 50


@cache
def _data(rows, seed=0):
    """Return random DNA, half of it with the motif GATTACA somewhere."""
    random = np.random.default_rng(seed)
    letters = np.frombuffer(b"ACGT", dtype="S1")[random.integers(0, 4, (rows, LENGTH))]
    y = np.arange(rows) % 2
    places = random.integers(0, LENGTH - 7, rows)
    marked = np.flatnonzero(y)
    for j, letter in enumerate(b"GATTACA"):
        letters[marked, places[marked] + j] = bytes([letter])
    return letters.view(f"S{LENGTH}").ravel().astype(str).tolist(), y


def _fit(rows):
    from sklearn.pipeline import make_pipeline

    from mercer import FeatureMap, LinearSVC, Spectrum

    X, y = _data(rows)

    def call():
        pipe = make_pipeline(FeatureMap(Spectrum(6).normalized()), LinearSVC(random_state=0))
        return pipe.fit(X, y)

    return call


def _compare(results):
    """The machine must find the motif in strings that it has not seen, with a proof."""
    model = results[OURS]
    score = model.score(*_data(20_000, seed=1))
    if score < 0.9:
        raise Disagreement(f"the accuracy on new strings is {score:.3f} only")
    gap = model[-1].certificate_.relative_gap
    return f"Accuracy {score:.3f} on 20,000 new strings; our relative gap is {gap:.1e}."


def _cases(scale):
    rows = scaled(1_000_000, scale)
    return [
        InProcess(
            label=f"{rows:,} strings of {LENGTH} letters",
            contenders={OURS: partial(_fit, rows)},
            check=_compare,
            scale=scale,
            growth_limit=4 * 10**9,
        )
    ]


JOB = Job("string_million", "LinearSVC on 6-mers of a million strings", _cases, repeats=1)
