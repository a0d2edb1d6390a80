"""Product of a Gram matrix with a vector, without the matrix: 20 GB if it were formed."""

from functools import partial

import numpy as np

from benchmarks.gram_cases import agree, normal, scaled
from benchmarks.in_process import InProcess
from benchmarks.job import Job

GAMMA = 0.05
CHUNK = 500
GROWTH_LIMIT = 1_000_000_000


def _mercer(X, v):
    from mercer import RBF, Gram

    return lambda: Gram(RBF(gamma=GAMMA), X) @ v


def _chunks(X, v):
    from sklearn.metrics.pairwise import rbf_kernel

    def product():
        rows = range(0, len(X), CHUNK)
        return np.concatenate(
            [rbf_kernel(X[start : start + CHUNK], X, gamma=GAMMA) @ v for start in rows]
        )

    return product


def _cases(scale):
    rows = scaled(50_000, scale)
    columns = 20

    def factory(contender):
        return contender(normal(rows, columns), normal(rows, 1)[:, 0])

    return [
        InProcess(
            label=f"RBF Gram {rows:,} × {rows:,} times a vector, {columns} columns, float64",
            contenders={
                "mercer": partial(factory, _mercer),
                "scikit-learn in chunks": partial(factory, _chunks),
            },
            check=partial(agree, tolerance=1e-8),
            scale=scale,
            growth_limit=GROWTH_LIMIT,
        )
    ]


JOB = Job("gram_matvec", "Gram @ v, 50,000 × 50,000, matrix never formed", _cases, repeats=3)
