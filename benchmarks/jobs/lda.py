"""Linear discriminant analysis by default settings against scikit-learn's fastest solver."""

from functools import partial

from benchmarks.gram_cases import scaled
from benchmarks.job import Job
from benchmarks.subspace_cases import fit_case, labelled

COLUMNS = 200


def _ours():
    from mercer import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def _theirs():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis("lsqr")


def _weights(model):
    # Scores count up to a term that all classes share.
    return model.coef_ - model.coef_.mean(axis=0)


def _cases(scale):
    rows = max(2_000, scaled(20_000, scale))
    label = f"LDA {rows:,} × {COLUMNS}, 4 classes"
    data = partial(labelled, rows, COLUMNS)
    return [fit_case(label, _ours, _theirs, "scikit-learn, lsqr", data, _weights, scale)]


JOB = Job("lda", "LinearDiscriminantAnalysis, 20,000 × 200, default settings", _cases, repeats=15)
