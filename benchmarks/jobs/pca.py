"""Ten principal components by default settings against scikit-learn's fastest solver."""

from functools import partial
from operator import attrgetter

from benchmarks.gram_cases import scaled
from benchmarks.job import Job
from benchmarks.subspace_cases import cloud, fit_case

COLUMNS = 500


def _ours():
    from mercer import PCA

    return PCA(10)


def _theirs():
    from sklearn.decomposition import PCA

    return PCA(10, svd_solver="covariance_eigh")


def _data(rows):
    return (cloud(rows, COLUMNS),)


def _cases(scale):
    rows = max(6_000, scaled(20_000, scale))
    label = f"PCA {rows:,} × {COLUMNS}, 10 components"
    peer = "scikit-learn, covariance_eigh"
    data = partial(_data, rows)
    answer = attrgetter("explained_variance_")
    return [fit_case(label, _ours, _theirs, peer, data, answer, scale)]


JOB = Job("pca", "PCA, 20,000 × 500, 10 components, default settings", _cases, repeats=15)
