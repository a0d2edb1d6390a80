"""Dense Laplacian Gram matrix: L1 distances, which no matrix product can give."""

from functools import partial

from benchmarks.gram_cases import dense_gram
from benchmarks.job import Job

GAMMA = 0.01


def _mercer():
    from mercer import Laplacian

    return Laplacian(gamma=GAMMA)


def _sklearn():
    from sklearn.metrics.pairwise import laplacian_kernel

    return partial(laplacian_kernel, gamma=GAMMA)


def _cases(scale):
    contenders = {"mercer": _mercer, "scikit-learn": _sklearn}
    return [dense_gram("Laplacian", contenders, rows=8_000, columns=100, scale=scale)]


JOB = Job("gram_laplacian", "Laplacian Gram matrix, 8,000 × 100", _cases, repeats=5)
